//! `explain`: why a failure gets its verdict.

use std::io::Write;
use std::time::Duration;

use overspill::{Action, Explanation, Extracted, Outcome as RuleOutcome, OverMax, PatternMatch, Ruleset, Transport, Tried, next_delay};
use serde_json::{Value, json};

use crate::arguments::{Common, Explain, Format};
use crate::describe;
use crate::failure::{self, Input};
use crate::input;
use crate::output::{Failed, Outcome, results};
use crate::plain::plain;
use crate::rules;
use crate::style::{BAD, CAUTION, FAINT, GOOD, NAME, STRONG, paint};

/// Without a seed of its own the story shows one and the same wait every time.
const SEED: u64 = 0;

pub(crate) fn run(common: &Common, command: &Explain) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json])?;
    let overspill = rules::load(common)?;
    let ruleset = overspill.ruleset();
    let mut out = results();
    let mut outcome = Outcome::Done;
    input::for_each_object(command.file.as_deref(), |line| {
        match line.read(failure::read) {
            Ok(input) => {
                let explanation = ruleset.explain(&input.failure);
                match format {
                    Format::Json => writeln!(out, "{}", as_json(&ruleset, &input, &explanation))?,
                    _ => writeln!(out, "{}", story(&ruleset, &input, &explanation))?,
                }
            }
            Err(error) => {
                outcome = Outcome::ProblemsFound;
                match format {
                    Format::Json => writeln!(out, "{}", error.as_json())?,
                    _ => writeln!(out, "{error}\n")?,
                }
            }
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(outcome)
}

fn story(ruleset: &Ruleset, input: &Input, explanation: &Explanation) -> String {
    let Explanation { verdict, extracted, tried, nearest } = explanation;
    let mut lines = vec![headline(input, explanation)];
    lines.push(paint(FAINT, "  what was read"));
    lines.extend(read_lines(extracted, unknown_name(ruleset, input).as_deref()));
    if !tried.is_empty() {
        lines.push(paint(FAINT, "  rules whose wording or code is there, in the order in which they are tried"));
        lines.extend(tried.iter().map(tried_line));
    }
    lines.push(match (verdict.decided_by(), verdict.origin(), verdict.rule()) {
        (Some(rule), Some(origin), Some(_)) => format!("  decided by {} ({origin})", paint(NAME, rule)),
        (Some(status), Some(origin), None) => format!("  no rule recognises it: a {}; the table of statuses decides, {} ({origin})", paint(CAUTION, "miss"), paint(NAME, status)),
        _ => format!("  no rule recognises it, and no status decides: a {}", paint(CAUTION, "miss")),
    });
    if !nearest.is_empty() {
        lines.push(paint(FAINT, "  the nearest rules, and what each lacks"));
        lines.extend(nearest.iter().map(tried_line));
    }
    let tokens = verdict.tokens();
    for (name, count) in [("requested", tokens.requested), ("limit", tokens.limit), ("output limit", tokens.output_limit)] {
        if let Some(count) = count {
            lines.push(format!("  {name}: {count} tokens"));
        }
    }
    lines.extend(delay_lines(ruleset, input, explanation));
    lines.push(String::new());
    lines.join("\n")
}

fn headline(input: &Input, explanation: &Explanation) -> String {
    let verdict = &explanation.verdict;
    let colour = match verdict.action() {
        Action::Retry => GOOD,
        Action::Compact | Action::ReduceOutput | Action::Failover => CAUTION,
        Action::Fail => BAD,
    };
    let id = describe::id(&input.id);
    let id = if id.is_empty() { id } else { format!("{}: ", plain(&id)) };
    format!("{id}{} -> {}", paint(STRONG, verdict.class()), paint(colour, verdict.action()))
}

/// The provider as the failure names it, where no file is for it, and who was probably meant.
fn unknown_name(ruleset: &Ruleset, input: &Input) -> Option<String> {
    let name = input.failure.provider_name().filter(|name| ruleset.provider(name).is_none())?;
    let meant = ruleset.nearest_provider(name).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    Some(format!("`{name}`, for which no rule file is, so the rules of all are tried{meant}"))
}

fn read_lines(extracted: &Extracted, unknown: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut read = |key: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("    {key:<9} {}", plain(&value)));
        }
    };
    let tokens = |count: Option<u64>| count.map_or(String::new(), |count| format!("{count} tokens"));
    read("provider", extracted.provider.clone().unwrap_or_else(|| unknown.unwrap_or("unknown, so the rules of all are tried").to_owned()));
    read("model", extracted.model.clone().unwrap_or_default());
    read("transport", extracted.transport.map_or(String::new(), |transport| transport.name().to_owned()));
    read("status", extracted.status.map_or(String::new(), |status| status.to_string()));
    read("codes", extracted.codes.join(", "));
    for text in extracted.text.lines() {
        read("message", text.to_owned());
    }
    for noise in &extracted.noise {
        read("noise", format!("\"{noise}\" is taken out before rules look at the message"));
    }
    for (name, value) in &extracted.headers {
        read("header", format!("{name}: {value}"));
    }
    for (path, value) in &extracted.fields {
        read("field", format!("{path} = {value}"));
    }
    read("finish", extracted.finish_reasons.join(", "));
    read("event", extracted.event.clone().unwrap_or_default());
    let output = extracted.output.filter(|output| *output > 0).map_or(String::new(), |output| format!(", {output} of output"));
    read("usage", extracted.used.map_or(String::new(), |used| format!("{used} tokens of the window{output}")));
    read("window", tokens(extracted.window));
    read("estimate", tokens(extracted.estimate));
    read("note", if extracted.truncated { "parts were left out because of their size".to_owned() } else { String::new() });
    lines
}

