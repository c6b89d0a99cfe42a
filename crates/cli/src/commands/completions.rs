use crate::complete::Shell;
use crate::error::{Exit, Result};
use crate::output::Printer;

/// Print a completion script for a shell
///
/// It completes commands and flags, and from the archive sessions, projects, models, tags and machines:
///
/// bash:        backstory completions bash > ~/.local/share/bash-completion/completions/backstory
/// zsh:         backstory completions zsh > ~/.zfunc/_backstory   (a folder in $fpath)
/// fish:        backstory completions fish > ~/.config/fish/completions/backstory.fish
/// PowerShell:  backstory completions powershell >> $PROFILE
/// elvish:      backstory completions elvish >> ~/.config/elvish/rc.elv
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(super) fn run(printer: &mut Printer, args: &Completions) -> Result<Exit> {
    let mut out = printer.data()?;
    out.write_all(args.shell.script().as_bytes())?;
    out.flush()?;
    Ok(Exit::Success)
}
