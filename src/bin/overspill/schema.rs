//! `schema`: the JSON Schema of rule files, draft-07, as Taplo and VS Code read it. A test asks the reader of rule files for its keys and compares.

use std::io::{self, Write};

use overspill::{Action, Class, Jitter, Transport};
use serde_json::{Map, Value, json};

use crate::arguments::{Common, Format};
use crate::output::{Failed, Outcome, finish, results};

/// The units of durations, longest first, in all their spellings.
const UNITS: [&str; 6] = [
    "h(?:(?:ou)?rs?)?",
    "m(?:in(?:ute)?s?)?",
    "s(?:ec(?:ond)?s?)?",
    "m(?:illi(?:s(?:econds?)?)?|s(?:ecs?)?)",
    "(?:micro(?:s(?:econds?)?)?|us(?:ecs?)?|[µμ]s)",
    "n(?:ano(?:s(?:econds?)?)?|s(?:ecs?)?)",
];
const STATUS: &str = r"^(none|[1-5]xx|[1-5]\d\d(\s*-\s*[1-5]\d\d)?)$";
const TOKEN_KINDS: [&str; 4] = ["input", "cache_read", "cache_write", "output"];

pub(crate) fn run(common: &Common) -> Result<Outcome, Failed> {
    common.format(Format::Json, &[])?;
    finish(print(), Outcome::Done)
}

fn print() -> io::Result<()> {
    let mut out = results();
    writeln!(out, "{:#}", document())?;
    out.flush()
}

pub(crate) fn document() -> Value {
    let root = [
        ("format", described(json!({ "type": "integer", "const": 1 }), "The format of this file; 1 when left out.")),
        ("provider", described(name(), "The provider that the file is for; \"default\" is the base layer.")),
        ("aliases", described(list(&name()), "Other names that it answers to.")),
        ("extends", described(list(&name()), "Files whose rules and settings it takes over.")),
        ("gateway", described(json!({ "type": "boolean" }), "Whether it passes the errors of others on: then the rules of all are tried.")),
        ("status", described(status_table(), "What a status means when no rule matched.")),
        ("retry", retry()),
        ("context", context()),
        ("signals", signals()),
        ("delay", described(json!({ "type": "array", "items": delay() }), "Forms in which servers say when to try again, in order of precedence. Only in the base layer.")),
        ("rule", described(json!({ "type": "array", "items": rule() }), "Rules in order: the first that matches decides.")),
    ];
    let mut document = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "title": "Overspill rules" });
    let table = table("An Overspill rule file: what the failures of one LLM provider mean.", root, &["provider"]);
    if let (Value::Object(document), Value::Object(table)) = (&mut document, table) {
        document.extend(table);
    }
    document["definitions"] = json!({ "class": class(), "statuses": statuses(), "duration": { "type": "string", "pattern": duration_pattern() } });
    document
}

/// A table that takes these keys and no others.
fn table<const N: usize>(description: &str, keys: [(&str, Value); N], required: &[&str]) -> Value {
    let properties: Map<_, _> = keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    let mut table = json!({ "type": "object", "description": description, "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    table
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn name() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9._/-]{1,64}$" })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A glob over model names.
fn glob() -> Value {
    json!({ "type": "string", "pattern": "\\S", "description": "A glob over model names: \"claude-*\"." })
}

/// The name of a response header, with a bucket's `*` where there are buckets.
fn header_name(with_bucket: bool) -> Value {
    json!({ "type": "string", "pattern": if with_bucket { "^[A-Za-z0-9._*-]+$" } else { "^[A-Za-z0-9._-]+$" } })
}

/// The end of a path into a structured body: keys with dots between.
fn path() -> Value {
    json!({ "type": "string", "pattern": r"^[^/$\[\]*, \\.]+(?:\.[^/$\[\]*, \\.]+)*$" })
}

fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

/// One or a list of them.
fn list(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "items": item }] })
}

fn texts(description: &str) -> Value {
    described(list(&json!({ "type": "string" })), description)
}

