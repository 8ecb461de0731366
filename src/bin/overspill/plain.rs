//! Texts that others wrote, shown so that they can do nothing to the terminal, nor look like what the program says itself.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text in one line, with whatever moves, hides or reorders letters escaped.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same over several lines.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let acts = |c: char| acts(c) && !stays(c);
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if acts(c) => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if acts(c) => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether it acts on what stands around it: control characters, ends of lines beyond ASCII, and what changes the direction of a text.
pub(crate) fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_and_what_is_read_stays() {
        let cases = [
            ("plain, 超过 – é \u{1f600}", "plain, 超过 – é \u{1f600}"),
            ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            ("\u{202e}txet\u{2066}", "\\u{202e}txet\\u{2066}"),
            ("a\u{2028}b\0", "a\\u{2028}b\\u{0}"),
        ];
        for (text, shown) in cases {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(plain_lines("a\nb\u{1b}"), "a\nb\\u{1b}");
    }
}
