//! One rule file.

use toml::de::DeTable;

use super::context::ContextModel;
use super::delay::DelayForm;
use super::reader::{Entry, Reader, Table, TextList};
use super::retry::RetryModel;
use super::rule::RuleModel;
use super::signals::SignalsModel;
use super::syntax;
use super::unknown_key;
use crate::class::Class;
use crate::diagnostic::{Code, Lookalike, Problem};
use crate::source::{Location, SourceId, Spanned};
use crate::status::StatusSet;

/// The provider name of the base layer's own file.
pub(crate) const DEFAULT_PROVIDER: &str = "default";

const FORMAT: u64 = 1;

/// A rule file as written.
#[derive(Clone, Debug)]
pub(crate) struct RuleFile {
    pub(crate) provider: Spanned<String>,
    pub(crate) aliases: TextList,
    pub(crate) extends: TextList,
    pub(crate) gateway: Option<Spanned<bool>>,
    pub(crate) status: Vec<(Spanned<StatusSet>, Spanned<Class>)>,
    pub(crate) retry: RetryModel,
    pub(crate) context: ContextModel,
    pub(crate) signals: Option<SignalsModel>,
    pub(crate) delay: Vec<DelayForm>,
    pub(crate) rules: Vec<RuleModel>,
}

/// Reads a file. Whatever can be read is read, so that one slip does not hide the next; `None` when not even the provider is known.
pub(crate) fn parse_file(source: SourceId, text: &str) -> (Option<RuleFile>, Vec<Problem>) {
    let reader = Reader::new(source);
    let without_mark = text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
    if without_mark.is_some() {
        let problem = Problem::new(Code::Syntax, reader.at(0..3), "the file starts with a byte order mark");
        reader.report(problem.hint("save it as UTF-8 without BOM"));
    }
    // Blanks in its place, so that everything else stays where it is and is told as well.
    let text = without_mark.as_deref().unwrap_or(text);
    let (mut document, mut errors) = DeTable::parse_recoverable(text);
    // The parser reads no further than to a line that is no pair.
    let without_such_lines = syntax::without_lone_keys(text, &errors);
    if let Some(rest) = &without_such_lines {
        let (read, others) = DeTable::parse_recoverable(rest);
        document = read;
        errors.extend(others);
    }
    let broken = syntax::report(&reader, text, &errors);
    let root = Table::new(&reader, document.get_ref(), "the file", reader.at(0..0));
    let mut file = read_root(root, broken.is_empty());
    if let Some(file) = &mut file {
        let ends: Vec<_> = file.rules.iter().skip(1).map(|rule| rule.at.start()).chain([text.len()]).collect();
        file.rules.iter_mut().zip(ends).for_each(|(rule, end)| rule.faulty |= broken.is_between(rule.at, end));
    }
    let problems = reader.into_problems(text).into_iter().filter(|problem| !broken.explain(problem));
    (file, problems.collect())
}

fn read_root(mut root: Table<'_>, is_toml: bool) -> Option<RuleFile> {
    if let Some(format) = root.get("format").and_then(|entry| entry.count()).filter(|format| **format != FORMAT) {
        let message = format!("this file is written in format {}, but only format {FORMAT} is known", *format);
        root.reader().report(Problem::new(Code::UnknownFormat, format.at, message).hint("use a newer version, or rewrite the file"));
    }
    let provider = root.get("provider").map(|entry| read_name(&entry));
    // Where the syntax is broken, its line may be what could not be read.
    if provider.is_none() && is_toml {
        root.missing("provider", "name the provider that the file is for, such as provider = \"openai\"");
    }
    let names = |entry: Option<Entry<'_>>| entry.map(|entry| entry.items().iter().filter_map(read_name).collect()).unwrap_or_default();
    let aliases = names(root.get("aliases"));
    let extends = names(root.get("extends"));
    let gateway = root.get("gateway").and_then(|entry| entry.boolean());
    let status = root.get("status").and_then(|entry| entry.table("[status]")).map(|table| read_status_table(&table)).unwrap_or_default();
    let retry = root.get("retry").and_then(|entry| entry.table("[retry]")).map(RetryModel::read).unwrap_or_default();
    let context = root.get("context").and_then(|entry| entry.table("[context]")).map(ContextModel::read).unwrap_or_default();
    let is_base = provider.as_ref().and_then(Option::as_ref).is_none_or(|name| name.eq_ignore_ascii_case(DEFAULT_PROVIDER));
    let base_only = |entry: &Option<Entry<'_>>, name: &str| match entry {
        Some(entry) if !is_base => {
            let message = format!("{name} is read in the file of \"{DEFAULT_PROVIDER}\" only: it holds for all providers");
            entry.invalid::<()>(Code::OnlyInDefault, message, format!("move it to a file with provider = \"{DEFAULT_PROVIDER}\""));
        }
        _ => {}
    };
    let (signals, delay) = (root.get("signals"), root.get("delay"));
    base_only(&signals, "[signals]");
    base_only(&delay, "[[delay]]");
    let signals = signals.and_then(|entry| entry.table("[signals]")).map(SignalsModel::read);
    let delay = delay.map(|entry| entry.tables("[[delay]]").into_iter().filter_map(DelayForm::read).collect()).unwrap_or_default();
    let mut rules: Vec<_> = root.get("rule").map(|entry| entry.tables("[[rule]]").into_iter().filter_map(RuleModel::read).collect()).unwrap_or_default();
    if ["example", "examples"].iter().any(|key| root.is_given(key)) {
        // Which rule they belong to is not known.
        rules.iter_mut().for_each(|rule| rule.faulty = true);
    }
    root.finish();
    let provider = provider??;
    Some(RuleFile { provider, aliases, extends, gateway, status, retry, context, signals, delay, rules })
}

