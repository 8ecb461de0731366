//! What the reloader is told from outside: bounded, since hints flow together.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

use super::events::WatchEvent;
use crate::error::Error;
use crate::ruleset::Version;

/// The answer to a request.
pub(super) type Answer = Result<WatchEvent, Error>;

/// Something that a caller waits for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) wish: Wish,
    pub(super) answer: mpsc::SyncSender<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Reload,
    Pin,
    Unpin,
    RollBack(Version),
}

/// What was heard since the last look.
#[derive(Debug, Default)]
pub(super) struct News {
    /// A change in one of the places.
    pub(super) hint: bool,
    /// A watched directory went away: its watch may be gone too.
    pub(super) unseated: bool,
    /// How often the system lost events.
    pub(super) overflows: u64,
    /// The watch broke.
    pub(super) failure: Option<String>,
    pub(super) requests: VecDeque<Request>,
    pub(super) stop: bool,
}

impl News {
    fn is_empty(&self) -> bool {
        !(self.hint || self.unseated || self.overflows > 0 || self.stop) && self.failure.is_none() && self.requests.is_empty()
    }
}

/// The mailbox between the watch, the callers and the reloader's thread.
#[derive(Debug, Default)]
pub(super) struct Signal {
    news: Mutex<News>,
    heard: Condvar,
}

impl Signal {
    /// Leaves news and wakes the reloader.
    pub(super) fn tell(&self, tell: impl FnOnce(&mut News)) {
        tell(&mut self.lock());
        self.heard.notify_one();
    }

    /// Waits for news, at most until then, and takes them.
    pub(super) fn wait_until(&self, deadline: Instant) -> News {
        let mut news = self.lock();
        while news.is_empty() {
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
            news = self.heard.wait_timeout(news, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut news)
    }

    /// Whether the reloader is to end: asked by what takes long.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    fn lock(&self) -> MutexGuard<'_, News> {
        // News are flags and a queue; whoever panicked left them whole.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
