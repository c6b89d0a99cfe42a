use std::path::{Path, PathBuf};
use std::{fs, io};

use backstory_core::export::json::{Time, UsageRow};
use backstory_core::file::Existing;
use backstory_core::pricing::Bill;
use backstory_core::query::projects::{ProjectAnswer, projects, unresolved};
use backstory_core::read::bytes::{SETTINGS_LIMIT, read_text};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table as TomlTable, value};

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Filters;
use crate::library::Library;
use crate::library::locate_projects;
use crate::output::number::{bytes, count, json_time, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};
use crate::save::save;

const EXAMPLES: &str = "\
Examples:
  backstory projects                       your projects, latest first
  backstory projects --scan                search for folders that are known only by hash
  backstory projects link 3f9a21c0 ~/code/old-name
                                           set it yourself; it is stored in the config file

PROOF is the source of a path: `project_root` and `registry` are Gemini CLI's records; `directories`
and `session_context` are recorded in a session; `hash` is a folder whose hash is the recorded one;
`tool_paths` is a guess from the paths that tools used; `link` was set by you.";

/// List projects: names, paths, and the source of each path
///
/// Older versions of Gemini CLI recorded only a hash of a project's path. Many of these paths can be
/// inferred from the sessions; `--scan` searches your folders for the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Projects {
    #[command(flatten)]
    filters: Filters,

    /// Search for the folders of unknown projects, for up to 5 seconds
    #[arg(long)]
    scan: bool,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Set the folder that a hash belongs to
    Link {
        /// The hash, or a unique prefix of it
        hash: String,
        /// The project's folder at the time of the sessions
        path: PathBuf,
    },
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Projects) -> Result<Exit> {
    if let Some(Action::Link { hash, path }) = &args.action {
        return link(ctx, printer, hash, path);
    }
    super::require_given(ctx)?;
    let mut library = Library::open(ctx, printer, &args.filters.project)?;
    if args.scan {
        let open = unresolved(&library.all).len() as u64;
        let found = locate_projects(ctx, &library.all);
        printer.note(format!(
            "{} of {} found.",
            count(found.len() as u64),
            plural(open, "unknown project", "unknown projects")
        ));
        if !found.is_empty() {
            library = library.with_paths(ctx, printer, found)?;
        }
    }
    let filter = args.filters.filter(ctx, &library.all)?;
    let all = &library.all;
    let sizes = library.archive.file_sizes().map_err(super::cannot_count)?;
    let mut rows = projects(all, sizes, &library.costs()?, &filter);
    rows.retain(|row| match row.updated {
        Some(at) => filter.period.contains(at),
        None => filter.period.is_everything(),
    });
    let format = args.format.or_json(ctx.json);
    print(ctx, printer, &rows, format)?;
    if rows.is_empty() {
        return match format {
            Format::Table => Err(super::nothing(ctx, all, &args.filters, "no projects match")),
            _ => Ok(Exit::NoMatch),
        };
    }
    let unknown = rows.iter().filter(|row| row.project.path.is_none()).count() as u64;
    if unknown > 0 && format == Format::Table && !args.scan {
        printer.note(format!(
            "{} known only by hash: `backstory projects --scan` looks for them.",
            plural(unknown, "project is", "projects are")
        ));
    }
    Ok(super::exit_code(ctx, &library))
}

fn print(
    ctx: &Context,
    printer: &mut Printer,
    rows: &[ProjectAnswer],
    format: Format,
) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        rows: Vec<Row<'a>>,
    }
    let json = || rows.iter().map(Row::new);
    match format {
        Format::Json => {
            let rows = json().collect();
            printer.json(&Document { schema: "backstory.projects/1", rows })?;
        }
        Format::Jsonl => printer.json_lines(json())?,
        Format::Csv | Format::Md | Format::Table if rows.is_empty() => {}
        Format::Csv | Format::Md => printer.rows(&plain(rows), format)?,
        Format::Table => printer.rows(&table(ctx, rows), format)?,
    }
    Ok(())
}

#[derive(Serialize)]
pub(super) struct Row<'a> {
    name: &'a str,
    path: Option<&'a str>,
    proof: &'static str,
    hash: Option<&'a str>,
    dirs: &'a [String],
    sessions: usize,
    updated: Option<Time>,
    bytes: u64,
    usage: UsageRow,
    #[serde(flatten)]
    cost: Bill,
}

impl<'a> Row<'a> {
    pub(super) fn new(row: &'a ProjectAnswer) -> Self {
        let project = &row.project;
        Self {
            name: &project.name,
            path: project.path.as_deref(),
            proof: project.proof.name(),
            hash: project.hash.as_deref(),
            dirs: &row.dirs,
            sessions: row.sessions,
            updated: row.updated.map(Time),
            bytes: row.bytes,
            usage: UsageRow::new(&row.usage),
            cost: row.cost,
        }
    }
}

