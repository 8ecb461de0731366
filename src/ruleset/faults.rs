//! What is wrong with a ruleset already: lints neither tell it again in other words, nor doubt what may only seem doubtful because of it.

use std::collections::BTreeSet;

use super::Ruleset;
use crate::diagnostic::{Code, Problem, Severity};

/// Rules that are not to be doubted, and how far the rest can be.
#[derive(Debug)]
pub(super) struct Faults {
    /// By number of the rule; empty when none has a fault.
    of_rules: Vec<bool>,
    is_whole: bool,
    is_read: bool,
}

impl Faults {
    pub(super) fn none() -> Self {
        Self { of_rules: Vec::new(), is_whole: true, is_read: true }
    }

    pub(super) fn of(ruleset: &Ruleset, problems: &[Problem]) -> Self {
        let errors = || problems.iter().filter(|problem| problem.code.severity() == Severity::Error);
        let is_whole = errors().all(|error| matches!(error.code, Code::ExampleFails | Code::ExampleFacts));
        let files: BTreeSet<_> = errors().filter(|_| !is_whole).map(|error| error.at.source).collect();
        let places: BTreeSet<_> = errors().flat_map(|error| error.related.iter().map(|(at, _)| *at).chain([error.at])).collect();
        let of_rules = ruleset.rules.iter().map(|rule| {
            let mut own = rule.examples.iter().filter_map(|example| example.at).chain([rule.at]);
            files.contains(&rule.at.source) || own.any(|at| places.contains(&at))
        });
        let of_rules: Vec<_> = of_rules.collect();
        let base = ruleset.rules.iter().zip(&of_rules).filter(|(rule, _)| rule.provider == ruleset.default_provider);
        let is_read = is_whole || base.map(|(_, faulty)| faulty).all(|faulty| !faulty);
        Self { of_rules, is_whole, is_read }
    }

    /// Whether the rule has a fault itself, or may have one: its file has.
    pub(super) fn has(&self, rule: usize) -> bool {
        self.of_rules.get(rule).is_some_and(|faulty| *faulty)
    }

    /// Whether all rules are there as they are meant, whatever their examples are worth.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether failures are read as they are meant to be: nothing is wrong with the base layer.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }
}
