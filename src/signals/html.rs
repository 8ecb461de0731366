//! Web pages that proxies send instead of an error.

use memchr::{memchr, memchr_iter, memmem};

/// Most text that is taken from a page.
const VISIBLE: usize = 2048;

/// Tags that only a page has.
const PAGE: [&str; 6] = ["html", "!doctype", "head", "body", "title", "h1"];

/// Tags inside a sentence: they end no line.
const INLINE: [&str; 12] = ["a", "b", "i", "u", "em", "strong", "span", "code", "small", "font", "abbr", "sup"];

/// Elements that hold no text for readers.
const HIDDEN: [&str; 4] = ["script", "style", "svg", "template"];

/// Whether the tag at `at` is one that starts a page.
pub(super) fn is_page(text: &str, at: usize) -> bool {
    let Some(tag) = text.get(at + 1..) else { return false };
    PAGE.iter().any(|name| is_tag(tag, name))
}

/// Calls `line` with each line of visible text: title, heading, paragraph.
pub(super) fn lines(page: &str, mut line: impl FnMut(&str)) {
    let mut visible = 0;
    let mut current = String::new();
    let mut rest = page;
    while visible < VISIBLE {
        let start = memchr(b'<', rest.as_bytes());
        let (text, tag) = rest.split_at(start.unwrap_or(rest.len()));
        visible += text.trim().len();
        push(&mut current, text);
        if tag.is_empty() {
            break;
        }
        let Some(after) = skip_tag(tag) else {
            // A bracket that opens no tag.
            current.push('<');
            rest = tag.get(1..).unwrap_or_default();
            continue;
        };
        if ends_line(tag) {
            flush(&mut current, &mut line);
        }
        rest = after;
    }
    flush(&mut current, &mut line);
}

/// Adds text to a line, but no more than a page may have.
fn push(line: &mut String, text: &str) {
    let mut end = text.len().min(VISIBLE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    line.push_str(text.get(..end).unwrap_or_default());
}

/// Hands a line on and starts the next.
fn flush(current: &mut String, line: &mut impl FnMut(&str)) {
    let text = current.trim();
    if !text.is_empty() {
        line(text);
    }
    current.clear();
}

/// What is behind a tag, a comment, or an element without visible text; `None` if it is no tag.
fn skip_tag(tag: &str) -> Option<&str> {
    let bytes = tag.as_bytes();
    if tag.starts_with("<!--") {
        return Some(after(tag, "-->"));
    }
    if !matches!(bytes.get(1), Some(b'A'..=b'Z' | b'a'..=b'z' | b'/' | b'!' | b'?')) {
        return None;
    }
    let inner = tag.get(1..)?;
    if let Some(hidden) = HIDDEN.iter().find(|name| is_tag(inner, name)) {
        return Some(skip_element(inner, hidden));
    }
    Some(memchr(b'>', bytes).and_then(|end| tag.get(end + 1..)).unwrap_or_default())
}

/// What is behind an element, whatever is in it.
fn skip_element<'s>(element: &'s str, name: &str) -> &'s str {
    let bytes = element.as_bytes();
    let closing = memchr_iter(b'<', bytes).find(|at| {
        let tag = element.get(at + 1..).and_then(|tag| tag.strip_prefix('/'));
        tag.is_some_and(|tag| is_tag(tag, name))
    });
    let Some(closing) = closing else { return "" };
    element.get(closing..).map(|tag| after(tag, ">")).unwrap_or_default()
}

/// What is behind a mark; nothing if it is missing.
fn after<'s>(text: &'s str, mark: &str) -> &'s str {
    let at = memmem::find(text.as_bytes(), mark.as_bytes());
    at.and_then(|at| text.get(at + mark.len()..)).unwrap_or_default()
}

/// Whether a tag ends the line of text before it.
fn ends_line(tag: &str) -> bool {
    let name = tag.trim_start_matches(['<', '/']);
    !INLINE.iter().any(|inline| is_tag(name, inline))
}

/// Whether a text starts with the name of a tag, in any case.
fn is_tag(text: &str, name: &str) -> bool {
    let same = text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    same && !text.as_bytes().get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        for (page, expected) in [
            (
                "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n<hr>\
                 <center>cloudflare</center>\n</body>\n</html>",
                vec!["502 Bad Gateway", "502 Bad Gateway", "cloudflare"],
            ),
            (
                "<!DOCTYPE html><head><script>if (1<2) x('</b>')</script><style>p{}</style></head><!-- <p>no</p> -->\
                 <p>One <b>bold</b> line<p>Two",
                vec!["One bold line", "Two"],
            ),
            ("<body>1 < 2 <br>cut <a href='x", vec!["1 < 2", "cut"]),
            ("<body><script>cut", vec![]),
            ("<body><!-- cut", vec![]),
        ] {
            let mut found = Vec::new();
            lines(page, |line| found.push(line.to_owned()));
            assert_eq!(found, expected, "{page}");
        }
        for (tag, expected) in [("<!DOCTYPE html>", true), ("<BODY>", true), ("<ak-xxx>", false), ("<header>", false), ("<ht", false)] {
            assert_eq!(is_page(tag, 0), expected, "{tag}");
        }
    }
}