fn words(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

fn duration(description: &str) -> Value {
    json!({ "allOf": [{ "$ref": "#/definitions/duration" }], "description": description, "examples": ["500ms", "2s", "5m", "1h 30m"] })
}

/// Each unit once, in their order, the last with a fraction; or a clock's hours, minutes and seconds; or the form of ISO 8601. No negative one.
fn duration_pattern() -> String {
    const NUMBER: &str = "[0-9]+";
    const FRACTION: &str = "(?:[.,][0-9]{1,9})?";
    const BLANKS: &str = "[ \\t\\r\\n\\f]";
    let ending_with = |units: &[&str], before: &dyn Fn(&str) -> String, last: &dyn Fn(&str) -> String| {
        let ends = units.iter().enumerate().map(|(index, unit)| units[..index].iter().map(|unit| before(unit)).collect::<String>() + &last(unit));
        ends.collect::<Vec<_>>().join("|")
    };
    let words = ending_with(&UNITS, &|unit| format!("(?:{NUMBER}{BLANKS}*{unit}(?:,{BLANKS}+|{BLANKS}*))?"), &|unit| format!("{NUMBER}{FRACTION}{BLANKS}*{unit}"));
    let iso = ending_with(&["[Hh]", "[Mm]", "[Ss]"], &|unit| format!("(?:{NUMBER}{unit})?"), &|unit| format!("{NUMBER}{FRACTION}{unit}"));
    format!(r"^\+?(?:(?:{words}|{NUMBER}:{NUMBER}:{NUMBER}{FRACTION}){BLANKS}*|[Pp][Tt](?:{iso}))$")
}

fn class() -> Value {
    let meanings: Vec<_> = Class::ALL.iter().map(|class| format!("{} (then: {})", class.name(), class.default_action().name())).collect();
    json!({ "type": "string", "enum": Class::ALL.iter().map(|class| class.name()).collect::<Vec<_>>(), "description": format!("What the failure is: {}.", meanings.join(", ")) })
}

fn class_ref() -> Value {
    json!({ "$ref": "#/definitions/class" })
}

fn statuses() -> Value {
    let item = json!({ "anyOf": [{ "type": "integer", "minimum": 100, "maximum": 599 }, { "type": "string", "pattern": STATUS }] });
    described(list(&item), "HTTP statuses: 429, \"5xx\", \"520-527\", or \"none\" when no status is known.")
}

fn statuses_ref() -> Value {
    json!({ "$ref": "#/definitions/statuses" })
}

fn status_table() -> Value {
    json!({ "type": "object", "additionalProperties": class_ref(), "propertyNames": { "pattern": STATUS, "not": { "const": "none" } } })
}

fn retry() -> Value {
    let Value::Object(mut retry) = retry_keys("How calls are repeated; a key left out is inherited.") else {
        return Value::Null;
    };
    let class_names: Map<_, _> = Class::ALL.iter().map(|class| (class.name().to_owned(), retry_keys("The same for failures of this class alone."))).collect();
    if let Some(Value::Object(properties)) = retry.get_mut("properties") {
        properties.insert("class".to_owned(), json!({ "type": "object", "additionalProperties": false, "properties": class_names }));
        let profile = retry_keys("The same for calls with this profile, such as `unattended`.");
        properties.insert(
            "profile".to_owned(),
            json!({ "type": "object", "additionalProperties": profile, "description": "What differs for callers that ask for a profile by its name." }),
        );
        let mut model = retry_keys("The same for the models that a glob names.");
        model["properties"]["match"] = glob();
        model["required"] = json!(["match"]);
        properties.insert("model".to_owned(), json!({ "type": "array", "items": model }));
    }
    Value::Object(retry)
}

fn retry_keys(description: &str) -> Value {
    let ratio = described(json!({ "type": "number", "minimum": 0, "maximum": 1 }), "0.2 spreads by 20 %.");
    let jitter = table("How waits are spread, so that clients do not return together.", [("mode", words(&Jitter::NAMES, "The mode.")), ("ratio", ratio)], &["mode"]);
    let server_delay = [
        ("max", duration("The longest wait asked for by the server that is slept through.")),
        ("over_max", words(&["fail", "wait"], "What happens above it: the call ends with the instant when it would be allowed, or waits all the same.")),
    ];
    let amount = |description: &str| json!({ "type": "number", "minimum": 0, "maximum": 1_000_000, "description": description });
    let budget = [
        ("capacity", amount("The most tokens that it holds, and holds at first. Zero forbids retries.")),
        ("per_second", amount("Tokens that time gives back.")),
        ("per_success", amount("Tokens that a successful call gives back.")),
    ];
    let keys = [
        ("deadline", duration("The longest time from the first call to the last.")),
        ("cost", amount("What a retry takes from the budget.")),
        ("budget", table("How many retries an outage may add to the calls of one provider and key.", budget, &[])),
        ("max_attempts", described(json!({ "type": "integer", "minimum": 1, "maximum": 1000 }), "Calls in all, the first included.")),
        ("base", duration("The wait before the second call.")),
        ("factor", described(json!({ "type": "number", "minimum": 1, "maximum": 100 }), "By how much each wait is longer than the one before.")),
        ("cap", duration("No wait of our own is longer, jitter included.")),
        ("jitter", json!({ "anyOf": [words(&Jitter::NAMES, "How waits are spread."), jitter] })),
        ("retryable", described(json!({ "allOf": [statuses_ref()] }), "Statuses to retry when no rule recognised the failure.")),
        ("fatal", described(json!({ "allOf": [statuses_ref()] }), "Statuses never to retry when no rule recognised the failure.")),
        ("server_delay", table("How far a server's wait is followed.", server_delay, &[])),
    ];
    table(description, keys, &[])
}

fn context() -> Value {
    let pointer = list(&json!({ "type": "string", "pattern": "^(/.*)?$" }));
    let mut occupies = list(&json!({ "type": "string", "enum": ["input", "cache_read", "cache_write"] }));
    occupies["anyOf"][1]["minItems"] = json!(1);
    let occupies = described(occupies, "Which kinds of tokens fill the window.");
    // One value each: no wildcard, and no table at the end.
    let counted = list(&json!({ "type": "string", "pattern": r"^/[^*, ]*[^*, /](?: \+ /[^*, ]*[^*, /])*$" }));
    let [input, cache_read, cache_write, output] =
        TOKEN_KINDS.map(|kind| (kind, described(counted.clone(), "JSON pointers from where the usage lies; the first that is present counts, those joined by \" + \" are added.")));
    let usage = [
        ("id", text("The shape's name; in a later layer it names the shape that is changed.")),
        ("at", described(pointer.clone(), "JSON pointers to where the usage object may lie.")),
        ("requires", described(pointer.clone(), "JSON pointers of which one must be present.")),
        input,
        cache_read,
        cache_write,
        output,
        ("occupies", occupies.clone()),
    ];
    let finish = [
        ("at", described(pointer.clone(), "JSON pointers to the reason why the model stopped.")),
        ("truncated", described(pointer, "JSON pointers to a mark that the input was cut.")),
        ("overflow", texts("Reasons that say that the window was full.")),
        ("length", texts("Reasons that say that no more output was allowed.")),
    ];
    let model = [
        ("match", glob()),
        ("window", count("The context window in tokens.")),
        ("input", count("The most input that is taken, where it is less than the window.")),
        ("reserved_tokens", count("What is kept free of it for the answer.")),
        ("source", text("Where the numbers were seen.")),
    ];
    let keys = [
        ("reserved_tokens", count("What is kept free of the window for the answer.")),
        ("occupies", occupies),
        ("usage", json!({ "anyOf": [table("Where each kind is counted.", usage.clone(), &[]), { "type": "array", "items": table("A shape of usage objects.", usage, &["id"]) }] })),
        ("finish_reason", table("How a reply says why the model stopped.", finish, &[])),
        ("source", text("Where the windows of this file were seen.")),
        ("model", json!({ "type": "array", "items": table("The window of the models that a glob names.", model, &["match"]) })),
    ];
    table("What fills the context window, and how large it is.", keys, &[])
}

fn signals() -> Value {
    let exceptions = json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 100, "maximum": 599 }, "description": "The status that an SDK's exception class stands for." });
    let keys = [
        ("message", described(list(&path()), "Keys whose values are sentences.")),
        ("code", described(list(&path()), "Keys whose values are machine codes.")),
        ("status", described(list(&path()), "Keys whose values are HTTP statuses.")),
        ("finish_reason", described(list(&path()), "Keys that say why a generation ended.")),
        ("code_headers", described(list(&header_name(false)), "Headers whose values are machine codes.")),
        ("should_retry_headers", described(list(&header_name(false)), "Headers that say whether to retry.")),
        ("should_retry_fields", described(list(&path()), "Fields that say whether to retry.")),
        ("status_text", texts("Patterns whose group `status` is the status that a text states.")),
        ("noise", texts("Patterns of what says nothing about the failure: words of clients around it, stack frames, echoes.")),
        ("exceptions", exceptions),
    ];
    table("Which keys of a structured body mean what. Only in the base layer.", keys, &[])
}

