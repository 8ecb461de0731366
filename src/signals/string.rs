//! Quoted strings: where they end, and what they say.

use std::borrow::Cow;

use memchr::{memchr2, memmem};

/// A string as it stands in the text, quotes excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quoted<'s> {
    /// Between the quotes, still escaped.
    pub(super) raw: &'s str,
    /// Whether there is a backslash in it.
    escaped: bool,
    /// Whether it is a Python byte string, where `\x` is a byte and not a character.
    bytes: bool,
}

/// The quotes of typeset text.
const CURLY_OPEN: [&str; 2] = ["“", "„"];

/// The end of a string that a curly quote opened.
const CURLY_CLOSE: &str = "”";

impl<'s> Quoted<'s> {
    /// Reads the string that starts at `at`, and tells where it ends. A string that does not end
    /// goes on to the end of the text: the document was cut off.
    pub(super) fn read(text: &'s str, at: usize) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        let quote = *bytes.get(at)?;
        if matches!(quote, b'b' | b'u' | b'r' | b'B' | b'U' | b'R') {
            let next = bytes.get(at + 1)?;
            if !matches!(next, b'"' | b'\'') {
                return None;
            }
            let (quoted, end) = Self::read(text, at + 1)?;
            return Some((Self { bytes: matches!(quote, b'b' | b'B'), ..quoted }, end));
        }
        if quote == 0xe2 {
            return Self::read_curly(text, at);
        }
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        let start = at + 1;
        let mut escaped = false;
        let mut from = start;
        loop {
            let rest = bytes.get(from..).unwrap_or_default();
            let Some(found) = memchr2(quote, b'\\', rest) else {
                return Some((Self { raw: text.get(start..)?, escaped, bytes: false }, bytes.len()));
            };
            let found = from + found;
            if bytes.get(found) == Some(&b'\\') {
                escaped = true;
                from = found + 2;
                continue;
            }
            if quote == b'\'' && !ends_value(bytes, found + 1) {
                // An apostrophe that nobody escaped.
                from = found + 1;
                continue;
            }
            return Some((Self { raw: text.get(start..found)?, escaped, bytes: false }, found + 1));
        }
    }

    /// Reads a string in curly quotes.
    fn read_curly(text: &'s str, at: usize) -> Option<(Self, usize)> {
        let rest = text.get(at..)?;
        let open = CURLY_OPEN.iter().find(|open| rest.starts_with(**open))?;
        let start = at + open.len();
        let body = text.get(start..)?;
        let length = memmem::find(body.as_bytes(), CURLY_CLOSE.as_bytes());
        let raw = body.get(..length.unwrap_or(body.len()))?;
        let end = start + raw.len() + length.map_or(0, |_| CURLY_CLOSE.len());
        Some((Self { raw, escaped: raw.contains('\\'), bytes: false }, end))
    }

    /// The string, if there is nothing to unescape.
    pub(super) fn plain(self) -> Option<&'s str> {
        (!self.escaped).then_some(self.raw)
    }

    /// What the string says; borrowed when nothing is escaped.
    pub(super) fn decode(self) -> Cow<'s, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        if self.bytes {
            return Cow::Owned(decode_bytes(self.raw));
        }
        Cow::Owned(decode(self.raw))
    }
}

/// Undoes one level of escaping, as JSON, Python and JavaScript write it. What is no known escape
/// stays as it is.
pub(super) fn decode(raw: &str) -> String {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        decoded.push_str(before);
        let (character, length) = unescape(escape);
        if let Some(character) = character {
            decoded.push(character);
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    decoded.push_str(rest);
    decoded
}

/// Undoes the escaping of a Python byte string, whose bytes are UTF-8 more often than not.
fn decode_bytes(raw: &str) -> String {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        decoded.extend_from_slice(before.as_bytes());
        let (character, length) = unescape(escape);
        match character.map(|character| (character, u8::try_from(u32::from(character)))) {
            Some((_, Ok(byte))) => decoded.push(byte),
            Some((character, Err(_))) => {
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => {}
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    decoded.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The character of the escape at the start of a text, and the length of the escape.
fn unescape(escape: &str) -> (Option<char>, usize) {
    let Some(&kind) = escape.as_bytes().get(1) else { return (Some('\\'), 1) };
    let simple = match kind {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'v' => '\u{b}',
        b'"' | b'\'' | b'`' | b'\\' | b'/' => char::from(kind),
        b'\n' => return (None, 2),
        b'x' => return numeric(escape, 2, 2),
        b'U' => return numeric(escape, 2, 8),
        b'u' => return unicode(escape),
        _ => return (Some('\\'), 1),
    };
    (Some(simple), 2)
}

/// `\uXXXX`, a pair of them, or `\u{X}`.
fn unicode(escape: &str) -> (Option<char>, usize) {
    if let Some(braced) = escape.get(2..).and_then(|rest| rest.strip_prefix('{')) {
        let digits = braced.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 || braced.as_bytes().get(digits) != Some(&b'}') {
            return (Some('\\'), 1);
        }
        return (hex(escape, 3, digits).and_then(char::from_u32), digits + 4);
    }
    let Some(unit) = hex(escape, 2, 4) else { return (Some('\\'), 1) };
    if !(0xd800..0xe000).contains(&unit) {
        return (char::from_u32(unit), 6);
    }
    let pair = escape.get(6..8) == Some("\\u");
    match hex(escape, 8, 4) {
        Some(low) if pair && unit < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
            let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code), 12)
        }
        _ => (Some(char::REPLACEMENT_CHARACTER), 6),
    }
}

/// An escape of a fixed number of hexadecimal digits.
fn numeric(escape: &str, from: usize, digits: usize) -> (Option<char>, usize) {
    match hex(escape, from, digits).and_then(char::from_u32) {
        Some(character) => (Some(character), from + digits),
        None => (Some('\\'), 1),
    }
}

/// A hexadecimal number of exactly `digits` digits.
fn hex(text: &str, from: usize, digits: usize) -> Option<u32> {
    let digits = text.get(from..from + digits)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// Whether what follows can follow the end of a string in a document.
fn ends_value(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(next, None | Some(b',' | b':' | b'}' | b']' | b')' | b'>' | b';' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        for (text, said, end) in [
            (r#""a b" rest"#, "a b", 5),
            (r#""a\"b\\" rest"#, "a\"b\\", 8),
            ("'it's', x", "it's", 6),
            (r"'it\'s'}", "it's", 7),
            ("\"cut", "cut", 4),
            (r#""cut\"#, "cut\\", 5),
            ("“x y”: 1", "x y", 9),
            (r"b'\xe2\x80\x9c!'", "“!", 16),
            (r"'caf\xe9'", "café", 9),
            (r#""\u00e9\ud83d\ude00\ud800\u{1f600}\q""#, "é😀\u{fffd}😀\\q", 37),
            (r#""\u12""#, "\\u12", 6),
            (r#""\uzzzz\u{}\xg""#, "\\uzzzz\\u{}\\xg", 15),
            ("`it's \"x\"`", "it's \"x\"", 10),
        ] {
            let read = Quoted::read(text, 0).map(|(quoted, found)| (quoted.decode(), found));
            assert_eq!(read, Some((said.into(), end)), "{text}");
        }
        for text in ["", "x", "b", "bx'", "…", "é"] {
            assert_eq!(Quoted::read(text, 0), None, "{text}");
        }
    }
}
