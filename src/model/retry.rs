//! `[retry]`: how calls of a provider are repeated, for all classes and for single ones.

use std::time::Duration;

use super::glob::{read_glob, report_repeated};
use super::reader::{Entry, Table};
use crate::class::Class;
use crate::diagnostic::{Code, Lookalike, Problem, did_you_mean};
use crate::policy::{Jitter, OverMax};
use crate::source::Spanned;
use crate::status::StatusSet;

/// Every key is optional; what is left out is inherited.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryModel {
    pub(crate) max_attempts: Option<Spanned<u32>>,
    pub(crate) base: Option<Spanned<Duration>>,
    pub(crate) factor: Option<Spanned<f64>>,
    pub(crate) cap: Option<Spanned<Duration>>,
    pub(crate) jitter: Option<Spanned<Jitter>>,
    pub(crate) retryable: Option<Spanned<StatusSet>>,
    pub(crate) fatal: Option<Spanned<StatusSet>>,
    pub(crate) server_delay_max: Option<Spanned<Duration>>,
    pub(crate) server_delay_over_max: Option<Spanned<OverMax>>,
    pub(crate) deadline: Option<Spanned<Duration>>,
    pub(crate) cost: Option<Spanned<f64>>,
    pub(crate) budget_capacity: Option<Spanned<f64>>,
    pub(crate) budget_per_second: Option<Spanned<f64>>,
    pub(crate) budget_per_success: Option<Spanned<f64>>,
    pub(crate) classes: Vec<(Spanned<Class>, RetryModel)>,
    /// By the glob over model names.
    pub(crate) models: Vec<(Spanned<String>, RetryModel)>,
    /// By the name of the profile.
    pub(crate) profiles: Vec<(Spanned<String>, RetryModel)>,
    /// Whether a wait or a price in it could not be read: what is left is not what is meant.
    pub(crate) unread: bool,
}

impl RetryModel {
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let mut model = Self::read_keys(&mut table);
        if let Some(classes) = table.get("class").and_then(|entry| entry.table("[retry.class]")) {
            model.classes = classes.entries().into_iter().filter_map(|(key, entry)| read_class(&key, &entry)).collect();
        }
        if let Some(profiles) = table.get("profile").and_then(|entry| entry.table("[retry.profile]")) {
            model.profiles = profiles.entries().into_iter().filter_map(|(key, entry)| read_profile(key, &entry)).collect();
        }
        model.models = table.get("model").map(|entry| entry.tables("[[retry.model]]").into_iter().filter_map(read_model).collect()).unwrap_or_default();
        report_repeated(table.reader(), "[[retry.model]]", model.models.iter().map(|(pattern, _)| pattern));
        table.finish();
        model
    }

    /// A table that holds nothing but policy keys.
    fn read_part(mut table: Table<'_>) -> Self {
        let model = Self::read_keys(&mut table);
        table.finish();
        model
    }

    fn read_keys(table: &mut Table<'_>) -> Self {
        let mut model = Self {
            max_attempts: table.get("max_attempts").and_then(|entry| read_attempts(&entry)),
            base: table.get("base").and_then(|entry| entry.duration()),
            factor: table.get("factor").and_then(|entry| read_factor(&entry)),
            cap: table.get("cap").and_then(|entry| entry.duration()),
            jitter: table.get("jitter").and_then(|entry| read_jitter(&entry)),
            retryable: table.get("retryable").map(|entry| entry.statuses()),
            fatal: table.get("fatal").map(|entry| entry.statuses()),
            deadline: table.get("deadline").and_then(|entry| entry.duration()),
            cost: table.get("cost").and_then(|entry| read_amount(&entry)),
            ..Self::default()
        };
        let waits = [("base", model.base.is_none()), ("cap", model.cap.is_none()), ("deadline", model.deadline.is_none()), ("jitter", model.jitter.is_none())];
        model.unread = waits.iter().chain(&[("cost", model.cost.is_none())]).any(|(key, is_missing)| *is_missing && table.is_given(key));
        if let Some(mut delay) = table.get("server_delay").and_then(|entry| entry.inline_table("server_delay = { max = \"5m\", over_max = \"fail\" }")) {
            model.server_delay_max = delay.get("max").and_then(|entry| entry.duration());
            model.server_delay_over_max = delay.get("over_max").and_then(|entry| read_over_max(&entry));
            delay.finish();
        }
        if let Some(mut budget) = table.get("budget").and_then(|entry| entry.inline_table("budget = { capacity = 15, per_second = 0.05 }")) {
            model.budget_capacity = budget.get("capacity").and_then(|entry| read_amount(&entry));
            model.unread |= model.budget_capacity.is_none() && budget.is_given("capacity");
            model.budget_per_second = budget.get("per_second").and_then(|entry| read_amount(&entry));
            model.budget_per_success = budget.get("per_success").and_then(|entry| read_amount(&entry));
            budget.finish();
        }
        model
    }
}

/// Whether it is a value beside the tables of classes or profiles; where it belongs is not known, so that is told and nothing else.
fn is_beside(key: &Spanned<String>, entry: &Entry<'_>, header: &str) -> bool {
    let is_beside = !entry.is_table() && !entry.is_list() && Class::from_name(key).is_none();
    if is_beside {
        let problem = Problem::new(Code::UnknownKey, key.at, format!("`{}` stands in [{header}] itself, which holds tables only", **key));
        entry.reader.report(problem.label("means nothing here").hint(format!("write it below a header with a name, such as [{header}.<name>], or below [retry] for all")));
    }
    is_beside
}

