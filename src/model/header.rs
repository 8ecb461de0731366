//! Headers: single and double brackets, names where none goes, and what is said of both.

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::reader::{Entry, Table};
use super::unknown_key::RULE_KEYS;
use crate::diagnostic::{Code, Problem};
use crate::source::{Location, Spanned};

/// A list of tables: its header, the key that tells its tables apart, and the tables that they have themselves.
type List = (&'static str, &'static str, &'static [&'static str]);

const LISTS: [List; 5] = [
    ("[[rule]]", "id", &["example", "unless", "facts", "header"]),
    ("[[retry.model]]", "match", &["server_delay", "budget", "jitter"]),
    ("[[context.model]]", "match", &[]),
    ("[[context.usage]]", "id", &[]),
    ("[[delay]]", "id", &["only_if"]),
];

/// Tables of named tables, which people write as lists, and the keys under which they then put the name.
const NAMED: [(&str, &[&str]); 2] = [("[retry.class]", &["class", "name", "id", "match"]), ("[retry.profile]", &["name", "profile", "id", "match"])];

/// What a rule may begin with beside its own keys: its conditions.
pub(super) const CONDITIONS: [&str; 9] = ["status", "message", "body", "header", "transport", "finish_reason", "event", "model", "body_empty"];

/// Deeper than this no name with dots is followed.
const MAX_PARTS: usize = 8;

/// What the parser will say of something that is told already.
#[derive(Clone, Debug)]
pub(super) enum Echo {
    /// The keys of this table are given a second time: they are those of another.
    Table(Location),
    /// This header is there a second time.
    Header(String),
}

impl Echo {
    pub(super) fn explains(&self, text: &str, problem: &Problem) -> bool {
        if problem.code != Code::Syntax || !problem.message.ends_with("is there already") {
            return false;
        }
        let at = problem.at.range();
        match self {
            Self::Table(table) => body(text, table.start()).contains(&at.start),
            Self::Header(key) => text.get(at.clone()) == Some(key) && text[..at.start].rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('[')),
        }
    }
}

/// From the header that starts there to the next one.
fn body(text: &str, start: usize) -> Range<usize> {
    let mut end = start;
    for (index, line) in text.get(start..).unwrap_or_default().split_inclusive('\n').enumerate() {
        if index > 0 && line.trim_start().starts_with('[') {
            break;
        }
        end += line.len();
    }
    start..end
}

