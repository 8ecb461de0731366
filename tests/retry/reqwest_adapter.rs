//! Through real `reqwest` and `reqwest-middleware` to a provider on loopback.

use std::error::Error;
use std::sync::LazyLock;
use std::time::Duration;

use overspill::{AsFailure, Class, End, Failure, HttpError, Overspill, Retry, RetryMiddleware, Why};
use reqwest_middleware::ClientWithMiddleware;
use serde_json::Value;

use crate::provider::{Provider, Reply, Skip};

static OVERSPILL: LazyLock<Overspill> = LazyLock::new(Overspill::embedded);

const OVERFLOW: &str = r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#;

fn with_middleware(retry: Retry<'static>) -> ClientWithMiddleware {
    reqwest_middleware::ClientBuilder::new(reqwest::Client::new()).with(RetryMiddleware::new(retry)).build()
}

#[tokio::test]
async fn a_response_comes_back_after_retries_with_its_body_unread() {
    let provider = Provider::start([Reply::new(529, "busy"), Reply::new(429, "").header("retry-after", "7"), Reply::new(200, "hello")]).await;
    let clock = Skip::new();
    let request = reqwest::Client::new().post(&provider.url).body("the same each time");
    let response = OVERSPILL.retry("openai").alone().clock(clock.clone()).send(request).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "hello");
    assert_eq!(provider.requests(), ["the same each time"; 3]);
    let slept = clock.slept();
    assert!(slept.len() == 2 && slept[1] >= Duration::from_secs(7) && slept[1] <= Duration::from_millis(7700), "{slept:?}");
}

#[tokio::test]
async fn an_overflow_ends_it_at_once_with_all_that_came() {
    let provider = Provider::start([Reply::new(400, OVERFLOW).header("x-request-id", "17")]).await;
    let end = OVERSPILL.retry("openai").send(reqwest::Client::new().post(&provider.url)).await.unwrap_err();
    assert!(end.is_overflow() && end.verdict().tokens().limit == Some(8192));
    let error = end.error();
    assert_eq!((error.status().unwrap().as_u16(), error.text().as_ref(), error.is_cut()), (400, OVERFLOW, false));
    assert_eq!(error.headers()["x-request-id"], "17");
    assert_eq!(provider.requests().len(), 1);
    assert_eq!(error.to_string(), "the server answered 400 Bad Request");
    assert_eq!(end.source().unwrap().to_string(), error.to_string());
}

#[tokio::test]
async fn a_body_is_read_up_to_the_bound() {
    let page = format!("{OVERFLOW}{}", "x".repeat(1 << 20));
    let provider = Provider::start([Reply::new(400, page.clone()), Reply::new(400, page.clone())]).await;
    let end = OVERSPILL.retry("openai").send(reqwest::Client::new().get(&provider.url)).await.unwrap_err();
    assert_eq!((end.error().body().len(), end.error().is_cut()), (256 * 1024, true));
    let client = with_middleware(OVERSPILL.retry("openai"));
    let response = client.get(&provider.url).send().await.unwrap();
    assert!(response.extensions().get::<End<()>>().is_some());
    assert_eq!(response.text().await.unwrap(), page, "the middleware hands all of it on");
}

#[tokio::test]
async fn half_an_error_body_is_evidence_too() {
    let half = || Reply::new(400, OVERFLOW).breaks_off();
    let provider = Provider::start([half(), half()]).await;
    let end = OVERSPILL.retry("openai").send(reqwest::Client::new().get(&provider.url)).await.unwrap_err();
    assert!(end.is_overflow() && end.error().is_cut(), "{end:?}");
    let response = with_middleware(OVERSPILL.retry("openai")).get(&provider.url).send().await.unwrap();
    assert!(response.extensions().get::<End<()>>().unwrap().is_overflow());
    assert!(response.bytes().await.is_err(), "as it came, with the error at its end");
}

