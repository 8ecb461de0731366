//! What was found so far, each kind within its bounds.

use std::borrow::Cow;

use super::code;
use super::lines::Lines;
use super::text::normalise;
use super::{Field, Signals};

/// Borrows from a source, or copies from what was unescaped on the way.
pub(super) type Keep<'s, 'a> = fn(&'s str) -> Cow<'a, str>;

/// Most codes.
const CODES: usize = 32;

/// Most finish reasons.
const FINISH_REASONS: usize = 8;

/// Most fields.
const FIELDS: usize = 64;

/// Longest value of a field.
const VALUE: usize = 1024;

/// Most bytes that are unescaped.
const DECODED: usize = 256 * 1024;

/// Collects signals.
pub(super) struct Findings<'a> {
    /// How many more bytes may be unescaped.
    budget: usize,
    /// How much was learned: a document that teaches nothing is no document.
    learned: usize,
    /// Lines of text.
    lines: Lines<'a>,
    /// All the rest.
    signals: Signals<'a>,
}

impl<'a> Findings<'a> {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self { budget: DECODED, learned: 0, lines: Lines::default(), signals: Signals::default() }
    }

    /// How much was learned so far.
    pub(super) fn learned(&self) -> usize {
        self.learned
    }

    /// Notes that a document was one, whatever it said.
    pub(super) fn set_learned(&mut self) {
        self.learned += 1;
    }

    /// How many lines of text there are.
    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Notes that something was left out.
    pub(super) fn set_truncated(&mut self) {
        self.signals.truncated = true;
    }

    /// Everything that was found.
    pub(super) fn finish(self) -> Signals<'a> {
        let truncated = self.signals.truncated || self.lines.truncated();
        Signals { text: self.lines.join(), truncated, ..self.signals }
    }

    /// Takes a line of text, and the names of exceptions in it.
    pub(super) fn line<'s>(&mut self, line: &'s str, keep: Keep<'s, 'a>, rank: usize) {
        let line = lift(normalise(line), keep);
        if line.is_empty() || code::is_absent(&line) {
            return;
        }
        self.learned += 1;
        match &line {
            Cow::Borrowed(text) => code::exceptions(text, |name| self.code(name, Cow::Borrowed)),
            Cow::Owned(text) => code::exceptions(text, |name| self.code(name, copy)),
        }
        self.lines.push(rank, line);
    }

    /// Takes a code.
    pub(super) fn code<'s>(&mut self, code: &'s str, keep: Keep<'s, 'a>) {
        self.learned += 1;
        let codes = &mut self.signals.codes;
        if codes.iter().any(|known| known.eq_ignore_ascii_case(code)) {
            return;
        }
        if codes.len() >= CODES {
            self.signals.truncated = true;
            return;
        }
        codes.push(keep(code));
    }

    /// Takes an HTTP status; the first one counts.
    pub(super) fn status(&mut self, status: u16) {
        self.learned += 1;
        if (400..600).contains(&status) {
            self.signals.status.get_or_insert(status);
        }
    }

    /// Takes the name of an event; one that tells of a failure outranks the others.
    pub(super) fn event<'s>(&mut self, name: &'s str, keep: Keep<'s, 'a>) {
        let tells = |name: &str| ["error", "fail", "incomplete"].iter().any(|word| name.contains(word));
        if name.is_empty() || self.signals.event.as_deref().is_some_and(tells) && !tells(name) {
            return;
        }
        self.signals.event = Some(keep(name));
    }

    /// Takes a finish reason.
    pub(super) fn finish_reason<'s>(&mut self, reason: &'s str, keep: Keep<'s, 'a>) {
        if reason.is_empty() || reason.len() > VALUE || code::is_absent(reason) {
            return;
        }
        self.learned += 1;
        let reasons = &mut self.signals.finish_reasons;
        if reasons.len() < FINISH_REASONS && !reasons.iter().any(|known| known.eq_ignore_ascii_case(reason)) {
            reasons.push(keep(reason));
        }
    }

    /// Takes a field.
    pub(super) fn field<'s>(&mut self, path: Cow<'a, str>, value: &'s str, keep: Keep<'s, 'a>) {
        if value.len() > VALUE || path.len() > VALUE || code::is_absent(value) {
            return;
        }
        self.learned += 1;
        if self.signals.fields.len() >= FIELDS {
            self.signals.truncated = true;
            return;
        }
        self.signals.fields.push(Field { path, value: keep(value) });
    }

    /// Whether so many more bytes may be unescaped.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        let Some(rest) = self.budget.checked_sub(bytes) else {
            self.signals.truncated = true;
            return false;
        };
        self.budget = rest;
        true
    }
}

/// A copy of a part of a text that does not last.
pub(super) fn copy<'a>(part: &str) -> Cow<'a, str> {
    Cow::Owned(part.to_owned())
}

/// Keeps a text: what is owned already needs no copy.
fn lift<'s, 'a>(text: Cow<'s, str>, keep: Keep<'s, 'a>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => keep(text),
        Cow::Owned(text) => Cow::Owned(text),
    }
}
