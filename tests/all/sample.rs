//! Failures as the corpus writes them, kept in parts so that tests can look at them and change them.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use overspill::{Failure, Transport};
use serde_json::{Map, Value};

/// The evidence of one failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) id: String,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) transport: Option<Transport>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) message: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) usage: Option<String>,
    pub(crate) estimate: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) now: Option<Timestamp>,
}

impl Sample {
    /// Reads a line's object; fields that are no evidence are left alone.
    pub(crate) fn read(object: &Map<String, Value>) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| object.get(key).and_then(Value::as_u64);
        let headers = object.get("headers").and_then(Value::as_object);
        Self {
            id: text("id").unwrap_or_default(),
            provider: text("provider"),
            model: text("model"),
            transport: text("transport").map(|name| Transport::from_name(&name).expect("a known transport")),
            status: number("status").map(|status| u16::try_from(status).expect("a status")),
            headers: headers.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))).collect(),
            body: object.get("body").map(|body| plain(body).into_bytes()),
            message: text("message"),
            finish_reason: text("finish_reason"),
            event: text("event"),
            usage: object.get("usage").map(plain),
            estimate: number("estimate"),
            window: number("window"),
            now: text("now").map(|now| now.parse().expect("an RFC 3339 time")),
        }
    }

    /// The failure as a caller would build it.
    pub(crate) fn failure(&self) -> Failure<'_> {
        let mut failure = Failure::new();
        if let Some(provider) = &self.provider {
            failure = failure.provider(provider);
        }
        if let Some(model) = &self.model {
            failure = failure.model(model);
        }
        if let Some(transport) = self.transport {
            failure = failure.transport(transport);
        }
        if let Some(status) = self.status {
            failure = failure.with_status(status);
        }
        for (name, value) in &self.headers {
            failure = failure.header(name, value);
        }
        if let Some(body) = &self.body {
            failure = failure.body(body);
        }
        if let Some(message) = &self.message {
            failure = failure.message(message);
        }
        if let Some(reason) = &self.finish_reason {
            failure = failure.finish_reason(reason);
        }
        if let Some(event) = &self.event {
            failure = failure.event(event);
        }
        if let Some(usage) = &self.usage {
            failure = failure.usage_json(usage);
        }
        if let Some(estimate) = self.estimate {
            failure = failure.estimate(estimate);
        }
        if let Some(window) = self.window {
            failure = failure.window(window);
        }
        match self.now {
            Some(now) => failure.received_at(now),
            None => failure,
        }
    }

    /// Where a person sees what went wrong: the exception's text, else the body.
    pub(crate) fn excerpt(&self) -> String {
        let body = self.body.as_deref().map(String::from_utf8_lossy);
        let text = self.message.as_deref().or(body.as_deref()).unwrap_or_default();
        text.chars().take(160).map(|c| if c == '\n' { ' ' } else { c }).collect()
    }
}

/// A string as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One line of a corpus file: a failure and what is right about it.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) sample: Sample,
    pub(crate) expect: Value,
}

/// The lines of `tests/corpus/<name>.jsonl`.
pub(crate) fn corpus(name: &str) -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name).with_extension("jsonl");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let record = |line: &str| {
        let object: Map<String, Value> = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
        Recorded { sample: Sample::read(&object), expect: object.get("expect").cloned().unwrap_or_default() }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(record).collect()
}

/// The examples of all rule files, as failures of the file's provider unless they name one.
pub(crate) fn examples() -> Vec<Sample> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    paths.iter().flat_map(|path| examples_of(&path.display().to_string(), &read(path))).collect()
}

/// The examples of a rule file, given its name and text.
pub(crate) fn examples_of(name: &str, text: &str) -> Vec<Sample> {
    let file: Value = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut samples = Vec::new();
    for rule in list(&file, "rule") {
        for (index, example) in list(&rule, "example").iter().enumerate() {
            let mut sample = Sample::read(example.as_object().expect("a table"));
            sample.id = format!("{} {} example {}", file["provider"], rule["id"], index + 1);
            sample.provider.get_or_insert_with(|| file["provider"].as_str().expect("a name").to_owned());
            samples.push(sample);
        }
    }
    samples
}
