mod all;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use backstory_core::agent::lifecycle::{
    ArchivedSession, Cleanup, CleanupFile, CleanupFolder, Content, Deletion, DeletionReason,
    FileRole, Freshening, LeftReason, Refusal, RestorePlan, RestoreTarget,
};
use backstory_core::agent::{Agent, Lifecycle, attached};
use backstory_core::archive::FileRow;
use backstory_core::assemble::SessionFacts;
use backstory_core::discover::{Discovery, Source};
use backstory_core::facts::SourceSummary;
use backstory_core::time::Time;
use serde::Serialize;

use self::write::{CapturedBytes, Done, FileOutcome, Writer, captured_bytes};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{self, Library, cannot_open};
use crate::output::{Column, Printer, Table};

const EXAMPLES: &str = "\
Examples:
  backstory restore 3f2a --dry-run            show what would be written
  backstory restore 3f2a                      restore the files that the agent needs
  backstory restore 3f2a --fresh              and keep it from being deleted for its age
  backstory restore 3f2a --project ~/new/shop the project was moved there
  backstory restore --to out --all-files      every captured file";

/// Restore a session's files, so that the agent can list and resume it
///
/// Restores, byte for byte, the file that the agent loads, other files with parts of the session, its
/// subagents, long tool outputs, plans and tasks. An existing file is never overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The session: its id or a prefix of it, `latest`, `@N`, its name, or a file name [default: choose one in
    /// the terminal]
    session: Option<OsString>,

    /// Show what would be written without writing it
    #[arg(long)]
    dry_run: bool,

    /// Make the session recent, so that it is not deleted for its age
    ///
    /// For Gemini CLI this adds one line to the session. For Claude Code it sets the time of the last change,
    /// which files that are written get anyway. Codex CLI deletes no sessions for their age.
    #[arg(long)]
    fresh: bool,

    /// The project's folder, if it was moved
    #[arg(long, short, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Write the files of `--all-files` below this folder
    #[arg(long, value_name = "DIR", requires = "all_files")]
    to: Option<PathBuf>,

    /// Restore every captured file of the session, or of all sessions, below another folder
    #[arg(long, requires = "to", conflicts_with_all = ["fresh", "project"])]
    all_files: bool,
}

/// `backstory.restore/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    session: Option<&'a str>,
    project: Option<&'a str>,
    dry_run: bool,
    files: Vec<FileDocument>,
    left: Vec<LeftDocument>,
    /// Why the agent will delete it again at its next start; null if it will not.
    deleted_again: Option<&'static str>,
}

#[derive(Serialize)]
struct FileDocument {
    path: String,
    what: &'static str,
    done: &'static str,
    bytes: Option<u64>,
    modified: Option<Time>,
}

#[derive(Serialize)]
struct LeftDocument {
    path: String,
    why: &'static str,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Restore) -> Result<Exit> {
    if let Some(to) = &args.to {
        return all::run(ctx, printer, args.session.as_deref(), to, args.dry_run);
    }
    let Some(session) = super::given_or_chosen(ctx, printer, args.session.as_deref())? else {
        return Err(Failure::new("no session was named")
            .hint("name a session, or use `--to DIR --all-files`"));
    };
    let (library, assembled) = super::open_session(ctx, printer, &session)?;
    let prepared = Prepared::new(ctx, library, assembled, args.project.as_deref())?;
    if args.fresh {
        prepared.freshening(ctx).map_err(|why| {
            let advice = prepared.lifecycle.advice(&DeletionReason::Age);
            Failure::new("`--fresh` cannot make this session recent")
                .because(why)
                .hint(format!("{advice} instead"))
        })?;
    }
    let done = prepared.write(ctx, printer, args.fresh, args.dry_run)?;
    prepared.report(ctx, printer, &done, args)?;
    if printer.is_terminal() && !args.dry_run && !ctx.json {
        let short = prepared.library.all.short(&prepared.assembled.session);
        printer.note(format!("`backstory resume {short}` continues it."));
    }
    Ok(Exit::Success)
}

/// A session with the plan to restore it.
pub(super) struct Prepared {
    library: Library,
    pub(super) assembled: SessionFacts,
    pub(super) agent: &'static dyn Agent,
    pub(super) lifecycle: &'static dyn Lifecycle,
    rows: Vec<FileRow>,
    captured: CapturedBytes,
    pub(super) plan: RestorePlan,
}

