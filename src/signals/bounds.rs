//! How much of a source is read.

use std::borrow::Cow;

/// A longer source is read at its two ends only.
const WHOLE: usize = 128 * 1024;

/// How much of each end.
const END: usize = 64 * 1024;

/// The part of a source that is read.
pub(super) enum Excerpt<'a> {
    /// All of it.
    Whole(Cow<'a, str>),
    /// Its two ends.
    Ends(Cow<'a, str>, Cow<'a, str>),
}

/// What to read of a source; the middle of a huge one is never touched.
pub(super) fn excerpt(source: &[u8]) -> Excerpt<'_> {
    if source.len() <= WHOLE {
        return Excerpt::Whole(text(source));
    }
    let head = source.get(..END).unwrap_or_default();
    let tail = source.get(source.len() - END..).unwrap_or_default();
    Excerpt::Ends(text(cut_end(head)), text(cut_start(tail)))
}

/// Bytes as text; invalid UTF-8 becomes replacement characters, which can make it longer.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Tried first because it is several times faster than looking for what is invalid.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Drops the first bytes of a character whose rest is cut off.
fn cut_end(bytes: &[u8]) -> &[u8] {
    let continuations = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let lead = bytes.len().saturating_sub(continuations + 1);
    let length = match bytes.get(lead) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xff) => 4,
        _ => return bytes,
    };
    if continuations + 1 < length { bytes.get(..lead).unwrap_or(bytes) } else { bytes }
}

/// Drops the last bytes of a character whose start is cut off.
fn cut_start(bytes: &[u8]) -> &[u8] {
    let continuations = bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
    bytes.get(continuations..).unwrap_or(bytes)
}

/// Whether a byte continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_characters() {
        for (source, head, tail) in [
            ("abc".as_bytes(), "abc".as_bytes(), "abc".as_bytes()),
            ("aé".as_bytes(), "aé".as_bytes(), "aé".as_bytes()),
            (b"a\xc3", b"a", b"a\xc3"),
            (b"a\xe2\x80", b"a", b"a\xe2\x80"),
            (b"\x80\x9da", b"\x80\x9da", b"a"),
            (b"", b"", b""),
        ] {
            assert_eq!(cut_end(source), head);
            assert_eq!(cut_start(source), tail);
        }
    }

    #[test]
    fn huge_sources_are_read_at_their_ends() {
        let source = "é".repeat(200 * 1024);
        let Excerpt::Ends(head, tail) = excerpt(source.as_bytes()) else { panic!("whole") };
        assert!(head.len() <= END && tail.len() <= END);
        assert!(head.chars().chain(tail.chars()).all(|character| character == 'é'));
        assert!(matches!(excerpt(&source.as_bytes()[..WHOLE]), Excerpt::Whole(Cow::Borrowed(_))));
    }
}
