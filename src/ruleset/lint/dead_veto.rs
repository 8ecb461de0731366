//! Vetoes that never fire.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Faults;
use crate::diagnostic::{Code, Problem};
use crate::ruleset::rule::CompiledConditions;
use crate::ruleset::{Matched, PatternId, Ruleset};

/// The patterns of all vetoes over messages, and which of them some example has shown at work.
#[derive(Debug)]
pub(super) struct Vetoes(Vec<(PatternId, AtomicBool)>);

impl Vetoes {
    pub(super) fn of(ruleset: &Ruleset) -> Self {
        let patterns: BTreeSet<_> = ruleset.rules.iter().flat_map(|rule| &rule.unless).flat_map(|veto| veto.message.iter().copied()).collect();
        Self(patterns.into_iter().map(|pattern| (pattern, AtomicBool::new(false))).collect())
    }

    /// Marks those that match; one that is marked is not searched again.
    pub(super) fn look(&self, matched: &Matched<'_>) {
        for (pattern, shown) in &self.0 {
            if !shown.load(Ordering::Relaxed) && matched.contains(*pattern) {
                shown.store(true, Ordering::Relaxed);
            }
        }
    }

    fn shown(&self) -> BTreeSet<PatternId> {
        self.0.iter().filter(|(_, shown)| shown.load(Ordering::Relaxed)).map(|(pattern, _)| *pattern).collect()
    }
}

/// A veto over messages that no example shows at work, or that the rule's own conditions rule out.
pub(super) fn find(ruleset: &Ruleset, faults: &Faults, vetoes: &Vetoes, problems: &mut Vec<Problem>) {
    let shown = vetoes.shown();
    for rule in ruleset.rules.iter().filter(|rule| !faults.has(rule.number)) {
        for veto in &rule.unless {
            let impossible = match (&rule.conditions.status, &veto.status) {
                (Some(own), Some(vetoed)) => !own.iter().any(|status| vetoed.contains(status)),
                _ => false,
            };
            let unseen = only_messages(veto) && !veto.message.iter().any(|pattern| shown.contains(pattern));
            if impossible || unseen {
                let why = if impossible { "its statuses are none that the rule asks for" } else { "no example of any rule has such a text" };
                let problem = Problem::new(Code::DeadVeto, rule.at, format!("a veto of rule `{}` never fires: {why}", rule.info.name));
                problems.push(problem.hint("remove it, or add a negative example (`not = true`) that shows what it keeps away"));
            }
        }
    }
}

fn only_messages(veto: &CompiledConditions) -> bool {
    !veto.message.is_empty() && veto.status.is_none() && veto.code.is_empty() && veto.body.is_empty() && veto.header.is_empty()
}
