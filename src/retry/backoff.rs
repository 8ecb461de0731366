//! The exponential backoff: `min(cap, base * factor^n)` with jitter, and the floor that a server's wait sets.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::policy::{Jitter, RetryPolicy};

/// Jitter above a server's wait: at most a tenth of it, and never more than this.
const MAX_FLOOR_JITTER: Duration = Duration::from_secs(2);

/// An endless iterator over the waits before the second, third, ... attempt. The caller counts attempts; waits never exceed the policy's cap.
///
/// ```
/// use overspill::{Backoff, Overspill};
///
/// let overspill = Overspill::embedded();
/// let rules = overspill.ruleset();
/// let first = Backoff::new(rules.retry_policy(Some("openai"), None), 7).next();
/// assert!(first.is_some_and(|wait| (1_600..=2_400).contains(&wait.as_millis())));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    base: f64,
    factor: f64,
    cap: f64,
    jitter: Jitter,
    previous: f64,
    retry: i32,
    rng: SmallRng,
}

impl Backoff {
    /// A backoff after the policy. The same seed gives the same waits: draw a fresh one for each call, or clients that fail together return together.
    #[must_use]
    pub fn new(policy: &RetryPolicy, seed: u64) -> Self {
        Self {
            base: policy.base.as_secs_f64(),
            factor: policy.factor,
            cap: policy.cap.as_secs_f64(),
            jitter: policy.jitter,
            previous: policy.base.as_secs_f64(),
            retry: 0,
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// The wait when the server asked for `asked`: at least that, plus a little so that all who were told the same do not return in the same instant.
    pub fn above(&mut self, asked: Duration) -> Duration {
        let room = asked.mul_f64(0.1).min(MAX_FLOOR_JITTER);
        asked.saturating_add(seconds(self.uniform(0.0, room.as_secs_f64())))
    }

    /// Goes on after that many waits, whatever was asked before.
    pub(crate) fn skip_to(&mut self, retries: u32) {
        self.retry = i32::try_from(retries).unwrap_or(i32::MAX);
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low).max(0.0) * self.rng.random::<f64>()
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        // Saturated before the jitter is added: if it were cut afterwards, clients at the cap would all wait exactly the cap and come back together.
        let ceiling = self.cap / (1.0 + self.jitter.headroom());
        let grown = self.base * self.factor.powi(self.retry);
        let term = if grown.is_finite() { grown.min(ceiling) } else { ceiling };
        self.retry = self.retry.saturating_add(1);
        let wait = match self.jitter {
            Jitter::None => term,
            Jitter::Proportional { ratio } => self.uniform(term * (1.0 - ratio), term * (1.0 + ratio)),
            Jitter::Additive { ratio } => self.uniform(term, term * (1.0 + ratio)),
            Jitter::Full => self.uniform(0.0, term),
            Jitter::Equal => self.uniform(term / 2.0, term),
            Jitter::Decorrelated => {
                let high = (self.previous * 3.0).min(self.cap);
                self.previous = self.uniform(self.base.min(high), high);
                self.previous
            }
        };
        Some(seconds(wait.min(self.cap)))
    }
}

/// A duration of that many seconds; what is no duration is zero.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::ZERO)
}
