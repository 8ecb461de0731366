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
