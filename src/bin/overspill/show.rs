//! `show`: what is in force for a provider, and where each value comes from.

use std::io::Write;

use overspill::{ProviderView, Ruleset, Setting, SettingValue};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, Format, Show};
use crate::output::{Failed, Outcome, results};
use crate::rules;

pub(crate) fn run(common: &Common, command: &Show) -> Result<Outcome, Failed> {
    let overspill = rules::load(common)?;
    let ruleset = overspill.ruleset();
    let Some(provider) = ruleset.provider(&command.provider) else {
        let known: Vec<_> = ruleset.provider_views().map(|provider| provider.name()).collect();
        return Err(Failed::Use(format!("no rule file is for `{}`; known: {}", command.provider, known.join(", "))));
    };
    let mut out = results();
    match common.format {
        Some(Format::Json) => writeln!(out, "{}", as_json(&ruleset, &provider))?,
        Some(Format::Text) | None => write!(out, "{}", as_text(&ruleset, &provider))?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn as_text(ruleset: &Ruleset, provider: &ProviderView<'_>) -> String {
    let mut text = format!("provider {}\n", provider.name());
    let mut line = |key: &str, list: &[String]| {
        if !list.is_empty() {
            text += &format!("  {key}: {}\n", list.join(", "));
        }
    };
    line("also called", provider.aliases());
    line("extends", provider.extends());
    if provider.is_gateway() {
        text += "  a gateway: the rules of all providers are tried too\n";
    }
    text += "\n[retry]\n";
    provider.retry_settings(None).iter().for_each(|setting| text += &setting_line(setting));
    for class in provider.retry_classes() {
        text += &format!("\n[retry.class.{class}]\n");
        let general = provider.retry_settings(None);
        provider.retry_settings(Some(class)).iter().filter(|setting| !general.contains(setting)).for_each(|setting| text += &setting_line(setting));
    }
    text += "\n[context]\n";
    provider.context_settings().iter().for_each(|setting| text += &setting_line(setting));
    text += "\nrules, in the order in which they are tried\n";
    for rule in ruleset.rules_for(Some(provider.name())) {
        text += &format!("  {:<28} {:<60} {}\n", rule.class().name(), rule.name(), rule.origin());
    }
    text
}

fn setting_line(setting: &Setting) -> String {
    let value = match &setting.value {
        SettingValue::Integer(number) => number.to_string(),
        SettingValue::Float(number) => format!("{number:?}"),
        SettingValue::Text(text) => text.clone(),
        SettingValue::List(items) => items.join(", "),
        _ => String::new(),
    };
    format!("  {:<24} {value:<28} {}\n", setting.key, setting.origin.as_deref().unwrap_or("built in"))
}

fn as_json(ruleset: &Ruleset, provider: &ProviderView<'_>) -> Value {
    let classes = provider.retry_classes().into_iter().map(|class| (class.name().to_owned(), settings(&provider.retry_settings(Some(class))))).collect::<Map<_, _>>();
    let mut retry = settings(&provider.retry_settings(None));
    if let (Value::Object(retry), false) = (&mut retry, classes.is_empty()) {
        retry.insert("class".to_owned(), Value::Object(classes));
    }
    let rules = ruleset.rules_for(Some(provider.name()));
    let rules: Vec<_> = rules.iter().map(|rule| json!({ "id": rule.name(), "class": rule.class().name(), "origin": rule.origin(), "layer": rule.layer().to_string() })).collect();
    json!({
        "provider": provider.name(),
        "aliases": provider.aliases(),
        "extends": provider.extends(),
        "gateway": provider.is_gateway(),
        "retry": retry,
        "context": settings(&provider.context_settings()),
        "rules": rules,
    })
}

fn settings(settings: &[Setting]) -> Value {
    let rows = settings.iter().map(|setting| {
        let value = match &setting.value {
            SettingValue::Integer(number) => json!(number),
            SettingValue::Float(number) => json!(number),
            SettingValue::Text(text) => json!(text),
            SettingValue::List(items) => json!(items),
            _ => Value::Null,
        };
        (setting.key.clone(), json!({ "value": value, "origin": setting.origin }))
    });
    Value::Object(rows.collect())
}
