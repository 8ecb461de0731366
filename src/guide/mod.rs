//! The guide: what rule files may say, what goes into a verdict and comes out of it, and how an agent's loop uses it.
//!
//! - [`rule_files`]: every table and key of a rule file.
//! - [`verdicts`]: the fields of a failure and of a verdict, in the library and as JSON, and how to read them.
//! - [`calls`]: retrying in a program: sessions, policies, profiles, budgets, the worst case.
//!
//! Nothing is in these modules but their text. It is kept true by tests: the keys are compared with those that the reader of rule files knows, and the examples are loaded and run.

#[doc = include_str!("calls.md")]
pub mod calls {}

#[doc = include_str!("rule_files.md")]
pub mod rule_files {}

#[doc = include_str!("verdicts.md")]
pub mod verdicts {}
