//! What happens to calls, for those who watch: `tracing` events and metrics, each behind its feature; nothing of a request is in them.

use std::time::Duration;

use super::observer::{Attempt, Ended};
use super::options::Retry;
use crate::lanes::LaneId;
use crate::policy::BudgetPolicy;
use crate::ruleset::Ruleset;

/// An attempt failed and the next step is known.
pub(super) fn attempt_failed(options: &Retry<'_>, attempt: &Attempt<'_>) {
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = attempt;
    #[cfg(not(feature = "metrics"))]
    let _ = options;
    #[cfg(feature = "tracing")]
    {
        let delay_ms = attempt.delay().map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        let next_at = attempt.next_at().map(|at| at.to_string());
        tracing::warn!(
            provider = attempt.provider,
            model = attempt.model,
            attempt = attempt.number,
            left = attempt.left,
            class = attempt.verdict.class().name(),
            action = attempt.verdict.action().name(),
            outcome = outcome(attempt),
            rule = attempt.verdict.rule(),
            status = attempt.verdict.status(),
            ruleset = %attempt.verdict.ruleset(),
            delay_ms,
            delay_from = attempt.delay_from().map(super::decision::DelayFrom::name),
            next_at,
            "attempt failed"
        );
    }
    #[cfg(feature = "metrics")]
    {
        let provider = options.overspill.labels().provider(options.provider.as_deref());
        let class = attempt.verdict.class().name();
        metrics::counter!("overspill_attempts_total", "provider" => provider.clone(), "outcome" => "failure").increment(1);
        metrics::counter!("overspill_retries_total", "provider" => provider.clone(), "class" => class, "outcome" => outcome(attempt)).increment(1);
        if let (Some(delay), Some(from)) = (attempt.delay(), attempt.delay_from()) {
            metrics::histogram!("overspill_retry_wait_seconds", "provider" => provider, "source" => from.name()).record(delay.as_secs_f64());
        }
    }
}

/// What follows from a failed attempt, in a word.
#[cfg(any(feature = "metrics", feature = "tracing"))]
fn outcome(attempt: &Attempt<'_>) -> &'static str {
    use super::decision::Step;
    match attempt.step {
        Step::Retry { .. } => "retry",
        Step::Compact => "compact",
        Step::ReduceOutput => "reduce_output",
        Step::Failover => "failover",
        Step::GiveUp(why) => why.name(),
    }
}

/// An attempt waits because another call was told to.
pub(super) fn held_back(options: &Retry<'_>, wait: Duration) {
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = (options, wait);
    #[cfg(feature = "tracing")]
    tracing::info!(provider = options.provider.as_deref(), model = options.model.as_deref(), wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "held back");
    #[cfg(feature = "metrics")]
    {
        let provider = options.overspill.labels().provider(options.provider.as_deref());
        metrics::histogram!("overspill_retry_wait_seconds", "provider" => provider, "source" => "held_back").record(wait.as_secs_f64());
    }
}

/// A failure is handled under a profile that may be a slip of the pen.
pub(super) fn profile_asked(options: &Retry<'_>, rules: &Ruleset) {
    #[cfg(not(feature = "tracing"))]
    let _ = (options, rules);
    #[cfg(feature = "tracing")]
    if let Some(profile) = options.profile.as_deref().filter(|profile| !rules.has_retry_profile(options.provider.as_deref(), profile)) {
        tracing::warn!(provider = options.provider.as_deref(), profile, "no rule file knows this retry profile");
    }
}

/// A call ended in its wait.
pub(super) fn call_ended(options: &Retry<'_>, ended: &Ended<'_>) {
    #[cfg(not(feature = "metrics"))]
    let _ = options;
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = ended;
    #[cfg(feature = "tracing")]
    {
        let retry_at = ended.retry_at.map(|at| at.to_string());
        tracing::warn!(provider = ended.provider, model = ended.model, attempts = ended.attempts, why = ended.why.name(), retry_at, "ended while waiting");
    }
    #[cfg(feature = "metrics")]
    {
        let provider = options.overspill.labels().provider(options.provider.as_deref());
        metrics::counter!("overspill_retry_waits_ended_total", "provider" => provider, "why" => ended.why.name()).increment(1);
    }
}

/// A call succeeded.
#[inline]
pub(super) fn succeeded(options: &Retry<'_>, attempts: u32) {
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = (options, attempts);
    #[cfg(feature = "tracing")]
    if attempts > 1 {
        tracing::info!(provider = options.provider.as_deref(), model = options.model.as_deref(), attempts, "succeeded after retries");
    }
    #[cfg(feature = "metrics")]
    {
        let _ = attempts;
        options.overspill.labels().count_success(options.provider.as_deref());
    }
}

/// The budget of a lane has changed.
#[cfg(feature = "metrics")]
pub(super) fn budget(options: &Retry<'_>, lane: LaneId, budget: BudgetPolicy) {
    let provider = options.overspill.labels().provider(options.provider.as_deref());
    let balance = options.overspill.lanes().balance(lane, budget);
    // The key is a secret; which of them it is tells a hash that only this process knows.
    let key = if options.key.is_some() { lane.to_string() } else { String::new() };
    metrics::gauge!("overspill_retry_budget_balance", "provider" => provider, "key" => key).set(balance);
}

/// The budget of a lane has changed.
#[cfg(not(feature = "metrics"))]
pub(super) fn budget(_options: &Retry<'_>, _lane: LaneId, _budget: BudgetPolicy) {}
