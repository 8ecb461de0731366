//! The reloader: judges what the directories hold and puts it in force.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::events::{Audience, WatchEvent, WatchEventKind};
use super::fingerprint::Fingerprint;
use super::history::{Good, History};
use super::load::{self, Loader};
use super::options::{WatchMode, WatchOptions};
use super::places::places;
use super::quiet::Quiet;
use super::scan::{DirScan, Scan};
use super::signal::{Answer, News, Request, Signal, Wish};
use super::status::{WatchStatus, Watching};
use super::telemetry;
use super::watch::Watch;
use crate::diagnostic::Diagnostics;
use crate::error::Error;
use crate::ruleset::{Ruleset, Version};

/// Puts rules in force and returns the former ones.
pub(crate) type Put = Box<dyn Fn(Arc<Ruleset>) -> Arc<Ruleset> + Send>;

/// How often retired rules are looked at while some are held by readers.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
/// Checks one right after another while the watch is set up anew; then they come at their own pace again.
const MAX_ROUNDS: u8 = 4;

/// What the reloader's thread owns.
pub(super) struct Worker {
    pub(super) loader: Loader,
    pub(super) options: WatchOptions,
    pub(super) put: Put,
    pub(super) signal: Arc<Signal>,
    pub(super) status: Arc<Mutex<WatchStatus>>,
    pub(super) audience: Arc<Audience>,
    pub(super) watch: Watch,
    pub(super) quiet: Quiet,
    pub(super) history: History,
    /// The rules in force.
    pub(super) in_force: Good,
    /// What the directories held when they were last judged, and why it was refused.
    pub(super) judged: Option<(Fingerprint, Option<Error>)>,
    pub(super) pinned: bool,
    pub(super) lost: Vec<PathBuf>,
    /// What a check saw: to be judged if it is still so after the quiet period.
    pub(super) seen: Option<Fingerprint>,
    pub(super) next_check: Instant,
    /// When the watch may be tried again after the system refused it.
    pub(super) no_watch_before: Instant,
    pub(super) rounds: u8,
    pub(super) sweeping: bool,
}

/// What a look at the directories comes to.
enum Judgement {
    /// What is in force.
    Same,
    /// What was refused before.
    StillWrong(Error),
    Good(Good),
    Wrong(Error),
}

impl Worker {
    /// Follows the files until told to stop. No error ends it.
    pub(super) fn run(mut self) {
        loop {
            let news = self.signal.wait_until(self.wake_at());
            if news.stop {
                break;
            }
            if catch_unwind(AssertUnwindSafe(|| self.step(news))).is_err() {
                // Whoever waits for an answer gets an error. Everything is looked at again, at the pace of the checks.
                self.quiet.done();
                self.watch.distrust();
                self.next_check = Instant::now() + self.period();
            }
        }
        self.audience.close();
        self.watch.disarm();
    }

    fn wake_at(&self) -> Instant {
        let mut wake_at = self.next_check;
        if let Some(due) = self.quiet.due() {
            wake_at = wake_at.min(due);
        }
        if self.sweeping { wake_at.min(Instant::now() + SWEEP_EVERY) } else { wake_at }
    }

    fn step(&mut self, news: News) {
        let now = Instant::now();
        if news.unseated || news.overflows > 0 {
            self.watch.distrust();
        }
        if let Some(failure) = news.failure {
            // A watch that broke is thrown away; arming makes another one.
            self.watch.disarm();
            telemetry::watch_failed();
            self.set_status(|status| {
                status.counts.watch_errors += 1;
                status.watching = Watching::Polling { reason: Some(failure) };
            });
        }
        if news.overflows > 0 {
            telemetry::overflowed(news.overflows);
            self.set_status(|status| status.counts.overflows += news.overflows);
        }
        if news.hint {
            self.seen = None;
            self.rounds = 0;
            self.quiet.hint(now);
        }
        let (reloads, others): (Vec<_>, Vec<_>) = news.requests.into_iter().partition(|request| request.wish == Wish::Reload);
        for Request { wish, answer } in others {
            let _ = answer.send(self.grant(wish));
        }
        if !reloads.is_empty() {
            let outcome = self.reload();
            reloads.into_iter().for_each(|request| _ = request.answer.send(outcome.clone()));
        } else if self.quiet.is_ripe(now) {
            self.attempt(now);
        } else if now >= self.next_check {
            self.check(now);
        }
        self.sweeping = self.history.sweep();
    }

    /// Compares the contents with what is known, in silence; what is new is judged after the quiet period.
    fn check(&mut self, now: Instant) {
        self.next_check = now + self.period();
        let scan = Scan::of(&self.loader.dirs);
        self.arm(&scan);
        telemetry::stands(&self.status.lock().unwrap_or_else(PoisonError::into_inner));
        let known = self.judged.as_ref().is_some_and(|(fingerprint, _)| *fingerprint == scan.fingerprint);
        if !known && self.seen != Some(scan.fingerprint) {
            self.seen = Some(scan.fingerprint);
            self.quiet.hint(now);
        }
    }

