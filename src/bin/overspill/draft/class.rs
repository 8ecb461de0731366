//! What a failure is: what the operator says, else what a telling status says, else what a rule of nearly the same words says.

use overspill::{Class, Failure, Miss, Ruleset};

use crate::output::Failed;

/// A rule less alike than this says nothing about the class.
const MIN_LIKENESS: f64 = 0.9;

pub(super) fn of(ruleset: &Ruleset, miss: &Miss, failure: &Failure<'_>, given: Option<Class>) -> Result<(Class, &'static str), Failed> {
    if let Some(class) = given {
        return Ok((class, ""));
    }
    if is_telling(miss) {
        return Ok((miss.class, "that of its status"));
    }
    let nearest = ruleset.explain(failure).nearest;
    let fitting = nearest.iter().find(|near| near.likeness >= MIN_LIKENESS && fits(near.class, miss.status));
    // Rules that are as near and say something else leave it open.
    let agreed = fitting.filter(|near| nearest.iter().filter(|other| other.likeness >= near.likeness).all(|other| other.class == near.class));
    if let Some(near) = agreed {
        return Ok((near.class, "that of the rule whose wording is nearest"));
    }
    let like = nearest.first().map(|near| format!(" (it looks most like `{}`, which is {})", near.rule, near.class)).unwrap_or_default();
    Err(Failed::Use(format!("nothing says for sure what this failure is{like}; say so with --class")))
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
