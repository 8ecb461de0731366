//! Counters and gauges.

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
    }
    let expected = [
        "overspill_attempts_total{provider=acme,outcome=failure} 3",
        "overspill_attempts_total{provider=acme,outcome=success} 2",
        "overspill_misses_total{provider=acme} 3",
        "overspill_retries_total{provider=acme,class=context_overflow,outcome=compact} 1",
        "overspill_retries_total{provider=acme,class=rate_limited,outcome=retry} 1",
        "overspill_retries_total{provider=acme,class=server_error,outcome=retry} 1",
        "overspill_retry_budget_balance{provider=acme,key=} 9",
        "overspill_retry_wait_seconds{provider=acme,source=backoff} 1 values",
        "overspill_retry_wait_seconds{provider=acme,source=server} 1 values",
        "overspill_verdicts_total{provider=acme,class=context_overflow} 1",
        "overspill_verdicts_total{provider=acme,class=rate_limited} 1",
        "overspill_verdicts_total{provider=acme,class=server_error} 1",
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
