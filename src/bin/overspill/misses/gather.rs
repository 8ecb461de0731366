//! Reading what the library wrote, recorded failures, or both.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use overspill::{Class, Failure, Miss, Misses, Ruleset, Verdict};
use serde_json::{Map, Value};

use super::trend::Span;
use crate::failure;
use crate::input;
use crate::output::{Failed, notes};
use crate::plain::plain;
use crate::progress::Progress;

/// Recorded failures are counted together within this many seconds.
const BUCKET_SECONDS: i64 = 3600;
/// More recorded failures than this are not kept to try a rule on.
const MAX_KEPT: usize = 200_000;
/// More unreadable lines than this are not told one by one.
const MAX_ERRORS: usize = 10;

/// All misses of a file.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The most frequent first.
    pub(crate) misses: Vec<Miss>,
    pub(super) spans: Vec<Span>,
    pub(super) errors: Vec<(usize, String)>,
    /// The failures themselves, where they were asked for.
    pub(crate) recorded: Vec<Recorded>,
}

/// A recorded failure, and what becomes of it now.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) line: usize,
    pub(crate) failure: Failure<'static>,
    pub(crate) class: Class,
    /// The rule that recognises it.
    pub(crate) rule: Option<String>,
    /// Where none does: what kind it is of.
    kind: Option<Key>,
}

impl Recorded {
    pub(crate) fn is_of(&self, miss: &Miss) -> bool {
        self.kind.as_ref() == Some(&key(miss))
    }
}

impl Gathered {
    /// Says on standard error which lines could not be read.
    pub(crate) fn tell_unread(&self) -> io::Result<()> {
        let mut notes = notes();
        self.errors.iter().try_for_each(|(line, error)| writeln!(notes, "line {line}: {}", plain(error)))
    }

    /// Why there are no misses in it, or none of that number.
    pub(crate) fn lacks(&self) -> String {
        let unread: Vec<_> = self.errors.iter().map(|(line, error)| format!("line {line}: {error}")).collect();
        match (self.misses.len(), self.failures(), unread.first()) {
            (0, 0, None) => "it is empty".to_owned(),
            (0, 0, Some(first)) => format!("nothing in it can be read ({first})"),
            (0, _, None) => "every failure in it is recognised by a rule".to_owned(),
            (0, _, Some(first)) => format!("every failure in it that can be read is recognised by a rule ({first})"),
            (count, ..) => format!("it has templates 1 to {count}; `overspill misses` shows them"),
        }
    }

    pub(super) fn failures(&self) -> u64 {
        self.spans.iter().map(|span| span.failures).sum()
    }

    pub(super) fn missed(&self) -> u64 {
        // The templates may be fewer, since rare ones make room, and the spans may be missing.
        let spans: u64 = self.spans.iter().map(|span| span.misses).sum();
        let templates: u64 = self.misses.iter().map(|miss| miss.count).sum();
        spans.max(templates)
    }
}

/// Recorded failures and misses by provider and time.
type Buckets = BTreeMap<(String, Option<i64>), (u64, u64)>;

/// What makes two misses the same.
type Key = (String, Option<u16>, Vec<String>, String);

fn key(miss: &Miss) -> Key {
    (miss.provider.clone(), miss.status, miss.codes.clone(), miss.template.clone())
}

/// What kind a single failure is of, when no rule recognises it.
pub(crate) fn kind(ruleset: &Ruleset, failure: &Failure<'_>) -> Option<Miss> {
    let store = Misses::new();
    store.record(ruleset, failure, &ruleset.evaluate(failure), None);
    store.list().pop()
}

