//! Who wants to know of every attempt.

use std::time::Duration;

use jiff::Timestamp;

use super::session::{DelayFrom, Step};
use crate::verdict::Verdict;

/// One failed attempt and what follows from it: enough for a line that counts down.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// The provider, as it was named.
    pub provider: Option<&'a str>,
    /// The model that was asked for.
    pub model: Option<&'a str>,
    /// The number of the attempt that failed, from 1.
    pub number: u32,
    /// How many attempts are left.
    pub left: u32,
    /// What the failure is.
    pub verdict: &'a Verdict,
    /// What is done about it.
    pub step: &'a Step,
}

impl Attempt<'_> {
    /// How long the wait before the next attempt is, if there is one.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        match self.step {
            Step::Retry { delay, .. } => Some(*delay),
            _ => None,
        }
    }

    /// When the next attempt is made, by the time of day.
    #[must_use]
    pub fn next_at(&self) -> Option<Timestamp> {
        match self.step {
            Step::Retry { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Where the wait comes from.
    #[must_use]
    pub fn delay_from(&self) -> Option<&DelayFrom> {
        match self.step {
            Step::Retry { from, .. } => Some(from),
            _ => None,
        }
    }
}

/// Told of every failed attempt, before the wait. Must not block.
pub trait Observer: Send + Sync {
    /// An attempt failed.
    fn attempt_failed(&self, attempt: &Attempt<'_>);
}

impl<F: Fn(&Attempt<'_>) + Send + Sync> Observer for F {
    fn attempt_failed(&self, attempt: &Attempt<'_>) {
        self(attempt);
    }
}
