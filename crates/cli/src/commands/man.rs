use crate::error::{Exit, Failure, Result};
use crate::output::Printer;

/// Print the manual page
///
/// Describes the program, or one of its commands. Read it with `backstory man | man -l -`, or install it
/// with `backstory man > ~/.local/share/man/man1/backstory.1`.
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The command to describe
    command: Option<String>,
}

pub(super) fn run(printer: &mut Printer, args: &Man, mut program: clap::Command) -> Result<Exit> {
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(unknown(name, &program)),
        },
    };
    let mut out = printer.data()?;
    clap_mangen::Man::new(command).render(&mut out)?;
    out.flush()?;
    Ok(Exit::Success)
}

fn unknown(name: &str, program: &clap::Command) -> Failure {
    let known: Vec<String> =
        program.get_subcommands().map(|command| format!("`{}`", command.get_name())).collect();
    Failure::new(format!("there is no command `{name}`"))
        .hint(format!("commands: {}", known.join(", ")))
}
