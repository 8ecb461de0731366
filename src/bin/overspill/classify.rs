//! `classify`: failures in, verdicts out.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;

use overspill::{Overspill, Verdict, next_delay};
use serde_json::{Value, json};

use crate::arguments::{Classify, Common, Format};
use crate::describe;
use crate::failure::{self, Input};
use crate::input;
use crate::output::{Failed, Outcome, results};
use crate::plain::plain;
use crate::rules;

pub(crate) fn run(common: &Common, command: &Classify) -> Result<Outcome, Failed> {
    let format = common.format(Format::Json, &[Format::Text])?;
    let overspill = rules::load(common)?;
    let mut out = results();
    let mut outcome = Outcome::Done;
    // Without a seed every run draws its own, so that programs started together do not wait in step.
    let seed = command.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    input::for_each_object(command.file.as_deref(), |line| {
        let number = line.number as u64;
        match line.read(failure::read) {
            Ok(input) => {
                let answer = answer_one(&overspill, &input, seed.wrapping_add(number));
                match format {
                    Format::Text => writeln!(out, "{}", sentence(&answer))?,
                    _ => writeln!(out, "{answer}")?,
                }
            }
            Err(error) => {
                outcome = Outcome::ProblemsFound;
                match format {
                    Format::Text => writeln!(out, "{error}")?,
                    _ => writeln!(out, "{}", error.as_json())?,
                }
            }
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(outcome)
}

fn answer_one(overspill: &Overspill, input: &Input, seed: u64) -> Value {
    let verdict = overspill.evaluate(&input.failure);
    let ruleset = overspill.ruleset();
    let provider = input.failure.provider_name();
    let policy = ruleset.retry_policy_for(provider, Some(verdict.class()), input.failure.model_name(), None);
    let delay = if input.output_started { None } else { next_delay(&policy, &verdict, input.attempt, input.now, seed) };
    let name = provider.map(|name| ruleset.provider(name).map_or(name, |known| known.name()));
    answer(&verdict, input, delay, name)
}

fn answer(verdict: &Verdict, input: &Input, delay: Option<std::time::Duration>, provider: Option<&str>) -> Value {
    let asked = verdict.server_delay();
    let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let tokens = verdict.tokens();
    json!({
        "id": input.id,
        "class": verdict.class().name(),
        "action": verdict.action().name(),
        "retry": verdict.is_retry(),
        "delay_ms": delay.map(millis),
        "server_delay_ms": asked.map(|asked| millis(asked.from(input.now))),
        "server_delay_from": asked.map(overspill::ServerDelay::form),
        "retry_at": asked.and_then(|asked| asked.instant(input.now)).map(|instant| instant.to_string()),
        "limit_tokens": tokens.limit,
        "requested_tokens": tokens.requested,
        "output_limit_tokens": tokens.output_limit,
        "provider": provider,
        "rule": verdict.decided_by(),
        "origin": verdict.origin(),
        "ruleset": verdict.ruleset().to_string(),
    })
}

/// The verdict in one line for people.
fn sentence(answer: &Value) -> String {
    let text = |key: &str| answer[key].as_str().unwrap_or("-");
    let id = describe::id(&answer["id"]);
    let mut line = if id.is_empty() { id } else { format!("{}: ", plain(&id)) };
    line += &format!("{} -> {}", text("class"), text("action"));
    if let Some(delay) = answer["delay_ms"].as_u64() {
        line += &format!(" in {:.1} s", delay as f64 / 1000.0);
    }
    if let Some(asked) = answer["server_delay_ms"].as_u64() {
        line += &format!(" (the server asked for {:.3} s by {})", asked as f64 / 1000.0, text("server_delay_from"));
    }
    let tokens = [("requested_tokens", "requested"), ("limit_tokens", "limit"), ("output_limit_tokens", "output limit")];
    for (key, name) in tokens {
        if let Some(count) = answer[key].as_u64() {
            line += &format!(", {name} {count}");
        }
    }
    line + &format!("  [{} {}]", text("rule"), text("origin"))
}
