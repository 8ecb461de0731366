//! The first loading, on the caller's thread: who starts on wrong rules learns it at once.

use std::path::{self, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::events::{Audience, WatchEvent, WatchEventKind};
use super::fingerprint::Fingerprint;
use super::handle::Watcher;
use super::history::{Good, History};
use super::load::{self, Loader};
use super::options::{BrokenStart, WatchMode, WatchOptions};
use super::places::places;
use super::quiet::Quiet;
use super::scan::Scan;
use super::signal::Signal;
use super::status::{WatchCounts, WatchStatus, Watching};
use super::telemetry;
use super::watch::{Backend, Watch, native};
use super::worker::{Put, Worker};
use crate::error::Error;
use crate::ruleset::Ruleset;

/// Loaded rules, and a watch that has been listening since before they were read.
#[derive(Debug)]
pub(crate) struct Start {
    loader: Loader,
    options: WatchOptions,
    signal: Arc<Signal>,
    watch: Watch,
    watching: Watching,
    good: Good,
    judged: Option<(Fingerprint, Option<Error>)>,
    took: Duration,
}

/// Loads the rules of these directories and starts to listen for changes.
///
/// # Errors
///
/// When the rules cannot be loaded, unless the embedded ones are to be used then; when there is nothing to watch; when the system's events are demanded and cannot be had.
pub(crate) fn start(dirs: &[PathBuf], options: WatchOptions) -> Result<Start, Error> {
    start_on(native, dirs, options)
}

fn start_on(backend: Backend, dirs: &[PathBuf], options: WatchOptions) -> Result<Start, Error> {
    if dirs.is_empty() {
        return Err(Error::watch("there is no rules directory to watch", None));
    }
    let dirs = dirs.iter().map(|dir| path::absolute(dir).map_err(|error| Error::io(dir, error))).collect::<Result<Vec<_>, _>>()?;
    let loader = Loader { dirs, embedded: options.embedded };
    let signal = Arc::<Signal>::default();
    let mut watch = Watch::new(backend, Arc::clone(&signal));
    let watching = listen(&mut watch, &loader, options.mode)?;
    let started = Instant::now();
    let (judged, built) = load_first(&loader, options.ceiling);
    let (good, error) = match (built, options.broken_start) {
        (Ok(good), _) => (good, None),
        (Err(error), BrokenStart::Refuse) => return Err(error),
        (Err(error), BrokenStart::UseEmbedded) => (Good { ruleset: Ruleset::embedded(), fingerprint: None, texts: Arc::default(), loaded_at: SystemTime::now() }, Some(error)),
    };
    let judged = judged.map(|fingerprint| (fingerprint, error));
    Ok(Start { loader, options, signal, watch, watching, good, judged, took: started.elapsed() })
}

fn listen(watch: &mut Watch, loader: &Loader, mode: WatchMode) -> Result<Watching, Error> {
    if mode == WatchMode::Poll {
        return Ok(Watching::Polling { reason: None });
    }
    match watch.arm(places(&loader.dirs, None)) {
        Ok(_) => Ok(Watching::Native),
        Err(error) if mode == WatchMode::Native => Err(Error::watch(format!("the rules directories cannot be watched: {error}"), Some(Box::new(error)))),
        Err(error) => Ok(Watching::Polling { reason: Some(error.to_string()) }),
    }
}

/// Reads and builds until what was read is still there after it was built; no fingerprint when it never is.
fn load_first(loader: &Loader, patience: Duration) -> (Option<Fingerprint>, Result<Good, Error>) {
    let deadline = Instant::now() + patience;
    loop {
        let scan = Scan::of(&loader.dirs);
        let fingerprint = scan.fingerprint;
        let built = match load::unreadable(scan) {
            Ok(scan) => {
                let texts = Arc::new(scan.texts());
                let good = |ruleset| Good { ruleset: Arc::new(ruleset), fingerprint: Some(fingerprint), texts, loaded_at: SystemTime::now() };
                loader.build(scan.dirs, None).map(good)
            }
            Err(error) => Err(error),
        };
        if Scan::of(&loader.dirs).fingerprint == fingerprint {
            return (Some(fingerprint), built);
        }
        if Instant::now() >= deadline {
            return (None, Err(load::unsettled()));
        }
    }
}

impl Start {
    /// The rules to begin with.
    pub(crate) fn ruleset(&self) -> Arc<Ruleset> {
        Arc::clone(&self.good.ruleset)
    }

    /// Starts the thread that follows the files.
    ///
    /// # Errors
    ///
    /// When the system has no more threads.
    pub(crate) fn spawn(self, put: Put) -> Result<Watcher, Error> {
        let Self { loader, options, signal, watch, watching, good, judged, took } = self;
        let now = Instant::now();
        let audience = Arc::new(Audience::new(options.callback.clone()));
        let mut history = History::default();
        history.push(&good);
        let error = judged.as_ref().map_or_else(|| Some(load::unsettled()), |(_, error)| error.clone());
        let status = status(&good, error, watching, &history);
        let event = first_event(&status, &good, took);
        telemetry::happened(&event, &status);
        let status = Arc::new(Mutex::new(status));
        let lost = match &judged {
            Some((_, Some(_))) => Scan::of(&loader.dirs).lost().map(|(path, _)| path.to_owned()).collect(),
            _ => Vec::new(),
        };
        let worker = Worker {
            quiet: Quiet::new(options.quiet, options.ceiling),
            loader,
            options,
            put,
            signal: Arc::clone(&signal),
            status: Arc::clone(&status),
            audience: Arc::clone(&audience),
            watch,
            history,
            in_force: good,
            judged,
            pinned: false,
            lost,
            seen: None,
            // The first check finds links among the files, and what changed while the rules were compiled.
            next_check: now,
            no_watch_before: now,
            rounds: 0,
            sweeping: false,
        };
        audience.tell(&event);
        let thread = thread::Builder::new().name("overspill-reload".to_owned()).spawn(move || worker.run());
        let thread = thread.map_err(|error| Error::watch("no thread can be started to follow the rules", Some(Box::new(error))))?;
        Ok(Watcher::new(signal, status, audience, thread))
    }
}

fn status(good: &Good, error: Option<Error>, watching: Watching, history: &History) -> WatchStatus {
    let Good { ruleset, fingerprint, loaded_at, .. } = good;
    WatchStatus {
        generation: 1,
        version: ruleset.version(),
        content: fingerprint.map(|fingerprint| fingerprint.to_string()),
        files: ruleset.file_count(),
        rules: ruleset.rule_count(),
        loaded_at: *loaded_at,
        last_attempt: *loaded_at,
        failing_since: error.is_some().then_some(*loaded_at),
        counts: WatchCounts { compiled: 1, rejected: u64::from(error.is_some()), ..WatchCounts::default() },
        last_error: error,
        pinned: false,
        watching,
        history: history.list(),
    }
}

fn first_event(status: &WatchStatus, good: &Good, took: Duration) -> WatchEvent {
    let warnings = good.ruleset.warnings();
    WatchEvent {
        kind: if status.last_error.is_some() { WatchEventKind::Rejected } else { WatchEventKind::Loaded },
        at: status.loaded_at,
        took,
        generation: status.generation,
        version: status.version,
        rules: status.rules,
        pinned: false,
        error: status.last_error.clone(),
        warnings: (!warnings.is_empty()).then(|| Arc::new(warnings.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};

    use notify::event::Flag;
    use notify::{Event, EventKind, NullWatcher};

    use super::super::events::WatchEventKind;
    use super::super::watch::Handler;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn write(dir: &Path, max_attempts: u32) {
        let text = format!("provider = \"default\"\n[retry]\nmax_attempts = {max_attempts}\n[status]\n\"5xx\" = \"server_error\"\n");
        fs::write(dir.join("default.toml"), text).unwrap();
    }

    fn watch_on(backend: Backend, dir: &Path, options: WatchOptions) -> (Watcher, Receiver<WatchEvent>) {
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let options = options.without_embedded().on_event(move |event| _ = sender.lock().unwrap().send(event.clone()));
        let start = start_on(backend, &[dir.to_owned()], options).unwrap();
        let in_force = Mutex::new(start.ruleset());
        let watcher = start.spawn(Box::new(move |ruleset| std::mem::replace(&mut *in_force.lock().unwrap(), ruleset))).unwrap();
        (watcher, events)
    }

    fn wait(events: &Receiver<WatchEvent>, kind: WatchEventKind) {
        while events.recv_timeout(LIMIT).unwrap().kind != kind {}
    }

    /// The system has no more watches.
    fn none_left(_: Handler) -> notify::Result<Box<dyn notify::Watcher + Send>> {
        Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))
    }

    #[test]
    fn where_the_limit_of_watches_is_reached_the_files_are_polled_and_it_is_told() {
        let temp = tempfile::tempdir().unwrap();
        write(temp.path(), 1);
        let (watcher, events) = watch_on(none_left, temp.path(), WatchOptions::default().poll_every(Duration::from_millis(20)));
        let Watching::Polling { reason: Some(reason) } = watcher.status().watching else { panic!("{:?}", watcher.status().watching) };
        assert!(reason.contains("limit"), "{reason}");
        write(temp.path(), 2);
        wait(&events, WatchEventKind::Reloaded);
        let native = start_on(none_left, &[temp.path().to_owned()], WatchOptions::default().without_embedded().mode(WatchMode::Native));
        assert!(native.unwrap_err().to_string().contains("cannot be watched"));
    }

    static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

    /// Tells what the test tells it, and of itself nothing.
    #[expect(clippy::unnecessary_wraps, reason = "a backend may fail")]
    fn told(handler: Handler) -> notify::Result<Box<dyn notify::Watcher + Send>> {
        *HANDLER.lock().unwrap() = Some(handler);
        Ok(Box::new(NullWatcher))
    }

    fn tell(event: notify::Result<Event>) {
        let handler = HANDLER.lock().unwrap();
        (handler.as_ref().unwrap())(event);
    }

    #[test]
    fn lost_events_a_broken_watch_and_silence_are_survived() {
        let temp = tempfile::tempdir().unwrap();
        write(temp.path(), 1);
        let hours = Duration::from_secs(24 * 3600);
        let (watcher, events) = watch_on(told, temp.path(), WatchOptions::default().check_every(hours));
        write(temp.path(), 2);
        tell(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        wait(&events, WatchEventKind::Reloaded);
        assert_eq!(watcher.status().counts.overflows, 1);

        write(temp.path(), 3);
        tell(Err(notify::Error::generic("the pipe broke")));
        wait(&events, WatchEventKind::Reloaded);
        let status = watcher.status();
        assert_eq!((status.counts.watch_errors, status.watching), (1, Watching::Native), "a new watch was made");
        drop(watcher);

        let (_watcher, events) = watch_on(told, temp.path(), WatchOptions::default().check_every(Duration::from_millis(20)));
        write(temp.path(), 4);
        wait(&events, WatchEventKind::Reloaded);
    }
}
