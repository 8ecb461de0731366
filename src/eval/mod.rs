//! From a failure and a ruleset to a verdict. Pure and synchronous: no clock, no I/O, one snapshot of the rules.

mod check;
mod evaluate;
mod explain;

pub use self::explain::{Explanation, Extracted, Outcome, PatternMatch, Tried};

pub(crate) use self::check::{Situation, Unmet};
pub(crate) use self::evaluate::{evaluate, read_signals, seen, situation, verdict, winner};
pub(crate) use self::explain::{describe, explain};

use crate::failure::Failure;
use crate::ruleset::Ruleset;
use crate::verdict::Verdict;

impl Ruleset {
    /// What a failure is and what to do about it, by these rules: for comparing sets of rules. Programs ask a [handle](crate::Overspill::evaluate), which also keeps what no rule recognised.
    #[must_use]
    pub fn evaluate(&self, failure: &Failure<'_>) -> Verdict {
        evaluate(self, failure)
    }

    /// The same verdict with the reasons for it.
    #[must_use]
    pub fn explain(&self, failure: &Failure<'_>) -> Explanation {
        explain(self, failure)
    }

    /// How many tokens of the window the failed call says that it took, by its usage.
    #[must_use]
    pub fn used_tokens(&self, failure: &Failure<'_>) -> Option<u64> {
        let signals = read_signals(self, failure);
        situation(self, failure, &signals).used()
    }
}
