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

    /// As [`add`](Self::add), unless the text goes on with the name of something that is no token.
    pub(crate) fn add_before(&mut self, fact: Fact, text: &str, after: &str) {
        if !is_other_unit(after) {
            self.add(fact, text);
        }
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

/// Whether a number is followed by a unit other than tokens: a window of 30,000 characters is no window of 30,000 tokens.
fn is_other_unit(after: &str) -> bool {
    const UNITS: [&str; 14] = ["char", "byte", "word", "letter", "pixel", "image", "file", "page", "message", "item", "kb", "mb", "gb", "%"];
    let after = after.trim_start_matches([' ', '(', '-']);
    let starts_with = |unit: &str| after.get(..unit.len()).is_some_and(|start| start.eq_ignore_ascii_case(unit));
    UNITS.into_iter().any(starts_with) || after.starts_with("字符") || after.starts_with("字节") || after.starts_with("个字")
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
            (" tokens", true),
            ("", true),
            (". However", true),
            (" characters", false),
            (" (bytes)", false),
            ("字符", false),
            (" words", false),
            (" MB", false),
            (" maximum", true),
        ];
        for (after, counts) in cases {
            let mut facts = Facts::default();
            facts.add_before(Fact::Limit, "30000", after);
            assert_eq!(facts.limit.is_some(), counts, "{after}");
        }
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
