//! Why a verdict is what it is: what was read, which rules were near, and what stopped each.

use super::check::{Situation, Unmet};
use super::evaluate::{read_signals, situation, verdict, winner};
use crate::class::Class;
use crate::failure::{Failure, Transport};
use crate::ruleset::{CompiledConditions, CompiledRule, Matched, Nearness, PatternId, PatternSet, Ruleset};
use crate::verdict::Verdict;

/// How many of the rules that lost are told about.
const MAX_NEAR: usize = 5;
/// How many headers are told.
const MAX_SHOWN_HEADERS: usize = 64;
/// What a story is never told of, whatever asks for it.
const SECRET: [&str; 8] = ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"];
/// How many characters of a matched text are shown.
const MAX_MATCHED: usize = 160;
/// A rule of whose words fewer are there is not near.
const MIN_LIKENESS: f64 = 0.4;

/// The story of one verdict.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The verdict itself.
    pub verdict: Verdict,
    /// What was read out of the failure.
    pub extracted: Extracted,
    /// The rules whose wording or code was there, in the order of trial, up to the winner.
    pub tried: Vec<Tried>,
    /// When no rule won: those that came nearest, nearest first.
    pub nearest: Vec<Tried>,
}

/// What rules were asked about.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// The provider that was recognised, by its canonical name.
    pub provider: Option<String>,
    /// The HTTP status in force.
    pub status: Option<u16>,
    /// Machine-readable codes and exception classes.
    pub codes: Vec<String>,
    /// The message texts, normalised, one a line.
    pub text: String,
    /// Structured fields that some rule or delay form asks for.
    pub fields: Vec<(String, String)>,
    /// Why the model stopped.
    pub finish_reasons: Vec<String>,
    /// The name of the stream event.
    pub event: Option<String>,
    /// The headers that some rule, form of a wait or list of headers names, as they were given; never one that carries a secret.
    pub headers: Vec<(String, String)>,
    /// The model as given.
    pub model: Option<String>,
    /// How the failure arrived, if that was said.
    pub transport: Option<Transport>,
    /// How many tokens of the window the call took, by its usage.
    pub used: Option<u64>,
    /// How many tokens it put out, by its usage.
    pub output: Option<u64>,
    /// The model's window, as given or as the rule files know it.
    pub window: Option<u64>,
    /// The caller's own estimate of the request's tokens.
    pub estimate: Option<u64>,
    /// What was taken out of the text before rules looked at it, because it says nothing.
    pub noise: Vec<String>,
    /// Whether parts were left out because of their size.
    pub truncated: bool,
}

/// A rule that was asked.
#[derive(Clone, Debug)]
pub struct Tried {
    /// `provider/id`.
    pub rule: String,
    /// `file:line`.
    pub origin: String,
    /// The layer that the file belongs to.
    pub layer: String,
    /// What it would have said.
    pub class: Class,
    /// How it went.
    pub outcome: Outcome,
    /// Which pattern of its `message` matched, and which of its `body`: of each list the first that does. Empty for a rule whose wording is not there, or that asks for none.
    pub matched: Vec<PatternMatch>,
    /// What else of it was there, each a condition and the value: the code, the finish reason, the stream event; for a rule that decided also the model, the header, the comparison, and the status
    /// where that is all it asks for.
    pub recognised_by: Vec<(&'static str, String)>,
    /// What `matched` is, of the veto that stopped it: of its lists all that match.
    pub vetoed_by: Vec<PatternMatch>,
    /// For a rule whose wording is not there: which share of its words is, from 0 to 1.
    pub likeness: f64,
}

/// A pattern, and what it matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternMatch {
    /// The pattern as it is written in the rule file.
    pub pattern: String,
    /// The text of its first match, at most 160 characters of it; `...` follows when more was left out. Not escaped.
    pub text: String,
}

/// How a rule fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It decided.
    Won,
    /// This condition did not hold; in words.
    Failed(String),
}

