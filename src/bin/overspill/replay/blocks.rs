//! A file in blocks of whole lines, for several threads to take from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::output::Failed;
use crate::progress::Progress;

const BLOCK_BYTES: usize = 1024 * 1024;
/// A longer line is no recorded failure.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Some whole lines.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) first_line: usize,
    bytes: Vec<u8>,
}

impl Block {
    /// The lines that are not blank, each with its number in the block.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty())
    }
}

/// The blocks of a file.
pub(super) struct Blocks {
    reader: Box<dyn Read + Send>,
    next_line: usize,
    /// The beginning of a line whose end is still to be read.
    rest: Vec<u8>,
    progress: Progress,
    are_many: bool,
}

impl Blocks {
    pub(super) fn open(path: &Path) -> Result<Self, Failed> {
        let (reader, length): (Box<dyn Read + Send>, u64) = if path == Path::new("-") {
            (Box::new(io::stdin()), 0)
        } else {
            let unreadable = |error: &dyn std::fmt::Display| Failed::Use(format!("cannot read {}: {error}", super::name(path)));
            let file = File::open(path).map_err(|error| unreadable(&error))?;
            let metadata = file.metadata().map_err(|error| unreadable(&error))?;
            if metadata.is_dir() {
                return Err(unreadable(&"it is a directory"));
            }
            (Box::new(file), metadata.len())
        };
        let are_many = length == 0 || length > 4 * BLOCK_BYTES as u64;
        Ok(Self { reader, next_line: 1, rest: Vec::new(), progress: Progress::of_bytes(length), are_many })
    }

    /// Whether it may be long, and some preparation pays.
    pub(super) fn are_many(&self) -> bool {
        self.are_many
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            let read = (&mut self.reader).take(BLOCK_BYTES as u64).read_to_end(&mut bytes)?;
            self.progress.add(read as u64);
            let end = if read == 0 { Some(bytes.len()) } else { memchr::memrchr(b'\n', &bytes).map(|at| at + 1) };
            match end {
                Some(0) => return Ok(None),
                Some(end) => {
                    self.rest = bytes.split_off(end);
                    let first_line = self.next_line;
                    self.next_line += memchr::memchr_iter(b'\n', &bytes).count();
                    return Ok(Some(Block { first_line, bytes }));
                }
                None if bytes.len() > MAX_LINE_BYTES => return Err(io::Error::other(format!("line {} is longer than any recorded failure", self.next_line))),
                None => {}
            }
        }
    }
}
