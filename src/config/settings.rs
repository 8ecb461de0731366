//! What is in force for one provider: its own values, then those it inherits.

use std::num::NonZeroU32;
use std::time::Duration;

use super::context::ContextSettings;
use super::glob::Glob;
use super::merge::{MergedProvider, merge_context, merge_retry};
use super::waits::{check_profiles, check_waits};
use crate::class::Class;
use crate::diagnostic::Problem;
use crate::model::{ContextModel, RetryModel};
use crate::policy::{BudgetPolicy, Jitter, OverMax, RetryPolicy, ServerDelayPolicy};
use crate::source::{Location, SourceId, Spanned};
use crate::status::StatusSet;

/// What a status means when no rule matched.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatusTable {
    /// Ascending.
    classes: Vec<(u16, Spanned<Class>)>,
}

impl StatusTable {
    /// Every file's rows on their own, nearest first: a nearer file's "5xx" outranks a farther file's "503".
    fn of(providers: &[MergedProvider], chain: &[usize]) -> Self {
        let class = |status| chain.iter().find_map(|&index| class_in(&providers[index].status, status));
        Self { classes: (100..600).filter_map(|status| Some((status, class(status)?))).collect() }
    }

    /// The class of a status and where the row stands.
    pub(crate) fn class(&self, status: u16) -> Option<Spanned<Class>> {
        self.classes.binary_search_by_key(&status, |(known, _)| *known).ok().map(|at| self.classes[at].1)
    }
}

/// Single codes outrank classes and ranges, so that the order of keys in a file does not matter; else the first row that has the status decides.
fn class_in(rows: &[(Spanned<StatusSet>, Spanned<Class>)], status: u16) -> Option<Spanned<Class>> {
    let has = |row: &&(Spanned<StatusSet>, Spanned<Class>)| row.0.contains(Some(status));
    rows.iter().filter(has).min_by_key(|(set, _)| set.len() > 1).map(|(_, class)| *class)
}

/// The retry policy of a provider, of single classes where they differ, and what models and profiles change.
#[derive(Debug, Clone)]
pub(crate) struct RetrySettings {
    pub(crate) general: EffectiveRetry,
    pub(crate) classes: Vec<(Class, EffectiveRetry)>,
    pub(crate) models: Vec<(Glob, RetryModel)>,
    pub(crate) profiles: Vec<(String, RetryModel)>,
    /// The files that all this came from, the nearest last.
    files: Vec<SourceId>,
}

/// A policy and where each of its values came from.
#[derive(Debug, Clone)]
pub(crate) struct EffectiveRetry {
    pub(crate) policy: RetryPolicy,
    pub(crate) model: RetryModel,
    /// What is special about the class, without what it takes over.
    own: RetryModel,
}

impl RetrySettings {
    /// What classes, profiles and models change, each under its key below `retry`; models in the order in which they are asked.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (String, EffectiveRetry)> {
        let part = |key: String, model: &RetryModel| (key, EffectiveRetry { policy: policy(model), model: model.clone(), own: RetryModel::default() });
        let classes = self.classes.iter().map(move |(class, special)| part(format!("class.{class}"), &special.own));
        let profiles = self.profiles.iter().map(move |(name, model)| part(format!("profile.{name}"), model));
        // Of those that match, the most specific holds, of equals the last.
        let mut models: Vec<_> = self.models.iter().rev().collect();
        models.sort_by_key(|(glob, _)| std::cmp::Reverse(glob.specificity()));
        classes.chain(profiles).chain(models.into_iter().map(move |(glob, model)| part(format!("model.\"{glob}\""), model)))
    }

    pub(crate) fn has_profile(&self, name: &str) -> bool {
        self.profiles.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn for_class(&self, class: Option<Class>) -> &EffectiveRetry {
        let special = self.classes.iter().find(|(known, _)| Some(*known) == class);
        special.map_or(&self.general, |(_, retry)| retry)
    }

    /// The policy for one call: what is general, over that the profile, over that the model, over that the class; the attempts as [`lay_over`] and [`lay_class_over`] say.
    pub(crate) fn for_call(&self, class: Option<Class>, model: Option<&str>, profile: Option<&str>) -> RetryPolicy {
        let profile = profile.and_then(|name| self.profiles.iter().find(|(known, _)| known == name));
        let matching = self.models.iter().filter(|(glob, _)| model.is_some_and(|model| glob.matches(model)));
        let model = matching.max_by_key(|(glob, _)| glob.specificity());
        if profile.is_none() && model.is_none() {
            return self.for_class(class).policy.clone();
        }
        let mut merged = self.general.model.clone();
        if let Some((_, profile)) = profile {
            lay_over(&mut merged, profile, &self.files);
        }
        if let Some((_, model)) = model {
            lay_over(&mut merged, model, &self.files);
        }
        if let Some((_, special)) = self.classes.iter().find(|(known, _)| Some(*known) == class) {
            lay_class_over(&mut merged, &special.own, &self.files);
        }
        policy(&merged)
    }
}

