//! `completions` and `man`: what shells and readers know about the command line.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Common, Completions, Format, Man};
use crate::output::{Failed, Outcome, results};

pub(crate) fn completions(common: &Common, command: &Completions) -> Result<Outcome, Failed> {
    common.format(Format::Text, &[])?;
    let mut page = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), "overspill", &mut page);
    print(&page)
}

pub(crate) fn man(common: &Common, command: &Man) -> Result<Outcome, Failed> {
    common.format(Format::Text, &[])?;
    let mut all = Arguments::command();
    all.build();
    let shown = match &command.command {
        None => all,
        Some(name) => {
            let known = || all.get_subcommands().map(|command| command.get_name().to_owned()).collect::<Vec<_>>().join(", ");
            let found = all.find_subcommand(name).ok_or_else(|| Failed::Use(format!("there is no command `{name}`; the commands are {}", known())))?;
            found.clone().display_name(format!("overspill-{name}"))
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(shown).render(&mut page)?;
    print(&page)
}

fn print(page: &[u8]) -> Result<Outcome, Failed> {
    let mut out = results();
    out.write_all(page)?;
    out.flush()?;
    Ok(Outcome::Done)
}
