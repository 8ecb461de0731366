//! The retry as a middleware of `reqwest-middleware`.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use reqwest::{Body, Request, Response, ResponseBuilderExt};
use reqwest_middleware::{Error, Middleware, Next, Result};

use super::http::{MAX_BODY, body_time, error_failure, is_failure, response_failure};
use crate::failure::Failure;
use crate::retry::{End, Retry};

/// Sends each request, and again as the rules say. The final response is handed on as it came, its body included, whether it is a success or not.
///
/// Why an error response is the last one is in its extensions, as [`End<()>`](End); it is in the request's extensions too, where middlewares above this one find it
/// also when no response came back, since an error of `reqwest-middleware` has no room for it. Who is called, and how, is said once for the client; a request that needs something else (a model, a deadline,
/// [`not_repeatable`](Retry::not_repeatable)) brings a [`Retry`] of its own with `with_extension`. A request whose body is a stream cannot be repeated: it is sent once. Put this middleware
/// before those that should see every attempt, and let nothing below it retry.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use overspill::{End, Overspill, RetryMiddleware};
///
/// let overspill = Overspill::embedded();
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new()).with(RetryMiddleware::new(overspill.retry("openai"))).build();
///
/// let request = client.post("https://api.openai.com/v1/chat/completions").with_extension(overspill.retry("openai").model("gpt-5"));
/// let response = request.body("{}").send().await?;
/// if let Some(end) = response.extensions().get::<End<()>>() {
///     println!("{end}; overflow: {}", end.is_overflow());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RetryMiddleware {
    retry: Retry<'static>,
}

impl RetryMiddleware {
    /// A middleware that makes its calls like this one.
    #[must_use]
    pub fn new(retry: Retry<'static>) -> Self {
        Self { retry }
    }
}

#[async_trait]
impl Middleware for RetryMiddleware {
    async fn handle(&self, request: Request, extensions: &mut http::Extensions, next: Next<'_>) -> Result<Response> {
        let retry = extensions.get::<Retry<'static>>().unwrap_or(&self.retry).clone();
        let repeatable = request.try_clone().is_some();
        let mut session = if repeatable { retry } else { retry.not_repeatable() }.session();
        if !session.is_free() {
            session.begin().await;
        }
        let mut request = request;
        loop {
            let copy = request.try_clone();
            let result = next.clone().run(request, extensions).await;
            let (decision, result) = match result {
                Ok(response) if is_failure(response.status()) => {
                    let response = Peeked::read(response, body_time(&session)).await;
                    (session.next(&response.failure()), Ok(response))
                }
                Ok(response) => {
                    session.succeeded();
                    return Ok(response);
                }
                Err(error) => (session.next(&failure(&error)), Err(error)),
            };
            let why = match (decision.why(), copy) {
                (None, Some(copy)) => match session.wait().await {
                    Ok(()) => {
                        request = copy;
                        continue;
                    }
                    Err(why) => why,
                },
                // Without a copy the session was told that the call is not repeatable.
                (why, _) => why.unwrap_or(crate::retry::Why::NotRepeatable),
            };
            let end = session.end((), decision, why);
            extensions.insert(end.clone());
            return result.map(|response| response.whole(end));
        }
    }
}

fn failure(error: &Error) -> Failure<'static> {
    match error {
        Error::Reqwest(error) => error_failure(error),
        Error::Middleware(error) => Failure::sdk(format!("{error:#}")),
    }
}

/// An error response whose body was read up to the bound.
struct Peeked {
    parts: http::response::Parts,
    url: reqwest::Url,
    read: Vec<u8>,
    frames: VecDeque<Frame<Bytes>>,
    error: Option<reqwest::Error>,
    rest: Body,
}

impl Peeked {
    async fn read(response: Response, time: Duration) -> Self {
        let url = response.url().clone();
        let (parts, rest) = http::Response::<Body>::from(response).into_parts();
        let mut peeked = Self { parts, url, read: Vec::new(), frames: VecDeque::new(), error: None, rest };
        let reading = async {
            while peeked.read.len() < MAX_BODY {
                match peeked.rest.frame().await {
                    Some(Ok(frame)) => {
                        if let Some(data) = frame.data_ref() {
                            let room = MAX_BODY - peeked.read.len();
                            peeked.read.extend_from_slice(data.get(..room).unwrap_or(data));
                        }
                        peeked.frames.push_back(frame);
                    }
                    Some(Err(error)) => {
                        peeked.error = Some(error);
                        return;
                    }
                    None => return,
                }
            }
        };
        // An error response whose body does not end is judged by what there is.
        let _ = tokio::time::timeout(time, reading).await;
        peeked
    }

    fn failure(&self) -> Failure<'_> {
        response_failure(self.parts.status, &self.parts.headers, &self.read)
    }

    /// The response as it came: what was read of the body, then the rest of it.
    fn whole(mut self, end: End<()>) -> Response {
        self.parts.extensions.insert(end);
        // The address travels in an extension that only reqwest can name.
        if let Ok(carrier) = http::Response::builder().url(self.url).body(()) {
            self.parts.extensions.extend(carrier.into_parts().0.extensions);
        }
        let body = Rejoined { frames: self.frames, error: self.error, rest: self.rest };
        Response::from(http::Response::from_parts(self.parts, Body::wrap(body)))
    }
}

/// A body that was begun, from its beginning.
struct Rejoined {
    frames: VecDeque<Frame<Bytes>>,
    error: Option<reqwest::Error>,
    rest: Body,
}

impl http_body::Body for Rejoined {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<std::result::Result<Frame<Bytes>, reqwest::Error>>> {
        if let Some(frame) = self.frames.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.error.is_none() && self.rest.is_end_stream()
    }
}
