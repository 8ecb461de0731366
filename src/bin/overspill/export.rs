//! `export`: everything as one JSON document, for programs in other languages.

use std::io::{self, Write};

use overspill::{ConditionsView, ExampleView, ProviderView, RuleView, Ruleset, Setting, SettingValue};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, Format};
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;

/// The version of this document.
const FORMAT: u64 = 1;

pub(crate) fn run(common: &Common) -> Result<Outcome, Failed> {
    common.format(Format::Json, &[])?;
    let overspill = rules::load(common)?;
    finish(print(&document(&overspill.ruleset())), Outcome::Done)
}

fn print(document: &Value) -> io::Result<()> {
    let mut out = results();
    serde_json::to_writer(&mut out, document)?;
    writeln!(out)?;
    out.flush()
}

pub(crate) fn document(ruleset: &Ruleset) -> Value {
    let providers: Vec<_> = ruleset.provider_views().map(|provider| provider_json(ruleset, &provider)).collect();
    let delay: Vec<_> = ruleset.delay_settings().iter().map(|form| nested(form)).collect();
    json!({
        "format": FORMAT,
        "ruleset": ruleset.version().to_string(),
        "classes": overspill::Class::ALL.iter().map(|class| (class.name().to_owned(), json!({ "action": class.default_action().name() }))).collect::<Map<_, _>>(),
        "signals": nested(&ruleset.signal_settings()),
        "delay": delay,
        "providers": providers,
        "unknown_provider": { "order": ruleset.rules_for(None).iter().map(RuleView::name).collect::<Vec<_>>() },
    })
}

fn provider_json(ruleset: &Ruleset, provider: &ProviderView<'_>) -> Value {
    let mut retry = nested(&provider.retry_settings(None));
    if let (Value::Object(retry), Value::Object(changes)) = (&mut retry, nested(&provider.retry_changes())) {
        retry.extend(changes);
        matched(retry);
    }
    // The order says more than the own rules do, but of a gateway it names every rule there is: there the reader puts it together from `extends`.
    let own: Vec<_> = provider.own_rules().map(|rule| rule_json(&rule)).collect();
    let chain: Vec<_> = if provider.is_gateway() { Vec::new() } else { order(ruleset, provider) };
    json!({
        "provider": provider.name(),
        "aliases": provider.aliases(),
        "extends": provider.extends(),
        "gateway": provider.is_gateway(),
        "tried": chain,
        "status": status_rows(&provider.status_settings()).map(|(status, row)| (status, value_json(&row.value))).collect::<Map<_, _>>(),
        "retry": retry,
        "context": context_json(provider),
        "rules": own,
    })
}

/// `[context]`, with `usage` and `model` as the lists that they are in a rule file.
fn context_json(provider: &ProviderView<'_>) -> Value {
    let settings: Vec<_> = provider.context_settings().into_iter().filter(|setting| !is_usage(setting)).collect();
    let mut context = nested(&settings);
    if let Value::Object(context) = &mut context {
        let usage: Vec<_> = provider.usage_settings().iter().map(|shape| nested(shape)).collect();
        if !usage.is_empty() {
            context.insert("usage".to_owned(), json!(usage));
        }
        matched(context);
    }
    context
}

/// Whether it is one of the rows for people that stand for a shape of usage.
pub(crate) fn is_usage(setting: &Setting) -> bool {
    setting.key.starts_with("usage.")
}

/// Turns `model` from glob to keys into the list of a rule file: `[{"match": "gpt-*", ...}]`. There of equals the last holds, among settings the first.
fn matched(table: &mut Map<String, Value>) {
    let Some(Value::Object(models)) = table.get("model") else { return };
    let entry = |(glob, keys): (&String, &Value)| {
        let mut entry = Map::from_iter([("match".to_owned(), json!(glob))]);
        entry.extend(keys.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        Value::Object(entry)
    };
    let models: Vec<_> = models.iter().rev().map(entry).collect();
    table.insert("model".to_owned(), Value::Array(models));
}

/// `[status]` row by row, as a rule file has it: one code, class or range a key.
pub(crate) fn status_rows(settings: &[Setting]) -> impl Iterator<Item = (String, &Setting)> {
    settings.iter().flat_map(|setting| setting.key.split(", ").map(move |status| (status.to_owned(), setting)))
}

/// The files whose rules are tried, in order.
fn order(ruleset: &Ruleset, provider: &ProviderView<'_>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for rule in ruleset.rules_for(Some(provider.name())) {
        if files.last().is_none_or(|last| last != rule.provider()) {
            files.push(rule.provider().to_owned());
        }
    }
    files
}