    /// Judges at once, for one who asks; tries again where the contents move.
    fn reload(&mut self) -> Answer {
        let deadline = Instant::now() + self.quiet.patience();
        self.seen = None;
        loop {
            let now = Instant::now();
            if let Some(outcome) = self.attempt(now) {
                return outcome;
            }
            if now >= deadline || self.signal.is_stopped() {
                return Err(load::unsettled());
            }
        }
    }

    /// Reads, judges, reads again; no outcome when the contents moved meanwhile.
    fn attempt(&mut self, started: Instant) -> Option<Answer> {
        let scan = Scan::of(&self.loader.dirs);
        let scanned = Instant::now();
        self.arm(&scan);
        let fingerprint = scan.fingerprint;
        if self.seen.take().is_some_and(|seen| seen != fingerprint) {
            self.seen = Some(fingerprint);
            return self.moved(started);
        }
        let lost: Vec<_> = scan.lost().map(|(path, _)| path.to_owned()).collect();
        let judgement = self.judge(scan);
        if !matches!(judgement, Judgement::Same | Judgement::StillWrong(_)) {
            // Half-written files are not seen: what was read must still be there.
            thread::sleep(self.quiet.settle().saturating_sub(scanned.elapsed()));
            if Scan::of(&self.loader.dirs).fingerprint != fingerprint {
                return self.moved(started);
            }
        }
        self.quiet.done();
        Some(self.conclude(fingerprint, lost, judgement, started))
    }

    /// The contents changed while they were read. No outcome, unless that has gone on for too long.
    fn moved(&mut self, started: Instant) -> Option<Answer> {
        self.set_status(|status| status.counts.moved += 1);
        let now = Instant::now();
        if !self.quiet.is_overdue(now) {
            self.quiet.moved(now);
            return None;
        }
        self.quiet.done();
        self.judged = None;
        self.seen = None;
        self.next_check = now;
        Some(self.refuse(WatchEventKind::Rejected, load::unsettled(), started))
    }

    fn judge(&mut self, scan: Scan) -> Judgement {
        let fingerprint = scan.fingerprint;
        match &self.judged {
            Some((judged, Some(error))) if *judged == fingerprint => return Judgement::StillWrong(error.clone()),
            Some((judged, None)) if *judged == fingerprint => return Judgement::Same,
            _ => {}
        }
        if self.in_force.fingerprint == Some(fingerprint) {
            return Judgement::Same;
        }
        if let Some(error) = load::lost(&scan) {
            return Judgement::Wrong(error);
        }
        self.set_status(|status| status.counts.compiled += 1);
        let texts = Arc::new(scan.texts());
        match self.loader.build(scan.dirs, Some(&self.in_force.ruleset)) {
            Ok(ruleset) => Judgement::Good(Good { ruleset: Arc::new(ruleset), fingerprint: Some(fingerprint), texts, loaded_at: SystemTime::now() }),
            Err(error) => Judgement::Wrong(error),
        }
    }

    fn conclude(&mut self, fingerprint: Fingerprint, lost: Vec<PathBuf>, judgement: Judgement, started: Instant) -> Answer {
        let newly_lost = lost.iter().any(|path| !self.lost.contains(path));
        let found = self.lost.iter().any(|path| !lost.contains(path));
        self.lost = lost;
        if found {
            self.tell(WatchEventKind::Found, started, None, None);
        }
        match judgement {
            Judgement::Same => {
                self.judged = Some((fingerprint, None));
                Ok(self.unchanged(started))
            }
            Judgement::Wrong(error) | Judgement::StillWrong(error) => {
                self.judged = Some((fingerprint, Some(error.clone())));
                self.refuse(if newly_lost { WatchEventKind::Lost } else { WatchEventKind::Rejected }, error, started)
            }
            Judgement::Good(good) => Ok(self.accept(fingerprint, good, started)),
        }
    }

    /// What the files say is right: it is put in force, unless what is in force is pinned.
    fn accept(&mut self, fingerprint: Fingerprint, good: Good, started: Instant) -> WatchEvent {
        self.judged = Some((fingerprint, None));
        self.history.push(&good);
        if self.pinned {
            return self.unchanged(started);
        }
        self.put_in_force(good);
        self.all_right(|status| status.counts.reloaded += 1);
        self.reloaded(started)
    }

    fn unchanged(&mut self, started: Instant) -> WatchEvent {
        self.all_right(|status| status.counts.unchanged += 1);
        self.tell(WatchEventKind::Unchanged, started, None, None)
    }

    fn reloaded(&self, started: Instant) -> WatchEvent {
        let warnings = self.in_force.ruleset.warnings();
        let warnings = (!warnings.is_empty()).then(|| Arc::new(warnings.clone()));
        self.tell(WatchEventKind::Reloaded, started, None, warnings)
    }

