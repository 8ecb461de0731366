//! `show`: what is in force for a provider, and where each value comes from.

use std::io::{self, Write};

use overspill::{ProviderView, Ruleset, Setting};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, Format, Show};
use crate::describe;
use crate::diff;
use crate::export::{is_usage, status_rows, value_json};
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;
use crate::style::{FAINT, NAME, STRONG, paint};

pub(crate) fn run(common: &Common, command: &Show) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json])?;
    let overspill = rules::load(common)?;
    let ruleset = overspill.ruleset();
    if let Some(dir) = &command.diff {
        return diff::run(common, &ruleset, command.provider.as_deref(), dir, format);
    }
    let provider = find(&ruleset, command.provider.as_deref().unwrap_or_default())?;
    finish(print(&ruleset, &provider, format), Outcome::Done)
}

/// The provider of that name, or an error that names those there are.
pub(crate) fn find<'r>(ruleset: &'r Ruleset, name: &str) -> Result<ProviderView<'r>, Failed> {
    ruleset.provider(name).ok_or_else(|| {
        let meant = ruleset.nearest_provider(name).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let known: Vec<_> = ruleset.provider_views().map(|provider| provider.name()).collect();
        Failed::Use(format!("no rule file is for `{name}`{meant}\n  known: {}", known.join(", ")))
    })
}

fn print(ruleset: &Ruleset, provider: &ProviderView<'_>, format: Format) -> io::Result<()> {
    let mut out = results();
    match format {
        Format::Json => writeln!(out, "{}", as_json(ruleset, provider))?,
        _ => write!(out, "{}", as_text(ruleset, provider))?,
    }
    out.flush()
}

fn as_text(ruleset: &Ruleset, provider: &ProviderView<'_>) -> String {
    let mut text = format!("provider {}\n", paint(NAME, provider.name()));
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
    text += &format!("\n{}\n", paint(STRONG, "[retry]"));
    text += &lines(&provider.retry_settings(None));
    let changes = provider.retry_changes();
    if !changes.is_empty() {
        text += &format!("\n{}\n", paint(STRONG, "[retry] of classes, profiles and models"));
        text += &lines(&changes);
    }
    text += &format!("\n{}\n", paint(STRONG, "[context]"));
    text += &lines(&provider.context_settings());
    text += &format!("\n{}\n", paint(STRONG, "[status], where no rule matches"));
    text += &lines(&provider.status_settings());
    text += &format!("\n{}\n", paint(STRONG, "[signals]"));
    text += &lines(ruleset.signal_settings().iter().filter(|setting| setting.origin.is_some()));
    text += &format!("\n{}\n", paint(STRONG, "[[delay]], in the order in which they are tried"));
    ruleset.delay_settings().iter().for_each(|form| text += &form_line(form));
    text += &format!("\n{}\n", paint(STRONG, "rules, in the order in which they are tried"));
    for rule in ruleset.rules_for(Some(provider.name())) {
        text += &format!("  {:<28} {:<60} {}\n", rule.class().name(), rule.name(), paint(FAINT, rule.origin()));
    }
    text
}

/// The settings of a section, a line each, in columns as wide as its longest key.
fn lines<'s>(settings: impl IntoIterator<Item = &'s Setting, IntoIter: Clone>) -> String {
    let settings = settings.into_iter();
    let width = settings.clone().map(|setting| setting.key.len()).fold(24, usize::max);
    let line = |setting: &Setting| format!("  {:<width$} {:<28} {}\n", setting.key, describe::setting(&setting.value), paint(FAINT, describe::origin(setting)));
    settings.fold(String::new(), |text, setting| text + &line(setting))
}

/// A form of a wait in one line: its id, and the other keys as they are written.
fn form_line(form: &[Setting]) -> String {
    let Some((id, keys)) = form.split_first() else { return String::new() };
    let keys: Vec<_> = keys.iter().map(|setting| format!("{} = {}", setting.key, describe::setting(&setting.value))).collect();
    format!("  {:<24} {:<28} {}\n", describe::setting(&id.value), keys.join(", "), paint(FAINT, describe::origin(id)))
}

fn as_json(ruleset: &Ruleset, provider: &ProviderView<'_>) -> Value {
    let classes = provider.retry_classes().into_iter().map(|class| (class.name().to_owned(), settings(&provider.retry_settings(Some(class))))).collect::<Map<_, _>>();
    let mut retry = settings(&provider.retry_settings(None));
    if let (Value::Object(retry), false) = (&mut retry, classes.is_empty()) {
        retry.insert("class".to_owned(), Value::Object(classes));
    }
    let changes = provider.retry_changes();
    for part in ["profile", "model"] {
        let of_part: Vec<_> = changes.iter().filter(|setting| setting.key.split_once('.').is_some_and(|(first, _)| first == part)).cloned().collect();
        if let (Value::Object(retry), false) = (&mut retry, of_part.is_empty()) {
            retry.extend(rows(&of_part));
        }
    }
    let of_context: Vec<_> = provider.context_settings().into_iter().filter(|setting| !is_usage(setting)).collect();
    let mut context = settings(&of_context);
    let usage: Vec<_> = provider.usage_settings().iter().map(|shape| settings(shape)).collect();
    if let (Value::Object(context), false) = (&mut context, usage.is_empty()) {
        context.insert("usage".to_owned(), Value::Array(usage));
    }
    let status: Map<_, _> = status_rows(&provider.status_settings()).map(|(status, setting)| (status, row(setting))).collect();
    let rules = ruleset.rules_for(Some(provider.name()));
    let rules: Vec<_> = rules.iter().map(|rule| json!({ "id": rule.name(), "class": rule.class().name(), "origin": rule.origin(), "layer": rule.layer().to_string() })).collect();
    json!({
        "provider": provider.name(),
        "aliases": provider.aliases(),
        "extends": provider.extends(),
        "gateway": provider.is_gateway(),
        "retry": retry,
        "context": context,
        "status": status,
        "signals": settings(&ruleset.signal_settings()),
        "delay": ruleset.delay_settings().iter().map(|form| settings(form)).collect::<Vec<_>>(),
        "rules": rules,
    })
}

fn settings(settings: &[Setting]) -> Value {
    Value::Object(rows(settings).collect())
}

fn rows(settings: &[Setting]) -> impl Iterator<Item = (String, Value)> {
    settings.iter().map(|setting| (setting.key.clone(), row(setting)))
}

fn row(setting: &Setting) -> Value {
    json!({ "value": value_json(&setting.value), "origin": setting.origin })
}
