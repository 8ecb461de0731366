//! The examples beside the rules: to list, to run one by one, to export.

use super::Ruleset;
use super::examples::{self, Case};
use super::rule::CompiledRule;
use super::setting::SettingValue;
use super::view::RuleView;
use crate::class::Class;
use crate::diagnostic::Diagnostics;
use crate::failure::{Failure, Transport};
use crate::model::Example;
use crate::verdict::{Tokens, Verdict};

/// A recorded failure that its rule must win, or must not win.
#[derive(Clone, Copy, Debug)]
pub struct ExampleView<'a> {
    ruleset: &'a Ruleset,
    rule: &'a CompiledRule,
    index: usize,
}

/// How an example went.
#[derive(Clone, Debug)]
pub struct ExampleRun {
    /// What the rules say about it.
    pub verdict: Verdict,
    /// What is not as it should be; empty for an example that holds.
    pub problems: Diagnostics,
}

impl Ruleset {
    /// Every example of every rule in force, in the order of the files.
    pub fn examples(&self) -> impl Iterator<Item = ExampleView<'_>> {
        self.rules.iter().flat_map(move |rule| (0..rule.examples.len()).map(move |index| ExampleView { ruleset: self, rule, index }))
    }
}

impl<'a> RuleView<'a> {
    /// The rule's examples, positive and negative.
    pub fn examples(&self) -> impl Iterator<Item = ExampleView<'a>> + use<'a> {
        let (ruleset, rule) = self.parts();
        (0..rule.examples.len()).map(move |index| ExampleView { ruleset, rule, index })
    }
}

impl<'a> ExampleView<'a> {
    fn example(&self) -> &'a Example {
        &self.rule.examples[self.index]
    }

    /// Whose example it is.
    #[must_use]
    pub fn rule(&self) -> RuleView<'a> {
        RuleView::new(self.ruleset, self.rule)
    }

    /// Which of the rule's examples it is, from 1.
    #[must_use]
    pub fn number(&self) -> usize {
        self.index + 1
    }

    /// `file:line`.
    #[must_use]
    pub fn origin(&self) -> String {
        self.ruleset.sources.origin(self.example().at.unwrap_or(self.rule.at))
    }

    /// Whether the rule must not win it.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.example().negative
    }

    /// The failure, of the file's provider unless it names one itself.
    #[must_use]
    pub fn failure(&self) -> Failure<'a> {
        self.example().failure(&self.ruleset.settings(Some(self.rule.provider)).name)
    }

    /// The class that is expected, where the example says one.
    #[must_use]
    pub fn expected_class(&self) -> Option<Class> {
        self.example().expect.class.map(|class| class.value)
    }

    /// The numbers of tokens that are expected, where the example says some.
    #[must_use]
    pub fn expected_tokens(&self) -> Tokens {
        let expect = &self.example().expect;
        Tokens { limit: expect.limit.map(|count| *count), requested: expect.requested.map(|count| *count), output_limit: expect.output_limit.map(|count| *count) }
    }

    /// The evidence as written, by key; headers apart.
    #[must_use]
    pub fn evidence(&self) -> Vec<(&'static str, SettingValue)> {
        let example = self.example();
        let text = |text: Option<&str>| text.map(|text| SettingValue::Text(text.to_owned()));
        let rows = [
            ("provider", text(example.provider.as_ref().map(|provider| provider.as_str()))),
            ("model", text(example.model.as_deref())),
            ("transport", text(example.transport.map(Transport::name))),
            ("status", example.status.map(|status| SettingValue::Integer(status.into()))),
            ("body", text(example.body.as_deref())),
            ("message", text(example.message.as_deref())),
            ("finish_reason", text(example.finish_reason.as_deref())),
            ("event", text(example.event.as_deref())),
            ("usage", text(example.usage.as_deref())),
            ("estimate", example.estimate.map(SettingValue::Integer)),
            ("window", example.window.map(SettingValue::Integer)),
        ];
        rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The headers as written.
    #[must_use]
    pub fn headers(&self) -> &'a [(String, String)] {
        &self.example().headers
    }

    /// Evaluates it and compares.
    #[must_use]
    pub fn run(&self) -> ExampleRun {
        let mut problems = Vec::new();
        let case = Case { rule: self.rule, example: self.example() };
        let verdict = case.ask(self.ruleset, |situation| examples::check(&situation, &case, &mut problems));
        ExampleRun { verdict, problems: Diagnostics::new(problems, std::sync::Arc::clone(&self.ruleset.sources)) }
    }
}
