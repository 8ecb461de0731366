//! `watch`: what happens to the rules, as it happens.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use jiff::Timestamp;
use overspill::{BrokenStart, Diagnostics, Error, Overspill, WatchEvent, WatchEventKind, WatchMode, WatchOptions, Watching};
use serde_json::json;

use crate::arguments::{Common, Format, Mode, Watch};
use crate::findings;
use crate::output::{Failed, Outcome, notes, results};
use crate::rules;
use crate::snippet;

pub(crate) fn run(common: &Common, command: &Watch) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json])?;
    let dirs: Vec<_> = common.rules.iter().chain(&command.dirs).collect();
    if dirs.is_empty() {
        return Err(Failed::Use("name a rules directory to watch".to_owned()));
    }
    let (options, events) = options(common, command);
    let overspill = match Overspill::watch_with(dirs, options) {
        Ok(overspill) => overspill,
        Err(error) => {
            print_refused(format, &error)?;
            return Err(rules::refuse(&error));
        }
    };
    warn_of_polling(command, &overspill)?;
    let mut outcome = Outcome::Done;
    for event in events.iter().take(command.events.unwrap_or(usize::MAX)) {
        outcome = if event.error.is_some() { Outcome::ProblemsFound } else { Outcome::Done };
        match format {
            Format::Json => print_json(&event)?,
            _ => print_text(&event)?,
        }
    }
    Ok(outcome)
}

fn options(common: &Common, command: &Watch) -> (WatchOptions, Receiver<WatchEvent>) {
    let (sender, events) = channel();
    let sender = Mutex::new(sender);
    let mode = match command.mode {
        Mode::Auto => WatchMode::Auto,
        Mode::Native => WatchMode::Native,
        Mode::Poll => WatchMode::Poll,
    };
    let mut options = WatchOptions::default().mode(mode).on_event(move |event| {
        if let Ok(sender) = sender.lock() {
            // Nobody listens any more when the program is about to end.
            let _ = sender.send(event.clone());
        }
    });
    if common.no_embedded {
        options = options.without_embedded();
    }
    if command.start_embedded {
        options = options.broken_start(BrokenStart::UseEmbedded);
    }
    if let Some(millis) = command.quiet_ms {
        options = options.quiet(Duration::from_millis(millis));
    }
    (options, events)
}

fn warn_of_polling(command: &Watch, overspill: &Overspill) -> Result<(), Failed> {
    let watching = overspill.watcher().map(|watcher| watcher.status().watching);
    if let (Some(Watching::Polling { reason: Some(reason) }), false) = (watching, command.mode == Mode::Poll) {
        writeln!(notes(), "warning: the system tells of no changes, the files are polled: {reason}")?;
    }
    Ok(())
}

/// A start that was refused is an event too, for programs that read events.
fn print_refused(format: Format, error: &Error) -> Result<(), Failed> {
    if format == Format::Json {
        let cause = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
        let event = json!({
            "event": WatchEventKind::Rejected.name(),
            "at": time(Timestamp::now()),
            "took_ms": null,
            "ruleset": null,
            "rules": null,
            "diagnostics": found(error.diagnostics()),
            "generation": null,
            "error": error.diagnostics().is_none().then(|| format!("{error}{cause}")),
        });
        print_line(&event.to_string())?;
    }
    Ok(())
}

fn print_json(event: &WatchEvent) -> Result<(), Failed> {
    let object = json!({
        "event": event.kind.name(),
        "at": time(at(event)),
        "took_ms": event.took.as_millis() as u64,
        "ruleset": event.version.to_string(),
        "rules": event.rules,
        "diagnostics": found(event.diagnostics()),
        "generation": event.generation,
        // What is wrong with the files stands in the diagnostics.
        "error": event.error.as_ref().filter(|error| error.diagnostics().is_none()).map(ToString::to_string),
    });
    print_line(&object.to_string())
}

fn print_text(event: &WatchEvent) -> Result<(), Failed> {
    let (kind, version, rules, millis) = (event.kind.name(), event.version, event.rules, event.took.as_millis());
    print_line(&format!("{} {kind:<9} ruleset {version}, {rules} rules in force, {millis} ms", time(at(event))))?;
    match (event.diagnostics(), &event.error) {
        (Some(diagnostics), _) => snippet::print_all(diagnostics)?,
        (None, Some(error)) => writeln!(notes(), "error: {error}")?,
        (None, None) => {}
    }
    Ok(())
}

fn found(diagnostics: Option<&Diagnostics>) -> Vec<serde_json::Value> {
    diagnostics.into_iter().flat_map(findings::of).map(|finding| finding.as_json()).collect()
}

fn at(event: &WatchEvent) -> Timestamp {
    Timestamp::try_from(event.at).unwrap_or_default()
}

/// To the millisecond, and always with three digits, so that texts sort as times do.
fn time(at: Timestamp) -> String {
    format!("{:.3}", at.round(jiff::Unit::Millisecond).unwrap_or(at))
}

/// Each event is seen at once, also through a pipe.
fn print_line(line: &str) -> Result<(), Failed> {
    let mut out = results();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_one_width() {
        for (given, shown) in [("2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000Z"), ("2026-11-30T12:00:00.1206Z", "2026-11-30T12:00:00.121Z")] {
            assert_eq!(given.parse().map(time).ok().as_deref(), Some(shown));
        }
    }
}
