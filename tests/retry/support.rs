//! What the tests share: small rules that load at once, and calls that follow a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use overspill::{AsFailure, End, Failure, Overspill, Ruleset};
use tokio::time::Instant;

/// A base layer that only knows statuses.
const BASE: &str = r#"
provider = "default"
[retry]
max_attempts = 5
base = "2s"
factor = 2.0
cap = "30s"
jitter = "none"
server_delay = { max = "5m", over_max = "fail" }
budget = { capacity = 1000, per_second = 0, per_success = 0 }
[status]
400 = "invalid_request"
401 = "auth"
408 = "timeout"
413 = "context_overflow"
429 = "rate_limited"
"4xx" = "invalid_request"
529 = "overloaded"
"5xx" = "server_error"
[[delay]]
id = "retry-after-ms"
header = "retry-after-ms"
unit = "ms"
[[delay]]
id = "retry-after"
header = "retry-after"
"#;

/// Rules that say no more than that, and over it this.
pub(crate) fn rules(text: &str) -> Arc<Ruleset> {
    let over = format!("provider = \"default\"\n{text}");
    Arc::new(Ruleset::builder().without_embedded().text("base", "default.toml", BASE).text("over", "default.toml", over).build().unwrap())
}

/// A handle to them.
pub(crate) fn handle(text: &str) -> Overspill {
    Overspill::new(rules(text))
}

/// A failure with this status.
pub(crate) fn status(status: u16) -> Failure<'static> {
    Failure::http(status)
}

/// A 429 that asks to wait.
pub(crate) fn wait(seconds: u64) -> Failure<'static> {
    Failure::http(429).header("retry-after", seconds.to_string())
}

/// A provider that fails as it is told, then answers; it remembers when it was called.
#[derive(Debug)]
pub(crate) struct Script {
    failures: Mutex<VecDeque<Failure<'static>>>,
    calls: Mutex<Vec<Duration>>,
    start: Instant,
}

impl Script {
    pub(crate) fn new(failures: impl IntoIterator<Item = Failure<'static>>) -> Arc<Self> {
        Arc::new(Self { failures: Mutex::new(failures.into_iter().collect()), calls: Mutex::default(), start: Instant::now() })
    }

    #[expect(clippy::result_large_err, reason = "the failure itself is the error")]
    pub(crate) fn call(&self) -> Result<(), Failure<'static>> {
        self.calls.lock().unwrap().push(self.start.elapsed());
        self.failures.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }

    /// When the calls were made, in milliseconds from the script's start.
    pub(crate) fn calls(&self) -> Vec<u128> {
        self.calls.lock().unwrap().iter().map(Duration::as_millis).collect()
    }

    /// The waits between them.
    pub(crate) fn waits(&self) -> Vec<u128> {
        self.calls().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// The end of a call that follows the script.
pub(crate) async fn end(overspill: &Overspill, script: &Script) -> End<Failure<'static>> {
    overspill.retry("acme").run(async || script.call()).await.unwrap_err()
}

/// An error of one's own.
#[derive(Debug, thiserror::Error)]
#[error("the provider refused: {0}")]
pub(crate) struct Refused(pub(crate) u16);

impl AsFailure for Refused {
    fn as_failure(&self) -> Failure<'_> {
        Failure::http(self.0)
    }
}
