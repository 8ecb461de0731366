//! The forms of rule files, compiled: which header, field or wording says how long to wait.

use std::sync::Arc;

use jiff::Timestamp;

use super::{ServerDelay, Unit, Wait, instant, parse, quota};
use crate::config::Fact;
use crate::model::{DelayForm, DelaySource, Gate, GateTest};
use crate::ruleset::{Matched, PatternId};
use crate::signals::Signals;
use crate::source::Spanned;
use crate::status::StatusSet;

/// All forms in order of precedence; the first that yields a wait decides.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    forms: Vec<Form>,
}

#[derive(Debug)]
struct Form {
    name: Arc<str>,
    place: Place,
    unit: Unit,
    status: Option<StatusSet>,
}

#[derive(Debug)]
enum Place {
    Header { name: HeaderName, gate: Option<(HeaderName, GateTest)> },
    Field(String),
    Message(Vec<PatternId>),
}

/// A header's name in lower case, or a family of names: `*` stands for the bucket.
#[derive(Debug)]
struct HeaderName {
    prefix: String,
    /// After the `*`; `None` when the name has none.
    suffix: Option<String>,
}

/// What the forms look at.
pub(crate) struct Evidence<'e, 'a> {
    pub(crate) headers: &'e [(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)],
    pub(crate) signals: &'e Signals<'a>,
    pub(crate) matched: &'e Matched<'e>,
    pub(crate) status: Option<u16>,
    pub(crate) now: Option<Timestamp>,
}

impl Forms {
    /// Compiles the forms; `pattern` adds a message pattern to the set that is searched anyway.
    pub(crate) fn compile(forms: Vec<DelayForm>, mut pattern: impl FnMut(&Spanned<String>) -> Option<PatternId>) -> Self {
        let forms = forms.into_iter().map(|form| Form {
            name: form.id.value.into(),
            place: match form.source {
                DelaySource::Header(name) => Place::Header { name: HeaderName::new(&name), gate: form.gate.map(|Gate { header, test }| (HeaderName::new(&header), test)) },
                DelaySource::Field(path) => Place::Field(path.value),
                DelaySource::Message(patterns) => Place::Message(patterns.iter().filter_map(&mut pattern).collect()),
            },
            unit: form.unit,
            status: form.status.map(|status| status.value),
        });
        Self { forms: forms.collect() }
    }

    /// Whether some form looks at that header.
    pub(crate) fn concern(&self, header: &str) -> bool {
        let names = self.forms.iter().filter_map(|form| match &form.place {
            Place::Header { name, gate } => Some((name, gate)),
            Place::Field(_) | Place::Message(_) => None,
        });
        names.into_iter().any(|(name, gate)| name.bucket(header).is_some() || gate.as_ref().is_some_and(|(gate, _)| gate.bucket(header).is_some()))
    }

    /// The wait that the server asked for.
    pub(crate) fn read(&self, evidence: &Evidence<'_, '_>) -> Option<ServerDelay> {
        let of_status = self.forms.iter().filter(|form| form.status.is_none_or(|status| status.contains(evidence.status)));
        let mut waits = of_status.filter_map(|form| form.read(evidence).map(|wait| ServerDelay::new(wait, Arc::clone(&form.name))));
        let first = waits.next()?;
        // A form that says nothing is to be waited for may have been rounded, or be over; one of the others may know better.
        let is_none = |delay: &ServerDelay| length(delay.wait(), evidence.now).is_zero();
        if !is_none(&first) {
            return Some(first);
        }
        waits.find(|delay| !is_none(delay)).or(Some(first))
    }
}

impl Evidence<'_, '_> {
    /// An instant by the server's clock, which its `Date` header shows, as one by ours: neither need be right.
    fn by_our_clock(&self, wait: Wait) -> Wait {
        let Wait::At(at) = wait else { return wait };
        let date = || self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date")).and_then(|(_, value)| instant::http_date(value.trim()));
        let ours = self.now.and_then(|now| now.checked_add(at.duration_since(date()?)).ok());
        ours.map_or(wait, Wait::At)
    }
}

