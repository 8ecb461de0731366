//! Where in free text a document starts.

/// What is found at a bracket or a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Free text: go on behind these bytes.
    Nothing(usize),
    /// A bracket that opens a document.
    Document,
    /// A bracket that opens a document whose quotes are still escaped.
    Escaped,
    /// The first of a list of pairs without braces.
    Pairs,
}

/// Longest key that is recognised in free text, so that looking ahead stays cheap.
const KEY: usize = 64;

/// What starts at the bracket at `at`. `leading`: nothing but white space is before it, so even an
/// array of strings is a document, and not a part of a sentence.
pub(super) fn at_bracket(text: &str, at: usize, leading: bool) -> Start {
    let bytes = text.as_bytes();
    let mut last = None;
    let mut next = at;
    while let Some(&byte) = bytes.get(next) {
        match byte {
            b'{' | b'[' => last = Some(byte),
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => break,
        }
        next += 1;
    }
    let nothing = Start::Nothing(next - at);
    let in_object = last == Some(b'{');
    let Some(&byte) = bytes.get(next) else {
        return if leading { Start::Document } else { nothing };
    };
    match byte {
        b'\\' => {
            let quote = bytes.iter().skip(next).take(16).find(|byte| **byte != b'\\');
            let is_quote = matches!(quote, Some(b'"' | b'\''));
            if in_object && is_quote { Start::Escaped } else { nothing }
        }
        b'"' | b'\'' | 0xe2 if in_object => {
            if is_key(text, next) {
                Start::Document
            } else {
                nothing
            }
        }
        b'"' | b'\'' | b'}' | b']' if leading => Start::Document,
        b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' if in_object => {
            if is_bare_key(bytes, next) {
                Start::Document
            } else {
                nothing
            }
        }
        _ => nothing,
    }
}

/// What starts at the quote at `at`.
pub(super) fn at_quote(text: &str, at: usize) -> Start {
    let bytes = text.as_bytes();
    let Some(&quote) = bytes.get(at) else { return Start::Nothing(1) };
    let escaped = at > 0 && bytes.get(at - 1) == Some(&b'\\');
    let name = bytes.iter().skip(at + 1).take(KEY);
    let length = name.take_while(|byte| is_name(**byte) || **byte == b' ').count();
    let end = at + 1 + length;
    let nothing = Start::Nothing(1 + length);
    if escaped || length == 0 || bytes.get(end) != Some(&quote) {
        return nothing;
    }
    let colon = skip_space(bytes, end + 1);
    if bytes.get(colon) != Some(&b':') || !is_value(bytes, skip_space(bytes, colon + 1)) {
        return nothing;
    }
    Start::Pairs
}

/// Whether a quoted key starts here. One that is cut off by the end of the text counts. Looks at a
/// few bytes once, because any number of brackets may ask.
fn is_key(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let Some(rest) = text.get(at..) else { return false };
    let (open, close) = match bytes.get(at) {
        Some(b'"') => (1, "\""),
        Some(b'\'') => (1, "'"),
        _ if rest.starts_with('“') => ("“".len(), "”"),
        _ => return false,
    };
    let name = bytes.iter().skip(at + open).take(KEY);
    let Some(length) = name.clone().position(|byte| Some(byte) == close.as_bytes().first() || *byte == b'\\') else {
        return name.len() < KEY;
    };
    let end = at + open + length;
    if !bytes.get(end..).is_some_and(|rest| rest.starts_with(close.as_bytes())) {
        return false;
    }
    bytes.get(skip_space(bytes, end + close.len())).is_none_or(|byte| *byte == b':')
}

/// Whether a key without quotes starts here, followed by something that is surely a value: a word
/// and a colon alone are prose.
fn is_bare_key(bytes: &[u8], at: usize) -> bool {
    let length = bytes.iter().skip(at).take(KEY).take_while(|byte| is_name(**byte)).count();
    let colon = skip_space(bytes, at + length);
    bytes.get(colon) == Some(&b':') && is_value(bytes, skip_space(bytes, colon + 1))
}

/// Whether the value of a pair starts here.
fn is_value(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest {
        [b'"' | b'\'' | b'{' | b'[' | b'`' | b'0'..=b'9' | b'-', ..] | [b'b' | b'u' | b'r', b'"' | b'\'', ..] => true,
        _ => [&b"null"[..], b"None", b"true", b"True", b"false", b"False", b"undefined", "“".as_bytes()].iter().any(|word| rest.starts_with(word)),
    }
}

/// Whether a byte can be part of the name of a key.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'@' | b'.')
}

/// The first byte that is no white space; looks at few, because nobody aligns keys widely.
fn skip_space(bytes: &[u8], at: usize) -> usize {
    let space = bytes.iter().skip(at).take(KEY).take_while(|byte| byte.is_ascii_whitespace());
    at + space.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets() {
        for (text, leading, expected) in [
            (r#"{"a": 1}"#, false, Start::Document),
            ("{ 'a' : 1", false, Start::Document),
            ("{“a”:1", false, Start::Document),
            ("{\n  status: 400,", false, Start::Document),
            ("[{ status: [", false, Start::Document),
            ("[[{'a': 1", false, Start::Document),
            (r#"{\"a\": 1"#, false, Start::Escaped),
            (r#"{\\\"a\\\": 1"#, false, Start::Escaped),
            ("{\"cut", false, Start::Document),
            ("['a', 'b']", true, Start::Document),
            ("['a', 'b']", false, Start::Nothing(1)),
            ("{'a', 'b'}", false, Start::Nothing(1)),
            ("{model}", false, Start::Nothing(1)),
            ("{model: unknown}", false, Start::Nothing(1)),
            ("{ kind: GoAway(b\"x\") }", false, Start::Nothing(2)),
            ("[1261][Prompt too long]", true, Start::Nothing(1)),
            ("[Errno 104]", false, Start::Nothing(1)),
            ("[API Error: {", false, Start::Nothing(1)),
            ("[]", false, Start::Nothing(1)),
            ("{}", true, Start::Document),
            ("[[[", false, Start::Nothing(3)),
            ("{…", false, Start::Nothing(1)),
        ] {
            assert_eq!(at_bracket(text, 0, leading), expected, "{text}");
        }
    }

    #[test]
    fn quotes() {
        for (text, at, expected) in [
            ("'code': 'x'", 0, Start::Pairs),
            ("\"error type\" : 12", 0, Start::Pairs),
            ("\"a\":{", 0, Start::Pairs),
            ("'args': b'", 0, Start::Pairs),
            ("'a': prose", 0, Start::Nothing(2)),
            ("'a' is: x", 0, Start::Nothing(2)),
            ("\"args':0", 0, Start::Nothing(5)),
            ("\\\"a\":1", 1, Start::Nothing(2)),
            ("''", 0, Start::Nothing(1)),
        ] {
            assert_eq!(at_quote(text, at), expected, "{text}");
        }
    }
}