/// Reads them all; the failures themselves are kept where somebody wants to try a rule on them.
pub(crate) fn gather(ruleset: &Ruleset, file: Option<&Path>, keeps: bool) -> Result<Gathered, Failed> {
    let mut misses: BTreeMap<Key, Miss> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut spans = Vec::new();
    let mut recorded = Buckets::new();
    let mut errors = Vec::new();
    let store = Misses::new();
    let mut progress = Progress::of_bytes(0);
    input::for_each_object(file, |line| {
        progress.add(line.bytes);
        let read = line.object.and_then(|object| {
            if object.contains_key("miss") || is_told(&object) {
                add(&mut misses, read_miss(&object)?);
            } else if object.contains_key("kinds") && object.contains_key("unreadable") {
                // What `misses --format json` says at its end: its sums are in the lines before.
            } else if object.contains_key("share") {
                spans.push(read_span(&object)?);
            } else {
                let (failure, verdict) = record(ruleset, &store, &mut recorded, object)?;
                if keeps && kept.len() < MAX_KEPT {
                    let kind = kind(ruleset, &failure).map(|miss| key(&miss));
                    kept.push(Recorded { line: line.number, class: verdict.class(), rule: verdict.rule().map(str::to_owned), kind, failure });
                }
            }
            Ok(())
        });
        if let Err(error) = read
            && errors.len() < MAX_ERRORS
        {
            errors.push((line.number, error));
        }
        Ok(())
    })?;
    store.list().into_iter().for_each(|miss| add(&mut misses, miss));
    spans.extend(recorded.into_iter().map(|((provider, bucket), (failures, misses))| {
        let time = |bucket: i64| Timestamp::from_second(bucket * BUCKET_SECONDS).ok();
        let (from, to) = (bucket.and_then(time), bucket.and_then(|bucket| time(bucket + 1)));
        Span { provider, time: from.zip(to), failures, misses }
    }));
    let mut misses: Vec<_> = misses.into_values().collect();
    // The map's order decides between equals, so that the numbers of templates stay from call to call.
    misses.sort_by_key(|miss| std::cmp::Reverse(miss.count));
    Ok(Gathered { misses, spans, errors, recorded: kept })
}

fn add(misses: &mut BTreeMap<Key, Miss>, miss: Miss) {
    let key = key(&miss);
    match misses.get_mut(&key) {
        None => {
            misses.insert(key, miss);
        }
        Some(known) => {
            known.count = known.count.saturating_add(miss.count);
            known.first_seen = known.first_seen.into_iter().chain(miss.first_seen).min();
            known.last_seen = known.last_seen.max(miss.last_seen);
        }
    }
}

fn record(ruleset: &Ruleset, store: &Misses, recorded: &mut Buckets, object: Map<String, Value>) -> Result<(Failure<'static>, Verdict), String> {
    let dated = object.get("now").is_some_and(|now| !now.is_null());
    let input = failure::read(object)?;
    let at = dated.then_some(input.now);
    let verdict = ruleset.evaluate(&input.failure);
    store.record(ruleset, &input.failure, &verdict, at);
    let provider = input.failure.provider_name().and_then(|name| ruleset.provider(name)).map_or(String::new(), |provider| provider.name().to_owned());
    let count = recorded.entry((provider, at.map(|at| at.as_second().div_euclid(BUCKET_SECONDS)))).or_default();
    count.0 += 1;
    count.1 += u64::from(verdict.is_miss());
    Ok((input.failure, verdict))
}

/// Whether it is a miss as `misses --format json` tells it.
fn is_told(object: &Map<String, Value>) -> bool {
    ["number", "template", "count"].iter().all(|key| object.contains_key(*key))
}

fn read_miss(object: &Map<String, Value>) -> Result<Miss, String> {
    let template = if object.contains_key("miss") { "miss" } else { "template" };
    let class = text(object, "class")?;
    let codes = object.get("codes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Miss {
        provider: text(object, "provider")?,
        status: object.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok()),
        class: Class::from_name(&class).ok_or_else(|| format!("`class` is \"{class}\", which is no class"))?,
        codes,
        template: text(object, template)?,
        count: count(object, "count")?,
        first_seen: time(object, "first_seen")?,
        last_seen: time(object, "last_seen")?,
    })
}

fn read_span(object: &Map<String, Value>) -> Result<Span, String> {
    let time = time(object, "from")?.zip(time(object, "to")?);
    if time.is_some_and(|(from, to)| to < from) {
        return Err("`to` is before `from`".to_owned());
    }
    let (failures, misses) = (count(object, "failures")?, count(object, "misses")?);
    if misses > failures {
        return Err(format!("{misses} misses of {failures} failures are impossible"));
    }
    Ok(Span { provider: text(object, "share")?, time, failures, misses })
}

fn text(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("`{key}` is no string"))
}

fn count(object: &Map<String, Value>, key: &str) -> Result<u64, String> {
    object.get(key).and_then(Value::as_u64).ok_or_else(|| format!("`{key}` is no whole number"))
}

fn time(object: &Map<String, Value>, key: &str) -> Result<Option<Timestamp>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().and_then(|text| text.parse().ok()).map(Some).ok_or_else(|| format!("`{key}` is no RFC 3339 time")),
    }
}