/// A rule with its conditions as rule files write them.
pub(crate) fn rule_json(rule: &RuleView<'_>) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(rule.id()));
    object.insert("class".to_owned(), json!(rule.class().name()));
    if let Some(action) = rule.action() {
        object.insert("action".to_owned(), json!(action.name()));
    }
    object.insert("scope".to_owned(), json!(if rule.is_for_all() { "any" } else { "provider" }));
    object.extend(conditions_json(&rule.conditions()));
    let unless: Vec<_> = rule.unless().map(|veto| Value::Object(conditions_json(&veto))).collect();
    if !unless.is_empty() {
        object.insert("unless".to_owned(), Value::Array(unless));
    }
    let facts: Map<_, _> = rule.facts().map(|(fact, path)| (fact.to_owned(), json!(path))).collect();
    if !facts.is_empty() {
        object.insert("facts".to_owned(), Value::Object(facts));
    }
    for (key, text) in [("source", rule.source()), ("seen", rule.seen())] {
        object.extend(text.map(|text| (key.to_owned(), json!(text))));
    }
    object.insert("origin".to_owned(), json!(rule.origin()));
    object.insert("examples".to_owned(), rule.examples().map(|example| example_json(&example)).collect());
    Value::Object(object)
}

fn conditions_json(conditions: &ConditionsView<'_>) -> Map<String, Value> {
    let mut object = Map::new();
    let mut list = |key: &str, items: Vec<String>| {
        if !items.is_empty() {
            object.insert(key.to_owned(), json!(items));
        }
    };
    list("status", conditions.status().map(|statuses| statuses.to_string().split(", ").map(str::to_owned).collect()).unwrap_or_default());
    list("code", conditions.codes().to_vec());
    list("message", conditions.messages().map(str::to_owned).collect());
    list("body", conditions.bodies().map(str::to_owned).collect());
    list("transport", conditions.transports().iter().map(|transport| transport.name().to_owned()).collect());
    list("finish_reason", conditions.finish_reasons().to_vec());
    list("event", conditions.events().to_vec());
    list("model", conditions.models().collect());
    list("when", conditions.comparisons().iter().map(ToString::to_string).collect());
    let headers: Map<_, _> = conditions.headers().map(|(name, patterns)| (name.to_owned(), json!(patterns))).collect();
    if !headers.is_empty() {
        object.insert("header".to_owned(), Value::Object(headers));
    }
    if let Some(empty) = conditions.body_empty() {
        object.insert("body_empty".to_owned(), json!(empty));
    }
    object
}

fn example_json(example: &ExampleView<'_>) -> Value {
    let mut object = Map::new();
    if example.is_negative() {
        object.insert("not".to_owned(), json!(true));
    }
    object.extend(example.evidence().into_iter().map(|(key, value)| (key.to_owned(), value_json(&value))));
    if !example.headers().is_empty() {
        let headers: Map<_, _> = example.headers().iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        object.insert("headers".to_owned(), Value::Object(headers));
    }
    let tokens = example.expected_tokens();
    let expected = [
        ("class", example.expected_class().map(|class| json!(class.name()))),
        ("limit", tokens.limit.map(Value::from)),
        ("requested", tokens.requested.map(Value::from)),
        ("output_limit", tokens.output_limit.map(Value::from)),
    ];
    let expected: Map<_, _> = expected.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    if !expected.is_empty() {
        object.insert("expect".to_owned(), Value::Object(expected));
    }
    Value::Object(object)
}

/// A setting's value.
pub(crate) fn value_json(value: &SettingValue) -> Value {
    match value {
        SettingValue::Integer(number) => json!(number),
        SettingValue::Float(number) => json!(number),
        SettingValue::Text(text) => json!(text),
        SettingValue::List(items) => json!(items),
        _ => Value::Null,
    }
}

/// Settings as an object, each as `{"value", "origin"}`; `server_delay.max` becomes an object in an object.
fn nested(settings: &[Setting]) -> Value {
    let mut object = Map::new();
    for setting in settings {
        let value = value_json(&setting.value);
        match split(&setting.key) {
            None => {
                object.insert(setting.key.clone(), value);
            }
            Some((table, key)) => {
                let entry = object.entry(table).or_insert_with(|| json!({}));
                insert(entry, key, value);
            }
        }
    }
    Value::Object(object)
}

fn insert(entry: &mut Value, key: &str, value: Value) {
    if let Value::Object(inner) = entry {
        match split(key) {
            None => {
                inner.insert(key.trim_matches('"').to_owned(), value);
            }
            Some((table, key)) => insert(inner.entry(table).or_insert_with(|| json!({})), key, value),
        }
    }
}

/// The first key of a dotted path; a quoted one may have dots inside.
fn split(key: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = key.strip_prefix('"') {
        let end = quoted.find('"')?;
        let rest = quoted[end + 1..].strip_prefix('.')?;
        return Some((&quoted[..end], rest));
    }
    key.split_once('.')
}
