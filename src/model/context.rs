//! `[context]`: what fills the window of a provider's models, how large it is, and how a reply tells.

use std::sync::Arc;

use super::glob::{read_glob, report_repeated};
use super::name::read_names;
use super::reader::{Entry, Table};
use crate::diagnostic::{Code, Problem};
use crate::source::Spanned;
use crate::usage::{Occupies, Pointer, Shape, Sum, TokenKind};

/// Every key is optional; what is left out is inherited.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContextModel {
    pub(crate) reserved_tokens: Option<Spanned<u64>>,
    pub(crate) occupies: Option<Spanned<Occupies>>,
    pub(crate) usage: Vec<Spanned<Arc<Shape>>>,
    pub(crate) finish: FinishModel,
    pub(crate) models: Vec<ModelWindow>,
    /// Whether a reserve could not be read: the one that is inherited is not what is meant.
    pub(crate) unread: bool,
}

/// `[context.finish_reason]`: where a reply says why it ended, and what of that is about the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct FinishModel {
    pub(crate) at: Option<Spanned<Vec<Pointer>>>,
    pub(crate) truncated: Option<Spanned<Vec<Pointer>>>,
    pub(crate) overflow: Option<Spanned<Vec<String>>>,
    pub(crate) length: Option<Spanned<Vec<String>>>,
}

/// `[[context.model]]`: the window of the models that a glob names.
#[derive(Clone, Debug)]
pub(crate) struct ModelWindow {
    pub(crate) pattern: Spanned<String>,
    /// What prompt and output share; 0 when it is not known.
    pub(crate) window: Option<Spanned<u64>>,
    /// The most input, where that is less than the window; 0 when it is not known.
    pub(crate) input: Option<Spanned<u64>>,
    pub(crate) reserved_tokens: Option<Spanned<u64>>,
    /// Where the numbers were found, and when; that of `[context]` where the entry gives none.
    pub(crate) source: Option<Spanned<String>>,
    /// Whether its reserve could not be read.
    pub(crate) unread: bool,
}

const POINTER_HINT: &str = "write the path into the response with slashes, such as \"/usage/input_tokens\"";

const USAGE_EXAMPLE: &str = "usage = { input = \"/usage/input_tokens\" }";

impl ContextModel {
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let reserved_tokens = table.get("reserved_tokens").map(|entry| entry.count());
        let occupies = table.get("occupies").map(|entry| read_occupies(&entry));
        let usage = table.get("usage").map(|entry| read_usage(&entry)).unwrap_or_default();
        let finish = table.get("finish_reason").and_then(|entry| entry.table("[context.finish_reason]")).map(FinishModel::read).unwrap_or_default();
        let mut models: Vec<_> = table.get("model").map(|entry| entry.tables("[[context.model]]").into_iter().filter_map(ModelWindow::read).collect()).unwrap_or_default();
        report_repeated(table.reader(), "[[context.model]]", models.iter().map(|model| &model.pattern));
        let unread = reserved_tokens == Some(None) || models.iter().any(|model| model.unread);
        if let Some(source) = table.get("source").and_then(|entry| entry.text()) {
            models.iter_mut().for_each(|model| _ = model.source.get_or_insert_with(|| source.clone()));
        }
        table.finish();
        Self { reserved_tokens: reserved_tokens.flatten(), occupies, usage, finish, models, unread }
    }
}

fn read_occupies(entry: &Entry<'_>) -> Spanned<Occupies> {
    let items = entry.items();
    let listed: Vec<_> = items.iter().filter_map(|item| item.one_of(&Occupies::NAMES)).collect();
    if items.is_empty() {
        entry.invalid::<()>(
            Code::InvalidValue,
            "nothing is said to fill the window, so it would never be full",
            "write occupies = [\"input\"], with \"cache_read\" and \"cache_write\" where they come on top",
        );
    }
    Spanned::new(Occupies::of(&listed), entry.at)
}

/// A list of shapes, or the only one as a table.
fn read_usage(entry: &Entry<'_>) -> Vec<Spanned<Arc<Shape>>> {
    if entry.is_list() {
        return entry.tables("[[context.usage]]").into_iter().filter_map(|table| read_shape(table, false)).collect();
    }
    entry.inline_table(USAGE_EXAMPLE).and_then(|table| read_shape(table, true)).into_iter().collect()
}

