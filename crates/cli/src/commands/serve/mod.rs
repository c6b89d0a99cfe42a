//! The web app: starts the server, and keeps the archive up to date while it runs.

mod request;
mod web_app;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use backstory_core::archive::ArchiveError;
use backstory_core::collection::Collection;
use backstory_core::discover::Discovery;
use backstory_web::{Feed, Options, Server, Site, StartError};
use tempfile::TempDir;

use self::request::Requests;
pub(super) use self::web_app::WebApp;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::interrupt;
use crate::library::{self, Library, cannot_open, prices};
use crate::output::Printer;
use crate::watcher::Watcher;

const EXAMPLES: &str = "\
Examples:
  backstory serve                    open the web app in your browser
  backstory serve --demo             look around in the sample sessions
  backstory serve --no-open --port 8080
  backstory serve --from ~/backup    the sessions of a backup
  backstory serve --listen 0.0.0.0 --allow-remote
                                     also for other machines, which need the printed token

The address contains a token, without which nothing is answered. docs/web.md describes the pages, the
keys, and the documents under /api/v1.";

/// Open the web app: sessions, search, usage and health in a browser
///
/// Starts a server on this machine and prints its address. It only reads, except for the names and tags that
/// you give to sessions. Pages update themselves while an agent works.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Listen at this port [default: 7310, or a free one if it is in use]
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,

    /// Listen at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,

    /// Let other machines connect; what is sent to them is not encrypted
    #[arg(long)]
    allow_remote: bool,

    /// Also answer to this host name (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Stop when standard input is closed, because the program that started this one has ended
    #[arg(long, hide = true)]
    until_closed: bool,
}

/// The port without a choice.
const PORT: u16 = 7310;

/// The time for capturing after each sync.
const CAPTURE: Duration = Duration::from_secs(2);

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    args: &Serve,
    program: fn() -> clap::Command,
) -> Result<Exit> {
    super::require_given(ctx)?;
    if !args.listen.is_loopback() && !args.allow_remote {
        return Err(Failure::new(format!(
            "`--listen {}` lets other machines connect",
            args.listen
        ))
        .hint("add `--allow-remote` if you mean it; what is sent is not encrypted"));
    }
    let (path, _temporary) = place(ctx)?;
    let ctx = &ctx.with_archive(path.clone());
    let archive = library::open_archive_at(ctx, printer, &path)?;
    let mut library = Library::of_archive(ctx, archive, Discovery::default())?;
    let feed = Feed::new(&library.archive, &library.prices).map_err(cannot_open)?;
    let server = start(ctx, args, &path, &feed, program)?;
    print_address(printer, server.url())?;
    if args.until_closed {
        thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            interrupt::end();
        });
    }
    if !args.no_open && printer.width().is_some() {
        open(server.url());
    }
    keep_up(ctx, printer, &mut library, &feed);
    drop(server);
    Ok(Exit::Success)
}

/// Returns the archive to serve. Without a permanent one, it is a temporary file, because several
/// connections need it.
fn place(ctx: &Context) -> Result<(PathBuf, Option<TempDir>)> {
    let own = ctx.archive.clone().or_else(|| ctx.own_archive.clone().filter(|_| ctx.is_demo()));
    if let Some(path) = own {
        return Ok((path, None));
    }
    let make = || tempfile::Builder::new().prefix("backstory-serve-").tempdir();
    let folder = interrupt::make(make, |folder| Some(folder.path()))
        .map_err(|error| Failure::new("cannot make a temporary folder").because(error))?;
    Ok((folder.path().join("archive.db"), Some(folder)))
}

fn start(
    ctx: &Context,
    args: &Serve,
    path: &std::path::Path,
    feed: &Feed,
    program: fn() -> clap::Command,
) -> Result<Server> {
    let clock = ctx.clone();
    let site = || -> Result<Site> {
        let clock = clock.clone();
        Ok(Site {
            archive: path.to_owned(),
            prices: prices(ctx)?,
            zone: ctx.zone.clone(),
            zone_name: ctx.zone_name(),
            env: ctx.env.clone(),
            clock: Box::new(move || clock.clock()),
            is_demo: ctx.is_demo(),
            program: Box::new(Requests::new(ctx.clone(), program)),
        })
    };
    let port = args.port.unwrap_or(PORT);
    let options = Options { ip: args.listen, port, hosts: args.host.clone(), ..Options::default() };
    let started = match Server::start(site()?, feed.clone(), &options) {
        Err(StartError::PortTaken) if args.port.is_none() => {
            Server::start(site()?, feed.clone(), &Options { port: 0, ..options })
        }
        other => other,
    };
    started.map_err(|error| match error {
        StartError::PortTaken => {
            Failure::new(format!("port {port} is in use")).hint("choose another one with `--port`")
        }
        StartError::Other(error) => {
            Failure::new(format!("cannot listen at {}", args.listen)).because(error)
        }
    })
}

/// Prints the address, before anything that may take a while.
fn print_address(printer: &mut Printer, url: &str) -> Result<()> {
    printer.verbatim(url)?;
    printer.flush()?;
    printer.note("Press Ctrl-C to stop.");
    Ok(())
}

/// Opens a browser, and returns whether there is one; otherwise the printed address is enough.
fn open(url: &str) -> bool {
    let (program, first): (&str, &[&str]) = match () {
        () if cfg!(target_os = "macos") => ("open", &[]),
        () if cfg!(windows) => ("rundll32", &["url.dll,FileProtocolHandler"]),
        () => ("xdg-open", &[]),
    };
    let silent = Stdio::null;
    let mut command = Command::new(program);
    command.args(first).arg(url).stdin(silent()).stdout(silent()).stderr(silent());
    let Ok(mut child) = command.spawn() else { return false };
    // It may only end with the browser.
    thread::spawn(move || child.wait());
    true
}

/// Reads changed files and publishes them, until the user ends the run.
fn keep_up(ctx: &Context, printer: &mut Printer, library: &mut Library, feed: &Feed) {
    if ctx.no_sync || ctx.is_demo() || library.archive.is_read_only() {
        let (send, end) = mpsc::channel();
        interrupt::instead(move || drop(send));
        if ctx.is_demo() {
            let _ = refresh(ctx, library, feed, ctx.discover());
        }
        let _: std::result::Result<(), _> = end.recv();
        return;
    }
    let look = || ctx.discover();
    let mut found = look();
    let mut watcher = Watcher::new(look, &found, None);
    loop {
        if let Err(error) = refresh(ctx, library, feed, found) {
            if error.passes() {
                watcher.again();
            }
            printer.warn(format!("{error}; trying again"));
        }
        match watcher.next() {
            Some(next) => found = next,
            None => return,
        }
    }
}

/// Reads changed files and publishes them at once; then indexes their text, and captures for a moment.
fn refresh(
    ctx: &Context,
    library: &mut Library,
    feed: &Feed,
    found: Discovery,
) -> std::result::Result<(), ArchiveError> {
    let version = feed.version();
    library.refresh(ctx, found, &|_| {})?;
    let nothing = Collection::only(Discovery::default());
    let all = std::mem::replace(&mut library.all, nothing);
    feed.publish(&library.archive, &library.prices, version, all)?;
    library.archive.index(&|| {})?;
    if ctx.auto_capture && !ctx.is_demo() {
        library.archive.capture(&[], Some(Instant::now() + CAPTURE), &|_| {})?;
    }
    Ok(())
}
