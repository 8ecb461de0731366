//! When the server allows another try: one duration grammar, and the forms in which servers write it.

mod duration;
mod form;
mod grammar;
mod instant;
mod quota;
mod scan;

pub use self::grammar::Wait;

pub(crate) use self::form::{Evidence, Forms};
pub(crate) use self::grammar::{Unit, parse};

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// A wait that the server asked for, and which form it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDelay {
    wait: Wait,
    form: Arc<str>,
}

impl ServerDelay {
    pub(crate) fn new(wait: Wait, form: Arc<str>) -> Self {
        Self { wait, form }
    }

    /// The wait as the server stated it: from now, or until an instant.
    #[must_use]
    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// The name of the form, such as `retry-after`.
    #[must_use]
    pub fn form(&self) -> &str {
        &self.form
    }

    /// How long to wait, counted from `now`, to the millisecond; an instant in the past is no wait at all.
    #[must_use]
    pub fn from(&self, now: Timestamp) -> Duration {
        let wait = self.wait.from(now);
        Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
    }

    /// The instant from which the server allows another try; `None` beyond the range of time stamps.
    #[must_use]
    pub fn instant(&self, now: Timestamp) -> Option<Timestamp> {
        self.wait.instant(now)
    }
}
