//! Whose failures are tried with other rules, or with the same in another order. Rules that are new or gone are told by themselves.

use std::collections::BTreeSet;

use overspill::Ruleset;
use serde_json::json;

use super::value::named;
use super::{Kind, Told};
use crate::style::{NAME, counted, paint};

/// What is different about the rules that are tried.
#[derive(Debug, PartialEq, Eq)]
struct Tried {
    gained: Vec<String>,
    lost: Vec<String>,
    /// The first rule that others went before, and the first of those.
    moved: Option<(String, String)>,
}

pub(super) fn changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<Told> {
    let (old, new) = (names(before), names(after));
    let mut changes: Vec<(Tried, Vec<String>)> = Vec::new();
    let providers = after.provider_views().map(|provider| Some(provider.name())).filter(|name| name.is_some_and(wanted)).chain([None]);
    for provider in providers.filter(|provider| provider.is_some() || wanted("")) {
        let (before, after) = (tried_for(before, provider), tried_for(after, provider));
        if before == after {
            continue;
        }
        let in_both = |names: Vec<String>| names.into_iter().filter(|name| old.contains(name) && new.contains(name)).collect::<Vec<_>>();
        let tried = Tried::between(&in_both(before), &in_both(after));
        if tried.is_empty() {
            continue;
        }
        let who = provider.unwrap_or("unknown providers").to_owned();
        match changes.iter_mut().find(|(known, _)| *known == tried) {
            Some((_, providers)) => providers.push(who),
            None => changes.push((tried, vec![who])),
        }
    }
    changes.iter().map(|(tried, providers)| tried.told(providers)).collect()
}

/// All rules.
fn names(ruleset: &Ruleset) -> BTreeSet<String> {
    ruleset.provider_views().flat_map(|provider| provider.own_rules().map(|rule| rule.name().to_owned()).collect::<Vec<_>>()).collect()
}

/// The rules that are tried for the provider, in their order.
fn tried_for(ruleset: &Ruleset, provider: Option<&str>) -> Vec<String> {
    ruleset.rules_for(provider).into_iter().map(|rule| rule.name().to_owned()).collect()
}

impl Tried {
    fn between(before: &[String], after: &[String]) -> Self {
        let (old, new): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), after.iter().collect());
        let only = |own: &[String], other: &BTreeSet<&String>| own.iter().filter(|name| !other.contains(name)).cloned().collect();
        let (gained, lost) = (only(after, &old), only(before, &new));
        let in_both = before.iter().filter(|name| new.contains(name)).zip(after.iter().filter(|name| old.contains(name)));
        let moved = in_both.into_iter().find(|(before, after)| before != after).map(|(before, after)| (after.clone(), before.clone()));
        Self { gained, lost, moved }
    }

    fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty() && self.moved.is_none()
    }

    fn told(&self, providers: &[String]) -> Told {
        let mut text = format!("{} rules tried for {}\n", Kind::Changed.painted(), paint(NAME, named(providers)));
        for (side, names) in [("gains", &self.gained), ("loses", &self.lost)] {
            if !names.is_empty() {
                text += &format!("    {side:<7} {}: {}\n", counted(names.len(), "rule"), named(names));
            }
        }
        if let Some((now, before)) = &self.moved {
            text += &format!("    {:<7} {now} is now tried before {before}\n", "order");
        }
        let moved = self.moved.as_ref().map(|(now, before)| json!({ "rule": now, "before": before }));
        Told { text, json: json!({ "tried": { "gained": self.gained, "lost": self.lost, "moved": moved }, "providers": providers }) }
    }
}
