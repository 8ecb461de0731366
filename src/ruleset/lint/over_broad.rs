//! Rules that say too little: each would match examples of nearly every class, if it were asked first.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::Seen;
use super::{Faults, Look};
use crate::class::Class;
use crate::diagnostic::{Code, Problem};
use crate::parallel::map_chunks;
use crate::ruleset::Ruleset;
use crate::ruleset::examples::{self, Case};

/// A rule that matches examples of more classes than this, its own left out, says too little.
const MAX_FOREIGN_CLASSES: usize = 12;

/// Examples of one class, with what they show.
type OfClass<'c> = (Class, Vec<(&'c Case<'c>, &'c Seen)>);

pub(super) fn find(ruleset: &Ruleset, faults: &Faults, look: &Look<'_>, problems: &mut Vec<Problem>) {
    let mut by_class: BTreeMap<Class, Vec<_>> = BTreeMap::new();
    for (case, seen) in look.cases.iter().zip(&look.seen).filter(|(_, seen)| !seen.foreign.is_empty()) {
        by_class.entry(case.rule.class).or_default().push((case, seen));
    }
    let mut by_class: Vec<OfClass<'_>> = by_class.into_iter().collect();
    by_class.sort_by_key(|(_, examples)| examples.len());
    let suspects = suspects(ruleset, faults, &by_class);
    for (number, classes) in matched(ruleset, &by_class, suspects) {
        let rule = &ruleset.rules[number];
        let names: Vec<_> = classes.iter().map(|class| class.name()).collect();
        let problem = Problem::new(Code::OverBroad, rule.at, format!("rule `{}` also matches examples of {}", rule.info.name, names.join(", ")));
        problems.push(problem.hint("make its pattern narrower, or add an `unless`"));
    }
}

/// The rules whose words stand in examples of many classes, with these: only they are really asked.
fn suspects(ruleset: &Ruleset, faults: &Faults, by_class: &[OfClass<'_>]) -> BTreeMap<usize, BTreeSet<Class>> {
    let mut foreign: Vec<Vec<Class>> = vec![Vec::new(); ruleset.rules.len()];
    for (class, examples) in by_class {
        for &number in examples.iter().flat_map(|(_, seen)| &seen.foreign) {
            if foreign[number].last() != Some(class) {
                foreign[number].push(*class);
            }
        }
    }
    let suspects = foreign.into_iter().enumerate().filter(|(number, classes)| classes.len() > MAX_FOREIGN_CLASSES && !faults.has(*number));
    suspects.map(|(number, classes)| (number, classes.into_iter().collect())).collect()
}

/// Of the suspects those that match examples of too many classes, with these. Class after class is asked for, those with few examples first, and a rule no longer that cannot come to so many any more:
/// most are cleared by a few.
fn matched(ruleset: &Ruleset, by_class: &[OfClass<'_>], mut suspects: BTreeMap<usize, BTreeSet<Class>>) -> BTreeMap<usize, BTreeSet<Class>> {
    for (class, examples) in by_class {
        if suspects.is_empty() {
            break;
        }
        let found = map_chunks(examples, examples::A_THREAD, |examples| {
            let mut found = BTreeSet::new();
            for (case, seen) in examples {
                // One example of a class is enough.
                let open: Vec<usize> = seen.foreign.iter().copied().filter(|number| suspects.contains_key(number) && !found.contains(number)).collect();
                found.extend(matching(ruleset, case, &open));
            }
            found.into_iter().collect()
        });
        suspects.retain(|number, classes| {
            if !found.contains(number) {
                classes.remove(class);
            }
            classes.len() > MAX_FOREIGN_CLASSES
        });
    }
    suspects
}

/// Which of these rules match the example.
fn matching(ruleset: &Ruleset, case: &Case<'_>, rules: &[usize]) -> Vec<usize> {
    if rules.is_empty() {
        return Vec::new();
    }
    case.ask(ruleset, |situation| rules.iter().copied().filter(|&number| situation.check(&ruleset.rules[number]).is_ok()).collect())
}
