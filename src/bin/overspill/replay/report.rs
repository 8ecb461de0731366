//! What a replay found, for people, for pull requests and for programs.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::change::{Answer, Cost, GroupKey, Sides};
use super::{Found, Group};
use crate::arguments::Format;
use crate::describe::{self, thousands};
use crate::output::{notes, results};
use crate::plain::plain;
use crate::style::{BAD, FAINT, GOOD, NAME, STRONG, paint, plural};

/// So many characters of an id are shown to people.
const MAX_ID: usize = 80;

pub(super) fn print(found: &Found, sides: &Sides<'_>, format: Format) -> io::Result<()> {
    let mut groups: Vec<_> = found.groups.iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    {
        let mut notes = notes();
        for (line, error) in &found.errors {
            writeln!(notes, "line {line}: {}", plain(error))?;
        }
        let untold = found.unreadable.saturating_sub(found.errors.len() as u64);
        if untold > 0 {
            writeln!(notes, "and {} more", thousands(untold))?;
        }
    }
    let mut out = results();
    match format {
        Format::Json => {
            groups.iter().try_for_each(|(key, group)| writeln!(out, "{}", group_json(key, group)))?;
            writeln!(out, "{}", summary(found, sides))?;
        }
        Format::Markdown => write!(out, "{}", markdown(found, &groups))?,
        _ => write!(out, "{}", text(found, &groups))?,
    }
    out.flush()
}

fn changes(found: &Found) -> u64 {
    found.groups.values().map(|group| group.count).sum()
}

fn total(found: &Found) -> Cost {
    let mut total = Cost::default();
    found.groups.values().for_each(|group| total.add(group.cost));
    total
}

/// `12 of 1,491 recorded failures change their verdict (0.8 %)`.
fn sentence(found: &Found) -> String {
    let (changes, all) = (changes(found), found.failures);
    let failures = format!("{} recorded {}", thousands(all), plural(all as usize, "failure"));
    if changes == 0 {
        return format!("no verdict changes, of {failures}");
    }
    let share = 100.0 * changes as f64 / (all.max(1)) as f64;
    format!("{} of {failures} {} ({share:.1} %)", thousands(changes), if changes == 1 { "changes its verdict" } else { "change their verdicts" })
}

fn text(found: &Found, groups: &[(&GroupKey, &Group)]) -> String {
    let mut text = String::new();
    for (key, group) in groups {
        let GroupKey { provider, from, to, .. } = key;
        let count = thousands(group.count);
        text += &format!("{} {}: {} -> {}\n", paint(STRONG, format!("{count}x")), paint(NAME, provider), answer(from), answer(to));
        text += &format!("  by      {} -> {}\n", by(from), by(to));
        text += &format!("  changed {}\n", changed(key, group));
        text += &format!("  price   {}\n", coloured(group.cost));
        if !group.examples.is_empty() {
            text += &format!("  such as {}\n", examples(group, plain));
        }
        text += "\n";
    }
    text += &sentence(found);
    text += "\n";
    if !groups.is_empty() {
        text += &format!("in all: {}\n", coloured(total(found)));
    }
    text
}

fn answer(answer: &Answer) -> String {
    format!("{}, {}", answer.class, answer.action)
}

/// What decides, and where it stands.
fn by(answer: &Answer) -> String {
    if answer.origin.is_empty() { answer.by.clone() } else { format!("{} {}", answer.by, paint(FAINT, format!("({})", answer.origin))) }
}

fn changed(key: &GroupKey, group: &Group) -> String {
    let mean = |(count, sum): (u64, u64)| sum.checked_div(count).map_or("none".to_owned(), |mean| describe::duration(std::time::Duration::from_millis(mean)));
    let told = key.changed.iter().map(|what| match *what {
        "wait" => format!("wait {} -> {}", mean(group.waits[0]), mean(group.waits[1])),
        what => what.to_owned(),
    });
    told.collect::<Vec<_>>().join(", ")
}

fn examples(group: &Group, shown: impl for<'t> Fn(&'t str) -> Cow<'t, str>) -> String {
    let rest = group.count - (group.examples.len() as u64).min(group.count);
    let told = group.examples.iter().map(|(line, id)| if id.is_empty() { format!("line {line}") } else { format!("line {line} ({})", shown(&shortened(id))) });
    let rest = (rest > 0 && !group.examples.is_empty()).then(|| format!("{} more", thousands(rest)));
    told.chain(rest).collect::<Vec<_>>().join(", ")
}

