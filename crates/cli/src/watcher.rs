//! Watches the agent's folders for changes.
//!
//! The system only reports that something happened; the change itself is found by running discovery again,
//! as every other command does. So nothing depends on the kinds of events, which differ between systems,
//! and where there are none (network file systems, too many folders), polling every few seconds is enough.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use backstory_core::discover::{Discovery, Source};
use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::interrupt;

/// Events within this time are one change, because an agent writes several records at once.
const TOGETHER: Duration = Duration::from_millis(200);

/// The polling interval while the system also reports changes, in case it misses some.
const SAFETY: Duration = Duration::from_secs(5);

/// The polling interval where the system does not report changes.
const FALLBACK: Duration = Duration::from_secs(2);

enum Signal {
    Event(notify::Result<Event>),
    /// The user ended the run.
    End,
}

pub(crate) struct Watcher<'a> {
    look: Box<dyn Fn() -> Discovery + 'a>,
    /// The sources found last; `None` to report them again.
    last: Option<Vec<Source>>,
    signals: Receiver<Signal>,
    /// `None` if the system cannot report changes, or if polling was asked for.
    system: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, RecursiveMode>,
    every: Option<Duration>,
    /// Whether the system refused to watch some of the folders.
    is_deaf: bool,
}

impl<'a> Watcher<'a> {
    /// Watches the sources that `look` finds; `found` is its first result. With `every`, it polls instead
    /// of using the system's notifications. From now on, an interruption ends the watching instead of the
    /// process.
    pub(crate) fn new(
        look: impl Fn() -> Discovery + 'a,
        found: &Discovery,
        every: Option<Duration>,
    ) -> Self {
        let (send, signals) = mpsc::channel();
        // Changes between discovery and the first watch go unreported, so look again right away.
        let _ = send.send(Signal::Event(Ok(Event::default())));
        let end = send.clone();
        interrupt::instead(move || {
            let _ = end.send(Signal::End);
        });
        let tell = move |event: notify::Result<Event>| {
            // Reading a file is an event too, and we read files ourselves.
            if !event.as_ref().is_ok_and(|event| event.kind.is_access()) {
                let _ = send.send(Signal::Event(event));
            }
        };
        let system = match every {
            Some(_) => None,
            None => notify::recommended_watcher(tell).ok(),
        };
        let last = Some(found.sources.clone());
        let watched = BTreeMap::new();
        let look = Box::new(look);
        let mut watcher = Self { look, last, signals, system, watched, every, is_deaf: false };
        watcher.arm(found);
        watcher
    }

    /// Waits for a change; returns `None` when the run should end.
    pub(crate) fn next(&mut self) -> Option<Discovery> {
        loop {
            let was_told = match self.signals.recv_timeout(self.interval()) {
                Ok(Signal::End) | Err(RecvTimeoutError::Disconnected) => return None,
                Ok(Signal::Event(event)) => {
                    self.note(event);
                    self.gather()?;
                    true
                }
                Err(RecvTimeoutError::Timeout) => false,
            };
            let mut found = (self.look)();
            if self.arm(&found) {
                found = (self.look)();
            }
            if self.last.as_ref() == Some(&found.sources) {
                continue;
            }
            if !was_told {
                // A watched folder was moved away and another one took its place.
                self.watched.clear();
                self.arm(&found);
            }
            self.last = Some(found.sources.clone());
            return Some(found);
        }
    }

    /// Reports the last result again after a while, because it could not be used.
    pub(crate) fn again(&mut self) {
        self.last = None;
    }

    fn interval(&self) -> Duration {
        let is_heard = self.system.is_some() && !self.is_deaf;
        self.every.unwrap_or(if is_heard { SAFETY } else { FALLBACK })
    }

