//! The retry in the shapes of other crates, each behind the feature of its name. All are thin: they make a failure of what came back and drive a session.

#[cfg(any(feature = "reqwest", feature = "reqwest-middleware"))]
mod http;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "reqwest-middleware")]
mod reqwest_middleware;
#[cfg(feature = "tower")]
mod tower;

#[cfg(feature = "reqwest")]
pub use self::reqwest::HttpError;
#[cfg(feature = "reqwest-middleware")]
pub use self::reqwest_middleware::RetryMiddleware;
#[cfg(feature = "tower")]
pub use self::tower::{RetryLayer, RetryService};
