//! Rules that never get their turn: one above them matches whatever they match.

use super::Faults;
use crate::diagnostic::{Code, Problem};
use crate::parallel::map_chunks;
use crate::ruleset::Ruleset;
use crate::ruleset::rule::CompiledRule;

/// So many rules are worth a thread to compare them with those above them.
const RULES_A_THREAD: usize = 128;

/// A later rule of the same file, or one of its wordings, that asks for no more than an earlier rule never gets its turn.
pub(super) fn find(ruleset: &Ruleset, faults: &Faults, problems: &mut Vec<Problem>) {
    let is_doubted = |rule: &&CompiledRule| !faults.has(rule.number);
    problems.extend(map_chunks(&ruleset.rules, RULES_A_THREAD, |rules| rules.iter().filter(is_doubted).flat_map(|rule| of_rule(ruleset, faults, rule)).collect()));
}

fn of_rule(ruleset: &Ruleset, faults: &Faults, rule: &CompiledRule) -> Vec<Problem> {
    let same_file = ruleset.rules[..rule.number].iter().rev().take_while(|earlier| earlier.provider == rule.provider);
    let earlier: Vec<_> = same_file.filter(|earlier| !faults.has(earlier.number) && demands_no_more(earlier, rule)).collect();
    let mut problems = Vec::new();
    let has_codes = !rule.conditions.code.is_empty();
    if let Some(other) = earlier.iter().find(|earlier| has_codes && earlier.conditions.message.is_empty() && contains(&earlier.conditions.code, &rule.conditions.code)) {
        problems.push(never_reached(&format!("rule `{}`", rule.info.name), rule, other));
    }
    let wordings: Vec<_> = earlier.into_iter().filter(|earlier| earlier.conditions.code.is_empty() && !earlier.conditions.message.is_empty()).collect();
    if wordings.is_empty() {
        return problems;
    }
    let messages = ruleset.messages();
    for &pattern in &rule.conditions.message {
        let pieces = messages.pattern(pattern).pieces();
        let covers = |earlier: &&&CompiledRule| earlier.conditions.message.iter().any(|&other| other == pattern || messages.pattern(other).stands_in(&pieces));
        if let Some(other) = wordings.iter().find(covers) {
            let what = format!("'{}' of rule `{}`", messages.text(pattern), rule.info.name);
            problems.push(never_reached(&what, rule, other));
        }
    }
    problems
}

fn never_reached(what: &str, rule: &CompiledRule, other: &CompiledRule) -> Problem {
    let problem = Problem::new(Code::Shadowed, rule.at, format!("{what} is never reached: `{}` above it matches whatever it matches", other.info.name));
    problem.related(other.at, "this one is tried first").hint("remove it, move it up, or make the other one narrower")
}

/// Whether `first` asks for nothing, its codes and wordings aside, that `second` does not ask for. Only said where it is plain.
fn demands_no_more(first: &CompiledRule, second: &CompiledRule) -> bool {
    let (a, b) = (&first.conditions, &second.conditions);
    let status = match (&a.status, &b.status) {
        (None, _) => true,
        (Some(a), Some(b)) => b.iter().all(|status| a.contains(status)),
        (Some(_), None) => false,
    };
    let demands_more = !a.body.is_empty()
        || !a.header.is_empty()
        || !a.transport.is_empty()
        || !a.finish_reason.is_empty()
        || !a.event.is_empty()
        || !a.model.is_empty()
        || a.body_empty.is_some()
        || !a.when.is_empty();
    status && !demands_more && first.unless.is_empty()
}

fn contains<T: PartialEq>(all: &[T], some: &[T]) -> bool {
    some.iter().all(|item| all.contains(item))
}
