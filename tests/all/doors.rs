//! The same failure gets the same class through whatever door it comes, and however its text was treated on the way.
//!
//! Every example of every rule goes through every door of `tests/doors/doors.toml`, as it is and with each change that a text suffers on its way.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use overspill::{Overspill, Transport};
use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::sample::Sample;

/// `doors.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    door: Vec<Door>,
    plain: Vec<Plain>,
}

/// A failure that no rule is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    status: u16,
    text: String,
    class: String,
}

/// A template, see `doors.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Door {
    name: String,
    carries: Carries,
    #[serde(default)]
    passes: Passes,
    /// Who answers; the upstream where it is left out, nobody known where it is empty.
    provider: Option<String>,
    transport: Option<String>,
    status: Option<u16>,
    inner: Option<String>,
    body: Option<String>,
    message: Option<String>,
}

/// What of a failure gets through a door.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Carries {
    Document,
    Sentence,
    Text,
}

/// Which rules can still hold behind a door.
#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Passes {
    #[default]
    Everything,
    Wordings,
}

/// An example that its rule wins, in parts.
struct Case {
    sample: Sample,
    class: String,
    upstream: String,
    document: Option<Value>,
    /// The keys of the rule.
    keys: Vec<String>,
    own_only: bool,
}

/// A change that a text suffers on its way.
type Change = (&'static str, fn(&str) -> String);

/// Each keeps what the text says.
const CHANGES: [Change; 9] = [
    ("curly quotes", curly_quotes),
    ("HTML entities", entities),
    ("no backticks", |text| text.replace('`', "")),
    ("line wraps", line_wraps),
    ("commas in numbers", |text| separate(text, ",")),
    ("dots in numbers", |text| separate(text, ".")),
    ("spaces in numbers", |text| separate(text, " ")),
    ("underscores in numbers", |text| separate(text, "_")),
    ("an apostrophe for a backtick", |text| text.replace('`', "'")),
];

static OVERSPILL: LazyLock<Overspill> = LazyLock::new(Overspill::embedded);

static FILE: LazyLock<File> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("../doors/doors.toml")).unwrap_or_else(|error| panic!("doors.toml: {error}"));
    file
});

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut paths: Vec<_> = fs::read_dir(dir).expect("the rules are there").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| cases_of(&fs::read_to_string(path).expect("a rule file"))).collect()
});

#[test]
fn every_example_keeps_its_class_through_every_door() {
    let (mut sent, mut changed) = (0, Vec::new());
    for case in &*CASES {
        for door in &FILE.door {
            let Some(sample) = door.send(case) else { continue };
            sent += 1;
            judge(case, &sample, &door.name, &mut changed);
        }
    }
    println!("{sent} ways in, {} classes changed", changed.len());
    assert!(sent > 10_000, "only {sent} examples got through");
    assert!(changed.is_empty(), "{} of {sent} changed:\n{}", changed.len(), changed.join("\n"));
}

#[test]
fn what_no_rule_is_for_is_nothing_else_through_any_door() {
    let (mut sent, mut changed) = (0, Vec::new());
    for case in FILE.plain.iter().map(Case::plain) {
        // Where the status does not get through there is nothing to go by.
        for door in FILE.door.iter().filter(|door| door.tells_status()) {
            let Some(sample) = door.send(&case) else { continue };
            sent += 1;
            judge(&case, &sample, &door.name, &mut changed);
        }
    }
    println!("{sent} ways in of plain failures, {} classes changed", changed.len());
    assert!(sent > 250, "only {sent} got through");
    assert!(changed.is_empty(), "{} of {sent} changed:\n{}", changed.len(), changed.join("\n"));
}

#[test]
fn every_example_keeps_its_class_when_its_text_is_changed() {
    let (mut sent, mut changed) = (0, Vec::new());
    for case in CASES.iter().filter(|case| case.is_worded()) {
        for (name, change) in CHANGES {
            let Some(sample) = case.changed(change) else { continue };
            sent += 1;
            judge(case, &sample.sample, name, &mut changed);
        }
    }
    println!("{sent} changes of texts, {} classes changed", changed.len());
    assert!(sent > 1_500, "only {sent} texts were changed");
    assert!(changed.is_empty(), "{} of {sent} changed:\n{}", changed.len(), changed.join("\n"));
}

#[test]
fn every_example_keeps_its_class_when_its_text_is_changed_on_the_way_through_a_door() {
    let (mut sent, mut changed) = (0, Vec::new());
    for case in CASES.iter().filter(|case| case.is_worded()) {
        for (name, change) in CHANGES {
            let Some(other) = case.changed(change) else { continue };
            for door in &FILE.door {
                let Some(sample) = door.send(&other) else { continue };
                sent += 1;
                judge(case, &sample, &format!("{}, {name}", door.name), &mut changed);
            }
        }
    }
    println!("{sent} ways in with a change, {} classes changed", changed.len());
    assert!(sent > 20_000, "only {sent} examples got through");
    assert!(changed.is_empty(), "{} of {sent} changed:\n{}", changed.len(), changed.join("\n"));
}