#[tokio::test]
async fn a_body_that_does_not_end_is_read_no_longer_than_the_deadline() {
    let provider = Provider::start([Reply::new(400, OVERFLOW).hangs(), Reply::new(400, OVERFLOW).hangs()]).await;
    let retry = OVERSPILL.retry("openai").alone().deadline(Duration::from_millis(300));
    // Without the deadline it is read for ten seconds.
    let patience = Duration::from_secs(8);
    let end = tokio::time::timeout(patience, retry.clone().send(reqwest::Client::new().get(&provider.url))).await.unwrap().unwrap_err();
    assert!(end.is_overflow() && end.error().is_cut(), "{end:?}");
    let response = tokio::time::timeout(patience, with_middleware(retry).get(&provider.url).send()).await.unwrap().unwrap();
    assert!(response.extensions().get::<End<()>>().unwrap().is_overflow());
}

/// A middleware above the retry, which keeps the end that it finds.
#[derive(Default, Clone)]
struct Above(std::sync::Arc<std::sync::Mutex<Option<End<()>>>>);

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Above {
    async fn handle(&self, request: reqwest::Request, extensions: &mut http::Extensions, next: reqwest_middleware::Next<'_>) -> reqwest_middleware::Result<reqwest::Response> {
        let result = next.run(request, extensions).await;
        *self.0.lock().unwrap() = extensions.get::<End<()>>().cloned();
        result
    }
}

#[tokio::test]
async fn the_middlewares_end_is_in_the_requests_extensions_too() {
    let above = Above::default();
    let retry = RetryMiddleware::new(OVERSPILL.retry("openai").alone().clock(Skip::new()));
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new()).with(above.clone()).with(retry).build();
    let refused = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    assert!(client.get(&refused).send().await.unwrap_err().is_connect());
    let end = above.0.lock().unwrap().clone().unwrap();
    assert_eq!((end.why(), end.verdict().class(), end.attempts()), (Why::Attempts, Class::Network, 5));
}

#[tokio::test]
async fn errors_of_the_client_are_network_and_time_outs() {
    let refused = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/?key=secret", listener.local_addr().unwrap())
    };
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/?key=secret", silent.local_addr().unwrap());
    let hangs_up = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hangs_up_url = format!("http://{}/?key=secret", hangs_up.local_addr().unwrap());
    let server = tokio::spawn(async move {
        loop {
            drop(hangs_up.accept().await);
        }
    });
    let client = reqwest::Client::builder().timeout(Duration::from_millis(20)).build().unwrap();
    let slow = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
    for (client, url, class) in [(&slow, refused, Class::Network), (&client, silent_url, Class::Timeout), (&slow, hangs_up_url, Class::Network)] {
        let clock = Skip::new();
        let end = OVERSPILL.retry("gemini").alone().clock(clock.clone()).at_most(3).send(client.get(&url)).await.unwrap_err();
        assert_eq!((end.verdict().class(), end.why(), end.attempts(), clock.slept().len()), (class, Why::Attempts, 3, 2), "{url}: {end:?}");
        assert!(end.error().status().is_none() && end.error().transport().is_some());
        let causes = || std::iter::successors(end.source(), |error| (*error).source());
        assert!(causes().any(<dyn Error>::is::<reqwest::Error>) && causes().all(|error| !error.to_string().contains("secret")), "{end:?}");
        assert!(!format!("{end} {end:?} {}", end.error()).contains("secret"), "{end:?}");
    }
    server.abort();
}

#[tokio::test]
async fn what_was_never_sent_is_not_sent_again() {
    let client = reqwest::Client::new();
    let end = OVERSPILL.retry("openai").send(client.get("http://[not an address")).await.unwrap_err();
    assert_eq!((end.verdict().class(), end.why(), end.attempts()), (Class::InvalidRequest, Why::Fatal, 1), "{end:?}");
    let end = OVERSPILL.retry("openai").send(client.get("gopher://host/")).await.unwrap_err();
    assert_eq!((end.verdict().class(), end.why(), end.attempts()), (Class::InvalidRequest, Why::Fatal, 1), "{end:?}");
}

/// A body that cannot be sent twice.
struct Once;

impl http_body::Body for Once {
    type Data = axum::body::Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(None)
    }
}

#[tokio::test]
async fn a_streamed_body_is_sent_once() {
    let provider = Provider::start([Reply::new(500, ""), Reply::new(500, "")]).await;
    let end = OVERSPILL.retry("openai").alone().send(reqwest::Client::new().post(&provider.url).body(reqwest::Body::wrap(Once))).await.unwrap_err();
    assert_eq!((end.why(), provider.requests().len()), (Why::NotRepeatable, 1));
    let response = with_middleware(OVERSPILL.retry("openai").alone()).post(&provider.url).body(reqwest::Body::wrap(Once)).send().await.unwrap();
    assert_eq!((response.extensions().get::<End<()>>().unwrap().why(), provider.requests().len()), (Why::NotRepeatable, 1));
}

