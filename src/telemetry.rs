//! What is counted through the `metrics` facade, with the feature of that name: the evaluator's part, what each metric is, and how providers are named.

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
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `overspill_verdicts_total` | counter | `provider`, `class` |
/// | `overspill_misses_total` | counter | `provider` |
/// | `overspill_attempts_total` | counter | `provider`, `outcome`: `success`, `failure` |
/// | `overspill_retries_total` | counter | `provider`, `class`, `outcome`: `retry`, `compact`, `reduce_output`, `failover`, or why the call ended |
/// | `overspill_retry_wait_seconds` | histogram | `provider`, `source`: `server`, `backoff`, `held_back` |
/// | `overspill_retry_waits_ended_total` | counter | `provider`, `why`: why a call that waited for its next attempt ended |
/// | `overspill_retry_budget_balance` | gauge | `provider`, `key`: a hash that only this process knows |
/// | `overspill_reload_generation` | gauge | |
/// | `overspill_reload_rules` | gauge | |
/// | `overspill_reload_last_success_timestamp_seconds` | gauge | |
/// | `overspill_reload_failing` | gauge | 1 while what the files say is refused |
/// | `overspill_reload_pinned` | gauge | 1 while the rules in force are pinned |
/// | `overspill_reload_watching` | gauge | `mode`: `native`, `polling`; 1 for the one at work |
/// | `overspill_reload_events_total` | counter | `event`: `loaded`, `reloaded`, `rejected`, `unchanged`, `lost`, `found` |
/// | `overspill_reload_seconds` | histogram | `event`, as above |
/// | `overspill_reload_overflows_total` | counter | |
/// | `overspill_reload_watch_errors_total` | counter | |
///
/// A provider is named as the caller names it; after 1,024 names the rest are `other`. Reload metrics come from the thread that follows the files, so they go to the global recorder; gauges are set at
/// each event and at each check of the contents.
#[cfg(feature = "metrics")]
pub fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_counter!("overspill_verdicts_total", "Failures judged, by provider and class.");
    describe_counter!("overspill_misses_total", "Failures that no rule recognised, by provider.");
    describe_counter!("overspill_attempts_total", "Attempts made, by provider and outcome (success, failure).");
    describe_counter!("overspill_retries_total", "Failed attempts, by provider, class and what follows: retry, compact, reduce_output, failover, or why the call ended.");
    describe_histogram!("overspill_retry_wait_seconds", Unit::Seconds, "Waits before attempts, by provider and source (server, backoff, held_back).");
    describe_counter!("overspill_retry_waits_ended_total", "Calls that ended while they waited for their next attempt, by provider and why.");
    describe_gauge!("overspill_retry_budget_balance", "Tokens left in the retry budget, by provider and a hash of the key.");
    describe_gauge!("overspill_reload_generation", "The number of the rules in force: one more each time that others are put in force.");
    describe_gauge!("overspill_reload_rules", "How many rules are in force.");
    describe_gauge!("overspill_reload_last_success_timestamp_seconds", Unit::Seconds, "When the files were last found right, since the Unix epoch.");
    describe_gauge!("overspill_reload_failing", "1 while what the files say is refused, or a directory is lost.");
    describe_gauge!("overspill_reload_pinned", "1 while the rules in force are pinned.");
    describe_gauge!("overspill_reload_watching", "How changes are noticed: 1 for the mode at work (native, polling).");
    describe_counter!("overspill_reload_events_total", "What happened to the rules, by event (loaded, reloaded, rejected, unchanged, lost, found).");
    describe_histogram!("overspill_reload_seconds", Unit::Seconds, "How long reading and compiling took, by event.");
    describe_counter!("overspill_reload_overflows_total", "Times that the system lost events of the files.");
    describe_counter!("overspill_reload_watch_errors_total", "Times that the watch broke.");
}

/// The names of providers as labels: made once each, so that counting a success costs no allocation, and bounded, so that a program that makes names up does not flood the recorder.
#[derive(Debug, Default)]
pub(crate) struct Labels(#[cfg(feature = "metrics")] std::sync::RwLock<std::collections::HashMap<String, std::sync::Arc<Named>>>);

/// A provider in metrics.
#[cfg(feature = "metrics")]
#[derive(Debug)]
struct Named {
    label: metrics::SharedString,
    /// The counter that every call increments, with its labels.
    success: metrics::Key,
}

#[cfg(feature = "metrics")]
impl Named {
    fn new(label: metrics::SharedString) -> Self {
        let labels = vec![metrics::Label::new("provider", label.clone()), metrics::Label::from_static_parts("outcome", "success")];
        Self { label, success: metrics::Key::from_parts("overspill_attempts_total", labels) }
    }
}

#[cfg(feature = "metrics")]
impl Labels {
    const MOST: usize = 1024;

    pub(crate) fn provider(&self, name: Option<&str>) -> metrics::SharedString {
        self.named(name).label.clone()
    }

    /// A call succeeded.
    pub(crate) fn count_success(&self, name: Option<&str>) {
        static METADATA: metrics::Metadata<'static> = metrics::Metadata::new(module_path!(), metrics::Level::INFO, Some(module_path!()));
        let named = self.named(name);
        metrics::with_recorder(|recorder| recorder.register_counter(&named.success, &METADATA).increment(1));
    }

    fn named(&self, name: Option<&str>) -> std::sync::Arc<Named> {
        use std::sync::{Arc, LazyLock, PoisonError};
        static UNKNOWN: LazyLock<Arc<Named>> = LazyLock::new(|| Arc::new(Named::new(metrics::SharedString::const_str("unknown"))));
        static OTHER: LazyLock<Arc<Named>> = LazyLock::new(|| Arc::new(Named::new(metrics::SharedString::const_str("other"))));
        let Some(name) = name else { return Arc::clone(&UNKNOWN) };
        if let Some(named) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(named);
        }
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= Self::MOST && !names.contains_key(name) {
            return Arc::clone(&OTHER);
        }
        Arc::clone(names.entry(name.to_owned()).or_insert_with(|| Arc::new(Named::new(metrics::SharedString::from(Arc::<str>::from(name))))))
    }
}
