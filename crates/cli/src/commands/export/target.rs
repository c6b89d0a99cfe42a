//! Where an export goes: standard output, or a file that appears whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;
use crate::save::{folder_of, save};
use crate::survey;

/// Refuses a file that must not be written.
pub(super) fn check_file(ctx: &Context, output: &Path, force: bool) -> Result<()> {
    let shown = ctx.show(output);
    if output == Path::new("-") {
        return Ok(());
    }
    if output.is_dir() {
        return Err(
            Failure::new(format!("`{shown}` is a folder")).hint("name the file to write with `-o`")
        );
    }
    if output.exists() && !force {
        return Err(Failure::new(format!("`{shown}` exists already")).hint("`--force` replaces it"));
    }
    check_place(ctx, output, folder_of(output))
}

/// The folder for many files, made if it is not there. None of the files may be there already.
pub(super) fn check_folder<'a>(
    ctx: &Context,
    folder: &Path,
    files: impl Iterator<Item = &'a str>,
    force: bool,
) -> Result<()> {
    let shown = ctx.show(folder);
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::new(format!("`{shown}` is no folder"))
            .hint("many sessions go into a folder, a file each"));
    }
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    check_place(ctx, folder, there)?;
    // The first by name: whoever tries again is told the same.
    if let Some(file) = files.filter(|file| !force && folder.join(file).exists()).min() {
        return Err(Failure::new(format!("`{}` exists already", ctx.show(&folder.join(file))))
            .hint("`--force` replaces it and all others"));
    }
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(ctx, folder, error))
}

/// Below the agent's own folders only `restore` writes.
pub(in crate::commands) fn check_place(ctx: &Context, output: &Path, folder: &Path) -> Result<()> {
    let folder = folder.canonicalize().unwrap_or_default();
    let found = survey::discover(&ctx.env, &[], &ctx.roots);
    let is_root = |root: &PathBuf| root.canonicalize().is_ok_and(|root| folder.starts_with(root));
    if found.roots.iter().any(is_root) {
        let shown = ctx.show(output);
        return Err(Failure::new(format!("`{shown}` is inside Gemini CLI's own folder"))
            .hint("choose a place outside of it"));
    }
    Ok(())
}

/// Writes to standard output, or to the file that was named.
pub(super) fn put(
    ctx: &Context,
    printer: &mut Printer,
    output: Option<&Path>,
    force: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    match output.filter(|output| *output != Path::new("-")) {
        None => {
            let mut out = printer.data()?;
            content(&mut out)
                .and_then(|()| out.flush())
                .map_err(|error| Failure::new("cannot export").because(error))
        }
        Some(output) => {
            save(output, force, content).map_err(|error| cannot_write(ctx, output, error))?;
            printer.detail(format!("wrote `{}`", ctx.show(output)));
            Ok(())
        }
    }
}

pub(super) fn cannot_read(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot read `{}`", ctx.show(path))).because(error)
}

pub(in crate::commands) fn cannot_write(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`", ctx.show(path))).because(error)
}