/// Where the keys of a rule begin that stand in another table, since the rule's own header was forgotten; and all those keys.
pub(super) fn forgotten_rule(table: &str, unknown: &[(Spanned<String>, Entry<'_>)], has_class: bool) -> Option<(Location, Vec<&'static str>)> {
    let is = |wanted: &str| unknown.iter().any(|(key, _)| **key == *wanted);
    let own = RULE_KEYS.iter().filter(|key| **key != "id");
    if (table.starts_with('`') && table != "`unless`") || table == "[[rule]]" || !is("id") || !(has_class || own.into_iter().any(|key| is(key))) {
        return None;
    }
    let keys: Vec<_> = RULE_KEYS.iter().chain(&CONDITIONS).copied().collect();
    let first = unknown.iter().find(|(key, _)| keys.contains(&key.as_str()))?;
    Some((first.0.at, keys))
}

/// For a table of that list that stands under a name instead of in the list.
pub(super) fn name_in_header(list: &str, entry: &Entry<'_>) -> Option<String> {
    // A single shape is written as a table.
    let list = if list == "`usage`" { "[[context.usage]]" } else { list };
    let list = LISTS.iter().find(|(header, _, _)| *header == list)?;
    let entries = first_table(entry.value)?;
    // Only what belongs to a table of the list: the table itself was told of before.
    if is_implied(entries) && !entries.is_empty() {
        return Some(format!("write {}", of_whole(list, entries)?));
    }
    Some(naming(list, entry.key, entries))
}

fn naming(list: &List, name: &str, entries: &DeTable<'_>) -> String {
    let (header, key, _) = list;
    let has_name = entries.keys().any(|known| known.get_ref() == key);
    let how = if has_name { format!("write {header}: `{key}` names it") } else { format!("write {header} and below it {key} = \"{name}\"") };
    match of_whole(list, entries) {
        Some(below) => format!("{how}; what belongs to it is {below}"),
        None => how,
    }
}

/// The header of the first table that belongs to a table of the list.
fn of_whole((header, _, own): &List, entries: &DeTable<'_>) -> Option<String> {
    let path = header.trim_matches(['[', ']']);
    let (key, value) = entries.iter().find(|(key, _)| own.contains(&key.get_ref().as_ref()))?;
    let is_list = matches!(value.get_ref(), DeValue::Array(_));
    let key = key.get_ref();
    Some(if is_list { format!("[[{path}.{key}]]") } else { format!("[{path}.{key}]") })
}

/// A table, or the first of a list of tables.
fn first_table<'v>(value: &'v DeValue<'_>) -> Option<&'v DeTable<'v>> {
    match value {
        DeValue::Table(entries) => Some(entries),
        DeValue::Array(items) => items.iter().find_map(|item| first_table(item.get_ref())),
        _ => None,
    }
}

/// Whether a table only holds others, and so was not written itself.
fn is_implied(entries: &DeTable<'_>) -> bool {
    entries.values().all(|value| first_table(value.get_ref()).is_some())
}

impl<'a> Entry<'a> {
    /// The table that is written `[name]`.
    pub(crate) fn table(&self, name: impl Into<Cow<'a, str>>) -> Option<Table<'a>> {
        let name = name.into();
        match self.value {
            DeValue::Table(entries) => Some(Table::new(self.reader, entries, name, self.at)),
            DeValue::Array(_) => match NAMED.iter().find(|(header, _)| **header == *name) {
                Some((header, keys)) => {
                    self.items().iter().for_each(|item| item.is_named(header, keys));
                    None
                }
                None if name == "[status]" => self.wrong_type("a table", "write [status] once, with single brackets, and below it rows such as 429 = \"rate_limited\""),
                None => self.wrong_type("a table", format!("write {name} with single brackets: there is one")),
            },
            _ => self.wrong_type("a table", format!("write {name} on a line of its own and its keys below")),
        }
    }

    /// The table that is written `key = { ... }`, as in the example.
    pub(crate) fn inline_table(&self, example: &str) -> Option<Table<'a>> {
        match self.value {
            DeValue::Table(entries) => Some(Table::new(self.reader, entries, format!("`{}`", self.key), self.at)),
            _ => self.wrong_type("a table", format!("such as {example}")),
        }
    }

    /// The tables of `[[name]]`. A single `[name]` is the commonest slip, so it gets a hint of its own.
    pub(crate) fn tables(&self, name: &'a str) -> Vec<Table<'a>> {
        match self.value {
            DeValue::Array(_) => return self.items().iter().filter_map(|item| item.table(name)).collect(),
            DeValue::Table(entries) => {
                self.reader.expect_echo(Echo::Header(self.key.to_owned()));
                // What belongs to a table came before the table itself, or its header is what was forgotten.
                let is_implied = is_implied(entries);
                let is_told = self.report_names(name, entries) || (is_implied && self.reader.has_forgotten_rule());
                if !is_told {
                    let hint = if is_implied { format!("write {name} above what belongs to it") } else { format!("write {name} with double brackets: it is a list") };
                    self.invalid::<()>(Code::WrongType, format!("`{}` is a list of tables, not one table", self.key), hint);
                }
            }
            _ => self.wrong_type::<()>(&format!("a list of {name} tables"), format!("write {name} on a line of its own and its keys below")).unwrap_or_default(),
        }
        Vec::new()
    }

    /// Reports the names under which tables of a list stand; whether there are any.
    fn report_names(&self, name: &str, entries: &DeTable<'_>) -> bool {
        let Some(list) = LISTS.iter().find(|(header, _, _)| *header == name) else { return false };
        let mut names = Vec::new();
        collect_names(list, "", None, entries, &mut names, MAX_PARTS);
        names.sort_by_key(|(_, range, _)| range.start);
        for (written, range, entries) in &names {
            let message = format!("`{}` is a list of tables: they have their name in `{}`, not in the header", self.key, list.1);
            self.reader.report(Problem::new(Code::WrongType, self.reader.at(range.clone()), message).label("not in the header").hint(naming(list, written, entries)));
        }
        !names.is_empty()
    }

    /// Reports a table of a list that should stand under its name.
    fn is_named(&self, header: &str, keys: &[&str]) {
        let path = header.trim_matches(['[', ']']);
        let text = |key: &str| match self.value {
            DeValue::Table(entries) => entries.iter().find(|(name, _)| name.get_ref() == key).and_then(|(_, value)| value.get_ref().as_str()),
            _ => None,
        };
        let named = keys.iter().find_map(|key| Some((key, text(key)?)));
        let hint = match named {
            Some((key, name)) => format!("write [{path}.{}] and leave `{key}` out", quoted(name)),
            None => format!("write [{path}.<name>], with the name in the header"),
        };
        let message = format!("`{}` is no list: each table in it has a name of its own", self.key);
        self.reader.report(Problem::new(Code::WrongType, self.at, message).hint(hint));
    }
}

/// A name as a header takes it.
fn quoted(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_bare { name.to_owned() } else { format!("\"{name}\"") }
}

/// The tables under names. A name with dots, as models have, is written as tables in tables.
fn collect_names<'v>(list: &List, before: &str, place: Option<&Range<usize>>, entries: &'v DeTable<'v>, names: &mut Vec<(String, Range<usize>, &'v DeTable<'v>)>, depth: usize) {
    for (key, value) in entries {
        let (name, Some(below)) = (key.get_ref(), first_table(value.get_ref())) else { continue };
        if list.2.contains(&name.as_ref()) {
            continue;
        }
        let written = if before.is_empty() { name.to_string() } else { format!("{before}.{name}") };
        let range = place.map_or(key.span(), |place| place.start..key.span().end.max(place.end));
        let has_parts = list.1 == "match" && depth > 0 && !below.is_empty() && is_implied(below) && !below.keys().all(|key| list.2.contains(&key.get_ref().as_ref()));
        if has_parts {
            collect_names(list, &written, Some(&range), below, names, depth - 1);
        } else {
            names.push((written, range, below));
        }
    }
}
