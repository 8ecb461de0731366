//! The exponential backoff: `min(cap, base * factor^n)` with jitter, and the floor that a server's wait sets.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::policy::{Jitter, OverMax, RetryPolicy, ServerDelayPolicy};

/// Jitter above a server's wait: at most this share of it ...
const FLOOR_JITTER: f64 = 0.1;
/// ... and never more than this.
const MAX_FLOOR_JITTER: Duration = Duration::from_secs(2);
/// So many waits of decorrelated jitter are drawn to know the next: rule files allow no more attempts.
const DRAWN: u32 = 1000;
/// The golden ratio's bits: consecutive numbers of waits become seeds far apart.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// An endless iterator over the waits before the second, third, ... call. The caller counts calls.
///
/// Every wait is drawn for its own place: the wait before the fourth call is the same whether or not the second and third were asked for, so that a wait can be worked out again. No wait exceeds
/// the policy's cap, whatever its jitter, and waits at the cap stay spread. Saturating: no policy and no number of waits makes it panic. Costs no allocation; a wait takes some 20 ns.
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
    cap: Duration,
    jitter: Jitter,
    server_delay: ServerDelayPolicy,
    /// The wait before, from which decorrelated jitter goes on.
    previous: f64,
    /// The number of the next wait, from 0.
    number: u32,
    seed: u64,
}

impl Backoff {
    /// A backoff after the policy. The same seed gives the same waits: draw a fresh one for each call, or clients that fail together return together.
    #[must_use]
    pub fn new(policy: &RetryPolicy, seed: u64) -> Self {
        let base = policy.base.as_secs_f64();
        Self { base, factor: policy.factor, cap: policy.cap, jitter: policy.jitter, server_delay: policy.server_delay, previous: base, number: 0, seed }
    }

    /// The next wait when the server asked for `asked`: at least that, plus a little (a tenth, at most 2 s) so that all who were told the same do not return in the same instant. Stays within
    /// the longest wait that the policy sleeps through, if `asked` does. Counts as a wait: the one after it is longer.
    pub fn above(&mut self, asked: Duration) -> Duration {
        let ServerDelayPolicy { max, over_max } = self.server_delay;
        let mut room = asked.mul_f64(FLOOR_JITTER).min(MAX_FLOOR_JITTER);
        if over_max == OverMax::Fail && asked <= max {
            room = room.min(max.saturating_sub(asked));
        }
        let mut rng = self.rng();
        // The own wait is drawn too, since decorrelated jitter builds on it.
        self.draw(&mut rng);
        asked.saturating_add(seconds(uniform(&mut rng, 0.0, room.as_secs_f64())))
    }

    /// The generator of the next wait.
    fn rng(&self) -> SmallRng {
        SmallRng::seed_from_u64(self.seed.wrapping_add(u64::from(self.number).wrapping_mul(STRIDE)))
    }

    /// The next own wait, in seconds.
    fn draw(&mut self, rng: &mut SmallRng) -> f64 {
        // Saturated before the jitter is added: if it were cut afterwards, clients at the cap would all wait exactly the cap and come back together.
        let cap = self.cap.as_secs_f64();
        let ceiling = cap / (1.0 + self.jitter.headroom());
        let grown = self.base * self.factor.powi(i32::try_from(self.number).unwrap_or(i32::MAX));
        // Nothing times infinity: a base of zero stays zero.
        let term = if grown.is_nan() { 0.0 } else { grown.min(ceiling) };
        self.number = self.number.saturating_add(1);
        let wait = match self.jitter {
            Jitter::None => term,
            Jitter::Proportional { .. } => uniform(rng, term * (1.0 - self.jitter.headroom()), term * (1.0 + self.jitter.headroom())),
            Jitter::Additive { .. } => uniform(rng, term, term * (1.0 + self.jitter.headroom())),
            Jitter::Full => uniform(rng, 0.0, term),
            Jitter::Equal => uniform(rng, term / 2.0, term),
            Jitter::Decorrelated => {
                let high = (self.previous * 3.0).min(cap);
                self.previous = uniform(rng, self.base.min(high), high);
                self.previous
            }
        };
        wait.min(cap)
    }

    /// Goes on with the wait of that number, from 0, as if those before had been drawn.
    pub(crate) fn at(mut self, number: u32) -> Self {
        if self.jitter == Jitter::Decorrelated {
            // Each wait builds on the one before. After so many nothing is left of the first, and the rest need not be drawn.
            self.number = number.saturating_sub(DRAWN);
            (self.number..number).for_each(|_| {
                let mut rng = self.rng();
                self.draw(&mut rng);
            });
        }
        self.number = number;
        self
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let mut rng = self.rng();
        // Once more, for caps so long that a double rounds them.
        Some(seconds(self.draw(&mut rng)).min(self.cap))
    }
}

