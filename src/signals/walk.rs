//! Sorts what a document says by the roles of its keys.

use std::borrow::Cow;

use super::extract::{Extractor, Mode, opens_document};
use super::findings::{Keep, copy};
use super::literal::{Place, Scalar, Sink};
use super::vocabulary::Role;

/// Where in the nest of documents a string is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// How many strings are around its document.
    pub(super) depth: usize,
    /// How many containers of its document are around it.
    pub(super) containers: usize,
}

impl At {
    /// The order of lines: by the strings around, then by the containers.
    pub(super) fn rank(self) -> usize {
        self.depth * 128 + self.containers
    }
}

/// Takes what one document says.
pub(super) struct Walk<'x, 'a, 'v, 's> {
    /// Where it goes.
    pub(super) extractor: &'x mut Extractor<'a, 'v>,
    /// How to keep a part of the text.
    pub(super) keep: Keep<'s, 'a>,
    /// How many strings are around the document.
    pub(super) depth: usize,
}

impl<'a, 's> Walk<'_, 'a, '_, 's> {
    /// The keys down to a value, dotted.
    fn path(&self, place: Place<'_, 's>) -> Cow<'a, str> {
        let mut path = Cow::Borrowed("");
        for key in place.path() {
            if path.is_empty() {
                path = (self.keep)(key);
                continue;
            }
            let path = path.to_mut();
            path.push('.');
            path.push_str(key);
        }
        path
    }

    /// Takes a string, unescaped or never escaped.
    fn string<'n>(&mut self, place: Place<'_, 's>, value: &'n str, keep: Keep<'n, 'a>) {
        let at = At { depth: self.depth, containers: place.depth() };
        if self.extractor.mode() == Mode::Everything {
            return self.extractor.fallback(place.roles, value, keep, at);
        }
        if place.roles.has(Role::Field) {
            let path = self.path(place);
            self.extractor.findings.field(path, value, keep);
        }
        self.extractor.string(place.roles, value, keep, at);
    }
}

impl<'s> Sink<'s> for Walk<'_, '_, '_, 's> {
    fn scalar(&mut self, place: Place<'_, 's>, value: Scalar<'s>) {
        let quoted = match value {
            Scalar::Text(quoted) => quoted,
            Scalar::Word(_) if self.extractor.mode() == Mode::Everything => return,
            Scalar::Word(word) => {
                if place.roles.has(Role::Field) {
                    let path = self.path(place);
                    self.extractor.findings.field(path, word, self.keep);
                }
                return self.extractor.word(place.roles, word, self.keep);
            }
        };
        let wanted = place.roles.given() || opens_document(quoted.raw) || self.extractor.mode() == Mode::Everything;
        if !wanted {
            return;
        }
        if let Some(plain) = quoted.plain() {
            return self.string(place, plain, self.keep);
        }
        if self.extractor.findings.spend(quoted.raw.len()) {
            self.string(place, &quoted.decode(), copy);
        }
    }

    fn echo(&mut self) {
        // Such a document must not stay in its sentence, even if nothing else is in it.
        self.extractor.findings.set_learned();
    }
}
