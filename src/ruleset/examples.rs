//! Every rule must win its examples, and must not win its negative ones.

use std::collections::BTreeMap;

use super::Ruleset;
use super::rule::CompiledRule;
use crate::diagnostic::{Code, Problem, misspelt};
use crate::eval::{Situation, Unmet, describe, read_signals, situation, verdict, winner};
use crate::model::Example;
use crate::parallel::map_chunks;
use crate::source::Location;
use crate::verdict::Verdict;

/// How many characters of an example's text a hint shows.
const MAX_SHOWN: usize = 160;

/// Of many examples that fail for one cause so many are shown.
const SAMPLES: usize = 3;

/// So many examples are worth a thread to run them.
pub(super) const A_THREAD: usize = 64;

/// An example and whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'r> {
    pub(super) rule: &'r CompiledRule,
    pub(super) example: &'r Example,
}

impl<'r> Case<'r> {
    pub(super) fn all(ruleset: &'r Ruleset) -> Vec<Self> {
        ruleset.rules.iter().flat_map(|rule| rule.examples.iter().map(move |example| Self { rule, example })).collect()
    }

    pub(super) fn at(&self) -> Location {
        self.example.at.unwrap_or(self.rule.at)
    }

    /// What the rules find in it.
    pub(super) fn ask<T>(&self, ruleset: &Ruleset, answer: impl FnOnce(Situation<'_, '_>) -> T) -> T {
        let failure = self.example.failure(&ruleset.settings(Some(self.rule.provider)).name);
        let signals = read_signals(ruleset, &failure);
        answer(situation(ruleset, &failure, &signals))
    }
}

/// Runs all examples; what fails is appended.
pub(super) fn run(ruleset: &Ruleset, problems: &mut Vec<Problem>) {
    let failed = map_chunks(&Case::all(ruleset), A_THREAD, |cases| {
        let mut problems = Vec::new();
        for case in cases {
            case.ask(ruleset, |situation| check(&situation, case, &mut problems));
        }
        problems
    });
    problems.extend(gathered(ruleset, failed));
}

/// What failed, in as many words as help: a layer that changes how failures are read can fail hundreds of examples of the files below it, which is told once, at its own place.
pub(super) fn gathered(ruleset: &Ruleset, failed: Vec<Problem>) -> Vec<Problem> {
    let failed = once_a_place(failed);
    let Some(place) = changed_reading(ruleset) else { return failed };
    let is_latest = |problem: &Problem| ruleset.sources().is_of_last_layer(problem.at.source);
    let (mut told, others): (Vec<_>, Vec<_>) = failed.into_iter().partition(is_latest);
    if !others.is_empty() {
        let examples =
            if others.len() == 1 { "1 example of the files below no longer holds".to_owned() } else { format!("{} examples of the files below no longer hold", others.len()) };
        let problem = Problem::new(Code::ExampleFails, place, format!("this changes how failures are read, and {examples}"));
        let problem = others.iter().take(SAMPLES).fold(problem, |problem, other| problem.related(other.at, "no longer holds"));
        told.push(problem.hint("a list of [signals] replaces the one below it as a whole: repeat what is to stay"));
    }
    told
}

/// A rule that takes the examples of many others is told of once.
fn once_a_place(failed: Vec<Problem>) -> Vec<Problem> {
    let mut told: Vec<(Problem, usize)> = Vec::new();
    let mut at_place: BTreeMap<Location, usize> = BTreeMap::new();
    for problem in failed {
        if problem.code == Code::ExampleFails {
            if let Some(&known) = at_place.get(&problem.at) {
                told[known].1 += 1;
                continue;
            }
            at_place.insert(problem.at, told.len());
        }
        told.push((problem, 0));
    }
    let with_count = |(mut problem, more): (Problem, usize)| {
        if more > 0 {
            let examples = if more == 1 { "1 more example".to_owned() } else { format!("{more} more examples") };
            problem.message = format!("{}; and so with {examples}", problem.message);
        }
        problem
    };
    told.into_iter().map(with_count).collect()
}