/// Evaluates with a story. Asks every rule, so it is far slower than an evaluation.
pub(crate) fn explain(ruleset: &Ruleset, failure: &Failure<'_>) -> Explanation {
    let signals = read_signals(ruleset, failure);
    let situation = situation(ruleset, failure, &signals);
    let won = winner(&situation);
    let verdict = verdict(&situation, won);
    let provider = ruleset.find(failure.provider.as_deref());
    let order = ruleset.order(provider);
    let ranked = ruleset.rules().iter().enumerate().filter_map(|(number, rule)| Some((order.rank(rule)?, number, rule)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, number, _)| (*rank, *number));

    let mut tried = Vec::new();
    let mut nearest = Vec::new();
    for (_, _, rule) in ranked {
        let outcome = situation.check(rule);
        let near = match outcome {
            Ok(()) => true,
            // A rule is only worth telling about when what it recognises was there.
            Err(unmet) => recognises(&situation, rule) && unmet != Unmet::Message,
        };
        let told = Tried {
            rule: rule.info.name.clone(),
            origin: rule.info.origin.clone(),
            layer: ruleset.sources().layer(rule.at.source).to_string(),
            class: rule.class,
            outcome: match outcome {
                Ok(()) => Outcome::Won,
                Err(unmet) => Outcome::Failed(describe(unmet, rule, &situation)),
            },
            matched: if near { of_conditions(&situation, &rule.conditions, 1) } else { Vec::new() },
            recognised_by: if near { recognised_by(&situation, rule, outcome.is_ok()) } else { Vec::new() },
            vetoed_by: match outcome {
                Err(Unmet::Veto(index)) => of_veto(&situation, rule, index),
                _ => Vec::new(),
            },
            likeness: if near { 1.0 } else { nearest_pattern(&situation, rule).map_or(0.0, |(_, nearness)| nearness.share) },
        };
        if near {
            tried.push(told);
        } else if told.likeness >= MIN_LIKENESS {
            nearest.push(told);
        }
        if outcome.is_ok() {
            break;
        }
    }
    nearest.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
    nearest.truncate(if won.is_some() { 0 } else { MAX_NEAR });
    let extracted = Extracted {
        provider: provider.map(|provider| ruleset.settings(Some(provider)).name.clone()),
        status: situation.status,
        codes: signals.codes().map(str::to_owned).collect(),
        text: signals.text().to_owned(),
        fields: signals.fields().iter().map(|field| (field.path().to_owned(), field.value().to_owned())).collect(),
        finish_reasons: finish_reasons(&situation).map(str::to_owned).collect(),
        event: event(&situation).map(str::to_owned),
        headers: headers(&situation),
        model: failure.model.as_deref().map(str::to_owned),
        transport: failure.transport,
        used: situation.used(),
        output: situation.usage().map(|usage| usage.output()),
        window: situation.window(),
        estimate: failure.estimate,
        noise: noise(ruleset, signals.text()),
        truncated: signals.is_truncated(),
    };
    Explanation { verdict, extracted, tried, nearest }
}

/// Whether the rule's wording or code is there, whatever else stopped it.
fn recognises(situation: &Situation<'_, '_>, rule: &CompiledRule) -> bool {
    let conditions = &rule.conditions;
    if !conditions.message.is_empty() {
        return situation.matched.any(&conditions.message);
    }
    conditions.code.iter().any(|wanted| situation.signals.codes().any(|code| code.eq_ignore_ascii_case(wanted)))
}

/// As given and as read, each once.
fn finish_reasons<'f>(situation: &'f Situation<'_, '_>) -> impl Iterator<Item = &'f str> {
    let given = situation.failure.finish_reason.as_deref();
    given.into_iter().chain(situation.signals.finish_reasons().filter(move |reason| Some(*reason) != given))
}

