//! Whether to compact: a comparison of two numbers, and the reason for its outcome.

use std::fmt;

use super::silent::{SilentOverflow, of_reply};
use super::window::Context;
use crate::usage::{Finish, Usage};

/// What a successful call said about its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    usage: Option<Usage>,
    finish: Finish,
}

impl Reply {
    /// A reply with this usage, if it told one.
    #[must_use]
    pub const fn new(usage: Option<Usage>) -> Self {
        Self { usage, finish: Finish::Other }
    }

    /// Why it ended: see [`Context::finish`].
    #[must_use]
    pub const fn with_finish(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    /// The tokens it took; `None` when it did not say.
    #[must_use]
    pub const fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// What its end says about the window.
    #[must_use]
    pub const fn finish(&self) -> Finish {
        self.finish
    }
}

/// The answer of a check: all numbers that it was made from, and why. A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    used: u64,
    window: u64,
    reserved: u64,
    silent_overflow: Option<SilentOverflow>,
    reason: Reason,
    compact: bool,
}

/// Why a check answers as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// There is room.
    RoomLeft,
    /// What is used has reached what is usable.
    UsableReached,
    /// Nobody knows the window, so nothing is compacted; unless the reply itself says that it overflowed, which is the reason then.
    UnknownWindow,
    /// The reserve leaves nothing of the window. Every check then says to compact, and compacting never helps: lower the reserve.
    ReserveAboveWindow,
    /// The reply told no usage, or none of its prompt, as the last event of some streams.
    NoUsage,
    /// The call overflowed although it succeeded.
    SilentOverflow(SilentOverflow),
}

impl Reason {
    /// The stable name, in kebab-case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RoomLeft => "room-left",
            Self::UsableReached => "usable-reached",
            Self::UnknownWindow => "unknown-window",
            Self::ReserveAboveWindow => "reserve-above-window",
            Self::NoUsage => "no-usage",
            Self::SilentOverflow(silent) => silent.name(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Check {
    /// Whether what is used has reached what is usable. Says nothing of an overflow that has already happened: see [`needs_compaction`](Self::needs_compaction).
    #[must_use]
    pub const fn compact(&self) -> bool {
        self.compact
    }

    /// Whether the conversation is to be compacted before the next call: it is about to overflow, or did so silently.
    #[must_use]
    pub const fn needs_compaction(&self) -> bool {
        self.compact || self.silent_overflow.is_some()
    }

    /// How the call overflowed although it succeeded.
    #[must_use]
    pub const fn silent_overflow(&self) -> Option<SilentOverflow> {
        self.silent_overflow
    }

    /// The tokens that fill the window.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The most tokens that a prompt may take; `None` when nobody knows.
    #[must_use]
    pub const fn window(&self) -> Option<u64> {
        if self.window > 0 { Some(self.window) } else { None }
    }

    /// The tokens kept free.
    #[must_use]
    pub const fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The window without the reserve, never below zero.
    #[must_use]
    pub const fn usable(&self) -> u64 {
        self.window.saturating_sub(self.reserved)
    }

    /// Why.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }
}

impl Context<'_> {
    /// Whether a call that took this much leaves too little room for the next one: used tokens at or above the usable ones, and a known window.
    ///
    /// Ask after every reply, before tools run. Allocates nothing and takes a few nanoseconds.
    #[must_use]
    pub fn should_compact(&self, usage: &Usage) -> bool {
        self.window().is_some() && self.used(usage) >= self.usable()
    }

    /// [`should_compact`](Self::should_compact) with the numbers and the reason, and with what is known of an overflow that raised no error.
    ///
    /// ```
    /// use overspill::{Finish, Overspill, Reason, Reply, SilentOverflow, Usage};
    ///
    /// let context = Overspill::embedded().context("anthropic", "claude-sonnet-4-5").with_window(200_000);
    ///
    /// let check = context.check(&Reply::new(Some(Usage::new(180_000))));
    /// assert_eq!((check.compact(), check.usable(), check.reason()), (true, 180_000, Reason::UsableReached));
    ///
    /// let reply = Reply::new(Some(Usage::new(120_000).with_output(80_000))).with_finish(context.finish("model_context_window_exceeded"));
    /// let check = context.check(&reply);
    /// assert_eq!(check.silent_overflow(), Some(SilentOverflow::WindowExceeded));
    /// assert!(!check.compact() && check.needs_compaction());
    /// ```
    ///
    /// Allocates nothing and takes a few nanoseconds.
    #[must_use]
    pub fn check(&self, reply: &Reply) -> Check {
        let usage = reply.usage.unwrap_or_default();
        let (used, usable, window) = (self.used(&usage), self.usable(), self.window());
        let silent_overflow = of_reply(used, usage.output(), window, reply.finish);
        let compact = window.is_some() && used >= usable;
        let reason = match (window, silent_overflow) {
            (Some(_), _) if usable == 0 => Reason::ReserveAboveWindow,
            (_, Some(silent)) => Reason::SilentOverflow(silent),
            (None, None) => Reason::UnknownWindow,
            (Some(_), None) if compact => Reason::UsableReached,
            // There is no prompt without tokens.
            (Some(_), None) if used == 0 => Reason::NoUsage,
            (Some(_), None) => Reason::RoomLeft,
        };
        Check { used, window: window.unwrap_or(0), reserved: self.reserved(), silent_overflow, reason, compact }
    }

    /// The usage that a text tells: a provider's usage object, a whole reply, or the events of a stream, in the forms that the rule files know; `None` when there is none.
    ///
    /// One pass over the text, hundreds of megabytes a second, nothing copied of it unless the whole of it stands in a JSON string. What is missing or null counts 0, so does what is below zero;
    /// fractions are cut off.
    ///
    /// ```
    /// let context = overspill::Overspill::embedded().context("openai", "gpt-5");
    /// let usage = context.usage(r#"{"id":"resp_1","usage":{"input_tokens":9000,"input_tokens_details":{"cached_tokens":8000},"output_tokens":40}}"#).unwrap();
    /// assert_eq!((context.used(&usage), usage.cache_read(), usage.output()), (9000, 8000, 40));
    /// ```
    #[must_use]
    pub fn usage(&self, json: impl AsRef<[u8]>) -> Option<Usage> {
        self.read(json).usage
    }

    /// Usage and finish reason of a reply, as [`usage`](Self::usage).
    #[must_use]
    pub fn read(&self, json: impl AsRef<[u8]>) -> Reply {
        let text = String::from_utf8_lossy(json.as_ref());
        let (usage, finish) = self.context().reader().read(&text);
        Reply { usage, finish }
    }
}
