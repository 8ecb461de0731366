//! Facts about tokens that a failure states.

use crate::config::{Fact, Quantity};

/// What was captured, by its type. Numbers that are no plausible token counts are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) limit: Option<u64>,
    pub(crate) requested: Option<u64>,
    pub(crate) excess: Option<u64>,
    pub(crate) output_limit: Option<u64>,
}

/// A captured number and the text around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured<'t> {
    pub(crate) before: &'t str,
    pub(crate) text: &'t str,
    pub(crate) after: &'t str,
}

/// No model has a window anywhere near this; a larger number is something else.
const MAX_TOKENS: u64 = 1 << 40;

impl Facts {
    /// Adds a captured text. Parts of a request are summed, saturating.
    pub(crate) fn add(&mut self, fact: Fact, text: &str) {
        let Some(number) = read_count(text) else { return };
        match fact {
            Fact::Limit => self.limit = self.limit.or(Some(number)),
            Fact::Requested => self.requested = Some(self.requested.unwrap_or(0).saturating_add(number)),
            Fact::Excess => self.excess = self.excess.or(Some(number)),
            Fact::OutputLimit => self.output_limit = self.output_limit.or(Some(number)),
            Fact::Delay | Fact::Status => {}
        }
    }

    /// As [`add`](Self::add), unless the text around a number says that it is no token count.
    pub(crate) fn add_captured(&mut self, fact: Fact, Captured { before, text, after }: Captured<'_>) {
        let is_size = matches!(fact, Fact::Limit | Fact::Requested);
        let nothing = text.bytes().all(|byte| byte == b'0');
        if is_other_unit(after) || is_name(before) || is_size && (nothing || is_difference(before)) {
            return;
        }
        self.add(fact, text);
    }

    /// Whether something is known of that type.
    pub(crate) fn has(&self, fact: Fact) -> bool {
        match fact {
            Fact::Limit => self.limit.is_some(),
            Fact::Requested => self.requested.is_some(),
            Fact::Excess => self.excess.is_some(),
            Fact::OutputLimit => self.output_limit.is_some(),
            Fact::Delay | Fact::Status => false,
        }
    }

    /// Whether these are both numbers of an overflow, and say no other than those which are known already: but the only number known may have been taken for the other one.
    pub(crate) fn completes(&self, known: &Self) -> bool {
        let (Some(limit), Some(requested)) = (self.limit, self.requested) else { return false };
        let agrees = match (known.limit, known.requested) {
            (None, None) => true,
            (Some(only), None) | (None, Some(only)) => only == limit || only == requested,
            (Some(_), Some(_)) => !known.overflows(),
        };
        requested > limit && agrees
    }

    /// Whether both numbers are known and more was asked for than fits.
    pub(crate) fn overflows(&self) -> bool {
        self.limit.zip(self.requested).is_some_and(|(limit, requested)| requested > limit)
    }

    /// What was not stated but follows: limit and excess make the request.
    pub(crate) fn completed(mut self) -> Self {
        if self.requested.is_none() {
            self.requested = self.limit.zip(self.excess).map(|(limit, excess)| limit.saturating_add(excess));
        }
        self
    }

    /// With a request that was counted elsewhere, if that is a plausible number of tokens.
    pub(crate) fn with_requested(mut self, tokens: Option<u64>) -> Self {
        self.requested = tokens.filter(|tokens| (1..=MAX_TOKENS).contains(tokens));
        self
    }

    pub(crate) fn quantity(&self, quantity: Quantity) -> Option<f64> {
        let count = match quantity {
            Quantity::Limit => self.limit,
            Quantity::Requested => self.requested,
            Quantity::Excess => self.excess,
            Quantity::OutputLimit => self.output_limit,
            Quantity::Estimate | Quantity::Used | Quantity::Output | Quantity::Window | Quantity::Status => None,
        };
        count.map(|count| count as f64)
    }
}

/// Whether a number is part of a name: the 1 of `foo-1` and of `tier 1` counts nothing.
fn is_name(before: &str) -> bool {
    const NUMBERED: [&str; 4] = [" id ", " id: ", " tier ", " index "];
    let ends_with = |word: &str| before.get(before.len().saturating_sub(word.len())..).is_some_and(|end| end.eq_ignore_ascii_case(word));
    let joined = before.strip_suffix('-').is_some_and(|before| before.ends_with(|last: char| last.is_ascii_alphabetic()));
    joined || NUMBERED.iter().any(|word| ends_with(word))
}

