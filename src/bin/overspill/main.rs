//! The command line: the only place that prints.

mod arguments;
mod check;
mod classify;
mod context;
mod explain;
mod failure;
mod input;
mod output;
mod rules;
mod show;
mod snippet;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Classify(command) => classify::run(&arguments.common, command),
        Command::Explain(command) => explain::run(&arguments.common, command),
        Command::Check(command) => check::run(&arguments.common, command),
        Command::Context(command) => context::run(&arguments.common, command),
        Command::Show(command) => show::run(&arguments.common, command),
        Command::Watch(command) => watch::run(&arguments.common, command),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => output::fail(&error),
    }
}
