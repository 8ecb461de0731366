//! Waits and prices that cannot be meant together.

use std::time::Duration;

use super::settings::{DEFAULT_CAP, policy};
use crate::diagnostic::{Code, Problem, misspelt};
use crate::model::RetryModel;
use crate::policy::{Jitter, RetryPolicy};
use crate::source::{Location, Spanned};

/// What holds for somebody, in words: " for overloaded"; empty for what is general. `at` stands for values that no file gives.
pub(super) fn check_waits(model: &RetryModel, whose: &str, at: Location, problems: &mut Vec<Problem>) {
    if model.unread {
        return;
    }
    let policy = policy(model);
    let place = |value: Option<Location>| value.unwrap_or(at);
    let (base, cap) = (place(model.base.map(|base| base.at)), place(model.cap.map(|cap| cap.at)));
    // The policy itself is mended already: its cap is never shorter.
    let written = model.cap.map_or(DEFAULT_CAP, |cap| *cap);
    if written < policy.base {
        let message = format!("`cap` is {written:?}{whose}, which is shorter than `base`, {:?}", policy.base);
        let (own, other, label) = if is_own(base, cap, whose) { (base, cap, "the cap in force") } else { (cap, base, "the base in force") };
        // One slip in a cap is a slip for every class that takes it over.
        if problems.iter().all(|problem| problem.code != Code::CapBelowBase || (problem.at != own && problem.at != cap)) {
            problems.push(beside(Problem::new(Code::CapBelowBase, own, message), other, label, at).hint("raise `cap` or lower `base`"));
        }
    }
    if policy.max_attempts.get() > 1 {
        check_price(model, &policy, whose, at, problems);
        check_deadline(model, &policy, whose, at, problems);
    }
}

/// A budget of nothing forbids retries openly; one that never holds the price of a retry does so in silence.
fn check_price(model: &RetryModel, policy: &RetryPolicy, whose: &str, at: Location, problems: &mut Vec<Problem>) {
    let (cost, capacity) = (policy.cost, policy.budget.capacity);
    if capacity <= 0.0 || cost <= capacity {
        return;
    }
    let message = format!("a retry costs {cost}{whose}, but the budget holds {capacity} at most: none is ever made");
    let places = (model.cost.map_or(at, |cost| cost.at), model.budget_capacity.map_or(at, |capacity| capacity.at));
    let hint = "lower `cost` or raise `capacity` in `budget`; max_attempts = 1 forbids retries openly";
    report(message, places, ("the cost in force", "the capacity in force"), hint, whose, at, problems);
}

fn check_deadline(model: &RetryModel, policy: &RetryPolicy, whose: &str, at: Location, problems: &mut Vec<Problem>) {
    let Some(deadline) = model.deadline.filter(|deadline| !deadline.is_zero() && **deadline < shortest(policy)) else { return };
    let message = format!("the first wait is {:?} or more{whose}, but the `deadline` is {:?}: nothing is retried", shortest(policy), *deadline);
    let places = (model.base.map_or(at, |base| base.at), deadline.at);
    let hint = "lower `base` or raise `deadline`; max_attempts = 1 forbids retries openly";
    report(message, places, ("the base in force", "the deadline in force"), hint, whose, at, problems);
}

/// The shortest wait before the second call, unless the server names one.
fn shortest(policy: &RetryPolicy) -> Duration {
    match policy.jitter {
        Jitter::Full => Duration::ZERO,
        Jitter::Equal => policy.base / 2,
        Jitter::Proportional { ratio } => policy.base.mul_f64(1.0 - ratio),
        Jitter::None | Jitter::Additive { .. } | Jitter::Decorrelated => policy.base,
    }
}

/// At the one of two values that can be mended, once for each.
fn report(message: String, (first, second): (Location, Location), (of_first, of_second): (&str, &str), hint: &str, whose: &str, at: Location, problems: &mut Vec<Problem>) {
    let (own, other, label) = if is_own(first, second, whose) { (first, second, of_second) } else { (second, first, of_first) };
    let told = |problem: &Problem| problem.code == Code::RetryImpossible && (problem.at == own || problem.at == second);
    if !problems.iter().any(told) {
        problems.push(beside(Problem::new(Code::RetryImpossible, own, message), other, label, at).hint(hint));
    }
}

/// Shows the other value too, where a file gives it.
fn beside(problem: Problem, other: Location, label: &str, unwritten: Location) -> Problem {
    if other == unwritten { problem } else { problem.related(other, label) }
}

/// Whether the first is the one to mend: the file that was read later is; so is the own value of a class, a model or a profile.
fn is_own(first: Location, second: Location, whose: &str) -> bool {
    first.source > second.source || (first.source == second.source && !whose.is_empty() && first > second)
}

/// Names of profiles are free, so a slip in one makes a new profile that nobody asks for.
pub(super) fn check_profiles(profiles: &[(Spanned<String>, RetryModel)], problems: &mut Vec<Problem>) {
    for (name, _) in profiles {
        // Of two new names in one file both are meant, unless they are one in another case.
        let is_earlier =
            |known: &Spanned<String>| known.at.source < name.at.source || (known.at.source == name.at.source && known.at < name.at && known.eq_ignore_ascii_case(name));
        let earlier = profiles.iter().map(|(known, _)| known).filter(|known| is_earlier(known));
        let Some(meant) = misspelt(name, earlier.map(|known| known.as_str())) else { continue };
        let problem = Problem::new(Code::MisspeltName, name.at, format!("no file had a profile `{}` before: it is a new one", **name));
        if !problems.iter().any(|problem| problem.code == Code::MisspeltName && problem.at == name.at) {
            problems.push(problem.label("a new profile").hint(format!("did you mean [retry.profile.{meant}]?")));
        }
    }
}
