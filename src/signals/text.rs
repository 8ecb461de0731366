//! One spelling for every text, so that patterns stay simple.

use std::borrow::Cow;

use super::number::{expand_thousands, is_separator, join_thousands};

/// The text as patterns see it: white space as one space, no quotation marks but straight ones, no
/// back-ticks, no tildes for "about", no URLs, entities decoded, numbers without separators. Borrowed if it was like that.
/// Doing it twice changes nothing: each step leaves nothing for an earlier one.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut found = inspect(text.as_bytes());
    if found == 0 {
        return Cow::Borrowed(text);
    }
    let mut text = Cow::Borrowed(text);
    if found & CHARACTERS != 0 {
        text = Cow::Owned(map_characters(&text));
        found = inspect(text.as_bytes());
    }
    if found & ENTITIES != 0 {
        text = Cow::Owned(decode_entities(&text));
        found |= SQUEEZE | NUMBERS;
    }
    if found & SQUEEZE != 0 {
        text = Cow::Owned(squeeze(&text));
        found |= NUMBERS;
    }
    let text = trim(text);
    if found & NUMBERS == 0 {
        return text;
    }
    let text = join_thousands(&text).map_or(text, Cow::Owned);
    expand_thousands(&text).map_or(text, Cow::Owned)
}

/// There are characters to replace or drop.
const CHARACTERS: u8 = 1;
/// There may be HTML entities.
const ENTITIES: u8 = 2;
/// There is white space to squeeze, or a URL, or an escape.
const SQUEEZE: u8 = 4;
/// There may be thousands separators.
const NUMBERS: u8 = 8;
/// Looks at the neighbours to find out.
const LOOK: u8 = 16;

/// What each byte may ask for.
const CLASSES: [u8; 256] = classes();

/// Builds the table.
const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte {
            0..=0x1f | 0x7f | 0x5c => SQUEEZE,
            0x60 | 0x7e | 0xc2 | 0xe1 | 0xe2 | 0xe3 | 0xef => CHARACTERS,
            0x26 => ENTITIES,
            0x20 | 0x27 | 0x2c | 0x2e | 0x2f | 0x4b | 0x4d | 0x5f | 0x6b | 0x6d => LOOK,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// Whether a text surely needs nothing. Written without branches, so that the compiler looks at
/// many bytes at once: most texts need nothing.
fn is_plain(bytes: &[u8]) -> bool {
    let is = u8::from;
    let unusual = bytes.iter().fold(0, |found, &byte| {
        let control = is(byte.wrapping_sub(b' ') >= 0x5f);
        found | control | is(byte == b'\\') | is(byte == b'`') | is(byte == b'~') | is(byte == b'&')
    });
    if unusual != 0 {
        return false;
    }
    let next = bytes.iter().skip(1);
    let doubled = bytes.iter().zip(next.clone()).fold(0, |found, (&byte, &next)| {
        let same = is(byte == next) & (is(byte == b' ') | is(byte == b'/'));
        let letter = next | 0x20;
        let unit = is(byte.wrapping_sub(b'0') < 10) & (is(letter == b'k') | is(letter == b'm'));
        found | same | unit | is(next == b'.') & is(byte | 0x20 == b'w')
    });
    if doubled != 0 {
        return false;
    }
    let grouped = bytes.iter().zip(next.clone()).zip(bytes.iter().skip(2)).fold(0, |found, ((&last, &byte), &next)| {
        let separator = is(byte < b'0') | is(byte == b'_');
        found | separator & is(last.wrapping_sub(b'0') < 10) & is(next.wrapping_sub(b'0') < 10)
    });
    if grouped != 0 {
        return false;
    }
    // "1 million": a digit, a space, and the word's first letters.
    let million =
        bytes.iter().zip(next).zip(bytes.iter().skip(2)).zip(bytes.iter().skip(3)).fold(0, |found, (((&last, &byte), &first), &second)| {
            found | is(last.wrapping_sub(b'0') < 10) & is(byte == b' ') & is(first | 0x20 == b'm') & is(second | 0x20 == b'i')
        });
    million == 0
}

/// Everything that a text may need, in one scan.
fn inspect(bytes: &[u8]) -> u8 {
    let mut found = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(byte)];
        if class == 0 {
            continue;
        }
        found |= if class == LOOK { look(bytes, at, byte) } else { class };
    }
    found
}

