//! `explain`: why a failure gets its verdict.

use std::io::Write;

use overspill::{Explanation, Outcome as RuleOutcome, Tried};
use serde_json::{Value, json};

use crate::arguments::{Common, Explain, Format};
use crate::failure;
use crate::input;
use crate::output::{Failed, Outcome, results};
use crate::rules;

pub(crate) fn run(common: &Common, command: &Explain) -> Result<Outcome, Failed> {
    let overspill = rules::load(common)?;
    let mut out = results();
    let mut outcome = Outcome::Done;
    input::for_each_object(command.file.as_deref(), |line| {
        match line.object.and_then(failure::read) {
            Ok(input) => {
                let explanation = overspill.explain(&input.failure);
                match common.format {
                    Some(Format::Json) => writeln!(out, "{}", as_json(&input.id, &explanation))?,
                    Some(Format::Text) | None => writeln!(out, "{}", story(&input.id, &explanation, input.now))?,
                }
            }
            Err(error) => {
                outcome = Outcome::ProblemsFound;
                match common.format {
                    Some(Format::Json) => writeln!(out, "{}", json!({ "line": line.number, "error": error }))?,
                    Some(Format::Text) | None => writeln!(out, "line {}: {error}\n", line.number)?,
                }
            }
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(outcome)
}

fn story(id: &Value, explanation: &Explanation, now: jiff::Timestamp) -> String {
    let Explanation { verdict, extracted, tried, nearest } = explanation;
    let mut lines = Vec::new();
    let name = match id {
        Value::Null => String::new(),
        Value::String(id) => format!("{id}: "),
        id => format!("{id}: "),
    };
    lines.push(format!("{name}{} -> {}", verdict.class(), verdict.action()));
    lines.push("  read:".to_owned());
    let mut read = |key: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("    {key:<9} {value}"));
        }
    };
    read("provider", extracted.provider.clone().unwrap_or_else(|| "unknown, so the rules of all are tried".to_owned()));
    read("status", extracted.status.map_or(String::new(), |status| status.to_string()));
    read("codes", extracted.codes.join(", "));
    for text in extracted.text.lines() {
        read("message", text.to_owned());
    }
    for (path, value) in &extracted.fields {
        read("field", format!("{path} = {value}"));
    }
    read("finish", extracted.finish_reasons.join(", "));
    read("event", extracted.event.clone().unwrap_or_default());
    read("note", if extracted.truncated { "parts were left out because of their size".to_owned() } else { String::new() });
    if !tried.is_empty() {
        lines.push("  tried:".to_owned());
        lines.extend(tried.iter().map(tried_line));
    }
    match (verdict.decided_by(), verdict.origin()) {
        (Some(rule), Some(origin)) => lines.push(format!("  decided by {rule} ({origin})")),
        _ => lines.push("  no rule and no status decided: a miss".to_owned()),
    }
    if !nearest.is_empty() {
        lines.push("  nearest rules:".to_owned());
        lines.extend(nearest.iter().map(tried_line));
    }
    let tokens = verdict.tokens();
    for (name, count) in [("requested", tokens.requested), ("limit", tokens.limit), ("output limit", tokens.output_limit)] {
        if let Some(count) = count {
            lines.push(format!("  {name}: {count} tokens"));
        }
    }
    if let Some(asked) = verdict.server_delay() {
        lines.push(format!("  the server asks to wait {:?}, by the form {}", asked.from(now), asked.form()));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn tried_line(tried: &Tried) -> String {
    let how = match &tried.outcome {
        RuleOutcome::Won => "won".to_owned(),
        RuleOutcome::Failed(why) => why.clone(),
    };
    format!("    {} ({}, {}): {how}", tried.rule, tried.class, tried.origin)
}

fn as_json(id: &Value, explanation: &Explanation) -> Value {
    let Explanation { verdict, extracted, tried, nearest } = explanation;
    let tell = |tried: &Tried| {
        let failed = match &tried.outcome {
            RuleOutcome::Won => None,
            RuleOutcome::Failed(why) => Some(why),
        };
        json!({ "rule": tried.rule, "class": tried.class.name(), "origin": tried.origin, "layer": tried.layer, "won": failed.is_none(), "failed": failed })
    };
    json!({
        "id": id,
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
        },
        "tried": tried.iter().map(tell).collect::<Vec<_>>(),
        "nearest": nearest.iter().map(tell).collect::<Vec<_>>(),
        "server_delay_from": verdict.server_delay().map(overspill::ServerDelay::form),
        "ruleset": verdict.ruleset().to_string(),
    })
}
