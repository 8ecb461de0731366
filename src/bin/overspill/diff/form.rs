//! Forms of waits that differ, and where new ones are tried.

use std::collections::{BTreeMap, BTreeSet};

use overspill::{Ruleset, Setting};
use serde_json::{Map, Value, json};

use super::value::{shown, sides};
use super::{Kind, Told};
use crate::describe;
use crate::export::value_json;
use crate::style::{FAINT, NAME, paint};

pub(super) fn changes(before: &Ruleset, after: &Ruleset) -> Vec<Told> {
    let (before, after) = (before.delay_settings(), after.delay_settings());
    let by_id = |forms: &[Vec<Setting>]| forms.iter().filter_map(|form| Some((id(form)?, form.clone()))).collect::<BTreeMap<_, _>>();
    let (old, new) = (by_id(&before), by_id(&after));
    let ids: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    ids.into_iter().filter_map(|id| told(id, old.get(id), new.get(id), &after)).collect()
}

/// The first row is its id.
pub(super) fn id(form: &[Setting]) -> Option<String> {
    form.first().map(|id| describe::setting(&id.value))
}

fn told(id: &str, old: Option<&Vec<Setting>>, new: Option<&Vec<Setting>>, order: &[Vec<Setting>]) -> Option<Told> {
    let kind = Kind::of(old, new);
    let keys = |form: Option<&Vec<Setting>>| form.into_iter().flatten().skip(1).map(|setting| (setting.key.clone(), value_json(&setting.value))).collect::<Map<_, _>>();
    let (before, after) = (keys(old), keys(new));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let value = |form: &Map<String, Value>, key: &str| form.get(key).cloned().unwrap_or_default();
    let changed: Vec<_> = names.into_iter().map(|key| (key, value(&before, key), value(&after, key))).filter(|(_, old, new)| old != new).collect();
    if changed.is_empty() {
        return None;
    }
    let origin = new.or(old).and_then(|form| form.first()).map(describe::origin).unwrap_or_default().to_owned();
    let next = order.iter().position(|form| self::id(form).as_deref() == Some(id)).and_then(|at| order.get(at + 1)).and_then(|form| self::id(form));
    let mut text = format!("{} form of a wait {} {}\n", kind.painted(), paint(NAME, id), paint(FAINT, format!("({origin})")));
    if kind == Kind::Changed {
        for (key, old, new) in &changed {
            text += &format!("    {key}\n");
            sides(old, new, "  or  ").iter().for_each(|(side, shown)| text += &format!("        {side:<7} {shown}\n"));
        }
    } else {
        let form = if kind == Kind::Added { &after } else { &before };
        form.iter().for_each(|(key, value)| text += &format!("    {key:<7} {}\n", shown(value, "  or  ")));
    }
    if kind == Kind::Added {
        text += &format!("    {:<7} {}\n", "tried", next.as_ref().map_or("last".to_owned(), |next| format!("before {next}")));
    }
    let keys: Map<_, _> = changed.into_iter().map(|(key, old, new)| (key.clone(), json!({ "before": old, "after": new }))).collect();
    Some(Told { text, json: json!({ "delay": id, "change": kind.name(), "origin": origin, "before_form": next, "keys": keys }) })
}
