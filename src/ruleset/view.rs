//! The rules as other programs see them: to show, to export, to check with an evaluator of their own.

use super::Ruleset;
use super::pattern_set::PatternSet;
use super::rule::{CompiledConditions, CompiledRule};
use crate::class::{Action, Class};
use crate::config::Comparison;
use crate::diagnostic::did_you_mean;
use crate::failure::Transport;
use crate::source::Layer;
use crate::status::StatusSet;

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleView<'a> {
    ruleset: &'a Ruleset,
    rule: &'a CompiledRule,
}

/// The conditions of a rule or of one of its vetoes. An empty list asks nothing.
#[derive(Clone, Copy, Debug)]
pub struct ConditionsView<'a> {
    ruleset: &'a Ruleset,
    conditions: &'a CompiledConditions,
}

/// One provider, family or gateway.
#[derive(Clone, Copy, Debug)]
pub struct ProviderView<'a> {
    ruleset: &'a Ruleset,
    index: usize,
}

impl Ruleset {
    /// The rules in the order in which they are tried for a provider's failures; those of all for one that is not known.
    #[must_use]
    pub fn rules_for(&self, provider: Option<&str>) -> Vec<RuleView<'_>> {
        let order = self.order(self.find(provider));
        let ranked = self.rules.iter().enumerate().filter_map(|(number, rule)| Some((order.rank(rule)?, number, rule)));
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_by_key(|(rank, number, _)| (*rank, *number));
        ranked.into_iter().map(|(_, _, rule)| RuleView { ruleset: self, rule }).collect()
    }

    /// Every provider, family and gateway that has a file, by name.
    pub fn provider_views(&self) -> impl Iterator<Item = ProviderView<'_>> {
        (0..self.providers.len()).map(move |index| ProviderView { ruleset: self, index })
    }

    /// The provider of that name, in any spelling.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<ProviderView<'_>> {
        self.find(Some(name)).map(|index| ProviderView { ruleset: self, index })
    }
}

impl Ruleset {
    /// The name of a provider that was probably meant, where there is none of that name.
    #[must_use]
    pub fn nearest_provider(&self, name: &str) -> Option<&str> {
        let found = did_you_mean(name, self.names.iter())?;
        self.provider(found).map(|provider| provider.name())
    }
}

impl<'a> ProviderView<'a> {
    pub(super) fn config(&self) -> &'a crate::config::Provider {
        &self.ruleset.providers[self.index].config
    }

    pub(super) fn origin(&self, at: crate::source::Location) -> String {
        self.ruleset.sources.origin(at)
    }

    /// The canonical name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.ruleset.providers[self.index].config.name
    }

    /// Other names it answers to.
    #[must_use]
    pub fn aliases(&self) -> &'a [String] {
        &self.ruleset.providers[self.index].config.aliases
    }

    /// The files whose rules and settings it takes over.
    #[must_use]
    pub fn extends(&self) -> &'a [String] {
        &self.ruleset.providers[self.index].config.extends
    }

    /// Whether it passes the errors of others on.
    #[must_use]
    pub fn is_gateway(&self) -> bool {
        self.ruleset.providers[self.index].config.gateway
    }

    /// The rules of its own file, in order.
    pub fn own_rules(&self) -> impl Iterator<Item = RuleView<'a>> + use<'a> {
        let (ruleset, index) = (self.ruleset, self.index);
        ruleset.rules.iter().filter(move |rule| rule.provider == index).map(move |rule| RuleView { ruleset, rule })
    }

    /// The rules of its own file that are switched off: `provider/id`, and `file:line` of what does that.
    pub fn disabled_rules(&self) -> impl Iterator<Item = (String, String)> {
        self.config().disabled.iter().map(|(id, at)| (format!("{}/{id}", self.name()), self.origin(*at)))
    }
}

impl<'a> RuleView<'a> {
    pub(super) fn new(ruleset: &'a Ruleset, rule: &'a CompiledRule) -> Self {
        Self { ruleset, rule }
    }

    pub(super) fn parts(&self) -> (&'a Ruleset, &'a CompiledRule) {
        (self.ruleset, self.rule)
    }

