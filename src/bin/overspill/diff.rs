//! `show --diff`: what a directory changes when it is put over the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use overspill::{ProviderView, RuleView, Ruleset, Setting};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, Format};
use crate::describe;
use crate::export::{rule_json, value_json};
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;
use crate::show;
use crate::style::{BAD, CAUTION, FAINT, GOOD, NAME, paint};

/// More providers than this are counted and not named.
const MAX_NAMED: usize = 6;

/// A setting that differs, and for whom.
struct SettingChange {
    key: String,
    before: Option<Setting>,
    after: Option<Setting>,
    providers: Vec<String>,
}

/// A rule that is new, gone or different.
struct RuleChange {
    name: String,
    kind: Kind,
    class: &'static str,
    origin: String,
    /// Key, before, after.
    keys: Vec<(String, Value, Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Changed,
    Removed,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

pub(crate) fn run(common: &Common, before: &Arc<Ruleset>, provider: Option<&str>, dir: &Path, format: Format) -> Result<Outcome, Failed> {
    let after = rules::build_after(before, common, &[dir.to_owned()]).map_err(|error| rules::refuse(&error))?;
    let only = provider.map(|name| show::find(&after, name).map(|provider| provider.name().to_owned())).transpose()?;
    let wanted = |provider: &str| only.as_deref().is_none_or(|only| only == provider);
    let settings = setting_changes(before, &after, &wanted);
    let rules = rule_changes(before, &after, &wanted);
    finish(print(&settings, &rules, format), Outcome::Done)
}

fn print(settings: &[SettingChange], rules: &[RuleChange], format: Format) -> io::Result<()> {
    let mut out = results();
    if format == Format::Json {
        settings.iter().try_for_each(|change| writeln!(out, "{}", setting_json(change)))?;
        rules.iter().try_for_each(|change| writeln!(out, "{}", change_json(change)))?;
        return out.flush();
    }
    if settings.is_empty() && rules.is_empty() {
        writeln!(out, "nothing changes")?;
    }
    for change in settings {
        write!(out, "{}", setting_text(change))?;
    }
    for change in rules {
        write!(out, "{}", rule_text(change))?;
    }
    out.flush()
}

fn all_settings(provider: &ProviderView<'_>) -> BTreeMap<String, Setting> {
    let general = provider.retry_settings(None);
    let parts = provider.retry_changes().into_iter().map(|setting| (format!("retry.{}", setting.key), setting));
    let retry = general.iter().cloned().map(|setting| (format!("retry.{}", setting.key), setting));
    let context = provider.context_settings().into_iter().map(|setting| (format!("context.{}", setting.key), setting));
    let status = provider.status_table().into_iter().map(|(class, statuses)| {
        let value = overspill::SettingValue::Text(statuses.to_string());
        (format!("status of {class}"), Setting { key: class.name().to_owned(), value, origin: None })
    });
    retry.chain(parts).chain(context).chain(status).collect()
}

fn setting_changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<SettingChange> {
    let mut changes: Vec<SettingChange> = Vec::new();
    for provider in after.provider_views().filter(|provider| wanted(provider.name())) {
        let new = all_settings(&provider);
        // A provider that is new differs from what an unknown one gets, which is the base.
        let old = before.provider(provider.name()).or_else(|| before.provider("default")).map(|provider| all_settings(&provider)).unwrap_or_default();
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let (old, new) = (old.get(key), new.get(key));
            let value = |setting: Option<&Setting>| setting.map(|setting| setting.value.clone());
            if value(old) == value(new) {
                continue;
            }
            let same = |change: &&mut SettingChange| {
                change.key == *key
                    && value(change.before.as_ref()) == value(old)
                    && value(change.after.as_ref()) == value(new)
                    && change.after.as_ref().map(|setting| &setting.origin) == new.map(|setting| &setting.origin)
            };
            match changes.iter_mut().find(same) {
                Some(change) => change.providers.push(provider.name().to_owned()),
                None => changes.push(SettingChange { key: key.clone(), before: old.cloned(), after: new.cloned(), providers: vec![provider.name().to_owned()] }),
            }
        }
    }
    changes
}

fn by_name<'r>(ruleset: &'r Ruleset, wanted: &impl Fn(&str) -> bool) -> BTreeMap<&'r str, RuleView<'r>> {
    ruleset.provider_views().filter(|provider| wanted(provider.name())).flat_map(|provider| provider.own_rules()).map(|rule| (rule.name(), rule)).collect()
}

