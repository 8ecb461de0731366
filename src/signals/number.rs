//! Thousands separators: `200,000`, `200_000`, `200 000` and `1.048.576` are one number each.

use std::ops::Range;

/// The text without thousands separators, or `None` if there are none.
pub(super) fn join_thousands(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut joined: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += 1;
            continue;
        }
        let digits = run(bytes, at);
        let (end, whole) = grouped(text, at, digits);
        if !whole {
            // The last group may start a number with another separator; those before it cannot.
            at = end;
            continue;
        }
        let joined = joined.get_or_insert_with(|| String::with_capacity(text.len()));
        joined.push_str(text.get(copied..at).unwrap_or_default());
        let number = text.get(at..end).unwrap_or_default();
        joined.extend(number.chars().filter(char::is_ascii_digit));
        copied = end;
        at = end;
    }
    let mut joined = joined?;
    joined.push_str(text.get(copied..).unwrap_or_default());
    Some(joined)
}

/// The text with token counts in full, or `None` if none is short: `200k tokens` and `1.2 million tokens` are written as numbers. Only before a word that tokens go with: `16k` alone may be a name,
/// and `m` is also a minute.
pub(super) fn expand_thousands(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut expanded: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += 1;
            continue;
        }
        let whole = at + run(bytes, at);
        let end = if bytes.get(whole) == Some(&b'.') { whole + 1 + run(bytes, whole + 1) } else { whole };
        let count = text.get(at..end).and_then(|number| short_count(number, text.get(end..)?)).filter(|_| {
            let before = text.get(..at).unwrap_or_default();
            starts_number(before) && !before.ends_with('-')
        });
        if let Some((count, length)) = count {
            let expanded = expanded.get_or_insert_with(|| String::with_capacity(text.len() + 8));
            expanded.push_str(text.get(copied..at).unwrap_or_default());
            expanded.push_str(&count.to_string());
            copied = end + length;
        }
        at = end.max(at + 1);
    }
    let mut expanded = expanded?;
    expanded.push_str(text.get(copied..).unwrap_or_default());
    Some(expanded)
}

/// The count that a number stands for with the unit behind it, and the unit's length.
fn short_count(number: &str, after: &str) -> Option<(u64, usize)> {
    const UNITS: [(&str, f64); 3] = [("k", 1e3), ("m", 1e6), (" million", 1e6)];
    const WORDS: [&str; 5] = ["token", "context", "input", "prompt", "window"];
    let (unit, scale) = UNITS.into_iter().find(|(unit, _)| starts_with_ignore_case(after, unit))?;
    let rest = after.get(unit.len()..)?.strip_prefix([' ', '-'])?;
    if number.len() > 8 || !WORDS.into_iter().any(|word| starts_with_ignore_case(rest, word)) {
        return None;
    }
    Some(((number.parse::<f64>().ok()? * scale).round() as u64, unit.len()))
}

/// Whether a byte can separate thousands.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b'_' | b'\'' | b'.' | b' ')
}

/// Where the grouped number ends whose first group is the `first` digits at `at`, and true; or, if
/// it is none, where to look next, and false.
fn grouped(text: &str, at: usize, first: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    let none = (at + first, false);
    if first > 3 || bytes.get(at) == Some(&b'0') {
        return none;
    }
    let Some(separator) = bytes.get(at + first).copied().filter(|byte| is_separator(*byte)) else {
        return none;
    };
    let mut end = at + first;
    while bytes.get(end) == Some(&separator) && run(bytes, end + 1) == 3 {
        end += 4;
    }
    let groups = (end - at - first) / 4;
    if groups == 0 {
        return none;
    }
    let whole = !continues(bytes, end, separator) && is_number(text, at..end, first, groups).unwrap_or_default();
    if whole { (end, true) } else { (end - 3, false) }
}

/// Whether what is around a grouped number agrees that it is one.
fn is_number(text: &str, range: Range<usize>, first: usize, groups: usize) -> Option<bool> {
    let Range { start: at, end } = range;
    let separator = *text.as_bytes().get(at + first)?;
    let before = text.get(..at)?;
    let after = text.get(end..)?;
    let agrees = match separator {
        b'.' => dots(before, text.get(at..end)?, after, groups),
        b' ' => spaces(before, text.get(at..at + first)?, after),
        b'_' => !before.ends_with(is_name) && !after.starts_with(is_name),
        b'\'' => !before.ends_with('\''),
        _ => !(before.ends_with('[') && after.starts_with(']')),
    };
    Some(agrees && starts_number(before))
}

/// Whether the number goes on after its last full group, so that it is none of ours: another
/// group of a different length, or a decimal part behind dots.
fn continues(bytes: &[u8], end: usize, separator: u8) -> bool {
    let Some(&next) = bytes.get(end) else { return false };
    if !is_separator(next) {
        return false;
    }
    let digits = run(bytes, end + 1);
    match next {
        _ if digits == 0 => false,
        // "1,048,576.00": a decimal part.
        b'.' => matches!(separator, b'.' | b' '),
        // "1,234 56": two numbers.
        b' ' => separator == b' ',
        _ => true,
    }
}

