//! Time as the session sees it, so that tests can give their own.

use std::fmt::Debug;
use std::time::Instant;

use jiff::Timestamp;

/// Where a session takes the time from.
pub trait Clock: Debug + Send + Sync {
    /// Monotonic time, for waits and deadlines.
    fn now(&self) -> Instant;

    /// The time of day, for instants that servers name and observers show.
    fn wall(&self) -> Timestamp;
}

/// The machine's clocks. With the feature `retry` the monotonic one is tokio's, so that a test which pauses tokio's time pauses the session's too.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
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
