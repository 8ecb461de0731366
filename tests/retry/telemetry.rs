//! Counters and gauges.

use std::collections::BTreeSet;
use std::sync::Mutex;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use crate::support::{Script, handle, status, wait};

/// Every metric as `name{label="value"} value`, sorted; a histogram as the number of its values.
fn snapshot(recorder: &DebuggingRecorder) -> Vec<String> {
    let lines = recorder.snapshotter().snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let (_, key) = key.into_parts();
        let labels: Vec<String> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(gauge) => gauge.to_string(),
            DebugValue::Histogram(values) => format!("{} values", values.len()),
        };
        format!("{}{{{}}} {value}", key.name(), labels.join(","))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

#[tokio::test(start_paused = true)]
async fn everything_is_counted() {
    let recorder = DebuggingRecorder::new();
    let overspill = handle("[retry]\nbudget = { capacity = 10 }");
    {
        let _guard = metrics::set_default_local_recorder(&recorder);
        let script = Script::new([status(500), wait(10)]);
        overspill.retry("acme").run(async || script.call()).await.unwrap();
        let script = Script::new([status(413)]);
        overspill.retry("acme").run(async || script.call()).await.unwrap_err();
        overspill.retry("acme").run(async || Ok::<_, String>(())).await.unwrap();
        let mut session = overspill.retry("zeta").session();
        session.next(&status(500));
        drop(overspill.replace(crate::support::rules("[retry]\nmax_attempts = 1")));
        session.wait_left().unwrap_err();
    }
    let expected = [
        "overspill_attempts_total{provider=acme,outcome=failure} 3",
        "overspill_attempts_total{provider=acme,outcome=success} 2",
        "overspill_attempts_total{provider=zeta,outcome=failure} 1",
        "overspill_misses_total{provider=acme} 3",
        "overspill_misses_total{provider=zeta} 1",
        "overspill_retries_total{provider=acme,class=context_overflow,outcome=compact} 1",
        "overspill_retries_total{provider=acme,class=rate_limited,outcome=retry} 1",
        "overspill_retries_total{provider=acme,class=server_error,outcome=retry} 1",
        "overspill_retries_total{provider=zeta,class=server_error,outcome=retry} 1",
        "overspill_retry_budget_balance{provider=acme,key=} 9",
        "overspill_retry_budget_balance{provider=zeta,key=} 9",
        "overspill_retry_wait_seconds{provider=acme,source=backoff} 1 values",
        "overspill_retry_wait_seconds{provider=acme,source=server} 1 values",
        "overspill_retry_wait_seconds{provider=zeta,source=backoff} 1 values",
        "overspill_retry_waits_ended_total{provider=zeta,why=attempts} 1",
        "overspill_verdicts_total{provider=acme,class=context_overflow} 1",
        "overspill_verdicts_total{provider=acme,class=rate_limited} 1",
        "overspill_verdicts_total{provider=acme,class=server_error} 1",
        "overspill_verdicts_total{provider=zeta,class=server_error} 1",
    ];
    assert_eq!(snapshot(&recorder), expected);
}

#[tokio::test(start_paused = true)]
async fn keys_stay_secret_and_names_bounded() {
    let recorder = DebuggingRecorder::new();
    let overspill = handle("");
    {
        let _guard = metrics::set_default_local_recorder(&recorder);
        overspill.retry("acme").key("sk-secret").session().next(&status(500));
        for number in 0..2000 {
            let _ = overspill.evaluate(&status(500).provider(number.to_string()));
        }
    }
    let lines = snapshot(&recorder);
    assert!(lines.iter().any(|line| line.starts_with("overspill_retry_budget_balance{provider=acme,key=")));
    assert!(lines.iter().all(|line| !line.contains("secret")) && lines.len() < 2100, "{}", lines.len());
}

/// Keeps the names of what is described.
#[derive(Default)]
struct Described(Mutex<Vec<String>>);

impl Described {
    fn keep(&self, name: &KeyName) {
        self.0.lock().unwrap().push(name.as_str().to_owned());
    }
}

impl Recorder for Described {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.keep(&name);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.keep(&name);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.keep(&name);
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// The sources, the descriptions, their documentation and the README name the same metrics.
#[test]
fn what_is_counted_is_described_and_documented() {
    let described = Described::default();
    metrics::with_local_recorder(&described, overspill::describe_metrics);
    let described: BTreeSet<String> = described.0.into_inner().unwrap().into_iter().collect();
    let read = |path: &str| std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    // Names of directories and the like are not metrics: those end with what they count.
    let named = |text: &str, marks: [&str; 2]| -> BTreeSet<String> {
        let pieces = text.split(marks[0]).skip(1).map(|rest| rest.split(marks[1]).next().unwrap_or_default());
        pieces.filter(|name| name.starts_with("overspill_")).map(str::to_owned).collect()
    };
    assert_eq!(named(read("README.md").split("## Metrics").nth(1).unwrap().split("\n## ").next().unwrap(), ["`", "`"]), described, "README.md");
    assert_eq!(named(read("src/telemetry.rs").split("describe_metrics").next().unwrap(), ["`", "`"]), described, "the documentation of describe_metrics");
    let sources = ["src/telemetry.rs", "src/retry/telemetry.rs", "src/reload/telemetry.rs"].map(read).concat();
    let counted: BTreeSet<String> = sources.lines().filter(|line| !line.contains("describe_")).flat_map(|line| named(line, ["\"", "\""])).collect();
    assert_eq!(counted, described, "the sources");
}
