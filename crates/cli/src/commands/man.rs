use std::process::Command;

use crate::error::{Exit, Failure, Result};
use crate::output::Printer;

/// Open the manual page
///
/// Describes the program, or one of its commands. On a terminal it is shown by `man`; otherwise its source is
/// printed: `backstory man > ~/.local/share/man/man1/backstory.1` installs it.
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
    let page = clap_mangen::Man::new(command);
    if printer.is_terminal() {
        return open(&page);
    }
    let mut out = printer.data()?;
    page.render(&mut out)?;
    out.flush()?;
    Ok(Exit::Success)
}

/// Shows a page with the system's own program, which takes a path with a slash as a file.
fn open(page: &clap_mangen::Man) -> Result<Exit> {
    let cannot = |error: std::io::Error| {
        Failure::new("cannot open the manual page")
            .because(error)
            .hint("`backstory man | less` prints its source, and `--help` describes every command")
    };
    let mut file = tempfile::Builder::new().suffix(".1").tempfile().map_err(cannot)?;
    page.render(&mut file).map_err(cannot)?;
    Command::new("man").arg(file.path()).status().map_err(cannot)?;
    Ok(Exit::Success)
}

fn unknown(name: &str, program: &clap::Command) -> Failure {
    let known: Vec<String> =
        program.get_subcommands().map(|command| format!("`{}`", command.get_name())).collect();
    Failure::new(format!("there is no command `{name}`"))
        .hint(format!("commands: {}", known.join(", ")))
}
