mod all;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini;
use backstory_core::agent::gemini::restore::{self, Content, LeftWhy, Plan, Refusal, Target, What};
use backstory_core::agent::gemini::retention::{self, ChatFile, Deletion, Why};
use backstory_core::archive::FileRow;
use backstory_core::assemble::SessionFacts;
use backstory_core::discover::{Discovery, Source, SourceState};
use backstory_core::facts::{Contents, SourceSummary};
use backstory_core::time::Time;
use serde::Serialize;

use self::write::{CapturedBytes, Done, How, Writer, captured_bytes};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{self, Library, cannot_open};
use crate::output::{Column, Printer, Table};
use crate::survey::settings;

const EXAMPLES: &str = "\
Examples:
  backstory restore 3f2a --dry-run            what would be written
  backstory restore 3f2a                      write back what Gemini CLI needs to list it
  backstory restore 3f2a --fresh              and keep it from being cleaned up for its age
  backstory restore 3f2a --project ~/new/shop its folder was moved there
  backstory restore --to out --all-files      every file that was ever captured";

/// Write a session's files back, so that the agent lists and resumes it
///
/// Written are the file that Gemini CLI loads, files that hold more of the session, its subagents, long
/// tool outputs, plans and tasks: as they were, to the byte. A file that is there already is never
/// overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The session: its id, the beginning of it, `latest`, `@N`, its name, or a file's name
    #[arg(required_unless_present = "all_files")]
    session: Option<OsString>,

    /// Show what would be written without writing it
    #[arg(long)]
    dry_run: bool,

    /// Add one line that makes the session new again, so that it is not deleted for its age
    #[arg(long)]
    fresh: bool,

    /// The folder of the project, if it is not where it was
    #[arg(long, short, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Write the files of `--all-files` below this folder
    #[arg(long, value_name = "DIR", requires = "all_files")]
    to: Option<PathBuf>,

    /// Every captured file, of the session or of all, below another folder
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
    /// Why the agent will delete it again at its next start; null where it will not.
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
    let Some(session) = &args.session else {
        return Err(
            Failure::new("restore what?").hint("name a session, or use `--to DIR --all-files`")
        );
    };
    let (library, assembled) = super::open_session(ctx, printer, session)?;
    let prepared = Prepared::new(ctx, library, assembled, args.project.as_deref())?;
    if args.fresh && !prepared.takes_line() {
        return Err(Failure::new("`--fresh` cannot add a line to this session")
            .because("it is a document of Gemini CLI before 0.39, not a log")
            .hint("raise `general.sessionRetention.maxAge` in Gemini CLI's settings instead"));
    }
    let done = prepared.write(ctx, printer, args.fresh, args.dry_run)?;
    prepared.report(ctx, printer, &done, args)?;
    Ok(Exit::Fine)
}

/// A session and the plan to bring it back.
pub(super) struct Prepared {
    library: Library,
    pub(super) assembled: SessionFacts,
    rows: Vec<FileRow>,
    captured: CapturedBytes,
    pub(super) plan: Plan,
}

impl Prepared {
    pub(super) fn new(
        ctx: &Context,
        library: Library,
        assembled: SessionFacts,
        project: Option<&Path>,
    ) -> Result<Self> {
        let rows = library.archive.files().map_err(cannot_open)?;
        let files: Vec<(&Source, &SourceSummary)> =
            rows.iter().map(|row| (&row.source, &row.about)).collect();
        let projects = library.archive.projects(&library::candidates(ctx)).map_err(cannot_open)?;
        let target = Target {
            machine: library.archive.machine().unwrap_or_default(),
            root: gemini::usual_root(&ctx.env),
            places: places(ctx, &library.all.found),
            project: project.map(|path| project_path(ctx, path)).transpose()?,
            projects: &projects,
        };
        let plan = restore::plan(&assembled, &files, &target).map_err(|refusal| {
            let hint = match &refusal {
                Refusal::NoFolder => {
                    Some("`gemini --session-file FILE` imports a file by itself".to_owned())
                }
                Refusal::NoRoot => Some("set `HOME` or `GEMINI_CLI_HOME`".to_owned()),
                Refusal::Subagent(parent) => Some(format!("`backstory restore {parent}`")),
                Refusal::Empty | Refusal::LogOnly => {
                    Some("`--to DIR --all-files` gives back every captured file".to_owned())
                }
                Refusal::Registry(_) | Refusal::Outside(_) => None,
            };
            let failure =
                Failure::new(format!("cannot restore session `{}`", assembled.session.id));
            hint.into_iter().fold(failure.because(refusal), Failure::hint)
        })?;
        let captured = captured_bytes(&rows);
        Ok(Self { library, assembled, rows, captured, plan })
    }

