//! The typed names of captures and fields.

/// What a captured text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fact {
    /// The window, or whatever the request must fit in, in tokens.
    Limit,
    /// What was asked for, in tokens; several parts are added.
    Requested,
    /// By how much it is too much, in tokens.
    Excess,
    /// The most output that the model gives, in tokens.
    OutputLimit,
    /// A wait.
    Delay,
    /// An HTTP status, in texts that state one.
    Status,
}

impl Fact {
    /// The name as rule files write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Requested => "requested",
            Self::Excess => "excess",
            Self::OutputLimit => "output_limit",
            Self::Delay => "delay",
            Self::Status => "status",
        }
    }

    /// The fact that a capture group's name stands for: `requested`, and its parts `requested_1`, `requested_2`, ...
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "limit" => Some(Self::Limit),
            "requested" => Some(Self::Requested),
            "excess" => Some(Self::Excess),
            "output_limit" => Some(Self::OutputLimit),
            "delay" => Some(Self::Delay),
            "status" => Some(Self::Status),
            _ => {
                let part = name.strip_prefix("requested_")?;
                (part.len() == 1 && part.as_bytes()[0].is_ascii_digit()).then_some(Self::Requested)
            }
        }
    }
}
