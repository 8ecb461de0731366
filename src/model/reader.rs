//! A table of a rule file, read key by key: what is asked for is known, what was not asked for is reported.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::num::IntErrorKind;
use std::time::Duration;

use jiff::SignedDuration;
use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use super::header::{self, Echo};
use super::kind::Kind;
use super::number;
use super::unknown_key;
use crate::class::{Action, Class};
use crate::diagnostic::{Code, Lookalike, Problem, Severity, did_you_mean};
use crate::source::{Location, SourceId, Spanned};
use crate::status::StatusSet;

/// One text or a list of texts, each with its place.
pub(crate) type TextList = Vec<Spanned<String>>;

const STATUS_HINT: &str = "write a code from 100 to 599, a class \"5xx\", a range \"520-527\" or \"none\"";

/// What a range should be that ends before it begins.
fn turned(text: &str) -> Option<String> {
    let (last, first) = text.split_once('-')?;
    let range = format!("{}-{}", first.trim(), last.trim());
    StatusSet::default().insert_item(&range).then(|| format!("the smaller status comes first: \"{range}\""))
}

/// Whether it would be a duration if its numbers were smaller.
fn is_long(text: &str) -> bool {
    let mut short = String::new();
    for c in text.chars() {
        if !(c.is_ascii_digit() && short.ends_with(|last: char| last.is_ascii_digit())) {
            short.push(c);
        }
    }
    short.parse::<SignedDuration>().is_ok()
}

/// The file being read and the problems found in it so far.
pub(crate) struct Reader {
    source: SourceId,
    problems: RefCell<Vec<Problem>>,
    echoes: RefCell<Vec<Echo>>,
    errors: Cell<usize>,
}

impl Reader {
    pub(crate) fn new(source: SourceId) -> Self {
        Self { source, problems: RefCell::default(), echoes: RefCell::default(), errors: Cell::default() }
    }

    pub(crate) fn report(&self, problem: Problem) {
        if problem.code.severity() == Severity::Error {
            self.errors.set(self.errors.get() + 1);
        }
        self.problems.borrow_mut().push(problem);
    }

    /// What the parser says for that reason is not told as well.
    pub(super) fn expect_echo(&self, echo: Echo) {
        self.echoes.borrow_mut().push(echo);
    }

    /// Whether some table began with the keys of a rule.
    pub(super) fn has_forgotten_rule(&self) -> bool {
        self.echoes.borrow().iter().any(|echo| matches!(echo, Echo::Table(_)))
    }

    /// Takes back what was said about the value.
    pub(super) fn take_back(&self, at: Location) {
        self.problems.borrow_mut().retain(|problem| problem.at != at || problem.code != Code::WrongType);
    }

    /// How many values were not taken as they are written.
    pub(crate) fn error_count(&self) -> usize {
        self.errors.get()
    }

    /// Without the echoes of others among them.
    pub(crate) fn into_problems(self, text: &str) -> Vec<Problem> {
        let (mut problems, echoes) = (self.problems.into_inner(), self.echoes.into_inner());
        problems.retain(|problem| !echoes.iter().any(|echo| echo.explains(text, problem)));
        problems
    }

    pub(crate) fn at(&self, range: std::ops::Range<usize>) -> Location {
        Location::new(self.source, range)
    }
}

/// A table and the keys that have been asked of it.
pub(crate) struct Table<'a> {
    reader: &'a Reader,
    entries: &'a DeTable<'a>,
    /// What an error message calls it: `[retry]`, `[[rule]]`.
    name: Cow<'a, str>,
    at: Location,
    known: Vec<&'static str>,
}

