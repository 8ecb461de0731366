//! Failures about which both sides cannot but agree: those need not be evaluated twice, or at all.
//!
//! A verdict depends on the tables of the base layer, the provider's settings, and the rules that are tried for it in their order. Where all of that is the same on both sides, so is every
//! verdict; where only the settings differ, so is every verdict that a rule decides. Rules that differ make no difference to a failure that none of them catches, and asking a few rules is much cheaper
//! than asking all. After the usual edit, of one file or of settings, that spares most of the work.

use std::collections::{BTreeSet, HashMap};

use overspill::{ProviderView, RuleView, Ruleset, Setting, SettingValue};
use serde_json::Value;

use crate::export::rule_json;

/// How much of a provider is the same on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Same {
    #[default]
    Nothing,
    /// Whatever a rule decides.
    Rules,
    /// Every verdict, and every wait.
    All,
}

/// The rules of either side that the other has not, or not like this.
#[derive(Debug, Default)]
pub(super) struct Differing {
    pub(super) from: BTreeSet<String>,
    pub(super) to: BTreeSet<String>,
}

impl Differing {
    pub(super) fn between(from: &Ruleset, to: &Ruleset) -> Self {
        let (old, new) = (contents(from), contents(to));
        let only = |own: &HashMap<&str, String>, other: &HashMap<&str, String>| {
            own.iter().filter(|(name, rule)| other.get(*name) != Some(rule)).map(|(name, _)| (*name).to_owned()).collect()
        };
        Self { from: only(&old, &new), to: only(&new, &old) }
    }

    pub(super) fn len(&self) -> usize {
        self.from.len() + self.to.len()
    }
}

/// The providers of which something is the same, by canonical name; the empty name stands for unknown ones.
#[derive(Debug, Default)]
pub(super) struct Unaffected(HashMap<String, Same>);

impl Unaffected {
    /// What is the same for failures that none of the `apart` rules catches.
    pub(super) fn between(from: &Ruleset, to: &Ruleset, differing: &Differing, apart: &Differing) -> Self {
        if base(from) != base(to) {
            return Self::default();
        }
        let rules = |ruleset: &Ruleset, differing: &BTreeSet<String>, apart: &BTreeSet<String>, name: Option<&str>| -> Vec<(String, bool)> {
            let rules = ruleset.rules_for(name);
            rules.iter().filter(|rule| !apart.contains(rule.name())).map(|rule| (rule.name().to_owned(), differing.contains(rule.name()))).collect()
        };
        let same_rules = |name: Option<&str>| {
            let (before, after) = (rules(from, &differing.from, &apart.from, name), rules(to, &differing.to, &apart.to, name));
            before == after && !before.iter().any(|(_, differs)| *differs)
        };
        let same = |name: Option<&str>, before: &ProviderView<'_>, after: &ProviderView<'_>| match (
            context(before) == context(after) && same_rules(name),
            settings(before) == settings(after),
        ) {
            (true, true) => Same::All,
            (true, false) => Same::Rules,
            (false, _) => Same::Nothing,
        };
        let provider = |after: ProviderView<'_>| {
            let before = from.provider(after.name()).filter(|before| before.name() == after.name())?;
            Some((after.name().to_owned(), same(Some(after.name()), &before, &after)))
        };
        let unknown = from.provider("default").zip(to.provider("default")).map(|(before, after)| (String::new(), same(None, &before, &after)));
        Self(to.provider_views().filter_map(provider).chain(unknown).collect())
    }

    /// What is the same of the provider, as a failure names it.
    pub(super) fn of(&self, from: &Ruleset, to: &Ruleset, provider: Option<&str>) -> Same {
        let (before, after) = (provider.and_then(|name| from.provider(name)), provider.and_then(|name| to.provider(name)));
        let name = |view: Option<ProviderView<'_>>| view.map_or(String::new(), |view| view.name().to_owned());
        let before = name(before);
        if before == name(after) { self.0.get(&before).copied().unwrap_or_default() } else { Same::Nothing }
    }
}

/// What the base layer says for all, and which fields rules ask for: those are read from every failure.
fn base(ruleset: &Ruleset) -> (Values, Vec<Values>, BTreeSet<String>) {
    let fields = ruleset.provider_views().flat_map(|provider| provider.own_rules()).flat_map(|rule| rule.facts().map(|(_, path)| path.to_owned()).collect::<Vec<_>>());
    (values(ruleset.signal_settings()), ruleset.delay_settings().into_iter().map(values).collect(), fields.collect())
}

/// Keys and values; where they are written is no difference.
type Values = Vec<(String, SettingValue)>;

fn values(settings: Vec<Setting>) -> Values {
    settings.into_iter().map(|setting| (setting.key, setting.value)).collect()
}

/// Settings by the class that they are for, if they are for one.
type Settings = Vec<(Option<overspill::Class>, Values)>;

fn settings(provider: &ProviderView<'_>) -> Settings {
    let retry = [(None, values(provider.retry_settings(None))), (None, values(provider.retry_changes()))].into_iter();
    let status = provider.status_table().into_iter().map(|(class, statuses)| (Some(class), vec![(String::new(), SettingValue::Text(statuses.to_string()))]));
    retry.chain(status).collect()
}

/// A window can be what a rule compares with.
fn context(provider: &ProviderView<'_>) -> Values {
    values(provider.context_settings())
}

/// What each rule says, as text; by name.
fn contents(ruleset: &Ruleset) -> HashMap<&str, String> {
    let content = |rule: &RuleView<'_>| {
        let mut json = rule_json(rule);
        if let Value::Object(object) = &mut json {
            ["origin", "examples", "source", "seen"].iter().for_each(|key| _ = object.remove(*key));
        }
        json.to_string()
    };
    ruleset.provider_views().flat_map(|provider| provider.own_rules()).map(|rule| (rule.name(), content(&rule))).collect()
}
