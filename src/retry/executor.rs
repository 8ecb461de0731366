//! The executor: a session driven for any async call.

use super::end::{End, Why};
use super::options::Retry;
use super::session::{Session, Step};
use crate::failure::Failure;

/// An error that can say what it saw.
pub trait AsFailure {
    /// The evidence: status, headers, body, or at least the text.
    fn as_failure(&self) -> Failure<'_>;
}

impl AsFailure for String {
    fn as_failure(&self) -> Failure<'_> {
        Failure::sdk(self.as_str())
    }
}

impl AsFailure for Failure<'_> {
    fn as_failure(&self) -> Failure<'_> {
        self.clone()
    }
}

impl<E: AsFailure + ?Sized> AsFailure for Box<E> {
    fn as_failure(&self) -> Failure<'_> {
        (**self).as_failure()
    }
}

impl<'a> Retry<'a> {
    /// Makes the call, and makes it again as long as that is worth it.
    ///
    /// Dropping the future cancels it at any point, in a call or in a wait, and leaves nothing behind. A call that succeeds at once costs two reads of shared counters and one of the clock.
    ///
    /// # Errors
    ///
    /// The last attempt's error with its verdict and why no further attempt is made. An overflow is returned at once.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use overspill::{Overspill, Why};
    ///
    /// let overspill = Overspill::embedded();
    /// let call = async || Err::<(), _>("prompt is too long: 213462 tokens > 200000 maximum".to_owned());
    /// let end = overspill.retry("anthropic").run(call).await.unwrap_err();
    /// assert_eq!((end.why(), end.attempts()), (Why::Overflow, 1));
    /// # }
    /// ```
    pub async fn run<T, E, F>(self, call: F) -> Result<T, End<E>>
    where
        E: AsFailure,
        F: AsyncFnMut() -> Result<T, E>,
    {
        self.run_with(call, |error, session| session.next(&error.as_failure())).await
    }

    /// As [`run`](Self::run), for errors of other crates: `judge` hands the evidence of an error to the session.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_with<T, E, F, J>(self, mut call: F, mut judge: J) -> Result<T, End<E>>
    where
        F: AsyncFnMut() -> Result<T, E>,
        J: FnMut(&E, &mut Session<'a>) -> super::session::Decision,
    {
        let mut session = self.session();
        if let Some(wait) = session.held_back() {
            tokio::time::sleep(wait).await;
        }
        loop {
            let error = match call().await {
                Ok(value) => {
                    session.succeeded();
                    return Ok(value);
                }
                Err(error) => error,
            };
            let decision = judge(&error, &mut session);
            let why = match decision.step {
                Step::Retry { delay, .. } => {
                    tokio::time::sleep(delay).await;
                    continue;
                }
                Step::Compact => Why::Overflow,
                Step::ReduceOutput => Why::OutputLimit,
                Step::Failover => Why::Failover,
                Step::GiveUp(why) => why,
            };
            return Err(session.end(error, decision, why));
        }
    }
}
