//! Exports many sessions into a folder, one file per session, with an index.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use backstory_core::collection::newest_first;
use backstory_core::export::index::{self, Entry};
use backstory_core::model::{Session, SessionId, SessionKind};
use serde::Serialize;

use super::manifest::{Hashing, Manifest};
use super::name::{Names, names};
use super::target::{check_folder, existing};
use super::{Export, Format, Writer, native};
use crate::commands::{self, redact::Censor};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::library::cannot_write;
use crate::output::Printer;
use crate::output::number::{self, plural};
use crate::save::Batch;

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    format: Format,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let folder = args.output.as_deref().filter(|output| *output != Path::new("-"));
    let folder = folder.ok_or_else(|| {
        Failure::new("many sessions are written to a folder, one file each")
            .hint("name the folder with `-o FOLDER`")
    })?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let mut filter = args.filters.filter(ctx, &library.all)?;
    // A checkpoint repeats the content of a session.
    filter.kinds = vec![SessionKind::Main, SessionKind::Subagent, SessionKind::Background];
    let sessions: Vec<&Session> =
        library.all.sessions.iter().filter(|s| filter.takes(s) && s.turns > 0).collect();
    // A secret is only recognized in the whole text.
    let sessions = library.with_prompts(&sessions)?;
    let sessions: Vec<&Session> = sessions.iter().collect();
    if sessions.is_empty() {
        return Err(Failure::nothing("no sessions match").hint("`backstory sessions` lists them"));
    }
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
    let names = rehearse(ctx, args, format, &library, &sessions, censor)?;
    let sessions: Vec<Session> =
        sessions.into_iter().map(|session| censor.session(session)).collect();
    let index = match format {
        Format::Html => Some("index.html"),
        Format::Markdown => Some("index.md"),
        _ => None,
    };
    let files = names.values().map(String::as_str).chain(index);
    let mut output = Output::new(folder, args.force);
    check_folder(ctx, folder, files, |name| output.may_replace(name))?;

    let writer = Writer::new(ctx, args, format, &library, &names, censor)?;
    let progress = printer.counter(("writing", "sessions"), sessions.len());
    library
        .each(&ids, |assembled| {
            progress.tick();
            if format == Format::Gemini && !native::has_form(&assembled) {
                return Ok(());
            }
            let id = &assembled.session.id;
            output.put(&names[id], Some(id), &mut |out| writer.session(&assembled, out));
            Ok(())
        })
        .map_err(|error| Failure::new("cannot read the sessions").because(error))?;
    drop(progress);
    if let Some(index) = index {
        let entries = entries(sessions.iter().collect(), |session| Entry {
            session,
            file: &names[&session.id],
            cost: writer.costs.of(&session.id),
        });
        output.put(index, None, &mut |out| match format {
            Format::Html => index::html(&entries, &ctx.zone, out),
            _ => index::markdown(&entries, &ctx.zone, out),
        });
    }
    let finished = output.finish(index);
    let (done, failures) = finished.map_err(|error| cannot_write(ctx, folder, error))?;
    let failures = failures.into_iter().map(|(file, error)| cannot_write(ctx, &file, error));
    report(ctx, printer, folder, &done, failures.collect())?;
    commands::note_faults(printer, &library);
    Ok(commands::exit_code(ctx, &library))
}

/// The folder that is written, and the record of its files.
struct Output<'a> {
    folder: &'a Path,
    force: bool,
    /// The files of earlier exports.
    earlier: Manifest,
    manifest: Manifest,
    batch: Batch,
    done: Done,
    failures: Vec<(PathBuf, io::Error)>,
}

impl<'a> Output<'a> {
    fn new(folder: &'a Path, force: bool) -> Self {
        Self {
            folder,
            force,
            earlier: Manifest::of(folder),
            manifest: Manifest::default(),
            batch: Batch::default(),
            done: Done::default(),
            failures: Vec::new(),
        }
    }

    /// Returns whether an existing file may be replaced: one that is as an earlier export left it.
    fn may_replace(&self, name: &str) -> bool {
        self.force || self.earlier.is_untouched(self.folder, name)
    }

    /// Writes a file: a session, or the index.
    fn put(&mut self, name: &str, session: Option<&str>, content: Content<'_>) {
        let Self { folder, manifest, .. } = self;
        let file = folder.join(name);
        let existing = existing(self.force || self.earlier.has(name));
        let saved = self.batch.save_if(&file, existing, None, |out| {
            let mut out = Hashing::new(out);
            content(&mut out)?;
            Ok(manifest.put(folder, name, session, out.finish()))
        });
        match saved {
            Ok(is_new) if session.is_some() => self.done.add(is_new),
            Ok(_) => {}
            Err(error) => self.failures.push((file, error)),
        }
        if self.batch.is_full() {
            self.save_ahead();
        }
    }

