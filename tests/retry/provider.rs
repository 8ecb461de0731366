//! A provider to call: a real HTTP server on loopback that answers as it is told, streams, and breaks off.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Request, Response};
use overspill::Clock;
use tokio::net::TcpListener;

/// What the provider answers to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Sent one by one.
    pub(crate) pieces: Vec<Bytes>,
    /// Cut the connection then, instead of ending the body.
    pub(crate) breaks_off: bool,
    /// Neither end the body nor cut the connection.
    pub(crate) hangs: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), pieces: vec![body.into()], breaks_off: false, hangs: false }
    }

    /// A stream of server-sent events.
    pub(crate) fn stream(events: &[&str]) -> Self {
        let pieces = events.iter().map(|event| Bytes::from(format!("data: {event}\n\n"))).collect();
        Self { status: 200, headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())], pieces, breaks_off: false, hangs: false }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn hangs(mut self) -> Self {
        self.hangs = true;
        self
    }

    pub(crate) fn breaks_off(mut self) -> Self {
        self.breaks_off = true;
        self
    }
}

/// A provider under an address of its own. Ends when dropped.
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<Script>,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Bytes>>,
}

impl Provider {
    /// Starts one that gives these replies in turn, then says 200 and "ok".
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let state = Arc::new(Script { replies: Mutex::new(replies.into_iter().collect()), ..Script::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state, server }
    }

    /// Puts these replies behind those that are left.
    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.state.replies.lock().unwrap().extend(replies);
    }

    /// The bodies of the requests since this was last asked.
    pub(crate) fn requests(&self) -> Vec<Bytes> {
        std::mem::take(&mut self.state.requests.lock().unwrap())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(script): State<Arc<Script>>, request: Request<Body>) -> Response<Body> {
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    script.requests.lock().unwrap().push(body);
    let reply = script.replies.lock().unwrap().pop_front().unwrap_or_else(|| Reply::new(200, "ok"));
    let whole = reply.pieces.len() == 1 && !reply.breaks_off && !reply.hangs;
    let body =
        if whole { Body::from(reply.pieces[0].clone()) } else { Body::new(Pieces { left: reply.pieces.into(), breaks_off: reply.breaks_off, hangs: reply.hangs, told: false }) };
    let mut response = Response::builder().status(reply.status).body(body).unwrap();
    for (name, value) in &reply.headers {
        response.headers_mut().append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    response
}

/// A body in pieces that may break off.
struct Pieces {
    left: VecDeque<Bytes>,
    breaks_off: bool,
    hangs: bool,
    /// The pieces were handed over; the connection is cut when they are on their way.
    told: bool,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<http_body::Frame<Bytes>, io::Error>>> {
        if let Some(piece) = self.left.pop_front() {
            return Poll::Ready(Some(Ok(http_body::Frame::data(piece))));
        }
        if self.hangs {
            return Poll::Pending;
        }
        if !self.breaks_off {
            return Poll::Ready(None);
        }
        if !std::mem::replace(&mut self.told, true) {
            // Once more round, so that the pieces are written out.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("cut"))))
    }
}

/// A clock whose waits are over at once, and remembered.
#[derive(Debug)]
pub(crate) struct Skip {
    start: Instant,
    wall: jiff::Timestamp,
    slept: Mutex<Vec<Duration>>,
}

impl Skip {
    pub(crate) fn at(wall: jiff::Timestamp) -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), wall, slept: Mutex::default() })
    }

    pub(crate) fn new() -> Arc<Self> {
        Self::at("2026-08-01T12:00:00Z".parse().unwrap())
    }

    /// The waits so far.
    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }

    fn passed(&self) -> Duration {
        self.slept.lock().unwrap().iter().sum()
    }
}

impl Clock for Skip {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    fn wall(&self) -> jiff::Timestamp {
        self.wall + self.passed()
    }

    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.slept.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    }
}