/// Whether a number can start behind this text: not in the middle of another one.
fn starts_number(before: &str) -> bool {
    let mut bytes = before.bytes().rev();
    match bytes.next() {
        Some(b'.' | b',' | b'_' | b'\'') => !bytes.next().is_some_and(|byte| byte.is_ascii_digit()),
        Some(byte) => !byte.is_ascii_alphanumeric(),
        None => true,
    }
}

/// Whether dots separate thousands here, and not a whole part from decimals.
fn dots(before: &str, number: &str, after: &str, groups: usize) -> bool {
    if groups > 1 {
        let parts = || number.split('.').filter_map(|part| part.parse::<u16>().ok());
        // "192.168.100.200" is an address.
        return groups != 3 || parts().any(|part| part > 255);
    }
    if before.ends_with(['$', '=', '€', '£', '¥']) || after.starts_with(|next: char| next.is_alphanumeric() || next == '%') {
        return false;
    }
    let unit = after.strip_prefix(' ').unwrap_or(after);
    let word = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
    let unit = unit.get(..word).unwrap_or_default();
    if is_duration(unit) {
        return false;
    }
    if starts_with_ignore_case(unit, "token") {
        return true;
    }
    // "GPT 4.100", "try again in 12.345".
    number.len() > 5 && !ends_with_word(before, &["in", "after", "for", "within", "wait", "delay", "version"])
}

/// Whether spaces separate thousands here, and not one number from the next.
fn spaces(before: &str, first: &str, after: &str) -> bool {
    if after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_') {
        return false;
    }
    let leading_status = before.is_empty() && matches!(first.as_bytes(), [b'1'..=b'5', _, _]);
    let mut bytes = before.bytes().rev();
    let inside = match bytes.next() {
        Some(b':' | b'-' | b'/') => bytes.next().is_some_and(|byte| byte.is_ascii_digit()),
        Some(b' ') => bytes.next().is_some_and(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    !leading_status && !inside && !ends_with_word(before, &["code", "status", "http", "error"])
}

/// Whether a text ends with one of these words, punctuation aside.
fn ends_with_word(text: &str, words: &[&str]) -> bool {
    let text = text.trim_end_matches([' ', ':', '=', '-', '(', '#', '~']);
    let bytes = text.as_bytes();
    words.iter().any(|word| {
        let Some(start) = bytes.len().checked_sub(word.len()) else { return false };
        let same = bytes.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(word.as_bytes()));
        same && (start == 0 || !bytes.get(start - 1).is_some_and(u8::is_ascii_alphabetic))
    })
}

/// Whether a word is a unit of time.
fn is_duration(word: &str) -> bool {
    const UNITS: [&str; 22] = [
        "ms",
        "msec",
        "msecs",
        "millisecond",
        "milliseconds",
        "s",
        "sec",
        "secs",
        "second",
        "seconds",
        "m",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hr",
        "hrs",
        "hour",
        "hours",
        "day",
        "days",
    ];
    UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(word)) || word.eq_ignore_ascii_case("d")
}

/// Whether a text starts with a word, in any case.
fn starts_with_ignore_case(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Whether a character can be part of a name.
fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// How many digits follow.
fn run(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, expected) in [
            ("limit of 200,000 tokens", "limit of 200000 tokens"),
            ("200_000", "200000"),
            ("is 200 000 tokens", "is 200000 tokens"),
            ("1'048'576", "1048576"),
            ("1.048.576", "1048576"),
            ("1,048,576.00", "1048576.00"),
            ("(-31,601,307 tokens left)", "(-31601307 tokens left)"),
            ("max 131.072 tokens", "max 131072 tokens"),
            ("limit is 200.000.", "limit is 200000."),
            ("a 4.096 token limit", "a 4096 token limit"),
            ("$1,000", "$1000"),
            ("Error 400 200,000 tokens", "Error 400 200000 tokens"),
            ("Error 400 123 456,789", "Error 400 123 456789"),
        ] {
            assert_eq!(join_thousands(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "9.816s",
            "1.984999999s",
            "after 10.000 seconds",
            "in 26.604 s",
            "GPT 4.100",
            "v1.234",
            "0,500",
            "0.123",
            "[1, 983616]",
            "[1,200]",
            "Error 400 123",
            "Error code: 400 123",
            "HTTP 400 123",
            "429 128 requests",
            "2026-08-29",
            "12:30 100",
            "192.168.100.200",
            "1,23",
            "1,2345",
            "12.345%",
            "gpt_4_123",
            "id 1_234_abc",
            "100 200 30",
            "retry in 12.345",
            "3.5",
            "22.14:18:12",
            "1,234,56",
            "a=1.234",
            "1 2345",
        ] {
            assert_eq!(join_thousands(text), None, "{text}");
        }
    }
}