    /// Records the files of a batch before they have their names.
    fn save_ahead(&mut self) {
        if let Err(error) = self.manifest.save_ahead(self.folder, &self.earlier) {
            self.failures.push((self.folder.to_owned(), error));
        }
    }

    /// Completes the files and their record, which must be complete too. Returns the counts, and the files that could
    /// not be written.
    fn finish(mut self, index: Option<&str>) -> io::Result<(Done, Vec<(PathBuf, io::Error)>)> {
        if !self.batch.is_empty() {
            self.save_ahead();
        }
        let unfinished = self.batch.finish();
        let is_session =
            |(file, _): &&(PathBuf, _)| index.is_none_or(|index| !file.ends_with(index));
        let lost = unfinished.iter().filter(is_session).count() as u64;
        self.done.written = self.done.written.saturating_sub(lost);
        self.failures.extend(unfinished);
        if self.failures.is_empty() {
            self.done.left = self.manifest.adopt(self.folder, &self.earlier)?;
            self.manifest.save(self.folder)?;
        }
        Ok((self.done, self.failures))
    }
}

/// Writes the content of a file.
type Content<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// The number of sessions by what was done.
#[derive(Default, Serialize)]
pub(super) struct Done {
    written: u64,
    unchanged: u64,
    /// The files of earlier exports that this one has nothing to do with.
    left: u64,
}

/// `backstory.export/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    output: String,
    #[serde(flatten)]
    done: &'a Done,
}

impl Done {
    /// Returns the counts for a single file.
    pub(super) fn one() -> Self {
        Self { written: 1, ..Self::default() }
    }

    /// Prints it for programs.
    pub(super) fn print(&self, printer: &mut Printer, output: &Path) -> Result<()> {
        let output = output.display().to_string();
        Ok(printer.json(&Document { schema: "backstory.export/1", output, done: self })?)
    }

    fn add(&mut self, is_new: bool) {
        self.written += u64::from(is_new);
        self.unchanged += u64::from(!is_new);
    }
}

/// Reads everything that will be written, to learn its secrets; returns the names of the files.
fn rehearse(
    ctx: &Context,
    args: &Export,
    format: Format,
    library: &Library,
    sessions: &[&Session],
    censor: &Censor<'_>,
) -> Result<Names> {
    // Only the set of sessions with a file matters here.
    let unredacted = names(sessions.iter().copied(), format.ending());
    let writer = Writer::new(ctx, args, format, library, &unredacted, censor)?;
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
    censor
        .rehearse(|out| {
            for session in sessions {
                censor.session(session);
            }
            library.each(&ids, |assembled| {
                // A session that cannot be read is reported when it is written.
                if format != Format::Gemini || native::has_form(&assembled) {
                    let _ = writer.session(&assembled, out);
                }
                Ok(())
            })
        })
        .map_err(|error| Failure::new("cannot read the sessions").because(error))?;
    let redacted: Vec<Session> = sessions.iter().map(|session| censor.session(session)).collect();
    Ok(names(redacted.iter(), format.ending()))
}

/// Lists the newest session first, each followed by its subagents and theirs.
fn entries<'a>(
    mut sessions: Vec<&'a Session>,
    entry: impl Fn(&'a Session) -> Entry<'a>,
) -> Vec<Entry<'a>> {
    newest_first(&mut sessions);
    let ids: HashSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let parent = |session: &Session| session.parent.as_deref().and_then(|id| ids.get(id)).copied();
    let mut children: HashMap<&str, Vec<&Session>> = HashMap::new();
    for session in &sessions {
        if let Some(parent) = parent(session) {
            children.entry(parent).or_default().push(session);
        }
    }
    let mut out = Vec::new();
    let mut open: Vec<&Session> =
        sessions.iter().rev().filter(|session| parent(session).is_none()).copied().collect();
    while let Some(session) = open.pop() {
        out.push(entry(session));
        open.extend(children.remove(session.id.as_str()).into_iter().flatten().rev());
    }
    out
}

fn report(
    ctx: &Context,
    printer: &mut Printer,
    folder: &Path,
    done: &Done,
    mut failures: Vec<Failure>,
) -> Result<()> {
    if ctx.json && failures.is_empty() {
        return done.print(printer, folder);
    }
    let written = plural(done.written, "session", "sessions");
    let unchanged = match done.unchanged {
        0 => String::new(),
        count => format!("; {} unchanged", number::count(count)),
    };
    printer.note(format!("wrote {written} to `{}`{unchanged}", ctx.show(folder)));
    if done.left > 0 {
        let left = plural(done.left, "file", "files");
        printer.note(format!(
            "left {left} there, of sessions that are not part of this export, or changed by hand"
        ));
    }
    let Some(last) = failures.pop() else { return Ok(()) };
    for failure in &failures {
        printer.failure(failure);
    }
    Err(last)
}
