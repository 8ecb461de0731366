//! What is read out of a failure, once, before any rule looks at it.
//!
//! A failure comes as a JSON body, as the text of an exception with a printed dictionary in it, as
//! a page of a proxy, as an event of a stream, or as one of them escaped inside another. Rules must
//! not care: they see texts in one spelling, codes, and fields. What a body echoes of the request
//! is not read.

mod bounds;
mod code;
mod extract;
mod findings;
mod html;
mod lines;
mod literal;
mod lookup;
mod number;
mod sse;
mod start;
mod string;
mod text;
mod vocabulary;
mod walk;
mod xml;

use std::borrow::Cow;

use bounds::{Excerpt, excerpt};
use extract::{Extractor, Mode};
use findings::copy;
pub(crate) use text::normalise as in_one_spelling;
pub(crate) use vocabulary::{Role, Vocabulary};

/// The raw evidence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sources<'a> {
    /// The body of the response, in whatever encoding.
    pub body: Option<&'a [u8]>,
    /// The text of an exception.
    pub message: Option<&'a str>,
}

/// What was read out of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals<'a> {
    /// One line per text.
    text: Cow<'a, str>,
    /// Machine-readable codes.
    codes: Vec<Cow<'a, str>>,
    /// The stated HTTP status.
    status: Option<u16>,
    /// Finish reasons.
    finish_reasons: Vec<Cow<'a, str>>,
    /// Scalars that rules read by name.
    fields: Vec<Field<'a>>,
    /// The name of an event of a stream.
    event: Option<Cow<'a, str>>,
    /// Whether there was nothing to read.
    empty: bool,
    /// Whether something was not read.
    truncated: bool,
}

/// A scalar of a structured body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// The keys down to it.
    path: Cow<'a, str>,
    /// What it says.
    value: Cow<'a, str>,
}

impl Signals<'_> {
    /// The human-readable texts, normalised, one a line, the outermost first.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The machine-readable codes and types, and the names of exceptions, each once.
    pub(crate) fn codes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.codes.iter().map(AsRef::as_ref)
    }

    /// The HTTP error status that the body states.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    /// Why the generation ended, as the body says.
    pub(crate) fn finish_reasons(&self) -> impl ExactSizeIterator<Item = &str> {
        self.finish_reasons.iter().map(AsRef::as_ref)
    }

    /// The scalars that rules read by name.
    pub(crate) fn fields(&self) -> &[Field<'_>] {
        &self.fields
    }

    /// The name of the event, of a stream.
    pub(crate) fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// Whether there was neither a body nor a message worth the name.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Whether a bound was reached, so that something was not read.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }
}

impl Field<'_> {
    /// The keys down to the value, dotted, without array indices: `error.details.retryDelay`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value: a string unescaped, anything else as it was written.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

/// Reads everything that rules look at. Takes time in proportion to the first and last 64 KiB of
/// each source at most, and never fails: what cannot be understood is text.
pub(crate) fn extract<'a>(sources: Sources<'a>, vocabulary: &Vocabulary) -> Signals<'a> {
    let message = sources.message.map(str::as_bytes);
    // Some clients put the body into both.
    let message = message.filter(|message| sources.body.is_none_or(|body| body != *message));
    let mut extractor = Extractor::new(vocabulary);
    let sources = [sources.body, message];
    for source in sources.into_iter().flatten() {
        read(&mut extractor, source);
    }
    if extractor.findings.lines() == 0 {
        extractor.set_mode(Mode::Everything);
        for source in sources.into_iter().flatten() {
            read(&mut extractor, source);
        }
    }
    let mut signals = extractor.findings.finish();
    signals.empty = sources.into_iter().flatten().all(is_blank);
    signals
}

/// Reads one source.
fn read<'a>(extractor: &mut Extractor<'a, '_>, source: &'a [u8]) {
    match excerpt(source) {
        Excerpt::Whole(Cow::Borrowed(text)) => {
            extractor.source(text, Cow::Borrowed, 0);
        }
        Excerpt::Whole(Cow::Owned(text)) => {
            extractor.source(&text, copy, 0);
        }
        Excerpt::Ends(head, tail) => {
            extractor.findings.set_truncated();
            let inside = extractor.source(&head, copy, 0);
            extractor.tail(&tail, copy, inside);
        }
    }
}

/// Whether a source says nothing.
fn is_blank(source: &[u8]) -> bool {
    matches!(source.trim_ascii(), b"" | b"{}" | b"[]" | b"null" | b"\"\"")
}

#[cfg(test)]
mod tests;
