//! A file in blocks of whole lines, for several threads to take from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::encoding;
use crate::input::{self, MAX_LINE_BYTES};
use crate::output::Failed;
use crate::progress::Progress;

const BLOCK_BYTES: usize = 1024 * 1024;

/// Some whole lines, or one that is too long to be kept.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) first_line: usize,
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Block {
    /// The lines that are not blank, each with its number in the block.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, Result<&[u8], String>)> {
        let bytes = if self.first_line == 1 { encoding::without_mark(&self.bytes) } else { &self.bytes };
        let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
        let lines = lines.map(|(index, line)| (index, if line.len() as u64 > MAX_LINE_BYTES { Err(input::too_long()) } else { Ok(line) }));
        lines.chain(self.is_too_long.then(|| (0, Err(input::too_long()))))
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
            let unreadable = |error| input::unreadable(Some(path), error);
            let file = File::open(path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            if metadata.is_dir() {
                return Err(input::unreadable(Some(path), "it is a directory"));
            }
            (Box::new(file), metadata.len())
        };
        let are_many = length == 0 || length > 4 * BLOCK_BYTES as u64;
        let mut blocks = Self { reader, next_line: 1, rest: Vec::new(), progress: Progress::of_bytes(length), are_many };
        blocks.look(path)?;
        Ok(blocks)
    }

    /// Looks at the beginning, whether there are lines at all.
    fn look(&mut self, path: &Path) -> Result<(), Failed> {
        self.read()?;
        let first = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').find(|line| !encoding::without_mark(line).trim_ascii().is_empty()).map(<[u8]>::to_vec);
        let Some(first) = first(&self.rest) else { return Ok(()) };
        let spread = || encoding::is_begun(&first).then(|| encoding::spread(""));
        encoding::foreign(&first).or_else(spread).map_or(Ok(()), |what| Err(input::unreadable(Some(path), what)))
    }

    /// How much of a block follows.
    fn read(&mut self) -> io::Result<usize> {
        let read = (&mut self.reader).take(BLOCK_BYTES as u64).read_to_end(&mut self.rest)?;
        self.progress.add(read as u64);
        Ok(read)
    }

    /// Whether it may be long, and some preparation pays.
    pub(super) fn are_many(&self) -> bool {
        self.are_many
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Block>> {
        loop {
            let read = self.read()?;
            let end = if read == 0 { Some(self.rest.len()) } else { memchr::memrchr(b'\n', &self.rest).map(|at| at + 1) };
            match end {
                Some(0) => return Ok(None),
                Some(end) => return Ok(Some(self.cut(end))),
                None if self.rest.len() as u64 > MAX_LINE_BYTES => return self.pass_over().map(Some),
                None => {}
            }
        }
    }

    /// The first so many bytes, which are whole lines.
    fn cut(&mut self, end: usize) -> Block {
        let rest = self.rest.split_off(end);
        let bytes = std::mem::replace(&mut self.rest, rest);
        let first_line = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &bytes).count();
        Block { first_line, bytes, is_too_long: false }
    }

    /// Goes to the end of a line that is too long to be kept.
    fn pass_over(&mut self) -> io::Result<Block> {
        loop {
            self.rest.clear();
            let read = self.read()?;
            let end = if read == 0 { Some(0) } else { memchr::memchr(b'\n', &self.rest).map(|at| at + 1) };
            if let Some(end) = end {
                self.rest.drain(..end);
                self.next_line += 1;
                return Ok(Block { first_line: self.next_line - 1, bytes: Vec::new(), is_too_long: true });
            }
        }
    }
}
