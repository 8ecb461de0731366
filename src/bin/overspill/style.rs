//! Colours. They are always written; the streams take them out where nobody sees them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default();

/// The text in the style.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `1 rule`, `2 rules`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

/// The word, in the plural unless there is one.
pub(crate) fn plural(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => word.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) if word.ends_with('s') => format!("{word}es"),
        (_, None) => format!("{word}s"),
    }
}
