//! `test`: every example, and recorded failures with the answers expected of them.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use overspill::{ExampleView, Outcome as RuleOutcome, Overspill, Ruleset, Severity};
use serde_json::json;

use crate::arguments::{Common, Format, Test};
use crate::describe;
use crate::expect::Expect;
use crate::failure;
use crate::findings::{self, Finding};
use crate::input::{self, Line};
use crate::output::{Failed, Outcome, finish, notes, results};
use crate::plain::plain;
use crate::progress::Progress;
use crate::rules;
use crate::snippet;
use crate::style::{BAD, CAUTION, FAINT, GOOD, NAME, STRONG, counted, paint};

/// One that failed: for people and for programs.
struct Failure {
    title: String,
    details: Vec<(&'static str, String)>,
    /// The place in the file, underlined.
    shown: Option<String>,
    findings: Vec<Finding>,
}

#[derive(Default)]
struct Report {
    examples: usize,
    recorded: usize,
    skipped: usize,
    unreadable: usize,
    failures: Vec<Failure>,
}

impl Report {
    /// Lines that passed or failed.
    fn judged(&self) -> usize {
        self.recorded + self.unreadable
    }
}

pub(crate) fn run(common: &Common, command: &Test) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json, Format::Github])?;
    let started = Instant::now();
    let ruleset = rules::build_untested(common, &command.dirs, None)?;
    let overspill = Overspill::from(ruleset);
    let ruleset = overspill.ruleset();
    let mut report = Report::default();
    run_examples(&ruleset, &mut report);
    for corpus in &command.corpus {
        let before = report.judged();
        run_corpus(&overspill, corpus, &mut report)?;
        if report.judged() == before {
            writeln!(notes(), "{} {} has no recorded failure with an `expect`: nothing of it is tested", paint(CAUTION, "note:"), plain(&corpus.to_string_lossy()))?;
        }
    }
    let outcome = if report.failures.is_empty() { Outcome::Done } else { Outcome::ProblemsFound };
    let printed = match format {
        Format::Text => print_text(&ruleset, &report, started),
        format => print_findings(&ruleset, &report, format),
    };
    finish(printed, outcome)
}

fn run_examples(ruleset: &Ruleset, report: &mut Report) {
    let examples: Vec<_> = ruleset.examples().collect();
    report.examples = examples.len();
    let progress = Mutex::new(Progress::of(examples.len()));
    let run = |examples: &[ExampleView<'_>]| {
        let mut failures = Vec::new();
        for example in examples {
            failures.extend(run_example(example));
            progress.lock().unwrap_or_else(PoisonError::into_inner).add(1);
        }
        failures
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let parts: Vec<_> = examples.chunks(examples.len().div_ceil(threads).max(1)).map(|part| scope.spawn(move || run(part))).collect();
        // In the order of the files, whichever thread is first.
        parts.into_iter().for_each(|part| report.failures.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
    });
}

fn run_example(example: &ExampleView<'_>) -> Option<Failure> {
    let run = example.run();
    if run.problems.is_empty() {
        return None;
    }
    let (rule, verdict) = (example.rule(), &run.verdict);
    let expected = match (example.is_negative(), example.expected_class()) {
        (true, _) => format!("any verdict but that of {}", rule.name()),
        (false, Some(class)) => format!("{class}, by {}", rule.name()),
        (false, None) => format!("{}, by {}", rule.class(), rule.name()),
    };
    let got = match verdict.origin() {
        Some(origin) => format!("{}, by {} ({origin})", verdict.class(), describe::decided_by(verdict)),
        None => format!("{}: no rule and no status decides", verdict.class()),
    };
    Some(Failure {
        title: format!("{} example {} ({})", rule.name(), example.number(), example.origin()),
        details: vec![("expected", expected), ("got", got)],
        shown: Some(run.problems.iter().map(snippet::render).collect::<Vec<_>>().join("\n")),
        findings: findings::of(&run.problems),
    })
}

fn run_corpus(overspill: &Overspill, corpus: &std::path::Path, report: &mut Report) -> Result<(), Failed> {
    let mut progress = Progress::of_bytes(0);
    input::for_each_object(Some(corpus), |line| {
        progress.add(line.bytes);
        let (number, name) = (line.number, corpus.to_string_lossy());
        match judge(overspill, line) {
            Ok(Judged::Right) => report.recorded += 1,
            Ok(Judged::Skipped) => report.skipped += 1,
            Ok(Judged::Wrong { id, differences, details }) => {
                report.recorded += 1;
                let title = if id.is_empty() { format!("{name}:{number}") } else { format!("{id} ({name}:{number})") };
                let finding =
                    |difference: &String| finding("recorded-failure", &name, number, difference, "`overspill explain` shows what was read of it and which rules came near");
                report.failures.push(Failure { title, details, shown: None, findings: differences.iter().map(finding).collect() });
            }
            Err(Unreadable { error, hint }) => {
                report.unreadable += 1;
                let finding = finding("unreadable-line", &name, number, &error, hint);
                report.failures.push(Failure { title: format!("{name}:{number}"), details: vec![("error", error)], shown: None, findings: vec![finding] });
            }
        }
        Ok(())
    })
}

