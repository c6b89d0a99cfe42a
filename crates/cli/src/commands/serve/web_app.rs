//! Runs the web app for another command of this program.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use backstory_core::model::Session;

use crate::context::Context;
use crate::error::{Failure, Result};

/// The time that the server has to read a session, and the pause between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// A web app in a process of its own, which ends with this value or with this process.
pub(crate) struct WebApp {
    child: Child,
    /// The address with the token.
    url: String,
}

impl WebApp {
    /// Starts the web app on the same archive, and waits for its address.
    pub(crate) fn start(ctx: &Context) -> Result<Self> {
        let start = || -> io::Result<Self> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(words(ctx)).args(["serve", "--no-open", "--until-closed"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut app = Self { child: command.spawn()?, url: String::new() };
            if let Some(out) = app.child.stdout.take() {
                BufReader::new(out).read_line(&mut app.url)?;
            }
            app.url.truncate(app.url.trim_end().len());
            if app.url.is_empty() { Err(io::Error::other("it ended at once")) } else { Ok(app) }
        };
        start().map_err(|error| {
            Failure::new("cannot start the web app").because(error).hint("try `backstory serve`")
        })
    }

    /// Returns whether it still answers.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Opens a session in a browser. Returns its address, and whether there is a browser.
    pub(crate) fn open(&self, session: &Session) -> (String, bool) {
        let path = backstory_web::session_path(session);
        let address = self.url.replacen("/?", &format!("{path}?"), 1);
        // A server that has only just begun may not have read the session yet.
        let end = Instant::now() + PATIENCE;
        while !self.has(&path).unwrap_or_default() && Instant::now() < end {
            thread::sleep(PAUSE);
        }
        let is_open = super::open(&address);
        (address, is_open)
    }

    /// Returns whether the server has a page.
    fn has(&self, path: &str) -> io::Result<bool> {
        let parts = self.url.strip_prefix("http://").and_then(|url| url.split_once("/?token="));
        let (host, token) = parts.unwrap_or_default();
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "HEAD {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )?;
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status)?;
        Ok(status.contains(" 200 "))
    }
}

impl Drop for WebApp {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Returns the global flags that lead to the same sessions.
fn words(ctx: &Context) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if ctx.is_demo() {
        return vec!["--demo".into()];
    }
    let config = ctx.config.as_ref().filter(|file| file.exists());
    let archive = ctx.own_archive.as_ref();
    let files = [("--config", config), ("--archive", archive)];
    let files = files.into_iter().filter_map(|(flag, file)| Some((flag, file?)));
    for (flag, path) in files.chain(ctx.from.iter().map(|path| ("--from", path))) {
        words.extend([flag.into(), path.into()]);
    }
    words.extend(ctx.no_sync.then(|| "--no-sync".into()));
    words.extend(["--tz".into(), ctx.zone_name().into()]);
    words
}
