//! JSON Lines in: each line an object, or the whole input one object.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::describe;
use crate::encoding;
use crate::output::Failed;
use crate::plain::plain;

/// One input object with its line, or what is wrong with the line.
pub(crate) struct Line {
    pub(crate) number: usize,
    /// How long the line is.
    pub(crate) bytes: u64,
    pub(crate) object: Result<Map<String, Value>, String>,
}

/// Why a line has no answer.
#[derive(Debug)]
pub(crate) struct Unanswered {
    line: usize,
    /// The object's, where the line is one.
    id: Value,
    error: String,
}

impl Line {
    /// What the line says.
    pub(crate) fn read<T>(self, read: impl FnOnce(Map<String, Value>) -> Result<T, String>) -> Result<T, Unanswered> {
        let unanswered = |id, error| Unanswered { line: self.number, id, error };
        let object = self.object.map_err(|error| unanswered(Value::Null, error))?;
        let id = object.get("id").cloned().unwrap_or_default();
        read(object).map_err(|error| unanswered(id, error))
    }
}

impl Unanswered {
    pub(crate) fn as_json(&self) -> Value {
        let Self { line, id, error } = self;
        if id.is_null() { json!({ "line": line, "error": error }) } else { json!({ "line": line, "id": id, "error": error }) }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = describe::id(&self.id);
        let id = if id.is_empty() { id } else { format!(" ({})", plain(&id)) };
        write!(f, "line {}{id}: {}", self.line, plain(&self.error))
    }
}

/// A longer line is no recorded failure; it is reported and passed over.
pub(crate) const MAX_LINE_BYTES: u64 = 64 << 20;

/// What is said of such a line.
pub(crate) fn too_long() -> String {
    format!("longer than {} MiB", MAX_LINE_BYTES >> 20)
}

/// The file as errors name it.
pub(crate) fn name(file: Option<&Path>) -> String {
    file.filter(|file| *file != Path::new("-")).map_or("standard input".to_owned(), |file| file.display().to_string())
}

/// Why a file is not read.
pub(crate) fn unreadable(file: Option<&Path>, why: impl fmt::Display) -> Failed {
    Failed::Use(format!("cannot read {}: {why}", name(file)))
}

/// Reads the file, or standard input for none and `-`, object by object, without holding it all.
pub(crate) fn for_each_object(file: Option<&Path>, mut visit: impl FnMut(Line) -> Result<(), Failed>) -> Result<(), Failed> {
    let mut reader = open(file)?;
    let (mut number, mut is_first) = (0, true);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        number += 1;
        if let (true, Some(what)) = (number == 1, encoding::foreign(&bytes)) {
            return Err(unreadable(file, what));
        }
        if bytes.len() as u64 > MAX_LINE_BYTES {
            skip_line(&mut reader)?;
            is_first = false;
            let object = Err(too_long());
            visit(Line { number, bytes: bytes.len() as u64, object })?;
            continue;
        }
        if number == 1 {
            bytes.drain(..bytes.len() - encoding::without_mark(&bytes).len());
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        if let (true, Some(what)) = (is_first, encoding::foreign(&bytes)) {
            return Err(unreadable(file, what));
        }
        let (object, length) = (parse(&bytes), bytes.len() as u64);
        if object.is_err() && std::mem::take(&mut is_first) {
            // A pretty-printed object starts with a line that is none; then all of the input is one value.
            let is_begun = encoding::is_begun(&bytes);
            reader.by_ref().take(MAX_LINE_BYTES).read_to_end(&mut bytes)?;
            if let Ok(object) = parse(&bytes) {
                return visit(Line { number, bytes: bytes.len() as u64, object: Ok(object) });
            }
            if is_begun {
                return Err(unreadable(file, encoding::spread(" that are not one object")));
            }
            // What was read may end within a line, and more may follow.
            reader.read_until(b'\n', &mut bytes)?;
            lines(&bytes, number, &mut visit)?;
            number += memchr::memchr_iter(b'\n', &bytes).count() - 1;
            continue;
        }
        is_first = false;
        visit(Line { number, bytes: length, object })?;
    }
}