/// An id that is a whole text would hide the rest.
fn shortened(id: &str) -> Cow<'_, str> {
    match id.char_indices().nth(MAX_ID) {
        Some((end, _)) => Cow::Owned(format!("{}...", &id[..end])),
        None => Cow::Borrowed(id),
    }
}

fn coloured(cost: Cost) -> String {
    let text = price(cost);
    match cost.attempts.cmp(&0).then(cost.wait_ms.cmp(&0)) {
        std::cmp::Ordering::Less => paint(GOOD, text),
        std::cmp::Ordering::Equal => text,
        std::cmp::Ordering::Greater => paint(BAD, text),
    }
}

/// `8 attempts fewer, 1 min 4 s less waiting, 80,000 tokens less sent again`.
fn price(cost: Cost) -> String {
    let mut parts = Vec::new();
    if cost.attempts != 0 {
        let count = cost.attempts.unsigned_abs();
        let word = if cost.attempts > 0 { "more" } else { "fewer" };
        parts.push(format!("{} {} {word}", thousands(count), plural(count as usize, "attempt")));
    }
    if cost.wait_ms != 0 {
        let wait = describe::duration(std::time::Duration::from_millis(cost.wait_ms.unsigned_abs()));
        parts.push(format!("{wait} {} waiting", if cost.wait_ms > 0 { "more" } else { "less" }));
    }
    if cost.tokens != 0 {
        parts.push(format!("{} tokens {} sent again", thousands(cost.tokens.unsigned_abs()), if cost.tokens > 0 { "more" } else { "less" }));
    }
    if cost.unsized_attempts > 0 {
        parts.push(format!("{} {} of unknown size", thousands(cost.unsized_attempts), plural(cost.unsized_attempts as usize, "attempt")));
    }
    if parts.is_empty() { "no other number of attempts, no other wait".to_owned() } else { parts.join(", ") }
}

fn markdown(found: &Found, groups: &[(&GroupKey, &Group)]) -> String {
    let mut text = format!("### Overspill: {}\n", sentence(found));
    if groups.is_empty() {
        return text;
    }
    text += &format!("\nIn all: {}.\n\n", price(total(found)));
    text += "| failures | provider | before | after | changed | price | such as |\n|---:|---|---|---|---|---|---|\n";
    for (key, group) in groups {
        let side = |answer: &Answer| format!("{} → {}<br>{}", answer.class, answer.action, code(&answer.by));
        let cells =
            [cell(&key.provider).into_owned(), side(&key.from), side(&key.to), cell(&changed(key, group)).into_owned(), price(group.cost), examples(group, |id| code(id).into())];
        text += &format!("| {} | {} |\n", thousands(group.count), cells.join(" | "));
    }
    text
}

/// A text of somebody else's in a table: no markup, and nobody is called by name.
fn cell(text: &str) -> Cow<'_, str> {
    let text = plain(text);
    let marks = |c: char| c.is_ascii_punctuation() && !matches!(c, '/' | '-' | '.' | ',' | ':' | '(' | ')' | '%' | '>');
    if !text.contains(marks) {
        return text;
    }
    let escaped = text.chars().map(|c| match c {
        '@' | '#' | '<' | '&' => format!("&#{};", u32::from(c)),
        c if marks(c) => format!("\\{c}"),
        c => c.to_string(),
    });
    Cow::Owned(escaped.collect())
}

/// A text of somebody else's between as many backticks as it takes: there nothing means anything, but for the bar of the table.
fn code(text: &str) -> String {
    let text = plain(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') || text.trim() != text { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

fn group_json(key: &GroupKey, group: &Group) -> Value {
    let side = |answer: &Answer| json!({ "class": answer.class.name(), "action": answer.action, "rule": answer.by, "origin": answer.origin });
    let examples: Vec<_> = group.examples.iter().map(|(line, id)| json!({ "line": line, "id": id })).collect();
    json!({
        "failures": group.count,
        "provider": key.provider,
        "from": side(&key.from),
        "to": side(&key.to),
        "changed": key.changed,
        "cost": cost_json(group.cost),
        "examples": examples,
    })
}

fn cost_json(cost: Cost) -> Value {
    json!({ "attempts": cost.attempts, "wait_ms": cost.wait_ms, "tokens": cost.tokens, "attempts_of_unknown_size": cost.unsized_attempts })
}

fn summary(found: &Found, sides: &Sides<'_>) -> Value {
    json!({
        "failures": found.failures,
        "changes": changes(found),
        "groups": found.groups.len(),
        "unreadable": found.unreadable,
        "cost": cost_json(total(found)),
        "from": sides.from.version().to_string(),
        "to": sides.to.version().to_string(),
    })
}
