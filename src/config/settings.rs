//! What is in force for one provider: its own values, then those it inherits.

use std::num::NonZeroU32;
use std::time::Duration;

use super::context::ContextSettings;
use super::merge::{MergedProvider, merge_context, merge_retry};
use crate::class::Class;
use crate::diagnostic::{Code, Problem};
use crate::model::{ContextModel, RetryModel};
use crate::policy::{Jitter, OverMax, RetryPolicy, ServerDelayPolicy};
use crate::source::{Location, Spanned};
use crate::status::StatusSet;

/// What a status means when no rule matched; the first row that has it decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatusTable {
    rows: Vec<(Spanned<StatusSet>, Spanned<Class>)>,
}

impl StatusTable {
    /// The class of a status and where the row stands.
    pub(crate) fn class(&self, status: u16) -> Option<Spanned<Class>> {
        // Single codes outrank classes and ranges, so that the order of keys in a file does not matter.
        let has = |row: &&(Spanned<StatusSet>, Spanned<Class>)| row.0.contains(Some(status));
        self.rows.iter().filter(has).min_by_key(|(set, _)| set.len() > 1).map(|(_, class)| *class)
    }
}

/// The retry policy of a provider, and of single classes where they differ.
#[derive(Debug, Clone)]
pub(crate) struct RetrySettings {
    pub(crate) general: EffectiveRetry,
    pub(crate) classes: Vec<(Class, EffectiveRetry)>,
}

/// A policy and where each of its values came from.
#[derive(Debug, Clone)]
pub(crate) struct EffectiveRetry {
    pub(crate) policy: RetryPolicy,
    pub(crate) model: RetryModel,
}

impl RetrySettings {
    pub(crate) fn for_class(&self, class: Option<Class>) -> &EffectiveRetry {
        let special = self.classes.iter().find(|(known, _)| Some(*known) == class);
        special.map_or(&self.general, |(_, retry)| retry)
    }
}

/// The settings along a chain, nearest first.
pub(super) fn resolve(providers: &[MergedProvider], chain: &[usize], problems: &mut Vec<Problem>) -> (StatusTable, RetrySettings, ContextSettings) {
    let mut retry = RetryModel::default();
    let mut context = ContextModel::default();
    for &index in chain.iter().rev() {
        merge_retry(&mut retry, providers[index].retry.clone());
        merge_context(&mut context, providers[index].context.clone());
    }
    // Every file's rows on their own: a nearer file's "5xx" outranks a farther file's "503".
    let own = chain.iter().map(|&index| StatusTable { rows: providers[index].status.clone() });
    let status = StatusTable { rows: flatten(&own) };
    let at = providers[chain[0]].name.at;
    let settings = resolve_retry(retry, at, problems);
    let context = ContextSettings::build(context, problems);
    (status, settings, context)
}

/// One row a status, so that precedence between files is settled once.
fn flatten(tables: &(impl Iterator<Item = StatusTable> + Clone)) -> Vec<(Spanned<StatusSet>, Spanned<Class>)> {
    let single = |status: u16| {
        let class = tables.clone().find_map(|table| table.class(status))?;
        let mut set = StatusSet::default();
        set.insert_item(&status.to_string()).then(|| (Spanned::new(set, class.at), class))
    };
    (100..600).filter_map(single).collect()
}

fn resolve_retry(mut general: RetryModel, at: Location, problems: &mut Vec<Problem>) -> RetrySettings {
    let classes = std::mem::take(&mut general.classes);
    let classes = classes.into_iter().map(|(class, special)| {
        let mut model = general.clone();
        merge_retry(&mut model, special);
        (class.value, effective(model, Some(class.value), at, problems))
    });
    let classes = classes.collect();
    RetrySettings { classes, general: effective(general, None, at, problems) }
}

/// The values given, with those of the design for what even the base file leaves out.
fn effective(model: RetryModel, class: Option<Class>, at: Location, problems: &mut Vec<Problem>) -> EffectiveRetry {
    let attempts = model.max_attempts.map_or(5, |attempts| *attempts);
    let base = model.base.map_or(Duration::from_secs(2), |base| *base);
    let cap = model.cap.map_or(Duration::from_secs(30), |cap| *cap);
    if cap < base {
        let (cap_at, base_at) = (model.cap.map_or(at, |cap| cap.at), model.base.map_or(at, |base| base.at));
        // The file that was read later is the one that can be mended; so is a class's own value.
        let base_is_own = base_at.source > cap_at.source || (base_at.source == cap_at.source && class.is_some() && base_at > cap_at);
        let (place, other, label) = if base_is_own { (base_at, cap_at, "the cap in force") } else { (cap_at, base_at, "the base in force") };
        let of_class = class.map(|class| format!(" for {class}")).unwrap_or_default();
        let problem = Problem::new(Code::CapBelowBase, place, format!("`cap` is {cap:?}{of_class}, which is shorter than `base`, {base:?}"));
        problems.push(problem.related(other, label).hint("raise `cap` or lower `base`"));
    }
    let policy = RetryPolicy {
        max_attempts: NonZeroU32::new(attempts).unwrap_or(NonZeroU32::MIN),
        base,
        factor: model.factor.map_or(2.0, |factor| *factor),
        cap: cap.max(base),
        jitter: model.jitter.map_or(Jitter::Proportional { ratio: 0.2 }, |jitter| *jitter),
        retryable: model.retryable.map(|set| *set).unwrap_or_default(),
        fatal: model.fatal.map(|set| *set).unwrap_or_default(),
        server_delay: ServerDelayPolicy {
            max: model.server_delay_max.map_or(Duration::from_secs(300), |max| *max),
            over_max: model.server_delay_over_max.map_or(OverMax::Fail, |over_max| *over_max),
        },
    };
    EffectiveRetry { policy, model }
}
