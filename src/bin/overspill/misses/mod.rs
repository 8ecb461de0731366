//! `misses`: the kinds of failures that no rule recognised, the most frequent first, and where their share rises.

mod gather;
mod trend;

pub(crate) use self::gather::{Gathered, Recorded, gather, kind};

use std::io::{self, Write};

use jiff::Timestamp;
use overspill::Miss;
use serde_json::{Value, json};

use self::trend::Trend;
use crate::arguments::{Common, Format, Misses};
use crate::describe::thousands;
use crate::output::{Failed, Outcome, finish, results};
use crate::plain::plain;
use crate::rules;
use crate::style::{BAD, CAUTION, FAINT, NAME, STRONG, counted, paint, plural};

pub(crate) fn run(common: &Common, command: &Misses) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json])?;
    let overspill = rules::load(common)?;
    let gathered = gather(&overspill.ruleset(), command.file.as_deref(), false)?;
    let outcome = if gathered.errors.is_empty() { Outcome::Done } else { Outcome::ProblemsFound };
    finish(print(&gathered, command.top, format), outcome)
}

fn print(gathered: &Gathered, top: usize, format: Format) -> io::Result<()> {
    gathered.tell_unread()?;
    let trends = trend::of(&gathered.spans);
    let turn = trend::turn(&gathered.spans);
    let shown = gathered.misses.iter().take(top).enumerate();
    let mut out = results();
    if format == Format::Json {
        for (index, miss) in shown {
            writeln!(out, "{}", miss_json(index + 1, miss, is_new(miss, turn)))?;
        }
        writeln!(out, "{}", summary(gathered, &trends))?;
        return out.flush();
    }
    for (index, miss) in shown {
        write!(out, "{}", miss_text(index + 1, miss, is_new(miss, turn)))?;
    }
    let (kinds, hidden) = (gathered.misses.len(), gathered.misses.len().saturating_sub(top));
    if hidden > 0 {
        writeln!(out, "and {hidden} more kinds; --top shows more\n")?;
    }
    writeln!(out, "{}", sentence(gathered, kinds))?;
    for trend in trends.iter().filter(|trend| trend.rising()) {
        let (before, recent) = (paint(FAINT, share(trend.before())), paint(BAD, share(trend.recent())));
        writeln!(out, "{} {}: {before} before {}, {recent} since", paint(CAUTION, "rising"), paint(NAME, plain(named(&trend.provider))), date(trend.turn))?;
    }
    out.flush()
}

fn miss_text(number: usize, miss: &Miss, new: bool) -> String {
    let status = miss.status.map_or(String::new(), |status| format!(" {status}"));
    let times = match (miss.first_seen, miss.last_seen) {
        (Some(first), Some(last)) if first == last => format!("  seen {}", date(first)),
        (Some(first), Some(last)) => format!("  first {}, last {}", date(first), date(last)),
        _ => String::new(),
    };
    let new = if new { format!("  {}", paint(CAUTION, "new")) } else { String::new() };
    let count = paint(STRONG, format!("{}x", thousands(miss.count)));
    let mut text = format!("{number:>3}  {count}  {}{status} {}{}{new}\n", paint(NAME, plain(named(&miss.provider))), miss.class, paint(FAINT, times));
    if miss.template.is_empty() {
        text += "     (no text)\n";
    }
    miss.template.lines().for_each(|line| text += &format!("     {}\n", plain(line)));
    if !miss.codes.is_empty() {
        text += &format!("     {}\n", paint(FAINT, format!("codes: {}", plain(&miss.codes.join(", ")))));
    }
    text + "\n"
}

fn named(provider: &str) -> &str {
    if provider.is_empty() { "unknown provider" } else { provider }
}

fn is_new(miss: &Miss, turn: Option<Timestamp>) -> bool {
    miss.first_seen.zip(turn).is_some_and(|(first, turn)| first >= turn)
}

/// To the minute: nobody looks for a wording by its second.
fn date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

fn share(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn sentence(gathered: &Gathered, kinds: usize) -> String {
    let missed = gathered.missed();
    let misses = format!("{} {} of {}", thousands(missed), plural(missed as usize, "miss"), counted(kinds, "kind"));
    match gathered.failures() {
        0 => misses,
        failures => format!("{misses}, {} of {} {}", share(missed as f64 / failures as f64), thousands(failures), plural(failures as usize, "failure")),
    }
}

fn miss_json(number: usize, miss: &Miss, new: bool) -> Value {
    json!({
        "number": number,
        "provider": miss.provider,
        "status": miss.status,
        "class": miss.class.name(),
        "codes": miss.codes,
        "template": miss.template,
        "count": miss.count,
        "first_seen": miss.first_seen.map(|time| time.to_string()),
        "last_seen": miss.last_seen.map(|time| time.to_string()),
        "new": new,
    })
}

fn summary(gathered: &Gathered, trends: &[Trend]) -> Value {
    let rising: Vec<_> = trends
        .iter()
        .filter(|trend| trend.rising())
        .map(|trend| json!({ "provider": trend.provider, "before": trend.before(), "recent": trend.recent(), "since": trend.turn.to_string() }))
        .collect();
    json!({ "failures": gathered.failures(), "misses": gathered.missed(), "kinds": gathered.misses.len(), "unreadable": gathered.errors.len(), "rising": rising })
}