/// Lays a profile or a model over what is general. What it says of attempts holds, except that a nearer file's single attempt stays one: whoever forbids retries means it.
fn lay_over(general: &mut RetryModel, special: &RetryModel, files: &[SourceId]) {
    let forbids = nearer_attempts(general, special, files).filter(|attempts| **attempts == 1);
    merge_retry(general, special.clone());
    general.max_attempts = forbids.or(general.max_attempts);
}

/// Lays a class over the rest. What it says of attempts holds against the same file and farther ones; against a nearer file it can only take attempts away. Otherwise the base's second try for
/// what nobody knows would outrank a provider, a profile or a model that wants none.
fn lay_class_over(general: &mut RetryModel, class: &RetryModel, files: &[SourceId]) {
    let bound = nearer_attempts(general, class, files);
    merge_retry(general, class.clone());
    general.max_attempts = general.max_attempts.map(|own| bound.filter(|bound| **bound < *own).unwrap_or(own));
}

/// The attempts of the first, if they come from a nearer file than those of the second.
fn nearer_attempts(general: &RetryModel, special: &RetryModel, files: &[SourceId]) -> Option<Spanned<u32>> {
    let place = |attempts: Spanned<u32>| files.iter().rposition(|file| *file == attempts.at.source);
    let (attempts, own) = general.max_attempts.zip(special.max_attempts)?;
    (place(attempts) > place(own)).then_some(attempts)
}

/// The settings along a chain, nearest first.
pub(super) fn resolve(providers: &[MergedProvider], chain: &[usize], problems: &mut Vec<Problem>) -> (StatusTable, RetrySettings, ContextSettings) {
    let mut retry = RetryModel::default();
    let mut context = ContextModel::default();
    for &index in chain.iter().rev() {
        merge_retry(&mut retry, providers[index].retry.clone());
        merge_context(&mut context, providers[index].context.clone());
    }
    let status = StatusTable::of(providers, chain);
    let at = providers[chain[0]].name.at;
    let files = chain.iter().rev().flat_map(|&index| providers[index].files.iter().copied()).collect();
    let settings = resolve_retry(retry, files, at, problems);
    let context = ContextSettings::build(context, problems);
    (status, settings, context)
}

fn resolve_retry(mut general: RetryModel, files: Vec<SourceId>, at: Location, problems: &mut Vec<Problem>) -> RetrySettings {
    let classes = std::mem::take(&mut general.classes);
    let models = std::mem::take(&mut general.models);
    let profiles = std::mem::take(&mut general.profiles);
    check_profiles(&profiles, problems);
    check_waits(&general, "", at, problems);
    let classes = classes.into_iter().map(|(class, special)| {
        let mut model = general.clone();
        lay_class_over(&mut model, &special, &files);
        check_waits(&model, &format!(" for {}", class.value), at, problems);
        (class.value, EffectiveRetry { policy: policy(&model), model, own: special })
    });
    let classes: Vec<_> = classes.collect();
    let parts = models.iter().map(|(pattern, special)| (format!(" for models `{}`", pattern.value), special));
    let parts = parts.chain(profiles.iter().map(|(name, special)| (format!(" in the profile `{}`", name.value), special)));
    for (whose, special) in parts {
        let mut model = general.clone();
        merge_retry(&mut model, special.clone());
        check_waits(&model, &whose, at, problems);
    }
    let general = EffectiveRetry { policy: policy(&general), model: general, own: RetryModel::default() };
    let models = models.into_iter().map(|(pattern, model)| (Glob::new(&pattern), model)).collect();
    let profiles = profiles.into_iter().map(|(name, model)| (name.value, model)).collect();
    RetrySettings { general, classes, models, profiles, files }
}

const DEFAULT_BASE: Duration = Duration::from_secs(2);
pub(super) const DEFAULT_CAP: Duration = Duration::from_secs(30);

/// The values given, with those of the design for what even the base file leaves out.
pub(super) fn policy(model: &RetryModel) -> RetryPolicy {
    let attempts = model.max_attempts.map_or(5, |attempts| *attempts);
    let base = model.base.map_or(DEFAULT_BASE, |base| *base);
    RetryPolicy {
        max_attempts: NonZeroU32::new(attempts).unwrap_or(NonZeroU32::MIN),
        base,
        factor: model.factor.map_or(2.0, |factor| *factor),
        cap: model.cap.map_or(DEFAULT_CAP, |cap| *cap).max(base),
        jitter: model.jitter.map_or(Jitter::Proportional { ratio: 0.2 }, |jitter| *jitter),
        retryable: model.retryable.map(|set| *set).unwrap_or_default(),
        fatal: model.fatal.map(|set| *set).unwrap_or_default(),
        server_delay: ServerDelayPolicy {
            max: model.server_delay_max.map_or(Duration::from_secs(300), |max| *max),
            over_max: model.server_delay_over_max.map_or(OverMax::Fail, |over_max| *over_max),
        },
        deadline: model.deadline.map(|deadline| *deadline),
        cost: model.cost.map_or(1.0, |cost| *cost),
        budget: BudgetPolicy {
            capacity: model.budget_capacity.map_or(15.0, |capacity| *capacity),
            per_second: model.budget_per_second.map_or(0.05, |rate| *rate),
            per_success: model.budget_per_success.map_or(0.2, |share| *share),
        },
    }
}