/// A value and the key it stands under.
pub(crate) struct Entry<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) key: &'a str,
    pub(crate) at: Location,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(reader: &'a Reader, entries: &'a DeTable<'a>, name: impl Into<Cow<'a, str>>, at: Location) -> Self {
        Self { reader, entries, name: name.into(), at, known: Vec::new() }
    }

    pub(crate) fn at(&self) -> Location {
        self.at
    }

    pub(crate) fn reader(&self) -> &'a Reader {
        self.reader
    }

    /// The value of a key, which is thereby known.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        self.find(key)
    }

    /// Every key and value, for tables whose keys are free.
    pub(crate) fn entries(&self) -> Vec<(Spanned<String>, Entry<'a>)> {
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .map(|(name, value)| {
                let key = Spanned::new(name.get_ref().to_string(), self.reader.at(name.span()));
                (key, self.entry(name, value))
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.at);
        entries
    }

    fn entry(&self, name: &'a TomlSpanned<Cow<'a, str>>, value: &'a TomlSpanned<DeValue<'a>>) -> Entry<'a> {
        Entry { reader: self.reader, key: name.get_ref(), at: self.reader.at(value.span()), value: value.get_ref() }
    }

    /// Reports that a key is missing which must be given, unless another was written that means it: that one is told.
    pub(crate) fn missing(&self, key: &str, hint: &str) {
        let mut others = self.entries.keys().map(|name| name.get_ref().as_ref()).filter(|name| !self.known.contains(name));
        if others.any(|written| unknown_key::means(&self.name, written, key)) {
            return;
        }
        let problem = Problem::new(Code::MissingKey, self.at, format!("{} has no `{key}`", self.name)).label(format!("`{key}` is missing here"));
        self.reader.report(problem.hint(hint));
    }

    /// Reports every key that nobody asked for.
    pub(crate) fn finish(self) {
        let is_known = |key: &str| self.known.contains(&key);
        self.report_unknown(self.entries().into_iter().filter(|(key, _)| !is_known(key)).collect());
    }

    /// Reports these keys, as a rule without its header where they are one.
    pub(super) fn report_unknown(&self, mut unknown: Vec<(Spanned<String>, Entry<'a>)>) {
        if let Some((first, rule)) = header::forgotten_rule(&self.name, &unknown, self.is_given("class")) {
            let message = format!("a rule begins in {}", self.name);
            self.reader.report(Problem::new(Code::UnknownKey, first, message).label("belongs to a rule").hint("start a new [[rule]] here"));
            self.reader.expect_echo(Echo::Table(self.at));
            // What the header would have made right.
            ["class", "rule"].iter().filter_map(|key| self.find(key)).for_each(|entry| self.reader.take_back(entry.at));
            unknown.retain(|(key, _)| !rule.contains(&key.as_str()));
        }
        for (key, entry) in unknown {
            let hint = unknown_key::hint(&self.name, &key, &entry, self.known.iter().copied());
            let problem = Problem::new(Code::UnknownKey, key.at, format!("unknown key `{}` in {}", *key, self.name));
            self.reader.report(problem.label("means nothing here").hint(hint));
        }
    }

    /// Whether the key is there, whatever its value is worth.
    pub(crate) fn is_given(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<Entry<'a>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| self.entry(name, value))
    }
}

impl<'a> Entry<'a> {
    fn type_name(&self) -> &'static str {
        match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    pub(crate) fn wrong_type<T>(&self, wanted: &str, hint: impl Into<String>) -> Option<T> {
        let message = format!("`{}` takes {wanted}, not {}", self.key, self.type_name());
        let problem = Problem::new(Code::WrongType, self.at, message).label(format!("expected {wanted}"));
        self.reader.report(problem.hint(hint));
        None
    }

    /// Reports something about the value, which is taken all the same.
    pub(crate) fn doubt(&self, problem: Problem) {
        self.reader.report(problem);
    }

    /// Reports the value as one that the key does not take.
    pub(crate) fn invalid<T>(&self, code: Code, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.reader.report(Problem::new(code, self.at, message).hint(hint));
        None
    }

    fn spanned<T>(&self, value: T) -> Spanned<T> {
        Spanned::new(value, self.at)
    }

    pub(crate) fn text(&self) -> Option<Spanned<String>> {
        match self.value {
            DeValue::String(text) => Some(self.spanned(text.to_string())),
            DeValue::Array(_) | DeValue::Table(_) => self.wrong_type("a string", "write one text in quotes"),
            _ => self.wrong_type("a string", "put it in quotes"),
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    pub(crate) fn boolean(&self) -> Option<Spanned<bool>> {
        match self.value {
            DeValue::Boolean(value) => Some(self.spanned(*value)),
            _ => self.wrong_type("true or false", "write true or false, without quotes"),
        }
    }

    /// How the number is written that stands there as a text, else an example that suits the key.
    fn number_hint(&self, otherwise: &str) -> String {
        if let DeValue::String(text) = self.value {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let meant = if is_number { Some(text.to_string()) } else { number::meant(text.trim()).map(|(number, _)| number) };
            if let Some(number) = meant {
                return format!("write {number}, without quotes");
            }
        }
        match Kind::of(self.key) {
            Kind::Number(example) => format!("{otherwise}, such as {example}"),
            _ => otherwise.to_owned(),
        }
    }

    /// A whole number from zero.
    pub(crate) fn count(&self) -> Option<Spanned<u64>> {
        let DeValue::Integer(number) = self.value else {
            return self.wrong_type("a whole number", self.number_hint("write it in digits, without quotes or a fraction"));
        };
        match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Some(self.spanned(value)),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                self.invalid(Code::InvalidValue, format!("`{}` is {}, which is too large", self.key, number.as_str()), "write a smaller number")
            }
            Err(_) => self.invalid(Code::InvalidValue, format!("`{}` is {}, but must be a whole number from 0", self.key, number.as_str()), "write it in digits, without a sign"),
        }
    }

