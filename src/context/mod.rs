//! Knowing before the call fails: how full the window is, whether to compact, and what keeps that from looping.
//!
//! One call of an agent loop, in the order of the files here: what of the window a model may fill ([`window`]), lowered by what errors said ([`learned`]); what a reply took of it and whether that
//! is too much ([`check`]); replies that overflowed without an error ([`silent`]) or whose cache was lost ([`churn`]); and whether compacting may go on ([`governor`]).

mod check;
mod churn;
mod governor;
mod learned;
mod silent;
mod window;

pub use self::check::{Check, Reason, Reply};
pub use self::churn::{CacheChurn, Churn};
pub use self::governor::{Demand, Governor, GovernorPolicy, Recovery, StopReason};
pub use self::learned::{Learned, LearnedLimits};
pub use self::silent::{PromptGrowth, SilentOverflow};
pub use self::window::{Context, WindowOrigin};
