//! What a failure is: what the operator says, else what a telling status says, else what a rule says that recognises nearly the same words.

use std::collections::BTreeSet;

use overspill::{Class, Failure, Miss, Ruleset, Tried};

use crate::output::Failed;

/// A rule whose examples have less in common with the failure says nothing about its class.
const MIN_COMMON: f64 = 0.6;
/// Shorter words are in every text.
const MIN_WORD: usize = 3;

pub(super) fn of(ruleset: &Ruleset, miss: &Miss, failure: &Failure<'_>, given: Option<Class>) -> Result<(Class, &'static str), Failed> {
    if let Some(class) = given {
        return Ok((class, ""));
    }
    if is_telling(miss) {
        return Ok((miss.class, "that of its status"));
    }
    let told = ruleset.explain(failure);
    let words = words(&told.extracted.text);
    let common = told.nearest.iter().map(|near| (common(ruleset, near, &words), near));
    let nearest = common.max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((common, near)) if common >= MIN_COMMON && fits(near.class, miss.status) => Ok((near.class, "that of the rule whose wording is nearest")),
        nearest => {
            let like = nearest.map(|(_, near)| format!(" (it looks most like `{}`, which is {})", near.rule, near.class)).unwrap_or_default();
            Err(Failed::Use(format!("nothing says for sure what this failure is{like}; say so with --class")))
        }
    }
}

/// Whether the status says what happened: "bad request" says no more than that it was not done.
fn is_telling(miss: &Miss) -> bool {
    miss.status.is_some_and(|status| status >= 400) && !matches!(miss.class, Class::InvalidRequest | Class::Unknown)
}

/// Whether a failure of the class can come with a status that is not telling.
fn fits(class: Class, status: Option<u16>) -> bool {
    let answered = status.is_some_and(|status| status >= 400);
    let elsewhere = matches!(class, Class::RateLimited | Class::Overloaded | Class::ServerError | Class::Timeout | Class::Network | Class::LocalResource | Class::Cancelled);
    !(answered && elsewhere)
}

/// Which share of the words, those of the failure and those of one of the rule's examples, both have: of the example that has most.
fn common(ruleset: &Ruleset, near: &Tried, failure: &BTreeSet<String>) -> f64 {
    let Some((provider, id)) = near.rule.split_once('/') else { return 0.0 };
    let rule = ruleset.provider_views().filter(|view| view.name() == provider).flat_map(|view| view.own_rules().collect::<Vec<_>>()).find(|rule| rule.id() == id);
    let examples = rule.into_iter().flat_map(|rule| rule.examples().collect::<Vec<_>>()).filter(|example| !example.is_negative());
    let shares = examples.map(|example| {
        let example = words(&ruleset.explain(&example.failure()).extracted.text);
        let both = failure.intersection(&example).count();
        2.0 * both as f64 / (failure.len() + example.len()).max(1) as f64
    });
    shares.fold(0.0, f64::max)
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() >= MIN_WORD);
    words.map(str::to_lowercase).collect()
}
