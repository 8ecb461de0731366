//! One tolerant reader for JSON, Python literals, JavaScript's printed objects, and what is left
//! of them after being cut off or badly quoted.

use super::start::{Start, at_quote};
use super::string::Quoted;
use super::vocabulary::{Roles, Vocabulary};

/// A value that is no container.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'s> {
    /// A string.
    Text(Quoted<'s>),
    /// A number, `null`, `True`, or anything else without quotes.
    Word(&'s str),
}

/// Where a value stands in its document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'f, 's> {
    /// The containers around it, outermost first.
    frames: &'f [Frame<'s>],
    /// The key it is under, which for elements of an array is the array's.
    pub(super) key: &'s str,
    /// What that key means.
    pub(super) roles: Roles,
}

/// Takes what a document says.
pub(super) trait Sink<'s> {
    /// One scalar that has a role, or any string.
    fn scalar(&mut self, place: Place<'_, 's>, value: Scalar<'s>);

    /// The document repeats what the caller sent.
    fn echo(&mut self);
}

/// Where the document ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The first byte after it.
    pub(super) at: usize,
    /// Whether it was closed, and not cut off by the end of the text.
    pub(super) closed: bool,
}

/// What the document starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A bracket.
    Bracket,
    /// A key: `'code': 1, 'message': 'x'` with no braces around.
    Key,
}

impl<'s> Place<'_, 's> {
    /// The keys down to the value, without those of nameless containers.
    pub(super) fn path(&self) -> impl Iterator<Item = &'s str> {
        let names = self.frames.iter().filter(|frame| frame.kind == Kind::Object);
        names.map(|frame| frame.key).chain([self.key]).filter(|key| !key.is_empty())
    }

    /// How deep in the document.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }
}

/// Reads one document, and tells where it ended. Brackets deeper than the bound are counted, not
/// read.
pub(super) fn read<'s>(text: &'s str, at: usize, opening: Opening, vocabulary: &Vocabulary, sink: &mut impl Sink<'s>) -> End {
    let mut reader = Reader { text, at, stack: Vec::with_capacity(8), deep: 0, pending: None, vocabulary, sink };
    match opening {
        Opening::Bracket => reader.document(),
        Opening::Key => reader.pairs(),
    }
}

/// Containers deeper than this are skipped.
const DEPTH: usize = 64;

/// A kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `{}`
    Object,
    /// `[]`
    Array,
    /// `()`, of a Python tuple.
    Tuple,
}

/// An open container.
#[derive(Clone, Copy, Debug)]
struct Frame<'s> {
    /// Its kind.
    kind: Kind,
    /// The key it is under.
    key: &'s str,
    /// What that key means.
    roles: Roles,
}

/// The state of one reading.
struct Reader<'s, 'r, S> {
    /// The whole text.
    text: &'s str,
    /// The next byte.
    at: usize,
    /// The open containers.
    stack: Vec<Frame<'s>>,
    /// How many more are open beyond the bound.
    deep: usize,
    /// A key whose value comes next.
    pending: Option<(&'s str, Roles)>,
    /// What keys mean.
    vocabulary: &'r Vocabulary,
    /// Who wants to know.
    sink: &'r mut S,
}

impl<'s, S: Sink<'s>> Reader<'s, '_, S> {
    /// Reads from an opening bracket to its closing one.
    fn document(&mut self) -> End {
        while let Some(byte) = self.peek() {
            self.step(byte);
            if self.stack.is_empty() {
                return End { at: self.at, closed: true };
            }
        }
        End { at: self.at.min(self.text.len()), closed: false }
    }

    /// Reads pairs without braces, as long as a comma leads to another one.
    fn pairs(&mut self) -> End {
        self.stack.push(Frame { kind: Kind::Object, key: "", roles: Roles::NONE });
        let mut end = self.at;
        loop {
            let before = self.at;
            let Some(byte) = self.peek() else { break };
            if at_quote(self.text, before) != Start::Pairs {
                break;
            }
            self.step(byte);
            if self.pending.is_none() {
                break;
            }
            while let Some(byte) = self.peek()
                && (self.pending.is_some() || self.stack.len() > 1)
            {
                self.step(byte);
            }
            if self.stack.is_empty() {
                return End { at: self.at, closed: true };
            }
            end = self.at;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => return End { at: self.at + 1, closed: true },
                _ => break,
            }
            self.skip_space();
        }
        End { at: end.min(self.text.len()), closed: true }
    }

