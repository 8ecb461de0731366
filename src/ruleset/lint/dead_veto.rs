//! Vetoes that never fire.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Faults;
use crate::diagnostic::{Code, Problem};
use crate::eval::Situation;
use crate::ruleset::Ruleset;
use crate::ruleset::rule::{CompiledConditions, CompiledRule};
use crate::source::Spanned;

/// All vetoes, and which of them some example has shown at work.
#[derive(Debug)]
pub(super) struct Vetoes<'r>(Vec<Veto<'r>>);

#[derive(Debug)]
struct Veto<'r> {
    rule: &'r CompiledRule,
    conditions: &'r Spanned<CompiledConditions>,
    is_shown: AtomicBool,
}

impl<'r> Vetoes<'r> {
    pub(super) fn of(ruleset: &'r Ruleset) -> Self {
        let of_rule = |rule: &'r CompiledRule| rule.unless.iter().map(move |conditions| Veto { rule, conditions, is_shown: AtomicBool::new(false) });
        Self(ruleset.rules.iter().flat_map(of_rule).collect())
    }

    /// Marks those that hold; one that is marked is not asked again.
    pub(super) fn look(&self, situation: &Situation<'_, '_>) {
        for veto in &self.0 {
            if !veto.is_shown() && veto.is_shown_by(situation) {
                veto.is_shown.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Veto<'_> {
    fn is_shown(&self) -> bool {
        self.is_shown.load(Ordering::Relaxed)
    }

    /// A wording is shown by any text that has it, whatever else the failure is.
    fn is_shown_by(&self, situation: &Situation<'_, '_>) -> bool {
        if only_messages(self.conditions) { situation.matched.any(&self.conditions.message) } else { situation.is_vetoed(self.rule, self.conditions) }
    }
}

/// A veto that no example shows at work, or that the rule's own conditions rule out.
pub(super) fn find(faults: &Faults, vetoes: &Vetoes<'_>, problems: &mut Vec<Problem>) {
    for veto in vetoes.0.iter().filter(|veto| !faults.has(veto.rule.number)) {
        let is_impossible = match (&veto.rule.conditions.status, &veto.conditions.status) {
            (Some(own), Some(vetoed)) => !own.iter().any(|status| vetoed.contains(status)),
            _ => false,
        };
        if !is_impossible && veto.is_shown() {
            continue;
        }
        let why = match only_messages(veto.conditions) {
            _ if is_impossible => "its statuses are none that the rule asks for",
            true => "no example of any rule has such a text",
            false => "no example of any rule is like this",
        };
        let problem = Problem::new(Code::DeadVeto, veto.conditions.at, format!("this veto of rule `{}` never fires: {why}", veto.rule.info.name));
        problems.push(problem.hint("remove it, or add a negative example (`not = true`) that shows what it keeps away"));
    }
}

fn only_messages(veto: &CompiledConditions) -> bool {
    !veto.message.is_empty() && veto.status.is_none() && veto.code.is_empty() && veto.body.is_empty() && veto.header.is_empty()
}
