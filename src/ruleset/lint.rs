//! What rules get wrong over time, though each of them loads: found by asking every rule about every example.

use std::collections::{BTreeMap, BTreeSet};

use super::examples::EXAMPLES_A_THREAD;
use super::faults::Faults;
use super::rule::{CompiledConditions, CompiledRule};
use super::{PatternId, Ruleset};
use crate::class::Class;
use crate::diagnostic::{Code, Diagnostics, Problem};
use crate::eval::{evaluate, read_signals, situation};
use crate::failure::Failure;
use crate::model::{Example, Scope};
use crate::parallel::map_chunks;
use crate::verdict::Verdict;

/// A rule that matches examples of more classes than this, its own left out, says too little.
const MAX_FOREIGN_CLASSES: usize = 12;
/// A rule that takes the examples of so many others is told of once, and not at each of them.
const MANY_RULES: usize = 3;
/// So many of the examples that it takes are named.
const SAMPLES: usize = 3;

impl Ruleset {
    /// The [`warnings`](Self::warnings), and findings that no single rule shows: shadowed rules, rules that another provider's rules contradict, over-broad rules, vetoes that never fire.
    ///
    /// Cost: every rule is asked about every example, a few tenths of a second; for `check`, not for loading.
    #[must_use]
    pub fn lint(&self) -> Diagnostics {
        let mut problems = self.warnings.problems().to_vec();
        run(self, &Faults::none(), &mut problems);
        Diagnostics::new(problems, std::sync::Arc::clone(&self.sources))
    }
}

/// All lints; what they find is appended.
pub(super) fn run(ruleset: &Ruleset, faults: &Faults, problems: &mut Vec<Problem>) {
    shadowed(ruleset, faults, problems);
    if !faults.is_read() {
        return;
    }
    let examples: Vec<_> = ruleset.rules.iter().enumerate().flat_map(|(number, rule)| rule.examples.iter().map(move |example| (number, rule, example))).collect();
    let vetoes = veto_patterns(ruleset);
    let wordless: Vec<usize> = (0..ruleset.rules.len()).filter(|&number| ruleset.rules[number].conditions.message.is_empty()).collect();
    let seen = map_chunks(&examples, EXAMPLES_A_THREAD, |examples| {
        let mut unseen = vetoes.clone();
        examples.iter().map(|(_, rule, example)| Seen::of(ruleset, rule, example, &wordless, &mut unseen, faults.is_whole())).collect()
    });
    over_broad(ruleset, faults, &examples, &seen, problems);
    if faults.is_whole() {
        contradicted(ruleset, faults, &examples, &seen, problems);
        dead_vetoes(ruleset, faults, &seen, problems);
    }
}

/// An example with its rule, and the number of that.
type Of<'r> = (usize, &'r CompiledRule, &'r Example);

/// What one example shows.
struct Seen {
    /// Rules that mean something else and might match it if they were asked first.
    foreign: Vec<usize>,
    /// The verdict when nobody knows the provider, where it is another.
    contradiction: Option<Verdict>,
    /// Vetoes' patterns that match it, and that no example before it has shown.
    vetoes: Vec<PatternId>,
}

impl Seen {
    fn of(ruleset: &Ruleset, rule: &CompiledRule, example: &Example, wordless: &[usize], unseen: &mut Vec<PatternId>, with_contradiction: bool) -> Self {
        let failure = example.failure(&ruleset.settings(Some(rule.provider)).name);
        let signals = read_signals(ruleset, &failure);
        let situation = situation(ruleset, &failure, &signals);
        let vetoes: Vec<_> = unseen.iter().copied().filter(|&pattern| situation.matched.contains(pattern)).collect();
        unseen.retain(|pattern| !vetoes.contains(pattern));
        if example.negative {
            return Self { foreign: Vec::new(), contradiction: None, vetoes };
        }
        // Of the rules that ask for words only those whose words are there.
        let worded = situation.matched.candidates().iter().flat_map(|&pattern| ruleset.index.by_pattern(pattern)).map(|&number| number as usize);
        let may_match = |number: &usize| ruleset.rules[*number].class != rule.class && situation.may_match(&ruleset.rules[*number]);
        let foreign = worded.chain(wordless.iter().copied()).filter(may_match).collect::<BTreeSet<_>>().into_iter().collect();
        let contradiction =
            (with_contradiction && rule.scope == Scope::Any).then(|| evaluate(ruleset, &Failure { provider: None, ..failure })).filter(|verdict| verdict.class() != rule.class);
        Self { foreign, contradiction, vetoes }
    }
}