    /// The rules in force stay, and why is kept.
    fn refuse(&mut self, kind: WatchEventKind, error: Error, started: Instant) -> Answer {
        let now = SystemTime::now();
        self.set_status(|status| {
            status.last_attempt = now;
            status.last_error = Some(error.clone());
            status.failing_since.get_or_insert(now);
            status.counts.rejected += 1;
        });
        self.tell(kind, started, Some(error.clone()), None);
        Err(error)
    }

    fn all_right(&self, count: impl FnOnce(&mut WatchStatus)) {
        self.set_status(|status| {
            status.last_attempt = SystemTime::now();
            status.last_error = None;
            status.failing_since = None;
            count(status);
        });
    }

    fn put_in_force(&mut self, good: Good) {
        let former = (self.put)(Arc::clone(&good.ruleset));
        let known = std::mem::replace(&mut self.in_force, good);
        // The two differ when somebody else replaced the rules by hand. The embedded ones are held for ever.
        if known.fingerprint.is_some() || !Arc::ptr_eq(&former, &known.ruleset) {
            self.history.retire(former);
            self.history.retire(known.ruleset);
        }
        let Good { ruleset, fingerprint, loaded_at, .. } = self.in_force.clone();
        self.set_status(|status| {
            status.generation += 1;
            status.version = ruleset.version();
            status.content = fingerprint.map(|fingerprint| fingerprint.to_string());
            status.files = ruleset.file_count();
            status.rules = ruleset.rule_count();
            status.loaded_at = loaded_at;
        });
    }

    /// What callers ask for besides reloading.
    fn grant(&mut self, wish: Wish) -> Answer {
        let started = Instant::now();
        match wish {
            Wish::Reload => self.reload(),
            Wish::Pin => {
                self.pinned = true;
                Ok(self.tell(WatchEventKind::Unchanged, started, None, None))
            }
            Wish::Unpin => {
                self.pinned = false;
                // Looked at afresh: the files may say something else than what is in force.
                self.judged = None;
                self.reload()
            }
            Wish::RollBack(version) => self.roll_back(version, started),
        }
    }

    fn roll_back(&mut self, version: Version, started: Instant) -> Answer {
        let Some((texts, loaded_at)) = self.history.find(version) else {
            return Err(Error::watch(format!("no ruleset {version} is kept: see the history in the status"), None));
        };
        let (ruleset, fingerprint) = if texts.is_empty() {
            (Ruleset::embedded(), None)
        } else {
            let dirs: Vec<_> = texts.iter().map(DirScan::of_texts).collect();
            let fingerprint = Scan::fingerprint_of(&dirs);
            (Arc::new(self.loader.build(dirs, Some(&self.in_force.ruleset))?), Some(fingerprint))
        };
        let good = Good { ruleset, fingerprint, texts, loaded_at };
        self.pinned = true;
        self.put_in_force(good);
        self.set_status(|status| status.counts.reloaded += 1);
        Ok(self.reloaded(started))
    }

    /// Watches what is to be watched now.
    fn arm(&mut self, scan: &Scan) {
        let now = Instant::now();
        if self.options.mode == WatchMode::Poll || now < self.no_watch_before {
            return;
        }
        match self.watch.arm(places(&self.loader.dirs, Some(scan))) {
            Ok(false) => self.rounds = 0,
            Ok(true) => {
                self.set_status(|status| {
                    status.counts.rearmed += 1;
                    status.watching = Watching::Native;
                });
                if self.rounds < MAX_ROUNDS {
                    // What happened before the watch was set is only found by looking once more.
                    self.rounds += 1;
                    self.next_check = now;
                }
            }
            Err(error) => {
                self.no_watch_before = now + self.options.check_every;
                self.next_check = self.next_check.min(now + self.options.poll_every);
                telemetry::watch_failed();
                self.set_status(|status| {
                    status.counts.watch_errors += 1;
                    status.watching = Watching::Polling { reason: Some(error.to_string()) };
                });
            }
        }
    }

    /// How often the contents are compared.
    fn period(&self) -> Duration {
        let watching = self.status.lock().unwrap_or_else(PoisonError::into_inner).watching == Watching::Native;
        if watching { self.options.check_every } else { self.options.poll_every }
    }

    fn set_status(&self, set: impl FnOnce(&mut WatchStatus)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        set(&mut status);
        status.pinned = self.pinned;
        status.history = self.history.list();
    }

    /// Tells everybody; the status is right before anybody hears of it.
    fn tell(&self, kind: WatchEventKind, started: Instant, error: Option<Error>, warnings: Option<Arc<Diagnostics>>) -> WatchEvent {
        self.set_status(|_| {});
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let generation = status.generation;
        let ruleset = &self.in_force.ruleset;
        let (version, rules) = (ruleset.version(), ruleset.rule_count());
        let event = WatchEvent { kind, at: SystemTime::now(), took: started.elapsed(), generation, version, rules, pinned: self.pinned, error, warnings };
        telemetry::happened(&event, &status);
        self.audience.tell(&event);
        event
    }
}