fn judge(case: &Case, sample: &Sample, way: &str, changed: &mut Vec<String>) {
    let verdict = OVERSPILL.evaluate(&sample.failure());
    if verdict.class().name() != case.class {
        changed.push(format!("{} by {way}: {}, not {}, by {:?}: {}", case.sample.id, verdict.class().name(), case.class, verdict.rule(), sample.excerpt()));
    }
}

impl Door {
    /// Whether it lets the status through, or an exception that stands for one.
    fn tells_status(&self) -> bool {
        let in_text = |text: &Option<String>| text.as_deref().is_some_and(|text| ["{status}", "{exception}", "{java}"].iter().any(|part| text.contains(part)));
        self.transport.is_none() && (self.body.is_some() || in_text(&self.message))
    }

    /// The failure as it comes out of the door; nothing if the rule looks at what does not get through.
    fn send(&self, case: &Case) -> Option<Sample> {
        if self.passes == Passes::Wordings && case.own_only {
            return None;
        }
        let parts = case.parts(self.carries)?;
        let fill = |template: &str| parts.iter().fold(template.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value));
        let mut sample = Sample { id: case.sample.id.clone(), provider: Some(case.upstream.clone()), model: case.sample.model.clone(), ..Sample::default() };
        if let Some(provider) = &self.provider {
            sample.provider = Some(provider.clone()).filter(|provider| !provider.is_empty());
        }
        sample.transport = self.transport.as_deref().map(|name| Transport::from_name(name).expect("a known transport"));
        sample.message = self.message.as_deref().map(fill);
        if let Some(body) = &self.body {
            let inner = Value::String(fill(self.inner.as_deref().unwrap_or_default())).to_string();
            sample.body = Some(fill(body).replace("{inner}", &inner).into_bytes());
            sample.status = self.status.or(case.sample.status);
        }
        Some(sample)
    }
}

impl Case {
    /// As if a rule went by the words.
    fn plain(plain: &Plain) -> Self {
        let document = serde_json::json!({ "error": { "message": plain.text } });
        let sample = Sample { id: plain.text.clone(), status: Some(plain.status), body: Some(document.to_string().into_bytes()), ..Sample::default() };
        Self { sample, class: plain.class.clone(), upstream: "openai".to_owned(), document: Some(document), keys: vec!["message".to_owned()], own_only: false }
    }

    /// Whether the rule has none of the conditions that look at the evidence but these.
    fn only_uses(&self, conditions: &[&str]) -> bool {
        let looks = ["message", "code", "header", "body", "body_empty", "transport", "event", "finish_reason"];
        self.keys.iter().all(|key| !looks.contains(&key.as_str()) || conditions.contains(&key.as_str())) && self.keys.iter().any(|key| conditions.contains(&key.as_str()))
    }

    /// Whether the rule goes by words, so that a change of them may matter.
    fn is_worded(&self) -> bool {
        self.only_uses(&["message", "code"])
    }

    /// What stands for the placeholders; nothing if the rule looks at more than gets through, or if it was no HTTP response and so no SDK made an exception of it.
    fn parts(&self, carries: Carries) -> Option<Vec<(&'static str, String)>> {
        let conditions: &[&str] = if carries == Carries::Document { &["message", "code"] } else { &["message"] };
        // A code may stand in a header, which only HTTP brings.
        if !self.only_uses(conditions) || self.keys.iter().any(|key| key == "code") && !self.sample.headers.is_empty() {
            return None;
        }
        // Nor does what only the caller knows get through.
        if self.sample.window.is_some() || self.sample.usage.is_some() || self.sample.estimate.is_some() {
            return None;
        }
        if carries == Carries::Text {
            return Some(vec![("{text}", self.sample.message.clone().filter(|_| self.sample.body.is_none())?)]);
        }
        let status = self.sample.status.filter(|_| !matches!(self.sample.transport, Some(Transport::Sse | Transport::Transport)))?;
        let exception = exception(status);
        let mut parts = vec![
            ("{status}", status.to_string()),
            ("{phrase}", phrase(status).to_owned()),
            ("{exception}", exception.to_owned()),
            ("{java}", exception.replace("Error", "Exception")),
            ("{side}", if status < 500 { "Client" } else { "Server" }.to_owned()),
            ("{provider}", self.upstream.clone()),
        ];
        if carries == Carries::Sentence {
            parts.push(("{sentence}", self.sentence()?));
            return Some(parts);
        }
        let document = self.document.as_ref()?;
        parts.extend([("{json}", document.to_string()), ("{python}", python(document))]);
        Some(parts)
    }

