//! The system's watch on the places that matter, kept true while directories come and go.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecursiveMode};

use super::places::{Interest, Places};
use super::signal::Signal;

/// What notify gives its events to.
pub(super) type Handler = Box<dyn Fn(notify::Result<Event>) + Send>;
/// Makes a watch of the system; another one in tests.
pub(super) type Backend = fn(Handler) -> notify::Result<Box<dyn notify::Watcher + Send>>;

/// The one for this system.
pub(super) fn native(handler: Handler) -> notify::Result<Box<dyn notify::Watcher + Send>> {
    Ok(Box::new(notify::recommended_watcher(handler)?))
}

/// The places that are watched.
pub(super) struct Watch {
    backend: Backend,
    watcher: Option<Box<dyn notify::Watcher + Send>>,
    armed: BTreeMap<PathBuf, Armed>,
    /// Shared with the thread that hears the events.
    interests: Arc<Mutex<Places>>,
    signal: Arc<Signal>,
}

struct Armed {
    identity: Option<Identity>,
    interest: Interest,
}

/// Which directory a path means; another one may have its name tomorrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_dir)?;
        #[cfg(unix)]
        return Some(Self { inode: (std::os::unix::fs::MetadataExt::dev(&metadata), std::os::unix::fs::MetadataExt::ino(&metadata)) });
        #[cfg(not(unix))]
        return Some(Self {});
    }
}

impl Watch {
    pub(super) fn new(backend: Backend, signal: Arc<Signal>) -> Self {
        Self { backend, watcher: None, armed: BTreeMap::new(), interests: Arc::default(), signal }
    }

    /// Watches these places and no others. Returns whether anything was armed: then something may have been missed before.
    ///
    /// # Errors
    ///
    /// When a rules directory cannot be watched, or the system has no more watches; nothing is watched then.
    pub(super) fn arm(&mut self, places: Places) -> notify::Result<bool> {
        let armed = self.try_arm(&places);
        match &armed {
            Ok(_) => *lock(&self.interests) = places,
            Err(_) => self.disarm(),
        }
        armed
    }

    fn try_arm(&mut self, places: &Places) -> notify::Result<bool> {
        if self.watcher.is_none() {
            let (signal, interests) = (Arc::clone(&self.signal), Arc::clone(&self.interests));
            self.watcher = Some((self.backend)(Box::new(move |event| hear(event, &lock(&interests), &signal)))?);
        }
        let Some(watcher) = &mut self.watcher else { return Ok(false) };
        // What comes between arming and noting the interests must be heard too.
        lock(&self.interests).extend(places.iter().map(|(place, interest)| (place.clone(), interest.clone())));
        let stale: Vec<_> =
            self.armed.iter().filter(|(place, armed)| !places.contains_key(*place) || armed.identity != Identity::of(place)).map(|(place, _)| place.clone()).collect();
        for place in stale {
            self.armed.remove(&place);
            // A watch ends with its directory, so there may be none to end.
            let _ = watcher.unwatch(&place);
        }
        let mut changed = false;
        for (place, interest) in places {
            if let Some(armed) = self.armed.get_mut(place) {
                changed |= armed.interest != *interest;
                armed.interest = interest.clone();
                continue;
            }
            let identity = Identity::of(place);
            match watcher.watch(place, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    changed = true;
                    self.armed.insert(place.clone(), Armed { identity, interest: interest.clone() });
                }
                // Gone meanwhile: the next look finds what has become of it.
                Err(_) if identity.is_none() || Identity::of(place).is_none() => changed = true,
                Err(error) if *interest == Interest::All || matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => return Err(error),
                // A directory on the way that may not be listed: the check from time to time has to do.
                Err(_) => {}
            }
        }
        Ok(changed)
    }

    /// Takes back that these watches still see what they should; the next arming sets them all anew.
    pub(super) fn distrust(&mut self) {
        self.armed.values_mut().for_each(|armed| armed.identity = None);
    }

    /// Ends all watches.
    pub(super) fn disarm(&mut self) {
        self.watcher = None;
        self.armed.clear();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("places", &self.armed.keys()).finish_non_exhaustive()
    }
}

