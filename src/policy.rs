//! How often, how long and how far apart to retry; valid by construction.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::status::StatusSet;

/// How retries of one provider and class are spaced, as the rule files give it.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Calls in all, the first included.
    pub max_attempts: NonZeroU32,
    /// The wait before the second call.
    pub base: Duration,
    /// By how much each wait is longer than the one before; at least 1.
    pub factor: f64,
    /// No wait of our own is longer, jitter included.
    pub cap: Duration,
    /// How waits are spread so that clients do not return together.
    pub jitter: Jitter,
    /// Statuses to retry when no rule recognised the failure.
    pub retryable: StatusSet,
    /// Statuses never to retry when no rule recognised the failure; outranks `retryable`.
    pub fatal: StatusSet,
    /// What to do with a wait that the server asked for.
    pub server_delay: ServerDelayPolicy,
    /// The longest time from the first call to the last; no wait is begun that would end later. None is no bound.
    pub deadline: Option<Duration>,
    /// What a retry takes from the budget.
    pub cost: f64,
    /// How many retries an outage may add to the calls of one provider and key.
    pub budget: BudgetPolicy,
}

/// A token bucket that bounds the retries of one provider and key, so that an outage is not multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetPolicy {
    /// The most tokens that it holds, and holds at first. Zero forbids retries.
    pub capacity: f64,
    /// Tokens that time gives back, so that a program that makes few calls recovers too.
    pub per_second: f64,
    /// Tokens that a successful call gives back.
    pub per_success: f64,
}

impl RetryPolicy {
    /// What one call can come to at worst.
    #[must_use]
    pub fn worst_case(&self) -> WorstCase {
        let retries = self.max_attempts.get() - 1;
        let mut waiting = Duration::ZERO;
        let mut term = self.base.as_secs_f64();
        let headroom = 1.0 + self.jitter.headroom();
        for _ in 0..retries {
            let longest = match self.jitter {
                Jitter::Decorrelated => self.cap.as_secs_f64(),
                _ => (term * headroom).min(self.cap.as_secs_f64()),
            };
            waiting = waiting.saturating_add(Duration::try_from_secs_f64(longest).unwrap_or(self.cap));
            term = (term * self.factor).min(self.cap.as_secs_f64());
        }
        WorstCase { calls: self.max_attempts.get(), waiting: self.deadline.map_or(waiting, |deadline| waiting.min(deadline)) }
    }
}

/// The most that a call can cost when the server never says how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstCase {
    /// Calls in all, the first included.
    pub calls: u32,
    /// Time spent waiting between them. A server's own waits come on top, each at most `server_delay.max` long unless that is to be waited out.
    pub waiting: Duration,
}

/// How far a server's wait is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerDelayPolicy {
    /// The longest wait that is slept through.
    pub max: Duration,
    /// What happens above it.
    pub over_max: OverMax,
}

/// What happens when the server asks for a longer wait than the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverMax {
    /// Stop, and report the instant from which another try is allowed.
    Fail,
    /// Wait all the same.
    Wait,
}

/// How waits are spread. Formulas and their history: <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// Exactly the exponential term.
    None,
    /// The term plus or minus up to `ratio` of it.
    Proportional {
        /// From 0 to 1.
        ratio: f64,
    },
    /// The term plus up to `ratio` of it.
    Additive {
        /// From 0 to 1.
        ratio: f64,
    },
    /// Anything from zero to the term.
    Full,
    /// Anything from half the term to the term.
    Equal,
    /// Anything from the base to three times the previous wait.
    Decorrelated,
}

impl Jitter {
    /// The names of the modes.
    pub const NAMES: [&'static str; 6] = ["none", "proportional", "additive", "full", "equal", "decorrelated"];

    /// The mode's name as rule files write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Proportional { .. } => "proportional",
            Self::Additive { .. } => "additive",
            Self::Full => "full",
            Self::Equal => "equal",
            Self::Decorrelated => "decorrelated",
        }
    }

    /// By how much of the term a wait can be longer than the term.
    pub(crate) fn headroom(self) -> f64 {
        match self {
            Self::Proportional { ratio } | Self::Additive { ratio } => ratio,
            Self::None | Self::Full | Self::Equal | Self::Decorrelated => 0.0,
        }
    }
}
