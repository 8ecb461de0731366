//! Through a real SDK, `async-openai`, whose own retries are switched off.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::{OpenAIError, StreamError};
use async_openai::middleware::ReqwestService;
use async_openai::types::chat::{ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequest, CreateChatCompletionRequestArgs, CreateChatCompletionResponse};
use futures_util::StreamExt;
use overspill::{AsFailure, Class, Failure, Overspill, Retry, RetryLayer, Why};
use tower::Layer;

use crate::provider::{Provider, Reply, Skip};

/// The SDK's error, and whether anything had been shown by then.
#[derive(Debug)]
struct Failed {
    error: OpenAIError,
    shown: bool,
}

impl From<OpenAIError> for Failed {
    fn from(error: OpenAIError) -> Self {
        Self { error, shown: false }
    }
}

impl AsFailure for Failed {
    fn as_failure(&self) -> Failure<'_> {
        let failure = match &self.error {
            OpenAIError::ApiError(response) => {
                let failure = Failure::sdk(response.api_error.to_string()).with_status(response.status_code.as_u16());
                match serde_json::to_vec(&response.api_error) {
                    Ok(body) => failure.with_body(body),
                    Err(_) => failure,
                }
            }
            OpenAIError::JSONDeserialize(_, content) => Failure::sdk(content.as_str()),
            OpenAIError::Reqwest(error) => Failure::network(format!("{error:?}")),
            OpenAIError::StreamError(error) => match &**error {
                StreamError::EventStream(text) => Failure::network(text.as_str()),
                other @ StreamError::UnknownEvent(_) => Failure::sdk(other.to_string()),
            },
            other => Failure::sdk(other.to_string()),
        };
        if self.shown { failure.output_started() } else { failure }
    }
}

fn client(provider: &Provider) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base(&provider.url).with_api_key("sk-test");
    Client::with_config(config).with_http_service(ReqwestService::new(reqwest::Client::new()))
}

fn request() -> CreateChatCompletionRequest {
    let message = ChatCompletionRequestUserMessageArgs::default().content("hi").build().unwrap();
    CreateChatCompletionRequestArgs::default().model("gpt-5").messages([message.into()]).build().unwrap()
}

fn answer() -> Reply {
    let body =
        r#"{"id":"1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    Reply::new(200, body).header("content-type", "application/json")
}

fn refusal(status: u16, code: &str, message: &str) -> Reply {
    let body = serde_json::json!({ "error": { "message": message, "type": "tokens", "param": null, "code": code } });
    Reply::new(status, body.to_string()).header("content-type", "application/json")
}

fn retry(overspill: &Overspill) -> Retry<'static> {
    overspill.retry("openai").model("gpt-5").alone().clock(Skip::new())
}

fn text(response: &CreateChatCompletionResponse) -> Option<&str> {
    response.choices[0].message.content.as_deref()
}

#[tokio::test]
async fn its_errors_are_judged_and_its_calls_made_again() {
    let limited = refusal(
        429,
        "rate_limit_exceeded",
        "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 18928, Requested 11159. Please try again in 174ms.",
    );
    let provider = Provider::start([limited, refusal(500, "server_error", "The server had an error while processing your request."), answer()]).await;
    let (overspill, clock) = (Overspill::embedded(), Skip::new());
    let client = client(&provider);
    let call = async || Ok::<_, Failed>(client.chat().create(request()).await?);
    let response = retry(&overspill).clock(clock.clone()).run(call).await.unwrap();
    assert_eq!((text(&response), provider.requests().len()), (Some("hello"), 3));
    let slept = clock.slept();
    assert!((174..=192).contains(&slept[0].as_millis()) && slept[1].as_millis() >= 3200, "{slept:?}");
}

#[tokio::test]
async fn an_overflow_ends_it_and_a_shorter_conversation_goes_through() {
    let overflow = refusal(
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.",
    );
    let provider = Provider::start([overflow, answer()]).await;
    let overspill = Overspill::embedded();
    let client = client(&provider);
    let mut session = retry(&overspill).session();
    let failed = Failed::from(client.chat().create(request()).await.unwrap_err());
    let decision = session.next(&failed.as_failure());
    assert_eq!((decision.verdict.class(), decision.verdict.tokens().limit, decision.why()), (Class::ContextOverflow, Some(128_000), Some(Why::Overflow)));
    session.request_changed();
    assert_eq!(text(&client.chat().create(request()).await.unwrap()), Some("hello"));
    session.succeeded();
}

#[tokio::test]
async fn a_quota_is_no_rate_limit() {
    let provider = Provider::start([refusal(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")]).await;
    let overspill = Overspill::embedded();
    let client = client(&provider);
    let call = async || Ok::<_, Failed>(client.chat().create(request()).await?);
    let end = retry(&overspill).run(call).await.unwrap_err();
    assert_eq!((end.why(), end.verdict().class(), provider.requests().len()), (Why::Failover, Class::QuotaExhausted, 1));
    assert!(matches!(end.error().error, OpenAIError::ApiError(_)));
}

/// Reads a stream to its end.
async fn stream(client: &Client<OpenAIConfig>) -> Result<String, Failed> {
    let mut events = client.chat().create_stream(request()).await?;
    let mut shown = String::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => shown.push_str(event.choices[0].delta.content.as_deref().unwrap_or_default()),
            Err(error) => return Err(Failed { error, shown: !shown.is_empty() }),
        }
    }
    Ok(shown)
}

fn delta(text: &str) -> String {
    format!(r#"{{"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#)
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_retried_only_before_output() {
    let provider = Provider::start([Reply::stream(&[]).breaks_off(), Reply::stream(&[&delta("Hel"), &delta("lo"), "[DONE]"]), Reply::stream(&[&delta("Hel")]).breaks_off()]).await;
    let overspill = Overspill::embedded();
    let client = client(&provider);
    let text = retry(&overspill).run(|| stream(&client)).await.unwrap();
    assert_eq!((text.as_str(), provider.requests().len()), ("Hello", 2));
    let end = retry(&overspill).run(|| stream(&client)).await.unwrap_err();
    assert_eq!((end.why(), end.verdict().class(), provider.requests().len()), (Why::OutputStarted, Class::Network, 1), "{end:?}");
}

/// What a response shows before its body is read.
fn judge(result: &Result<reqwest::Response, OpenAIError>) -> Option<Failure<'_>> {
    match result {
        Ok(response) if response.status().is_success() => None,
        Ok(response) => {
            let headers = response.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
            Some(headers.fold(Failure::http(response.status().as_u16()), |failure, (name, value)| failure.header(name, value)))
        }
        Err(error) => Some(Failure::network(error.to_string())),
    }
}

#[tokio::test]
async fn the_layer_fits_into_its_stack_and_sees_the_headers() {
    let limited = refusal(429, "rate_limit_exceeded", "Slow down.").header("retry-after", "12");
    let provider = Provider::start([limited, answer()]).await;
    let (overspill, clock) = (Overspill::embedded(), Skip::new());
    let service = RetryLayer::new(retry(&overspill).clock(clock.clone()), judge).layer(ReqwestService::new(reqwest::Client::new()));
    let config = OpenAIConfig::new().with_api_base(&provider.url).with_api_key("sk-test");
    let client = Client::with_config(config).with_http_service(service);
    assert_eq!(text(&client.chat().create(request()).await.unwrap()), Some("hello"));
    assert!((12_000..=13_200).contains(&clock.slept()[0].as_millis()));
    assert_eq!(provider.requests().len(), 2);
}