    /// Returns whether all that Gemini CLI needs is there.
    pub(super) fn is_there(&self, ctx: &Context) -> Result<bool> {
        let done = self.writer(ctx, false, true).write_all(&self.plan)?;
        Ok(done.iter().filter(|done| done.what == What::Session).all(|done| done.how == How::There))
    }

    /// Writes what is missing, and tells what has to be known about it.
    pub(super) fn write(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        fresh: bool,
        dry_run: bool,
    ) -> Result<Vec<Done>> {
        self.require_captured(ctx)?;
        let looked = self.writer(ctx, fresh, true).write_all(&self.plan)?;
        if let Some(main) = looked.iter().find(|d| d.what == What::Session && d.how == How::Differs)
        {
            return Err(Failure::new(format!(
                "`{}` is there already, and differs",
                ctx.show(&main.path)
            ))
            .hint(
                "nothing was written; `--to DIR --all-files` gives the captured files elsewhere",
            ));
        }
        let mut done = looked;
        if !dry_run {
            done = self.writer(ctx, fresh, false).write_all(&self.plan)?;
        }
        done.extend(self.enter(ctx, printer, dry_run));
        for file in done.iter().filter(|done| done.how == How::Differs) {
            printer.warn(format!(
                "`{}` is there already, and differs: it stays",
                ctx.show(&file.path)
            ));
        }
        for file in done.iter().filter(|done| done.how == How::Missing) {
            printer
                .warn(format!("`{}` was not captured whole: it is left out", ctx.show(&file.path)));
        }
        for left in self.plan.left.iter().filter(|left| left.why.loses()) {
            let why = match left.why {
                LeftWhy::Version => "a newer version of it is written",
                _ => "Gemini CLI would take it for corrupt, and delete the session",
            };
            printer.warn(format!("`{}` is left out: {why}", ctx.show(&left.source.path)));
        }
        if self.plan.project.is_none() {
            printer.warn("its project is not known, so Gemini CLI may not find it: name the folder with `--project DIR`");
        }
        Ok(done)
    }

    fn writer<'a>(&'a self, ctx: &'a Context, fresh: bool, dry_run: bool) -> Writer<'a> {
        let line = fresh.then(|| restore::fresh_line(ctx.now));
        Writer {
            ctx,
            archive: &self.library.archive,
            captured: &self.captured,
            line,
            dry_run,
            only_whole: true,
        }
    }

    fn main(&self) -> Option<&Source> {
        self.plan.writes.iter().find_map(|write| match &write.content {
            Content::Source(source) if write.what == What::Session => Some(source),
            _ => None,
        })
    }

