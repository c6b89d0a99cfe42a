//! Follows the agent's folders: tells when what is there is not what was there.
//!
//! The system says that something happened; what it was is found out by looking, as every other command
//! does. So nothing depends on the kinds of events, which differ from system to system, and where
//! there are none (network file systems, too many folders) looking every few seconds is enough.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use backstory_core::discover::{Discovery, Source};
use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::interrupt;

/// What happens within this time is one change: an agent writes several records at once.
const TOGETHER: Duration = Duration::from_millis(200);

/// How often to look although the system would tell.
const SAFETY: Duration = Duration::from_secs(5);

/// How often to look where the system does not tell.
const FALLBACK: Duration = Duration::from_secs(2);

enum Signal {
    Event(notify::Result<Event>),
    /// Somebody wants the run to end.
    End,
}

pub(crate) struct Watcher<'a> {
    look: Box<dyn Fn() -> Discovery + 'a>,
    /// What was there the last time; none when it must be told again.
    last: Option<Vec<Source>>,
    signals: Receiver<Signal>,
    /// None where the system cannot tell, or is not asked.
    system: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, RecursiveMode>,
    every: Option<Duration>,
    /// Whether there are folders that the system does not tell of.
    is_deaf: bool,
}

impl<'a> Watcher<'a> {
    /// Follows what `look` finds, of which `found` was the first. With `every` the system is not asked.
    /// From now on an interruption ends the watching, and not the run.
    pub(crate) fn new(
        look: impl Fn() -> Discovery + 'a,
        found: &Discovery,
        every: Option<Duration>,
    ) -> Self {
        let (send, signals) = mpsc::channel();
        // What came between looking and listening is not told: the first look is at once.
        let _ = send.send(Signal::Event(Ok(Event::default())));
        let end = send.clone();
        interrupt::instead(move || {
            let _ = end.send(Signal::End);
        });
        let tell = move |event: notify::Result<Event>| {
            // Reading is an event too, also our own.
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

    /// Waits until something has changed; none when the run shall end.
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
                // Something was moved away under our feet, and another one is in its place.
                self.watched.clear();
                self.arm(&found);
            }
            self.last = Some(found.sources.clone());
            return Some(found);
        }
    }

    /// What was told last could not be used: it is told again after a while.
    pub(crate) fn again(&mut self) {
        self.last = None;
    }

    fn interval(&self) -> Duration {
        let is_heard = self.system.is_some() && !self.is_deaf;
        self.every.unwrap_or(if is_heard { SAFETY } else { FALLBACK })
    }

    /// Takes in what follows at once; none when the run shall end.
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

    /// A folder that went away is not listened to any more, even if another one takes its name.
    fn note(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
            for path in &event.paths {
                self.watched.remove(path);
            }
        }
    }

    /// Listens where something may happen now; returns whether any place is new.
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
            // It may still be known there under this name.
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

/// Where to listen: below the agent's folder only where its sessions are, and where a place is not there
/// yet, in the next folder above it that is.
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
            let sessions = root.join("tmp");
            if sessions.is_dir() {
                add(&sessions, RecursiveMode::Recursive);
            }
        }
    }
    out
}

/// The parent of a bare name is the current folder.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use backstory_core::agent::Agents;

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
        let chats = ".gemini/tmp/shop/chats".to_owned();
        assert_eq!(listen(&home.join(&chats)), [(chats.clone(), whole)]);
        fs::write(home.join(&chats).join("a.jsonl"), "").unwrap();
        assert_eq!(listen(&home.join(&chats).join("a.jsonl")), [(chats, alone)]);
    }
}
