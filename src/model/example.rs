//! `[[rule.example]]`: a recorded failure that its rule wins, or must not win.

use super::reader::{Entry, Table};
use crate::class::Class;
use crate::diagnostic::Code;
use crate::failure::{Failure, Transport, UsageTold};
use crate::source::{Location, Spanned};

/// A failure as an example writes it, and what is expected of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Example {
    pub(crate) at: Option<Location>,
    /// `not = true`: the rule must not win.
    pub(crate) negative: bool,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) transport: Option<Transport>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) provider: Option<Spanned<String>>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<String>,
    pub(crate) estimate: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) expect: Expect,
}

/// What the verdict must say; what is left out is not looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expect {
    pub(crate) class: Option<Spanned<Class>>,
    pub(crate) limit: Option<Spanned<u64>>,
    pub(crate) requested: Option<Spanned<u64>>,
    pub(crate) output_limit: Option<Spanned<u64>>,
}

impl Example {
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let text = |table: &mut Table<'_>, key| table.get(key).and_then(|entry| entry.text()).map(|text| text.value);
        let count = |table: &mut Table<'_>, key| table.get(key).and_then(|entry| entry.count()).map(|count| count.value);
        let status = table.get("status").and_then(|entry| read_status(&entry));
        let example = Self {
            at: Some(table.at()),
            negative: table.get("not").and_then(|entry| entry.boolean()).is_some_and(|not| *not),
            status,
            headers: table.get("headers").and_then(|entry| entry.inline_table("headers = { retry-after = \"12\" }")).map(|table| read_headers(&table)).unwrap_or_default(),
            body: text(&mut table, "body"),
            message: text(&mut table, "message"),
            transport: table.get("transport").and_then(|entry| Transport::from_name(entry.one_of(&Transport::ALL.map(Transport::name))?)),
            finish_reason: text(&mut table, "finish_reason"),
            event: text(&mut table, "event"),
            provider: table.get("provider").and_then(|entry| entry.text()),
            model: text(&mut table, "model"),
            usage: text(&mut table, "usage"),
            estimate: count(&mut table, "estimate"),
            window: count(&mut table, "window"),
            expect: table.get("expect").and_then(|entry| entry.inline_table("expect = { class = \"context_overflow\", limit = 200_000 }")).map(Expect::read).unwrap_or_default(),
        };
        table.finish();
        example
    }

    /// The example as a failure of `provider`, unless it names one itself.
    pub(crate) fn failure<'a>(&'a self, provider: &'a str) -> Failure<'a> {
        let mut failure = Failure::new();
        failure.provider = Some(self.provider.as_ref().map_or(provider, |own| own.as_str()).into());
        failure.model = self.model.as_deref().map(Into::into);
        failure.transport = self.transport;
        failure.status = self.status;
        failure.headers = self.headers.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect();
        failure.body = self.body.as_deref().map(|body| body.as_bytes().into());
        failure.message = self.message.as_deref().map(Into::into);
        failure.finish_reason = self.finish_reason.as_deref().map(Into::into);
        failure.event = self.event.as_deref().map(Into::into);
        failure.usage = self.usage.as_deref().map(|usage| UsageTold::Json(usage.into()));
        failure.estimate = self.estimate;
        failure.window = self.window;
        failure
    }

    /// Whether there is anything that a rule could look at.
    pub(crate) fn is_empty(&self) -> bool {
        let texts = [&self.body, &self.message, &self.finish_reason, &self.event, &self.usage];
        self.status.is_none() && self.headers.is_empty() && texts.iter().all(|text| text.is_none())
    }
}

fn read_status(entry: &Entry<'_>) -> Option<u16> {
    let status = entry.count()?;
    let known = u16::try_from(*status).ok().filter(|status| (100..600).contains(status));
    known.or_else(|| entry.invalid(Code::InvalidStatus, format!("`{}` is no HTTP status", *status), "write the code that the response had, from 100 to 599"))
}

fn read_headers(table: &Table<'_>) -> Vec<(String, String)> {
    table.entries().into_iter().filter_map(|(name, entry)| Some((name.value, entry.scalar_text()?.value))).collect()
}

impl Expect {
    fn read(mut table: Table<'_>) -> Self {
        let expect = Self {
            class: table.get("class").and_then(|entry| entry.class()),
            limit: table.get("limit").and_then(|entry| entry.count()),
            requested: table.get("requested").and_then(|entry| entry.count()),
            output_limit: table.get("output_limit").and_then(|entry| entry.count()),
        };
        table.finish();
        expect
    }
}