fn read_shape(mut table: Table<'_>, is_only: bool) -> Option<Spanned<Arc<Shape>>> {
    let (reader, at) = (table.reader(), table.at());
    let errors = reader.error_count();
    let id = table.get("id").map(|entry| entry.text());
    if id.is_none() && !is_only {
        table.missing("id", "name the shape, such as id = \"chat-completions\"");
    }
    let pointers = |table: &mut Table<'_>, key| table.get(key).map(|entry| read_pointers(&entry).value);
    let places = pointers(&mut table, "at").unwrap_or_default();
    let requires = pointers(&mut table, "requires").unwrap_or_default();
    let kinds = TokenKind::ALL.map(|kind| table.get(kind.name()).map(|entry| read_sums(&entry)).unwrap_or_default());
    let occupies = table.get("occupies").map(|entry| read_occupies(&entry).value);
    table.finish();
    if reader.error_count() == errors && kinds.iter().zip(TokenKind::ALL).all(|(sums, kind)| kind == TokenKind::Output || sums.is_empty()) {
        let problem = Problem::new(Code::MissingKey, at, "this usage counts nothing that fills the window: output never does");
        reader.report(problem.label("`input` is missing here").hint(format!("say where the input is counted, such as {USAGE_EXAMPLE}")));
        return None;
    }
    let id = match id {
        Some(id) => id?.value,
        None if is_only => Shape::OWN.to_owned(),
        None => return None,
    };
    Some(Spanned::new(Arc::new(Shape::new(id, places, requires, kinds, occupies)), at))
}

fn read_pointers(entry: &Entry<'_>) -> Spanned<Vec<Pointer>> {
    let items = entry.items();
    let pointers = items.iter().filter_map(|item| read_one(item, Pointer::parse));
    Spanned::new(pointers.collect(), entry.at)
}

fn read_sums(entry: &Entry<'_>) -> Vec<Sum> {
    let read = |text: &str| Sum::parse(text).filter(|_| text.split(" + ").all(names_a_value));
    entry.items().iter().filter_map(|item| read_one(item, read)).collect()
}

/// Whether a pointer leads to one value: it has no wildcards, and it does not end at what only holds others.
fn names_a_value(pointer: &str) -> bool {
    pointer.len() > 1 && !pointer.ends_with('/') && !pointer.contains(['*', ' ', ','])
}

fn read_one<T>(item: &Entry<'_>, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = item.text()?;
    parse(&text).or_else(|| item.invalid(Code::InvalidValue, format!("`{}` is no JSON pointer to one value", *text), POINTER_HINT))
}

impl FinishModel {
    fn read(mut table: Table<'_>) -> Self {
        let texts = |entry: Entry<'_>| Spanned::new(read_names(&entry).into_iter().map(|text| text.value).collect(), entry.at);
        let finish = Self {
            at: table.get("at").map(|entry| read_pointers(&entry)),
            truncated: table.get("truncated").map(|entry| read_pointers(&entry)),
            overflow: table.get("overflow").map(texts),
            length: table.get("length").map(texts),
        };
        table.finish();
        finish
    }
}

impl ModelWindow {
    fn read(mut table: Table<'_>) -> Option<Self> {
        let (reader, at) = (table.reader(), table.at());
        let errors = reader.error_count();
        let pattern = table.get("match").map(|entry| read_glob(&entry));
        if pattern.is_none() {
            table.missing("match", "name the models, such as match = \"claude-*\"");
        }
        let [window, input, reserved_tokens] = ["window", "input", "reserved_tokens"].map(|key| table.get(key).map(|entry| entry.count()));
        let source = table.get("source").and_then(|entry| entry.text());
        table.finish();
        if window.is_none() && input.is_none() && reserved_tokens.is_none() && reader.error_count() == errors {
            let problem = Problem::new(Code::MissingKey, at, "[[context.model]] has no `window`");
            reader.report(problem.label("`window` is missing here").hint("give the context window in tokens, such as window = 200_000"));
        }
        let unread = reserved_tokens == Some(None);
        let (window, input) = (window.flatten(), input.flatten());
        if let (Some(window), Some(input)) = (window, input)
            && *window > 0
            && *input > *window
        {
            let problem = Problem::new(Code::InputAboveWindow, input.at, format!("`input` is {}, which is more than `window`, {}", *input, *window));
            reader.report(problem.label("has no effect").related(window.at, "input and output share this").hint("leave `input` out, or mend the one that is wrong"));
        }
        Some(Self { pattern: pattern??, window, input, reserved_tokens: reserved_tokens.flatten(), source, unread })
    }
}