    /// Collects the events that follow immediately; returns `None` when the run should end.
    fn gather(&mut self) -> Option<()> {
        let end = Instant::now() + TOGETHER;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            match self.signals.recv_timeout(rest) {
                Ok(Signal::Event(event)) => self.note(event),
                Ok(Signal::End) => return None,
                Err(_) => return Some(()),
            }
            if rest.is_zero() {
                return Some(());
            }
        }
    }

    /// Stops watching a folder that was removed or renamed, even if another one takes its name.
    fn note(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
            for path in &event.paths {
                self.watched.remove(path);
            }
        }
    }

    /// Watches the current set of folders; returns whether any of them is new.
    fn arm(&mut self, found: &Discovery) -> bool {
        let Some(system) = &mut self.system else { return false };
        let places = places(found);
        for path in self.watched.keys().filter(|path| !places.contains_key(*path)) {
            let _ = system.unwatch(path);
        }
        self.watched.retain(|path, mode| places.get(path) == Some(mode));
        self.is_deaf = false;
        let mut is_new = false;
        for (path, mode) in places {
            if self.watched.contains_key(&path) {
                continue;
            }
            // The system may still have a watch under this name.
            let _ = system.unwatch(&path);
            if system.watch(&path, mode).is_ok() {
                self.watched.insert(path, mode);
                is_new = true;
            } else {
                self.is_deaf = true;
            }
        }
        is_new
    }
}

/// Returns the folders to watch: within the agent's folder only the one with sessions, and for a missing
/// folder its nearest existing ancestor.
fn places(found: &Discovery) -> BTreeMap<PathBuf, RecursiveMode> {
    let mut out = BTreeMap::new();
    let mut add = |path: &Path, mode: RecursiveMode| {
        let known = out.entry(path.to_owned()).or_insert(mode);
        *known = (*known).min(mode);
    };
    for looked in &found.looked {
        let path = looked.path.as_path();
        if !path.is_dir() {
            let above = path.ancestors().skip(1).map(or_here).find(|above| above.is_dir());
            if let Some(above) = above {
                add(above, RecursiveMode::NonRecursive);
            }
            continue;
        }
        let mut roots = found.roots.iter().filter(|root| root.starts_with(path)).peekable();
        if roots.peek().is_none() {
            add(path, RecursiveMode::Recursive);
        }
        for root in roots {
            add(root, RecursiveMode::NonRecursive);
            for folder in session_folders(found, root) {
                add(&folder, RecursiveMode::Recursive);
            }
        }
    }
    out
}

/// Returns the folders right below an agent's own that have sessions, or will: other folders there change often.
fn session_folders(found: &Discovery, root: &Path) -> BTreeSet<PathBuf> {
    let below = |path: &Path| Some(root.join(path.strip_prefix(root).ok()?.components().next()?));
    let known = found.sources.iter().filter_map(|source| below(&source.path));
    let usual = ["tmp", "projects", "sessions"].map(|name| root.join(name));
    known.chain(usual).filter(|folder| folder.is_dir()).collect()
}

/// Returns `.` for the empty parent of a bare name.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use backstory_core::agent::Agents;
    use backstory_core::env::Env;

    use super::*;

    #[test]
    fn where_to_listen() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let listen = |path: &Path| {
            let places = places(&Agents::default().discover_at(path));
            let name = |path: PathBuf| path.strip_prefix(home).unwrap().display().to_string();
            places.into_iter().map(|(path, mode)| (name(path), mode)).collect::<Vec<_>>()
        };
        let (whole, alone) = (RecursiveMode::Recursive, RecursiveMode::NonRecursive);
        let gemini = home.join(".gemini");
        assert_eq!(listen(&gemini), [(String::new(), alone)]);
        fs::create_dir_all(gemini.join("tmp/shop/chats")).unwrap();
        let both = [(".gemini".to_owned(), alone), (".gemini/tmp".to_owned(), whole)];
        assert_eq!(listen(&gemini), both);
        assert_eq!(listen(home), both);
        // Other agents keep their sessions elsewhere.
        for (file, sessions) in [
            (".claude/projects/-code-shop/a.jsonl", ".claude/projects"),
            (".codex/sessions/2026/08/14/rollout-a.jsonl", ".codex/sessions"),
        ] {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "{}\n").unwrap();
            let env = Env { home: Some(home.to_owned()), ..Env::default() };
            let places = places(&Agents::default().discover(&env));
            assert_eq!(places.get(&home.join(sessions)), Some(&whole), "{places:?}");
        }
        fs::remove_dir_all(home.join(".claude")).unwrap();
        fs::remove_dir_all(home.join(".codex")).unwrap();
        let chats = ".gemini/tmp/shop/chats".to_owned();
        assert_eq!(listen(&home.join(&chats)), [(chats.clone(), whole)]);
        fs::write(home.join(&chats).join("a.jsonl"), "").unwrap();
        assert_eq!(listen(&home.join(&chats).join("a.jsonl")), [(chats, alone)]);
    }
}
