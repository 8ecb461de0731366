//! Rules for everybody that say something else than the rules of others.

use std::collections::{BTreeMap, BTreeSet};

use super::{Faults, Look};
use crate::class::Class;
use crate::diagnostic::{Code, Problem};
use crate::ruleset::Ruleset;
use crate::ruleset::examples::Case;
use crate::ruleset::rule::CompiledRule;

/// A rule that takes the examples of so many others is told of once, and not at each of them.
const MANY_RULES: usize = 3;
/// So many of the examples that it takes are named.
const SAMPLES: usize = 3;

/// A rule for everybody whose own example means something else when nobody knows the provider. Where one rule takes the examples of many, it is the one to mend, and is told of once.
pub(super) fn find(ruleset: &Ruleset, faults: &Faults, look: &Look<'_>, problems: &mut Vec<Problem>) {
    let mut by_taker: BTreeMap<&str, Vec<&Case<'_>>> = BTreeMap::new();
    for (case, seen) in look.cases.iter().zip(&look.seen).filter(|(case, _)| !faults.has(case.rule.number)) {
        if let Some(taker) = &seen.taker {
            by_taker.entry(&taker.name).or_default().push(case);
        }
    }
    for (taker, taken) in by_taker {
        let Some(taker) = ruleset.rules.iter().find(|rule| rule.info.name == taker && !faults.has(rule.number)) else { continue };
        let rules: BTreeSet<_> = taken.iter().map(|case| &case.rule.info.name).collect();
        // A rule of a later layer is told of at its own place: who wrote it cannot change the files before.
        let layer = |rule: &CompiledRule| ruleset.sources.layer_index(rule.at.source);
        let is_later = taken.iter().any(|case| layer(case.rule) < layer(taker));
        if rules.len() < MANY_RULES && !is_later {
            problems.extend(taken.into_iter().map(|case| takes_one(taker, case)));
        } else {
            problems.push(takes_many(ruleset, taker, &taken, rules.len()));
        }
    }
}

fn takes_one(taker: &CompiledRule, case: &Case<'_>) -> Problem {
    let rule = case.rule;
    let message = format!("from an unknown provider this example of `{}` is {}, by `{}`, and not {}", rule.info.name, taker.class, taker.info.name, rule.class);
    let problem = Problem::new(Code::Contradicted, case.at(), message);
    problem.hint("make one of the two narrower; or, if the wording means different things at different providers, give both scope = \"provider\"")
}

fn takes_many(ruleset: &Ruleset, taker: &CompiledRule, taken: &[&Case<'_>], rules: usize) -> Problem {
    // Of each rule one example; those of a class that is not among them yet go first.
    let mut by_class: BTreeMap<Class, Vec<_>> = BTreeMap::new();
    for &case in taken {
        let samples = by_class.entry(case.rule.class).or_default();
        if !samples.iter().any(|known: &&Case<'_>| known.rule.number == case.rule.number) {
            samples.push(case);
        }
    }
    let most = by_class.values().map(Vec::len).max().unwrap_or(0);
    let samples = (0..most).flat_map(|turn| by_class.values().filter_map(move |samples| samples.get(turn))).take(SAMPLES);
    let told = samples.map(|case| format!("`{}` ({}, {})", case.rule.info.name, case.rule.class, ruleset.sources.origin(case.at())));
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let message = format!(
        "from an unknown provider `{}` takes {} example{} of {rules} rule{} that {} not mean {}, such as {}",
        taker.info.name,
        taken.len(),
        plural(taken.len()),
        plural(rules),
        if rules == 1 { "does" } else { "do" },
        taker.class,
        told.collect::<Vec<_>>().join(", ")
    );
    Problem::new(Code::Contradicted, taker.at, message).hint("make it narrower; or, if the wording means this at one provider alone, give it scope = \"provider\"")
}
