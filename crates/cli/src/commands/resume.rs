use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use backstory_core::agent::lifecycle::ResumeCommand;
use backstory_core::model::SessionKind;
use serde::Serialize;

use super::restore::{Prepared, WriteOptions};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::output::Printer;
use crate::program;
use crate::shell_word::quote;

const EXAMPLES: &str = "\
Examples:
  backstory resume                       choose a session, and continue it
  backstory resume latest                continue where you left off in this folder
  backstory resume 3f2a --print          only print the command
  backstory resume 3f2a --project ~/new  the project was moved there";

/// Continue a session in its agent
///
/// Changes to the project's folder and runs the agent there: `claude --resume`, `codex resume` or
/// `gemini --resume`. Files that have been deleted are restored first.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Resume {
    /// The session: its id or a prefix of it, `latest` (in this folder's project if it has one), `@N`, its name, or
    /// a file name [default: choose one in the terminal, else latest]
    session: Option<OsString>,

    /// Print the command without running it
    #[arg(long)]
    print: bool,

    /// The project's folder, if it was moved
    #[arg(long, short, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// `backstory.resume/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    session: &'a str,
    folder: &'a str,
    command: Vec<&'a str>,
    /// Variables that the agent needs in order to find the session.
    environment: BTreeMap<&'static str, &'a Path>,
    gemini_cli_home: Option<&'a Path>,
    /// Whether its files must be restored first.
    restore: bool,
}

/// Continues the session with an id, and returns when the user leaves the agent.
pub(super) fn run_and_return(ctx: &Context, printer: &mut Printer, id: &str) -> Result<()> {
    let args = Resume { session: Some(id.into()), print: false, project: None };
    resume(ctx, printer, &args, Command::status).map(|_| ())
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Resume) -> Result<Exit> {
    resume(ctx, printer, args, program::replace)
}

/// Prepares the agent's command and passes it to `start`.
fn resume(
    ctx: &Context,
    printer: &mut Printer,
    args: &Resume,
    start: fn(&mut Command) -> io::Result<ExitStatus>,
) -> Result<Exit> {
    let chosen = match &args.session {
        None if args.print => None,
        given => super::given_or_chosen(ctx, printer, given.as_deref())?,
    };
    let session = chosen.unwrap_or_else(|| "latest".into());
    let (library, assembled) = super::open_session(ctx, printer, &session)?;
    let session = &assembled.session;
    if session.kind != SessionKind::Main || !session.id.is_uuid() {
        let agent = library.archive.agents().get(&session.agent);
        let agent = agent.map_or("the agent", |agent| agent.name());
        return Err(Failure::new(format!("{agent} cannot resume `{}`", session.id))
            .because(match session.kind {
                SessionKind::Main => "its file has no session id".to_owned(),
                kind => format!("it is a {}", kind.name()),
            })
            .hint("`backstory show` shows it"));
    }
    let prepared = Prepared::new(ctx, library, assembled, args.project.as_deref())?;
    let id = prepared.assembled.session.id.clone();
    let folder = folder(ctx, &prepared)?;
    let agent = prepared.agent.name();
    let resume = prepared.lifecycle.resume(&id, &prepared.plan, &ctx.env).map_err(|why| {
        let folder = ctx.show(&prepared.plan.folder);
        Failure::new(format!("{agent} would not find the session where it is"))
            .because(format!("`{folder}` {why}"))
    })?;
    let is_there = prepared.is_there(ctx)?;
    let not_installed = |why| not_installed(agent, &resume, why);
    if args.print {
        print(ctx, printer, args, &id, &folder, &resume, is_there)?;
        return Ok(Exit::Success);
    }
    if !is_there {
        // Nothing is restored for a program that is not installed.
        if !is_installed(ctx, resume.program) {
            return Err(not_installed("it is not in any folder of `PATH`".into()));
        }
        prepared.write(ctx, printer, WriteOptions::default())?;
        printer.note("Its files were restored first.");
    }
    let mut command = Command::new(resume.program);
    command.args(&resume.arguments).current_dir(&folder);
    command.envs(resume.variables.iter().map(|(name, value)| (name, value)));
    printer.flush()?;
    let status = start(&mut command).map_err(|error| not_installed(error.into()))?;
    Ok(if status.success() { Exit::Success } else { Exit::Failed })
}

/// Prints the commands that continue a session, after restoring it if it is not there.
fn print(
    ctx: &Context,
    printer: &mut Printer,
    args: &Resume,
    id: &str,
    folder: &str,
    resume: &ResumeCommand,
    is_there: bool,
) -> Result<()> {
    let arguments = resume.arguments.iter().map(String::as_str);
    let command: Vec<&str> = std::iter::once(resume.program).chain(arguments).collect();
    if ctx.json {
        return Ok(printer.json(&Document {
            schema: "backstory.resume/1",
            session: id,
            folder,
            command,
            gemini_cli_home: variable(resume, "GEMINI_CLI_HOME"),
            environment: resume.variables.iter().map(|(name, value)| (*name, &**value)).collect(),
            restore: !is_there,
        })?);
    }
    let quoted = quote(OsStr::new(folder));
    let mut steps = Vec::new();
    if !is_there {
        let moved = args.project.as_ref().map(|_| format!(" --project {quoted}"));
        let restore = format!("restore {id}{}", moved.unwrap_or_default());
        steps.push(ctx.follow_up.command(&restore));
    }
    steps.push(format!("cd {quoted}"));
    let set = |(name, value): &(&str, PathBuf)| format!("{name}={} ", quote(value.as_os_str()));
    let variables: String = resume.variables.iter().map(set).collect();
    steps.push(variables + &command.join(" "));
    Ok(printer.verbatim(&steps.join(" && "))?)
}

fn variable<'a>(resume: &'a ResumeCommand, name: &str) -> Option<&'a Path> {
    resume.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_path())
}

fn not_installed(
    agent: &str,
    resume: &ResumeCommand,
    why: Box<dyn std::error::Error + Send + Sync>,
) -> Failure {
    Failure::new(format!("cannot run `{}`", resume.program))
        .because(why)
        .hint(format!("{agent} must be installed: `{}`", resume.install))
}

fn is_installed(ctx: &Context, program: &str) -> bool {
    ctx.env.var("PATH").is_some_and(|path| program::on_path(path, program).is_some())
}

/// Returns the folder of the project.
fn folder(ctx: &Context, prepared: &Prepared) -> Result<String> {
    let id = &prepared.assembled.session.id;
    let moved = if ctx.is_demo() {
        "sample sessions cannot be continued".to_owned()
    } else {
        format!("if the project was moved: `backstory resume {id} --project DIR`")
    };
    let Some(project) = &prepared.plan.project else {
        return Err(Failure::new(format!("the project of session `{id}` is not known")).hint(moved));
    };
    if !Path::new(project).is_dir() {
        let shown = ctx.show(Path::new(project));
        return Err(
            Failure::new(format!("the project's folder `{shown}` does not exist")).hint(moved)
        );
    }
    Ok(project.clone())
}
