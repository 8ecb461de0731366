//! Every rule must win its examples, and must not win its negative ones.

use super::Ruleset;
use super::rule::CompiledRule;
use crate::class::Class;
use crate::diagnostic::{Code, Problem};
use crate::eval::evaluate;
use crate::model::Example;
use crate::parallel::map_chunks;
use crate::verdict::Verdict;

/// Runs all examples; what fails is appended.
pub(super) fn run(ruleset: &Ruleset, problems: &mut Vec<Problem>) {
    let examples: Vec<_> = ruleset.rules().iter().flat_map(|rule| rule.examples.iter().map(move |example| (rule, example))).collect();
    problems.extend(map_chunks(&examples, |examples| {
        let mut problems = Vec::new();
        for (rule, example) in examples {
            check(ruleset, rule, example, &mut problems);
        }
        problems
    }));
}

/// Runs one; what is wrong is appended.
pub(super) fn check(ruleset: &Ruleset, rule: &CompiledRule, example: &Example, problems: &mut Vec<Problem>) -> Verdict {
    let provider = &ruleset.settings(Some(rule.provider)).name;
    let verdict = evaluate(ruleset, &example.failure(provider));
    let won = verdict.rule() == Some(&rule.info.name);
    let at = example.at.unwrap_or(rule.at);
    if example.negative == won {
        let message = match (won, verdict.rule()) {
            (true, _) => format!("rule `{}` wins its negative example", rule.info.name),
            (false, Some(other)) => format!("rule `{}` does not win its example: `{other}` does, which is tried before it", rule.info.name),
            (false, None) => format!("rule `{}` does not match its example, and neither does any other", rule.info.name),
        };
        let hint =
            if won { "make the pattern narrower, or add an `unless`" } else { "compare the pattern with what `overspill explain` shows of the example, or move the rule up" };
        problems.push(Problem::new(Code::ExampleFails, at, message).hint(hint));
        return verdict;
    }
    check_expectations(rule, example, &verdict, problems);
    verdict
}

fn check_expectations(rule: &CompiledRule, example: &Example, verdict: &Verdict, problems: &mut Vec<Problem>) {
    let expect = &example.expect;
    let tokens = verdict.tokens();
    if let Some(class) = expect.class.filter(|class| **class != verdict.class()) {
        let names = |class: Class| class.name();
        problems.push(
            Problem::new(Code::ExampleFacts, class.at, format!("the example's class is {}, not {}", names(verdict.class()), names(*class))).hint("mend the example or the rules"),
        );
    }
    let facts = [("limit", expect.limit, tokens.limit), ("requested", expect.requested, tokens.requested), ("output_limit", expect.output_limit, tokens.output_limit)];
    for (name, expected, read) in facts {
        let Some(expected) = expected else { continue };
        if read != Some(*expected) {
            let read = read.map_or("nothing".to_owned(), |read| read.to_string());
            problems.push(
                Problem::new(Code::ExampleFacts, expected.at, format!("of `{name}` rule `{}` reads {read}, not {}", rule.info.name, *expected))
                    .hint("check the named groups of the pattern"),
            );
        }
    }
}
