//! What a recorded failure says about the right verdict, and whether a verdict is that.

use jiff::Timestamp;
use overspill::{Action, Class, Verdict, did_you_mean};
use serde_json::{Map, Value};

/// What is expected of one recorded failure; what is left out is not looked at.
#[derive(Clone, Debug)]
pub(crate) struct Expect(Map<String, Value>);

/// The keys that are understood.
const KEYS: [&str; 8] = ["class", "action", "rule", "retry", "server_delay_ms", "limit_tokens", "requested_tokens", "output_limit_tokens"];

impl Expect {
    /// Takes `expect` out of an input object; `None` when there is none.
    pub(crate) fn take(object: &mut Map<String, Value>) -> Result<Option<Self>, String> {
        match object.remove("expect") {
            None | Some(Value::Null) => match object.keys().find(|key| did_you_mean(key, ["expect"]).is_some()) {
                // Taken for a failure without an answer, the line would never be judged.
                Some(misspelt) => Err(format!("it has a key `{misspelt}`; did you mean `expect`?")),
                None => Ok(None),
            },
            Some(Value::Object(expect)) => {
                if let Some(unknown) = expect.keys().find(|key| !KEYS.contains(&key.as_str())) {
                    let known = did_you_mean(unknown, KEYS).map_or_else(|| format!("known are {}", KEYS.join(", ")), |meant| format!("did you mean `{meant}`?"));
                    return Err(format!("`expect` has a key `{unknown}`; {known}"));
                }
                no_name_is_unknown(&expect, "class", &Class::ALL.iter().map(|class| class.name()).collect::<Vec<_>>())?;
                no_name_is_unknown(&expect, "action", &Action::ALL.map(Action::name))?;
                Ok(Some(Self(expect)))
            }
            Some(_) => Err("`expect` is no object".to_owned()),
        }
    }

    /// What is not as expected, in words; empty when all is.
    pub(crate) fn differences(&self, verdict: &Verdict, now: Timestamp) -> Vec<String> {
        let tokens = verdict.tokens();
        let delay = verdict.server_delay().map(|delay| u64::try_from(delay.from(now).as_millis()).unwrap_or(u64::MAX));
        self.0
            .iter()
            .filter_map(|(key, wanted)| {
                let got = match key.as_str() {
                    "class" => Value::from(verdict.class().name()),
                    "action" => Value::from(verdict.action().name()),
                    "rule" => verdict.decided_by().into(),
                    "retry" => verdict.is_retry().into(),
                    "server_delay_ms" => delay.into(),
                    "limit_tokens" => tokens.limit.into(),
                    "requested_tokens" => tokens.requested.into(),
                    _ => tokens.output_limit.into(),
                };
                let right = if key == "server_delay_ms" { is_delay(&got, wanted) } else { is_one_of(&got, wanted) };
                let or = if key == "server_delay_ms" { " to " } else { " or " };
                (!right).then(|| format!("{key} is {}, not {}", show(&got, or), show(wanted, or)))
            })
            .collect()
    }
}

/// A name that no verdict ever has would be told as a difference for ever.
fn no_name_is_unknown(expect: &Map<String, Value>, key: &str, names: &[&str]) -> Result<(), String> {
    let answers = match expect.get(key) {
        Some(Value::Array(answers)) => answers.as_slice(),
        answer => answer.map(std::slice::from_ref).unwrap_or_default(),
    };
    let unknown = answers.iter().filter_map(Value::as_str).find(|answer| !names.contains(answer));
    unknown.map_or(Ok(()), |unknown| {
        let known = did_you_mean(unknown, names.iter().copied()).map_or_else(|| format!("known are {}", names.join(", ")), |meant| format!("did you mean `{meant}`?"));
        Err(format!("`expect` has the {key} `{unknown}`, which is none; {known}"))
    })
}

/// A list names several right answers.
fn is_one_of(got: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Array(answers) => answers.contains(got),
        answer => answer == got,
    }
}

/// A pair means anything between; a number is met to the millisecond.
fn is_delay(got: &Value, wanted: &Value) -> bool {
    let (Some(got), false) = (got.as_u64(), wanted.is_null()) else {
        return got.is_null() && wanted.is_null();
    };
    let (low, high) = match wanted {
        Value::Array(pair) => (pair.first().and_then(Value::as_u64), pair.last().and_then(Value::as_u64)),
        number => (number.as_u64().map(|number| number.saturating_sub(1)), number.as_u64().map(|number| number.saturating_add(1))),
    };
    low.zip(high).is_some_and(|(low, high)| (low..=high).contains(&got))
}

fn show(value: &Value, or: &str) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(answers) => answers.iter().map(|answer| show(answer, or)).collect::<Vec<_>>().join(or),
        value => value.to_string(),
    }
}