/// Where the last layer says how failures are read, over the layers below it.
fn changed_reading(ruleset: &Ruleset) -> Option<Location> {
    let is_latest = |at: &Location| ruleset.sources().is_of_last_layer(at.source);
    ruleset.base.places().find(is_latest).filter(|_| ruleset.rules().iter().any(|rule| !is_latest(&rule.at)))
}

/// Whether examples fail because of that, and not because of what they are of.
pub(super) fn is_reading_at_fault(ruleset: &Ruleset, problems: &[Problem]) -> bool {
    changed_reading(ruleset).is_some_and(|place| problems.iter().any(|problem| problem.code == Code::ExampleFails && problem.at == place))
}

/// The verdict on one; what is wrong with it is appended.
pub(super) fn check(situation: &Situation<'_, '_>, case: &Case<'_>, problems: &mut Vec<Problem>) -> Verdict {
    let Case { rule, example } = case;
    let winner = winner(situation);
    let verdict = verdict(situation, winner);
    let won = winner.is_some_and(|winner| std::ptr::eq(winner, *rule));
    let at = case.at();
    match (won, example.negative) {
        (true, false) => check_expectations(rule, example, &verdict, problems),
        // A later layer may well make something else of what is none of this rule's.
        (false, true) if situation.ruleset.sources().is_of_last_layer(at.source) => check_class(rule, example, &verdict, problems),
        (false, true) => {}
        (true, true) => {
            let problem = Problem::new(Code::ExampleFails, at, format!("rule `{}` wins its negative example", rule.info.name));
            problems.push(problem.hint("make the pattern narrower, or add an `unless`"));
        }
        (false, false) => problems.push(match (situation.check(rule).err(), winner) {
            (None, _) if situation.ruleset.order(situation.provider).rank(rule).is_none() => not_tried(situation, case),
            (None, Some(winner)) => taken(rule, winner, at),
            (unmet, _) => unmatched(situation, rule, at, unmet),
        }),
    }
    verdict
}

/// The rule matches, but another is tried before it. Of the two and the example, the file that was read last is the one that brought it about.
fn taken(rule: &CompiledRule, winner: &CompiledRule, example: Location) -> Problem {
    let message = format!("rule `{}` does not win its example: `{}` does, which is tried before it", rule.info.name, winner.info.name);
    let places = [(example, "the example"), (winner.at, "tried first"), (rule.at, "")];
    let (id, other) = (rule.id(), winner.id());
    let is_of_one_file = rule.at.source == winner.at.source;
    let is_slip = rule.provider == winner.provider && !is_of_one_file && misspelt(other, [id]).is_some();
    let hint = if is_slip {
        let (written, meant) = if winner.at.source > rule.at.source { (other, id) } else { (id, other) };
        format!("did you mean to change `{meant}`? Then write id = \"{meant}\" instead of \"{written}\"; else make `{other}` narrower, or give it an `unless`")
    } else if is_of_one_file && winner.at < rule.at {
        "move the rule up, make the other one narrower, or give it an `unless`".to_owned()
    } else {
        // The files' order is fixed: later layers first, then those that are taken over.
        format!("make `{}` narrower, or give it an `unless`", winner.info.name)
    };
    problem_at_latest(message, &places).hint(hint)
}

/// The rule matches, but is not asked about failures of whom the example names.
fn not_tried(situation: &Situation<'_, '_>, case: &Case<'_>) -> Problem {
    let Case { rule, example } = case;
    let (ruleset, provider) = (situation.ruleset, situation.failure.provider.as_deref().unwrap_or_default());
    let owner = &ruleset.settings(Some(rule.provider)).name;
    let (why, hint) = if ruleset.order(situation.provider).asks(rule.provider) {
        (format!("its scope is \"provider\", so it is for `{owner}` only"), "write scope = \"any\" in the rule".to_owned())
    } else {
        (format!("that provider has a file and does not extend `{owner}`"), format!("let that file extend it: extends = [\"{owner}\"]"))
    };
    let message = format!("rule `{}` is not tried for its example, a failure of `{provider}`: {why}", rule.info.name);
    let at = example.provider.as_ref().map_or_else(|| case.at(), |provider| provider.at);
    Problem::new(Code::ExampleFails, at, message).hint(format!("leave `provider` out of the example, or {hint}"))
}

