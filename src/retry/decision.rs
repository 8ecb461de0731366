//! What a failure means for the call.

use std::time::Duration;

use jiff::Timestamp;

use super::end::Why;
use crate::verdict::Verdict;

/// What a failure means for the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// What the failure is.
    pub verdict: Verdict,
    /// What to do now.
    pub step: Step,
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// How many attempts are left; none when there is to be no other.
    pub attempts_left: u32,
    /// The instant from which the server allows another try, if it named one, to this call or, when that is what ends it, to another.
    pub retry_at: Option<Timestamp>,
}

impl Decision {
    /// Why the same call is not made again; `None` when it is.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        match self.step {
            Step::Retry { .. } => None,
            Step::Compact => Some(Why::Overflow),
            Step::ReduceOutput => Some(Why::OutputLimit),
            Step::Failover => Some(Why::Failover),
            Step::GiveUp(why) => Some(why),
        }
    }
}

/// What to do after a failure. The five are all there are, so a `match` needs no wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait this long, then make the same call again.
    Retry {
        /// From now.
        delay: Duration,
        /// The same by the time of day.
        at: Timestamp,
        /// Where the wait comes from.
        from: DelayFrom,
    },
    /// Make the conversation smaller, say so with [`Session::request_changed`](crate::Session::request_changed), and call again.
    Compact,
    /// Ask for less output, say so with [`Session::request_changed`](crate::Session::request_changed), and call again.
    ReduceOutput,
    /// Use another provider, key or model.
    Failover,
    /// Report the failure.
    GiveUp(Why),
}

/// Where a wait comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DelayFrom {
    /// The server asked for it, in the form of that name, such as `retry-after`.
    Server(String),
    /// The policy's backoff.
    Backoff,
    /// The server asked another call of the same provider and key to wait.
    HeldBack,
}

impl DelayFrom {
    /// What kind of source it is, in a word: `server`, `backoff` or `held_back`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Backoff => "backoff",
            Self::HeldBack => "held_back",
        }
    }
}
