//! Finds and registers the folder that Gemini CLI (0.29 and later) uses for a project.
//!
//! The folder has a short name derived from the path. A `.project_root` below `tmp` and `history`
//! contains the owner's path, and `projects.json` lists all projects. A marker in a folder takes
//! precedence over the list, and a lost list is rebuilt from the markers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::marker;
use crate::file::{self, Existing, Occupant};
use crate::projects::base_name;
use crate::read::bytes::{SETTINGS_LIMIT, read_regular};

/// The file that names a folder's owner.
pub(crate) const MARKER: &str = ".project_root";

/// The list of all projects.
const LIST: &str = "projects.json";

/// The number of attempts to lock the list while another process writes to it.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The age at which a lock counts as abandoned; its owner renews it more often.
const STALE: Duration = Duration::from_secs(10);

/// The name of a project's folder, and the entries it still lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) slug: String,
    /// Markers that do not exist yet.
    pub(crate) markers: Vec<PathBuf>,
    pub(crate) is_listed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Registry {
    projects: IndexMap<String, String>,
    #[serde(flatten)]
    rest: IndexMap<String, Value>,
}

/// Finds the folder that Gemini CLI would use if started in the project.
pub(crate) fn claim(root: &Path, project: &str) -> io::Result<Claim> {
    let project = normal(project);
    let registry = read(root)?;
    let listed = registry.projects.get(&project).filter(|slug| !is_foreign(root, slug, &project));
    let slug = listed.cloned().or_else(|| owned(root, &project)).unwrap_or_else(|| {
        let taken = |slug: &String| {
            registry.projects.values().any(|other| other == slug)
                || is_foreign(root, slug, &project)
        };
        let base = slugify(base_name(&project));
        let more = (1..).map(|n| format!("{base}-{n}"));
        std::iter::once(base.clone()).chain(more).find(|slug| !taken(slug)).unwrap_or(base)
    });
    let markers = bases(root).map(|base| base.join(&slug).join(MARKER));
    Ok(Claim {
        is_listed: listed.is_some(),
        markers: markers.into_iter().filter(|marker| !marker.exists()).collect(),
        slug,
    })
}

/// Adds a project to the list as Gemini CLI does: under its lock, and atomically.
pub(crate) fn enter(root: &Path, project: &str, slug: &str) -> io::Result<()> {
    let path = root.join(LIST);
    file::check_below(root, &path)?;
    // A killed run can leave its draft and its lock behind; the draft can be removed without
    // waiting.
    file::remove_abandoned(root);
    let _lock = Lock::take(path.with_extension("json.lock"))?;
    let mut registry = read(root)?;
    registry.projects.insert(normal(project), slug.to_owned());
    let text = serde_json::to_string_pretty(&registry)?;
    file::save(&path, Existing::Replace, |out| out.write_all(text.as_bytes()))
}

/// Gemini CLI's lock, which is a folder next to the file.
struct Lock(PathBuf);

