//! `[signals]`: which keys of a structured body mean what, and how SDK texts state a status. Only the base layer has it.

use super::name::{read_header_name, read_path};
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
        let of =
            |entry: Option<Entry<'_>>, read: fn(&Entry<'_>) -> Option<Spanned<String>>| entry.map(|entry| Spanned::new(entry.items().iter().filter_map(read).collect(), entry.at));
        let header: fn(&Entry<'_>) -> _ = |entry| read_header_name(entry, false);
        let model = Self {
            message: of(table.get("message"), read_path),
            code: of(table.get("code"), read_path),
            status: of(table.get("status"), read_path),
            finish_reason: of(table.get("finish_reason"), read_path),
            code_headers: of(table.get("code_headers"), header),
            should_retry_headers: of(table.get("should_retry_headers"), header),
            should_retry_fields: of(table.get("should_retry_fields"), read_path),
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
