//! What the evaluator does, for those who watch: counted through the `metrics` facade with the feature of that name.

use crate::verdict::Verdict;

/// A failure was judged.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "counted only with the feature"))]
pub(crate) fn count_verdict(provider: Option<&str>, verdict: &Verdict) {
    #[cfg(feature = "metrics")]
    {
        let provider = provider.unwrap_or("unknown").to_owned();
        metrics::counter!("overspill_verdicts_total", "provider" => provider.clone(), "class" => verdict.class().name()).increment(1);
        if verdict.is_miss() {
            metrics::counter!("overspill_misses_total", "provider" => provider).increment(1);
        }
    }
}
