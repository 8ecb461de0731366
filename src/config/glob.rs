//! Globs over model names: `*` is anything, `?` one character; case does not matter.

use std::cmp::Reverse;
use std::collections::HashSet;
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

    /// A name that both globs match, with a star for text that could be anything; `None` also for globs of an absurd length.
    pub(crate) fn common_name(&self, other: &Self) -> Option<String> {
        const LONGEST: usize = 64;
        let [one, other] = [self, other].map(|glob| glob.0.chars().collect::<Vec<_>>());
        let mut name = Vec::new();
        let is_found = one.len().max(other.len()) <= LONGEST && meet(&one, &other, &mut name, &mut HashSet::new());
        is_found.then(|| name.into_iter().collect())
    }

    /// How specific it is: more literal characters win, then fewer wildcards.
    pub(crate) fn specificity(&self) -> (usize, Reverse<usize>) {
        let wildcards = self.0.bytes().filter(|byte| matches!(byte, b'*' | b'?')).count();
        (self.0.len() - wildcards, Reverse(wildcards))
    }
}

/// Appends what both match to the name. Tries no pair of rests twice.
fn meet(one: &[char], other: &[char], name: &mut Vec<char>, failed: &mut HashSet<(usize, usize)>) -> bool {
    if failed.contains(&(one.len(), other.len())) {
        return false;
    }
    let length = name.len();
    let mut try_rest = |character: Option<char>, one: &[char], other: &[char]| {
        name.truncate(length);
        name.extend(character);
        meet(one, other, name, failed)
    };
    let is_met = match (one, other) {
        ([], []) => true,
        (['*', left @ ..], ['*', right @ ..]) => try_rest(Some('*'), left, right) || try_rest(Some('*'), one, right) || try_rest(Some('*'), left, other),
        (['*', left @ ..], [first, right @ ..]) => try_rest(Some(*first), one, right) || try_rest(None, left, other),
        ([first, left @ ..], ['*', right @ ..]) => try_rest(Some(*first), left, other) || try_rest(None, one, right),
        (['*', left @ ..], []) => try_rest(None, left, other),
        ([], ['*', right @ ..]) => try_rest(None, one, right),
        (['?', left @ ..], [first, right @ ..]) | ([first, left @ ..], ['?', right @ ..]) => try_rest(Some(*first), left, right),
        ([first, left @ ..], [second, right @ ..]) => first == second && try_rest(Some(*first), left, right),
        _ => false,
    };
    if !is_met {
        failed.insert((one.len(), other.len()));
    }
    is_met
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

    #[test]
    fn common_names() {
        let cases = [
            ("a*", "ab*", Some("ab*")),
            ("a*", "*", Some("a*")),
            ("claude-*", "*-mini", Some("claude-*-mini")),
            ("*a*", "*b*", Some("*b*a*")),
            ("gpt-?", "*5", Some("gpt-5")),
            ("?", "?", Some("?")),
            ("a", "A", Some("a")),
            ("", "*", Some("")),
            ("a*", "b*", None),
            ("gpt-4", "gpt-4?", None),
            ("*a", "*b", None),
        ];
        for (one, other, expected) in cases {
            let (one, other) = (Glob::new(one), Glob::new(other));
            assert_eq!(one.common_name(&other).as_deref(), expected, "{one} {other}");
            assert_eq!(other.common_name(&one).is_some(), expected.is_some(), "{other} {one}");
            assert!(expected.is_none_or(|name| one.matches(name) && other.matches(name)));
        }
        let (many, long) = (Glob::new(&"*a".repeat(30)), Glob::new(&"*b".repeat(1000)));
        assert_eq!(many.common_name(&Glob::new(&"*b".repeat(30))), None, "in bounded time");
        assert_eq!(long.common_name(&long), None);
    }
}