#[tokio::test]
async fn the_middleware_hands_on_what_came() {
    let replies = [Reply::new(503, "later"), Reply::new(200, "hello"), Reply::new(400, OVERFLOW).header("x-request-id", "17"), Reply::new(404, "no")];
    let provider = Provider::start(replies).await;
    let clock = Skip::new();
    let client = with_middleware(OVERSPILL.retry("openai").alone().clock(clock.clone()));
    let url = format!("{}/v1/chat?a=b", provider.url);
    let response = client.post(&url).body("hi").send().await.unwrap();
    assert!(response.extensions().get::<End<()>>().is_none());
    assert_eq!((response.text().await.unwrap().as_str(), provider.requests().len(), clock.slept().len()), ("hello", 2, 1));

    let response = client.post(&url).send().await.unwrap();
    assert!(response.extensions().get::<End<()>>().unwrap().is_overflow());
    assert_eq!((response.status().as_u16(), response.url().as_str(), &response.headers()["x-request-id"]), (400, url.as_str(), &"17".parse().unwrap()));
    assert_eq!(response.text().await.unwrap(), OVERFLOW);
    let response = client.post(&url).send().await.unwrap();
    assert!(response.error_for_status().is_err());
}

#[tokio::test]
async fn a_request_brings_its_own_wishes() {
    let provider = Provider::start([Reply::new(500, ""), Reply::new(500, "")]).await;
    let client = with_middleware(OVERSPILL.retry("openai").alone());
    let response = client.post(&provider.url).with_extension(OVERSPILL.retry("openai").not_repeatable()).send().await.unwrap();
    assert_eq!((response.status().as_u16(), provider.requests().len()), (500, 1));
}

#[tokio::test]
async fn an_error_of_the_client_passes_the_middleware() {
    let clock = Skip::new();
    let client = with_middleware(OVERSPILL.retry("openai").alone().clock(clock.clone()));
    let refused = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let error = client.get(&refused).send().await.unwrap_err();
    assert!(error.is_connect());
    assert_eq!(clock.slept().len(), 4);
}

#[tokio::test]
async fn a_dropped_call_is_over() {
    let provider = Provider::start((0..9).map(|_| Reply::new(500, ""))).await;
    let call = OVERSPILL.retry("openai").key("dropped").send(reqwest::Client::new().get(&provider.url));
    // The first wait is two seconds long.
    let race = tokio::time::timeout(Duration::from_millis(200), call).await;
    assert!(race.is_err());
    assert_eq!(provider.requests().len(), 1);
    assert_eq!(OVERSPILL.retry("openai").key("dropped").session().wait_left(), Ok(None));
}

/// What can go wrong while a stream is read.
#[derive(Debug)]
enum Broken {
    Refused(HttpError),
    /// The text that had reached the user by then.
    Stream(reqwest::Error, String),
}

impl AsFailure for Broken {
    fn as_failure(&self) -> Failure<'_> {
        match self {
            Self::Refused(error) => error.as_failure(),
            Self::Stream(error, shown) if shown.is_empty() => Failure::network(format!("{error:?}")),
            Self::Stream(error, _) => Failure::network(format!("{error:?}")).output_started(),
        }
    }
}

