//! The environment of a run: variables, home folder, clock, terminal, config file.
//!
//! They are read here and nowhere else; commands and the library receive them as values, so that tests, the
//! demo and other front ends can set them.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::ColorChoice;
use backstory_core::agent::Agents;
use backstory_core::archive::Archive;
use backstory_core::discover::Discovery;
use backstory_core::env::Env;
use backstory_core::pricing::PriceRow;
use backstory_core::redact::Choice;
use backstory_core::time;
use etcetera::BaseStrategy;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tempfile::TempDir;

pub(crate) use crate::config::Billing;
use crate::config::{Config, Projects};
use crate::demo::Demo;
use crate::error::{Exit, Failure, Result};
use crate::exclude::Exclude;
use crate::follow_up::FollowUp;
use crate::options::{Color, Global};
use crate::output::path::tilde;

/// Pins the clock, for tests: an RFC 3339 time.
const NOW: &str = "BACKSTORY_NOW";

/// Names the shell that asks for completions.
const COMPLETE: &str = "BACKSTORY_COMPLETE";

/// Makes a sync write in small steps, for tests: a number of bytes.
const BATCH: &str = "BACKSTORY_BATCH";

#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
    pub(crate) color: ColorChoice,
    /// The places to read instead of the usual ones.
    pub(crate) from: Vec<PathBuf>,
    /// Additional places to read, from the config file.
    pub(crate) roots: Vec<PathBuf>,
    /// The config file that was read, or the one that would be if it existed.
    pub(crate) config: Option<PathBuf>,
    /// The `[projects]` section of the config file.
    pub(crate) projects: Projects,
    /// A file with prices, and the prices in the config file.
    pub(crate) pricing: Option<PathBuf>,
    pub(crate) prices: Vec<PriceRow>,
    pub(crate) billing: Billing,
    /// The `[redact]` section of the config file.
    pub(crate) redact: Choice,
    /// The name of this machine.
    pub(crate) machine: String,
    /// The archive of this run; `None` if the run uses a temporary one.
    pub(crate) archive: Option<PathBuf>,
    /// The persistent archive, even if this run uses another one.
    pub(crate) own_archive: Option<PathBuf>,
    /// The archive that this run has opened, while no command uses it.
    pub(crate) idle: Arc<Mutex<Option<Archive>>>,
    pub(crate) no_sync: bool,
    /// Whether the command fails unless it can write to the archive.
    pub(crate) must_write: bool,
    /// The number of bytes that are read before they are written, which tests can change.
    pub(crate) batch: u64,
    pub(crate) auto_capture: bool,
    pub(crate) exclude: Exclude,
    /// The pager command.
    pub(crate) pager: String,
    /// Whether to page long output: a pager is configured, or the usual one is installed.
    pub(crate) pages: bool,
    /// The folder that the program was started in.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) strict: bool,
    /// The flags that suggested commands need.
    pub(crate) follow_up: FollowUp,
    /// Whether the command runs for a request to the web app, which must not name files of this machine.
    pub(crate) is_remote: bool,
    /// The sample home of `--demo`, which is removed when this is dropped.
    demo: Option<Arc<TempDir>>,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Result<Self> {
        let mut env = environment();
        let home = env.home.clone();
        let home = home.as_deref();
        let config = match &global.config {
            Some(file) => Config::given(file, home)?,
            // The demo looks the same for everyone.
            None if global.demo => Config::default(),
            None => {
                usual_config().map_or_else(|| Ok(Config::default()), |f| Config::usual(&f, home))?
            }
        };
        let batch = env.var(BATCH).and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0);
        let pager = pager(&env);
        let pages = pages(&env, &pager);
        let demo = if global.demo { Some(Demo::new()?) } else { None };
        let zone = zone(global, &config, demo.is_some(), &env, home)?;
        let usual = archive(global, config.archive.clone());
        // The demo's archive is removed with its home, and created only for commands that write to it.
        let own_archive = match &demo {
            Some(demo) => Some(demo.folder.path().join("archive/archive.db")),
            None => usual.clone(),
        };
        let color = color(global.color, &config, &env);
        let mut now = now(&env)?;
        if let Some(demo) = &demo {
            now = demo.now;
            env = demo.env();
        }
        Ok(Self {
            env,
            now,
            zone,
            color,
            from: global.from.clone(),
            roots: config.roots,
            config: config.file.or_else(|| global.config.clone()).or_else(usual_config),
            projects: config.projects,
            pricing: global.pricing.clone().or(config.pricing),
            prices: config.prices,
            billing: config.billing,
            redact: config.redact,
            machine: config.machine.unwrap_or_else(machine),
            archive: usual.filter(|_| global.from.is_empty() && demo.is_none()),
            own_archive,
            idle: Arc::default(),
            no_sync: global.no_sync,
            must_write: false,
            batch,
            auto_capture: config.auto_capture.unwrap_or(true),
            exclude: Exclude::new(&config.exclude)?,
            pager,
            pages,
            cwd: std::env::current_dir().ok(),
            json: global.json,
            strict: global.strict,
            follow_up: global.follow_up(home),
            is_remote: false,
            demo: demo.map(|demo| Arc::new(demo.folder)),
        })
    }

    /// Returns the same environment with another archive.
    pub(crate) fn with_archive(&self, path: PathBuf) -> Self {
        let (archive, own_archive) = (Some(path.clone()), Some(path));
        Self { archive, own_archive, idle: Arc::default(), ..self.clone() }
    }

    /// Returns the environment of a command that a request over the network asks for: it answers from the
    /// archive as it is, and has no folder that relative paths begin in.
    pub(crate) fn for_request(&self, json: bool) -> Self {
        let idle = Arc::default();
        let (now, from) = (self.clock(), Vec::new());
        let (no_sync, is_remote, cwd) = (true, true, None);
        Self { now, from, idle, no_sync, cwd, json, is_remote, ..self.clone() }
    }

    /// Takes the archive that a command left open.
    pub(crate) fn take_idle(&self) -> Option<Archive> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether this run shows the sample sessions.
    pub(crate) fn is_demo(&self) -> bool {
        self.demo.is_some()
    }

    /// Returns the exit code of an answer: with `--strict`, faults count as a failure.
    pub(crate) fn exit_code(&self, is_faulty: bool) -> Exit {
        if self.strict && is_faulty { Exit::NoMatch } else { Exit::Success }
    }

    /// Returns the current time, for commands that keep running.
    pub(crate) fn clock(&self) -> Timestamp {
        if self.is_demo() { self.now } else { now(&self.env).unwrap_or(self.now) }
    }

    /// Returns the name of the time zone.
    pub(crate) fn zone_name(&self) -> String {
        match self.zone.iana_name() {
            Some("Etc/UTC") => "UTC".to_owned(),
            Some(name) => name.to_owned(),
            None => self.zoned_now().offset().to_string(),
        }
    }

    /// Finds the files of all agents, in the places given or the usual ones.
    pub(crate) fn discover(&self) -> Discovery {
        Agents::default().discover_in(&self.env, &self.from, &self.roots)
    }

    /// Formats a path for people.
    pub(crate) fn show(&self, path: &Path) -> String {
        tilde(path, self.env.home.as_deref())
    }

    /// Returns the time of this run in its zone.
    pub(crate) fn zoned_now(&self) -> Zoned {
        self.now.to_zoned(self.zone.clone())
    }

    /// Parses an expression such as `last week`, in the zone of this run; see [`time::parse_period`].
    pub(crate) fn parse_period(&self, word: &str) -> Option<(Timestamp, Timestamp)> {
        time::parse_period(word, &self.zoned_now())
    }

    /// Formats a path for people, relative to a folder if it is below it.
    pub(crate) fn show_within(&self, path: &Path, folder: Option<&str>) -> String {
        match folder.and_then(|folder| path.strip_prefix(folder).ok()) {
            Some(below) if !below.as_os_str().is_empty() => below.display().to_string(),
            _ => self.show(path),
        }
    }

    /// Returns a typed path; one that begins with `.` or `..` becomes absolute.
    pub(crate) fn typed_path(&self, path: &str) -> String {
        self.typed_folder(path).map_or_else(|| path.to_owned(), |path| path.display().to_string())
    }

    /// Returns the folder that a word means if it is `.`, `..` or begins with one of them.
    pub(crate) fn typed_folder(&self, word: &str) -> Option<PathBuf> {
        let first = Path::new(word).components().next();
        if !matches!(first, Some(Component::CurDir | Component::ParentDir)) {
            return None;
        }
        let folder = self.cwd.as_ref()?.join(word);
        Some(folder.canonicalize().unwrap_or(folder))
    }
}