fn delay() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let gate = [
        ("header", described(header_name(true), "The header; * stands for the same bucket.")),
        ("is", described(scalar, "It has this value.")),
        ("at_most", described(json!({ "type": "number" }), "It is at most this.")),
        ("at_least", described(json!({ "type": "number" }), "It is at least this.")),
    ];
    let keys = [
        ("id", text("The form's name, as verdicts tell it.")),
        ("header", described(header_name(true), "A response header; * stands for the name of a bucket.")),
        ("field", described(path(), "A field of a structured body, by the end of its dotted path.")),
        ("message", texts("Patterns whose group `delay` is the wait.")),
        ("unit", words(&["ms", "s", "epoch", "epoch_ms", "instant"], "How a bare number is read; \"s\" when left out.")),
        ("only_if", table("What must hold for the form to count.", gate, &["header"])),
        ("status", statuses_ref()),
    ];
    table("One form in which servers say when to try again.", keys, &["id"])
}

fn rule() -> Value {
    let facts = ["limit", "requested", "excess", "output_limit", "delay"].map(|fact| (fact, described(path(), "The end of the dotted path of the field that states it.")));
    let own = [
        ("id", described(json!({ "type": "string", "pattern": "^[a-z0-9-]{1,80}$" }), "The name within the file; in a later layer it names the rule that is changed.")),
        ("class", class_ref()),
        ("action", words(&Action::ALL.map(Action::name), "What to do, where it differs from the class's default.")),
        ("enabled", described(json!({ "type": "boolean" }), "false switches a rule of an earlier layer off.")),
        ("scope", words(&["provider", "any"], "Whether it is also tried for failures of unknown providers and gateways.")),
        ("facts", table("Token numbers read from structured fields.", facts, &[])),
        ("source", text("Where the wording was seen.")),
        (
            "seen",
            described(json!({ "type": "string", "pattern": "^[0-9]{4}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?$" }), "When it was last seen: YYYY-MM or YYYY-MM-DD."),
        ),
        ("unless", described(list(&table("A veto.", conditions(), &[])), "What must not hold; any of several vetoes.")),
        ("example", described(json!({ "type": "array", "items": example() }), "Recorded failures that the rule wins, or must not win. At least one that it wins.")),
    ];
    let mut rule = table("What is recognised, and what it means. All conditions must hold; a list means any of.", own, &["id"]);
    if let Value::Object(properties) = &mut rule["properties"] {
        properties.extend(conditions().map(|(key, schema)| (key.to_owned(), schema)));
    }
    rule
}