/// A little longer than that wait, but by no more than `room`, so that all who wait for the same do not come in the same instant.
pub(super) fn spread(wait: Duration, room: Duration, seed: u64) -> Duration {
    let room = wait.mul_f64(FLOOR_JITTER).min(MAX_FLOOR_JITTER).min(room);
    wait.saturating_add(seconds(uniform(&mut SmallRng::seed_from_u64(seed), 0.0, room.as_secs_f64())))
}

fn uniform(rng: &mut SmallRng, low: f64, high: f64) -> f64 {
    low + (high - low).max(0.0) * rng.random::<f64>()
}

/// A duration of that many seconds: the longest there is for more than that, none for what is no number.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::Ruleset;

    fn policy(jitter: Jitter) -> RetryPolicy {
        RetryPolicy { jitter, ..Ruleset::embedded().retry_policy(None, None).clone() }
    }

    #[test]
    fn the_terms_double_up_to_the_cap() {
        let waits: Vec<u64> = Backoff::new(&policy(Jitter::None), 1).take(6).map(|wait| wait.as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn a_wait_can_be_worked_out_again() {
        for jitter in [Jitter::Decorrelated, Jitter::Full, Jitter::Proportional { ratio: 0.2 }] {
            let policy = policy(jitter);
            let waits: Vec<Duration> = Backoff::new(&policy, 7).take(20).collect();
            for (number, wait) in waits.iter().enumerate() {
                assert_eq!(Backoff::new(&policy, 7).at(number as u32).next(), Some(*wait), "{jitter:?} {number}");
                assert_eq!(Backoff::new(&policy, 7).nth(number), Some(*wait), "{jitter:?} {number}");
            }
        }
    }

    #[test]
    fn what_is_no_ratio_counts_as_the_nearest() {
        for (ratio, counts_as) in [(-0.5, 0.0), (7.0, 1.0), (f64::NAN, 0.0), (f64::INFINITY, 1.0)] {
            for (given, meant) in [(Jitter::Proportional { ratio }, Jitter::Proportional { ratio: counts_as }), (Jitter::Additive { ratio }, Jitter::Additive { ratio: counts_as })]
            {
                let waits = |jitter| Backoff::new(&policy(jitter), 7).take(9).collect::<Vec<_>>();
                assert_eq!((waits(given), policy(given).worst_case()), (waits(meant), policy(meant).worst_case()), "{given:?}");
            }
        }
    }

    #[test]
    fn the_number_of_a_wait_costs_nothing() {
        for number in [5_000, u32::MAX] {
            let wait = Backoff::new(&policy(Jitter::Decorrelated), 7).at(number).next().unwrap();
            assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_secs(30), "{wait:?}");
        }
    }

    #[test]
    fn at_the_cap_the_spread_stays() {
        let cap = Duration::from_secs(30);
        for jitter in [Jitter::Proportional { ratio: 0.2 }, Jitter::Additive { ratio: 0.2 }, Jitter::Full, Jitter::Equal, Jitter::Decorrelated] {
            let waits: Vec<Duration> = (0..1000).map(|seed| Backoff::new(&policy(jitter), seed).at(12).next().unwrap()).collect();
            assert!(waits.iter().all(|wait| *wait <= cap), "{jitter:?}");
            let at_cap = waits.iter().filter(|wait| cap.abs_diff(**wait) < Duration::from_millis(100)).count();
            assert!(at_cap < 30, "{jitter:?}: {at_cap} of 1000 in the last 100 ms");
        }
    }

    #[test]
    fn decorrelated_waits_lie_between_the_base_and_thrice_the_one_before() {
        let policy = policy(Jitter::Decorrelated);
        for seed in 0..200 {
            let mut before = policy.base;
            for wait in Backoff::new(&policy, seed).take(30) {
                assert!(wait >= policy.base && wait <= (before * 3).min(policy.cap), "{wait:?} after {before:?}");
                before = wait;
            }
        }
    }

    #[test]
    fn a_servers_wait_is_a_floor_and_keeps_within_the_maximum() {
        let policy = policy(Jitter::Full);
        let max = policy.server_delay.max;
        for asked in [Duration::from_millis(1), Duration::from_secs(20), max.saturating_sub(Duration::from_millis(5)), max] {
            for seed in 0..100 {
                let wait = Backoff::new(&policy, seed).above(asked);
                assert!(wait >= asked && wait <= max && wait <= asked + (asked / 10).min(Duration::from_secs(2)), "{asked:?} {wait:?}");
            }
        }
        assert_eq!(Backoff::new(&policy, 1).above(Duration::MAX), Duration::MAX);
    }
}
