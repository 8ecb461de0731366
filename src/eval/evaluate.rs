//! The evaluator: signals once, candidates by index, conditions in order, first match wins.

use std::sync::Arc;

use super::check::Situation;
use crate::class::{Action, Class};
use crate::config::Fact;
use crate::delay::{self, Evidence, ServerDelay, Unit};
use crate::failure::Failure;
use crate::ruleset::{CompiledRule, Facts, Matched, Ruleset};
use crate::signals::{self, Signals};
use crate::verdict::{Decision, Tokens, Verdict};

/// How many headers are searched for a wait. A bucket's reset is looked up beside all others, so that many headers would cost their square; servers send a few dozen.
const MAX_HEADERS: usize = 256;

/// The verdict on a failure.
pub(crate) fn evaluate(ruleset: &Ruleset, failure: &Failure<'_>) -> Verdict {
    let signals = read_signals(ruleset, failure);
    let situation = situation(ruleset, failure, &signals);
    let winner = winner(&situation);
    verdict(&situation, winner)
}

/// What is read out of the failure, once.
pub(crate) fn read_signals<'a>(ruleset: &Ruleset, failure: &'a Failure<'_>) -> Signals<'a> {
    let sources = signals::Sources { body: failure.body.as_deref(), message: failure.message.as_deref() };
    let mut signals = signals::extract(sources, ruleset.vocabulary());
    if !failure.headers.is_empty() {
        let codes = ruleset.code_headers().iter().filter_map(|name| failure.header_value(name));
        codes.for_each(|code| signals.add_code(code));
    }
    signals
}

/// The text that patterns see: without noise.
pub(crate) fn seen(ruleset: &Ruleset, failure: &Failure<'_>, signals: &Signals<'_>) -> String {
    situation(ruleset, failure, signals).matched.text().to_owned()
}

/// Signals matched against all patterns in one pass.
pub(crate) fn situation<'s, 'a>(ruleset: &'s Ruleset, failure: &'s Failure<'a>, signals: &'s Signals<'a>) -> Situation<'s, 'a> {
    let matched = ruleset.messages().matches(signals.text());
    let status = status_in_force(ruleset, failure, signals, &matched);
    // Few texts have any: only those are looked at twice.
    let matched = match matched.without(ruleset.noise()) {
        Some(rest) => ruleset.messages().matches(rest),
        None => matched,
    };
    Situation::new(ruleset, failure, signals, matched, status)
}

/// The response's status; where it is none, or claims success, the one that the body, the text or the exception's class states.
fn status_in_force(ruleset: &Ruleset, failure: &Failure<'_>, signals: &Signals<'_>, matched: &Matched<'_>) -> Option<u16> {
    let given = failure.status.filter(|status| (100..600).contains(status));
    if given.is_some_and(|status| status >= 300) {
        return given;
    }
    signals.status().or_else(|| status_in_text(ruleset, signals, matched)).or(given)
}

fn status_in_text(ruleset: &Ruleset, signals: &Signals<'_>, matched: &Matched<'_>) -> Option<u16> {
    let forms = ruleset.status_forms();
    let stated = forms.patterns.iter().filter(|pattern| matched.contains(**pattern)).find_map(|&pattern| {
        let texts = matched.captured_all(pattern, Fact::Status);
        texts.iter().find_map(|text| text.parse::<u16>().ok()).filter(|status| (400..600).contains(status))
    });
    stated.or_else(|| signals.codes().find_map(|code| forms.exceptions.get(&code.to_ascii_lowercase()).copied()))
}

/// The first rule, in order, whose conditions all hold.
pub(crate) fn winner<'s>(situation: &Situation<'s, '_>) -> Option<&'s CompiledRule> {
    candidates(situation).find(|rule| situation.check(rule).is_ok())
}

/// The rules worth asking, in order.
fn candidates<'s>(situation: &Situation<'s, '_>) -> impl Iterator<Item = &'s CompiledRule> {
    let rules = situation.ruleset.rules();
    situation.candidates.get_or_init(|| ranked(situation)).iter().map(|&(_, number)| &rules[number as usize])
}

