//! How long one attempt waits before the next.

use std::time::Duration;

use jiff::Timestamp;

use super::Backoff;
use crate::policy::{OverMax, RetryPolicy};
use crate::verdict::Verdict;

/// The wait after the failed attempt number `attempt` (from 1), or `None` when there is no next one: the verdict is not to retry, the attempts are used up, or the server asks for more than the
/// policy's maximum.
///
/// The server's wait is a floor with a little jitter above it; without one the backoff decides. Saturating, never a panic.
#[must_use]
pub fn next_delay(policy: &RetryPolicy, verdict: &Verdict, attempt: u32, now: Timestamp, seed: u64) -> Option<Duration> {
    if !verdict.is_retry() || attempt >= policy.max_attempts.get() {
        return None;
    }
    let mut backoff = Backoff::new(policy, seed);
    let Some(asked) = verdict.server_delay().map(|delay| delay.from(now)) else {
        return backoff.nth(attempt.saturating_sub(1) as usize);
    };
    let over_max = asked > policy.server_delay.max && policy.server_delay.over_max == OverMax::Fail;
    (!over_max).then(|| backoff.above(asked))
}