fn conditions() -> [(&'static str, Value); 11] {
    let header = json!({ "type": "object", "additionalProperties": texts("Patterns over the value."), "propertyNames": header_name(false), "description": "Headers that must be there, each with a pattern over its value." });
    [
        ("status", statuses_ref()),
        ("code", described(list(&json!({ "type": ["string", "integer", "number", "boolean"] })), "Machine-readable types or codes, exactly.")),
        ("message", texts("Regular expressions over the message; in 'single quotes', so that \\d is no escape.")),
        ("body", texts("Regular expressions over the raw body, for what has no message.")),
        ("header", header),
        ("transport", described(list(&words(&Transport::ALL.map(Transport::name), "How the failure arrived.")), "How the failure arrived.")),
        ("finish_reason", texts("Why the model stopped.")),
        ("event", texts("Names of stream events.")),
        ("model", described(list(&glob()), "Globs over model names.")),
        ("body_empty", described(json!({ "type": "boolean" }), "Whether body and message must be empty, or must not.")),
        ("when", texts("Comparisons such as \"requested > limit\" or \"estimate >= 0.8 * window\".")),
    ]
}

fn example() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let expect = [("class", class_ref()), ("limit", count("The limit read.")), ("requested", count("The request read.")), ("output_limit", count("The output cap read."))];
    let keys = [
        ("not", described(json!({ "type": "boolean" }), "true: the rule must not win it.")),
        ("status", described(json!({ "type": "integer", "minimum": 100, "maximum": 599 }), "The HTTP status.")),
        ("headers", json!({ "type": "object", "additionalProperties": scalar, "description": "Response headers." })),
        ("body", text("The body as it was received.")),
        ("message", text("The text of an SDK's exception.")),
        ("transport", words(&Transport::ALL.map(Transport::name), "How the failure arrived.")),
        ("finish_reason", text("Why the model stopped.")),
        ("event", text("The name of the stream event.")),
        ("provider", text("Who was called, where it is not the file's provider.")),
        ("model", text("The model that was asked for.")),
        ("usage", text("What the call says that it took, as its provider's JSON.")),
        ("estimate", count("The caller's own estimate of the request's tokens.")),
        ("window", count("The context window.")),
        ("expect", table("What the verdict must say.", expect, &[])),
    ];
    table("A recorded failure.", keys, &[])
}
