//! Walks through the evidence of a failure and keeps what has a meaning.

use std::borrow::Cow;

use memchr::{memchr, memchr3};

use super::code;
use super::findings::{Findings, Keep, copy};
use super::html;
use super::literal::{self, Opening};
use super::sse;
use super::start::{Start, at_bracket, at_quote};
use super::string::decode;
use super::text::decode_entities;
use super::vocabulary::{Role, Roles, Vocabulary};
use super::walk::{At, Walk};
use super::xml;

/// Most documents inside strings of documents.
const DEPTH: usize = 8;

/// Most texts of a body that has no message.
const FALLBACKS: usize = 8;

/// Longest of them.
const FALLBACK: usize = 1024;

/// Longest document without any meaning that is left in its sentence.
const MEANINGLESS: usize = 1024;

/// Fewest letters and digits of a line that can tell anything.
const LETTERS: usize = 3;

/// How a page writes the quote before a document's first key.
const ESCAPED_QUOTES: [&str; 5] = ["&quot;", "&#34;", "&#x22;", "&#39;", "&#x27;"];

/// Which strings are texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Those under the keys that have the role.
    Messages,
    /// All, because there was no message.
    Everything,
}

/// Reads sources.
pub(super) struct Extractor<'a, 'v> {
    /// What keys mean.
    vocabulary: &'v Vocabulary,
    /// Which strings are texts.
    mode: Mode,
    /// What was found so far.
    pub(super) findings: Findings<'a>,
}

impl<'a, 'v> Extractor<'a, 'v> {
    /// Nothing is read yet.
    pub(super) fn new(vocabulary: &'v Vocabulary) -> Self {
        Self { vocabulary, mode: Mode::Messages, findings: Findings::new() }
    }

