//! A failure out of what `reqwest` gives back.

use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::failure::Failure;
use crate::retry::Session;

/// So much of the body of an error response is read. Errors of providers are a few kilobytes long; what is longer is a page, or a mistake.
pub(super) const MAX_BODY: usize = 256 * 1024;
/// An error response whose body does not end is judged by what came in this time, or in what is left of the call's deadline.
const BODY_TIME: Duration = Duration::from_secs(10);

/// How long the body of an error response is read.
pub(super) fn body_time(session: &Session<'_>) -> Duration {
    session.time_left().map_or(BODY_TIME, |left| left.min(BODY_TIME))
}

/// Whether a response with this status is a failure. Redirects that the client does not follow are not.
pub(super) fn is_failure(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// The failure that a response shows.
pub(super) fn response_failure<'r>(status: StatusCode, headers: &'r HeaderMap, body: &'r [u8]) -> Failure<'r> {
    let headers = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    headers.fold(Failure::http(status.as_u16()).body(body), |failure, (name, value)| failure.header(name, value))
}

/// The failure that an error shows when no response came back.
pub(super) fn error_failure(error: &reqwest::Error) -> Failure<'static> {
    if error.is_builder() || error.is_redirect() {
        // Nothing was sent, or the server sends the client round in circles; the same request would end the same way.
        let kind = if error.is_builder() { "it could not be built" } else { "too many redirects" };
        return Failure::sdk(format!("invalid request: {kind}"));
    }
    let text = chain(error);
    if error.is_timeout() {
        // The words that all clients use for it; not every link of the chain says so.
        return Failure::network(format!("operation timed out: {text}"));
    }
    Failure::network(text)
}

/// An error and its causes, without the address, which may hold a key.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    if let Some(url) = error.url() {
        text = text.replace(&format!(" for url ({url})"), "").replace(url.as_str(), "...");
    }
    let mut cause = error.source();
    while let Some(error) = cause {
        let link = error.to_string();
        // What hyper calls cancelled is a request that the connection did not live to see through; who cancels a call of ours drops it, and sees no error.
        if link != "operation was canceled" {
            text.push_str(": ");
            text.push_str(&link);
        }
        cause = error.source();
    }
    text
}
