//! Server-sent events: `event:` and `data:` lines.

use std::borrow::Cow;

/// One thing that a stream says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'s> {
    /// The name of an event.
    Event(&'s str),
    /// The data of an event, its lines joined.
    Data(Cow<'s, str>),
    /// The HTTP status that a proxy put into a comment, because its own had been sent already.
    Status(u16),
}

/// The comment that carries a status.
const STATUS: &str = ":HTTP_STATUS/";

/// Whether a text is a stream of events.
pub(super) fn is_stream(text: &str) -> bool {
    let text = text.trim_start();
    match text.as_bytes().first() {
        Some(b'd') => text.starts_with("data:"),
        Some(b'e') => text.starts_with("event:"),
        Some(b'i') => text.starts_with("id:") && has_data(text),
        Some(b'r') => text.starts_with("retry:") && has_data(text),
        Some(b':') => text.starts_with(STATUS) || has_data(text),
        _ => false,
    }
}

/// The items of a stream, in order.
pub(super) fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let mut lines = text.split(['\n', '\r']).map(str::trim_start).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if let Some(name) = line.strip_prefix("event:") {
                return Some(Item::Event(name.trim()));
            }
            if let Some(status) = line.strip_prefix(STATUS) {
                let digits = status.get(..3).and_then(|digits| digits.parse().ok());
                return Some(Item::Status(digits?));
            }
            let Some(data) = line.strip_prefix("data:") else { continue };
            let mut data = Cow::Borrowed(data.trim());
            while let Some(more) = lines.next_if(|line| line.starts_with("data:")) {
                let joined = data.to_mut();
                joined.push('\n');
                joined.push_str(more.strip_prefix("data:").unwrap_or(more));
            }
            if data != "[DONE]" {
                return Some(Item::Data(data));
            }
        }
    })
}

/// Whether any line but the first has data.
fn has_data(text: &str) -> bool {
    text.contains("\ndata:") || text.contains("\nevent:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams() {
        for (text, expected) in [
            ("data: a\n\ndata: [DONE]\n\n", vec![Item::Data("a".into())]),
            ("event: error\r\ndata: {\"a\":1}\r\n", vec![Item::Event("error"), Item::Data("{\"a\":1}".into())]),
            ("data: a\ndata: b\nid: 1", vec![Item::Data("a\n b".into())]),
            (":HTTP_STATUS/429\n:x\ndata:a", vec![Item::Status(429), Item::Data("a".into())]),
        ] {
            assert!(is_stream(text), "{text}");
            assert_eq!(items(text).collect::<Vec<_>>(), expected, "{text}");
        }
        for text in ["", "dat", ": a", "id: 4", "error\ndata: x", "{\"data:\"}"] {
            assert!(!is_stream(text), "{text}");
        }
    }
}