/// Returns the name of the shell that asks for completions.
#[expect(clippy::disallowed_methods, reason = "read before there is a command line")]
pub(crate) fn completed_shell() -> Option<String> {
    std::env::var(COMPLETE).ok()
}

/// Returns the folders of programs, for extensions.
#[expect(clippy::disallowed_methods, reason = "read to decide which command line this is")]
pub(crate) fn search_path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// Returns the home folder and the variables that concern agents.
fn environment() -> Env {
    let vars =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    Env {
        home: etcetera::home_dir().ok().filter(|home| !home.as_os_str().is_empty()),
        vars: vars.collect(),
    }
}

/// Returns the host name.
fn machine() -> String {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    if name.is_empty() { "local".to_owned() } else { name }
}

fn pager(env: &Env) -> String {
    let named = env.var("PAGER").map(|pager| pager.to_string_lossy().into_owned());
    named.unwrap_or_else(|| "less".to_owned())
}

fn pages(env: &Env, pager: &str) -> bool {
    let is_there = |path: &std::ffi::OsStr| {
        std::env::split_paths(path).any(|folder| folder.join("less").is_file())
    };
    match env.var("PAGER") {
        Some(_) => !matches!(pager.trim(), "" | "cat"),
        None => env.var("PATH").is_some_and(is_there),
    }
}

