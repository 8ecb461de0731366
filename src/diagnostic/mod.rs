//! What is wrong with rule files: one model, many renderings.

mod code;
mod lookalike;
mod suggest;

pub use self::code::Code;

pub use self::suggest::did_you_mean;

pub(crate) use self::lookalike::Lookalike;
pub(crate) use self::suggest::misspelt;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::source::{Location, Position, Sources};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The rules work, but probably not as meant.
    Warning,
    /// The rules are refused as a whole.
    Error,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// More errors than this are not told of one file: nobody reads them, and the first may be the cause of the others.
pub(crate) const MAX_ERRORS_OF_FILE: usize = 100;

/// One finding before it is joined with the texts it points into.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) at: Location,
    pub(crate) label: String,
    pub(crate) related: Vec<(Location, String)>,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, at: Location, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at, label: String::new(), related: Vec::new(), hint: None }
    }

    /// All places that it speaks of.
    fn places(&self) -> impl Iterator<Item = Location> {
        std::iter::once(self.at).chain(self.related.iter().map(|(at, _)| *at))
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(crate) fn related(mut self, at: Location, label: impl Into<String>) -> Self {
        self.related.push((at, label.into()));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A finding in a rule file: what, where, and what to do about it.
#[derive(Clone, Copy, Debug)]
pub struct Diagnostic<'a> {
    problem: &'a Problem,
    sources: &'a Sources,
}

impl<'a> Diagnostic<'a> {
    /// Whether the rules are refused because of it.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.problem.code.severity()
    }

    /// The stable kebab-case code.
    #[must_use]
    pub fn code(self) -> Code {
        self.problem.code
    }

    /// One sentence about what is wrong.
    #[must_use]
    pub fn message(self) -> &'a str {
        &self.problem.message
    }

    /// What would mend it.
    #[must_use]
    pub fn hint(self) -> Option<&'a str> {
        self.problem.hint.as_deref()
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(self) -> &'a str {
        self.sources.name(self.problem.at.source)
    }

    /// Line and column of the offending text.
    #[must_use]
    pub fn position(self) -> Position {
        self.sources.position(self.problem.at)
    }

    /// Line and column behind the offending text.
    #[must_use]
    pub fn end(self) -> Position {
        self.sources.end(self.problem.at)
    }

    /// The places that the finding speaks of, the offending one first.
    pub fn labels(self) -> impl Iterator<Item = Label<'a>> {
        let primary = (self.problem.at, &self.problem.label);
        let related = self.problem.related.iter().map(|(at, text)| (*at, text));
        std::iter::once(primary).chain(related).map(move |(at, text)| Label { file: self.sources.name(at.source), source: self.sources.text(at.source), range: at.range(), text })
    }
}

/// `file:line:column: error[code]: message`, then the hint: the one-line rendering for logs.
impl fmt::Display for Diagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position();
        let (file, severity, code) = (self.file(), self.severity().name(), self.code());
        write!(f, "{file}:{line}:{column}: {severity}[{code}]: {}", in_one_line(self.message()))?;
        match self.hint() {
            Some(hint) => write!(f, " (hint: {})", in_one_line(hint)),
            None => Ok(()),
        }
    }
}

/// Patterns and texts are quoted as they are, with line ends and whatever else a log does not take.
fn in_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// A marked piece of a rule file, with what a renderer needs to show it.
#[derive(Clone, Debug)]
pub struct Label<'a> {
    /// The file, as it was named.
    pub file: &'a str,
    /// Its whole text.
    pub source: &'a str,
    /// The marked bytes of it.
    pub range: std::ops::Range<usize>,
    /// What is said about them; may be empty.
    pub text: &'a str,
}

/// All findings about one set of rule files, in the order of files and lines.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    problems: Vec<Problem>,
    sources: Arc<Sources>,
}

impl Diagnostics {
    pub(crate) fn new(mut problems: Vec<Problem>, sources: Arc<Sources>) -> Self {
        problems.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.message.cmp(&b.message)));
        let broken: BTreeSet<_> = problems.iter().filter(|problem| problem.code == Code::Syntax).map(|problem| sources.line(problem.at)).collect();
        if !broken.is_empty() {
            problems.retain(|problem| problem.code == Code::Syntax || !problem.places().any(|at| broken.contains(&sources.line(at))));
        }
        Self { problems: first_of_each_file(problems), sources }
    }

    /// The findings.
    pub fn iter(&self) -> impl Iterator<Item = Diagnostic<'_>> {
        self.problems.iter().map(|problem| Diagnostic { problem, sources: &self.sources })
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many there are of one severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.code.severity() == severity).count()
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether any of them makes the rules unusable.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }
}

/// The problems of each file up to a number of errors, and how many there are besides.
fn first_of_each_file(problems: Vec<Problem>) -> Vec<Problem> {
    let is_error = |problem: &&Problem| problem.code.severity() == Severity::Error && problem.code != Code::MoreErrors;
    if problems.iter().filter(is_error).count() <= MAX_ERRORS_OF_FILE {
        return problems;
    }
    let mut kept = Vec::new();
    for of_file in problems.chunk_by(|a, b| a.at.source == b.at.source) {
        let mut errors = of_file.iter().enumerate().filter(|(_, problem)| is_error(problem));
        let Some((cut, next)) = errors.nth(MAX_ERRORS_OF_FILE) else {
            kept.extend_from_slice(of_file);
            continue;
        };
        let more = errors.count() + 1;
        kept.extend_from_slice(&of_file[..cut]);
        let (noun, verb) = if more == 1 { ("error", "is") } else { ("errors", "are") };
        let message = format!("there {verb} {more} more {noun} in this file, from here on");
        kept.push(Problem::new(Code::MoreErrors, next.at, message).hint("mend those above first: they may be the cause of the rest"));
    }
    kept
}

/// One line a finding.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}