/// The patterns of all vetoes over messages.
fn veto_patterns(ruleset: &Ruleset) -> Vec<PatternId> {
    let patterns: BTreeSet<_> = ruleset.rules.iter().flat_map(|rule| &rule.unless).flat_map(|veto| veto.message.iter().copied()).collect();
    patterns.into_iter().collect()
}

/// A later rule of the same file, or one of its wordings, that asks for no more than an earlier rule never gets its turn.
fn shadowed(ruleset: &Ruleset, faults: &Faults, problems: &mut Vec<Problem>) {
    for (number, rule) in ruleset.rules.iter().enumerate().filter(|(number, _)| !faults.has(*number)) {
        let earlier = || {
            let same_file = ruleset.rules.iter().enumerate().take(number).rev().take_while(|(_, earlier)| earlier.provider == rule.provider);
            same_file.filter(|(earlier, _)| !faults.has(*earlier)).map(|(_, earlier)| earlier).filter(|earlier| demands_no_more(earlier, rule))
        };
        let has_codes = !rule.conditions.code.is_empty();
        if let Some(other) = earlier().find(|earlier| has_codes && earlier.conditions.message.is_empty() && contains(&earlier.conditions.code, &rule.conditions.code)) {
            problems.push(never_reached(&format!("rule `{}`", rule.info.name), rule, other));
        }
        for &pattern in &rule.conditions.message {
            let pieces = ruleset.messages().pattern(pattern).pieces();
            let covers = |earlier: &&CompiledRule| earlier.conditions.message.iter().any(|&other| other == pattern || ruleset.messages().pattern(other).stands_in(&pieces));
            if let Some(other) = earlier().find(|earlier| earlier.conditions.code.is_empty() && covers(earlier)) {
                let what = format!("'{}' of rule `{}`", ruleset.messages().text(pattern), rule.info.name);
                problems.push(never_reached(&what, rule, other));
            }
        }
    }
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

/// A rule for everybody whose own example means something else when nobody knows the provider. Where one rule takes the examples of many, it is the one to mend, and is told of once.
fn contradicted(ruleset: &Ruleset, faults: &Faults, examples: &[Of<'_>], seen: &[Seen], problems: &mut Vec<Problem>) {
    let mut by_taker: BTreeMap<&str, Vec<(&CompiledRule, &Example)>> = BTreeMap::new();
    for ((number, rule, example), seen) in examples.iter().zip(seen) {
        if let Some(taker) = seen.contradiction.as_ref().and_then(Verdict::rule).filter(|_| !faults.has(*number)) {
            by_taker.entry(taker).or_default().push((rule, example));
        }
    }
    for (taker, taken) in by_taker {
        let Some((_, taker)) = ruleset.rules.iter().enumerate().find(|(number, rule)| rule.info.name == taker && !faults.has(*number)) else { continue };
        let rules: BTreeSet<_> = taken.iter().map(|(rule, _)| &rule.info.name).collect();
        // A rule of a later layer is told of at its own place: who wrote it cannot change the files before.
        let layer = |rule: &CompiledRule| ruleset.sources.layer_index(rule.at.source);
        let is_later = taken.iter().any(|(rule, _)| layer(rule) < layer(taker));
        if rules.len() < MANY_RULES && !is_later {
            problems.extend(taken.into_iter().map(|(rule, example)| takes_one(taker, rule, example)));
        } else {
            problems.push(takes_many(ruleset, taker, &taken, rules.len()));
        }
    }
}

fn takes_one(taker: &CompiledRule, rule: &CompiledRule, example: &Example) -> Problem {
    let message = format!("from an unknown provider this example of `{}` is {}, by `{}`, and not {}", rule.info.name, taker.class, taker.info.name, rule.class);
    let problem = Problem::new(Code::Contradicted, example.at.unwrap_or(rule.at), message);
    problem.hint("make one of the two narrower; or, if the wording means different things at different providers, give both scope = \"provider\"")
}

fn takes_many(ruleset: &Ruleset, taker: &CompiledRule, taken: &[(&CompiledRule, &Example)], rules: usize) -> Problem {
    // Of each rule one example; those of a class that is not among them yet go first.
    let mut by_class: BTreeMap<Class, Vec<_>> = BTreeMap::new();
    for (rule, example) in taken {
        let samples = by_class.entry(rule.class).or_default();
        if !samples.iter().any(|(known, _): &(&CompiledRule, &Example)| known.info.name == rule.info.name) {
            samples.push((*rule, *example));
        }
    }
    let most = by_class.values().map(Vec::len).max().unwrap_or(0);
    let samples = (0..most).flat_map(|turn| by_class.values().filter_map(move |samples| samples.get(turn))).take(SAMPLES);
    let told = samples.map(|(rule, example)| format!("`{}` ({}, {})", rule.info.name, rule.class, ruleset.sources.origin(example.at.unwrap_or(rule.at))));
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

/// A rule that would match examples of nearly every class, if it were asked first.
fn over_broad(ruleset: &Ruleset, faults: &Faults, examples: &[Of<'_>], seen: &[Seen], problems: &mut Vec<Problem>) {
    let mut foreign: Vec<BTreeSet<Class>> = vec![BTreeSet::new(); ruleset.rules.len()];
    for ((_, rule, _), seen) in examples.iter().zip(seen) {
        for &number in &seen.foreign {
            foreign[number].insert(rule.class);
        }
    }
    // Few rules have words that stand in examples of so many classes; only they are really asked.
    let is_suspect: Vec<bool> = foreign.iter().enumerate().map(|(number, classes)| classes.len() > MAX_FOREIGN_CLASSES && !faults.has(number)).collect();
    foreign.iter_mut().for_each(BTreeSet::clear);
    let suspects = seen.iter().map(|seen| seen.foreign.iter().copied().filter(|&number| is_suspect[number]).collect::<Vec<_>>());
    let asked: Vec<_> = examples.iter().zip(suspects).filter(|(_, suspects)| !suspects.is_empty()).collect();
    let found = map_chunks(&asked, EXAMPLES_A_THREAD, |asked| {
        let mut found = BTreeSet::new();
        for ((_, rule, example), suspects) in asked {
            // One example of a class is enough.
            let open: Vec<usize> = suspects.iter().copied().filter(|&number| !found.contains(&(number, rule.class))).collect();
            found.extend(matching(ruleset, rule, example, &open).into_iter().map(|number| (number, rule.class)));
        }
        found.into_iter().collect()
    });
    for (number, class) in found {
        foreign[number].insert(class);
    }
    for (rule, foreign) in ruleset.rules.iter().zip(foreign) {
        if foreign.len() > MAX_FOREIGN_CLASSES {
            let names: Vec<_> = foreign.iter().map(|class| class.name()).collect();
            let problem = Problem::new(Code::OverBroad, rule.at, format!("rule `{}` also matches examples of {}", rule.info.name, names.join(", ")));
            problems.push(problem.hint("make its pattern narrower, or add an `unless`"));
        }
    }
}

/// Which of these rules match the example.
fn matching(ruleset: &Ruleset, rule: &CompiledRule, example: &Example, suspects: &[usize]) -> Vec<usize> {
    if suspects.is_empty() {
        return Vec::new();
    }
    let failure = example.failure(&ruleset.settings(Some(rule.provider)).name);
    let signals = read_signals(ruleset, &failure);
    let situation = situation(ruleset, &failure, &signals);
    suspects.iter().copied().filter(|&number| situation.check(&ruleset.rules[number]).is_ok()).collect()
}

/// A veto over messages that no example shows at work, or that the rule's own conditions rule out.
fn dead_vetoes(ruleset: &Ruleset, faults: &Faults, seen: &[Seen], problems: &mut Vec<Problem>) {
    let seen: BTreeSet<PatternId> = seen.iter().flat_map(|seen| seen.vetoes.iter().copied()).collect();
    for (_, rule) in ruleset.rules.iter().enumerate().filter(|(number, _)| !faults.has(*number)) {
        for veto in &rule.unless {
            let impossible = match (&rule.conditions.status, &veto.status) {
                (Some(own), Some(vetoed)) => !own.iter().any(|status| vetoed.contains(status)),
                _ => false,
            };
            let unseen = only_messages(veto) && !veto.message.iter().any(|pattern| seen.contains(pattern));
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
