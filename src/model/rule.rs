//! `[[rule]]`: conditions and the class that they mean.

use super::example::Example;
use super::glob::read_globs;
use super::name::{no_header_name, read_names, read_path};
use super::reader::{Entry, Table, TextList};
use crate::class::{Action, Class};
use crate::diagnostic::{Code, Lookalike, Problem};
use crate::failure::Transport;
use crate::source::{Location, Spanned};
use crate::status::StatusSet;

/// A rule as written. In a later layer the keys that are given replace those of the rule with the same id.
#[derive(Clone, Debug)]
pub(crate) struct RuleModel {
    pub(crate) id: Spanned<String>,
    pub(crate) at: Location,
    pub(crate) class: Option<Spanned<Class>>,
    pub(crate) action: Option<Spanned<Action>>,
    pub(crate) enabled: Option<Spanned<bool>>,
    pub(crate) scope: Option<Spanned<Scope>>,
    pub(crate) conditions: ConditionsModel,
    pub(crate) unless: Option<Spanned<Vec<Spanned<ConditionsModel>>>>,
    pub(crate) facts: Option<Spanned<Vec<FactField>>>,
    pub(crate) source: Option<Spanned<String>>,
    pub(crate) seen: Option<Spanned<String>>,
    pub(crate) examples: Vec<Example>,
    /// The example of what it catches that those of a later layer replaced, where none of them is one.
    pub(crate) lost_example: Option<Location>,
    /// Whether something in it could not be read: what seems to be missing may be there.
    pub(crate) faulty: bool,
}

/// The name of a fact and the end of the dotted path of the field that states it.
pub(crate) type FactField = (Spanned<String>, Spanned<String>);

/// For whose failures a rule is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Only those of providers whose files lead to it.
    Provider,
    /// Those of unknown providers and gateways too.
    Any,
}

/// What must hold: all of what is given, any of each list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionsModel {
    pub(crate) status: Option<Spanned<StatusSet>>,
    pub(crate) code: Option<Spanned<TextList>>,
    pub(crate) message: Option<Spanned<TextList>>,
    pub(crate) body: Option<Spanned<TextList>>,
    pub(crate) header: Option<Spanned<Vec<HeaderPattern>>>,
    pub(crate) transport: Option<Spanned<Vec<Transport>>>,
    pub(crate) finish_reason: Option<Spanned<TextList>>,
    pub(crate) event: Option<Spanned<TextList>>,
    pub(crate) model: Option<Spanned<TextList>>,
    pub(crate) body_empty: Option<Spanned<bool>>,
    pub(crate) when: Option<Spanned<TextList>>,
}

#[derive(Clone, Debug)]
pub(crate) struct HeaderPattern {
    pub(crate) name: Spanned<String>,
    pub(crate) patterns: TextList,
}

/// The facts that a structured field can hold.
const FACTS: [&str; 5] = ["limit", "requested", "excess", "output_limit", "delay"];

impl RuleModel {
    pub(crate) fn read(mut table: Table<'_>) -> Option<Self> {
        let (at, reader) = (table.at(), table.reader());
        let errors = reader.error_count();
        let id = table.get("id").map(|entry| read_id(&entry));
        if id.is_none() {
            table.missing("id", "name the rule after the wording it catches, such as id = \"prompt-too-long\"");
        }
        let class = table.get("class").and_then(|entry| entry.class());
        let action = table.get("action").and_then(|entry| entry.action());
        let enabled = table.get("enabled").and_then(|entry| entry.boolean());
        let scope = table.get("scope").and_then(|entry| read_scope(&entry));
        let conditions = ConditionsModel::read_keys(&mut table);
        let unless = table.get("unless").map(|entry| {
            let read = |item: &Entry<'_>| Some(Spanned::new(ConditionsModel::read(item.inline_table("unless = { message = 'please wait' }")?), item.at));
            Spanned::new(entry.items().iter().filter_map(read).collect(), entry.at)
        });
        let facts = table.get("facts").and_then(|entry| Some(Spanned::new(read_facts(entry.inline_table("facts = { limit = \"error.max_tokens\" }")?), entry.at)));
        let source = table.get("source").and_then(|entry| entry.text());
        let seen = table.get("seen").and_then(|entry| read_month(&entry));
        let examples = table.get("example").map(|entry| entry.tables("[[rule.example]]").into_iter().map(Example::read).collect()).unwrap_or_default();
        table.finish();
        let faulty = reader.error_count() > errors;
        Some(Self { id: id??, at, class, action, enabled, scope, conditions, unless, facts, source, seen, examples, lost_example: None, faulty })
    }
}

impl ConditionsModel {
    fn read(mut table: Table<'_>) -> Self {
        let conditions = Self::read_keys(&mut table);
        table.finish();
        conditions
    }