/// What a byte asks for that is harmless in most places.
fn look(bytes: &[u8], at: usize, byte: u8) -> u8 {
    let next = bytes.get(at + 1).copied().unwrap_or_default();
    let last = at.checked_sub(1).and_then(|last| bytes.get(last)).copied().unwrap_or_default();
    match byte {
        b'k' | b'K' | b'm' | b'M' if is_unit(&bytes[at..], last) => NUMBERS,
        b' ' if next == b' ' => SQUEEZE,
        b' ' if last.is_ascii_digit() && is_unit(bytes.get(at + 1..).unwrap_or_default(), b'0') => NUMBERS,
        b'/' if next == b'/' && last == b':' => SQUEEZE,
        b'.' if matches!(last, b'w' | b'W') => SQUEEZE,
        _ if last.is_ascii_digit() && next.is_ascii_digit() && is_separator(byte) => NUMBERS,
        _ => 0,
    }
}

/// Whether thousands or millions may be meant, given what stands before.
fn is_unit(bytes: &[u8], last: u8) -> bool {
    let next = bytes.get(1).copied().unwrap_or_default();
    last.is_ascii_digit() && (matches!(next, b' ' | b'-') || bytes.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"million")))
}

/// Replaces typeset characters and drops the invisible.
fn map_characters(text: &str) -> String {
    let mut mapped = String::with_capacity(text.len());
    mapped.extend(text.chars().filter_map(|character| match character {
        '`' | '~' | '≈' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{85}' => Some(' '),
        // Frames and logos of terminals, copied along with the text in them.
        '\u{2500}'..='\u{259f}' => Some(' '),
        '‘' | '’' | '‚' | '‛' | '′' => Some('\''),
        '“' | '”' | '„' | '‟' | '″' => Some('"'),
        '０'..='９' => char::from_digit(u32::from(character) - u32::from('０'), 10),
        _ => Some(character),
    }));
    mapped
}

/// The entities that occur in error messages, without the ampersand. Both ways of escaping an
/// escape are in `AMPERSANDS`.
const ENTITY: [(&str, char); 15] = [
    ("quot;", '"'),
    ("#34;", '"'),
    ("#x22;", '"'),
    ("apos;", '\''),
    ("#39;", '\''),
    ("#039;", '\''),
    ("#x27;", '\''),
    ("lt;", '<'),
    ("#60;", '<'),
    ("#x3c;", '<'),
    ("gt;", '>'),
    ("#62;", '>'),
    ("#x3e;", '>'),
    ("nbsp;", ' '),
    ("#160;", ' '),
];

/// An ampersand that is itself escaped.
const AMPERSANDS: [&str; 3] = ["amp;", "#38;", "#x26;"];

/// Decodes HTML entities, however often they were escaped.
pub(super) fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        let (before, entity) = rest.split_at(at);
        decoded.push_str(before);
        let mut name = entity.get(1..).unwrap_or_default();
        while let Some(inner) = AMPERSANDS.iter().find_map(|escaped| strip_ignore_case(name, escaped)) {
            name = inner;
        }
        let found = ENTITY.iter().find_map(|(entity, character)| Some((strip_ignore_case(name, entity)?, *character)));
        let (after, character) = found.unwrap_or((name, '&'));
        decoded.push(character);
        rest = after;
    }
    decoded.push_str(rest);
    decoded
}

/// One space for every run of white space, escaped or not; straight quotes for escaped ones; and
/// no URLs, whose paths say things that the message does not (`/rate-limits`).
fn squeeze(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut squeezed = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (length, replacement) = match byte {
            // A space between words stays where it is.
            b' ' if copied < at && bytes.get(at - 1) != Some(&b' ') => (0, ""),
            0..=0x20 | 0x7f => (1, " "),
            b'\\' => escape(bytes, at),
            b'h' | b'H' | b'w' | b'W' => {
                // What is before it in the result: `\nwww.` starts a word.
                let last = if copied < at { bytes.get(at - 1) } else { squeezed.as_bytes().last() };
                (url(bytes, at, last.copied()), "")
            }
            _ => (0, ""),
        };
        if length == 0 {
            at += 1;
            // A run of backslashes is looked at once.
            while byte == b'\\' && bytes.get(at) == Some(&b'\\') {
                at += 1;
            }
            continue;
        }
        squeezed.push_str(text.get(copied..at).unwrap_or_default());
        at += length;
        copied = at;
        // A backslash must not meet what was behind a URL.
        let replacement = if replacement.is_empty() && squeezed.ends_with('\\') { " " } else { replacement };
        if !(replacement == " " && squeezed.ends_with(' ')) {
            squeezed.push_str(replacement);
        }
        if squeezed.ends_with(' ') && bytes.get(at) == Some(&b' ') {
            // The common case of a URL between two spaces.
            at += 1;
            copied = at;
        }
    }
    squeezed.push_str(text.get(copied..).unwrap_or_default());
    squeezed
}

