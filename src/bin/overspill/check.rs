//! `check`: every problem in rule files.

use std::io::Write;

use overspill::{Diagnostic, Diagnostics, Ruleset, Severity};
use serde_json::json;

use crate::arguments::{Check, Common, Format};
use crate::output::{Failed, Outcome, results};
use crate::rules;
use crate::snippet;

pub(crate) fn run(common: &Common, command: &Check) -> Result<Outcome, Failed> {
    let built = rules::build(common, &command.dirs);
    let lint;
    let (ruleset, diagnostics) = match &built {
        Ok(ruleset) => {
            lint = ruleset.lint();
            (Some(ruleset), &lint)
        }
        Err(error) => match error.diagnostics() {
            Some(diagnostics) => (None, diagnostics),
            None => return Err(rules::refuse(error)),
        },
    };
    match common.format {
        Some(Format::Json) => print_json(ruleset, diagnostics)?,
        Some(Format::Text) | None => print_text(ruleset, diagnostics)?,
    }
    let problems = diagnostics.has_errors() || (command.deny_warnings && !diagnostics.is_empty());
    Ok(if problems { Outcome::ProblemsFound } else { Outcome::Done })
}

fn print_text(ruleset: Option<&Ruleset>, diagnostics: &Diagnostics) -> Result<(), Failed> {
    snippet::print_all(diagnostics)?;
    let mut out = results();
    let (errors, warnings) = (diagnostics.count(Severity::Error), diagnostics.count(Severity::Warning));
    let found = format!("{errors} {}, {warnings} {}", plural(errors, "error"), plural(warnings, "warning"));
    match ruleset {
        Some(ruleset) => writeln!(out, "{} files, {} rules, {} examples: {found}", ruleset.file_count(), ruleset.rule_count(), ruleset.example_count())?,
        None => writeln!(out, "refused: {found}")?,
    }
    out.flush()?;
    Ok(())
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn print_json(ruleset: Option<&Ruleset>, diagnostics: &Diagnostics) -> Result<(), Failed> {
    let mut out = results();
    for diagnostic in diagnostics.iter() {
        writeln!(out, "{}", finding(diagnostic))?;
    }
    let summary = json!({
        "files": ruleset.map(Ruleset::file_count),
        "rules": ruleset.map(Ruleset::rule_count),
        "examples": ruleset.map(Ruleset::example_count),
        "errors": diagnostics.count(Severity::Error),
        "warnings": diagnostics.count(Severity::Warning),
    });
    writeln!(out, "{summary}")?;
    out.flush()?;
    Ok(())
}

pub(crate) fn finding(diagnostic: Diagnostic<'_>) -> serde_json::Value {
    let position = diagnostic.position();
    json!({
        "severity": diagnostic.severity().name(),
        "code": diagnostic.code().name(),
        "message": diagnostic.message(),
        "file": diagnostic.file(),
        "line": position.line,
        "column": position.column,
        "hint": diagnostic.hint(),
    })
}