async fn read_stream(url: &str) -> Result<String, Broken> {
    let mut response = reqwest::get(url).await.map_err(|error| Broken::Refused(error.into()))?;
    let mut shown = String::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => shown.push_str(&String::from_utf8_lossy(&piece)),
            Ok(None) => return Ok(shown),
            Err(error) => return Err(Broken::Stream(error, shown)),
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_after_output_is_not_retried() {
    let provider = Provider::start([Reply::stream(&["{\"text\":\"Hel\"}"]).breaks_off()]).await;
    let end = OVERSPILL.retry("openai").alone().clock(Skip::new()).run(|| read_stream(&provider.url)).await.unwrap_err();
    assert_eq!((end.why(), end.verdict().class(), provider.requests().len()), (Why::OutputStarted, Class::Network, 1), "{end:?}");
    assert!(matches!(end.error(), Broken::Stream(_, shown) if shown.contains("Hel")));
}

#[tokio::test]
async fn and_one_that_breaks_off_before_is() {
    let provider = Provider::start([Reply::stream(&[]).breaks_off(), Reply::stream(&["{\"text\":\"Hello\"}", "[DONE]"])]).await;
    let text = OVERSPILL.retry("openai").alone().clock(Skip::new()).run(|| read_stream(&provider.url)).await.unwrap();
    assert_eq!((text.as_str(), provider.requests().len()), ("data: {\"text\":\"Hello\"}\n\ndata: [DONE]\n\n", 2));
}

/// The HTTP failures of the corpus: what is sent, and how it looks when it is judged without a network between.
fn corpus() -> Vec<(Value, Reply)> {
    /// These describe the connection the case was recorded on, not this one.
    const OF_THE_CONNECTION: [&str; 4] = ["content-length", "content-encoding", "transfer-encoding", "connection"];
    let files = ["overflow.jsonl", "retry.jsonl"].map(|name| std::fs::read_to_string(format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap());
    let cases = files.iter().flat_map(|file| file.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let http = cases.filter(|case| case["transport"] == "http" && case["status"].as_u64().is_some_and(|status| status >= 400));
    let with_reply = http.map(|case| {
        let body = match &case["body"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        let mut reply = Reply::new(case["status"].as_u64().unwrap() as u16, body);
        for (name, value) in case["headers"].as_object().into_iter().flatten() {
            if !OF_THE_CONNECTION.contains(&name.to_ascii_lowercase().as_str()) {
                reply = reply.header(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
        }
        (case, reply)
    });
    with_reply.collect()
}

#[tokio::test]
async fn recorded_failures_end_or_are_retried_as_they_are_judged() {
    let provider = Provider::start([]).await;
    let (client, mut seen) = (reqwest::Client::new(), 0);
    for (case, reply) in corpus() {
        let id = case["id"].as_str().unwrap();
        let name = case["provider"].as_str().unwrap_or("nobody");
        let now = case["now"].as_str().map_or("2026-08-01T12:00:00Z".parse().unwrap(), |now| now.parse().unwrap());
        let failure =
            reply.headers.iter().fold(Failure::http(reply.status).provider(name).body(&reply.pieces[0]).received_at(now), |failure, (key, value)| failure.header(key, value));
        let verdict = OVERSPILL.evaluate(&failure);
        let asked = verdict.server_delay().map(|delay| delay.from(now)).unwrap_or_default();
        let retried = verdict.is_retry() && asked <= Duration::from_secs(300);
        // The provider's clock is that of the recording.
        let dated = reply.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("date"));
        let reply = if dated { reply } else { reply.header("date", &now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()) };
        for through_middleware in [false, true] {
            provider.script([reply.clone()]);
            let clock = Skip::at(now);
            let retry = OVERSPILL.retry(name.to_owned()).alone().clock(clock.clone());
            let why = if through_middleware {
                let response = with_middleware(retry).get(&provider.url).send().await.unwrap();
                let end = response.extensions().get::<End<()>>().cloned();
                assert_eq!(response.status().as_u16(), if end.is_some() { reply.status } else { 200 }, "{id}");
                end
            } else {
                retry.send(client.get(&provider.url)).await.err().map(|end| {
                    assert_eq!((end.error().status().unwrap().as_u16(), end.error().body()), (reply.status, &reply.pieces[0][..]), "{id}");
                    end.map_error(|_| ())
                })
            };
            assert_eq!(why.is_none(), retried, "{id}: {why:?} {verdict:?}");
            assert_eq!(provider.requests().len(), if retried { 2 } else { 1 }, "{id}");
            if let Some(end) = why {
                assert_eq!((end.verdict().class(), end.is_overflow()), (verdict.class(), verdict.action() == overspill::Action::Compact), "{id}");
            } else {
                assert!(clock.slept()[0] >= asked, "{id}: {:?} {asked:?}", clock.slept());
            }
        }
        seen += 1;
    }
    assert!(seen > 180, "{seen}");
}
