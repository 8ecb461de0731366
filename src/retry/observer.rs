//! Who wants to know of every attempt.

use std::time::Duration;

use jiff::Timestamp;

use super::decision::{DelayFrom, Step};
use super::end::Why;
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
    /// How many attempts are left; none when there is to be no other.
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

/// An attempt that waits, or waits longer than it was to, because the provider told another call with the same key to wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Held<'a> {
    /// The provider, as it was named.
    pub provider: Option<&'a str>,
    /// The number of the attempt that waits, from 1.
    pub number: u32,
    /// How long, from now.
    pub wait: Duration,
    /// Until when, by the time of day.
    pub at: Timestamp,
}

/// A call that was to be made again and is not: its wait ended it. An edit left it no other attempt, or another call with the same key was told to wait for longer than this one may.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// The provider, as it was named.
    pub provider: Option<&'a str>,
    /// The model that was asked for.
    pub model: Option<&'a str>,
    /// Attempts made.
    pub attempts: u32,
    /// Why there is no other.
    pub why: Why,
    /// The instant from which the server allows another try, if that is the reason.
    pub retry_at: Option<Timestamp>,
}

/// Told of what becomes of a call, on the task that makes it and before it waits. Must not block. A closure is told of the failed attempts alone.
///
/// ```
/// use overspill::{Attempt, Failure, Overspill};
///
/// let overspill = Overspill::embedded();
/// let countdown = |attempt: &Attempt<'_>| {
///     if let (Some(delay), Some(at)) = (attempt.delay(), attempt.next_at()) {
///         eprintln!("{}: next try in {delay:.0?}, at {at}; {} left", attempt.verdict.class(), attempt.left);
///     }
/// };
/// let mut session = overspill.retry("openai").observer(countdown).session();
/// session.next(&Failure::http(503));
/// ```
pub trait Observer: Send + Sync {
    /// An attempt failed.
    fn attempt_failed(&self, attempt: &Attempt<'_>);

    /// An attempt is held back. Nothing is done by default.
    fn held_back(&self, held: &Held<'_>) {
        let _ = held;
    }

    /// The call ended in its wait. An end that a failed attempt brings about at once is told with that attempt, as its step. Nothing is done by default.
    fn call_ended(&self, ended: &Ended<'_>) {
        let _ = ended;
    }

    /// The call succeeded with the attempt of that number. Nothing is done by default.
    fn call_succeeded(&self, attempts: u32) {
        let _ = attempts;
    }
}

impl<F: Fn(&Attempt<'_>) + Send + Sync> Observer for F {
    fn attempt_failed(&self, attempt: &Attempt<'_>) {
        self(attempt);
    }
}