/// A provider's name: letters, digits and hyphens, so that it can be written in a verdict and found again in any spelling.
fn read_name(entry: &Entry<'_>) -> Option<Spanned<String>> {
    let name = entry.text()?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/'));
    if name.is_empty() || !plain || name.len() > 64 {
        let stranger = Lookalike::hint(&name);
        let hint = stranger.as_deref().unwrap_or("use letters, digits and hyphens, such as \"azure-openai\"");
        return entry.invalid(Code::InvalidValue, format!("\"{}\" is no provider name", *name), hint);
    }
    Some(name)
}

fn read_status_table(table: &Table<'_>) -> Vec<(Spanned<StatusSet>, Spanned<Class>)> {
    let mut rows = Vec::new();
    let is_misplaced = |key: &str| unknown_key::has_home(key);
    let (misplaced, entries): (Vec<_>, Vec<_>) = table.entries().into_iter().partition(|(key, _)| is_misplaced(key));
    table.report_unknown(misplaced);
    for (key, entry) in entries {
        let mut set = StatusSet::default();
        let valid = set.insert_item(&key) && !set.contains(None);
        if !valid && Class::from_name(&key).is_some() {
            report_turned_row(table.reader(), key.at, &key, &entry);
            continue;
        }
        if set.contains(None) {
            let problem = Problem::new(Code::InvalidStatus, key.at, format!("`{}` has no effect here: a failure without a status is in no row", *key));
            table.reader().report(problem.hint("leave it out; for failures without a status write a [[rule]], such as one that asks for a `transport`"));
        } else if !valid {
            report_status_key(table.reader(), key.at, &key);
        }
        if let (Some(class), true) = (entry.class(), valid) {
            rows.push((Spanned::new(set, key.at), class));
        }
    }
    rows
}

fn report_status_key(reader: &Reader, at: Location, key: &str) {
    let hint = "write a code from 100 to 599, a class \"5xx\" or a range \"520-527\"";
    reader.report(Problem::new(Code::InvalidStatus, at, format!("`{key}` is no HTTP status")).hint(hint));
}

/// The class stands where the status should.
fn report_turned_row(reader: &Reader, at: Location, class: &str, entry: &Entry<'_>) {
    let rows = entry.status_items().into_iter().map(|status| {
        let is_bare = status.bytes().all(|byte| byte.is_ascii_digit());
        if is_bare { format!("{status} = \"{class}\"") } else { format!("\"{status}\" = \"{class}\"") }
    });
    let rows: Vec<_> = rows.collect();
    let hint = match rows.as_slice() {
        [] => format!("write the status first, such as 429 = \"{class}\""),
        [row] => format!("write {row}"),
        rows => format!("write {}, each on a line of its own", rows.join(" and ")),
    };
    reader.report(Problem::new(Code::InvalidStatus, at, format!("the class `{class}` stands where the status should")).hint(hint));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse_file;
    use crate::source::SourceId;

    fn text() -> impl Strategy<Value = String> {
        const LINES: [&str; 30] = [
            "provider = \"a\"",
            "[retry]",
            "[[rule]]",
            "[[rule.example]]",
            "[retry",
            "[[rule]",
            "id = \"x\"",
            "class = timeout",
            "message = '''",
            "message = \"\"\"",
            "\"\"\"",
            "'''",
            "<<<<<<< a",
            "=======",
            ">>>>>>> b",
            "// x",
            "; é",
            "base = 1,5",
            "base",
            "base =",
            "aliases = [",
            "]",
            "}",
            "jitter = {",
            "\u{feff}",
            "\r",
            "sé = 1",
            "body = \"{\"é\":1}\"",
            "= 5",
            "a.b = [[",
        ];
        let line = prop_oneof![3 => proptest::sample::select(&LINES[..]).prop_map(str::to_owned), 1 => "[ -~é\u{a0}\r]{0,12}"];
        (proptest::collection::vec(line, 0..10), proptest::sample::select(&["\n", "\r\n", "\r"][..])).prop_map(|(lines, end)| lines.join(end))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_marked_stands_in_the_file(text in text()) {
            let (_, problems) = parse_file(SourceId::from_index(0), &text);
            for problem in problems {
                prop_assert!(text.get(problem.at.range()).is_some(), "{:?} {:?}", text, problem);
            }
        }
    }
}
