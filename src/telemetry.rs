//! What the evaluator does, for those who watch: counted through the `metrics` facade with the feature of that name.

use crate::verdict::Verdict;

/// A failure was judged.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "counted only with the feature"))]
pub(crate) fn count_verdict(labels: &Labels, provider: Option<&str>, verdict: &Verdict) {
    #[cfg(feature = "metrics")]
    {
        let provider = labels.provider(provider);
        metrics::counter!("overspill_verdicts_total", "provider" => provider.clone(), "class" => verdict.class().name()).increment(1);
        if verdict.is_miss() {
            metrics::counter!("overspill_misses_total", "provider" => provider).increment(1);
        }
    }
}

/// Says to the installed recorder what each metric is. Call it once, after installing the recorder; without it metrics are counted all the same.
#[cfg(feature = "metrics")]
pub fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_counter!("overspill_verdicts_total", "Failures judged, by provider and class.");
    describe_counter!("overspill_misses_total", "Failures that no rule recognised, by provider.");
    describe_counter!("overspill_attempts_total", "Attempts made, by provider and outcome (success, failure).");
    describe_counter!("overspill_retries_total", "Failed attempts, by provider, class and what follows: retry, compact, reduce_output, failover, or why the call ended.");
    describe_histogram!("overspill_retry_wait_seconds", Unit::Seconds, "Waits before attempts, by provider and source (server, backoff, held_back).");
    describe_gauge!("overspill_retry_budget_balance", "Tokens left in the retry budget, by provider and a hash of the key.");
}

/// The names of providers as labels: made once each, so that counting a success costs one allocation, and bounded, so that a program that makes names up does not flood the recorder.
#[derive(Debug, Default)]
pub(crate) struct Labels(#[cfg(feature = "metrics")] std::sync::RwLock<std::collections::HashMap<String, std::sync::Arc<str>>>);

#[cfg(feature = "metrics")]
impl Labels {
    const MOST: usize = 1024;

    pub(crate) fn provider(&self, name: Option<&str>) -> metrics::SharedString {
        use std::sync::PoisonError;
        let Some(name) = name else { return metrics::SharedString::const_str("unknown") };
        if let Some(label) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return metrics::SharedString::from(std::sync::Arc::clone(label));
        }
        let mut labels = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if labels.len() >= Self::MOST {
            return metrics::SharedString::const_str("other");
        }
        let label = labels.entry(name.to_owned()).or_insert_with(|| name.into());
        metrics::SharedString::from(std::sync::Arc::clone(label))
    }
}
