//! What a program holds of the reloader.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use super::events::{Audience, Subscription, WatchEvent};
use super::signal::{Answer, Request, Signal, Wish};
use super::status::WatchStatus;
use crate::error::Error;
use crate::ruleset::Version;

/// The watching behind an [`Overspill`](crate::Overspill) that was made by [`watch`](crate::Overspill::watch): how it stands, what happens, and ways to interfere.
///
/// It belongs to the handle and its clones. When the last of them is dropped, the thread is told to stop and waited for: at most as long as a reload takes.
///
/// ```no_run
/// use overspill::{Overspill, WatchEventKind};
///
/// let overspill = Overspill::watch(["/etc/overspill"])?;
/// let watcher = overspill.watcher().expect("made by watch");
/// let events = watcher.subscribe();
/// std::thread::spawn(move || {
///     while let Some(event) = events.next() {
///         if event.kind == WatchEventKind::Rejected {
///             eprintln!("{event}");
///         }
///     }
/// });
/// println!("{} rules, generation {}", watcher.status().rules, watcher.status().generation);
/// # Ok::<(), overspill::Error>(())
/// ```
#[derive(Debug)]
pub struct Watcher {
    signal: Arc<Signal>,
    status: Arc<Mutex<WatchStatus>>,
    audience: Arc<Audience>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn new(signal: Arc<Signal>, status: Arc<Mutex<WatchStatus>>, audience: Arc<Audience>, thread: JoinHandle<()>) -> Self {
        Self { signal, status, audience, thread: Some(thread) }
    }

    /// How it stands at present. Takes a lock that no evaluation takes.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events from now on. For those before, see the [status](Self::status); for the very first, [`WatchOptions::on_event`](crate::WatchOptions::on_event).
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.audience.subscribe()
    }

    /// Looks at the files at once, without waiting for quiet, and returns when what they say is in force: for a signal handler or an admin endpoint.
    ///
    /// Waits for a reload that is under way, then takes as long as loading takes, and a moment in which the files have to hold still; a few milliseconds when nothing has changed. Not for a thread of
    /// an async runtime.
    ///
    /// # Errors
    ///
    /// When the files are wrong, a directory cannot be read, or the files change without pause; the rules in force stay. When it is called by [`WatchOptions::on_event`](crate::WatchOptions::on_event).
    pub fn reload_now(&self) -> Result<WatchEvent, Error> {
        self.ask(Wish::Reload)
    }

    /// Keeps the rules in force whatever the files say. What changes is still judged and reported, and kept in the [history](WatchStatus::history) when it is right.
    ///
    /// # Errors
    ///
    /// When it is called by [`WatchOptions::on_event`](crate::WatchOptions::on_event).
    pub fn pin(&self) -> Result<WatchEvent, Error> {
        self.ask(Wish::Pin)
    }

    /// Follows the files again, beginning with what they say now.
    ///
    /// # Errors
    ///
    /// As [`reload_now`](Self::reload_now); the pin is gone all the same.
    pub fn unpin(&self) -> Result<WatchEvent, Error> {
        self.ask(Wish::Unpin)
    }

    /// Puts one of the last eight good rulesets in force again and pins it. They are kept as texts and compiled again, which takes as long as a reload, and cannot fail as a reload can. See the [history](WatchStatus::history) for what there is.
    ///
    /// ```no_run
    /// # let overspill = overspill::Overspill::watch(["/etc/overspill"])?;
    /// # let watcher = overspill.watcher().expect("made by watch");
    /// let history = watcher.status().history; // newest first
    /// if let Some(before) = history.get(1) {
    ///     watcher.roll_back(before.version)?;
    /// }
    /// // ... mend the files, then
    /// watcher.unpin()?;
    /// # Ok::<(), overspill::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When no ruleset of that version is kept. When it is called by [`WatchOptions::on_event`](crate::WatchOptions::on_event).
    pub fn roll_back(&self, version: Version) -> Result<WatchEvent, Error> {
        self.ask(Wish::RollBack(version))
    }

    fn ask(&self, wish: Wish) -> Answer {
        if self.is_own_thread() {
            return Err(Error::watch("the reloader cannot wait for itself: ask from another thread", None));
        }
        let (answer, outcome) = mpsc::sync_channel(1);
        self.signal.tell(|news| news.requests.push_back(Request { wish, answer }));
        outcome.recv().unwrap_or_else(|_| Err(Error::watch("the reloader failed at this request", None)))
    }

    fn is_own_thread(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == thread::current().id())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.signal.tell(|news| news.stop = true);
        let own = self.is_own_thread();
        if let Some(thread) = self.thread.take().filter(|_| !own) {
            // It catches its panics; should one get through, there is nothing left to do about it.
            let _ = thread.join();
        }
    }
}
