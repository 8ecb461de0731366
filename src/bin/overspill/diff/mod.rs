//! `show --diff`: what a directory changes when it is put over the rules. All that can change a verdict or a wait is told: `replay` asks the same views what cannot.

mod form;
mod order;
mod provider;
mod rule;
mod setting;
mod tried;
mod value;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use overspill::Ruleset;
use serde_json::Value;

use crate::arguments::{Common, Format};
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;
use crate::show;
use crate::style::{BAD, CAUTION, GOOD, paint};

/// Something that differs, for people and for programs.
#[derive(Clone)]
struct Told {
    text: String,
    json: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Changed,
    Removed,
}

impl Kind {
    /// How a thing differs of which either side has one.
    fn of<T>(before: Option<T>, after: Option<T>) -> Self {
        match (before, after) {
            (None, _) => Self::Added,
            (_, None) => Self::Removed,
            _ => Self::Changed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }

    fn painted(self) -> String {
        let style = match self {
            Self::Added => GOOD,
            Self::Changed => CAUTION,
            Self::Removed => BAD,
        };
        paint(style, self.name())
    }
}

pub(crate) fn run(common: &Common, before: &Arc<Ruleset>, provider: Option<&str>, dir: &Path, format: Format) -> Result<Outcome, Failed> {
    let after = rules::build_after(before, common, &[dir.to_owned()])?;
    let only = provider.map(|name| show::find(&after, name).map(|provider| provider.name().to_owned())).transpose()?;
    let wanted = |provider: &str| only.as_deref().is_none_or(|only| only == provider);
    finish(print(&changes(before, &after, &wanted), format), Outcome::Done)
}

/// All that differs: of everybody, of providers, of rules.
fn changes(before: &Ruleset, after: &Ruleset, wanted: &(impl Fn(&str) -> bool + Sync)) -> Vec<Told> {
    let of_settings = || [provider::changes(before, after, wanted), setting::changes(before, after, wanted), form::changes(before, after)].concat();
    let of_rules = || [order::changes(before, after, wanted), rule::changes(before, after, wanted), tried::changes(before, after, wanted)].concat();
    thread::scope(|scope| {
        // Where no thread can be had the work is done here.
        let other = thread::Builder::new().spawn_scoped(scope, of_rules).ok();
        let mut told = of_settings();
        told.extend(other.map_or_else(of_rules, |other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        told
    })
}

fn print(told: &[Told], format: Format) -> io::Result<()> {
    let mut out = results();
    match format {
        Format::Json => told.iter().try_for_each(|told| writeln!(out, "{}", told.json))?,
        _ if told.is_empty() => writeln!(out, "nothing changes")?,
        _ => told.iter().try_for_each(|told| write!(out, "{}", told.text))?,
    }
    out.flush()
}
