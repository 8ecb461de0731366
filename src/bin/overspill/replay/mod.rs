//! `replay`: which recorded failures change their verdict between two sets of rules.

mod blocks;
mod change;
mod report;
mod unaffected;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use overspill::Ruleset;
use serde_json::Value;

use self::blocks::{Block, Blocks};
use self::change::{Change, Cost, GroupKey, Probe, Sides};
use self::unaffected::{Differing, Unaffected};
use crate::arguments::{Common, Format, Replay};
use crate::describe;
use crate::failure;
use crate::input;
use crate::output::{Failed, Outcome, finish, notes};
use crate::plain::plain;
use crate::rules;
use crate::style::{CAUTION, paint};

/// More unreadable lines than this are only counted.
const MAX_UNREADABLE: usize = 10;

/// More threads than this only wait for each other.
const MAX_THREADS: usize = 256;

/// Rules that differ are only asked first when not one in so many does.
const MIN_SHARE_PROBED: usize = 5;

/// What was found.
#[derive(Debug, Default)]
struct Found {
    failures: u64,
    unreadable: u64,
    /// The first of them, with what is wrong.
    errors: BTreeMap<usize, String>,
    groups: BTreeMap<GroupKey, Group>,
}

/// Failures whose verdicts change in the same way.
#[derive(Debug, Default)]
struct Group {
    count: u64,
    cost: Cost,
    /// Line and id of the first.
    examples: BTreeMap<usize, String>,
    /// Waits that either side asks for, to tell their mean.
    waits: [(u64, u64); 2],
}

pub(crate) fn run(common: &Common, command: &Replay) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json, Format::Markdown])?;
    let blocks = Blocks::open(&command.corpus)?;
    let (from, to) = both(common, command)?;
    let differing = Differing::between(&from, &to);
    let unaffected = Unaffected::between(&from, &to, &differing, &Differing::default());
    let probe = if blocks.are_many() { probe(common, command, [&from, &to], &differing)? } else { None };
    let sides = Sides { from: &from, to: &to, unaffected, probe, now: Timestamp::now() };
    let threads = command.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let found = replay(&sides, blocks, threads, command.examples)?;
    if found.failures + found.unreadable == 0 {
        writeln!(notes(), "{} {} has no recorded failure: nothing is compared", paint(CAUTION, "note:"), plain(&input::name(Some(&command.corpus))))?;
    }
    let outcome = if found.groups.is_empty() && found.unreadable == 0 { Outcome::Done } else { Outcome::ProblemsFound };
    finish(report::print(&found, &sides, format), outcome)
}

/// Both sides, which have most in common. Their examples are the affair of `test`.
fn both(common: &Common, command: &Replay) -> Result<(Arc<Ruleset>, Arc<Ruleset>), Failed> {
    let embedded_alone = |dirs: &[PathBuf]| dirs.is_empty() && common.rules.is_empty() && !common.no_embedded;
    let from = if embedded_alone(&command.from) { Ruleset::embedded() } else { rules::build_untested(common, &command.from, None).map(Arc::new)? };
    let to = rules::build_untested(common, &command.to, Some(&from)).map(Arc::new)?;
    Ok((from, to))
}

/// The rules that differ alone, where they are few enough to be asked first.
fn probe(common: &Common, command: &Replay, [from, to]: [&Arc<Ruleset>; 2], differing: &Differing) -> Result<Option<Probe>, Failed> {
    if differing.len() == 0 || differing.len() * MIN_SHARE_PROBED > from.rule_count() {
        return Ok(None);
    }
    let build = |names: &BTreeSet<String>, earlier: &Arc<Ruleset>, dirs: &[PathBuf]| match names.len() {
        0 => Ok(None),
        _ => rules::build_only(names, earlier, common, dirs).map(Some),
    };
    let sides = [build(&differing.from, from, &command.from)?, build(&differing.to, to, &command.to)?];
    Ok(Some(Probe { sides, unaffected: Unaffected::between(from, to, differing, differing) }))
}

fn replay(sides: &Sides<'_>, blocks: Blocks, threads: usize, examples: usize) -> Result<Found, Failed> {
    let blocks = Mutex::new(blocks);
    let work = || -> Result<Found, Failed> {
        let mut found = Found::default();
        loop {
            let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).next()?;
            match block {
                Some(block) => found.read(sides, &block, examples),
                None => return Ok(found),
            }
        }
    };
    thread::scope(|scope| {
        // Where the system gives no more threads, those that there are do the work.
        let others: Vec<_> = (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut found = work()?;
        for other in others {
            found.merge(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?, examples);
        }
        Ok(found)
    })
}

impl Found {
    fn read(&mut self, sides: &Sides<'_>, block: &Block, examples: usize) {
        for (index, line) in block.lines() {
            let number = block.first_line + index;
            match line.and_then(|line| judge(sides, line, number)) {
                Ok(change) => {
                    self.failures += 1;
                    if let Some((change, id)) = change {
                        self.add(change, number, &id, examples);
                    }
                }
                Err(error) => {
                    self.unreadable += 1;
                    insert_bounded(&mut self.errors, number, error, MAX_UNREADABLE);
                }
            }
        }
    }

    fn add(&mut self, change: Change, line: usize, id: &Value, examples: usize) {
        let group = self.groups.entry(change.key).or_default();
        group.count += 1;
        group.cost.add(change.cost);
        for (sum, wait) in group.waits.iter_mut().zip(change.waits) {
            if let Some(wait) = wait {
                *sum = (sum.0 + 1, sum.1.saturating_add(wait));
            }
        }
        if group.examples.len() < examples {
            group.examples.insert(line, describe::id(id));
        } else {
            insert_bounded(&mut group.examples, line, describe::id(id), examples);
        }
    }

    fn merge(&mut self, other: Self, examples: usize) {
        self.failures += other.failures;
        self.unreadable += other.unreadable;
        for (line, error) in other.errors {
            insert_bounded(&mut self.errors, line, error, MAX_UNREADABLE);
        }
        for (key, group) in other.groups {
            let known = self.groups.entry(key).or_default();
            known.count += group.count;
            known.cost.add(group.cost);
            for (sum, more) in known.waits.iter_mut().zip(group.waits) {
                *sum = (sum.0 + more.0, sum.1.saturating_add(more.1));
            }
            for (line, id) in group.examples {
                insert_bounded(&mut known.examples, line, id, examples);
            }
        }
    }
}

/// Keeps the first `most`, whatever the order in which threads find them.
fn insert_bounded(map: &mut BTreeMap<usize, String>, line: usize, text: String, most: usize) {
    map.insert(line, text);
    while map.len() > most {
        map.pop_last();
    }
}

fn judge(sides: &Sides<'_>, line: &[u8], number: usize) -> Result<Option<(Change, Value)>, String> {
    let object = input::parse(line)?;
    let dated = object.contains_key("now");
    let mut input = failure::read(object)?;
    if !dated {
        // One instant for both sides and all lines, so that nothing changes but the rules.
        input.now = sides.now;
        input.failure = input.failure.received_at(sides.now);
    }
    Ok(sides.compare(&input, number as u64).map(|change| (change, input.id)))
}