/// Their ranks and numbers, sorted.
fn ranked(situation: &Situation<'_, '_>) -> Vec<(u16, u32)> {
    let (ruleset, signals) = (situation.ruleset, situation.signals);
    let order = ruleset.order(situation.provider);
    let mut candidates = Vec::with_capacity(16);
    let mut add = |numbers: &[u32]| {
        for &number in numbers {
            let rule = &ruleset.rules()[number as usize];
            if let Some(rank) = order.rank(rule) {
                candidates.push((rank, number));
            }
        }
    };
    situation.matched.candidates().iter().for_each(|&pattern| add(ruleset.index().by_pattern(pattern)));
    signals.codes().for_each(|code| add(ruleset.index().by_code(code)));
    order.chain().iter().for_each(|&provider| add(ruleset.index().by_provider(provider)));
    add(ruleset.index().anywhere());
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

/// What the winner, or the status table, says.
pub(crate) fn verdict(situation: &Situation<'_, '_>, winner: Option<&CompiledRule>) -> Verdict {
    let Situation { ruleset, failure, status, .. } = *situation;
    let facts = winner.map(|rule| facts(situation, rule)).unwrap_or_default();
    let (class, decision) = decide(situation, winner);
    Verdict {
        class,
        action: action(situation, winner, class),
        status,
        tokens: Tokens { limit: facts.limit, requested: facts.requested, output_limit: facts.output_limit },
        server_delay: server_delay(situation, winner, failure),
        decision,
        version: ruleset.version(),
    }
}

/// What the winner states about tokens. Where it recognises an overflow and leaves a number open, another overflow rule that matches too may know where it stands: one that finds both numbers,
/// and finds what the winner found. An overflow that raised no error states its size by its usage.
fn facts(situation: &Situation<'_, '_>, winner: &CompiledRule) -> Facts {
    let own = situation.facts(winner);
    if winner.class != Class::ContextOverflow || own.overflows() {
        return own;
    }
    let has_numbers = numbers(situation.signals.text()).nth(1).is_some();
    // Those before the winner do not match.
    let others = candidates(situation).skip_while(|rule| !std::ptr::eq(*rule, winner)).skip(1);
    let others = others.filter(|rule| rule.class == Class::ContextOverflow && rule.may_state_overflow(has_numbers) && situation.may_match(rule));
    // What it states is found sooner than whether it matches, and seldom enough.
    let stated = others.map(|rule| (rule, situation.facts(rule))).find(|(rule, facts)| facts.completes(&own) && situation.check(rule).is_ok()).map(|(_, facts)| facts);
    let counted = || if own == Facts::default() && winner.conditions.message.is_empty() { own.with_requested(situation.used()) } else { own };
    stated.unwrap_or_else(counted)
}

/// The numbers in a text: digits in a row.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty())
}

fn decide(situation: &Situation<'_, '_>, winner: Option<&CompiledRule>) -> (Class, Decision) {
    if let Some(rule) = winner {
        return (rule.class, Decision::Rule(Arc::clone(&rule.info)));
    }
    let ruleset = situation.ruleset;
    let row = situation.status.and_then(|status| Some((status, ruleset.settings(situation.provider).status.class(status)?)));
    match row {
        Some((status, class)) => (*class, Decision::Status { status, origin: ruleset.sources().origin(class.at) }),
        None => (Class::Unknown, Decision::Nothing),
    }
}

/// A rule's own action outranks the server's wish, which outranks the lists of statuses, which outrank the class.
fn action(situation: &Situation<'_, '_>, winner: Option<&CompiledRule>, class: Class) -> Action {
    if let Some(action) = winner.and_then(|rule| rule.action) {
        return action;
    }
    let wish = should_retry(situation);
    let mut action = class.default_action();
    if winner.is_none() {
        let ruleset = situation.ruleset;
        let policy = &ruleset.settings(situation.provider).retry.for_class(Some(class)).policy;
        action = match action {
            Action::Retry if policy.fatal.contains(situation.status) => Action::Fail,
            Action::Fail if policy.retryable.contains(situation.status) && !policy.fatal.contains(situation.status) => Action::Retry,
            action => action,
        };
        if wish == Some(true) && action == Action::Fail {
            action = Action::Retry;
        }
    }
    if wish == Some(false) && action == Action::Retry {
        action = Action::Fail;
    }
    action
}

/// What the server says about retrying as such, without naming a time.
fn should_retry(situation: &Situation<'_, '_>) -> Option<bool> {
    let read = |text: &str| match text.trim() {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    };
    let (ruleset, failure) = (situation.ruleset, situation.failure);
    let header = ruleset.should_retry_headers().iter().filter_map(|name| failure.header_value(name)).find_map(read);
    let fields = situation.signals.fields();
    header.or_else(|| ruleset.should_retry_fields().iter().find_map(|path| fields.iter().filter(|field| field.is(path)).find_map(|field| read(field.value()))))
}

fn server_delay(situation: &Situation<'_, '_>, winner: Option<&CompiledRule>, failure: &Failure<'_>) -> Option<ServerDelay> {
    let Situation { ruleset, signals, matched, status, .. } = situation;
    // Forms compare headers with each other, so a flood of them must not count; those that no form looks at are none of it.
    let concerning: Vec<_>;
    let headers = if failure.headers.len() > MAX_HEADERS {
        let concern = |(name, _): &&(std::borrow::Cow<'_, str>, _)| ruleset.delay_forms().concern(name);
        concerning = failure.headers.iter().filter(concern).take(MAX_HEADERS).cloned().collect();
        &concerning
    } else {
        &failure.headers
    };
    let evidence = Evidence { headers, signals, matched, status: *status, now: failure.now };
    let captured = || {
        let text = winner.and_then(|rule| situation.captured_delay(rule))?;
        Some(ServerDelay::new(delay::parse(text, Unit::Seconds, failure.now)?, "rule".into()))
    };
    ruleset.delay_forms().read(&evidence).or_else(captured)
}