fn read_class(key: &Spanned<String>, entry: &Entry<'_>) -> Option<(Spanned<Class>, RetryModel)> {
    if is_beside(key, entry, "retry.class") {
        return None;
    }
    let Some(class) = Class::from_name(key) else {
        let names = || Class::ALL.iter().map(|class| class.name());
        let hint = match did_you_mean(key, names()) {
            Some(_) if Lookalike::in_text(key).is_some() => Lookalike::hint(key).unwrap_or_default(),
            Some(meant) => format!("did you mean [retry.class.{meant}]?"),
            None => format!("the classes are {}", names().collect::<Vec<_>>().join(", ")),
        };
        entry.reader.report(Problem::new(Code::UnknownClass, key.at, format!("`{}` is no class", **key)).hint(hint));
        return None;
    };
    let model = RetryModel::read_part(entry.table(format!("[retry.class.{class}]"))?);
    Some((Spanned::new(class, key.at), model))
}

fn read_profile(key: Spanned<String>, entry: &Entry<'_>) -> Option<(Spanned<String>, RetryModel)> {
    if is_beside(&key, entry, "retry.profile") {
        return None;
    }
    let model = RetryModel::read_part(entry.table(format!("[retry.profile.{}]", key.value))?);
    Some((key, model))
}

fn read_model(mut table: Table<'_>) -> Option<(Spanned<String>, RetryModel)> {
    let pattern = table.get("match").map(|entry| read_glob(&entry));
    if pattern.is_none() {
        table.missing("match", "name the models, such as match = \"claude-*\"");
    }
    let model = RetryModel::read_part(table);
    Some((pattern??, model))
}

/// A number of budget tokens.
fn read_amount(entry: &Entry<'_>) -> Option<Spanned<f64>> {
    let amount = entry.number()?;
    if !(0.0..=1e6).contains(&*amount) {
        return entry.invalid(
            Code::InvalidValue,
            format!("`{}` is {}, but must be between 0 and a million", entry.key, *amount),
            "a retry costs 1.0 unless its class says otherwise",
        );
    }
    Some(amount)
}

fn read_attempts(entry: &Entry<'_>) -> Option<Spanned<u32>> {
    let count = entry.count()?;
    match u32::try_from(*count) {
        Ok(attempts) if (1..=1000).contains(&attempts) => Some(count.map(|_| attempts)),
        _ => entry.invalid(Code::InvalidValue, "`max_attempts` must be between 1 and 1000", "it counts calls, the first included; 1 means no retry"),
    }
}

fn read_factor(entry: &Entry<'_>) -> Option<Spanned<f64>> {
    let factor = entry.number()?;
    if !(1.0..=100.0).contains(&*factor) {
        return entry.invalid(Code::InvalidValue, format!("`factor` is {}, but must be between 1 and 100", *factor), "2.0 doubles the wait each time, 1.0 keeps it");
    }
    Some(factor)
}

const JITTER: &str = "jitter = { mode = \"proportional\", ratio = 0.2 }";

/// `"full"` or `{ mode = "proportional", ratio = 0.2 }`.
fn read_jitter(entry: &Entry<'_>) -> Option<Spanned<Jitter>> {
    if entry.is_text() {
        let mode = entry.one_of(&Jitter::NAMES)?;
        return jitter_of(entry, mode, None);
    }
    if !entry.is_table() {
        return entry.wrong_type("a mode or a table", format!("such as {JITTER}"));
    }
    let mut table = entry.inline_table(JITTER)?;
    let mode = table.get("mode").map(|mode| mode.one_of(&Jitter::NAMES));
    let ratio = table.get("ratio").and_then(|ratio| read_ratio(&ratio));
    if mode.is_none() {
        table.missing("mode", &format!("such as {JITTER}"));
    }
    table.finish();
    jitter_of(entry, mode??, ratio)
}

fn read_ratio(entry: &Entry<'_>) -> Option<f64> {
    let ratio = entry.number()?;
    if !(0.0..=1.0).contains(&*ratio) {
        return entry.invalid(Code::InvalidValue, format!("`ratio` is {}, but must be between 0 and 1", *ratio), "0.2 spreads by 20 %");
    }
    Some(*ratio)
}

fn jitter_of(entry: &Entry<'_>, mode: &str, ratio: Option<f64>) -> Option<Spanned<Jitter>> {
    let jitter = match (mode, ratio) {
        ("proportional", ratio) => Jitter::Proportional { ratio: ratio.unwrap_or(0.2) },
        ("additive", ratio) => Jitter::Additive { ratio: ratio.unwrap_or(0.2) },
        (_, Some(_)) => return entry.invalid(Code::InvalidValue, format!("jitter mode `{mode}` takes no ratio"), "leave `ratio` out"),
        ("none", None) => Jitter::None,
        ("full", None) => Jitter::Full,
        ("equal", None) => Jitter::Equal,
        _ => Jitter::Decorrelated,
    };
    Some(Spanned::new(jitter, entry.at))
}

fn read_over_max(entry: &Entry<'_>) -> Option<Spanned<OverMax>> {
    let over_max = match entry.one_of(&["fail", "wait"])? {
        "wait" => OverMax::Wait,
        _ => OverMax::Fail,
    };
    Some(Spanned::new(over_max, entry.at))
}