fn unmatched(situation: &Situation<'_, '_>, rule: &CompiledRule, example: Location, unmet: Option<Unmet>) -> Problem {
    let why = unmet.map(|unmet| describe(unmet, rule, situation)).unwrap_or_default();
    let message = format!("rule `{}` does not match its example: {why}", rule.info.name);
    let places = [(example, "the example"), (rule.at, "changed here")];
    let hint = match unmet {
        Some(Unmet::Code) => format!("codes in it: {}", listed(situation.signals.codes())),
        Some(Unmet::Header) => format!("headers in it: {}", listed(situation.failure.headers.iter().map(|(name, _)| name.as_ref()))),
        Some(Unmet::Message) => taken_literally(situation, rule).unwrap_or_else(|| seen(situation.matched.text())),
        _ => seen(situation.matched.text()),
    };
    problem_at_latest(message, &places).hint(hint)
}

fn listed<'t>(names: impl Iterator<Item = &'t str>) -> String {
    let names: Vec<_> = names.take(SAMPLES * 2).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What to write for a pattern that is in the text as it is written, so that its signs were meant as they stand.
fn taken_literally(situation: &Situation<'_, '_>, rule: &CompiledRule) -> Option<String> {
    let text = situation.matched.text().to_lowercase();
    let patterns = rule.conditions.message.iter().map(|&pattern| situation.ruleset.messages().text(pattern));
    let literal = patterns.into_iter().find(|pattern| text.contains(&pattern.to_lowercase()))?;
    Some(format!("the signs of a pattern have a meaning of their own; to find this text itself, write '{}'", regex_syntax::escape(literal)))
}

fn seen(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let shown: String = lines.join(" / ").chars().take(MAX_SHOWN).collect();
    match lines.len() {
        0 => "rules see no text in it".to_owned(),
        1 => format!("rules see this text in it: {shown}"),
        count => format!("rules see {count} lines in it, which `.` does not cross: {shown}"),
    }
}

/// A finding at the first place of the file that was read last; that place's file is the one to mend. Places of other files are shown too.
fn problem_at_latest(message: String, places: &[(Location, &str)]) -> Problem {
    let latest = places.iter().map(|(at, _)| at.source).max();
    let own = places.iter().find(|(at, _)| Some(at.source) == latest).map_or(places[0].0, |(at, _)| *at);
    let others = places.iter().filter(|(at, label)| *at != own && !label.is_empty() && (at.source != own.source || *label == "tried first"));
    others.fold(Problem::new(Code::ExampleFails, own, message), |problem, (at, label)| problem.related(*at, *label))
}

fn check_expectations(rule: &CompiledRule, example: &Example, verdict: &Verdict, problems: &mut Vec<Problem>) {
    check_class(rule, example, verdict, problems);
    let (expect, tokens) = (&example.expect, verdict.tokens());
    let facts = [("limit", expect.limit, tokens.limit), ("requested", expect.requested, tokens.requested), ("output_limit", expect.output_limit, tokens.output_limit)];
    for (name, expected, read) in facts {
        let Some(expected) = expected.filter(|expected| read != Some(**expected)) else { continue };
        let read = read.map_or_else(|| format!("no `{name}`"), |read| format!("{read} as `{name}`"));
        let message = format!("rule `{}` reads {read}, its example expects {}", rule.info.name, *expected);
        problems.push(Problem::new(Code::ExampleFacts, expected.at, message).hint("check the named groups of the pattern"));
    }
}

fn check_class(rule: &CompiledRule, example: &Example, verdict: &Verdict, problems: &mut Vec<Problem>) {
    let Some(class) = example.expect.class.filter(|class| **class != verdict.class()) else { return };
    let problem = if example.negative {
        let by = verdict.rule().map_or_else(|| "by no rule".to_owned(), |rule| format!("by `{rule}`"));
        let message = format!("this negative example of `{}` is {}, {by}, and not {}", rule.info.name, verdict.class(), *class);
        Problem::new(Code::ExampleFacts, class.at, message).hint("expect what it is, or mend the rule that decides")
    } else {
        let message = format!("rule `{}` says {}, its example expects {}", rule.info.name, verdict.class(), *class);
        Problem::new(Code::ExampleFacts, class.at, message).hint("mend the example or the rule")
    };
    problems.push(problem);
}
