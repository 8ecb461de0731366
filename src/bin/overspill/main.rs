//! The command line: the only place that prints.

mod arguments;
mod check;
mod classify;
mod context;
mod describe;
mod diff;
mod draft;
mod encoding;
mod expect;
mod explain;
mod export;
mod failure;
mod findings;
mod init;
mod input;
mod misses;
mod output;
mod pages;
mod plain;
mod progress;
mod replay;
mod rules;
mod schema;
mod show;
mod simulate;
mod snippet;
mod style;
mod test;
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
        Command::Test(command) => test::run(&arguments.common, command),
        Command::Replay(command) => replay::run(&arguments.common, command),
        Command::Misses(command) => misses::run(&arguments.common, command),
        Command::Draft(command) => draft::run(&arguments.common, command),
        Command::Simulate(command) => simulate::run(&arguments.common, command),
        Command::Init(command) => init::run(&arguments.common, command),
        Command::Schema(_) => schema::run(&arguments.common),
        Command::Export(_) => export::run(&arguments.common),
        Command::Completions(command) => pages::completions(&arguments.common, command),
        Command::Man(command) => pages::man(&arguments.common, command),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => output::fail(&error),
    }
}
