//! Effective settings, each with the place it came from.

use std::sync::Arc;
use std::time::Duration;

use super::view::ProviderView;
use crate::class::Class;
use crate::config::EffectiveRetry;
use crate::policy::{Jitter, OverMax};
use crate::source::{Location, Spanned};
use crate::status::StatusSet;
use crate::usage::{Pointer, Shape, TokenKind};

/// One setting in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key as rule files write it; dotted inside tables.
    pub key: String,
    /// The value in force.
    pub value: SettingValue,
    /// `file:line`; `None` for what no file gives.
    pub origin: Option<String>,
}

/// A value as TOML would write it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SettingValue {
    /// A whole number.
    Integer(u64),
    /// A decimal number.
    Float(f64),
    /// A text, durations included.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

impl ProviderView<'_> {
    /// The retry policy in force, for all classes or for one.
    #[must_use]
    pub fn retry_settings(&self, class: Option<Class>) -> Vec<Setting> {
        let retry = &self.config().retry;
        self.retry(retry.for_class(class))
    }

    /// The classes with a retry policy of their own.
    #[must_use]
    pub fn retry_classes(&self) -> Vec<Class> {
        self.config().retry.classes.iter().map(|(class, _)| *class).collect()
    }

    /// What classes, profiles and models change of that, as `class.overloaded.base`, `profile.unattended.max_attempts`, `model."gpt-*".cap`. For one call the profile changes first, then the first
    /// model that matches, then the class.
    #[must_use]
    pub fn retry_changes(&self) -> Vec<Setting> {
        let parts = self.config().retry.parts().map(|(part, retry)| {
            let given = self.retry(&retry).into_iter().filter(|setting| setting.origin.is_some());
            given.map(move |setting| Setting { key: format!("{part}.{}", setting.key), ..setting }).collect::<Vec<_>>()
        });
        parts.flatten().collect()
    }

    fn retry(&self, retry: &EffectiveRetry) -> Vec<Setting> {
        let EffectiveRetry { policy, model, .. } = retry;
        let at = |at: Option<Location>| at.map(|at| self.origin(at));
        let row = |key: &str, value: SettingValue, origin: Option<Location>| Setting { key: key.to_owned(), value, origin: at(origin) };
        let ratio = match policy.jitter {
            Jitter::Proportional { ratio } | Jitter::Additive { ratio } => Some(row("jitter.ratio", SettingValue::Float(ratio), model.jitter.map(|jitter| jitter.at))),
            Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Decorrelated => None,
        };
        let over_max = match policy.server_delay.over_max {
            OverMax::Fail => "fail",
            OverMax::Wait => "wait",
        };
        let rows = [
            row("max_attempts", SettingValue::Integer(policy.max_attempts.get().into()), model.max_attempts.map(|value| value.at)),
            row("base", duration(policy.base), model.base.map(|value| value.at)),
            row("factor", SettingValue::Float(policy.factor), model.factor.map(|value| value.at)),
            row("cap", duration(policy.cap), model.cap.map(|value| value.at)),
            row("jitter.mode", SettingValue::Text(policy.jitter.name().to_owned()), model.jitter.map(|value| value.at)),
        ];
        let rest = [
            row("retryable", statuses(&policy.retryable), model.retryable.map(|value| value.at)),
            row("fatal", statuses(&policy.fatal), model.fatal.map(|value| value.at)),
            row("server_delay.max", duration(policy.server_delay.max), model.server_delay_max.map(|value| value.at)),
            row("server_delay.over_max", SettingValue::Text(over_max.to_owned()), model.server_delay_over_max.map(|value| value.at)),
            row("cost", SettingValue::Float(policy.cost), model.cost.map(|value| value.at)),
            row("budget.capacity", SettingValue::Float(policy.budget.capacity), model.budget_capacity.map(|value| value.at)),
            row("budget.per_second", SettingValue::Float(policy.budget.per_second), model.budget_per_second.map(|value| value.at)),
            row("budget.per_success", SettingValue::Float(policy.budget.per_success), model.budget_per_success.map(|value| value.at)),
        ];
        let deadline = policy.deadline.map(|deadline| row("deadline", duration(deadline), model.deadline.map(|value| value.at)));
        rows.into_iter().chain(ratio).chain(deadline).chain(rest).collect()
    }

    /// The context settings in force. A shape of usage with an id is one row for people; [`ProviderView::usage_settings`] has its keys.
    #[must_use]
    pub fn context_settings(&self) -> Vec<Setting> {
        let context = &self.config().context;
        let row = |key: String, value: SettingValue, at: Location| Setting { key, value, origin: Some(self.origin(at)) };
        let reserved = context.reserved_tokens.map(|reserved| row("reserved_tokens".to_owned(), SettingValue::Integer(*reserved), reserved.at));
        let occupies = context.occupies.map(|occupies| row("occupies".to_owned(), SettingValue::List(occupies.names()), occupies.at));
        let usage = context.usage.iter().flat_map(|shape| shape.fields().into_iter().map(move |(key, fields)| row(format!("usage.{key}"), SettingValue::List(fields), shape.at)));
        let models = context.models().flat_map(|model| {
            let key = |key: &str| format!("model.\"{}\".{key}", *model.pattern);
            let numbers = [("window", model.window), ("input", model.input), ("reserved_tokens", model.reserved_tokens)];
            let numbers = numbers.into_iter().filter_map(move |(name, number)| Some(row(key(name), SettingValue::Integer(*number?), number?.at)));
            let source = model.source.iter().map(move |source| row(key("source"), SettingValue::Text(source.value.clone()), source.at));
            numbers.chain(source)
        });
        let pointers = |pointers: &[Pointer]| SettingValue::List(pointers.iter().map(ToString::to_string).collect());
        let finish = &context.finish;
        let places = [("at", &finish.at), ("truncated", &finish.truncated)].into_iter().filter_map(|(key, given)| Some((key, pointers(given.as_ref()?), given.as_ref()?.at)));
        let words = [("overflow", &finish.overflow), ("length", &finish.length)];
        let words = words.into_iter().filter_map(|(key, given)| Some((key, SettingValue::List(given.as_ref()?.value.clone()), given.as_ref()?.at)));
        let finish = places.chain(words).map(|(key, value, at)| row(format!("finish_reason.{key}"), value, at));
        reserved.into_iter().chain(occupies).chain(usage).chain(finish).chain(models).collect()
    }

    /// `[[context.usage]]`: the shapes of a reply's usage, in the order in which they are tried, each as its keys.
    #[must_use]
    pub fn usage_settings(&self) -> Vec<Vec<Setting>> {
        let usage = &self.config().context.usage;
        let settings = |shape: &Spanned<Arc<Shape>>| {
            let origin = Some(self.origin(shape.at));
            let row = |key: &str, value: SettingValue| Setting { key: key.to_owned(), value, origin: origin.clone() };
            let pointers = |pointers: &[Pointer]| SettingValue::List(pointers.iter().map(ToString::to_string).collect());
            let mut rows = vec![row("id", SettingValue::Text(shape.id.clone())), row("at", pointers(shape.places()))];
            if !shape.requires.is_empty() {
                rows.push(row("requires", pointers(&shape.requires)));
            }
            let kinds = TokenKind::ALL.into_iter().zip(&shape.kinds).filter(|(_, sums)| !sums.is_empty());
            rows.extend(kinds.map(|(kind, sums)| row(kind.name(), SettingValue::List(sums.iter().map(ToString::to_string).collect()))));
            rows.extend(shape.occupies.map(|occupies| row("occupies", SettingValue::List(occupies.names()))));
            rows
        };
        usage.iter().map(settings).collect()
    }
}

/// A set of statuses as a list of codes, classes and ranges.
pub(super) fn statuses(set: &StatusSet) -> SettingValue {
    let text = set.to_string();
    SettingValue::List(text.split(", ").filter(|item| !item.is_empty()).map(str::to_owned).collect())
}

fn duration(duration: Duration) -> SettingValue {
    let text = jiff::SignedDuration::try_from(duration).map_or_else(|_| format!("{duration:?}"), |duration| format!("{duration:#}"));
    SettingValue::Text(text)
}
