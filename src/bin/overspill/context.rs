//! `context`: usage in, what of the window is used and whether to compact out.

use std::io::Write;

use overspill::{Check, Context, Overspill};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, ContextCommand, Format};
use crate::describe;
use crate::input;
use crate::output::{Failed, Outcome, results};
use crate::plain::plain;
use crate::rules;

pub(crate) fn run(common: &Common, command: &ContextCommand) -> Result<Outcome, Failed> {
    let format = common.format(Format::Json, &[Format::Text])?;
    let overspill = rules::load(common)?;
    let mut out = results();
    let mut outcome = Outcome::Done;
    input::for_each_object(command.file.as_deref(), |line| {
        let answer = line.read(Input::read).map(|input| input.answer(&overspill));
        match (answer, format) {
            (Ok(answer), Format::Text) => writeln!(out, "{}", sentence(&answer))?,
            (Ok(answer), _) => writeln!(out, "{answer}")?,
            (Err(error), format) => {
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

/// What an input object says.
struct Input {
    id: Value,
    provider: String,
    model: String,
    /// A usage object, a reply, or the text of a stream.
    usage: String,
    window: Option<u64>,
    reserved: Option<u64>,
    finish_reason: Option<String>,
}

impl Input {
    /// Unknown fields are ignored; known ones of the wrong type are errors. Whatever stands in `usage` is for the library to judge.
    fn read(mut object: Map<String, Value>) -> Result<Self, String> {
        let mut text = |key: &str| match object.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` is no string")),
        };
        let [provider, model, finish_reason] = ["provider", "model", "finish_reason"].map(&mut text);
        let tokens = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => whole(value).map(Some).ok_or_else(|| format!("`{key}` is no whole number of tokens")),
        };
        let [window, reserved] = ["window", "reserved"].map(tokens);
        let usage = match object.remove("usage") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
        };
        Ok(Self {
            id: object.remove("id").unwrap_or(Value::Null),
            provider: provider?.unwrap_or_default(),
            model: model?.unwrap_or_default(),
            usage,
            window: window?,
            reserved: reserved?,
            finish_reason: finish_reason?,
        })
    }

    fn answer(&self, overspill: &Overspill) -> Value {
        let mut context = overspill.context(&self.provider, &self.model);
        if let Some(window) = self.window {
            context = context.with_window(window);
        }
        if let Some(reserved) = self.reserved {
            context = context.with_reserved(reserved);
        }
        let mut reply = context.read(&self.usage);
        if let Some(reason) = &self.finish_reason {
            reply = reply.with_finish(context.finish(reason));
        }
        answer(&self.id, &context, &context.check(&reply))
    }
}

/// A number from zero, written as `200000`, `200000.0` or `2e5`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64))
}

fn answer(id: &Value, context: &Context<'_>, check: &Check) -> Value {
    json!({
        "id": id,
        "used_tokens": check.used(),
        "window": check.window().unwrap_or(0),
        "reserved_tokens": check.reserved(),
        "usable_tokens": check.usable(),
        "compact": check.compact(),
        "silent_overflow": check.silent_overflow().is_some(),
        "reason": check.reason().name(),
        "origin": context.origin(),
    })
}

/// The answer in one line for people.
fn sentence(answer: &Value) -> String {
    let number = |key: &str| answer[key].as_u64().unwrap_or(0);
    let is = |key: &str| answer[key].as_bool().unwrap_or(false);
    let id = describe::id(&answer["id"]);
    let id = if id.is_empty() { id } else { format!("{}: ", plain(&id)) };
    let what = match (is("compact"), is("silent_overflow")) {
        (true, _) => "compact",
        (false, true) => "overflowed in silence, compact",
        (false, false) => "go on",
    };
    let of = match number("window") {
        0 => "of an unknown window".to_owned(),
        window => format!("of {} usable tokens (window {window}, reserve {})", number("usable_tokens"), number("reserved_tokens")),
    };
    let (reason, origin) = (answer["reason"].as_str().unwrap_or("-"), answer["origin"].as_str().unwrap_or("-"));
    format!("{id}{what}: {} {of}  [{reason} {origin}]", number("used_tokens"))
}