/// Whether a number says by how much a limit is exceeded, or what is left: `exceeded by 263 tokens`, `(-31 tokens left)`.
fn is_difference(before: &str) -> bool {
    let negative = before.strip_suffix('-').is_some_and(|before| !before.ends_with(|last: char| last.is_ascii_alphanumeric()));
    let start = before.len().saturating_sub(4);
    negative || before.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(" by "))
}

/// Whether a number is followed by a unit other than tokens: a window of 30,000 characters is no window of 30,000 tokens. Units of words are in small letters, so that a sentence or a
/// stack trace that begins behind the number (`File "x.py"`) is none.
fn is_other_unit(after: &str) -> bool {
    const WORDS: [&str; 10] = ["char", "byte", "word", "letter", "pixel", "image", "file", "page", "message", "item"];
    const SIZES: [&str; 3] = ["kb", "mb", "gb"];
    let after = after.trim_start_matches([' ', '(', '-']);
    let starts_with = |unit: &str| after.get(..unit.len()).is_some_and(|start| start.eq_ignore_ascii_case(unit));
    let foreign = ["%", "字符", "字节", "个字"];
    WORDS.into_iter().chain(foreign).any(|unit| after.starts_with(unit)) || SIZES.into_iter().any(starts_with)
}

/// A whole number as texts print it: digits, and separators that the normalisation left.
fn read_count(text: &str) -> Option<u64> {
    let mut number: u64 = 0;
    let mut digits = 0;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => {
                number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                digits += 1;
            }
            b',' | b'_' | b'\'' | b' ' => {}
            // The fraction of a count says nothing.
            b'.' if digits > 0 => break,
            _ => return None,
        }
    }
    (digits > 0 && number <= MAX_TOKENS).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_and_nonsense_is_not() {
        let cases = [
            ("200000", Some(200_000)),
            ("1,048,576", Some(1_048_576)),
            ("0", Some(0)),
            ("12.5", Some(12)),
            ("", None),
            ("abc", None),
            ("-5", None),
            ("99999999999999999999999", None),
            ("1099511627777", None),
        ];
        for (text, number) in cases {
            assert_eq!(read_count(text), number, "{text}");
        }
    }

    #[test]
    fn numbers_of_other_things_are_no_token_counts() {
        let cases = [
            ("limit of ", " tokens", true),
            ("", "", true),
            ("(", ". However", true),
            ("[1-", "]", true),
            ("- ", " maximum", true),
            ("limit of ", " characters", false),
            ("limit of ", " (bytes)", false),
            ("", "字符", false),
            ("", " words", false),
            ("", " MB", false),
            ("Given: ", " File \"server.py\", line 99", true),
            ("for model foo-", ". Current", false),
            ("limit reached for tier ", "", false),
            ("Input at index ", " exceeds", false),
            ("context exceeded by ", " tokens", false),
            ("limit (-", " tokens left)", false),
        ];
        for (before, after, counts) in cases {
            let mut facts = Facts::default();
            facts.add_captured(Fact::Limit, Captured { before, text: "30000", after });
            assert_eq!(facts.limit.is_some(), counts, "{before}|{after}");
        }
    }

    #[test]
    fn what_is_known_is_completed_and_not_contradicted() {
        let facts = |limit, requested| Facts { limit, requested, ..Facts::default() };
        let both = facts(Some(4096), Some(5000));
        for (known, completes) in [
            (facts(None, None), true),
            (facts(Some(4096), None), true),
            (facts(None, Some(5000)), true),
            (facts(Some(5000), None), true), // taken for the limit
            (facts(Some(8192), None), false),
            (facts(Some(9120), Some(3)), true), // no overflow
            (facts(Some(8192), Some(9000)), false),
        ] {
            assert_eq!(both.completes(&known), completes, "{known:?}");
        }
        assert!(!facts(Some(5000), Some(4096)).completes(&facts(None, None)));
        assert!(!facts(Some(5000), None).completes(&facts(None, None)));
    }

    #[test]
    fn parts_are_summed_and_the_excess_completes() {
        let mut facts = Facts::default();
        facts.add(Fact::Requested, "188240");
        facts.add(Fact::Requested, "21333");
        assert_eq!(facts.completed().requested, Some(209_573));
        let mut facts = Facts::default();
        facts.add(Fact::Excess, "25836");
        assert_eq!(facts.completed().requested, None);
        facts.add(Fact::Limit, "288000");
        assert_eq!(facts.completed().requested, Some(313_836));
    }
}