    /// A finite number.
    pub(crate) fn number(&self) -> Option<Spanned<f64>> {
        let parsed = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => return self.wrong_type("a number", self.number_hint("write it without quotes")),
        };
        match parsed.filter(|value| value.is_finite()) {
            Some(value) => Some(self.spanned(value)),
            None => self.invalid(Code::InvalidValue, format!("`{}` must be a finite number", self.key), self.number_hint("write a decimal number")),
        }
    }

    /// One text or a list of texts.
    pub(crate) fn texts(&self) -> TextList {
        self.items().iter().filter_map(Entry::text).collect()
    }

    /// The elements of a list; a single value is a list of one.
    pub(crate) fn items(&self) -> Vec<Entry<'a>> {
        let DeValue::Array(array) = self.value else {
            return vec![Entry { reader: self.reader, key: self.key, at: self.at, value: self.value }];
        };
        let reader = self.reader;
        array.iter().map(|item| Entry { reader, key: self.key, at: reader.at(item.span()), value: item.get_ref() }).collect()
    }

    /// A duration such as `"2s"`, `"500ms"`, `"5m"`.
    pub(crate) fn duration(&self) -> Option<Spanned<Duration>> {
        const HINT: &str = "write a number with its unit in quotes, such as \"500ms\", \"2s\", \"5m\" or \"1h 30m\"";
        let DeValue::String(text) = self.value else {
            return self.wrong_type("a duration", HINT);
        };
        let parsed = text.parse::<SignedDuration>().ok().and_then(|duration| Duration::try_from(duration).ok());
        match parsed {
            Some(duration) => Some(self.spanned(duration)),
            None if text.parse::<SignedDuration>().is_ok() => self.invalid(Code::InvalidDuration, format!("`{text}` is a negative duration"), "write it without a sign"),
            None if text.replace('d', "h").parse::<SignedDuration>().is_ok() => {
                self.invalid(Code::InvalidDuration, format!("`{text}` is in days, which no duration is"), "write hours: a day is \"24h\"")
            }
            None if is_long(text) => self.invalid(Code::InvalidDuration, format!("`{text}` is too long a duration"), "write a shorter one; nobody waits for years"),
            None => self.invalid(Code::InvalidDuration, format!("`{text}` is no duration"), HINT),
        }
    }

    pub(crate) fn class(&self) -> Option<Spanned<Class>> {
        let text = self.text()?;
        let names = || Class::ALL.iter().map(|class| class.name());
        match Class::from_name(&text) {
            Some(class) => Some(self.spanned(class)),
            None => {
                let hint = match did_you_mean(&text, names()) {
                    Some(_) if Lookalike::in_text(&text).is_some() => Lookalike::hint(&text).unwrap_or_default(),
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => format!("the classes are {}", names().collect::<Vec<_>>().join(", ")),
                };
                self.invalid(Code::UnknownClass, format!("`{}` is no class", *text), hint)
            }
        }
    }

    pub(crate) fn action(&self) -> Option<Spanned<Action>> {
        self.one_of(&Action::ALL.map(Action::name)).and_then(|name| Some(self.spanned(Action::from_name(name)?)))
    }

    /// One of a few fixed words.
    pub(crate) fn one_of(&self, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text()?;
        let found = words.iter().copied().find(|word| *word == *text);
        if found.is_none() {
            let hint = match did_you_mean(&text, words.iter().copied()) {
                Some(_) if Lookalike::in_text(&text).is_some() => Lookalike::hint(&text).unwrap_or_default(),
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("one of {}", words.join(", ")),
            };
            self.invalid::<()>(Code::InvalidValue, format!("`{}` is not a value of `{}`", *text, self.key), hint);
        }
        found
    }

    /// Statuses: codes, classes, ranges, or "none".
    pub(crate) fn statuses(&self) -> Spanned<StatusSet> {
        let mut set = StatusSet::default();
        for item in self.items() {
            let text = match item.value {
                DeValue::Integer(number) => number.as_str().to_owned(),
                DeValue::String(text) => text.to_string(),
                _ => {
                    item.wrong_type::<()>("a status", "write 429, \"5xx\", \"520-527\" or \"none\"");
                    continue;
                }
            };
            if !set.insert_item(&text) {
                item.invalid::<()>(Code::InvalidStatus, format!("`{text}` is no HTTP status"), turned(&text).unwrap_or_else(|| STATUS_HINT.to_owned()));
            }
        }
        self.spanned(set)
    }

    /// The statuses as they are written, as far as they are some.
    pub(super) fn status_items(&self) -> Vec<String> {
        let text = |item: &Entry<'_>| match item.value {
            DeValue::Integer(number) => Some(number.as_str().to_owned()),
            DeValue::String(text) => Some(text.to_string()),
            _ => None,
        };
        self.items().iter().filter_map(text).filter(|text| StatusSet::default().insert_item(text)).collect()
    }

    /// Whatever scalar it is, as text; for values that are compared as written.
    pub(crate) fn scalar_text(&self) -> Option<Spanned<String>> {
        let text = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => return self.wrong_type("a string or number", "write one text in quotes"),
        };
        Some(self.spanned(text))
    }
}
