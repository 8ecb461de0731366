//! TOML text to spanned model: every value typed and with its place, nothing merged, nothing defaulted.

mod context;
mod delay;
mod example;
mod file;
mod foreign;
mod glob;
mod header;
mod kind;
mod literal;
mod name;
mod number;
mod reader;
mod retry;
mod rule;
mod signals;
mod slip;
mod syntax;
mod unknown_key;

pub(crate) use self::context::{ContextModel, FinishModel, ModelWindow};
pub(crate) use self::delay::{DelayForm, DelaySource, Gate, GateTest};
pub(crate) use self::example::Example;
pub(crate) use self::file::{DEFAULT_PROVIDER, RuleFile, parse_file};
pub(crate) use self::literal::inner_location;
pub(crate) use self::reader::TextList;
pub(crate) use self::retry::RetryModel;
pub(crate) use self::rule::{ConditionsModel, RuleModel, Scope};
pub(crate) use self::signals::SignalsModel;
