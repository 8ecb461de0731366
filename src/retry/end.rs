//! How a call ended that did not succeed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::verdict::Verdict;

/// Why no further attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The conversation does not fit; compact it.
    Overflow,
    /// More output was asked for than the model gives.
    OutputLimit,
    /// Another provider, key or model is needed.
    Failover,
    /// No repetition helps.
    Fatal,
    /// All attempts are used up.
    Attempts,
    /// Too many calls of this provider and key are failing to retry this one too.
    Budget,
    /// The wait would end after the deadline.
    Deadline,
    /// The server asks for a longer wait than the policy sleeps through.
    ServerDelayTooLong,
    /// Output was emitted, or a tool ran.
    OutputStarted,
    /// The caller said that the call must not be made twice.
    NotRepeatable,
}

impl Why {
    /// A stable kebab-case name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::OutputLimit => "output-limit",
            Self::Failover => "failover",
            Self::Fatal => "fatal",
            Self::Attempts => "attempts",
            Self::Budget => "budget",
            Self::Deadline => "deadline",
            Self::ServerDelayTooLong => "server-delay-too-long",
            Self::OutputStarted => "output-started",
            Self::NotRepeatable => "not-repeatable",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Overflow => "the conversation does not fit the model",
            Self::OutputLimit => "more output was asked for than the model gives",
            Self::Failover => "this provider or key cannot serve the call now",
            Self::Fatal => "repeating the call would not help",
            Self::Attempts => "all attempts failed",
            Self::Budget => "too many calls are failing to retry this one too",
            Self::Deadline => "the next attempt would be after the deadline",
            Self::ServerDelayTooLong => "the server asks for a longer wait than is slept through",
            Self::OutputStarted => "output had been emitted already",
            Self::NotRepeatable => "the call must not be made twice",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The end of a call that failed: the original error, the last verdict, and why no further attempt is made.
#[derive(Clone, Debug)]
pub struct End<E> {
    pub(super) error: E,
    pub(super) verdict: Box<Verdict>,
    pub(super) why: Why,
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) retry_at: Option<Timestamp>,
}

impl<E> End<E> {
    /// Why no further attempt is made.
    #[must_use]
    pub fn why(&self) -> Why {
        self.why
    }

    /// The last failure's verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Attempts made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// From the first attempt to the end.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The instant from which the server allows another try, if it named one.
    #[must_use]
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.retry_at
    }

    /// Whether the conversation must be compacted: it overflows the window, or the one request exceeds a limit.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.why == Why::Overflow
    }

    /// The original error.
    #[must_use]
    pub fn error(&self) -> &E {
        &self.error
    }

    /// The same end with another error: to turn it into a program's own, or to leave it out.
    ///
    /// ```
    /// use overspill::{Failure, Overspill, Why};
    ///
    /// let mut session = Overspill::embedded().retry("openai").session();
    /// let decision = session.next(&Failure::http(401));
    /// let end = session.end("no key", decision, Why::Fatal).map_error(str::len);
    /// assert_eq!((end.why(), *end.error()), (Why::Fatal, 6));
    /// ```
    #[must_use]
    pub fn map_error<F>(self, map: impl FnOnce(E) -> F) -> End<F> {
        let Self { error, verdict, why, attempts, elapsed, retry_at } = self;
        End { error: map(error), verdict, why, attempts, elapsed, retry_at }
    }

    /// The original error, owned.
    #[must_use]
    pub fn into_error(self) -> E {
        self.error
    }
}

impl<E> fmt::Display for End<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = if self.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", self.attempts) };
        write!(f, "{} after {attempts}: {}", self.verdict.class(), self.why.sentence())?;
        match self.retry_at {
            Some(at) => write!(f, "; the server allows another try from {at}"),
            None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for End<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}
