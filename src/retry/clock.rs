//! Time as the session sees it, so that tests can give their own.

use std::fmt::Debug;
use std::time::Instant;

use jiff::Timestamp;

/// Where a session takes the time from, and how the executor spends it. A clock of one's own makes waits pass at once in tests, also with real sockets, where a paused runtime does not help.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use overspill::{Clock, Overspill};
///
/// /// Stands still.
/// #[derive(Debug)]
/// struct Noon(Instant);
///
/// impl Clock for Noon {
///     fn now(&self) -> Instant {
///         self.0
///     }
///     fn wall(&self) -> jiff::Timestamp {
///         "2026-08-01T12:00:00Z".parse().expect("a time stamp")
///     }
/// }
///
/// let overspill = Overspill::embedded();
/// let session = overspill.retry("openai").clock(Noon(Instant::now())).session();
/// # drop(session);
/// ```
pub trait Clock: Debug + Send + Sync {
    /// Monotonic time, for waits and deadlines.
    fn now(&self) -> Instant;

    /// The time of day, for instants that servers name and observers show.
    fn wall(&self) -> Timestamp;

    /// Ends after that long; dropped, it does nothing more. Tokio's timer unless the clock has its own.
    #[cfg(feature = "retry")]
    fn sleep(&self, wait: std::time::Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(wait))
    }
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn wall(&self) -> Timestamp {
        (**self).wall()
    }

    #[cfg(feature = "retry")]
    fn sleep(&self, wait: std::time::Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        (**self).sleep(wait)
    }
}

/// The machine's clocks, the default. With the feature `retry` the monotonic one is tokio's, so that a test which pauses tokio's time pauses the session's too.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        #[cfg(feature = "retry")]
        return tokio::time::Instant::now().into_std();
        #[cfg(not(feature = "retry"))]
        return Instant::now();
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}
