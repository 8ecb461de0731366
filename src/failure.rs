//! The evidence of one failed, or suspicious, call.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;

use crate::usage::Usage;

/// How the failure reached the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// An HTTP response.
    Http,
    /// An event of a stream that began well.
    Sse,
    /// The text of an SDK's exception.
    SdkString,
    /// No response: the client's own network error.
    Transport,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Transport; 4] = [Self::Http, Self::Sse, Self::SdkString, Self::Transport];

    /// The name as rule files and JSON write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::SdkString => "sdk_string",
            Self::Transport => "transport",
        }
    }

    /// The transport of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transport| transport.name() == name)
    }
}

/// The evidence of one failed call: borrow what you have, leave out what you do not know.
///
/// ```
/// use overspill::Failure;
///
/// let body = br#"{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#;
/// let failure = Failure::http(400).provider("anthropic").model("claude-sonnet-4-5").body(body);
/// assert_eq!(failure.status(), Some(400));
/// ```
///
/// Its `Debug` output leaves bodies, messages and header values out, since they can hold prompts and keys.
#[derive(Clone, Default)]
pub struct Failure<'a> {
    pub(crate) provider: Option<Cow<'a, str>>,
    pub(crate) model: Option<Cow<'a, str>>,
    pub(crate) transport: Option<Transport>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub(crate) body: Option<Cow<'a, [u8]>>,
    pub(crate) message: Option<Cow<'a, str>>,
    pub(crate) finish_reason: Option<Cow<'a, str>>,
    pub(crate) event: Option<Cow<'a, str>>,
    pub(crate) usage: Option<UsageTold<'a>>,
    pub(crate) estimate: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) now: Option<Timestamp>,
    pub(crate) output_started: bool,
}

/// The tokens that a call says it took: counted, or as its provider's JSON.
#[derive(Clone)]
pub(crate) enum UsageTold<'a> {
    Counted(Usage),
    Json(Cow<'a, str>),
}

impl<'a> Failure<'a> {
    /// A failure of which nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An HTTP response with this status.
    #[must_use]
    pub fn http(status: u16) -> Self {
        Self::new().transport(Transport::Http).with_status(status)
    }

    /// An error event inside a stream: the event's data, or whole `event:`/`data:` lines.
    #[must_use]
    pub fn sse(data: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self::new().transport(Transport::Sse).body(data)
    }

    /// The text of an SDK's exception, as printed.
    #[must_use]
    pub fn sdk(message: impl Into<Cow<'a, str>>) -> Self {
        Self::new().transport(Transport::SdkString).message(message)
    }

    /// A client-side error: nothing, or only half a response, came back.
    #[must_use]
    pub fn network(message: impl Into<Cow<'a, str>>) -> Self {
        Self::new().transport(Transport::Transport).message(message)
    }

    /// Who was called, by any of the names that rule files know, in any spelling, or by an id of another tool that says more than that: `langchain-openai`, with a model, region or path after `/` or
    /// `:` (`vertex_ai/gemini-2.5-pro`, `bedrock/us-east-1/anthropic.claude-3`), or with one word after a dot (`azure.responses`). A host with more dots than that, such as `together.example.com`, is
    /// not known by its first label. An unknown name is matched against the rules of all.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<Cow<'a, str>>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// The model that was asked for.
    #[must_use]
    pub fn model(mut self, model: impl Into<Cow<'a, str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// How the failure reached the caller.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The HTTP status, when it is known beside a text.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds one response header; names in any case.
    #[must_use]
    pub fn header(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The response body, or what there is of it. Need not be UTF-8, JSON or complete.
    #[must_use]
    pub fn body(mut self, body: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.body = Some(Cow::Borrowed(body.as_ref()));
        self
    }

    /// The response body, owned.
    #[must_use]
    pub fn with_body(mut self, body: Vec<u8>) -> Self {
        self.body = Some(Cow::Owned(body));
        self
    }

    /// The exception text.
    #[must_use]
    pub fn message(mut self, message: impl Into<Cow<'a, str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Why the model stopped, when the call itself succeeded.
    #[must_use]
    pub fn finish_reason(mut self, reason: impl Into<Cow<'a, str>>) -> Self {
        self.finish_reason = Some(reason.into());
        self
    }

    /// The tokens that the call says it took, when it succeeded all the same. Rules compare them with the window: more input than fits is an overflow that raised no error.
    ///
    /// Left out, it is read from the body, should a rule ask.
    ///
    /// ```
    /// use overspill::{Class, Failure, Overspill, Usage};
    ///
    /// let reply = Failure::http(200).provider("anthropic").model("claude-haiku-4-5").usage(Usage::new(12).with_cache_read(213_000));
    /// let verdict = Overspill::embedded().evaluate(&reply);
    /// assert_eq!((verdict.class(), verdict.tokens().requested), (Class::ContextOverflow, Some(213_012)));
    /// ```
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(UsageTold::Counted(usage));
        self
    }

    /// The same as the provider's own JSON: a usage object, a whole reply, or the events of a stream. Read when a rule asks.
    #[must_use]
    pub fn usage_json(mut self, json: impl Into<Cow<'a, str>>) -> Self {
        self.usage = Some(UsageTold::Json(json.into()));
        self
    }

    /// The name of the stream event.
    #[must_use]
    pub fn event(mut self, event: impl Into<Cow<'a, str>>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// The caller's own estimate of the request's tokens.
    #[must_use]
    pub fn estimate(mut self, tokens: u64) -> Self {
        self.estimate = Some(tokens);
        self
    }

    /// The context window in tokens, when the caller knows better than the rule files.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Output had been emitted, or a tool had run, when the call failed: it is not retried unless the caller allows it.
    #[must_use]
    pub fn output_started(mut self) -> Self {
        self.output_started = true;
        self
    }

    /// When the failure was received. Evaluating reads no clock: without it, a wait that the server gave as an instant stays an instant.
    #[must_use]
    pub fn received_at(mut self, now: Timestamp) -> Self {
        self.now = Some(now);
        self
    }

    /// The HTTP status as given.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The provider as given.
    #[must_use]
    pub fn provider_name(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The model as given.
    #[must_use]
    pub fn model_name(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The first header of that name, in any case.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

impl fmt::Debug for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("transport", &self.transport)
            .field("status", &self.status)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("body_bytes", &self.body.as_ref().map(|body| body.len()))
            .field("message_bytes", &self.message.as_ref().map(|message| message.len()))
            .finish_non_exhaustive()
    }
}
