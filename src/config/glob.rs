//! Globs over model names: `*` is anything, `?` one character; case does not matter.

use std::cmp::Reverse;
use std::fmt;

/// A compiled glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    pub(crate) fn new(pattern: &str) -> Self {
        Self(pattern.to_ascii_lowercase())
    }

    /// Linear in practice and never worse than length times length: one point of return suffices for `*`.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut p, mut t) = (0, 0);
        let next_char = |at: usize| (at + 1..text.len()).find(|&at| text[at] & 0xc0 != 0x80).unwrap_or(text.len());
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p + 1, t));
                    p += 1;
                }
                Some(b'?') => {
                    p += 1;
                    t = next_char(t);
                }
                Some(&byte) if byte == text[t].to_ascii_lowercase() => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((after, from)) => {
                        p = after;
                        t = next_char(from);
                        star = Some((after, t));
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|&byte| byte == b'*')
    }

    /// How specific it is: more literal characters win, then fewer wildcards.
    pub(crate) fn specificity(&self) -> (usize, Reverse<usize>) {
        let wildcards = self.0.bytes().filter(|byte| matches!(byte, b'*' | b'?')).count();
        (self.0.len() - wildcards, Reverse(wildcards))
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn globs() {
        let cases = [
            ("claude-*", "claude-sonnet-4-5", true),
            ("claude-*", "Claude-3", true),
            ("*sonnet*", "anthropic/claude-sonnet-4", true),
            ("gpt-4?", "gpt-4o", true),
            ("gpt-4?", "gpt-4", false),
            ("gpt-4?", "gpt-4é", true),
            ("*??", "é", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXbd", false),
        ];
        for (glob, text, matches) in cases {
            assert_eq!(Glob::new(glob).matches(text), matches, "{glob} {text}");
        }
    }
}
