//! Settings that differ, of all and of providers.

use std::collections::{BTreeMap, BTreeSet};

use overspill::{ProviderView, Ruleset, Setting, SettingValue};
use serde_json::{Value, json};

use super::value::{named, sides};
use super::{Kind, Told, provider};
use crate::export::value_json;
use crate::style::{FAINT, NAME, paint};

/// A setting that differs, and for whom; for all where nobody is named.
pub(super) struct SettingChange {
    pub(super) key: String,
    pub(super) before: Option<Side>,
    pub(super) after: Option<Side>,
    pub(super) providers: Vec<String>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) value: Value,
    pub(super) origin: Option<String>,
}

impl From<Setting> for Side {
    fn from(setting: Setting) -> Self {
        Self { value: value_json(&setting.value), origin: setting.origin }
    }
}

pub(super) fn changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<Told> {
    let mut changes = Vec::new();
    compare(&of_all(before), &of_all(after), None, &mut changes);
    let providers = || after.provider_views().filter(|provider| wanted(provider.name()));
    for provider in providers().filter(|provider| !provider::is_new(before, provider)) {
        let old = before.provider(provider.name()).map(|provider| identity(&provider)).unwrap_or_default();
        compare(&old, &identity(&provider), Some(provider.name()), &mut changes);
    }
    for provider in providers() {
        let new = all_settings(&provider);
        // A provider that is new differs from what an unknown one gets, which is the base.
        let old = before.provider(provider.name()).or_else(|| before.provider("default")).map(|provider| all_settings(&provider)).unwrap_or_default();
        compare(&old, &new, Some(provider.name()), &mut changes);
    }
    changes.iter().map(SettingChange::told).collect()
}

fn compare(old: &BTreeMap<String, Side>, new: &BTreeMap<String, Side>, provider: Option<&str>, changes: &mut Vec<SettingChange>) {
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (old, new) = (old.get(key), new.get(key));
        let value = |side: Option<&Side>| side.map(|side| side.value.clone());
        if value(old) == value(new) {
            continue;
        }
        let same = |change: &&mut SettingChange| {
            change.key == *key
                && value(change.before.as_ref()) == value(old)
                && value(change.after.as_ref()) == value(new)
                && change.after.as_ref().map(|side| &side.origin) == new.map(|side| &side.origin)
        };
        match (changes.iter_mut().find(same), provider) {
            (Some(change), Some(provider)) => change.providers.push(provider.to_owned()),
            _ => changes.push(SettingChange { key: key.clone(), before: old.cloned(), after: new.cloned(), providers: provider.map(str::to_owned).into_iter().collect() }),
        }
    }
}

/// The settings under a table's name. Of settings with one key the first holds.
fn under(all: &mut BTreeMap<String, Side>, table: &str, settings: Vec<Setting>) {
    for setting in settings {
        all.entry(format!("{table}.{}", setting.key)).or_insert_with(|| setting.into());
    }
}

/// What only the base says, and for all.
fn of_all(ruleset: &Ruleset) -> BTreeMap<String, Side> {
    let mut all = BTreeMap::new();
    under(&mut all, "signals", ruleset.signal_settings());
    all
}

fn all_settings(provider: &ProviderView<'_>) -> BTreeMap<String, Side> {
    let mut all = BTreeMap::new();
    under(&mut all, "retry", provider.retry_settings(None));
    under(&mut all, "retry", provider.retry_changes());
    under(&mut all, "context", provider.context_settings());
    for shape in provider.usage_settings() {
        let id = shape.iter().find(|setting| setting.key == "id").and_then(|setting| if let SettingValue::Text(id) = &setting.value { Some(id.clone()) } else { None });
        // What is counted is told above.
        let rest = shape.into_iter().filter(|setting| matches!(setting.key.as_str(), "at" | "requires" | "occupies"));
        under(&mut all, &format!("context.usage.{}", id.unwrap_or_default()), rest.collect());
    }
    for (class, statuses) in provider.status_table() {
        all.insert(format!("status of {class}"), Side { value: Value::from(statuses.to_string()), origin: None });
    }
    all
}

/// Who it is and whose rules it takes over.
fn identity(provider: &ProviderView<'_>) -> BTreeMap<String, Side> {
    let lists = [("aliases", provider.aliases()), ("extends", provider.extends())].into_iter().filter(|(_, names)| !names.is_empty());
    let rows = lists.map(|(key, names)| (key, json!(names))).chain([("gateway", json!(provider.is_gateway()))]);
    rows.map(|(key, value)| (key.to_owned(), Side { value, origin: None })).collect()
}

impl SettingChange {
    pub(super) fn told(&self) -> Told {
        Told { text: self.text(), json: self.json() }
    }

    fn text(&self) -> String {
        let providers = if self.providers.is_empty() { "all providers".to_owned() } else { named(&self.providers) };
        let mut text = format!("{} {} of {}\n", Kind::Changed.painted(), self.key, paint(NAME, providers));
        let value = |side: &Option<Side>| side.as_ref().map(|side| side.value.clone()).unwrap_or_default();
        for (side, shown) in sides(&value(&self.before), &value(&self.after), ", ") {
            let from = if matches!(side, "before" | "loses") { &self.before } else { &self.after };
            let origin = from.as_ref().and_then(|from| from.origin.as_ref()).map(|origin| paint(FAINT, format!("({origin})"))).unwrap_or_default();
            text += format!("    {side:<7} {shown} {origin}").trim_end();
            text += "\n";
        }
        text
    }

    fn json(&self) -> Value {
        let side = |side: &Option<Side>| side.as_ref().map(|side| json!({ "value": side.value, "origin": side.origin }));
        json!({ "setting": self.key, "providers": self.providers, "before": side(&self.before), "after": side(&self.after) })
    }
}
