//! Errors in XML, as object stores and older AWS services send them.

use memchr::memchr;

/// Most elements that are read.
const ELEMENTS: usize = 256;

/// Whether a text is such a document.
pub(super) fn is_document(text: &str) -> bool {
    let text = text.trim_start();
    if !text.starts_with('<') {
        return false;
    }
    ["<?xml", "<Error>", "<ErrorResponse", "<error>", "<Response>"].iter().any(|start| text.starts_with(start))
}

/// Calls `element` with the name and the text of each element that has only text in it.
pub(super) fn elements<'s>(document: &'s str, mut element: impl FnMut(&'s str, &'s str)) {
    let mut rest = document;
    for _ in 0..ELEMENTS {
        let Some(start) = memchr(b'<', rest.as_bytes()) else { return };
        let tag = rest.get(start + 1..).unwrap_or_default();
        let Some(end) = memchr(b'>', tag.as_bytes()) else { return };
        let name = tag.get(..end).unwrap_or_default();
        rest = tag.get(end + 1..).unwrap_or_default();
        let text = rest.get(..memchr(b'<', rest.as_bytes()).unwrap_or(rest.len())).unwrap_or_default();
        let closes = rest.get(text.len()..).is_some_and(|tag| tag.is_empty() || tag.starts_with("</"));
        let name = name.split_ascii_whitespace().next().unwrap_or_default();
        if closes && !name.starts_with(['/', '!', '?']) && !text.trim().is_empty() {
            element(name, text.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let document = "<?xml version=\"1.0\"?><Error a='b'><Code>SlowDown</Code>\n<Message x='y'> Reduce </Message><Empty/></Error>";
        assert!(is_document(document));
        let mut found = Vec::new();
        elements(document, |name, text| found.push((name, text)));
        assert_eq!(found, [("Code", "SlowDown"), ("Message", "Reduce")]);
    }
}
