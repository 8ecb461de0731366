//! How to watch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::events::{Callback, WatchEvent};

/// How changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WatchMode {
    /// By the system's events, and by reading the files where there are none: when the limit of watches is reached, or the file system knows none. Which of the two it is stands in the status.
    #[default]
    Auto,
    /// By the system's events. Where they cannot be had, starting fails; where they are lost later, it goes on as `Auto`.
    Native,
    /// By reading the files every [`poll_every`](WatchOptions::poll_every): for network mounts and other file systems that tell nothing.
    Poll,
}

/// What to do when the rules are wrong at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BrokenStart {
    /// Do not start: the program learns it at once, and a deployment stops before it spreads.
    #[default]
    Refuse,
    /// Start on the embedded rules, report what is wrong, and take the files' rules as soon as they are right.
    UseEmbedded,
}

/// How rules directories are watched; each setting has a default.
///
/// ```no_run
/// use std::time::Duration;
/// use overspill::{BrokenStart, Overspill, WatchMode, WatchOptions};
///
/// let options = WatchOptions::default()
///     .quiet(Duration::from_millis(250))
///     .mode(WatchMode::Poll)
///     .broken_start(BrokenStart::UseEmbedded)
///     .on_event(|event| eprintln!("{event}"));
/// let overspill = Overspill::watch_with(["/etc/overspill"], options)?;
/// # Ok::<(), overspill::Error>(())
/// ```
#[derive(Clone)]
pub struct WatchOptions {
    pub(super) quiet: Duration,
    pub(super) ceiling: Duration,
    pub(super) check_every: Duration,
    pub(super) poll_every: Duration,
    pub(super) mode: WatchMode,
    pub(super) broken_start: BrokenStart,
    pub(super) embedded: bool,
    pub(super) callback: Option<Callback>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            ceiling: Duration::from_secs(2),
            check_every: Duration::from_secs(30),
            poll_every: Duration::from_secs(1),
            mode: WatchMode::Auto,
            broken_start: BrokenStart::Refuse,
            embedded: true,
            callback: None,
        }
    }
}

impl WatchOptions {
    /// How long nothing may be heard before the files are read: 100 ms, unless said otherwise. Longer where files are copied one by one over a slow line.
    ///
    /// What was read is taken if it is still there 30 ms later, or after the quiet period where that is shorter.
    #[must_use]
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = bounded(quiet, Duration::ZERO);
        self
    }

    /// How long changes may go on before the files are read all the same: 2 s. What never holds still for 30 ms is reported as refused after twice that time.
    #[must_use]
    pub fn ceiling(mut self, ceiling: Duration) -> Self {
        self.ceiling = bounded(ceiling, Duration::ZERO);
        self
    }

    /// How often the contents are compared though nothing was heard: 30 s. It catches what no event told, and costs one reading of all rule files.
    #[must_use]
    pub fn check_every(mut self, every: Duration) -> Self {
        self.check_every = bounded(every, SHORTEST_PERIOD);
        self
    }

    /// How often the contents are compared where that is the only way: 1 s.
    #[must_use]
    pub fn poll_every(mut self, every: Duration) -> Self {
        self.poll_every = bounded(every, SHORTEST_PERIOD);
        self
    }

    /// How changes are noticed: [`WatchMode::Auto`].
    #[must_use]
    pub fn mode(mut self, mode: WatchMode) -> Self {
        self.mode = mode;
        self
    }

    /// What to do when the rules are wrong at the start: [`BrokenStart::Refuse`].
    #[must_use]
    pub fn broken_start(mut self, broken_start: BrokenStart) -> Self {
        self.broken_start = broken_start;
        self
    }

    /// Leaves the embedded rules out; some directory must then have a `default.toml`.
    #[must_use]
    pub fn without_embedded(mut self) -> Self {
        self.embedded = false;
        self
    }

    /// Calls this with each event, the first loading included: for a log, a counter, or a channel of your own.
    ///
    /// It is called on the reloader's thread (for the first event, on the one that starts the watching), so it should not take long. It should not own a clone of the handle: that would keep the
    /// watching alive for ever.
    #[must_use]
    pub fn on_event(mut self, callback: impl Fn(&WatchEvent) + Send + Sync + 'static) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }
}

/// Reading everything more often than this is no watching.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
/// Instants are added up; this keeps the sums in range.
const LONGEST_PERIOD: Duration = Duration::from_secs(366 * 24 * 3600);

fn bounded(duration: Duration, at_least: Duration) -> Duration {
    duration.clamp(at_least, LONGEST_PERIOD)
}

impl fmt::Debug for WatchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quiet, ceiling, check_every, poll_every, mode, broken_start, embedded, callback } = self;
        f.debug_struct("WatchOptions")
            .field("quiet", quiet)
            .field("ceiling", ceiling)
            .field("check_every", check_every)
            .field("poll_every", poll_every)
            .field("mode", mode)
            .field("broken_start", broken_start)
            .field("embedded", embedded)
            .field("on_event", &callback.is_some())
            .finish()
    }
}