impl Prepared {
    pub(super) fn new(
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
        let projects = library.archive.projects(&library::project_hints(ctx)).map_err(cannot_open)?;
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
            let hint = match &refusal {
                Refusal::NoFolder { hint } => Some((*hint).to_owned()),
                Refusal::NoRoot { variable } => Some(format!("set `HOME` or `{variable}`")),
                Refusal::NoProject => Some("name the folder with `--project DIR`".to_owned()),
                Refusal::Subagent(parent) if sessions.iter().any(|s| s.id == *parent) => {
                    Some(format!("`backstory restore {parent}`"))
                }
                Refusal::InFileOf(other) => Some(format!("`backstory resume {other}`")),
                Refusal::Empty | Refusal::LogOnly | Refusal::Subagent(_) => {
                    Some("`--to DIR --all-files` restores every captured file elsewhere".to_owned())
                }
                Refusal::Registry(_) | Refusal::Outside(_) => None,
            };
            let failure =
                Failure::new(format!("cannot restore session `{}`", assembled.session.id));
            hint.into_iter().fold(failure.because(refusal), Failure::hint)
        })?;
        let captured = captured_bytes(&rows);
        Ok(Self { library, assembled, agent, lifecycle, rows, captured, plan })
    }

    /// Returns whether all files that the agent needs exist.
    pub(super) fn is_there(&self, ctx: &Context) -> Result<bool> {
        let done = self.writer(ctx, false, true).write_all(&self.plan)?;
        Ok(done
            .iter()
            .filter(|done| done.role == FileRole::Session)
            .all(|done| done.how == FileOutcome::There))
    }

    /// Writes the missing files, and reports problems and side effects.
    pub(super) fn write(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        fresh: bool,
        dry_run: bool,
    ) -> Result<Vec<Done>> {
        self.require_captured(ctx)?;
        let looked = self.writer(ctx, fresh, true).write_all(&self.plan)?;
        if let Some(main) =
            looked.iter().find(|d| d.role == FileRole::Session && d.how == FileOutcome::Differs)
        {
            return Err(Failure::new(format!(
                "`{}` already exists and differs",
                ctx.show(&main.path)
            ))
            .hint(
                "nothing was written; `--to DIR --all-files` restores the captured files elsewhere",
            ));
        }
        let mut done = looked;
        if !dry_run {
            done = self.writer(ctx, fresh, false).write_all(&self.plan)?;
        }
        done.extend(self.register(ctx, printer, dry_run));
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
        Ok(done)
    }

    fn writer<'a>(&'a self, ctx: &'a Context, fresh: bool, dry_run: bool) -> Writer<'a> {
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

    fn main(&self) -> Option<&Source> {
        self.plan.files.iter().find_map(|write| match &write.content {
            Content::Source(source) if write.role == FileRole::Session => Some(source),
            _ => None,
        })
    }

    /// Returns the way to make the session recent, if its agent deletes sessions for their age.
    fn freshening(&self, ctx: &Context) -> std::result::Result<Option<Freshening>, &'static str> {
        let Some(main) = self.main() else { return Ok(None) };
        self.lifecycle.freshen(&self.assembled, main, ctx.now)
    }

    fn require_captured(&self, ctx: &Context) -> Result<()> {
        let Some(source) = self.main() else { return Ok(()) };
        let Some((got, of)) = write::captured_part(source, &self.library.archive, &self.captured)
        else {
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

    fn report(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        done: &[Done],
        args: &Restore,
    ) -> Result<()> {
        let again = self.deleted_again(ctx, args.fresh);
        if ctx.json {
            let left = self.plan.left.iter();
            printer.json(&Document {
                schema: "backstory.restore/1",
                session: Some(&self.assembled.session.id),
                project: self.plan.project.as_deref(),
                dry_run: args.dry_run,
                files: done.iter().map(Done::document).collect(),
                left: left
                    .map(|left| LeftDocument {
                        path: left.source.path.display().to_string(),
                        why: left.why.name(),
                    })
                    .collect(),
                deleted_again: again.as_ref().map(|(_, again)| reason(&again.why)),
            })?;
        } else {
            print(ctx, printer, done)?;
        }
        if let Some(project) = self.plan.project.as_deref().filter(|path| !Path::new(path).is_dir())
        {
            let project = ctx.show(Path::new(project));
            printer.note(format!(
                "The project's folder `{project}` does not exist; `--project DIR` names its new location."
            ));
        }
        match self.freshening(ctx) {
            Ok(Some(Freshening::Line(_))) if args.fresh && !args.dry_run => {
                printer.note("One line was added to make it recent.");
            }
            Ok(None) if args.fresh => {
                let agent = self.agent.name();
                printer.note(format!(
                    "{agent} deletes no sessions for their age: `--fresh` changes nothing."
                ));
            }
            _ => {}
        }
        if let Some((occasion, again)) = again {
            self.warn_again(ctx, printer, occasion, &again);
        }
        Ok(())
    }

    /// Returns the deletion that the agent would perform at once, and the occasion.
    fn deleted_again(&self, ctx: &Context, fresh: bool) -> Option<(&'static str, Deletion)> {
        let main = self.main()?;
        let number = |source: &Source| source.archived.as_ref().map(|archived| archived.number);
        let rows: HashMap<Option<i64>, &FileRow> =
            self.rows.iter().map(|row| (number(&row.source), row)).collect();
        let mut files: BTreeMap<&Path, CleanupFile<'_>> = BTreeMap::new();
        for file in &self.plan.files {
            let Content::Source(source) = &file.content else { continue };
            let Some(row) = rows.get(&number(source)) else { continue };
            let is_fresh = fresh && file.role == FileRole::Session;
            let is_new = !(source.is_live() && source.path == file.path);
            let is_now = fresh || (is_new && !self.plan.keeps_times);
            let modified = if is_now { Some(ctx.now.into()) } else { source.modified };
            let seen = CleanupFile::new(&file.path, &row.about.contents, modified);
            files.entry(&file.path).or_insert(CleanupFile { is_fresh, ..seen });
        }
        for row in self.rows.iter().filter(|row| row.source.is_live()) {
            let source = &row.source;
            let seen = CleanupFile::new(&source.path, &row.about.contents, source.modified);
            files.entry(&row.source.path).or_insert(seen);
        }
        let folder = CleanupFolder {
            folder: &self.plan.folder,
            project: self.plan.project.as_deref().map(Path::new),
            files: files.into_values().collect(),
        };
        let planned = self
            .plan
            .files
            .iter()
            .find(|file| matches!(&file.content, Content::Source(source) if source == main))?;
        let Cleanup { policy, deletions } = self.lifecycle.cleanup(&folder, &ctx.env, ctx.now)?;
        let again = deletions.into_iter().find(|d| d.path == planned.path && d.at.is_none())?;
        Some((policy.occasion, again))
    }

    fn warn_again(&self, ctx: &Context, printer: &mut Printer, occasion: &str, again: &Deletion) {
        let what = format!("{} will delete it again {occasion}", self.agent.name());
        let advice = self.lifecycle.advice(&again.why);
        match &again.why {
            DeletionReason::Age if matches!(self.freshening(ctx), Ok(Some(_))) => {
                printer.warn(format!("{what}, because of its age: `--fresh` prevents that"));
            }
            DeletionReason::Age => printer.warn(format!("{what}, because of its age: {advice}")),
            DeletionReason::Count => {
                printer.warn(format!("{what}, because there are newer ones: {advice}"));
            }
            DeletionReason::SharesId(other) | DeletionReason::Session(other) => {
                printer.warn(format!("{what}, because of `{}`: {advice}", ctx.show(other)));
            }
            DeletionReason::Empty => printer.warn(format!("{what}: {advice}")),
        }
    }
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

fn reason(why: &DeletionReason) -> &'static str {
    match why {
        DeletionReason::Age => "age",
        DeletionReason::Count => "count",
        DeletionReason::Empty => "corrupt",
        DeletionReason::SharesId(_) => "shares_id",
        DeletionReason::Session(_) => "session",
    }
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

fn print(ctx: &Context, printer: &mut Printer, done: &[Done]) -> Result<()> {
    let mut table = Table::new([Column::text(""), Column::text("").spare(1), Column::path("")]);
    for file in done {
        table.row([file.how.name().into(), file.role.name().into(), ctx.show(&file.path).into()]);
    }
    Ok(printer.table(&table)?)
}
