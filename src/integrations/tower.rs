//! The retry as a `tower` layer.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::failure::Failure;
use crate::retry::Retry;

/// Makes a service's calls again as the rules say. Responses and errors are handed on as they are, so that the layer fits anywhere in a stack.
///
/// What a result shows is said by a closure: the [`Failure`] that it is, or `None` for a success. It sees a reference, so a body that is a stream stays unread: put this layer above the one that
/// reads error bodies. Why a call ended is told to the [`Observer`](crate::Observer); who wants it in hand makes a [`session`](Retry::session) or uses [`Retry::run`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering::Relaxed}};
///
/// use overspill::{Failure, Overspill, RetryLayer};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// let overspill = Overspill::embedded();
/// let refused = Arc::new(AtomicBool::new(false));
/// let provider = service_fn(move |_: &'static str| {
///     let first = !refused.swap(true, Relaxed);
///     async move { if first { Err(429) } else { Ok("hello") } }
/// });
/// let layer = RetryLayer::new(overspill.retry("openai"), |result: &Result<&'static str, u16>| {
///     Some(Failure::http(*result.as_ref().err()?).header("retry-after-ms", "1"))
/// });
/// let service = ServiceBuilder::new().layer(layer).service(provider);
/// assert_eq!(service.oneshot("hi").await, Ok("hello"));
/// # }
/// ```
pub struct RetryLayer<R, E, J> {
    retry: Retry<'static>,
    judge: Arc<J>,
    result: PhantomData<fn(&Result<R, E>)>,
}

impl<R, E, J> RetryLayer<R, E, J>
where
    J: for<'r> Fn(&'r Result<R, E>) -> Option<Failure<'r>>,
{
    /// A layer whose calls are made like this one, and which knows a failure by the closure.
    #[must_use]
    pub fn new(retry: Retry<'static>, judge: J) -> Self {
        Self { retry, judge: Arc::new(judge), result: PhantomData }
    }
}

impl<S, R, E, J> Layer<S> for RetryLayer<R, E, J> {
    type Service = RetryService<S, J>;

    fn layer(&self, inner: S) -> Self::Service {
        RetryService { inner, retry: self.retry.clone(), judge: Arc::clone(&self.judge) }
    }
}

impl<R, E, J> Clone for RetryLayer<R, E, J> {
    fn clone(&self) -> Self {
        Self { retry: self.retry.clone(), judge: Arc::clone(&self.judge), result: PhantomData }
    }
}

impl<R, E, J> fmt::Debug for RetryLayer<R, E, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryLayer").field("retry", &self.retry).finish_non_exhaustive()
    }
}

/// A service whose calls are made again as the rules say; made by [`RetryLayer`]. The service and its requests must be [`Clone`]. Costs one allocation a call, for the future.
pub struct RetryService<S, J> {
    inner: S,
    retry: Retry<'static>,
    judge: Arc<J>,
}

impl<S, J, Request> Service<Request> for RetryService<S, J>
where
    S: Service<Request> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Send,
    Request: Clone + Send + 'static,
    J: for<'r> Fn(&'r Result<S::Response, S::Error>) -> Option<Failure<'r>> + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The one that was polled ready makes the call; the clone is for the next.
        let fresh = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        let (retry, judge) = (self.retry.clone(), Arc::clone(&self.judge));
        Box::pin(async move {
            let mut session = retry.session();
            if !session.is_free() {
                Box::pin(session.begin()).await;
            }
            loop {
                let result = inner.call(request.clone()).await;
                let decision = {
                    let Some(failure) = judge(&result) else {
                        session.succeeded();
                        return result;
                    };
                    session.next(&failure)
                };
                // Waits are boxed: they are rare, and would make the future of every call larger.
                if decision.why().is_some() || Box::pin(session.wait()).await.is_err() {
                    return result;
                }
                std::future::poll_fn(|context| inner.poll_ready(context)).await?;
            }
        })
    }
}

impl<S: Clone, J> Clone for RetryService<S, J> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), retry: self.retry.clone(), judge: Arc::clone(&self.judge) }
    }
}

impl<S: fmt::Debug, J> fmt::Debug for RetryService<S, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryService").field("inner", &self.inner).field("retry", &self.retry).finish_non_exhaustive()
    }
}
