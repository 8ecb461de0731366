//! Rules that follow their files: a thread watches the rules directories, loads what changed, and puts it in force when all of it is right.
//!
//! ```text
//! notify, clock, requests -> wait for quiet -> read, fingerprint -> build -> read again, compare -> put in force
//! (watch, signal)            (quiet)           (scan)               (load)   (scan)                 (worker)
//! ```
//!
//! An event is only a hint to look again, and no event is relied upon: the contents decide whether anything changed, and they are compared from time to time whatever was heard.

mod events;
mod fingerprint;
mod handle;
mod history;
mod load;
mod options;
mod places;
mod quiet;
mod scan;
mod signal;
mod start;
mod status;
mod telemetry;
mod watch;
mod worker;

pub use self::events::{Subscription, WatchEvent, WatchEventKind};
pub use self::handle::Watcher;
pub use self::history::Kept;
pub use self::options::{BrokenStart, WatchMode, WatchOptions};
pub use self::status::{WatchCounts, WatchStatus, Watching};

pub(crate) use self::start::start;
