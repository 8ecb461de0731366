//! The metrics of reloading. Apart from other tests, since they come from a thread of their own and so go to the one recorder of the process.
#![cfg(all(feature = "watch", feature = "metrics"))]

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use overspill::{Overspill, WatchMode, WatchOptions};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What counters and gauges say, by name and label; of a histogram the number of values.
fn read(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    let rows = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let (_, key) = key.into_parts();
        let labels: Vec<&str> = key.labels().map(metrics::Label::value).collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(gauge) => gauge.into_inner(),
            DebugValue::Histogram(values) => values.len() as f64,
        };
        (format!("{} {}", key.name(), labels.join(",")).trim_end().replace("overspill_reload_", ""), value)
    });
    rows.collect()
}

#[test]
fn the_state_of_reloading_is_told() -> Outcome {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install()?;
    let temp = tempfile::tempdir()?;
    let write = |max_attempts: &str| fs::write(temp.path().join("acme.toml"), format!("provider = \"acme\"\n[retry]\nmax_attempts = {max_attempts}\n"));
    write("2")?;
    // Nothing happens by itself: only what is asked for.
    let overspill = Overspill::watch_with([temp.path()], WatchOptions::default().mode(WatchMode::Poll).poll_every(Duration::from_secs(24 * 3600)))?;
    let watcher = overspill.watcher().ok_or("it watches")?;

    write("3")?;
    watcher.reload_now()?;
    let told = read(&snapshotter);
    let expected = [
        ("events_total loaded", 1.0),
        ("events_total reloaded", 1.0),
        ("failing", 0.0),
        ("generation", 2.0),
        ("pinned", 0.0),
        ("seconds loaded", 1.0),
        ("seconds reloaded", 1.0),
        ("watching native", 0.0),
        ("watching polling", 1.0),
    ];
    for (name, value) in expected {
        assert_eq!(told.get(name), Some(&value), "{name} in {told:?}");
    }
    let success = told["last_success_timestamp_seconds"];
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    assert!((now - 600.0..=now).contains(&success), "{success}");

    write("nonsense")?;
    assert!(watcher.reload_now().is_err());
    watcher.pin()?;
    let told = read(&snapshotter);
    for (name, value) in [("events_total rejected", 1.0), ("failing", 1.0), ("generation", 2.0), ("pinned", 1.0)] {
        assert_eq!(told.get(name), Some(&value), "{name} in {told:?}");
    }
    // A snapshot takes what it reads, so what was not told again is 0; the check that follows a start may have told it again.
    let still = told["last_success_timestamp_seconds"];
    assert!([0.0, success].contains(&still), "{still}, not {success}");

    write("4")?;
    watcher.unpin()?;
    let told = read(&snapshotter);
    for (name, value) in [("failing", 0.0), ("generation", 3.0), ("pinned", 0.0), ("rules", overspill.ruleset().rule_count() as f64)] {
        assert_eq!(told.get(name), Some(&value), "{name} in {told:?}");
    }
    Ok(())
}
