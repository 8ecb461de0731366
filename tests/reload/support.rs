//! Small rulesets on disk, and somebody who watches them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use overspill::{Error, Overspill, Ruleset, Version, WatchEvent, WatchEventKind, WatchOptions};
use tempfile::TempDir;

/// Far longer than anything takes; only a failure waits for it.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A quiet period within which a write ends, however busy the machine is.
pub(crate) const CALM: Duration = Duration::from_millis(400);

/// The least that a ruleset needs.
pub(crate) const DEFAULT: &str = "provider = \"default\"\n[status]\n\"4xx\" = \"invalid_request\"\n\"5xx\" = \"server_error\"\n";

/// A provider's file with one rule, which tells the number it was written with.
pub(crate) fn file(provider: &str, number: u64) -> String {
    let message = format!("marker {number} of {provider}");
    format!("provider = \"{provider}\"\n[[rule]]\nid = \"r{number}\"\nclass = \"rate_limited\"\nmessage = '{message}'\n[[rule.example]]\nstatus = 429\nmessage = '{message}'\n")
}

/// A directory of its own for each test, with a rules directory in it.
pub(crate) struct Place {
    temp: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { temp: tempfile::tempdir().unwrap() };
        fill(&place.path("rules"), 1);
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.temp.path().join(relative)
    }
}

/// Makes a rules directory, or writes into one.
pub(crate) fn fill(dir: &Path, number: u64) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("default.toml"), DEFAULT).unwrap();
    fs::write(dir.join("a.toml"), file("a", number)).unwrap();
}

/// What the rules on disk would be called.
pub(crate) fn version_on_disk(dirs: &[PathBuf]) -> Version {
    load(dirs).unwrap().version()
}

pub(crate) fn load(dirs: &[PathBuf]) -> Result<Ruleset, Error> {
    dirs.iter().fold(Ruleset::builder().without_embedded(), overspill::RulesetBuilder::directory).build()
}

/// A handle and everything that it tells.
pub(crate) struct Watched {
    pub(crate) overspill: Overspill,
    pub(crate) dirs: Vec<PathBuf>,
    events: Receiver<WatchEvent>,
}

impl Watched {
    pub(crate) fn new(dir: &Path) -> Self {
        Self::with(&[dir], WatchOptions::default()).unwrap()
    }

    pub(crate) fn with(dirs: &[&Path], options: WatchOptions) -> Result<Self, Error> {
        let (options, events) = listened(options.without_embedded());
        let overspill = Overspill::watch_with(dirs, options)?;
        Ok(Self { overspill, dirs: dirs.iter().map(|dir| dir.to_path_buf()).collect(), events })
    }

    /// The next event of this kind; what comes before it is passed over.
    pub(crate) fn event(&self, kind: WatchEventKind) -> WatchEvent {
        self.event_where(&format!("{kind}"), |event| event.kind == kind)
    }

    pub(crate) fn event_where(&self, what: &str, wanted: impl Fn(&WatchEvent) -> bool) -> WatchEvent {
        let start = Instant::now();
        let mut seen = Vec::new();
        while let Ok(event) = self.events.recv_timeout(LIMIT.saturating_sub(start.elapsed())) {
            if wanted(&event) {
                return event;
            }
            seen.push(event.to_string());
        }
        panic!("no event: {what}\nbut {seen:#?}\n{:#?}", self.overspill.watcher().unwrap().status());
    }

    /// The next event, which must come.
    pub(crate) fn next(&self) -> WatchEvent {
        self.event_where("any", |_| true)
    }

    /// Events that came already.
    pub(crate) fn drain(&self) -> Vec<WatchEvent> {
        self.events.try_iter().collect()
    }

    /// Waits until the engine holds what is on disk.
    pub(crate) fn holds_disk(&self) -> WatchEvent {
        let version = version_on_disk(&self.dirs);
        let event = self.event_where(&format!("version {version}"), |event| event.version == version && event.error.is_none());
        assert_eq!(self.overspill.ruleset().version(), version);
        event
    }

    pub(crate) fn compiled(&self) -> u64 {
        self.overspill.watcher().unwrap().status().counts.compiled
    }
}

fn listened(options: WatchOptions) -> (WatchOptions, Receiver<WatchEvent>) {
    let (sender, events): (Sender<WatchEvent>, _) = channel();
    let sender = std::sync::Mutex::new(sender);
    let tell = move |event: &WatchEvent| _ = sender.lock().unwrap().send(event.clone());
    (options.on_event(tell), events)
}
