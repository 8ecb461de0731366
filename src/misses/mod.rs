//! What no rule recognised: templates without private content, counted, so that somebody can write a rule for them.
//!
//! The flow: a miss is [redacted](template) to a template, the template is [kept](store) with its count, and what is kept is [written](mod@write) to a file for `overspill misses`. All calls are
//! [counted](tally) per provider, so that a share can be told from a number.

mod placeholder;
mod quotation;
mod store;
mod tally;
mod template;
mod vocabulary;
mod word;
mod write;

pub use self::store::{Miss, MissShare, Misses};
