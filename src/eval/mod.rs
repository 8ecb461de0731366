//! From a failure and a ruleset to a verdict. Pure and synchronous: no clock, no I/O, one snapshot of the rules.

mod check;
mod evaluate;
mod explain;

pub use self::explain::{Explanation, Extracted, Outcome, Tried};

pub(crate) use self::evaluate::{evaluate, matching_rules, read_signals};
pub(crate) use self::explain::{explain, why_not};
