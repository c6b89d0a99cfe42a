//! Restores every captured file below another folder, at its whole path, so that no two collide.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use backstory_core::agent::attached;
use backstory_core::agent::lifecycle::{Content, FileRole, PlannedFile, RestorePlan};
use backstory_core::archive::{Archive, FileRow};
use backstory_core::discover::Source;

use super::report::{Document, print};
use super::write::{Done, FileOutcome, Writer, captured_bytes};
use crate::commands;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{Library, cannot_open, check_place};
use crate::output::Printer;
use crate::output::number::plural;

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    session: Option<&OsStr>,
    to: &Path,
    dry_run: bool,
) -> Result<Exit> {
    check_place(ctx, to)?;
    let (library, assembled) = match session {
        Some(session) => {
            commands::open_session(ctx, printer, session).map(|(l, a)| (l, Some(a)))?
        }
        None => (Library::open(ctx, printer, &[])?, None),
    };
    let rows = library.archive.files().map_err(cannot_open)?;
    let chosen: Vec<&Source> = match &assembled {
        None => {
            let kept = rows.iter().filter(|row| is_kept(&library.archive, row));
            kept.map(|row| &row.source).collect()
        }
        Some(assembled) => {
            let files: Vec<_> = rows.iter().map(|row| (&row.source, &row.about)).collect();
            let agent = library.archive.agents().get(&assembled.session.agent);
            let sessions = &library.all.sessions;
            let beside =
                agent.map(|agent| attached(agent, &assembled.session.id, &files, sessions));
            let beside = beside.unwrap_or_default();
            assembled.files.iter().chain(beside).collect()
        }
    };
    if chosen.is_empty() {
        return Err(Failure::nothing("there are no files to restore"));
    }
    let plan = RestorePlan {
        folder: to.to_owned(),
        root: None,
        project: None,
        files: writes(to, &chosen, &folder_names(&library.archive)?),
        listed_as: None,
        left: Vec::new(),
        keeps_times: true,
    };
    let archive = &library.archive;
    let captured = &captured_bytes(&rows);
    let writer = Writer { ctx, archive, captured, fresh: None, dry_run, only_whole: false };
    let done = writer.write_all(&plan)?;
    if ctx.json {
        printer.json(&Document {
            schema: "backstory.restore/1",
            session: assembled.as_ref().map(|assembled| assembled.session.id.as_str()),
            project: None,
            dry_run,
            files: done.iter().map(Done::document).collect(),
            left: Vec::new(),
            deleted_again: None,
        })?;
    } else {
        print(ctx, printer, &done)?;
    }
    summarize(printer, &done);
    let is_bad = |done: &Done| {
        matches!(done.how, FileOutcome::InPart | FileOutcome::Differs | FileOutcome::Failed)
    };
    Ok(if done.iter().any(is_bad) { Exit::NoMatch } else { Exit::Success })
}

/// Returns whether a file has content to restore, which excluded and forgotten files do not. An extract is not
/// the file that it was made from.
fn is_kept(archive: &Archive, row: &FileRow) -> bool {
    let is_there = || archive.is_local(&row.source) && row.source.path.exists();
    let has_content = row.captured > 0 || row.source.size == 0 || is_there();
    has_content && !row.source.kind.is_extract()
}

/// Returns a folder name for each machine: its label, unless that could escape the folder.
fn folder_names(archive: &Archive) -> Result<HashMap<String, String>> {
    let labels = archive.machine_labels().map_err(cannot_open)?;
    let is_plain = |label: &str| {
        let is_usual = |c: char| c.is_alphanumeric() || "._- ".contains(c);
        label.chars().all(is_usual) && label.chars().any(char::is_alphanumeric)
    };
    let name = |(id, label): (String, String)| {
        if is_plain(&label) { (id, label) } else { (id.clone(), id) }
    };
    Ok(labels.into_iter().map(name).collect())
}

/// Plans each source at its whole path; versions of one file are numbered, except for the newest.
fn writes(to: &Path, sources: &[&Source], folders: &HashMap<String, String>) -> Vec<PlannedFile> {
    let machines: BTreeSet<&str> = sources.iter().filter_map(|source| machine(source)).collect();
    let mut versions: HashMap<PathBuf, usize> = HashMap::new();
    let mut out = Vec::new();
    for source in sources {
        let mut path = to.to_owned();
        if machines.len() > 1 {
            let id = machine(source).unwrap_or_default();
            path.push(folders.get(id).map_or(id, String::as_str));
        }
        path.extend(source.path.components().filter(|part| matches!(part, Component::Normal(_))));
        if source.is_replaced() {
            let version = versions.entry(path.clone()).or_default();
            *version += 1;
            let mut name = path.into_os_string();
            name.push(format!(".replaced-{version}"));
            path = name.into();
        }
        let role = FileRole::Attachment(source.kind);
        out.push(PlannedFile { path, content: Content::Source((*source).clone()), role });
    }
    out
}

fn machine(source: &Source) -> Option<&str> {
    source.archived.as_ref().map(|archived| &*archived.machine)
}

/// Warns of files that were not written or only in part, and counts those that were written.
fn summarize(printer: &mut Printer, done: &[Done]) {
    let count = |how: FileOutcome| done.iter().filter(|done| done.how == how).count() as u64;
    for failed in done {
        if let Some(why) = &failed.why {
            printer.warn(why.as_str());
        }
    }
    for (how, what) in
        [(FileOutcome::InPart, "captured only in part"), (FileOutcome::Differs, "not overwritten")]
    {
        if count(how) > 0 {
            printer.warn(format!("{} {what}", plural(count(how), "file was", "files were")));
        }
    }
    printer.note(format!(
        "{} written.",
        plural(count(FileOutcome::Written) + count(FileOutcome::InPart), "file", "files")
    ));
}
