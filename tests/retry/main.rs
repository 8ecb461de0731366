//! Retry as a user has it: in paused time where no socket is involved, through a provider on loopback where one is.
#![cfg(feature = "retry")]

mod conformance;
mod edits;
mod ends;
mod herd;
mod load;
mod observers;
mod policies;
mod properties;
#[cfg(feature = "reqwest")]
mod provider;
#[cfg(all(feature = "reqwest", feature = "reqwest-middleware"))]
mod provider_tests;
mod shared;
mod support;
#[cfg(all(feature = "metrics", feature = "tracing"))]
mod telemetry;
#[cfg(feature = "tower")]
mod tower_layer;
