//! A failure as JSON.

use jiff::Timestamp;
use overspill::{Failure, Transport};
use serde_json::{Map, Value};

/// What an input object says, beside the evidence itself.
pub(crate) struct Input {
    pub(crate) id: Value,
    pub(crate) failure: Failure<'static>,
    /// The number of the failed attempt, from 1.
    pub(crate) attempt: u32,
    pub(crate) output_started: bool,
    /// The caller's own estimate of the request's tokens.
    pub(crate) estimate: Option<u64>,
    pub(crate) now: Timestamp,
}

/// Reads an object. Unknown fields are ignored; known ones of the wrong type are errors.
pub(crate) fn read(mut object: Map<String, Value>) -> Result<Input, String> {
    let mut text = |key: &str| match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is no string")),
    };
    let mut failure = Failure::new();
    if let Some(provider) = text("provider")? {
        failure = failure.provider(provider);
    }
    if let Some(model) = text("model")? {
        failure = failure.model(model);
    }
    if let Some(reason) = text("finish_reason")? {
        failure = failure.finish_reason(reason);
    }
    if let Some(event) = text("event")? {
        failure = failure.event(event);
    }
    if let Some(message) = text("message")? {
        failure = failure.message(message);
    }
    if let Some(name) = text("transport")? {
        failure = failure.transport(Transport::from_name(&name).ok_or_else(|| format!("`transport` is \"{name}\", not one of http, sse, sdk_string, transport"))?);
    }
    let now = match text("now")? {
        Some(now) => now.parse().map_err(|_| format!("`now` is \"{now}\", which is no RFC 3339 time"))?,
        None => Timestamp::now(),
    };
    let number = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| format!("`{key}` is no whole number")),
    };
    if let Some(status) = number("status")? {
        failure = failure.with_status(u16::try_from(status).map_err(|_| format!("`status` is {status}, which is no HTTP status"))?);
    }
    let estimate = number("estimate")?;
    if let Some(estimate) = estimate {
        failure = failure.estimate(estimate);
    }
    if let Some(window) = number("window")? {
        failure = failure.window(window);
    }
    let attempt = u32::try_from(number("attempt")?.unwrap_or(1)).unwrap_or(u32::MAX).max(1);
    let output_started = match object.get("output_started") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(started)) => *started,
        Some(_) => return Err("`output_started` is neither true nor false".to_owned()),
    };
    match object.remove("usage") {
        None | Some(Value::Null) => {}
        Some(Value::String(usage)) => failure = failure.usage_json(usage),
        Some(usage) => failure = failure.usage_json(usage.to_string()),
    }
    for (name, value) in headers(object.remove("headers"))? {
        failure = failure.header(name, value);
    }
    match object.remove("body") {
        None | Some(Value::Null) => {}
        Some(Value::String(body)) => failure = failure.with_body(body.into_bytes()),
        Some(body) => failure = failure.with_body(body.to_string().into_bytes()),
    }
    let id = object.remove("id").unwrap_or(Value::Null);
    Ok(Input { id, failure: failure.received_at(now), attempt, output_started, estimate, now })
}

fn headers(value: Option<Value>) -> Result<Vec<(String, String)>, String> {
    let object = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(object)) => object,
        Some(_) => return Err("`headers` is no object".to_owned()),
    };
    let mut headers = Vec::new();
    for (name, value) in object {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            match value {
                Value::Null => {}
                Value::String(text) => headers.push((name.clone(), text)),
                Value::Number(_) | Value::Bool(_) => headers.push((name.clone(), value.to_string())),
                Value::Array(_) | Value::Object(_) => return Err(format!("the header `{name}` is no string")),
            }
        }
    }
    Ok(headers)
}
