//! JSON Lines in: each line an object, or the whole input one object.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::output::Failed;

/// One input object with its line, or what is wrong with the line.
pub(crate) struct Line {
    pub(crate) number: usize,
    /// How long the line is.
    pub(crate) bytes: u64,
    pub(crate) object: Result<Map<String, Value>, String>,
}

/// A longer line is no recorded failure; it is reported and passed over.
const MAX_LINE_BYTES: u64 = 64 << 20;

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
        if bytes.len() as u64 > MAX_LINE_BYTES {
            skip_line(&mut reader)?;
            is_first = false;
            let object = Err(format!("longer than {} MiB", MAX_LINE_BYTES >> 20));
            visit(Line { number, bytes: bytes.len() as u64, object })?;
            continue;
        }
        if number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            // A byte order mark, as some shells write.
            bytes.drain(..3);
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let (object, length) = (parse(&bytes), bytes.len() as u64);
        if object.is_err() && std::mem::take(&mut is_first) {
            // A pretty-printed object starts with a line that is none; then all of the input is one value.
            reader.by_ref().take(MAX_LINE_BYTES).read_to_end(&mut bytes)?;
            if let Ok(object) = parse(&bytes) {
                return visit(Line { number, bytes: bytes.len() as u64, object: Ok(object) });
            }
            return lines(&bytes, number, visit);
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

fn lines(bytes: &[u8], first: usize, mut visit: impl FnMut(Line) -> Result<(), Failed>) -> Result<(), Failed> {
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
            let file = File::open(path).map_err(|error| Failed::Use(format!("cannot read {}: {error}", path.display())))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                return Err(Failed::Use(format!("cannot read {}: it is a directory", path.display())));
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
            // The line is told beside it; the parser counts from where it began to read.
            let (text, column) = (error.to_string(), error.column());
            let what = text.split(" at line ").next().unwrap_or(&text);
            Err(format!("not a JSON object: {what} at column {column}"))
        }
    }
}