fn lock(interests: &Mutex<Places>) -> std::sync::MutexGuard<'_, Places> {
    interests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the reloader of an event that may be a change of the rules.
fn hear(event: notify::Result<Event>, places: &Places, signal: &Signal) {
    match event {
        Ok(event) if event.need_rescan() => signal.tell(|news| (news.hint, news.overflows) = (true, news.overflows + 1)),
        Ok(event) => {
            let unseated = unseats(&event, places);
            if unseated || is_change(&event, places) {
                signal.tell(|news| {
                    news.hint = true;
                    news.unseated |= unseated;
                });
            }
        }
        Err(error) => signal.tell(|news| (news.hint, news.failure) = (true, Some(error.to_string()))),
    }
}

/// Opens and reads are no changes: the reloader itself opens and reads.
fn is_change(event: &Event, places: &Places) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return false,
        _ => {}
    }
    let concerns = |path: &PathBuf| {
        let entry = path.parent().zip(path.file_name()).is_some_and(|(dir, name)| places.get(dir).is_some_and(|interest| interest.includes(name)));
        entry || places.contains_key(path)
    };
    event.paths.is_empty() || event.paths.iter().any(concerns)
}

/// Whether a watched directory went away under its watch. One with the same name may take its place, even with the same inode, and nothing would be heard of it.
fn unseats(event: &Event, places: &Places) -> bool {
    let goes = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From | RenameMode::Both)));
    goes && event.paths.iter().any(|path| places.contains_key(path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use notify::event::{CreateKind, DataChange, Flag, RemoveKind};

    use super::*;

    fn places() -> Places {
        let names = |names: &[&str]| Interest::Names(names.iter().map(|&name| name.into()).collect::<BTreeSet<_>>());
        [("/x".into(), names(&["rules"])), ("/x/rules".into(), Interest::All)].into()
    }

    #[test]
    fn only_changes_of_what_matters_are_hints() {
        let modified = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let cases = [
            (modified, "/x/rules/a.toml", true),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), "/x/rules/a.toml", true),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), "/x/rules/a.toml", false),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), "/x/rules", false),
            (modified, "/x/rules/.a.toml.swp", false),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/x/rules/..data", true),
            (EventKind::Create(CreateKind::Folder), "/x/rules", true),
            (EventKind::Create(CreateKind::Folder), "/x/other", false),
            (EventKind::Other, "/x/rules", true),
        ];
        for (kind, path, expected) in cases {
            assert_eq!(is_change(&Event::new(kind).add_path(path.into()), &places()), expected, "{kind:?} {path}");
        }
        assert!(is_change(&Event::new(EventKind::Any), &places()), "an event of nobody is one of everybody");
    }

    #[test]
    fn a_directory_that_goes_away_takes_its_watch_with_it() {
        let cases = [
            (EventKind::Remove(RemoveKind::Folder), "/x/rules", true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::From)), "/x/rules", true),
            (EventKind::Remove(RemoveKind::File), "/x/rules/a.toml", false),
            (EventKind::Create(CreateKind::Folder), "/x/rules", false),
        ];
        for (kind, path, expected) in cases {
            assert_eq!(unseats(&Event::new(kind).add_path(path.into()), &places()), expected, "{kind:?} {path}");
        }
    }

    #[test]
    fn lost_events_and_errors_are_hints_too() {
        let signal = Signal::default();
        hear(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), &places(), &signal);
        hear(Err(notify::Error::generic("broken")), &places(), &signal);
        let news = signal.wait_until(std::time::Instant::now());
        assert!(news.hint && news.overflows == 1);
        assert_eq!(news.failure.as_deref(), Some("broken"));
    }
}
