//! A server on made-up sessions, and a client that sends exactly what it is told.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use backstory_core::archive::SyncOptions;
use backstory_core::env::Env;
use backstory_core::projects::ProjectHints;
use backstory_core::{Agents, Archive, Collection, PriceTable};
use backstory_web::{Feed, Options, Program, Refusal, RefusalKind, Server, Site};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tempfile::TempDir;

pub(crate) const ID: &str = "aaaaaaaa-1111-4222-8333-444444444444";

/// A program that records what it is asked to run.
pub(crate) struct Recorder(pub(crate) &'static Mutex<Vec<String>>);

impl Program for Recorder {
    fn run(
        &self,
        command: &str,
        arguments: &[(String, String)],
        json: bool,
    ) -> Result<Vec<u8>, Refusal> {
        if command == "verify" {
            return Err(Refusal { kind: RefusalKind::Failed, what: "<b>broken</b>".to_owned() });
        }
        self.0.lock().unwrap().push(format!("{command} {arguments:?} {json}"));
        Ok(b"{}".to_vec())
    }
}

pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) home: TempDir,
    pub(crate) feed: Feed,
    pub(crate) ran: &'static Mutex<Vec<String>>,
    cookie: String,
}

/// Returns one record of a session: a prompt with some text.
pub(crate) fn prompt(n: usize, text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!(
        r#"{{"type":"user","uuid":"u{n}","parentUuid":{},"sessionId":"{ID}","timestamp":"2026-08-14T16:0{}:00.000Z","cwd":"/code/<b>shop</b>","version":"2.0.0","message":{{"role":"user","content":"{text}"}}}}"#,
        if n == 0 { "null".to_owned() } else { format!("\"u{}\"", n - 1) },
        n % 10,
    )
}

impl TestServer {
    /// Starts a server whose only session has some prompts.
    pub(crate) fn start(prompts: &[&str]) -> Self {
        Self::with(prompts, &Options::default())
    }

    pub(crate) fn with(prompts: &[&str], options: &Options) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".claude/projects/-code-shop");
        fs::create_dir_all(&folder).unwrap();
        let lines: Vec<String> =
            prompts.iter().enumerate().map(|(n, text)| prompt(n, text)).collect();
        fs::write(folder.join(format!("{ID}.jsonl")), lines.join("\n") + "\n").unwrap();
        let path = home.path().join("archive/archive.db");
        let mut archive = Archive::open(&path).unwrap();
        let found = sync(&mut archive, home.path());
        archive.index(&|| {}).unwrap();
        let prices = PriceTable::embedded();
        let feed = Feed::new(&archive, &prices).unwrap();
        feed.publish(&archive, &prices, 0, Collection::new(&archive, found).unwrap()).unwrap();
        let ran: &'static Mutex<Vec<String>> = Box::leak(Box::default());
        let now: Timestamp = "2026-08-14T16:30:00Z".parse().unwrap();
        let site = Site {
            archive: path,
            prices,
            zone: TimeZone::UTC,
            zone_name: "UTC".to_owned(),
            env: Env { home: Some(home.path().to_owned()), ..Env::default() },
            clock: Box::new(move || now),
            is_demo: false,
            program: Box::new(Recorder(ran)),
        };
        let server = Server::start(site, feed.clone(), options).unwrap();
        let mut out = Self { server, home, feed, ran, cookie: String::new() };
        out.cookie = out.sign_in();
        out
    }

    /// Exchanges the token of the address for a cookie.
    fn sign_in(&self) -> String {
        let path = self.server.url().split_once("//").unwrap().1;
        let path = &path[path.find('/').unwrap()..];
        let answer = self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.host()
        ));
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    pub(crate) fn host(&self) -> String {
        self.server.address().to_string()
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    pub(crate) fn session_file(&self) -> PathBuf {
        self.home.path().join(format!(".claude/projects/-code-shop/{ID}.jsonl"))
    }

    /// Reads the changed files and publishes them.
    pub(crate) fn refresh(&self) {
        let version = self.feed.version();
        let (archive, all) = self.read();
        self.feed.publish(&archive, &PriceTable::embedded(), version, all).unwrap();
    }

    /// Reads the changed files.
    pub(crate) fn read(&self) -> (Archive, Collection) {
        let mut archive = Archive::open(&self.home.path().join("archive/archive.db")).unwrap();
        let found = sync(&mut archive, self.home.path());
        let all = Collection::new(&archive, found).unwrap();
        (archive, all)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes, and returns everything that comes back.
    pub(crate) fn send(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request with the cookie.
    pub(crate) fn get(&self, path: &str) -> String {
        self.get_with(path, "")
    }

    /// Sends a request with the cookie and other headers, each with its line end.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> String {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n{headers}\r\n",
            self.host(),
            self.cookie
        ))
    }

    /// Posts a form with the cookie and other headers.
    pub(crate) fn post(&self, path: &str, headers: &str, form: &str) -> String {
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{headers}\r\n{form}",
            self.host(),
            self.cookie,
            form.len()
        ))
    }

    /// Returns the secret of the forms, as a page shows it.
    pub(crate) fn form_token(&self) -> String {
        let page = self.get(&format!("/sessions/claude/{ID}"));
        let at = page.find("name=\"token\" value=\"").unwrap() + 20;
        page[at..at + 48].to_owned()
    }
}

fn sync(archive: &mut Archive, home: &std::path::Path) -> backstory_core::Discovery {
    let found = Agents::default().discover_at(home);
    archive.sync(&found, &SyncOptions::plain(&ProjectHints::default()), &|_| {}).unwrap();
    found
}

pub(crate) fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}
