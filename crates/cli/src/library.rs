//! The archive of a run, brought up to date, and the sessions in it: what every command reads from.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::{self, Assembled, Candidates, View};
use backstory_core::archive::{Archive, ArchiveError, FaultCount, Setup, Synced};
use backstory_core::collection::Collection;
use backstory_core::discover::Found;
use backstory_core::pricing::Table;
use backstory_core::model::Message;
use backstory_core::money::Usd;
use backstory_core::query::{self, usage::session_costs};

use crate::commands::projects;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::Printer;
use crate::survey;

pub(crate) struct Library {
    pub(crate) archive: Archive,
    pub(crate) all: Collection,
    pub(crate) prices: Table,
    /// Faults in the files that are there.
    pub(crate) faults: FaultCount,
}

impl Library {
    /// Finds and reads what changed, with a counter where somebody waits. A project that is asked for
    /// and not known may be one of those of which only the hash is: then its folder is looked for.
    pub(crate) fn open(ctx: &Context, printer: &Printer, wanted: &[String]) -> Result<Self> {
        let found = survey::discover(&ctx.env, &ctx.from, &ctx.roots);
        let archive = open_archive(ctx)?;
        let library = Self::read(ctx, printer, archive, found, Vec::new())?;
        let filter = query::Filter { projects: wanted.to_vec(), ..query::Filter::default() };
        let fits = library.all.sessions.iter().any(|s| filter.takes_project(&s.project));
        if wanted.is_empty() || fits {
            return Ok(library);
        }
        let paths = projects::scan(ctx, &library.all);
        if paths.is_empty() { Ok(library) } else { library.with_paths(ctx, printer, paths) }
    }

    /// A file by itself.
    pub(crate) fn of_file(ctx: &Context, printer: &Printer, path: &Path) -> Result<Self> {
        let archive = Archive::in_memory().map_err(cannot_open)?;
        Self::read(ctx, printer, archive, gemini::discover_given(path), Vec::new())
    }

    /// Looks at it again with more paths that projects may have.
    pub(crate) fn with_paths(
        self,
        ctx: &Context,
        printer: &Printer,
        paths: Vec<PathBuf>,
    ) -> Result<Self> {
        Self::read(ctx, printer, self.archive, self.all.found, paths)
    }

    fn read(
        ctx: &Context,
        printer: &Printer,
        mut archive: Archive,
        found: Found,
        paths: Vec<PathBuf>,
    ) -> Result<Self> {
        sync(ctx, printer, &mut archive, &found, paths).map_err(cannot_open)?;
        let prices = crate::commands::prices(ctx)?;
        archive.prepare(&ctx.zone, &prices).map_err(cannot_open)?;
        let faults = archive.faults().map_err(cannot_open)?;
        let all = Collection::new(&archive, found).map_err(cannot_open)?;
        Ok(Self { archive, all, prices, faults })
    }

    /// What each session cost, as far as its calls have prices.
    pub(crate) fn costs(&self) -> Result<HashMap<String, Usd>> {
        session_costs(&self.archive).map_err(cannot_open)
    }

    /// Sessions one by one, with all their messages.
    pub(crate) fn each(
        &self,
        ids: &[String],
        mut each: impl FnMut(Assembled) -> io::Result<()>,
    ) -> io::Result<()> {
        let read = |assembled: Assembled| {
            let id = assembled.session.id.clone();
            each(assembled).map_err(|error| ArchiveError::Read(id, error))
        };
        self.archive.each_assembled(ids, read).map_err(|error| match error {
            ArchiveError::Read(_, error) => error,
            other => io::Error::other(other),
        })
    }

    /// The messages of a session with all they say.
    pub(crate) fn messages(
        &self,
        ctx: &Context,
        assembled: &Assembled,
        view: View,
    ) -> Result<Vec<Message>> {
        let agents = |agent: &str| self.all.agent_session(agent);
        gemini::transcript(assembled, view, &self.archive, &agents).map_err(|error| {
            let file = assembled.files.first().map(|file| ctx.show(&file.path)).unwrap_or_default();
            Failure::new(format!("cannot read session `{}`", assembled.session.id))
                .because(error)
                .hint(format!("was `{file}` deleted just now?"))
        })
    }

    /// One session with all its messages; the id is one that the collection gave.
    pub(crate) fn assembled(&self, id: &str) -> Result<Assembled> {
        let found = self.archive.assembled(id).map_err(cannot_open)?;
        found.ok_or_else(|| Failure::nothing(format!("session `{id}` is not there any more")))
    }
}

fn open_archive(_ctx: &Context) -> Result<Archive> {
    Archive::in_memory().map_err(cannot_open)
}

/// Reads what is new or has changed.
pub(crate) fn sync(
    ctx: &Context,
    printer: &Printer,
    archive: &mut Archive,
    found: &Found,
    paths: Vec<PathBuf>,
) -> std::result::Result<Synced, ArchiveError> {
    let mut candidates = candidates(ctx);
    candidates.paths.extend(paths);
    let setup = Setup {
        machine: &ctx.machine,
        candidates: &candidates,
        exclude: &|_| false,
        excluded: "",
    };
    let progress = printer.progress(found.sources.len());
    archive.sync(found, &setup, &|_| progress.tick())
}

/// Paths that may explain a hash without any search.
fn candidates(ctx: &Context) -> Candidates {
    let links = ctx.projects.links.iter().map(|(hash, path)| (hash.clone(), path.clone()));
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(cwd) = &ctx.cwd {
        paths.extend(cwd.ancestors().map(Path::to_owned));
        paths.extend(gemini::worktrees(cwd));
    }
    paths.extend(ctx.projects.links.values().flat_map(|path| gemini::worktrees(Path::new(path))));
    Candidates { links: links.collect(), paths }
}

pub(crate) fn cannot_open(error: ArchiveError) -> Failure {
    Failure::new("the archive does not answer").because(error)
}