    /// Which strings are texts.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Changes which strings are texts.
    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Reads a source, or a text inside one. Returns whether it ended inside a document.
    pub(super) fn source<'s>(&mut self, text: &'s str, keep: Keep<'s, 'a>, depth: usize) -> bool {
        if sse::is_stream(text) {
            self.stream(text, keep, depth);
            return false;
        }
        if xml::is_document(text) {
            xml::elements(text, |name, value| {
                let roles = self.vocabulary.role(name);
                if roles.has(Role::Field) {
                    self.findings.field(keep(name), value, keep);
                }
                if roles.given() {
                    self.string(roles, value, keep, At { depth, containers: 1 });
                }
            });
            return false;
        }
        if has_escaped_document(text) && self.findings.spend(text.len()) {
            self.nested(&decode_entities(text), depth);
            return false;
        }
        self.prose(text, keep, depth, true)
    }

    /// Reads the end of a source whose middle was skipped. `inside`: the middle started in a
    /// document, so what is not clearly a pair may be anything, the user's prompt included.
    pub(super) fn tail<'s>(&mut self, text: &'s str, keep: Keep<'s, 'a>, inside: bool) {
        self.prose(text, keep, 0, !inside);
    }

    /// Reads the events of a stream.
    fn stream<'s>(&mut self, text: &'s str, keep: Keep<'s, 'a>, depth: usize) {
        for item in sse::items(text) {
            match item {
                sse::Item::Event(name) => self.findings.event(name, keep),
                sse::Item::Status(status) => self.findings.status(status),
                sse::Item::Data(Cow::Borrowed(data)) => {
                    self.prose(data, keep, depth, true);
                }
                sse::Item::Data(Cow::Owned(data)) => self.nested(&data, depth),
            }
        }
    }

    /// Reads free text with documents in it. Returns whether it ended inside a document.
    fn prose<'s>(&mut self, text: &'s str, keep: Keep<'s, 'a>, depth: usize, lines: bool) -> bool {
        let bytes = text.as_bytes();
        let mut from = 0;
        let mut at = 0;
        let mut leading = true;
        while let Some(&byte) = bytes.get(at) {
            let start = match byte {
                // Inside of a document only its own pairs count: everything else, escaped documents
                // and other quotes included, may stand in a string that echoes the prompt.
                b'{' | b'[' | b'\'' | b'<' if !lines => Start::Nothing(1),
                b'{' | b'[' => at_bracket(text, at, leading),
                b'"' | b'\'' => at_quote(text, at),
                b'<' if html::is_page(text, at) => {
                    self.segment(text, from, at, keep, depth, lines);
                    self.page(text.get(at..).unwrap_or_default(), depth);
                    return false;
                }
                _ => {
                    leading &= byte.is_ascii_whitespace();
                    at += 1;
                    continue;
                }
            };
            let opening = match start {
                Start::Nothing(length) => {
                    leading = false;
                    at += length.max(1);
                    continue;
                }
                Start::Escaped => {
                    self.segment(text, from, at, keep, depth, lines);
                    self.escaped(text.get(at..).unwrap_or_default(), depth);
                    return false;
                }
                Start::Document => Opening::Bracket,
                Start::Pairs => Opening::Key,
            };
            let learned = self.findings.learned();
            let vocabulary = self.vocabulary;
            let mut walk = Walk { extractor: self, keep, depth };
            let end = literal::read(text, at, opening, vocabulary, &mut walk);
            let next = end.at.max(at + 1);
            let meaningless = self.findings.learned() == learned && next - at <= MEANINGLESS && !leading;
            if !meaningless {
                // Lines are sorted by rank: the sentence around a document comes before what the
                // document says, although it is complete only now.
                self.segment(text, from, at, keep, depth, lines);
                from = next;
            }
            if !end.closed {
                self.segment(text, from, bytes.len(), keep, depth, lines);
                return true;
            }
            at = next;
            leading = false;
        }
        self.segment(text, from, bytes.len(), keep, depth, lines);
        false
    }

    /// Takes a piece of free text as a line.
    fn segment<'s>(&mut self, text: &'s str, from: usize, to: usize, keep: Keep<'s, 'a>, depth: usize, lines: bool) {
        if !lines {
            return;
        }
        let Some(line) = text.get(from..to) else { return };
        if tells(line) {
            self.findings.line(line, keep, At { depth, containers: 0 }.rank());
        }
    }

    /// Takes the visible text of a page.
    fn page(&mut self, page: &str, depth: usize) {
        html::lines(page, |line| {
            if tells(line) {
                self.findings.line(line, copy, At { depth, containers: 1 }.rank());
            }
        });
    }

    /// Undoes one level of escaping and reads on.
    fn escaped(&mut self, text: &str, depth: usize) {
        if !self.findings.spend(text.len()) {
            return;
        }
        self.nested(&decode(text), depth);
    }

    /// Reads a text that is not part of the source.
    fn nested(&mut self, text: &str, depth: usize) {
        if depth >= DEPTH {
            self.findings.set_truncated();
            return;
        }
        self.source(text, copy, depth + 1);
    }

    /// Takes a message: a text, or a text with documents in it.
    fn message<'s>(&mut self, message: &'s str, keep: Keep<'s, 'a>, at: At) {
        if !has_structure(message) {
            return self.findings.line(message, keep, at.rank());
        }
        self.inside(message, keep, at.depth);
    }

    /// Reads a text that is a string of a document.
    fn inside<'s>(&mut self, text: &'s str, keep: Keep<'s, 'a>, depth: usize) {
        if depth >= DEPTH {
            self.findings.set_truncated();
            return;
        }
        self.source(text, keep, depth + 1);
    }

    /// Takes a string by the roles of its key.
    pub(super) fn string<'s>(&mut self, roles: Roles, value: &'s str, keep: Keep<'s, 'a>, at: At) {
        if roles.has(Role::Code)
            && let Some(code) = code::clean(value)
        {
            self.findings.code(code, keep);
        }
        if roles.has(Role::Status)
            && let Some(status) = code::status(value)
        {
            self.findings.status(status);
        }
        if roles.has(Role::FinishReason) {
            self.findings.finish_reason(value.trim(), keep);
        }
        if roles.has(Role::Message) {
            self.message(value, keep, at);
        } else if opens_document(value) && !roles.marked(Roles::REPLY) {
            self.inside(value, keep, at.depth);
        }
    }

    /// Takes a word by the roles of its key.
    pub(super) fn word<'s>(&mut self, roles: Roles, word: &'s str, keep: Keep<'s, 'a>) {
        if roles.has(Role::Code) && code::is_number(word) {
            self.findings.code(word, keep);
        }
        if roles.has(Role::Status)
            && let Some(status) = code::status(word)
        {
            self.findings.status(status);
        }
        if roles.has(Role::FinishReason) {
            self.findings.finish_reason(word, keep);
        }
    }

    /// Takes any string, because no message was found.
    pub(super) fn fallback<'s>(&mut self, roles: Roles, value: &'s str, keep: Keep<'s, 'a>, at: At) {
        if roles.marked(Roles::QUIET.with(Roles::REPLY)) || value.len() > FALLBACK {
            return;
        }
        if has_structure(value) {
            return self.inside(value, keep, at.depth);
        }
        if self.findings.lines() < FALLBACKS && tells(value) {
            self.findings.line(value, keep, at.rank());
        }
    }
}

/// Whether a text may have documents in it, or be a page or a stream.
fn has_structure(text: &str) -> bool {
    memchr3(b'{', b'[', b'<', text.as_bytes()).is_some() || sse::is_stream(text)
}

/// Whether the first document of a text was escaped for a page, as by a log that is shown in a browser. Elsewhere it may stand in a string that echoes the prompt, and a page itself is read as one,
/// whatever its attributes hold.
fn has_escaped_document(text: &str) -> bool {
    let Some(at) = memchr(b'{', text.as_bytes()) else { return false };
    let (before, document) = text.split_at(at);
    let document = document.get(1..).unwrap_or_default().trim_start();
    ESCAPED_QUOTES.iter().any(|quote| document.starts_with(quote)) && !before.contains(['"', '<'])
}

/// Whether there is enough in a line to tell anything.
fn tells(line: &str) -> bool {
    let letters = line.bytes().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    letters.take(LETTERS).count() == LETTERS
}

/// Whether a string is nothing but a document or a stream, as gateways forward what they received.
pub(super) fn opens_document(text: &str) -> bool {
    let text = text.trim_start();
    match text.as_bytes().first() {
        Some(b'{' | b'[') => true,
        Some(b'd') => text.starts_with("data:"),
        Some(b'e') => text.starts_with("event:"),
        _ => false,
    }
}