    /// The message that an SDK prints of the document.
    fn sentence(&self) -> Option<String> {
        let Some(document) = &self.document else {
            let body = String::from_utf8(self.sample.body.clone()?).ok()?;
            return Some(body).filter(|body| !body.trim_start().starts_with(['<', '{', '[', ':']) && !body.starts_with("data:") && !body.starts_with("event:"));
        };
        let document = document.as_array().and_then(|list| list.first()).unwrap_or(document);
        let places = ["/error/message", "/message", "/error", "/detail", "/msg", "/error_msg", "/errors/0/message"];
        places.iter().find_map(|place| document.pointer(place)?.as_str()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The case with another text in it; nothing if it has no text of its own, or the text stays as it is.
    fn changed(&self, change: fn(&str) -> String) -> Option<Self> {
        let mut sample = self.sample.clone();
        let mut document = self.document.clone();
        if let Some(document) = &mut document {
            change_strings(document, change);
            sample.body = Some(document.to_string().into_bytes());
        } else if sample.body.is_some() {
            sample.body = Some(change(&self.sentence()?).into_bytes());
        } else {
            // Quotes and brackets of a printed document are its syntax, not its text.
            sample.message = Some(change(&sample.message.filter(|text| !text.contains(['{', '[', '<']))?));
        }
        let same = (&sample.body, &sample.message) == (&self.sample.body, &self.sample.message);
        (!same).then(|| Self { sample, document, class: self.class.clone(), upstream: self.upstream.clone(), keys: self.keys.clone(), own_only: self.own_only })
    }
}

/// The examples of a file that their rules win.
fn cases_of(text: &str) -> Vec<Case> {
    let file: Value = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut cases = Vec::new();
    for rule in list(&file, "rule") {
        let keys: Vec<String> = rule.as_object().map(Map::keys).into_iter().flatten().cloned().collect();
        for (index, example) in list(&rule, "example").iter().enumerate().filter(|(_, example)| example.get("not").is_none()) {
            let mut sample = Sample::read(example.as_object().expect("a table"));
            sample.id = format!("{} {} example {}", file["provider"], rule["id"], index + 1);
            let upstream = sample.provider.get_or_insert_with(|| file["provider"].as_str().expect("a name").to_owned()).clone();
            let document = sample.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).filter(|value: &Value| value.is_object() || value.is_array());
            let class = rule["class"].as_str().expect("a class").to_owned();
            cases.push(Case { sample, class, upstream, document, keys: keys.clone(), own_only: rule.get("scope").is_some() });
        }
    }
    cases
}

/// Changes the strings of a document, but for those that machines read.
fn change_strings(value: &mut Value, change: fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| change_strings(value, change)),
        Value::Object(object) => {
            let machine = |key: &str| ["code", "type", "status", "reason", "@type", "errortype"].contains(&key.to_ascii_lowercase().as_str());
            object.iter_mut().filter(|(key, _)| !machine(key)).for_each(|(_, value)| change_strings(value, change));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn curly_quotes(text: &str) -> String {
    let mut opens = false;
    let curly = |character| match character {
        '"' => {
            opens = !opens;
            if opens { '“' } else { '”' }
        }
        '\'' => '’',
        _ => character,
    };
    text.chars().map(curly).collect()
}

fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#x27;").replace('<', "&lt;").replace('>', "&gt;")
}

fn line_wraps(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    words.chunks(7).map(|line| line.join(" ")).collect::<Vec<_>>().join("\n    ")
}

/// Whole numbers from 1,000 with a separator, where they are quantities: not part of a name, a date, a range or a list, and no wait.
fn separate(text: &str, separator: &str) -> String {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d{4,7}").expect("a valid pattern"));
    let bytes = text.as_bytes();
    let stands_alone = |range: Range<usize>| {
        let before = range.start.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let after = &text[range.end..];
        let unit = after.trim_start();
        let counted = before == b' ' || before == b'(';
        let goes_on = after.starts_with(|next: char| next.is_ascii_alphanumeric() || "-_:/,".contains(next));
        let has_fraction = after.strip_prefix('.').is_some_and(|after| after.starts_with(|next: char| next.is_ascii_digit()));
        let ends = !goes_on && !has_fraction;
        counted && ends && !["ms", "s ", "s.", "sec", "milli"].iter().any(|wait| unit.starts_with(wait)) && unit != "s" && bytes[range.start] != b'0'
    };
    let replaced = NUMBER.replace_all(text, |found: &Captures<'_>| {
        let number = &found[0];
        let range = found.get(0).map(|whole| whole.range()).unwrap_or_default();
        // "8.192" alone is a decimal number.
        if !stands_alone(range) || separator == "." && number.len() < 5 {
            return number.to_owned();
        }
        let first = number.len() % 3;
        let (head, tail) = number.split_at(if first == 0 { 3 } else { first });
        let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
        std::iter::once(head.to_owned()).chain(groups).collect::<Vec<_>>().join(separator)
    });
    replaced.into_owned()
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            if text.contains('\'') && !text.contains('"') { format!("\"{escaped}\"") } else { format!("'{}'", escaped.replace('\'', "\\'")) }
        }
        Value::Array(list) => format!("[{}]", list.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| format!("{}: {}", python(&Value::String(key.clone())), python(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The name that the SDKs of OpenAI and Anthropic give to a status.
fn exception(status: u16) -> &'static str {
    match status {
        400 => "BadRequestError",
        401 => "AuthenticationError",
        403 => "PermissionDeniedError",
        404 => "NotFoundError",
        409 => "ConflictError",
        422 => "UnprocessableEntityError",
        429 => "RateLimitError",
        500.. => "InternalServerError",
        _ => "APIStatusError",
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Request Entity Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}
