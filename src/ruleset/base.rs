//! What only the base layer says: how a status is read, what fields mean, in which forms waits come.

use std::collections::BTreeMap;

use super::Ruleset;
use super::setting::{Setting, SettingValue, statuses};
use super::view::ProviderView;
use crate::class::Class;
use crate::config::{DelayForms, SignalsConfig};
use crate::model::{DelayForm, DelaySource, GateTest, TextList};
use crate::source::{Location, Spanned};
use crate::status::StatusSet;

/// The base layer's tables as written, kept for programs that want to know all.
#[derive(Debug)]
pub(crate) struct BaseTables {
    pub(crate) signals: SignalsConfig,
    pub(crate) delay: DelayForms,
}

impl ProviderView<'_> {
    /// What a status means when no rule matched, by class.
    #[must_use]
    pub fn status_table(&self) -> Vec<(Class, StatusSet)> {
        let table = &self.config().status;
        let mut sets: BTreeMap<Class, StatusSet> = BTreeMap::new();
        for status in 100..600 {
            if let Some(class) = table.class(status) {
                sets.entry(class.value).or_default().insert_item(&status.to_string());
            }
        }
        sets.into_iter().collect()
    }

    /// The same with where each row stands: the statuses as the key, the class as the value.
    #[must_use]
    pub fn status_settings(&self) -> Vec<Setting> {
        let table = &self.config().status;
        let mut rows: Vec<(Spanned<Class>, StatusSet)> = Vec::new();
        for status in 100..600 {
            let Some(class) = table.class(status) else { continue };
            let known = rows.iter().position(|(row, _)| row.at == class.at && row.value == class.value);
            let row = known.unwrap_or_else(|| {
                rows.push((class, StatusSet::default()));
                rows.len() - 1
            });
            rows[row].1.insert_item(&status.to_string());
        }
        let setting = |(class, statuses): (Spanned<Class>, StatusSet)| Setting {
            key: statuses.to_string(),
            value: SettingValue::Text(class.value.name().to_owned()),
            origin: Some(self.origin(class.at)),
        };
        rows.into_iter().map(setting).collect()
    }
}

impl BaseTables {
    /// Where a file says how failures are read.
    pub(super) fn places(&self) -> impl Iterator<Item = Location> {
        let exceptions = self.signals.exceptions.iter().map(|(name, _)| name.at);
        self.signals.places.iter().copied().chain(exceptions).chain(self.delay.forms.iter().map(|form| form.id.at))
    }
}

impl Ruleset {
    /// `[signals]`: which keys of a structured body mean what, and how texts state a status.
    #[must_use]
    pub fn signal_settings(&self) -> Vec<Setting> {
        let signals = &self.base.signals;
        let lists = [
            ("message", &signals.message),
            ("code", &signals.code),
            ("status", &signals.status),
            ("finish_reason", &signals.finish_reason),
            ("code_headers", &signals.code_headers),
            ("should_retry_headers", &signals.should_retry_headers),
            ("should_retry_fields", &signals.should_retry_fields),
            ("status_text", &signals.status_text),
            ("noise", &signals.noise),
        ];
        let mut settings: Vec<_> = lists.into_iter().map(|(key, list)| Setting { key: key.to_owned(), value: texts(list), origin: self.origin_of(list) }).collect();
        for (index, (name, status)) in signals.exceptions.iter().enumerate() {
            // A later layer's go first, and the first decides.
            if signals.exceptions[..index].iter().any(|(earlier, _)| earlier.value == name.value) {
                continue;
            }
            settings.push(Setting { key: format!("exceptions.{}", name.value), value: SettingValue::Integer((*status).into()), origin: Some(self.sources.origin(name.at)) });
        }
        settings
    }

    /// `[[delay]]`: the forms in which servers say how long to wait, in order of precedence, each as its keys.
    #[must_use]
    pub fn delay_settings(&self) -> Vec<Vec<Setting>> {
        self.base.delay.forms.iter().map(|form| self.form_settings(form)).collect()
    }

    fn form_settings(&self, form: &DelayForm) -> Vec<Setting> {
        let origin = Some(self.sources.origin(form.id.at));
        let row = |key: &str, value: SettingValue| Setting { key: key.to_owned(), value, origin: origin.clone() };
        let text = |text: &str| SettingValue::Text(text.to_owned());
        let mut rows = vec![row("id", text(&form.id))];
        rows.push(match &form.source {
            DelaySource::Header(name) => row("header", text(name)),
            DelaySource::Field(path) => row("field", text(path)),
            DelaySource::Message(patterns) => row("message", texts(patterns)),
        });
        rows.push(row("unit", text(form.unit.name())));
        if let Some(gate) = &form.gate {
            rows.push(row("only_if.header", text(&gate.header)));
            rows.push(match &gate.test {
                GateTest::Is(value) => row("only_if.is", text(value)),
                GateTest::AtMost(bound) => row("only_if.at_most", SettingValue::Float(*bound)),
                GateTest::AtLeast(bound) => row("only_if.at_least", SettingValue::Float(*bound)),
            });
        }
        if let Some(status) = &form.status {
            rows.push(row("status", statuses(&status.value)));
        }
        rows
    }

    fn origin_of(&self, list: &TextList) -> Option<String> {
        list.first().map(|first| self.sources.origin(first.at))
    }
}

fn texts(list: &TextList) -> SettingValue {
    SettingValue::List(list.iter().map(|text| text.value.clone()).collect())
}
