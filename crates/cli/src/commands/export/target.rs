//! The destination of an export: standard output, or a file that appears whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use backstory_core::file::{self, Existing, Occupant, occupant};

use super::Export;
use super::many::Done;
use crate::commands::redact::Censor;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::{cannot_write, check_place};
use crate::output::Printer;
use crate::save::save;

/// Translates `--force` into a rule for files that already exist.
pub(super) fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// Refuses a file that must not be written.
pub(super) fn check_file(ctx: &Context, output: &Path, force: bool) -> Result<()> {
    if output == Path::new("-") {
        return Ok(());
    }
    check_free(ctx, output, force, "`--force` replaces it")?;
    check_place(ctx, output)
}

/// Refuses a path with something that must not be replaced.
fn check_free(ctx: &Context, output: &Path, may_replace: bool, advice: &str) -> Result<()> {
    let shown = ctx.show(output);
    match occupant(output) {
        Occupant::Special(what) => Err(Failure::new(format!("`{shown}` is {what}"))
            .hint("name a file with `-o`, or standard output with `-o -`")),
        Occupant::File(_) if !may_replace => {
            Err(Failure::new(format!("`{shown}` already exists")).hint(advice))
        }
        _ => Ok(()),
    }
}

/// Creates the folder for many files if necessary. None of the files may exist, except those that may be
/// replaced.
pub(super) fn check_folder<'a>(
    ctx: &Context,
    folder: &Path,
    files: impl Iterator<Item = &'a str>,
    may_replace: impl Fn(&str) -> bool,
) -> Result<()> {
    let shown = ctx.show(folder);
    if occupant(folder) != Occupant::Nothing && !folder.is_dir() {
        return Err(Failure::new(format!("`{shown}` is not a folder"))
            .hint("many sessions are written to a folder, one file each"));
    }
    check_place(ctx, folder)?;
    // Sorted by name, so that the error is the same every time.
    let mut files: Vec<&str> = files.collect();
    files.sort_unstable();
    for file in files {
        let advice = "it is not as an export left it; `--force` replaces it and all others";
        check_free(ctx, &folder.join(file), may_replace(file), advice)?;
    }
    file::create_folders(folder).map_err(|error| cannot_write(ctx, folder, error))
}

/// Writes to a file; `content` is called twice, as by [`put`].
pub(super) fn put_file(
    ctx: &Context,
    output: &Path,
    force: bool,
    censor: &Censor<'_>,
    mut content: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    censor.rehearse(&mut content).map_err(cannot_export)?;
    save(output, existing(force), content).map_err(|error| cannot_write(ctx, output, error))
}

fn cannot_export(error: io::Error) -> Failure {
    Failure::new("cannot export").because(error)
}

/// Writes to standard output or to the given file. `content` is called twice: the first time only to
/// collect its secrets.
pub(super) fn put(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    censor: &Censor<'_>,
    mut content: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    match args.output.as_deref().filter(|output| *output != Path::new("-")) {
        None => {
            censor.rehearse(&mut content).map_err(cannot_export)?;
            let mut out = printer.data()?;
            content(&mut out).and_then(|()| out.flush()).map_err(cannot_export)
        }
        Some(output) => {
            put_file(ctx, output, args.force, censor, content)?;
            if ctx.json {
                return Done::one().print(printer, output);
            }
            printer.detail(format!("wrote `{}`", ctx.show(output)));
            Ok(())
        }
    }
}

pub(super) fn cannot_read(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot read `{}`", ctx.show(path))).because(error)
}
