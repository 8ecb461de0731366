//! The executor: a session driven for any async call.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use super::decision::Decision;
use super::end::{End, Why};
use super::options::Retry;
use super::session::Session;
use crate::failure::Failure;

/// An error that can say what it saw.
pub trait AsFailure {
    /// The evidence: status, headers, body, or at least the text; with [`Failure::output_started`] when output had been emitted.
    fn as_failure(&self) -> Failure<'_>;
}

impl AsFailure for str {
    fn as_failure(&self) -> Failure<'_> {
        Failure::sdk(self)
    }
}

impl AsFailure for String {
    fn as_failure(&self) -> Failure<'_> {
        Failure::sdk(self.as_str())
    }
}

impl AsFailure for std::io::Error {
    fn as_failure(&self) -> Failure<'_> {
        Failure::network(self.to_string())
    }
}

impl AsFailure for Failure<'_> {
    fn as_failure(&self) -> Failure<'_> {
        self.clone()
    }
}

impl<E: AsFailure + ?Sized> AsFailure for &E {
    fn as_failure(&self) -> Failure<'_> {
        (**self).as_failure()
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
    /// Dropping the future cancels it at any point, in a call or in a wait, and leaves nothing behind but the price of a retry that was begun. A call that succeeds at once costs two reads of a shared counter and one of the clock, and
    /// no allocation. The call is a closure that makes a future, such as `async || client.send(&request).await`; what changes between calls belongs in a cell, or in a loop of one's own around a
    /// [`session`](Self::session). When another call with the same key was told to wait, the first attempt waits too, unless that would be beyond the deadline or what the policy sleeps through: then the
    /// server is asked all the same and its own answer decides. Such calls are made at the pace at which calls come back, fifty in a tenth of a second, whatever their deadline.
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
    /// let call = async || Err::<(), _>("prompt is too long: 213462 tokens > 200000 maximum");
    /// let end = overspill.retry("anthropic").run(call).await.unwrap_err();
    /// assert_eq!((end.why(), end.attempts()), (Why::Overflow, 1));
    /// # }
    /// ```
    pub fn run<T, E, F, C>(self, call: F) -> impl Future<Output = Result<T, End<E>>>
    where
        E: AsFailure,
        F: FnMut() -> C,
        C: Future<Output = Result<T, E>>,
    {
        self.run_with(call, |error, session| session.next(&error.as_failure()))
    }

    /// As [`run`](Self::run), for errors of other crates: `judge` hands the evidence of an error to the session.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use overspill::{Failure, Overspill, Why};
    ///
    /// struct Refused(u16); // somebody else's error
    ///
    /// let overspill = Overspill::embedded();
    /// let end = overspill.retry("openai").run_with(async || Err::<(), _>(Refused(401)), |refused, session| session.next(&Failure::http(refused.0))).await.unwrap_err();
    /// assert_eq!((end.why(), end.error().0), (Why::Fatal, 401));
    /// # }
    /// ```
    pub async fn run_with<T, E, F, C, J>(self, mut call: F, mut judge: J) -> Result<T, End<E>>
    where
        // Not `AsyncFnMut`: the future of this could not be spawned then (rust-lang/rust#110338).
        F: FnMut() -> C,
        C: Future<Output = Result<T, E>>,
        J: FnMut(&E, &mut Session<'a>) -> Decision,
    {
        let mut session = self.session();
        if !session.is_free() {
            session.begin().await;
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
            let why = match decision.why() {
                Some(why) => why,
                None => match session.wait().await {
                    Ok(()) => continue,
                    Err(why) => why,
                },
            };
            return Err(session.end(error, decision, why));
        }
    }
}

impl Session<'_> {
    /// Waits until the attempt may be made: what the last step asked for, longer when meanwhile the provider told another call with the same key to wait, and anew when the rules are replaced
    /// meanwhile. Needs a tokio runtime with time, unless the session has a clock of its own.
    ///
    /// # Errors
    ///
    /// As [`wait_left`](Self::wait_left): when the attempt should not be made any more.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), overspill::Why> {
    /// use overspill::{Failure, Overspill, Step};
    ///
    /// let overspill = Overspill::embedded();
    /// let mut session = overspill.retry("openai").session();
    /// session.wait().await?; // before the first attempt, in case others were told to wait
    /// let decision = session.next(&Failure::http(429).header("retry-after-ms", "1"));
    /// if let Step::Retry { .. } = decision.step {
    ///     session.wait().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn wait(&mut self) -> Result<(), Why> {
        let overspill = self.options.overspill.clone();
        let mut slept = false;
        loop {
            // Listens before it looks, so that nothing falls between.
            let mut news = pin!(overspill.news());
            news.as_mut().enable();
            let Some(left) = self.resume(slept)? else { return Ok(()) };
            let mut sleep = self.clock().sleep(left);
            slept = poll_fn(|context| {
                if sleep.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                news.as_mut().poll(context).map(|()| false)
            })
            .await;
        }
    }

    /// Waits for the first attempt. When calls are held for longer than this one may wait, the server's own answer says so; it is asked at the pace at which calls come back, or all who may not
    /// wait would ask together.
    pub(crate) async fn begin(&mut self) {
        if self.wait().await.is_err() {
            self.ask_anyway();
            // Nothing refuses it now.
            let _ = self.wait().await;
        }
    }
}
