//! A session with the plan to restore it, which `restore` carries out for people, and `resume` before it starts the agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backstory_core::agent::lifecycle::{
    ArchivedSession, Content, FileRole, Freshening, LeftReason, Refusal, RestorePlan, RestoreTarget,
};
use backstory_core::agent::{Agent, Lifecycle, attached};
use backstory_core::archive::FileRow;
use backstory_core::assemble::SessionFacts;
use backstory_core::discover::{Discovery, Source};
use backstory_core::facts::SourceSummary;
use backstory_core::model::Session;

use super::write::{CapturedBytes, Done, FileOutcome, Writer, captured_bytes, captured_part};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::{self, Library, cannot_open};
use crate::output::Printer;

/// A session with the plan to restore it.
pub(in crate::commands) struct Prepared {
    pub(super) library: Library,
    pub(in crate::commands) assembled: SessionFacts,
    pub(in crate::commands) agent: &'static dyn Agent,
    pub(in crate::commands) lifecycle: &'static dyn Lifecycle,
    pub(super) rows: Vec<FileRow>,
    captured: CapturedBytes,
    pub(in crate::commands) plan: RestorePlan,
}

/// The ways to write a plan.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::commands) struct WriteOptions {
    /// Makes the session recent.
    pub(super) fresh: bool,
    /// Writes nothing, and returns what would be written.
    pub(super) dry_run: bool,
}

impl Prepared {
    pub(in crate::commands) fn new(
        ctx: &Context,
        library: Library,
        assembled: SessionFacts,
        project: Option<&Path>,
    ) -> Result<Self> {
        let agent = agent_of(&library, &assembled)?;
        let lifecycle = lifecycle_of(agent, &assembled)?;
        let rows = library.archive.files().map_err(cannot_open)?;
        let files: Vec<(&Source, &SourceSummary)> =
            rows.iter().map(|row| (&row.source, &row.about)).collect();
        let projects =
            library.archive.projects(&library::project_hints(ctx)).map_err(cannot_open)?;
        let target = RestoreTarget {
            machine: library.archive.machine().unwrap_or_default(),
            root: lifecycle.usual_root(&ctx.env),
            places: places(ctx, agent, lifecycle, &library.all.found),
            project: project.map(|path| project_path(ctx, agent, path)).transpose()?,
            projects: &projects,
        };
        let sessions = &library.all.sessions;
        let attached = attached(agent, &assembled.session.id, &files, sessions);
        let listed = library.all.get(&assembled.session.id);
        let name = listed.and_then(|session| session.summary.as_deref());
        let archived =
            ArchivedSession { facts: &assembled, name, files: &files, attached: &attached };
        let plan = lifecycle.plan_restore(&archived, &target).map_err(|refusal| {
            let hint = hint(&refusal, sessions);
            let failure =
                Failure::new(format!("cannot restore session `{}`", assembled.session.id));
            hint.into_iter().fold(failure.because(refusal), Failure::hint)
        })?;
        let captured = captured_bytes(&rows);
        Ok(Self { library, assembled, agent, lifecycle, rows, captured, plan })
    }

    /// Returns whether all files that the agent needs exist.
    pub(in crate::commands) fn is_there(&self, ctx: &Context) -> Result<bool> {
        let options = WriteOptions { dry_run: true, ..WriteOptions::default() };
        let done = self.writer(ctx, options).write_all(&self.plan)?;
        Ok(done
            .iter()
            .filter(|done| done.role == FileRole::Session)
            .all(|done| done.how == FileOutcome::There))
    }

    /// Writes the missing files, and reports problems and side effects.
    pub(in crate::commands) fn write(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        options: WriteOptions,
    ) -> Result<Vec<Done>> {
        self.require_captured(ctx)?;
        let rehearsal = WriteOptions { dry_run: true, ..options };
        let mut done = self.writer(ctx, rehearsal).write_all(&self.plan)?;
        if let Some(main) =
            done.iter().find(|d| d.role == FileRole::Session && d.how == FileOutcome::Differs)
        {
            return Err(Failure::new(format!(
                "`{}` already exists and differs",
                ctx.show(&main.path)
            ))
            .hint(
                "nothing was written; `--to DIR --all-files` restores the captured files elsewhere",
            ));
        }
        if !options.dry_run {
            done = self.writer(ctx, options).write_all(&self.plan)?;
        }
        done.extend(self.register(ctx, printer, options.dry_run));
        self.warn_left_out(ctx, printer, &done);
        Ok(done)
    }

    /// Warns of files that are not restored, and of a project that is not known.
    fn warn_left_out(&self, ctx: &Context, printer: &mut Printer, done: &[Done]) {
        for file in done.iter().filter(|done| done.how == FileOutcome::Differs) {
            printer.warn(format!(
                "`{}` already exists and differs: it is left unchanged",
                ctx.show(&file.path)
            ));
        }
        for file in done.iter().filter(|done| done.how == FileOutcome::Missing) {
            printer.warn(format!(
                "`{}` was captured only in part: it is left out",
                ctx.show(&file.path)
            ));
        }
        for left in self.plan.left.iter().filter(|left| left.why.loses_messages()) {
            let why = match left.why {
                LeftReason::Version => "a newer version of it is written",
                _ => &format!(
                    "{} would consider it corrupt and delete the session",
                    self.agent.name()
                ),
            };
            printer.warn(format!("`{}` is left out: {why}", ctx.show(&left.source.path)));
        }
        if self.plan.project.is_none() {
            printer.warn(format!(
                "its project is not known, so {} may not find it: name the folder with `--project DIR`",
                self.agent.name()
            ));
        }
    }

