//! How long one attempt waits before the next: the one formula, for sessions and for those who only ask.

use std::time::Duration;

use jiff::Timestamp;

use super::backoff::Backoff;
use super::end::Why;
use crate::policy::{OverMax, RetryPolicy};
use crate::verdict::Verdict;

/// The least that is waited after a server's answer: this part of the policy's base.
const LEAST: f64 = 20.0;

/// The wait after the failed attempt number `attempt` (from 1), or `None` when there is no next one: the verdict is not to retry, the attempts are used up, or the server asks for more than the
/// policy's maximum.
///
/// The server's wait is a floor with a little jitter above it, and a twentieth of the policy's base is the least; without one, or when it is zero (a date in the past, say), the backoff decides. A [`Session`](crate::Session) with the same seed
/// waits the same, unless other calls make it wait longer. Saturating, never a panic.
///
/// ```
/// use std::time::Duration;
///
/// use overspill::{Failure, Overspill, next_delay};
///
/// let overspill = Overspill::embedded();
/// let (now, failure) = ("2026-08-01T12:00:00Z".parse()?, Failure::http(429).provider("openai").header("retry-after", "20"));
/// let verdict = overspill.evaluate(&failure);
/// let rules = overspill.ruleset();
/// let wait = next_delay(rules.retry_policy(Some("openai"), Some(verdict.class())), &verdict, 1, now, 42);
/// assert!(wait.is_some_and(|wait| wait >= Duration::from_secs(20) && wait <= Duration::from_secs(22)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn next_delay(policy: &RetryPolicy, verdict: &Verdict, attempt: u32, now: Timestamp, seed: u64) -> Option<Duration> {
    if !verdict.is_retry() {
        return None;
    }
    wait_after(policy, asked(verdict, now), attempt, seed).ok()
}

/// The wait that the server asked for, to the nanosecond; none if it is over already.
pub(super) fn asked(verdict: &Verdict, now: Timestamp) -> Option<Duration> {
    verdict.server_delay().map(|delay| delay.wait().from(now)).filter(|wait| !wait.is_zero())
}

/// The wait after the failed attempt of that number, or why there is none.
pub(super) fn wait_after(policy: &RetryPolicy, asked: Option<Duration>, attempt: u32, seed: u64) -> Result<Duration, Why> {
    if attempt >= policy.max_attempts.get() {
        return Err(Why::Attempts);
    }
    let mut backoff = Backoff::new(policy, seed).at(attempt.saturating_sub(1));
    match asked {
        Some(asked) if asked > policy.server_delay.max && policy.server_delay.over_max == OverMax::Fail => Err(Why::ServerDelayTooLong),
        Some(asked) => {
            // A server that asks for next to nothing, and goes on failing, is not called as fast as the line carries.
            let least = policy.base.div_f64(LEAST).max(asked);
            let least = if policy.server_delay.over_max == OverMax::Fail { least.min(policy.server_delay.max.max(asked)) } else { least };
            Ok(backoff.above(least))
        }
        None => Ok(backoff.next().unwrap_or(policy.cap)),
    }
}
