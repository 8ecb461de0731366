//! What happens, for those who watch: `tracing` events and metrics, each behind its feature; nothing of a request is in them.

use super::observer::Attempt;
use super::options::Retry;

/// An attempt failed and the next step is known.
pub(super) fn attempt_failed(attempt: &Attempt<'_>, budget: Option<f64>) {
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = attempt;
    #[cfg(not(feature = "metrics"))]
    let _ = budget;
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
            rule = attempt.verdict.rule(),
            status = attempt.verdict.status(),
            ruleset = %attempt.verdict.ruleset(),
            delay_ms,
            next_at,
            "attempt failed"
        );
    }
    #[cfg(feature = "metrics")]
    {
        let provider = attempt.provider.unwrap_or("unknown").to_owned();
        let outcome = match attempt.step {
            super::session::Step::Retry { .. } => "retry",
            super::session::Step::Compact => "compact",
            super::session::Step::ReduceOutput => "reduce_output",
            super::session::Step::Failover => "failover",
            super::session::Step::GiveUp(why) => why.name(),
        };
        metrics::counter!("overspill_attempts_failed_total", "provider" => provider.clone(), "class" => attempt.verdict.class().name(), "outcome" => outcome).increment(1);
        if let Some(delay) = attempt.delay() {
            metrics::histogram!("overspill_wait_seconds", "provider" => provider.clone()).record(delay.as_secs_f64());
        }
        if let Some(tokens) = budget {
            metrics::gauge!("overspill_retry_budget_tokens", "provider" => provider).set(tokens);
        }
    }
}

/// A call succeeded.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "counted only with the feature"))]
pub(super) fn succeeded(options: &Retry<'_>, attempts: u32) {
    #[cfg(feature = "metrics")]
    {
        let provider = options.provider.as_deref().unwrap_or("unknown").to_owned();
        metrics::counter!("overspill_calls_succeeded_total", "provider" => provider, "retried" => if attempts > 1 { "yes" } else { "no" }).increment(1);
    }
}