    fn takes_line(&self) -> bool {
        self.main().is_some_and(|source| restore::takes_line(&self.assembled, source))
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
                .hint("`--to DIR --all-files` gives back what there is")
        })
    }

    /// The list is a convenience: Gemini CLI makes it anew from the notes in the folders.
    fn enter(&self, ctx: &Context, printer: &mut Printer, dry_run: bool) -> Option<Done> {
        let Plan { root, project, enter, .. } = &self.plan;
        let (root, project, slug) = (root.as_ref()?, project.as_ref()?, enter.as_ref()?);
        let file = root.join("projects.json");
        if dry_run {
            return Some(Done::registry(file, How::WouldWrite));
        }
        match gemini::enter_project(root, project, slug) {
            Ok(()) => Some(Done::registry(file, How::Written)),
            Err(error) => {
                printer.warn(format!("`{}` was left as it is: {error}", ctx.show(&file)));
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
                deleted_again: again.as_ref().map(|again| reason(&again.why)),
            })?;
        } else {
            print(ctx, printer, done)?;
        }
        if let Some(project) = self.plan.project.as_deref().filter(|path| !Path::new(path).is_dir())
        {
            let project = ctx.show(Path::new(project));
            printer.note(format!(
                "The project's folder `{project}` is not there; `--project DIR` restores to where it is now."
            ));
        }
        if args.fresh && !args.dry_run {
            printer.note("One line was added that makes it new again.");
        }
        if let Some(again) = again {
            self.warn_again(ctx, printer, &again);
        }
        Ok(())
    }

    /// What the next start of Gemini CLI in the project would do to the session.
    fn deleted_again(&self, ctx: &Context, fresh: bool) -> Option<Deletion> {
        let source = self.main()?;
        let name = source.path.file_name()?.to_string_lossy().into_owned();
        let chats = self.plan.folder.join("chats");
        let root = self.plan.root.as_deref()?;
        let is_live = |row: &&FileRow| {
            let state = row.source.archived.as_ref().map(|archived| archived.state);
            row.source.path.parent() == Some(&chats) && state == Some(SourceState::Live)
        };
        let offered = |row: &FileRow| match &row.about.contents {
            Contents::Session(file) if file.is_offered => Some(file.updated.unwrap_or(ctx.now)),
            _ => None,
        };
        let mut files: BTreeMap<String, ChatFile> = BTreeMap::new();
        let mut add = |row: &FileRow, since| {
            let name =
                row.source.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("session-") {
                let file = ChatFile { name: name.clone(), resumable_since: since };
                files.entry(name).or_insert(file);
            }
        };
        let number = |source: &Source| source.archived.as_ref().map(|archived| archived.number);
        let rows: HashMap<Option<i64>, &FileRow> =
            self.rows.iter().map(|row| (number(&row.source), row)).collect();
        for write in &self.plan.writes {
            let Content::Source(source) = &write.content else { continue };
            let row = rows.get(&number(source));
            if let Some(row) = row.filter(|_| write.path.parent() == Some(&chats)) {
                let is_new = fresh && write.what == What::Session;
                add(row, if is_new { Some(ctx.now) } else { offered(row) });
            }
        }
        for row in self.rows.iter().filter(is_live) {
            add(row, offered(row));
        }
        let project = self.plan.project.as_deref().map(Path::new);
        let retention = settings::decide(&ctx.env, root, project).retention;
        let files: Vec<ChatFile> = files.into_values().collect();
        let plan = retention::plan(&files, &retention, ctx.now);
        plan.into_iter().find(|deletion| deletion.name == name && deletion.at.is_none())
    }

    fn warn_again(&self, ctx: &Context, printer: &mut Printer, again: &Deletion) {
        let what = "Gemini CLI will delete it again at its next start in that project";
        match &again.why {
            Why::Age if self.takes_line() => {
                printer.warn(format!("{what}, for its age: `--fresh` prevents that"));
            }
            Why::Age => printer.warn(format!(
                "{what}, for its age: raise `general.sessionRetention.maxAge` in its settings"
            )),
            Why::Count => printer.warn(format!(
                "{what}, for there are newer ones: raise `general.sessionRetention.maxCount` in its settings"
            )),
            Why::SharesId(other) => {
                let other = ctx.show(&self.plan.folder.join("chats").join(other));
                printer.warn(format!("{what}, because of `{other}`: remove that file first"));
            }
            Why::Corrupt => printer.warn(what),
        }
    }
}

fn reason(why: &Why) -> &'static str {
    match why {
        Why::Age => "age",
        Why::Count => "count",
        Why::Corrupt => "corrupt",
        Why::SharesId(_) => "shares_id",
    }
}

/// Returns where Gemini CLI keeps projects on this machine: in the usual places, in configured roots,
/// and wherever files of it were found.
fn places(ctx: &Context, found: &Discovery) -> BTreeSet<PathBuf> {
    let roots = found.roots.iter().chain(&ctx.roots).map(|root| root.join("tmp"));
    let homes = ctx.roots.iter().map(|root| root.join(".gemini/tmp"));
    let folders = found.sources.iter().filter_map(|source| source.folder().map(Path::to_owned));
    gemini::project_parents(&ctx.env).into_iter().chain(roots).chain(homes).chain(folders).collect()
}

/// Returns a folder as Gemini CLI sees it when it is started there.
fn project_path(ctx: &Context, path: &Path) -> Result<String> {
    let found = if cfg!(unix) { path.canonicalize() } else { std::path::absolute(path) };
    let found = found.ok().filter(|path| path.is_dir()).ok_or_else(|| {
        Failure::new(format!("`{}` is not a folder", ctx.show(path)))
            .hint("`--project` takes the folder that the project is in now")
    })?;
    found.into_os_string().into_string().map_err(|_| {
        Failure::new(format!("`{}` is not UTF-8", ctx.show(path)))
            .because("Gemini CLI would take it for another folder")
    })
}

fn print(ctx: &Context, printer: &mut Printer, done: &[Done]) -> Result<()> {
    let mut table = Table::new([Column::text(""), Column::text(""), Column::text("")]);
    for file in done {
        table.row([file.how.name().into(), file.what.name().into(), ctx.show(&file.path).into()]);
    }
    Ok(printer.table(&table)?)
}
