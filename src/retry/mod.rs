//! From a verdict to the next attempt.

mod backoff;
mod delay;

pub use self::backoff::Backoff;
pub use self::delay::next_delay;
