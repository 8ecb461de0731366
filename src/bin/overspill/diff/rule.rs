//! Rules that are new, gone or different.

use std::collections::{BTreeMap, BTreeSet};

use overspill::{RuleView, Ruleset};
use serde_json::{Map, Value, json};

use super::value::sides;
use super::{Kind, Told};
use crate::export::rule_json;
use crate::style::{FAINT, NAME, paint};

struct RuleChange {
    name: String,
    kind: Kind,
    class: &'static str,
    origin: String,
    /// What switches it off.
    disabled_by: Option<String>,
    /// Key, before, after.
    keys: Vec<(String, Value, Value)>,
}

fn by_name<'r>(ruleset: &'r Ruleset, wanted: &impl Fn(&str) -> bool) -> BTreeMap<&'r str, RuleView<'r>> {
    ruleset.provider_views().filter(|provider| wanted(provider.name())).flat_map(|provider| provider.own_rules()).map(|rule| (rule.name(), rule)).collect()
}

pub(super) fn changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<Told> {
    let (old, new) = (by_name(before, wanted), by_name(after, wanted));
    let disabled: BTreeMap<_, _> = after.provider_views().flat_map(|provider| provider.disabled_rules().collect::<Vec<_>>()).collect();
    let names: BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    let change = |name: &str| {
        let (old, new) = (old.get(name), new.get(name));
        let rule = new.or(old)?;
        let kind = Kind::of(old, new);
        let json = |rule: Option<&RuleView<'_>>| rule.map(rule_json).unwrap_or_default();
        let keys = differences(&json(old), &json(new));
        let disabled_by = disabled.get(name).filter(|_| kind == Kind::Removed).cloned();
        let change = RuleChange { name: name.to_owned(), kind, class: rule.class().name(), origin: rule.origin().to_owned(), disabled_by, keys };
        (kind != Kind::Changed || !change.keys.is_empty()).then_some(change)
    };
    let changes = names.into_iter().filter_map(change);
    changes.map(|change| Told { text: change.text(), json: change.json() }).collect()
}

/// The keys whose values differ; where the rule stands is no difference.
fn differences(old: &Value, new: &Value) -> Vec<(String, Value, Value)> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).filter(|key| *key != "origin").collect();
    let value = |object: &Map<String, Value>, key: &str| object.get(key).cloned().unwrap_or_default();
    keys.into_iter().map(|key| (key.clone(), value(old, key), value(new, key))).filter(|(_, old, new)| old != new).collect()
}

impl RuleChange {
    fn text(&self) -> String {
        let place = paint(FAINT, format!("({}, {})", self.class, self.origin));
        let mut text = format!("{} {} {place}\n", self.kind.painted(), paint(NAME, format!("rule {}", self.name)));
        if let Some(by) = &self.disabled_by {
            text += &format!("    disabled at {by}\n");
        }
        if self.kind != Kind::Changed {
            return text;
        }
        for (key, old, new) in &self.keys {
            text += &format!("    {key}\n");
            let sides = if key == "examples" { examples(old, new) } else { sides(old, new, "  or  ") };
            sides.iter().for_each(|(side, shown)| text += &format!("        {side:<7} {shown}\n"));
        }
        text
    }

    fn json(&self) -> Value {
        let keys = self.keys.iter().filter(|_| self.kind == Kind::Changed);
        let keys: Map<_, _> = keys.map(|(key, old, new)| (key.clone(), json!({ "before": old, "after": new }))).collect();
        let mut json = json!({ "rule": self.name, "change": self.kind.name(), "class": self.class, "origin": self.origin, "keys": keys });
        if let (Value::Object(object), Some(by)) = (&mut json, &self.disabled_by) {
            object.insert("disabled_by".to_owned(), json!(by));
        }
        json
    }
}

/// Examples are long; how many is enough.
fn examples(old: &Value, new: &Value) -> Vec<(&'static str, String)> {
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    let others = if count(old) == count(new) { "others, " } else { "" };
    vec![("before", format!("{} of them", count(old))), ("after", format!("{others}{} of them", count(new)))]
}
