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
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p + 1, t));
                    p += 1;
                }
                Some(&byte) if byte == b'?' || byte == text[t].to_ascii_lowercase() => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((after, from)) => {
                        p = after;
                        t = from + 1;
                        star = Some((after, from + 1));
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
