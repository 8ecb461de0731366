//! How it stands with the rules, for those who watch: metrics, with the feature of that name.

use super::events::WatchEvent;
use super::status::WatchStatus;

/// Something happened, and this is how it stands after it.
pub(super) fn happened(event: &WatchEvent, status: &WatchStatus) {
    #[cfg(feature = "metrics")]
    {
        use super::events::WatchEventKind;
        metrics::counter!("overspill_reload_events_total", "event" => event.kind.name()).increment(1);
        // The others take no time of their own.
        if matches!(event.kind, WatchEventKind::Loaded | WatchEventKind::Reloaded | WatchEventKind::Rejected) {
            metrics::histogram!("overspill_reload_seconds", "event" => event.kind.name()).record(event.took.as_secs_f64());
        }
    }
    #[cfg(not(feature = "metrics"))]
    let _ = event;
    stands(status);
}

/// How it stands. Told again and again, so that a recorder that was installed late learns it too.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "told only with the feature"))]
pub(super) fn stands(status: &WatchStatus) {
    #[cfg(feature = "metrics")]
    {
        use super::status::Watching;
        use metrics::gauge;
        let one_if = |holds: bool| f64::from(u8::from(holds));
        gauge!("overspill_reload_generation").set(status.generation as f64);
        gauge!("overspill_reload_rules").set(status.rules as f64);
        gauge!("overspill_reload_failing").set(one_if(status.last_error.is_some()));
        gauge!("overspill_reload_pinned").set(one_if(status.pinned));
        let native = status.watching == Watching::Native;
        gauge!("overspill_reload_watching", "mode" => "native").set(one_if(native));
        gauge!("overspill_reload_watching", "mode" => "polling").set(one_if(!native));
        if status.last_error.is_none() {
            let at = status.last_attempt.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            gauge!("overspill_reload_last_success_timestamp_seconds").set(at.as_secs_f64());
        }
    }
}

/// The system lost events.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "told only with the feature"))]
pub(super) fn overflowed(times: u64) {
    #[cfg(feature = "metrics")]
    metrics::counter!("overspill_reload_overflows_total").increment(times);
}

/// The watch broke.
pub(super) fn watch_failed() {
    #[cfg(feature = "metrics")]
    metrics::counter!("overspill_reload_watch_errors_total").increment(1);
}
