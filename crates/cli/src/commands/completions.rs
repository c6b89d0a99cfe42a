use clap_complete::Shell;

use crate::error::{Exit, Result};
use crate::output::Printer;

/// Print a completion script for a shell
///
/// bash:  backstory completions bash > ~/.local/share/bash-completion/completions/backstory
/// zsh:   backstory completions zsh > ~/.zfunc/_backstory   (a folder in $fpath)
/// fish:  backstory completions fish > ~/.config/fish/completions/backstory.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(super) fn run(
    printer: &mut Printer,
    args: &Completions,
    mut program: clap::Command,
) -> Result<Exit> {
    // Generated in memory first, because the generator panics if its output fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "backstory", &mut script);
    let mut out = printer.data()?;
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Success)
}