/// Goes to the end of a line that is too long to be kept.
fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffered = reader.fill_buf()?;
        let (length, ended) = match memchr::memchr(b'\n', buffered) {
            Some(at) => (at + 1, true),
            None => (buffered.len(), buffered.is_empty()),
        };
        reader.consume(length);
        if ended {
            return Ok(());
        }
    }
}

fn lines(bytes: &[u8], first: usize, visit: &mut impl FnMut(Line) -> Result<(), Failed>) -> Result<(), Failed> {
    let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    for (index, line) in lines {
        visit(Line { number: first + index, bytes: line.len() as u64, object: parse(line) })?;
    }
    Ok(())
}

fn open(file: Option<&Path>) -> Result<Box<dyn BufRead>, Failed> {
    match file.filter(|file| *file != Path::new("-")) {
        None => Ok(Box::new(io::stdin().lock())),
        Some(path) => {
            let file = File::open(path).map_err(|error| unreadable(Some(path), error))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                return Err(unreadable(Some(path), "it is a directory"));
            }
            Ok(Box::new(BufReader::new(file)))
        }
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    // Bytes that are no UTF-8, as a provider may send them, must not cost the whole failure.
    match serde_json::from_str(&String::from_utf8_lossy(bytes)) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("not a JSON object".to_owned()),
        Err(error) => {
            if let Some(object) = by_field(bytes) {
                return Ok(object);
            }
            // The line is told beside it; the parser counts from where it began to read.
            let (text, column) = (error.to_string(), error.column());
            let what = text.split(" at line ").next().unwrap_or(&text);
            Err(format!("not a JSON object: {what} at column {column}"))
        }
    }
}

/// An object of which a field is too deep, or has half a surrogate pair in a text, as JavaScript writes it when it cuts a text: field by field, and a field that is no value for the parser as its text.
fn by_field(bytes: &[u8]) -> Option<Map<String, Value>> {
    let text = String::from_utf8_lossy(bytes);
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&text).ok()?;
    let value = |raw: &RawValue| {
        let value = serde_json::from_str(raw.get()).or_else(|_| serde_json::from_str(&without_halves(raw.get())));
        value.unwrap_or_else(|_| Value::String(raw.get().to_owned()))
    };
    Some(fields.into_iter().map(|(key, raw)| (key, value(raw))).collect())
}

/// JSON with U+FFFD for the halves of surrogate pairs that stand alone.
fn without_halves(json: &str) -> String {
    let unit = |text: &str| text.strip_prefix("\\u").and_then(|rest| u16::from_str_radix(rest.get(..4)?, 16).ok());
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let follows = escape.get(6..).and_then(unit);
        let (taken, kept) = match unit(escape) {
            Some(0xd800..=0xdbff) if follows.is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) => (12, None),
            Some(0xd800..=0xdfff) => (6, Some("\u{fffd}")),
            // A backslash and what it escapes.
            _ => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None),
        };
        let (taken, after) = escape.split_at(taken);
        out.push_str(kept.unwrap_or(taken));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_costs_one_letter() {
        let cases = [
            (r#"{"a":"cut \ud83d"}"#, "cut \u{fffd}"),
            (r#"{"a":"\ude00\ud83d\ude00\ud83d\ud83d\ude00"}"#, "\u{fffd}\u{1f600}\u{fffd}\u{1f600}"),
            (r#"{"a":"\\ud83d \ud83dx"}"#, "\\ud83d \u{fffd}x"),
            (r#"{"a":"\ud83d\\"}"#, "\u{fffd}\\"),
        ];
        for (json, text) in cases {
            assert_eq!(parse(json.as_bytes()).expect("an object")["a"], text, "{json}");
        }
    }

    #[test]
    fn what_is_deep_is_kept_as_its_text() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let object = parse(format!(r#"{{"body":{deep},"status":429}}"#).as_bytes()).expect("an object");
        assert_eq!((object["body"].as_str(), object["status"].as_u64()), (Some(deep.as_str()), Some(429)));
        assert!(parse(b"{\"a\":[").is_err() && parse(b"[1]").is_err());
    }
}
