//! `check`: every problem in rule files.

use std::io::{self, Write};

use overspill::{Diagnostics, Ruleset, Severity};
use serde_json::{Value, json};

use crate::arguments::{Check, Common, Format};
use crate::findings;
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;
use crate::snippet;
use crate::style::counted;

pub(crate) fn run(common: &Common, command: &Check) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json, Format::Github, Format::Sarif])?;
    let (ruleset, diagnostics) = rules::check(common, &command.dirs, None)?;
    let problems = diagnostics.has_errors() || (command.deny_warnings && !diagnostics.is_empty());
    finish(print(format, ruleset, &diagnostics), if problems { Outcome::ProblemsFound } else { Outcome::Done })
}

fn print(format: Format, ruleset: Option<&Ruleset>, diagnostics: &Diagnostics) -> io::Result<()> {
    if format == Format::Text {
        snippet::print_all(diagnostics)?;
    }
    let mut out = results();
    let found = findings::of(diagnostics);
    match format {
        Format::Json => {
            found.iter().try_for_each(|finding| writeln!(out, "{}", finding.as_json()))?;
            writeln!(out, "{}", summary(ruleset, diagnostics))?;
        }
        Format::Sarif => writeln!(out, "{:#}", findings::sarif(&found))?,
        Format::Github => found.iter().try_for_each(|finding| writeln!(out, "{}", finding.as_annotation()))?,
        Format::Text | Format::Markdown => writeln!(out, "{}", sentence(ruleset, diagnostics))?,
    }
    out.flush()
}

fn sentence(ruleset: Option<&Ruleset>, diagnostics: &Diagnostics) -> String {
    let (errors, warnings) = (diagnostics.count(Severity::Error), diagnostics.count(Severity::Warning));
    let found = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    match ruleset {
        Some(ruleset) => format!("{}, {}, {}: {found}", counted(ruleset.file_count(), "file"), counted(ruleset.rule_count(), "rule"), counted(ruleset.example_count(), "example")),
        None => format!("refused: {found}"),
    }
}

fn summary(ruleset: Option<&Ruleset>, diagnostics: &Diagnostics) -> Value {
    json!({
        "files": ruleset.map(Ruleset::file_count),
        "rules": ruleset.map(Ruleset::rule_count),
        "examples": ruleset.map(Ruleset::example_count),
        "errors": diagnostics.count(Severity::Error),
        "warnings": diagnostics.count(Severity::Warning),
    })
}
