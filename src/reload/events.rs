//! What happened to the rules, for whoever wants to hear of it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use crate::diagnostic::Diagnostics;
use crate::error::Error;
use crate::ruleset::Version;

/// Events that a subscriber may leave unread; later ones are counted, not kept.
const QUEUE: usize = 64;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WatchEventKind {
    /// The first rules are in force.
    Loaded,
    /// Other rules are in force.
    Reloaded,
    /// The files are wrong; the rules in force are the ones from before.
    Rejected,
    /// Something was touched, and the rules in force are right.
    Unchanged,
    /// A rules directory cannot be read any more; the rules in force are the ones from before.
    Lost,
    /// A directory that was lost is there again; whether its rules are right is said by the event that follows.
    Found,
}

impl WatchEventKind {
    /// The stable name, as `overspill watch` prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Reloaded => "reloaded",
            Self::Rejected => "rejected",
            Self::Unchanged => "unchanged",
            Self::Lost => "lost",
            Self::Found => "found",
        }
    }
}

impl fmt::Display for WatchEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One event: what happened, and which rules are in force after it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchEvent {
    /// What happened.
    pub kind: WatchEventKind,
    /// When it was done.
    pub at: SystemTime,
    /// How long reading and compiling took; the wait for quiet is not in it.
    pub took: Duration,
    /// The number of the rules in force: 1 for the first, one more each time that others are put in force.
    pub generation: u64,
    /// Their content hash.
    pub version: Version,
    /// How many rules are in force.
    pub rules: usize,
    /// Whether the rules in force are pinned, so that the files do not matter.
    pub pinned: bool,
    /// Why what the files say is not in force.
    pub error: Option<Error>,
    /// The warnings about rules that were put in force.
    pub(super) warnings: Option<Arc<Diagnostics>>,
}

impl WatchEvent {
    /// What is wrong with the files, or doubtful about the rules that were put in force.
    #[must_use]
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match &self.error {
            Some(error) => error.diagnostics(),
            None => self.warnings.as_deref(),
        }
    }
}

/// One line for a log.
impl fmt::Display for WatchEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, took, version, rules, .. } = self;
        write!(f, "{kind}: ruleset {version} with {rules} rules is in force")?;
        if self.pinned {
            f.write_str(", pinned")?;
        }
        write!(f, " ({:.1} ms)", took.as_secs_f64() * 1000.0)?;
        match &self.error {
            Some(error) => write!(f, "\n{error}"),
            None => Ok(()),
        }
    }
}

/// A stream of events, from the moment of subscribing. It ends when the watching ends.
///
/// At most 64 events wait for a subscriber; a slow one loses the newest and can tell by [`missed`](Self::missed).
#[derive(Debug)]
pub struct Subscription {
    events: Receiver<WatchEvent>,
    missed: Arc<AtomicU64>,
}

impl Subscription {
    /// Waits for the next event; none when the watching has ended.
    #[must_use]
    pub fn next(&self) -> Option<WatchEvent> {
        self.events.recv().ok()
    }

    /// Waits for the next event at most this long.
    ///
    /// # Errors
    ///
    /// When the time is over, or the watching has ended.
    pub fn next_within(&self, timeout: Duration) -> Result<WatchEvent, RecvTimeoutError> {
        self.events.recv_timeout(timeout)
    }

    /// The next event, if there is one already.
    #[must_use]
    pub fn try_next(&self) -> Option<WatchEvent> {
        self.events.try_recv().ok()
    }

    /// How many events were lost because too many were left unread.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

/// Called with each event on the reloader's thread.
pub(super) type Callback = Arc<dyn Fn(&WatchEvent) + Send + Sync>;

/// Who hears of events.
#[derive(Default)]
pub(super) struct Audience {
    callback: Option<Callback>,
    subscribers: Mutex<Vec<Subscriber>>,
}

struct Subscriber {
    events: SyncSender<WatchEvent>,
    missed: Weak<AtomicU64>,
}

impl Audience {
    pub(super) fn new(callback: Option<Callback>) -> Self {
        Self { callback, subscribers: Mutex::default() }
    }

    pub(super) fn subscribe(&self) -> Subscription {
        let (sender, events) = sync_channel(QUEUE);
        let missed = Arc::default();
        let subscriber = Subscriber { events: sender, missed: Arc::downgrade(&missed) };
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner).push(subscriber);
        Subscription { events, missed }
    }

    /// Tells everybody; who has gone is forgotten.
    pub(super) fn tell(&self, event: &WatchEvent) {
        if let Some(callback) = &self.callback {
            // A callback that panics is its author's concern; the rules still follow their files.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| callback(event)));
        }
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| match subscriber.events.try_send(event.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                if let Some(missed) = subscriber.missed.upgrade() {
                    missed.fetch_add(1, Ordering::Relaxed);
                }
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        });
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").finish_non_exhaustive()
    }
}