impl Form {
    fn read(&self, evidence: &Evidence<'_, '_>) -> Option<Wait> {
        let read = |text: &str| parse(text, self.unit, evidence.now);
        match &self.place {
            Place::Header { name, gate } => evidence
                .headers
                .iter()
                .filter_map(|(key, value)| Some((name.bucket(key)?, value)))
                .filter(|(bucket, _)| gate.as_ref().is_none_or(|(header, test)| header.holds(bucket, test, evidence)))
                .filter_map(|(_, value)| read(value).or_else(|| longest_of_list(value, evidence.now, read)).or_else(|| quota::read(value).map(Wait::After)))
                .map(|wait| evidence.by_our_clock(wait))
                // Several empty buckets: trying before the last of them is full again is futile.
                .max_by_key(|wait| length(*wait, evidence.now)),
            Place::Field(path) => evidence.signals.fields().iter().filter(|field| field.is(path)).find_map(|field| read(field.value())),
            Place::Message(patterns) => {
                let matched = patterns.iter().filter(|pattern| evidence.matched.contains(**pattern));
                matched.flat_map(|&pattern| evidence.matched.captured_all(pattern, Fact::Delay)).find_map(read)
            }
        }
    }
}

/// Proxies join a header that was sent twice: `5, 9`. Of numbers the longest wait counts; anything else with a comma is no list.
fn longest_of_list(value: &str, now: Option<Timestamp>, read: impl Fn(&str) -> Option<Wait>) -> Option<Wait> {
    const MAX_ITEMS: usize = 8;
    let items = || value.split(',').map(str::trim).take(MAX_ITEMS + 1);
    let numbers = items().all(|item| !item.is_empty() && item.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let is_list = numbers && (2..=MAX_ITEMS).contains(&items().count());
    is_list.then(|| items().filter_map(read).max_by_key(|wait| length(*wait, now)))?
}

/// For comparing waits of one response; without a clock, an instant counts from the epoch.
fn length(wait: Wait, now: Option<Timestamp>) -> std::time::Duration {
    wait.from(now.unwrap_or(Timestamp::UNIX_EPOCH))
}

impl HeaderName {
    fn new(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match name.split_once('*') {
            Some((prefix, suffix)) => Self { prefix: prefix.to_owned(), suffix: Some(suffix.to_owned()) },
            None => Self { prefix: name, suffix: None },
        }
    }

    /// The bucket that `*` stands for in this header's name; empty when the name has no `*`. `None` when it is another header.
    fn bucket<'k>(&self, key: &'k str) -> Option<&'k str> {
        let Some(suffix) = &self.suffix else {
            return key.eq_ignore_ascii_case(&self.prefix).then_some("");
        };
        let middle = self.prefix.len()..key.len().checked_sub(suffix.len())?;
        let bucket = key.get(middle.clone()).filter(|bucket| !bucket.is_empty())?;
        let matches = key.get(..middle.start)?.eq_ignore_ascii_case(&self.prefix) && key.get(middle.end..)?.eq_ignore_ascii_case(suffix);
        matches.then_some(bucket)
    }

    /// Whether the header of the same bucket passes the test. A bucket's header that is not there does not; a single header that is not there says nothing against it.
    fn holds(&self, bucket: &str, test: &GateTest, evidence: &Evidence<'_, '_>) -> bool {
        let same = |key: &str| self.bucket(key).is_some_and(|found| found.eq_ignore_ascii_case(bucket) || self.suffix.is_none());
        let mut values = evidence.headers.iter().filter(|(key, _)| same(key)).map(|(_, value)| value).peekable();
        if values.peek().is_none() {
            return self.suffix.is_none();
        }
        values.any(|value| passes(value, test))
    }
}

fn passes(value: &str, test: &GateTest) -> bool {
    let number = || value.trim().parse::<f64>().ok();
    match test {
        GateTest::Is(wanted) => value.trim().eq_ignore_ascii_case(wanted),
        GateTest::AtMost(bound) => number().is_some_and(|number| number <= *bound),
        GateTest::AtLeast(bound) => number().is_some_and(|number| number >= *bound),
    }
}

#[cfg(test)]
mod tests {
    use super::HeaderName;

    #[test]
    fn a_star_stands_for_the_bucket() {
        let cases = [
            ("x-ratelimit-reset-*", "X-RateLimit-Reset-Tokens", Some("Tokens")),
            ("x-ratelimit-reset-*", "x-ratelimit-reset-", None),
            ("anthropic-ratelimit-*-reset", "anthropic-ratelimit-input-tokens-reset", Some("input-tokens")),
            ("anthropic-ratelimit-*-reset", "anthropic-ratelimit-reset", None),
            ("retry-after", "Retry-After", Some("")),
            ("retry-after", "retry-after-ms", None),
        ];
        for (name, key, bucket) in cases {
            assert_eq!(HeaderName::new(name).bucket(key), bucket, "{name} {key}");
        }
    }
}
