//! `[signals]`: which keys of a structured body mean what, and how SDK texts state a status. Only the base layer has it.

use super::reader::{Entry, Table, TextList};
use crate::source::Spanned;

/// Every key is optional, so that an overriding layer can replace one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct SignalsModel {
    pub(crate) message: Option<Spanned<TextList>>,
    pub(crate) code: Option<Spanned<TextList>>,
    pub(crate) status: Option<Spanned<TextList>>,
    pub(crate) finish_reason: Option<Spanned<TextList>>,
    pub(crate) code_headers: Option<Spanned<TextList>>,
    pub(crate) should_retry_headers: Option<Spanned<TextList>>,
    pub(crate) should_retry_fields: Option<Spanned<TextList>>,
    pub(crate) status_text: Option<Spanned<TextList>>,
    pub(crate) noise: Option<Spanned<TextList>>,
    pub(crate) exceptions: Vec<(Spanned<String>, Spanned<u64>)>,
}

impl SignalsModel {
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let list = |entry: Option<Entry<'_>>| entry.map(|entry| Spanned::new(entry.texts(), entry.at));
        let model = Self {
            message: list(table.get("message")),
            code: list(table.get("code")),
            status: list(table.get("status")),
            finish_reason: list(table.get("finish_reason")),
            code_headers: list(table.get("code_headers")),
            should_retry_headers: list(table.get("should_retry_headers")),
            should_retry_fields: list(table.get("should_retry_fields")),
            status_text: list(table.get("status_text")),
            noise: list(table.get("noise")),
            exceptions: table.get("exceptions").and_then(|entry| entry.table("[signals.exceptions]")).map(|table| read_exceptions(&table)).unwrap_or_default(),
        };
        table.finish();
        model
    }
}

fn read_exceptions(table: &Table<'_>) -> Vec<(Spanned<String>, Spanned<u64>)> {
    table.entries().into_iter().filter_map(|(name, entry)| Some((name, entry.count()?))).collect()
}