impl Lock {
    fn take(path: PathBuf) -> io::Result<Self> {
        for _ in 0..TRIES {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if is_stale(&path) {
                        let _ = fs::remove_dir(&path);
                    } else {
                        sleep(PAUSE);
                    }
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(Self(path)),
            }
        }
        Err(io::Error::other("another program holds its lock"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_stale(lock: &Path) -> bool {
    let modified = lock.metadata().and_then(|about| about.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE))
}

/// Reads the list. A malformed list counts as empty; one that cannot be read must not be replaced.
fn read(root: &Path) -> io::Result<Registry> {
    let bytes = match file::occupant(&root.join(LIST)) {
        Occupant::Nothing => return Ok(Registry::default()),
        Occupant::File(path) => read_regular(&path, SETTINGS_LIMIT)?,
        Occupant::Special(what) => return Err(io::Error::other(format!("`{LIST}` is {what}"))),
    };
    let registry: Registry = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_slug = |slug: &String| {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !slug.is_empty() && slug.bytes().all(fits)
    };
    Ok(if registry.projects.values().all(is_slug) { registry } else { Registry::default() })
}

fn bases(root: &Path) -> [PathBuf; 2] {
    [root.join("tmp"), root.join("history")]
}

/// Returns whether a folder of this name belongs to another project.
fn is_foreign(root: &Path, slug: &str, project: &str) -> bool {
    let owner = |base: PathBuf| marker(&base.join(slug));
    bases(root).into_iter().filter_map(owner).any(|owner| normal(&owner) != project)
}

/// Returns the folder whose marker names the project.
fn owned(root: &Path, project: &str) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for base in bases(root) {
        let entries = fs::read_dir(base).into_iter().flatten().flatten();
        let ours = entries
            .filter(|entry| marker(&entry.path()).is_some_and(|owner| normal(&owner) == project));
        found.extend(ours.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        if !found.is_empty() {
            break;
        }
    }
    found.into_iter().min()
}

/// Normalizes a path as Gemini CLI does to compare it.
pub(crate) fn normal(path: &str) -> String {
    let path = path.trim();
    let cut = path.trim_end_matches('/');
    let path = if cut.is_empty() { path } else { cut };
    if cfg!(windows) { path.to_lowercase() } else { path.to_owned() }
}

fn slugify(name: &str) -> String {
    let mut out = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    let cut = out.trim_matches('-');
    if cut.is_empty() { "project".to_owned() } else { cut.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn names_of_folders() {
        let names = ["Demo App", "--a__b--", "été", "日本", "Foo.JS", ""];
        let slugs = names.map(slugify);
        assert_eq!(slugs, ["demo-app", "a-b", "t", "project", "foo-js", "project"]);
    }

    #[test]
    fn a_folder_is_found_by_list_then_note_then_name() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let slug = |project: &str| claim(root, project).unwrap().slug;
        assert_eq!(slug("/code/shop/"), "shop");
        // Taken by a marker, then by the list.
        write(&root.join("tmp/shop/.project_root"), "/other/shop\n");
        assert_eq!(slug("/code/shop"), "shop-1");
        write(&root.join("projects.json"), r#"{"projects":{"/third/shop":"shop-1"},"x":1}"#);
        assert_eq!(slug("/code/shop"), "shop-2");
        assert_eq!(slug("/third/shop"), "shop-1");
        // A marker takes precedence over the list.
        write(&root.join("history/shop-1/.project_root"), "/code/shop");
        assert_eq!(slug("/code/shop"), "shop-1");
        assert_eq!(slug("/third/shop"), "shop-2");
    }

    #[test]
    fn the_draft_of_a_killed_run_goes_before_its_lock_does() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let draft = root.join(".backstory-a1B2c3.tmp");
        write(&draft, "{}");
        fs::create_dir(root.join("projects.json.lock")).unwrap();
        enter(root, "/a", "a").unwrap_err();
        assert!(!draft.exists());
    }

    #[test]
    fn the_list_keeps_what_it_has() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        enter(root, "/b", "b").unwrap();
        enter(root, "/a", "a").unwrap();
        let text = fs::read_to_string(root.join("projects.json")).unwrap();
        assert_eq!(text, "{\n  \"projects\": {\n    \"/b\": \"b\",\n    \"/a\": \"a\"\n  }\n}");
        assert!(claim(root, "/a").unwrap().is_listed);
        // Gemini CLI treats a list with an invalid name as empty.
        write(&root.join("projects.json"), r#"{"projects":{"/a":"A"}}"#);
        assert!(!claim(root, "/a").unwrap().is_listed);
        assert_eq!(fs::read_dir(root).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_was_left_behind_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let lock = root.path().join("projects.json.lock");
        fs::create_dir(&lock).unwrap();
        assert!(enter(root.path(), "/a", "a").is_err());
        let old = std::time::SystemTime::now() - 2 * STALE;
        fs::File::open(&lock).unwrap().set_modified(old).unwrap();
        enter(root.path(), "/a", "a").unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_list_elsewhere_or_a_special_one_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join(".gemini");
        write(&home.path().join("list.json"), "{}");
        fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink("../list.json", root.join("projects.json")).unwrap();
        assert!(enter(&root, "/a", "a").is_err());
        assert_eq!(fs::read_to_string(home.path().join("list.json")).unwrap(), "{}");
        fs::remove_file(root.join("projects.json")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("projects.json")).unwrap();
        assert!(claim(&root, "/a").is_err());
    }
}
