//! The fixed vocabulary of a verdict: what a failure is and what to do about it.

use std::fmt;

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal $action:ident,)+) => {
        /// What a failure is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Class { $($(#[doc = $doc])+ $variant,)+ }

        impl Class {
            /// Every class, in the order of this list.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)+];

            /// The name as rule files and JSON write it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What is done about it unless a rule or the server says otherwise.
            #[must_use]
            pub fn default_action(self) -> Action {
                match self { $(Self::$variant => Action::$action,)+ }
            }
        }
    };
}

classes! {
    /// The prompt, or the prompt with the requested output, does not fit the context window.
    ContextOverflow = "context_overflow" Compact,
    /// Too many bytes, images or inputs: HTTP 413 and kin.
    PayloadTooLarge = "payload_too_large" Compact,
    /// This one request asks for more than the limit per minute: waiting never helps.
    RequestExceedsRateLimit = "request_exceeds_rate_limit" Compact,
    /// Only the requested output exceeds the model's output cap.
    OutputLimit = "output_limit" ReduceOutput,
    /// Wait and it works.
    RateLimited = "rate_limited" Retry,
    /// Billing, credits, a quota of a day or longer; may carry a reset time.
    QuotaExhausted = "quota_exhausted" Failover,
    /// No capacity: 529, 503, "overloaded".
    Overloaded = "overloaded" Retry,
    /// Another failure on the server's side.
    ServerError = "server_error" Retry,
    /// 408, 504, 524, and time-outs of the client.
    Timeout = "timeout" Retry,
    /// No response, or half of one: reset, DNS, TLS, a truncated stream.
    Network = "network" Retry,
    /// The server's own memory guard: KV cache, VRAM.
    LocalResource = "local_resource" Fail,
    /// The key is missing, wrong or revoked.
    Auth = "auth" Fail,
    /// The key is good but may not do this.
    Permission = "permission" Fail,
    /// The model, deployment or endpoint does not exist.
    NotFound = "not_found" Fail,
    /// The request is malformed and will be refused again.
    InvalidRequest = "invalid_request" Fail,
    /// Prompt or answer was blocked by a policy.
    ContentPolicy = "content_policy" Fail,
    /// The caller's side stopped it.
    Cancelled = "cancelled" Fail,
    /// Nothing recognised it: a miss, retried at most once.
    Unknown = "unknown" Retry,
}

impl Class {
    /// The class of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.name() == name)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to do about a failure. The five are all there are, so a `match` needs no wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Make the conversation smaller, then call again.
    Compact,
    /// Wait, then send the same request again.
    Retry,
    /// Ask for less output, then call again.
    ReduceOutput,
    /// Use another provider, key or model.
    Failover,
    /// Report it: no repetition helps.
    Fail,
}

impl Action {
    /// Every action.
    pub const ALL: [Action; 5] = [Self::Compact, Self::Retry, Self::ReduceOutput, Self::Failover, Self::Fail];

    /// The name as rule files and JSON write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Retry => "retry",
            Self::ReduceOutput => "reduce_output",
            Self::Failover => "failover",
            Self::Fail => "fail",
        }
    }

    /// The action of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