    /// Reads whatever starts with this byte; always moves on.
    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
            b',' => {
                self.pending = None;
                self.at += 1;
            }
            b'{' => self.open(Kind::Object),
            b'[' => self.open(Kind::Array),
            b'(' if self.pending.is_some() || !self.in_object() => self.open(Kind::Tuple),
            b'}' => self.close(Kind::Object),
            b']' => self.close(Kind::Array),
            b')' => self.close(Kind::Tuple),
            b'"' | b'\'' | b'`' | 0xe2 | b'b' | b'u' | b'r' | b'B' | b'U' | b'R' => self.string(),
            _ => self.word(),
        }
    }

    /// The next byte.
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether keys are expected here.
    fn in_object(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.kind == Kind::Object)
    }

    /// Skips white space.
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Enters a container.
    fn open(&mut self, kind: Kind) {
        self.at += 1;
        let pending = self.pending.take();
        if self.stack.len() >= DEPTH {
            self.deep += 1;
            return;
        }
        let around = self.stack.last().copied();
        let (key, roles) = match (pending, around) {
            (Some(pending), _) => pending,
            // An array in an array is still what the key says.
            (None, Some(frame)) if frame.kind != Kind::Object => (frame.key, frame.roles),
            (None, Some(frame)) => ("", frame.roles.inherited()),
            (None, None) => ("", Roles::NONE),
        };
        self.stack.push(Frame { kind, key, roles });
    }

    /// Leaves a container, and with it those inside that nobody closed. A bracket that closes
    /// nothing is skipped.
    fn close(&mut self, kind: Kind) {
        self.at += 1;
        self.pending = None;
        if self.deep > 0 {
            self.deep -= 1;
            return;
        }
        if let Some(index) = self.stack.iter().rposition(|frame| frame.kind == kind) {
            self.stack.truncate(index);
        }
    }

    /// Reads a string: a value, or a key when a colon follows.
    fn string(&mut self) {
        let Some((quoted, end)) = Quoted::read(self.text, self.at) else { return self.word() };
        self.at = end;
        if self.pending.is_none() && self.in_object() {
            self.key(quoted.raw);
            return;
        }
        self.value(Scalar::Text(quoted));
    }

    /// Reads something without quotes: a value, or a key when a colon follows.
    fn word(&mut self) {
        let is_key = self.pending.is_none() && self.in_object();
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = bytes.iter().position(|&byte| ends_word(byte, is_key)).unwrap_or(bytes.len());
        let word = self.text.get(self.at..self.at + end).unwrap_or_default();
        self.at += end.max(1);
        if word.is_empty() {
            return;
        }
        if is_key {
            self.key(word);
            return;
        }
        self.value(Scalar::Word(word));
    }

    /// Takes a word as the key of what comes next, if a colon says so.
    fn key(&mut self, key: &'s str) {
        self.skip_space();
        if self.peek() != Some(b':') {
            return;
        }
        self.at += 1;
        let inherited = self.stack.last().map_or(Roles::NONE, |frame| frame.roles.inherited());
        self.pending = Some((key, self.vocabulary.role(key).with(inherited)));
    }

    /// Hands a value on.
    fn value(&mut self, value: Scalar<'s>) {
        let around = self.stack.last().copied();
        let place = self.pending.take().or(around.map(|frame| (frame.key, frame.roles)));
        let Some((key, roles)) = place else { return };
        if roles.marked(Roles::ECHO) {
            return self.sink.echo();
        }
        if self.deep > 0 {
            return;
        }
        if matches!(value, Scalar::Word(_)) && !roles.given() {
            return;
        }
        self.sink.scalar(Place { frames: &self.stack, key, roles }, value);
    }
}

/// Whether a byte cannot be part of a word. Keys end at a colon; values may contain one, as times
/// do.
fn ends_word(byte: u8, is_key: bool) -> bool {
    match byte {
        b' ' | b'\n' | b'\r' | b'\t' | b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'"' | b'\'' => true,
        b':' => is_key,
        _ => false,
    }
}
