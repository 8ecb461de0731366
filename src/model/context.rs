//! `[context]`: what fills the window of a provider's models, and how large it is.

use super::reader::{Entry, Table, TextList};
use crate::diagnostic::{Code, Problem};
use crate::source::Spanned;

/// Every key is optional; what is left out is inherited.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContextModel {
    pub(crate) reserved_tokens: Option<Spanned<u64>>,
    pub(crate) occupies: Option<Spanned<TextList>>,
    pub(crate) usage: Vec<(Spanned<String>, TextList)>,
    pub(crate) models: Vec<ModelWindow>,
}

/// `[[context.model]]`: the window of the models that a glob names.
#[derive(Clone, Debug)]
pub(crate) struct ModelWindow {
    pub(crate) pattern: Spanned<String>,
    pub(crate) window: Option<Spanned<u64>>,
    pub(crate) reserved_tokens: Option<Spanned<u64>>,
}

/// The kinds of tokens that a usage object counts.
pub(crate) const TOKEN_KINDS: [&str; 4] = ["input", "cache_read", "cache_write", "output"];

impl ContextModel {
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let reserved_tokens = table.get("reserved_tokens").and_then(|entry| entry.count());
        let occupies = table.get("occupies").map(|entry| {
            let kinds = entry.items().iter().filter_map(|item| Some(Spanned::new(item.one_of(&TOKEN_KINDS)?.to_owned(), item.at))).collect();
            Spanned::new(kinds, entry.at)
        });
        let usage = table.get("usage").and_then(|entry| entry.inline_table("usage = { input = \"/usage/input_tokens\" }")).map(read_usage).unwrap_or_default();
        let models = table.get("model").map(|entry| entry.tables("[[context.model]]").into_iter().filter_map(ModelWindow::read).collect()).unwrap_or_default();
        table.finish();
        Self { reserved_tokens, occupies, usage, models }
    }
}

fn read_usage(mut table: Table<'_>) -> Vec<(Spanned<String>, TextList)> {
    let read =
        |table: &mut Table<'_>, kind: &'static str| table.get(kind).map(|entry| (Spanned::new(kind.to_owned(), entry.at), entry.items().iter().filter_map(read_pointer).collect()));
    let usage = TOKEN_KINDS.into_iter().filter_map(|kind| read(&mut table, kind)).collect();
    table.finish();
    usage
}

/// A JSON pointer into the response body.
fn read_pointer(entry: &Entry<'_>) -> Option<Spanned<String>> {
    let pointer = entry.text()?;
    if !pointer.starts_with('/') {
        return entry.invalid(Code::InvalidValue, format!("`{}` is no JSON pointer", *pointer), "write the path into the response with slashes, such as \"/usage/input_tokens\"");
    }
    Some(pointer)
}

impl ModelWindow {
    fn read(mut table: Table<'_>) -> Option<Self> {
        let (reader, at) = (table.reader(), table.at());
        let problems = reader.problem_count();
        let pattern = table.get("match").map(|entry| entry.text());
        if pattern.is_none() {
            table.missing("match", "name the models, such as match = \"claude-*\"");
        }
        let window = table.get("window").and_then(|entry| entry.count());
        let reserved_tokens = table.get("reserved_tokens").and_then(|entry| entry.count());
        table.finish();
        if window.is_none() && reserved_tokens.is_none() && reader.problem_count() == problems {
            let problem = Problem::new(Code::MissingKey, at, "[[context.model]] has no `window`");
            reader.report(problem.label("`window` is missing here").hint("give the context window in tokens, such as window = 200_000"));
        }
        Some(Self { pattern: pattern??, window, reserved_tokens })
    }
}
