//! The recorded failures that the tests use.

use std::path::Path;
use std::sync::LazyLock;

use overspill::{Failure, Transport};
use serde_json::Value;

/// A recorded failure.
pub(crate) struct Recorded {
    pub(crate) failure: Failure<'static>,
    /// Body and message.
    pub(crate) text: String,
}

/// All recorded failures.
pub(crate) fn failures() -> &'static [Recorded] {
    static FAILURES: LazyLock<Vec<Recorded>> = LazyLock::new(read);
    &FAILURES
}

fn read() -> Vec<Recorded> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(directory).expect("the corpus is there").map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).expect("it can be read")).collect();
    texts.iter().flat_map(|text| text.lines()).map(|line| recorded(&serde_json::from_str(line).expect("every line is an object"))).collect()
}

fn recorded(object: &Value) -> Recorded {
    let text = |key: &str| object[key].as_str().map(str::to_owned);
    let mut failure = Failure::new();
    if let Some(provider) = text("provider") {
        failure = failure.provider(provider);
    }
    if let Some(model) = text("model") {
        failure = failure.model(model);
    }
    if let Some(transport) = text("transport").and_then(|name| Transport::from_name(&name)) {
        failure = failure.transport(transport);
    }
    if let Some(status) = object["status"].as_u64().and_then(|status| u16::try_from(status).ok()) {
        failure = failure.with_status(status);
    }
    for (name, value) in object["headers"].as_object().into_iter().flatten() {
        failure = failure.header(name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    let body = match &object["body"] {
        Value::Null => String::new(),
        Value::String(body) => body.clone(),
        body => body.to_string(),
    };
    if !body.is_empty() {
        failure = failure.with_body(body.clone().into_bytes());
    }
    let message = text("message").unwrap_or_default();
    if !message.is_empty() {
        failure = failure.message(message.clone());
    }
    Recorded { failure, text: body + &message }
}
