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
    /// Tokens that time gives back, so that a program that makes few calls recovers too; not while the server asks to wait.
    pub per_second: f64,
    /// Tokens that a successful call gives back.
    pub per_success: f64,
}

impl RetryPolicy {
    /// What one call can come to at worst when all its failures follow this policy, and its first attempt is held back as long as the policy allows.
    #[must_use]
    pub fn worst_case(&self) -> WorstCase {
        WorstCase::of(std::slice::from_ref(self), Some(self))
    }

    /// The longest wait that a server may ask for, of this call or of another one; `None` when there is no bound.
    pub(crate) fn longest_held(&self) -> Option<Duration> {
        (self.server_delay.over_max == OverMax::Fail).then_some(self.server_delay.max)
    }

    /// The longest wait of all, the pace at which calls come back included.
    pub(crate) fn longest_wait(&self) -> Option<Duration> {
        self.longest_held().map(|longest| longest.max(self.cap))
    }

    /// The longest that the wait of that number, from 0, can be.
    fn longest(&self, number: u32) -> Duration {
        let cap = self.cap.as_secs_f64();
        let grown = self.base.as_secs_f64() * self.factor.powi(i32::try_from(number).unwrap_or(i32::MAX));
        let term = if grown.is_nan() { 0.0 } else { grown.min(cap / (1.0 + self.jitter.headroom())) };
        let longest = match self.jitter {
            Jitter::Decorrelated => (self.base.as_secs_f64() * 3_f64.powi(i32::try_from(number).unwrap_or(i32::MAX).saturating_add(1))).min(cap),
            _ => term * (1.0 + self.jitter.headroom()),
        };
        Duration::try_from_secs_f64(longest).unwrap_or(self.cap).min(self.cap)
    }
}

/// The most that a call can cost. [`Default`] is a call that is made once.
///
/// ```
/// use std::time::Duration;
///
/// use overspill::Overspill;
///
/// let worst = Overspill::embedded().retry("openai").worst_case();
/// assert_eq!((worst.calls, worst.waiting), (5, Duration::from_millis(36_000))); // 2, 4, 8, 16 s, each up to a fifth longer
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorstCase {
    /// Calls in all, the first included.
    pub calls: u32,
    /// Time spent waiting between them when the server never says how long to wait.
    pub waiting: Duration,
    /// The same when it does each time, as long as is slept through; `None` when there is no bound to that. A hold that other calls of the provider brought about is part of it, before the first
    /// attempt too, and so is the pace at which many come back; what a first attempt waits for its turn when it asks although others are held for longer is not.
    pub with_server_waits: Option<Duration>,
}

impl Default for WorstCase {
    fn default() -> Self {
        Self { calls: 1, waiting: Duration::ZERO, with_server_waits: Some(Duration::ZERO) }
    }
}

impl WorstCase {
    /// So many waits are counted one by one.
    const COUNTED: u32 = 1000;

    /// Of a call whose failures follow any of these policies, in any order, and whose first attempt may be held back as long as `first` allows.
    pub(crate) fn of(policies: &[RetryPolicy], first: Option<&RetryPolicy>) -> Self {
        let mut worst = Self { calls: policies.iter().map(|policy| policy.max_attempts.get()).max().unwrap_or(1), ..Self::default() };
        if let Some(first) = first {
            worst.with_server_waits = first.longest_held();
        }
        let retries = worst.calls.saturating_sub(1);
        // Rule files allow a thousand attempts; what a program makes up beyond that counts as many as the last.
        for number in 0..retries.min(Self::COUNTED) {
            let times = if number + 1 == Self::COUNTED { retries - number } else { 1 };
            let allowed = || policies.iter().filter(|policy| policy.max_attempts.get() > number + 1);
            let own = allowed().map(|policy| policy.longest(number)).max().unwrap_or_default();
            let waits: Option<Vec<Duration>> = allowed().map(RetryPolicy::longest_wait).collect();
            let asked = waits.map(|waits| waits.into_iter().max().unwrap_or_default());
            worst.waiting = worst.waiting.saturating_add(own.saturating_mul(times));
            worst.with_server_waits = worst.with_server_waits.zip(asked).map(|(all, asked)| all.saturating_add(asked.saturating_mul(times)));
        }
        // The deadline of a call is one; were there several, the longest would be the bound.
        if let Some(deadline) = policies.iter().chain(first).map(|policy| policy.deadline).min_by_key(|deadline| deadline.map(std::cmp::Reverse)).flatten() {
            worst.waiting = worst.waiting.min(deadline);
            worst.with_server_waits = Some(worst.with_server_waits.map_or(deadline, |waits| waits.min(deadline)));
        }
        worst
    }
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
        /// From 0 to 1; what is outside counts as the nearer of the two.
        ratio: f64,
    },
    /// The term plus up to `ratio` of it.
    Additive {
        /// From 0 to 1; what is outside counts as the nearer of the two.
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
            Self::Proportional { ratio } | Self::Additive { ratio } if ratio > 0.0 => ratio.min(1.0),
            // What a program gives that is no ratio is none.
            _ => 0.0,
        }
    }
}