fn table(ctx: &Context, rows: &[ProjectAnswer]) -> Rows {
    let mut out = Rows::new([
        Column::long("PROJECT"),
        Column::number("SESSIONS"),
        Column::text("UPDATED").spare(1),
        Column::number("TOKENS").spare(2),
        Column::number("COST"),
        Column::number("SIZE").spare(4),
        Column::text("PROOF").spare(5),
        Column::path("PATH").spare(3),
    ]);
    for row in rows {
        let project = &row.project;
        let path = match &project.path {
            Some(path) => ctx.show(Path::new(path)).into(),
            None => Cell::styled(style::DIM, "not known"),
        };
        out.row([
            Cell::styled(style::NAME, &project.name),
            count(row.sessions as u64).into(),
            Cell::age(row.updated, ctx.now),
            Cell::count(row.usage.total()),
            row.cost.short().unwrap_or_else(|| "–".to_owned()).into(),
            bytes(row.bytes).into(),
            Cell::styled(style::DIM, project.proof.name()),
            path,
        ]);
    }
    out
}

/// Builds the table for other programs: exact values, one per column.
fn plain(rows: &[ProjectAnswer]) -> Rows {
    let names = [
        "name",
        "path",
        "proof",
        "hash",
        "sessions",
        "updated",
        "bytes",
        "total",
        "cost_usd",
        "at_least",
        "unpriced_calls",
    ];
    let mut out = Rows::new(names.map(Column::text));
    for row in rows {
        let (project, cost) = (&row.project, &row.cost);
        out.row([
            project.name.as_str().into(),
            project.path.as_deref().unwrap_or_default().into(),
            project.proof.name().into(),
            project.hash.as_deref().unwrap_or_default().into(),
            row.sessions.to_string().into(),
            row.updated.map(json_time).unwrap_or_default().into(),
            row.bytes.to_string().into(),
            row.usage.total().to_string().into(),
            cost.usd.map(|usd| usd.to_string()).unwrap_or_default().into(),
            cost.at_least.to_string().into(),
            cost.unpriced.to_string().into(),
        ]);
    }
    out
}

/// `backstory.project-link/1`
#[derive(Serialize)]
struct LinkOut<'a> {
    schema: &'static str,
    hash: &'a str,
    path: String,
    /// The config file that it was written to.
    config: String,
}

/// Writes the link to the config file, and leaves its other lines unchanged.
fn link(ctx: &Context, printer: &mut Printer, hash: &str, path: &Path) -> Result<Exit> {
    let hash = hash.to_lowercase();
    if hash.len() < 4 || hash.len() > 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Failure::new(format!("`{hash}` is not a prefix of a hash"))
            .hint("`backstory projects --json` shows the hashes; 4 characters are enough"));
    }
    let path = std::path::absolute(path).map_err(|error| {
        Failure::new(format!("`{}` is not a usable path", path.display())).because(error)
    })?;
    let file = ctx.config.clone().ok_or_else(|| {
        Failure::new("there is no place for a config file").hint("name one with `--config FILE`")
    })?;
    let cannot = |what: &str| Failure::new(format!("cannot {what} `{}`", ctx.show(&file)));
    let text = match read_text(&file, SETTINGS_LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read").because(error)),
    };
    let mut config: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| cannot("use").because(error))?;
    let projects = config.entry("projects").or_insert(Item::Table(TomlTable::new()));
    let not_tables = || cannot("use").because("`projects` and `projects.links` must be tables");
    let projects = projects.as_table_like_mut().ok_or_else(not_tables)?;
    let links = projects.entry("links").or_insert(Item::Table(TomlTable::new()));
    let links = links.as_table_like_mut().ok_or_else(not_tables)?;
    links.insert(&hash, value(path.display().to_string()));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| cannot("write").because(error))?;
    }
    save(&file, Existing::Replace, |out| out.write_all(config.to_string().as_bytes()))
        .map_err(|error| cannot("write").because(error))?;
    if ctx.json {
        let schema = "backstory.project-link/1";
        let (path, config) = (path.display().to_string(), file.display().to_string());
        printer.json(&LinkOut { schema, hash: &hash, path, config })?;
        return Ok(Exit::Success);
    }
    printer.note(format!(
        "`{hash}` is now `{}`; written to `{}`.",
        ctx.show(&path),
        ctx.show(&file)
    ));
    Ok(Exit::Success)
}
