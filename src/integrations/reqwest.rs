//! Sends a `reqwest` request, and again as the rules say.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response, StatusCode};

use super::http::{MAX_BODY, body_time, error_failure, is_failure, response_failure};
use crate::failure::Failure;
use crate::retry::{AsFailure, End, Retry, Why};

impl Retry<'_> {
    /// Sends the request, and again as the rules say; a response below 400 is a success and is returned with its body unread.
    ///
    /// The body of an error response is read, up to 256 KiB, for ten seconds at most and not beyond the deadline,
    /// since it is what tells overflow from a wrong parameter; it is kept for the caller. A request whose body is a stream cannot be
    /// repeated: it is sent once. So is nothing else than the request itself: the client should have no retries of its own, or both multiply. Errors inside a response of status 200, such as an
    /// event of a stream, are not seen: read the stream within [`run`](Self::run) for that.
    ///
    /// # Errors
    ///
    /// The last response or error with its verdict and why no further attempt is made. An overflow is returned at once.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use overspill::Overspill;
    ///
    /// let overspill = Overspill::embedded();
    /// let request = reqwest::Client::new().post("https://api.openai.com/v1/chat/completions").bearer_auth("sk-...").body("{}");
    /// match overspill.retry("openai").model("gpt-5").send(request).await {
    ///     Ok(response) => println!("{}", response.text().await?),
    ///     Err(end) if end.is_overflow() => println!("compact to {:?} tokens", end.verdict().tokens().limit),
    ///     Err(end) => println!("{end}: {}", end.error().text()),
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn send(self, request: RequestBuilder) -> Result<Response, End<HttpError>> {
        let (client, request) = request.build_split();
        let repeatable = request.as_ref().is_ok_and(|request| request.try_clone().is_some());
        let mut session = if repeatable { self } else { self.not_repeatable() }.session();
        if !session.is_free() {
            session.begin().await;
        }
        let mut request = request;
        loop {
            let copy = request.as_ref().ok().and_then(reqwest::Request::try_clone);
            let response = match request {
                Ok(request) => client.execute(request).await,
                Err(error) => Err(error),
            };
            let error = match response {
                Ok(response) if is_failure(response.status()) => HttpError::read(response, body_time(&session)).await,
                Ok(response) => {
                    session.succeeded();
                    return Ok(response);
                }
                Err(error) => HttpError::from(error),
            };
            let decision = session.next(&error.as_failure());
            let why = match (decision.why(), copy) {
                (None, Some(copy)) => match session.wait().await {
                    Ok(()) => {
                        request = Ok(copy);
                        continue;
                    }
                    Err(why) => why,
                },
                // Without a copy the session was told that the call is not repeatable.
                (why, _) => why.unwrap_or(Why::NotRepeatable),
            };
            return Err(session.end(error, decision, why));
        }
    }
}

/// What came back instead of a success: an error response, or `reqwest`'s own error.
#[derive(Debug, Default)]
pub struct HttpError {
    status: Option<StatusCode>,
    headers: HeaderMap,
    body: Vec<u8>,
    cut: bool,
    error: Option<reqwest::Error>,
}

impl HttpError {
    /// Reads an error response, its body up to the bound and for so long.
    async fn read(mut response: Response, time: Duration) -> Self {
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut read = Self { status: Some(status), headers, ..Self::default() };
        let reading = async {
            loop {
                match response.chunk().await {
                    Ok(Some(chunk)) => {
                        let room = MAX_BODY - read.body.len();
                        read.body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                        if chunk.len() > room {
                            return false;
                        }
                    }
                    Ok(None) => return true,
                    // Half a body is evidence too.
                    Err(_) => return false,
                }
            }
        };
        let whole = tokio::time::timeout(time, reading).await.unwrap_or(false);
        read.cut = !whole;
        read
    }

    /// The response's status; `None` when no response came back.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The response's headers; empty when no response came back.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The response's body, up to 256 KiB.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The response's body as text; what is not UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Whether the body is not all that the server sent, or meant to.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The error when no response came back.
    #[must_use]
    pub fn transport(&self) -> Option<&reqwest::Error> {
        self.error.as_ref()
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        // The address may hold a key, and this is printed.
        Self { error: Some(error.without_url()), ..Self::default() }
    }
}

impl AsFailure for HttpError {
    fn as_failure(&self) -> Failure<'_> {
        match (self.status, &self.error) {
            (Some(status), _) => response_failure(status, &self.headers, &self.body),
            (None, Some(error)) => error_failure(error),
            (None, None) => Failure::network("no response"),
        }
    }
}

/// Says the status, or that no answer came, whose cause is the source; and nothing of the body, which may repeat the prompt.
impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.error) {
            (Some(status), _) => write!(f, "the server answered {status}"),
            (None, _) => f.write_str("no answer"),
        }
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.as_ref().map(|error| error as _)
    }
}