enum Judged {
    Right,
    Skipped,
    Wrong { id: String, differences: Vec<String>, details: Vec<(&'static str, String)> },
}

/// A line that cannot be judged, and what would mend it.
struct Unreadable {
    error: String,
    hint: &'static str,
}

fn judge(overspill: &Overspill, line: Line) -> Result<Judged, Unreadable> {
    let because = |hint| move |error| Unreadable { error, hint };
    let mut object = line.object.map_err(because("write one JSON object a line"))?;
    let expect = Expect::take(&mut object).map_err(because("write what the verdict should be, such as \"expect\": {\"class\": \"rate_limited\"}"))?;
    let Some(expect) = expect else {
        return Ok(Judged::Skipped);
    };
    let input = failure::read(object).map_err(because("`overspill classify --help` lists the fields of a failure"))?;
    let differences = expect.differences(&overspill.ruleset().evaluate(&input.failure), input.now);
    if differences.is_empty() {
        return Ok(Judged::Right);
    }
    let explanation = overspill.explain(&input.failure);
    let verdict = &explanation.verdict;
    let mut details: Vec<_> = differences.iter().map(|difference| ("wrong", difference.clone())).collect();
    let by = match verdict.origin() {
        Some(origin) => format!("{} ({origin})", describe::decided_by(verdict)),
        None => "nothing: no rule and no status".to_owned(),
    };
    details.push(("decided by", by));
    let stopped = explanation.tried.iter().chain(&explanation.nearest).filter_map(|tried| match &tried.outcome {
        RuleOutcome::Failed(why) => Some(("came near", format!("{} ({}): {why}", tried.rule, tried.origin))),
        RuleOutcome::Won => None,
    });
    details.extend(stopped.take(3));
    Ok(Judged::Wrong { id: describe::id(&input.id), differences, details })
}

fn finding(code: &'static str, file: &str, line: usize, message: &str, hint: &str) -> Finding {
    Finding { severity: Severity::Error, code, message: message.to_owned(), file: file.to_owned(), line, column: 1, end: None, hint: Some(hint.to_owned()) }
}

fn print_text(ruleset: &Ruleset, report: &Report, started: Instant) -> io::Result<()> {
    let mut out = results();
    let recorded = if report.judged() + report.skipped > 0 { format!(" and {}", counted(report.judged(), "recorded failure")) } else { String::new() };
    let rules = counted(ruleset.rule_count(), "rule");
    let files = counted(ruleset.file_count(), "file");
    writeln!(out, "running {}{recorded}: {rules} in {files}", counted(report.examples, "example"))?;
    for failure in &report.failures {
        writeln!(out, "\n{} {}", paint(BAD, "FAIL"), paint(STRONG, plain(&failure.title)))?;
        if let Some(shown) = &failure.shown {
            writeln!(out, "{shown}")?;
        }
        for (key, value) in &failure.details {
            writeln!(out, "  {} {}", paint(NAME, format!("{key:<10}")), plain(value))?;
        }
    }
    let failed = report.failures.len();
    let passed = (report.examples + report.judged()).saturating_sub(failed);
    let word = if failed == 0 { paint(GOOD, "ok") } else { paint(BAD, "FAILED") };
    let took = paint(FAINT, format!("in {:.2} s", started.elapsed().as_secs_f64()));
    writeln!(out, "\ntest result: {word}. {passed} passed; {failed} failed; {} skipped; {took}", report.skipped)?;
    out.flush()
}

fn print_findings(ruleset: &Ruleset, report: &Report, format: Format) -> io::Result<()> {
    let mut out = results();
    let mut errors = 0;
    for finding in report.failures.iter().flat_map(|failure| &failure.findings) {
        errors += 1;
        match format {
            Format::Github => writeln!(out, "{}", finding.as_annotation())?,
            _ => writeln!(out, "{}", finding.as_json())?,
        }
    }
    if format == Format::Json {
        let summary = json!({
            "files": ruleset.file_count(),
            "rules": ruleset.rule_count(),
            "examples": report.examples,
            "recorded": report.recorded,
            "skipped": report.skipped,
            "unreadable": report.unreadable,
            "errors": errors,
            "warnings": 0,
        });
        writeln!(out, "{summary}")?;
    }
    out.flush()
}