fn rule_changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<RuleChange> {
    let (old, new) = (by_name(before, wanted), by_name(after, wanted));
    let names: BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    let change = |name: &str| {
        let (old, new) = (old.get(name), new.get(name));
        let rule = new.or(old)?;
        let kind = match (old, new) {
            (None, _) => Kind::Added,
            (_, None) => Kind::Removed,
            _ => Kind::Changed,
        };
        let json = |rule: Option<&RuleView<'_>>| rule.map(rule_json).unwrap_or_default();
        let keys = differences(&json(old), &json(new));
        let change = RuleChange { name: name.to_owned(), kind, class: rule.class().name(), origin: rule.origin().to_owned(), keys };
        (kind != Kind::Changed || !change.keys.is_empty()).then_some(change)
    };
    names.into_iter().filter_map(change).collect()
}

/// The keys whose values differ; where the rule stands is no difference.
fn differences(old: &Value, new: &Value) -> Vec<(String, Value, Value)> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).filter(|key| *key != "origin").collect();
    let value = |object: &Map<String, Value>, key: &str| object.get(key).cloned().unwrap_or_default();
    keys.into_iter().map(|key| (key.clone(), value(old, key), value(new, key))).filter(|(_, old, new)| old != new).collect()
}

fn setting_text(change: &SettingChange) -> String {
    let side = |setting: &Option<Setting>| match setting {
        Some(setting) => {
            format!("{} {}", describe::setting(&setting.value), paint(FAINT, setting.origin.as_ref().map(|origin| format!("({origin})")).unwrap_or_default())).trim_end().to_owned()
        }
        None => "not set".to_owned(),
    };
    format!(
        "{} {} of {}\n    before  {}\n    after   {}\n",
        paint(CAUTION, "changed"),
        change.key,
        paint(NAME, named(&change.providers)),
        side(&change.before),
        side(&change.after)
    )
}

fn named(providers: &[String]) -> String {
    let rest = providers.len().saturating_sub(MAX_NAMED);
    let mut named = providers.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if rest > 0 {
        named += &format!(" and {rest} more");
    }
    named
}

fn rule_text(change: &RuleChange) -> String {
    let style = match change.kind {
        Kind::Added => GOOD,
        Kind::Changed => CAUTION,
        Kind::Removed => BAD,
    };
    let mut text =
        format!("{} {} {}\n", paint(style, change.kind.name()), paint(NAME, format!("rule {}", change.name)), paint(FAINT, format!("({}, {})", change.class, change.origin)));
    if change.kind == Kind::Changed {
        for (key, old, new) in &change.keys {
            text += &format!("    {key}\n        before  {}\n        after   {}\n", short(old), short(new));
        }
    }
    text
}

/// Examples are many; how many is enough.
fn short(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().any(Value::is_object) => format!("{} of them", items.len()),
        Value::Array(items) => items.iter().map(short).collect::<Vec<_>>().join("  or  "),
        value => value.to_string(),
    }
}

fn setting_json(change: &SettingChange) -> Value {
    let side = |setting: &Option<Setting>| setting.as_ref().map(|setting| json!({ "value": value_json(&setting.value), "origin": setting.origin }));
    json!({ "setting": change.key, "providers": change.providers, "before": side(&change.before), "after": side(&change.after) })
}

fn change_json(change: &RuleChange) -> Value {
    let keys: Map<_, _> =
        if change.kind == Kind::Changed { change.keys.iter().map(|(key, old, new)| (key.clone(), json!({ "before": old, "after": new }))).collect() } else { Map::new() };
    json!({ "rule": change.name, "change": change.kind.name(), "class": change.class, "origin": change.origin, "keys": keys })
}