fn event<'f>(situation: &'f Situation<'_, '_>) -> Option<&'f str> {
    situation.failure.event.as_deref().or(situation.signals.event())
}

/// The headers that can decide.
fn headers(situation: &Situation<'_, '_>) -> Vec<(String, String)> {
    let Situation { ruleset, failure, .. } = *situation;
    let of_rule = |rule: &CompiledRule, name: &str| rule.all_conditions().flat_map(|conditions| &conditions.header).any(|header| header.name.eq_ignore_ascii_case(name));
    let named = |name: &str| {
        let lists = ruleset.code_headers().iter().chain(ruleset.should_retry_headers());
        ruleset.delay_forms().concern(name) || lists.into_iter().any(|known| known.eq_ignore_ascii_case(name)) || ruleset.rules().iter().any(|rule| of_rule(rule, name))
    };
    let headers = failure.headers.iter().filter(|(name, _)| !is_secret(name) && named(name)).take(MAX_SHOWN_HEADERS);
    headers.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn is_secret(header: &str) -> bool {
    SECRET.iter().any(|secret| header.eq_ignore_ascii_case(secret))
}

/// What is taken out of the text, of each pattern the first; what is part of another is told with it.
fn noise(ruleset: &Ruleset, text: &str) -> Vec<String> {
    let matched = ruleset.messages().matches(text);
    let mut found: Vec<_> = ruleset.noise().iter().filter_map(|&pattern| matched.first_match(pattern)).map(str::trim).filter(|found| !found.is_empty()).collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.len()));
    let mut told: Vec<&str> = Vec::new();
    for noise in found {
        if !told.iter().any(|known| known.contains(noise)) {
            told.push(noise);
        }
    }
    told.into_iter().map(shortened).collect()
}

/// What of the rule's conditions was there beside its patterns.
fn recognised_by(situation: &Situation<'_, '_>, rule: &CompiledRule, won: bool) -> Vec<(&'static str, String)> {
    let (CompiledConditions { status, code, message, body, header, transport, finish_reason, event: events, model, body_empty, when }, failure) =
        (&rule.conditions, situation.failure);
    let among = |wanted: &[String], given: &str| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(given));
    let mut found: Vec<(&'static str, String)> = Vec::new();
    found.extend(situation.signals.codes().filter(|given| among(code, given)).map(|given| ("code", given.to_owned())));
    found.extend(finish_reasons(situation).filter(|given| among(finish_reason, given)).map(|given| ("finish_reason", given.to_owned())));
    found.extend(event(situation).filter(|given| among(events, given)).map(|given| ("event", given.to_owned())));
    if !won {
        return found;
    }
    found.extend(failure.model.as_deref().filter(|_| !model.is_empty()).map(|model| ("model", model.to_owned())));
    found.extend(failure.transport.filter(|_| !transport.is_empty()).map(|transport| ("transport", transport.name().to_owned())));
    let values = header.iter().filter_map(|header| Some((&header.name, failure.header_value(&header.name)?)));
    found.extend(values.map(|(name, value)| ("header", if is_secret(name) { format!("{name}, whose value is not shown") } else { format!("{name}: {}", shortened(value)) })));
    found.extend(when.iter().map(|comparison| ("when", comparison.to_string())));
    found.extend(body_empty.map(|empty| ("body_empty", empty.to_string())));
    if let (true, true, Some(status), Some(_)) = (found.is_empty(), message.is_empty() && body.is_empty(), situation.status, status) {
        found.push(("status", status.to_string()));
    }
    found
}

/// The patterns of the conditions that match, and what they match: of each list so many at most.
fn of_conditions(situation: &Situation<'_, '_>, conditions: &CompiledConditions, of_each: usize) -> Vec<PatternMatch> {
    let found = |patterns: &PatternSet, matched: &Matched<'_>, ids: &[PatternId]| {
        let matches = ids.iter().filter_map(|&id| Some(PatternMatch { pattern: patterns.text(id).to_owned(), text: shortened(matched.first_match(id)?) }));
        matches.take(of_each).collect::<Vec<_>>()
    };
    let mut all = found(situation.ruleset.messages(), &situation.matched, &conditions.message);
    if !conditions.body.is_empty() {
        all.extend(found(situation.ruleset.bodies(), situation.body(), &conditions.body));
    }
    all
}