/// Returns the path of the persistent archive. Files named with `--from` stay out of it, unless `sync`
/// imports them.
fn archive(global: &Global, configured: Option<PathBuf>) -> Option<PathBuf> {
    if global.demo {
        return None;
    }
    let usual = || {
        let strategy = etcetera::choose_base_strategy().ok()?;
        Some(strategy.data_dir().join("backstory").join("archive.db"))
    };
    global.archive.clone().or(configured).or_else(usual)
}

fn usual_config() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("backstory").join("config.toml"))
}

#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
fn now(env: &Env) -> Result<Timestamp> {
    let Some(pinned) = env.var(NOW) else { return Ok(Timestamp::now()) };
    let pinned = pinned.to_string_lossy();
    pinned.parse().map_err(|error: jiff::Error| {
        Failure::new(format!("`{NOW}` is `{pinned}`, which is not a valid time"))
            .because(error)
            .hint("write it like `2026-08-14T16:30:00Z`")
    })
}

/// Chooses the time zone: `--tz`, then `TZ`, then the config file, then the system.
fn zone(
    global: &Global,
    config: &Config,
    is_demo: bool,
    env: &Env,
    home: Option<&Path>,
) -> Result<TimeZone> {
    let named = |name: &str, by: String| {
        let zone = if name == "local" {
            TimeZone::try_system()
        } else {
            DateTimeParser::new().parse_time_zone(name)
        };
        zone.map_err(|error| {
            Failure::new(format!("{by}: there is no time zone `{name}`"))
                .because(error)
                .hint("use a name like `Europe/Berlin`, `UTC`, `local`, or an offset like `+02:00`")
        })
    };
    if let Some(name) = &global.tz {
        return named(name, "`--tz`".to_owned());
    }
    if is_demo {
        return Ok(TimeZone::UTC);
    }
    match (&config.tz, &config.file) {
        (Some(name), Some(file)) => {
            // An invalid zone in the file is an error even if `TZ` overrides it.
            let zone = named(name, format!("`tz` in `{}`", tilde(file, home)))?;
            Ok(if env.var("TZ").is_some() { TimeZone::system() } else { zone })
        }
        _ => Ok(TimeZone::system()),
    }
}

/// Decides on colours: `--color`, then the conventional variables, then the config file, then whether
/// stdout is a terminal.
fn color(flag: Option<Color>, config: &Config, env: &Env) -> ColorChoice {
    if let Some(flag) = flag {
        return flag.into();
    }
    if env.var("NO_COLOR").is_some() {
        return ColorChoice::Never;
    }
    if env.var("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return ColorChoice::Always;
    }
    config.color.map_or(ColorChoice::Auto, ColorChoice::from)
}
