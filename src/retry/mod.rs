//! From a verdict to the next attempt: backoff, budget, hold-back, and the session that joins them; on top of it the executor for async calls.

mod backoff;
mod clock;
mod decision;
mod delay;
mod end;
#[cfg(feature = "retry")]
mod executor;
mod observer;
mod options;
mod session;
mod telemetry;

pub use self::backoff::Backoff;
pub use self::clock::{Clock, SystemClock};
pub use self::decision::{Decision, DelayFrom, Step};
pub use self::delay::next_delay;
pub use self::end::{End, Why};
#[cfg(feature = "retry")]
pub use self::executor::AsFailure;
pub use self::observer::{Attempt, Ended, Held, Observer};
pub use self::options::Retry;
pub use self::session::Session;
