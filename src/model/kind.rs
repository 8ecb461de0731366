//! What kind of value a key takes, as far as a hint has to know it. What a key takes indeed is decided where it is read.

/// The kind, of numbers with one that suits the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number(&'static str),
    Duration,
    Boolean,
    Text,
    /// One or the other, by the table that it stands in.
    Any,
}

const NUMBERS: [(&str, &str); 13] = [
    ("format", "1"),
    ("max_attempts", "5"),
    ("factor", "2.0"),
    ("cost", "1.0"),
    ("capacity", "15"),
    ("per_second", "0.05"),
    ("per_success", "0.1"),
    ("ratio", "0.2"),
    ("window", "200_000"),
    ("reserved_tokens", "2_000"),
    ("estimate", "150_000"),
    ("at_least", "1"),
    ("at_most", "60"),
];
const DURATIONS: [&str; 4] = ["base", "cap", "deadline", "max"];
const BOOLEANS: [&str; 4] = ["gateway", "enabled", "body_empty", "not"];
const TEXTS: [&str; 25] = [
    "provider",
    "aliases",
    "extends",
    "id",
    "class",
    "action",
    "scope",
    "message",
    "body",
    "code",
    "header",
    "transport",
    "finish_reason",
    "event",
    "model",
    "when",
    "source",
    "seen",
    "match",
    "jitter",
    "mode",
    "over_max",
    "retryable",
    "fatal",
    "unless",
];

impl Kind {
    pub(super) fn of(key: &str) -> Self {
        if let Some((_, example)) = NUMBERS.iter().find(|(name, _)| *name == key) {
            return Self::Number(example);
        }
        match key {
            _ if DURATIONS.contains(&key) => Self::Duration,
            _ if BOOLEANS.contains(&key) => Self::Boolean,
            _ if TEXTS.contains(&key) => Self::Text,
            // A status, to which a class belongs.
            _ if key.starts_with(|c: char| c.is_ascii_digit()) => Self::Text,
            _ => Self::Any,
        }
    }
}