fn of_veto(situation: &Situation<'_, '_>, rule: &CompiledRule, index: usize) -> Vec<PatternMatch> {
    rule.unless.get(index).map(|veto| of_conditions(situation, veto, usize::MAX)).unwrap_or_default()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_MATCHED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The pattern of the rule that came nearest to matching.
fn nearest_pattern<'s>(situation: &Situation<'s, '_>, rule: &CompiledRule) -> Option<(PatternId, Nearness<'s>)> {
    let patterns = rule.conditions.message.iter().map(|&pattern| (pattern, situation.matched.nearness(pattern)));
    patterns.max_by(|a, b| a.1.share.total_cmp(&b.1.share))
}

/// In words, what of the rule does not hold.
pub(crate) fn describe(unmet: Unmet, rule: &CompiledRule, situation: &Situation<'_, '_>) -> String {
    let conditions = &rule.conditions;
    let given = |text: Option<&str>| text.map_or("nothing".to_owned(), |text| format!("\"{text}\""));
    match unmet {
        Unmet::Status => {
            let wanted = conditions.status.as_ref().map(ToString::to_string).unwrap_or_default();
            let status = situation.status.map_or("unknown".to_owned(), |status| status.to_string());
            format!("status is {status}, not one of {wanted}")
        }
        Unmet::Transport => format!("transport is {}", given(situation.failure.transport.map(Transport::name))),
        Unmet::Code => format!("no code is one of {}", conditions.code.join(", ")),
        Unmet::Message => match nearest_pattern(situation, rule) {
            None => "no message matches".to_owned(),
            Some((pattern, nearness)) => {
                let text = situation.ruleset.messages().text(pattern);
                let why = nearness.lacking.map_or("all its words are there, but not so arranged".to_owned(), |words| format!("\"{words}\" is not there"));
                format!("no message matches '{text}': {why}")
            }
        },
        Unmet::FinishReason => format!("the finish reason is none of {}", conditions.finish_reason.join(", ")),
        Unmet::Event => format!("the stream event is none of {}", conditions.event.join(", ")),
        Unmet::Model => format!("model is {}", given(situation.failure.model.as_deref())),
        Unmet::BodyEmpty => if situation.signals.is_empty() { "there is no body" } else { "there is a body" }.to_owned(),
        Unmet::Header => {
            let names: Vec<_> = conditions.header.iter().map(|header| header.name.as_str()).collect();
            format!("header {} is missing or does not match", names.join(", "))
        }
        Unmet::Body => "the raw body does not match".to_owned(),
        Unmet::When(index) => {
            let comparison = conditions.when.get(index).map(ToString::to_string).unwrap_or_default();
            let facts = situation.facts(rule);
            let shown = |name: &str, value: Option<u64>| value.map(|value| format!("{name} {value}"));
            let known: Vec<_> = [shown("limit", facts.limit), shown("requested", facts.requested), shown("excess", facts.excess), shown("output_limit", facts.output_limit)]
                .into_iter()
                .flatten()
                .collect();
            let known = if known.is_empty() { "no number was captured".to_owned() } else { known.join(", ") };
            format!("`{comparison}` does not hold ({known})")
        }
        Unmet::Veto(index) => {
            let matches: Vec<_> = of_veto(situation, rule, index).into_iter().map(|PatternMatch { pattern, text }| format!("'{pattern}' matches \"{text}\"")).collect();
            if matches.is_empty() {
                return format!("its veto number {} holds", index + 1);
            }
            format!("its veto holds: {}", matches.join(", "))
        }
    }
}