    fn writer<'a>(&'a self, ctx: &'a Context, options: WriteOptions) -> Writer<'a> {
        let WriteOptions { fresh, dry_run } = options;
        let fresh = if fresh { self.freshening(ctx).ok().flatten() } else { None };
        Writer {
            ctx,
            archive: &self.library.archive,
            captured: &self.captured,
            fresh,
            dry_run,
            only_whole: true,
        }
    }

    /// Returns the file that the agent loads.
    pub(super) fn main(&self) -> Option<&Source> {
        self.plan.files.iter().find_map(|write| match &write.content {
            Content::Source(source) if write.role == FileRole::Session => Some(source),
            _ => None,
        })
    }

    /// Returns the way to make the session recent, if its agent deletes sessions for their age.
    pub(super) fn freshening(
        &self,
        ctx: &Context,
    ) -> std::result::Result<Option<Freshening>, &'static str> {
        let Some(main) = self.main() else { return Ok(None) };
        self.lifecycle.freshen(&self.assembled, main, ctx.now)
    }

    fn require_captured(&self, ctx: &Context) -> Result<()> {
        let Some(source) = self.main() else { return Ok(()) };
        let Some((got, of)) = captured_part(source, &self.library.archive, &self.captured) else {
            return Ok(());
        };
        let failure =
            Failure::new(format!("cannot restore session `{}`", self.assembled.session.id));
        let file = ctx.show(&source.path);
        Err(if got == 0 {
            failure.because(format!("`{file}` was not captured before it was deleted"))
        } else {
            failure
                .because(format!("`{file}` was captured only in part: {got} of {of} bytes"))
                .hint("`--to DIR --all-files` restores that part")
        })
    }

    fn register(&self, ctx: &Context, printer: &mut Printer, dry_run: bool) -> Option<Done> {
        if dry_run {
            let file = self.lifecycle.registry(&self.plan)?;
            return Some(Done::registry(file, FileOutcome::WouldWrite));
        }
        match self.lifecycle.register(&self.plan)? {
            (file, Ok(())) => Some(Done::registry(file, FileOutcome::Written)),
            (file, Err(error)) => {
                printer.warn(format!("`{}` was left unchanged: {error}", ctx.show(&file)));
                None
            }
        }
    }
}

/// Returns what to do about a session that cannot be restored.
fn hint(refusal: &Refusal, sessions: &[Session]) -> Option<String> {
    Some(match refusal {
        Refusal::NoFolder { hint } => (*hint).to_owned(),
        Refusal::NoRoot { variable } => format!("set `HOME` or `{variable}`"),
        Refusal::NoProject => "name the folder with `--project DIR`".to_owned(),
        Refusal::Subagent(parent) if sessions.iter().any(|s| s.id == *parent) => {
            format!("`backstory restore {parent}`")
        }
        Refusal::InFileOf(other) => format!("`backstory resume {other}`"),
        Refusal::Empty | Refusal::LogOnly | Refusal::Subagent(_) => {
            "`--to DIR --all-files` restores every captured file elsewhere".to_owned()
        }
        Refusal::Registry(_) | Refusal::Outside(_) => return None,
    })
}

/// Returns the agent that the session belongs to.
fn agent_of(library: &Library, session: &SessionFacts) -> Result<&'static dyn Agent> {
    let session = &session.session;
    library.archive.agents().get(&session.agent).ok_or_else(|| {
        Failure::new(format!("cannot restore session `{}`", session.id))
            .because(format!("this version of backstory does not know `{}`", session.agent))
    })
}

fn lifecycle_of(
    agent: &'static dyn Agent,
    session: &SessionFacts,
) -> Result<&'static dyn Lifecycle> {
    agent.lifecycle().ok_or_else(|| {
        Failure::new(format!("cannot restore session `{}`", session.session.id))
            .because(format!("sessions of {} cannot be restored yet", agent.name()))
            .hint("`backstory restore SESSION --to DIR --all-files` writes its captured files elsewhere")
    })
}

/// Returns the folders in which the agent keeps projects on this machine: the usual places, configured
/// roots, and wherever its files were found.
fn places(
    ctx: &Context,
    agent: &dyn Agent,
    lifecycle: &dyn Lifecycle,
    found: &Discovery,
) -> BTreeSet<PathBuf> {
    let roots: Vec<PathBuf> = found.roots.iter().chain(&ctx.roots).cloned().collect();
    let own = found.sources.iter().filter(|source| source.agent == agent.id());
    let folders = own.filter_map(|source| source.folder().map(Path::to_owned));
    lifecycle.session_parents(&ctx.env, &roots).into_iter().chain(folders).collect()
}

/// Returns a folder as the agent sees it when started there.
fn project_path(ctx: &Context, agent: &dyn Agent, path: &Path) -> Result<String> {
    let found = if cfg!(unix) { path.canonicalize() } else { std::path::absolute(path) };
    let found = found.ok().filter(|path| path.is_dir()).ok_or_else(|| {
        Failure::new(format!("`{}` is not a folder", ctx.show(path)))
            .hint("`--project` takes the folder that the project is in now")
    })?;
    found.into_os_string().into_string().map_err(|_| {
        Failure::new(format!("`{}` is not UTF-8", ctx.show(path)))
            .because(format!("{} would mistake it for another folder", agent.name()))
    })
}
