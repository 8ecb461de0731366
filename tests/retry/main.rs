//! Retry as a user has it: in paused time where no socket is involved, through a provider on loopback where one is.
#![cfg(feature = "retry")]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "helpers of tests may stop at the first surprise too"))]

mod conformance;
mod edits;
mod ends;
mod held;
mod herd;
mod load;
mod observers;
mod policies;
mod properties;
#[cfg(all(feature = "reqwest", feature = "reqwest-middleware", feature = "tower"))]
mod provider;
#[cfg(all(feature = "reqwest", feature = "reqwest-middleware", feature = "tower"))]
mod reqwest_adapter;
#[cfg(all(feature = "reqwest", feature = "reqwest-middleware", feature = "tower"))]
mod sdk;
mod shared;
mod support;
#[cfg(feature = "metrics")]
mod telemetry;
#[cfg(feature = "tower")]
mod tower_layer;