/// The length of an escape and what it stands for: backslashes, however many, and a letter for
/// white space, or a quote.
fn escape(bytes: &[u8], at: usize) -> (usize, &'static str) {
    let backslashes = bytes.iter().skip(at).take_while(|byte| **byte == b'\\').count();
    match bytes.get(at + backslashes) {
        Some(b'n' | b'r' | b't') => (backslashes + 1, " "),
        Some(b'"') => (backslashes + 1, "\""),
        Some(b'\'') => (backslashes + 1, "'"),
        _ => (0, ""),
    }
}

/// The length of the URL that starts here; 0 if none does.
fn url(bytes: &[u8], at: usize, last: Option<u8>) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let starts_with = |prefix: &[u8]| rest.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let www = starts_with(b"www.");
    let behind_word = last.is_some_and(|last| last.is_ascii_alphanumeric());
    if www && (behind_word || !rest.get(4).is_some_and(u8::is_ascii_alphanumeric)) {
        return 0;
    }
    if !(www || starts_with(b"https://") || starts_with(b"http://") || starts_with(b"wss://")) {
        return 0;
    }
    let length = rest.iter().enumerate().position(|(index, byte)| ends_url(rest, index, *byte)).unwrap_or(rest.len());
    let url = rest.get(..length).unwrap_or_default();
    let trailing = url.iter().rev().take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':' | b'!' | b'?')).count();
    length - trailing
}

/// Whether a URL ends before this byte.
fn ends_url(rest: &[u8], index: usize, byte: u8) -> bool {
    match byte {
        0..=0x20 | 0x7f | b'"' | b'\'' | b'<' | b'>' | b')' | b']' | b'}' | b'`' | b'\\' => true,
        // Chinese punctuation: U+3000 to U+303F and the full-width forms.
        0xe3 => rest.get(index + 1) == Some(&0x80),
        0xef => matches!(rest.get(index + 1), Some(0xbc | 0xbd)),
        _ => false,
    }
}

/// The text without the white space at its ends.
fn trim(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) if text.trim().len() == text.len() => Cow::Owned(text),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// The rest of a text that starts with a word, in any case.
fn strip_ignore_case<'s>(text: &'s str, word: &str) -> Option<&'s str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| text.get(word.len()..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (text, expected) in [
            ("a  b\n\tc\u{a0}d\u{2009}e ", "a b c d e"),
            (r"a\nb\\nc\t\td", "a b c d"),
            (r"\nwww.www.", "."),
            (r#"the \"x\" and \\'y\\'"#, "the \"x\" and 'y'"),
            ("`max_tokens` is ‘big’ “so”", "max_tokens is 'big' \"so\""),
            ("a\u{200b}b", "ab"),
            ("│ the tokens      │\n│ you requested █▀▄ exceed", "the tokens you requested exceed"),
            ("a 200k token limit, 1.2M tokens, 1.5 million input tokens", "a 200000 token limit, 1200000 tokens, 1500000 input tokens"),
            ("a 128K-token window; 5m, 16k, gpt-3.5-turbo-16k context, 10k requests", "a 128000-token window; 5m, 16k, gpt-3.5-turbo-16k context, 10k requests"),
            ("requested ~269,722 tokens, ≈ 3 s", "requested 269722 tokens, 3 s"),
            ("限制４０９６", "限制4096"),
            ("a &quot;b&quot; &amp;quot;c&#39;&#x27;&nbsp;&lt;d&gt; &amp;amp; e & f", "a \"b\" \"c'' <d> & e & f"),
            ("see https://x.y/rate-limits. And", "see . And"),
            ("see (https://x.y/z), or www.x.y now", "see (), or now"),
            ("https://x.y/z，请", "，请"),
            ("1,048,576 > 1.000.000 tokens", "1048576 > 1000000 tokens"),
            ("limit\u{202f}200\u{202f}000", "limit 200000"),
            ("wwww. www. http: //", "wwww. www. http: //"),
            ("a\\b", "a\\b"),
        ] {
            let once = normalise(text);
            assert_eq!(once, expected, "{text}");
            assert_eq!(normalise(&once), once, "{text}");
        }
    }

    #[test]
    fn borrowed_when_nothing_changes() {
        for text in ["", "This model's maximum context length is 4097 tokens, or 1.5 (new).", "  trimmed ", "请稍后再试"] {
            assert!(matches!(normalise(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
