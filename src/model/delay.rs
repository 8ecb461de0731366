//! `[[delay]]`: one form in which servers say how long to wait.

use super::name::{read_header_name, read_path};
use super::reader::{Entry, Table};
use crate::delay::Unit;
use crate::diagnostic::{Code, Problem};
use crate::source::Spanned;
use crate::status::StatusSet;

/// One form. Forms are tried in the order of the file; the first that yields a wait decides.
#[derive(Clone, Debug)]
pub(crate) struct DelayForm {
    pub(crate) id: Spanned<String>,
    pub(crate) source: DelaySource,
    pub(crate) unit: Unit,
    pub(crate) gate: Option<Gate>,
    pub(crate) status: Option<Spanned<StatusSet>>,
}

/// Where the form looks.
#[derive(Clone, Debug)]
pub(crate) enum DelaySource {
    /// A response header; `*` stands for the name of a bucket.
    Header(Spanned<String>),
    /// A field of a structured body, by the end of its dotted path.
    Field(Spanned<String>),
    /// The `delay` group of a pattern over the message.
    Message(Vec<Spanned<String>>),
}

/// A second header that must hold for the first to count: a bucket's reset only counts when that bucket is empty.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) header: Spanned<String>,
    pub(crate) test: GateTest,
}

#[derive(Clone, Debug)]
pub(crate) enum GateTest {
    Is(String),
    AtMost(f64),
    AtLeast(f64),
}

impl DelayForm {
    pub(crate) fn read(mut table: Table<'_>) -> Option<Self> {
        let id = table.get("id").map(|entry| entry.text());
        if id.is_none() {
            table.missing("id", "name the form: verdicts say which one a wait came from");
        }
        let header = table.get("header").and_then(|entry| read_header_name(&entry, true));
        let field = table.get("field").and_then(|entry| read_path(&entry));
        let message = table.get("message").map(|entry| entry.texts());
        let unit = table.get("unit").map_or(Some(Unit::Seconds), |entry| read_unit(&entry));
        let gate = table.get("only_if").and_then(|entry| entry.inline_table("only_if = { header = \"x-ratelimit-remaining-*\", at_most = 0 }")).and_then(read_gate);
        let status = table.get("status").map(|entry| entry.statuses());
        let source = match ["header", "field", "message"].iter().filter(|key| table.is_given(key)).count() {
            0 => {
                table.missing("header", "say where to look: exactly one of `header`, `field` and `message`");
                None
            }
            1 => header.map(DelaySource::Header).or(field.map(DelaySource::Field)).or(message.map(DelaySource::Message)),
            _ => {
                let problem = Problem::new(Code::InvalidValue, table.at(), "[[delay]] looks in more than one place");
                table.reader().report(problem.hint("give exactly one of `header`, `field` and `message`, and write a form for each"));
                None
            }
        };
        table.finish();
        Some(Self { id: id??, source: source?, unit: unit?, gate, status })
    }
}

fn read_unit(entry: &Entry<'_>) -> Option<Unit> {
    Some(match entry.one_of(&["ms", "s", "epoch", "epoch_ms", "instant"])? {
        "ms" => Unit::Milliseconds,
        "s" => Unit::Seconds,
        "epoch" => Unit::EpochSeconds,
        "epoch_ms" => Unit::EpochMilliseconds,
        _ => Unit::Instant,
    })
}

fn read_gate(mut table: Table<'_>) -> Option<Gate> {
    let header = table.get("header").map(|entry| read_header_name(&entry, true));
    if header.is_none() {
        table.missing("header", "name the header that must hold");
    }
    let is = table.get("is").and_then(|entry| entry.scalar_text());
    let at_most = table.get("at_most").and_then(|entry| entry.number());
    let at_least = table.get("at_least").and_then(|entry| entry.number());
    let given = ["is", "at_most", "at_least"].iter().filter(|key| table.is_given(key)).count();
    let test = is.map(|is| GateTest::Is(is.value)).or(at_most.map(|bound| GateTest::AtMost(bound.value))).or(at_least.map(|bound| GateTest::AtLeast(bound.value)));
    if given != 1 {
        let (message, code) = if given == 0 { ("`only_if` needs a test", Code::MissingKey) } else { ("`only_if` has more than one test", Code::InvalidValue) };
        table.reader().report(Problem::new(code, table.at(), message).hint("give exactly one of `is`, `at_most` and `at_least`"));
    }
    table.finish();
    Some(Gate { header: header??, test: test.filter(|_| given == 1)? })
}
