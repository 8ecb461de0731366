//! From a place inside a string's value back to the place in the file, so that an error inside a pattern is shown inside the pattern.

use crate::source::{Location, Sources};

/// The place of `range`, which counts bytes of the string's value, given where the string token stands.
pub(crate) fn inner_location(sources: &Sources, token: Location, range: std::ops::Range<usize>) -> Location {
    let Some(raw) = sources.text(token.source).get(token.range()) else {
        return token;
    };
    let at = |value_offset| token.start() + raw_offset(raw, value_offset);
    let (start, end) = (at(range.start), at(range.end));
    Location::new(token.source, start..end.max(start + 1))
}

/// The offset in the token, quotes and escapes included, of an offset in the value.
fn raw_offset(raw: &str, value_offset: usize) -> usize {
    let quote = if raw.starts_with("'''") || raw.starts_with("\"\"\"") { 3 } else { 1 };
    let mut at = quote;
    if quote == 3 && raw[at..].starts_with('\n') {
        at += 1;
    }
    if raw.starts_with('\'') {
        return (at + value_offset).min(raw.len());
    }
    let mut value = 0;
    while value < value_offset && at < raw.len() {
        let rest = &raw[at..];
        let (raw_len, value_len) = escape_lengths(rest);
        at += raw_len;
        value += value_len;
    }
    at
}

/// How long the next character is in the token and in the value.
fn escape_lengths(rest: &str) -> (usize, usize) {
    let char_len = rest.chars().next().map_or(1, char::len_utf8);
    let Some(escaped) = rest.strip_prefix('\\') else {
        return (char_len, char_len);
    };
    let digits = match escaped.as_bytes().first() {
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(b'x') => 2,
        _ => return (2, 1),
    };
    let code = escaped.get(1..=digits).and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
    (2 + digits, code.map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::raw_offset;

    #[test]
    fn offsets_skip_quotes_and_escapes() {
        let cases = [("'a(b'", 1, 2), ("'''a(b'''", 1, 4), ("'''\na(b'''", 1, 5), (r#""a(b""#, 1, 2), (r#""\\d(b""#, 2, 4), (r#""\u8d85(""#, 3, 7), (r#""\x41(""#, 1, 5)];
        for (raw, value, token) in cases {
            assert_eq!(raw_offset(raw, value), token, "{raw}");
        }
    }
}
