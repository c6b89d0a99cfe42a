//! The surroundings of a run: environment, home folder, clock, terminal, config file.
//!
//! They are read here and nowhere else; every command and the library get them as values. That is
//! what lets tests, the demo and other front ends set them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anstream::ColorChoice;
use backstory_core::agent::Agents;
use backstory_core::discover::Discovery;
use backstory_core::env::Env;
use backstory_core::pricing::PriceRow;
use backstory_core::project::Project;
use backstory_core::redact::Choice;
use etcetera::BaseStrategy;
use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use tempfile::TempDir;

pub(crate) use crate::config::Billing;
use crate::config::{Config, Projects};
use crate::demo;
use crate::error::{Failure, Result};
use crate::options::{Color, Global};
use crate::output::path::tilde;

/// Pins the clock, for tests: an RFC 3339 time.
const NOW: &str = "BACKSTORY_NOW";

/// Makes a sync write in small steps, for tests: a number of bytes.
const BATCH: &str = "BACKSTORY_BATCH";

pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
    pub(crate) color: ColorChoice,
    /// Where to look instead of the usual places.
    pub(crate) from: Vec<PathBuf>,
    /// Where to look besides the usual places, and what says so.
    pub(crate) roots: Vec<PathBuf>,
    /// The config file that was read, or the one that would be.
    pub(crate) config: Option<PathBuf>,
    /// What the config file says of projects.
    pub(crate) projects: Projects,
    /// A file of prices, and prices of the config file.
    pub(crate) pricing: Option<PathBuf>,
    pub(crate) prices: Vec<PriceRow>,
    pub(crate) billing: Billing,
    /// What the config file says of secrets.
    pub(crate) redact: Choice,
    /// What this machine is called.
    pub(crate) machine: String,
    /// Where the archive is; none when this run has one of its own.
    pub(crate) archive: Option<PathBuf>,
    /// The archive that stays, also where this run reads from one of its own.
    pub(crate) own_archive: Option<PathBuf>,
    pub(crate) no_sync: bool,
    /// Whether the command is of no use unless it can write to the archive.
    pub(crate) must_write: bool,
    /// How much is read before it is written, where a test says so.
    pub(crate) batch: u64,
    pub(crate) auto_capture: bool,
    pub(crate) exclude: Exclude,
    /// The command that shows long answers page by page.
    pub(crate) pager: String,
    /// Where the program was started.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) strict: bool,
    /// Holds the sample home of `--demo` for as long as the run lasts.
    demo: Option<TempDir>,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Result<Self> {
        let mut env = environment();
        let home = env.home.clone();
        let home = home.as_deref();
        let config = match &global.config {
            Some(file) => Config::given(file, home)?,
            // The demo is the same for everyone.
            None if global.demo => Config::default(),
            None => {
                usual_config().map_or_else(|| Ok(Config::default()), |f| Config::usual(&f, home))?
            }
        };
        let batch = env.var(BATCH).and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0);
        let pager = pager(&env);
        let demo = if global.demo { Some(Demo::new()?) } else { None };
        let zone = zone(global, &config, demo.is_some(), &env, home)?;
        let usual = archive(global, config.archive.clone());
        // The demo's own goes away with its home, and is made only for commands that write to it.
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
            no_sync: global.no_sync,
            must_write: false,
            batch,
            auto_capture: config.auto_capture.unwrap_or(true),
            exclude: Exclude::new(&config.exclude)?,
            pager,
            cwd: std::env::current_dir().ok(),
            json: global.json,
            strict: global.strict,
            demo: demo.map(|demo| demo.folder),
        })
    }

    /// Returns whether this run shows the made-up sessions.
    pub(crate) fn is_demo(&self) -> bool {
        self.demo.is_some()
    }

    /// The time by now, for runs that last.
    pub(crate) fn clock(&self) -> Timestamp {
        now(&self.env).unwrap_or(self.now)
    }

    /// What the zone is called.
    pub(crate) fn zone_name(&self) -> String {
        match self.zone.iana_name() {
            Some("Etc/UTC") => "UTC".to_owned(),
            Some(name) => name.to_owned(),
            None => self.now.to_zoned(self.zone.clone()).offset().to_string(),
        }
    }

    /// Finds the files of all agents in the given or the usual places.
    pub(crate) fn discover(&self) -> Discovery {
        Agents::default().discover_in(&self.env, &self.from, &self.roots)
    }

    /// A path as it is shown to people.
    pub(crate) fn show(&self, path: &Path) -> String {
        tilde(path, self.env.home.as_deref())
    }
}

/// The home folder and the variables that concern agents.
fn environment() -> Env {
    let vars =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    Env {
        home: etcetera::home_dir().ok().filter(|home| !home.as_os_str().is_empty()),
        vars: vars.collect(),
    }
}

/// The host's own name.
fn machine() -> String {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    if name.is_empty() { "local".to_owned() } else { name }
}

fn pager(env: &Env) -> String {
    let named = env.var("PAGER").map(|pager| pager.to_string_lossy().into_owned());
    named.unwrap_or_else(|| "less".to_owned())
}

/// Where the archive is that stays. What is read by name stays out of it, unless `sync` takes it in.
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

/// Projects that must stay out of the archive.
pub(crate) struct Exclude {
    patterns: GlobSet,
    /// What they are made of.
    pub(crate) text: String,
}

impl Exclude {
    fn new(patterns: &[String]) -> Result<Self> {
        let bad = |error: globset::Error| {
            Failure::new("`exclude` in the config file")
                .because(error)
                .hint("write patterns for paths or names: `/home/me/private/**`, `secret-*`")
        };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern).map_err(bad)?);
        }
        Ok(Self { patterns: set.build().map_err(bad)?, text: patterns.join("\n") })
    }
}

impl backstory_core::archive::Exclude for Exclude {
    fn takes(&self, project: &Project) -> bool {
        self.patterns.is_match(&project.name)
            || project.path.as_deref().is_some_and(|path| self.patterns.is_match(path))
    }
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

/// `--tz`, then `TZ`, then the config file, then the system.
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
            Failure::new(format!("{by}: no time zone is called `{name}`"))
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
            // A mistake in the file is told even where `TZ` wins.
            let zone = named(name, format!("`tz` in `{}`", tilde(file, home)))?;
            Ok(if env.var("TZ").is_some() { TimeZone::system() } else { zone })
        }
        _ => Ok(TimeZone::system()),
    }
}

/// `--color`, then the variables people agree on, then the config file, then what stdout is.
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

/// The sample home and the moment it shows.
struct Demo {
    folder: TempDir,
    now: Timestamp,
}

impl Demo {
    fn new() -> Result<Self> {
        let cannot = "cannot unpack the demo";
        let now: Timestamp =
            demo::NOW.parse().map_err(|error: jiff::Error| Failure::new(cannot).because(error))?;
        let folder = demo::unpack(SystemTime::from(now)).map_err(|error| {
            Failure::new(cannot)
                .because(error)
                .hint("the folder for temporary files must be writable; `TMPDIR` names another one")
        })?;
        Ok(Self { folder, now })
    }

    /// Its own home, and no settings of this machine.
    fn env(&self) -> Env {
        let nowhere = self.folder.path().join("system/settings.json");
        let vars = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), nowhere.into())];
        Env { home: Some(self.folder.path().to_owned()), vars: vars.into() }
    }
}
