//! How many tokens a reply says it took, read out of any provider's JSON; which fields count what is data of the rule files.

mod count;
mod json;
mod pointer;
mod reader;
mod shape;

pub use self::reader::Finish;

pub(crate) use self::pointer::Pointer;
pub(crate) use self::reader::{FinishReasons, UsageReader};
pub(crate) use self::shape::{Occupies, Shape, Sum, TokenKind};

/// The tokens of one call, by kind, as its provider counts them.
///
/// Whether cached tokens come on top of `input` (Anthropic, Bedrock) or are a part of it (OpenAI, Gemini, Groq) is the provider's affair: a usage that was read out of JSON knows it, and for
/// one made by hand the [`Context`](crate::Context) does. Kinds that are not given are 0. Nothing here can overflow or fall below zero. A plain value of five words: copying is free.
///
/// ```
/// use overspill::{Overspill, Usage};
///
/// let usage = Usage::new(150_000).with_cache_read(30_000).with_output(800);
/// let overspill = Overspill::embedded();
/// assert_eq!(overspill.context("anthropic", "claude-sonnet-4-5").used(&usage), 180_000);
/// assert_eq!(overspill.context("openai", "gpt-4o").used(&usage), 150_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    /// What fills the window, where the JSON told.
    occupies: Option<Occupies>,
}

impl Usage {
    /// A call with this many input tokens.
    #[must_use]
    pub const fn new(input: u64) -> Self {
        Self { input, cache_read: 0, cache_write: 0, output: 0, occupies: None }
    }

    /// The tokens that were read from the provider's prompt cache.
    #[must_use]
    pub const fn with_cache_read(mut self, tokens: u64) -> Self {
        self.cache_read = tokens;
        self
    }

    /// The tokens that were written to the provider's prompt cache.
    #[must_use]
    pub const fn with_cache_write(mut self, tokens: u64) -> Self {
        self.cache_write = tokens;
        self
    }

    /// The tokens that the model wrote. They fill no window: see [`Context::used`](crate::Context::used).
    #[must_use]
    pub const fn with_output(mut self, tokens: u64) -> Self {
        self.output = tokens;
        self
    }

    /// The input tokens, as the provider counts them.
    #[must_use]
    pub const fn input(&self) -> u64 {
        self.input
    }

    /// The tokens read from the prompt cache.
    #[must_use]
    pub const fn cache_read(&self) -> u64 {
        self.cache_read
    }

    /// The tokens written to the prompt cache.
    #[must_use]
    pub const fn cache_write(&self) -> u64 {
        self.cache_write
    }

    /// The tokens of the answer.
    #[must_use]
    pub const fn output(&self) -> u64 {
        self.output
    }

    /// What the call takes of the window. The JSON's own way of counting outranks the provider's.
    pub(crate) fn used(&self, provider: Occupies) -> u64 {
        let Occupies { input, cache_read, cache_write } = self.occupies.unwrap_or(provider);
        let counted = |counts: bool, tokens: u64| if counts { tokens } else { 0 };
        counted(input, self.input).saturating_add(counted(cache_read, self.cache_read)).saturating_add(counted(cache_write, self.cache_write))
    }
}