/// The layer is named where it is not told by the file.
fn tried_line(tried: &Tried) -> String {
    let how = match &tried.outcome {
        RuleOutcome::Won => format!("{} it holds", paint(GOOD, "yes")),
        RuleOutcome::Failed(why) => format!("{} {}", paint(BAD, "no "), plain(why)),
    };
    let layer = if tried.origin.starts_with(&tried.layer) { String::new() } else { format!(", {}", tried.layer) };
    let mut lines = format!("    {} {}\n        {how}", paint(NAME, &tried.rule), paint(FAINT, format!("({}, {}{layer})", tried.class, tried.origin)));
    for (condition, value) in &tried.recognised_by {
        lines += &format!("\n            {} {}", condition.replace('_', " "), plain(value));
    }
    for PatternMatch { pattern, text } in &tried.matched {
        lines += &format!("\n            '{}' matches \"{}\"", plain(pattern), plain(text));
    }
    lines
}

fn delay_lines(ruleset: &Ruleset, input: &Input, explanation: &Explanation) -> Vec<String> {
    let verdict = &explanation.verdict;
    let policy = ruleset.retry_policy_for(input.failure.provider_name(), Some(verdict.class()), input.failure.model_name(), None);
    let mut lines = Vec::new();
    let asked = verdict.server_delay().map(|asked| (asked.from(input.now), asked));
    if let Some((wait, asked)) = asked {
        let instant = asked.instant(input.now).map(|instant| format!(", until {instant}")).unwrap_or_default();
        lines.push(format!("  the server asks to wait {}{instant}, by the form {}", exact(wait), paint(NAME, asked.form())));
    }
    if !verdict.is_retry() {
        return lines;
    }
    let attempts = format!("attempt {} of {}", input.attempt, policy.max_attempts);
    let next = if input.output_started { None } else { next_delay(&policy, verdict, input.attempt, input.now, SEED) };
    lines.push(match next {
        Some(wait) if asked.is_some() => format!("  so the next try is after {} at the soonest ({attempts})", describe::duration(wait)),
        Some(wait) => format!("  the next try is after about {}, by the policy ({attempts})", describe::duration(wait)),
        None if input.output_started => "  but output was already passed on, so it is not tried again".to_owned(),
        None if input.attempt >= policy.max_attempts.get() => format!("  but the attempts are used up ({attempts})"),
        None => {
            let max = describe::duration(policy.server_delay.max);
            let over_max = if policy.server_delay.over_max == OverMax::Fail { "fail" } else { "wait" };
            format!("  but that is longer than server_delay.max, {max}, so the call ends (over_max = \"{over_max}\")")
        }
    });
    lines
}

/// To the millisecond: what a server asked for is not rounded.
fn exact(wait: Duration) -> String {
    if wait < Duration::from_secs(60) { format!("{wait:?}") } else { format!("{wait:?} ({})", describe::duration(wait)) }
}

fn as_json(ruleset: &Ruleset, input: &Input, explanation: &Explanation) -> Value {
    let name = input.failure.provider_name();
    let Explanation { verdict, extracted, tried, nearest } = explanation;
    let told = |matches: &[PatternMatch]| matches.iter().map(|PatternMatch { pattern, text }| json!({ "pattern": pattern, "text": text })).collect::<Vec<_>>();
    let tell = |tried: &Tried| {
        let failed = match &tried.outcome {
            RuleOutcome::Won => None,
            RuleOutcome::Failed(why) => Some(why),
        };
        json!({
            "rule": tried.rule,
            "class": tried.class.name(),
            "origin": tried.origin,
            "layer": tried.layer,
            "won": failed.is_none(),
            "failed": failed,
            "matched": told(&tried.matched),
            "vetoed_by": told(&tried.vetoed_by),
            "recognised_by": tried.recognised_by.iter().map(|(condition, value)| json!({ "condition": condition, "value": value })).collect::<Vec<_>>(),
        })
    };
    json!({
        "id": input.id,
        "class": verdict.class().name(),
        "action": verdict.action().name(),
        "rule": verdict.decided_by(),
        "origin": verdict.origin(),
        "extracted": {
            "provider": extracted.provider,
            "status": extracted.status,
            "codes": extracted.codes,
            "messages": extracted.text.lines().collect::<Vec<_>>(),
            "fields": extracted.fields.iter().map(|(path, value)| json!({ "path": path, "value": value })).collect::<Vec<_>>(),
            "finish_reasons": extracted.finish_reasons,
            "event": extracted.event,
            "truncated": extracted.truncated,
            "given_provider": name,
            "did_you_mean": name.filter(|_| extracted.provider.is_none()).and_then(|name| ruleset.nearest_provider(name)),
            "model": extracted.model,
            "transport": extracted.transport.map(Transport::name),
            "headers": extracted.headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
            "used_tokens": extracted.used,
            "output_tokens": extracted.output,
            "window": extracted.window,
            "estimate": extracted.estimate,
            "noise": extracted.noise,
        },
        "tried": tried.iter().map(tell).collect::<Vec<_>>(),
        "nearest": nearest.iter().map(tell).collect::<Vec<_>>(),
        "server_delay_ms": verdict.server_delay().map(|asked| u64::try_from(asked.from(input.now).as_millis()).unwrap_or(u64::MAX)),
        "server_delay_from": verdict.server_delay().map(overspill::ServerDelay::form),
        "ruleset": verdict.ruleset().to_string(),
    })
}