    /// `provider/id`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.rule.info.name
    }

    /// The id, unique within the provider.
    #[must_use]
    pub fn id(&self) -> &'a str {
        self.rule.info.name.split_once('/').map_or("", |(_, id)| id)
    }

    /// The provider of the file that it stands in.
    #[must_use]
    pub fn provider(&self) -> &'a str {
        self.rule.info.name.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Whether it is also tried for failures of unknown providers and gateways.
    #[must_use]
    pub fn is_for_all(&self) -> bool {
        self.rule.scope == crate::model::Scope::Any
    }

    /// What it means.
    #[must_use]
    pub fn class(&self) -> Class {
        self.rule.class
    }

    /// What to do, where it differs from the class's default.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.rule.action
    }

    /// `file:line` of the last layer that touched it.
    #[must_use]
    pub fn origin(&self) -> &'a str {
        &self.rule.info.origin
    }

    /// The layer of that file.
    #[must_use]
    pub fn layer(&self) -> &'a Layer {
        self.ruleset.sources.layer(self.rule.at.source)
    }

    /// Where the wording was seen.
    #[must_use]
    pub fn source(&self) -> Option<&'a str> {
        self.rule.source.as_deref()
    }

    /// When it was last seen: `YYYY-MM` or `YYYY-MM-DD`.
    #[must_use]
    pub fn seen(&self) -> Option<&'a str> {
        self.rule.seen.as_deref()
    }

    /// What must hold.
    #[must_use]
    pub fn conditions(&self) -> ConditionsView<'a> {
        ConditionsView { ruleset: self.ruleset, conditions: &self.rule.conditions }
    }

    /// What must not hold; any of them vetoes.
    pub fn unless(&self) -> impl Iterator<Item = ConditionsView<'a>> + use<'a> {
        let (ruleset, rule) = (self.ruleset, self.rule);
        rule.unless.iter().map(move |conditions| ConditionsView { ruleset, conditions })
    }

    /// Facts that are read from structured fields where no pattern captures them: the fact's name and the end of the field's dotted path.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &'a str)> + use<'a> {
        self.rule.facts.iter().map(|(fact, path)| (fact.name(), path.as_str()))
    }

    /// Number of examples, positive and negative.
    #[must_use]
    pub fn example_count(&self) -> usize {
        self.rule.examples.len()
    }
}

impl<'a> ConditionsView<'a> {
    /// The statuses.
    #[must_use]
    pub fn status(&self) -> Option<&'a StatusSet> {
        self.conditions.status.as_ref()
    }

    /// Machine codes, in lower case.
    #[must_use]
    pub fn codes(&self) -> &'a [String] {
        &self.conditions.code
    }

    /// Patterns over the message, as written.
    pub fn messages(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        texts(&self.ruleset.messages, &self.conditions.message)
    }

    /// Patterns over the raw body, as written.
    pub fn bodies(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        texts(&self.ruleset.bodies, &self.conditions.body)
    }

    /// Headers with the patterns over their values, as written.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> + use<'a> {
        self.conditions.header.iter().map(|header| (header.name.as_str(), header.patterns.iter().map(|(text, _)| text.as_str()).collect()))
    }

    /// How the failure arrived.
    #[must_use]
    pub fn transports(&self) -> &'a [Transport] {
        &self.conditions.transport
    }

    /// Reasons why the model stopped.
    #[must_use]
    pub fn finish_reasons(&self) -> &'a [String] {
        &self.conditions.finish_reason
    }

    /// Names of stream events.
    #[must_use]
    pub fn events(&self) -> &'a [String] {
        &self.conditions.event
    }

    /// Globs over model names.
    pub fn models(&self) -> impl Iterator<Item = String> + use<'a> {
        self.conditions.model.iter().map(ToString::to_string)
    }

    /// Whether body and message must be empty, or must not.
    #[must_use]
    pub fn body_empty(&self) -> Option<bool> {
        self.conditions.body_empty
    }

    /// Comparisons that must hold.
    #[must_use]
    pub fn comparisons(&self) -> &'a [Comparison] {
        &self.conditions.when
    }
}

fn texts<'a>(set: &'a PatternSet, ids: &'a [super::PatternId]) -> impl Iterator<Item = &'a str> + use<'a> {
    ids.iter().map(move |&id| set.text(id))
}