    fn read_keys(table: &mut Table<'_>) -> Self {
        let list = |entry: Option<Entry<'_>>| entry.map(|entry| Spanned::new(entry.texts(), entry.at));
        let names = |entry: Option<Entry<'_>>| entry.map(|entry| Spanned::new(read_names(&entry), entry.at));
        Self {
            status: table.get("status").map(|entry| entry.statuses()),
            code: names(table.get("code")),
            message: list(table.get("message")),
            body: list(table.get("body")),
            header: table.get("header").and_then(|entry| Some(Spanned::new(read_header_patterns(&entry.inline_table("header = { retry-after = '^0$' }")?), entry.at))),
            transport: table.get("transport").map(|entry| Spanned::new(entry.items().iter().filter_map(read_transport).collect(), entry.at)),
            finish_reason: names(table.get("finish_reason")),
            event: names(table.get("event")),
            model: table.get("model").map(|entry| Spanned::new(read_globs(&entry), entry.at)),
            body_empty: table.get("body_empty").and_then(|entry| entry.boolean()),
            when: list(table.get("when")),
        }
    }

    /// Whether nothing is asked at all: an empty list asks nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let lists = [&self.code, &self.message, &self.body, &self.finish_reason, &self.event, &self.model, &self.when];
        let given = lists.iter().any(|list| list.as_ref().is_some_and(|list| !list.is_empty()));
        let header = self.header.iter().flat_map(|header| &header.value).any(|header| !header.patterns.is_empty());
        let status = self.status.as_ref().is_some_and(|status| !status.is_empty());
        let transport = self.transport.as_ref().is_some_and(|transport| !transport.is_empty());
        !given && !header && !status && !transport && self.body_empty.is_none()
    }
}

fn is_plain_id(id: &str) -> bool {
    let plain = id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !id.is_empty() && plain && id.len() <= 80
}

fn read_id(entry: &Entry<'_>) -> Option<Spanned<String>> {
    let id = entry.text()?;
    if !is_plain_id(&id) {
        if let Some(own) = id.rsplit('/').next().filter(|own| is_plain_id(own) && own.len() < id.len()) {
            let hint = format!("write \"{own}\": verdicts put the name of the provider before it");
            return entry.invalid(Code::InvalidValue, format!("`{}` is no rule id", *id), hint);
        }
        let stranger = Lookalike::hint(&id);
        return entry.invalid(
            Code::InvalidValue,
            format!("`{}` is no rule id", *id),
            stranger.as_deref().unwrap_or("use lower case letters, digits and hyphens, such as \"prompt-too-long\""),
        );
    }
    Some(id)
}

fn read_scope(entry: &Entry<'_>) -> Option<Spanned<Scope>> {
    let scope = match entry.one_of(&["provider", "any"])? {
        "provider" => Scope::Provider,
        _ => Scope::Any,
    };
    Some(Spanned::new(scope, entry.at))
}

fn read_transport(entry: &Entry<'_>) -> Option<Transport> {
    Transport::from_name(entry.one_of(&Transport::ALL.map(Transport::name))?)
}

fn read_header_patterns(table: &Table<'_>) -> Vec<HeaderPattern> {
    let read = |(name, entry): (Spanned<String>, Entry<'_>)| {
        if let Some(why) = no_header_name(&name, false) {
            let problem = Problem::new(Code::InvalidValue, name.at, format!("`{}` is no name of a header: {why}", *name));
            entry.doubt(problem.hint("write the name alone, such as \"retry-after\", and the pattern behind the ="));
        }
        HeaderPattern { name, patterns: entry.texts() }
    };
    table.entries().into_iter().map(read).collect()
}

fn read_facts(mut table: Table<'_>) -> Vec<(Spanned<String>, Spanned<String>)> {
    let read = |table: &mut Table<'_>, fact: &'static str| table.get(fact).and_then(|entry| Some((Spanned::new(fact.to_owned(), entry.at), read_path(&entry)?)));
    let facts = FACTS.into_iter().filter_map(|fact| read(&mut table, fact)).collect();
    table.finish();
    facts
}

/// `YYYY-MM` or `YYYY-MM-DD`: when a wording was last seen.
fn read_month(entry: &Entry<'_>) -> Option<Spanned<String>> {
    let text = entry.text()?;
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let within = |range: std::ops::Range<usize>, most: u8| text.get(range).is_none_or(|part| part.parse().is_ok_and(|number: u8| (1..=most).contains(&number)));
    if !matches!(shape.as_str(), "0000-00" | "0000-00-00") || !within(5..7, 12) || !within(8..10, 31) {
        return entry.invalid(Code::InvalidValue, format!("`{}` is no month", *text), "write YYYY-MM or YYYY-MM-DD in quotes, such as \"2026-08\"");
    }
    Some(text)
}
