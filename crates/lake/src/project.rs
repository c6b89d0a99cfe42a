//! The identity of a project: its git remote, so that clones and worktrees are one project, or else its name and a
//! keyed pseudonym of its path. Where only a hash of the path is known, the pseudonym is all there is; views find its
//! name if another machine knows it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::project::Project;
use backstory_core::projects::hash_of;

use crate::pseudonym::Key;
use crate::value::Text;

/// The identities of projects, each looked up once.
#[derive(Debug)]
pub(crate) struct Identities<'a> {
    key: &'a Key,
    known: HashMap<String, Identity>,
}

/// The names under which a project leaves.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) project: Text,
    /// The pseudonym of its path.
    pub(crate) folder: Text,
}

impl<'a> Identities<'a> {
    pub(crate) fn new(key: &'a Key) -> Self {
        Self { key, known: HashMap::new() }
    }

    /// Returns the identity of a project.
    pub(crate) fn of(&mut self, project: &Project) -> Identity {
        if let Some(known) = self.known.get(project.key()) {
            return known.clone();
        }
        let remote = project.path.as_deref().and_then(|path| remote(Path::new(path)));
        // Some agents record only the hash of the path.
        let hash = match (&project.path, &project.hash) {
            (None, Some(hash)) => hash.clone(),
            _ => hash_of(project.key()),
        };
        let folder = self.hidden(&hash);
        let name = &project.name;
        let named = match remote.as_deref().map(|remote| (remote, normalised(remote))) {
            Some((_, Some(remote))) => remote,
            // A remote on the same disk is a path, which must not leave.
            Some((path, None)) => format!("{name}{}", self.hidden(path)),
            None if project.path.is_some() => format!("{name}{folder}"),
            // The name would be made from the hash or the agent's folder.
            None => folder.clone(),
        };
        let identity = Identity { project: named.into(), folder: folder.into() };
        self.known.insert(project.key().to_owned(), identity.clone());
        identity
    }

    fn hidden(&self, path: &str) -> String {
        format!("~{}", &self.key.pseudonym("project", path)[..16])
    }
}

/// Returns the URL of the remote of the repository that contains a folder.
fn remote(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let config = fs::read_to_string(config(&git)?).ok()?;
    let mut remotes = remotes(&config);
    remotes.sort_by_key(|(name, _)| name != "origin");
    remotes.into_iter().next().map(|(_, url)| url)
}

/// Returns the path of a repository's config file. The `.git` of a worktree is a file that names a folder, which
/// names the repository's in turn.
fn config(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.join("config"));
    }
    let text = fs::read_to_string(git).ok()?;
    let folder = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(folder.join("commondir")).ok();
    let common = common.map_or(folder.clone(), |common| folder.join(common.trim()));
    Some(common.join("config"))
}

/// Returns the names and URLs of the remotes in a git config file, in its order.
fn remotes(config: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut section: Option<String> = None;
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            let name = head.strip_prefix("remote ").map(|name| name.trim().trim_matches('"'));
            section = name.map(str::to_owned);
        } else if let (Some(name), Some((key, value))) = (&section, line.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
            && !out.iter().any(|(known, _)| known == name)
        {
            out.push((name.clone(), value.trim().trim_matches('"').to_owned()));
        }
    }
    out
}

/// Returns a remote as `host/owner/name`, without credentials; `None` if it is a path.
fn normalised(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        // `user@host:path`, but not `C:\path` or `./a:b`.
        None => url.split_once(':').filter(|(host, _)| host.len() > 1 && !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let path = path.split(['?', '#']).next()?.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let is_host =
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    (is_host && !path.is_empty() && !path.contains('\\')).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstory_core::project::Proof;

    #[test]
    fn all_spellings_of_a_remote_are_one_project() {
        for url in [
            "https://github.com/acme/shop.git",
            "https://GitHub.com/acme/shop",
            "https://ada:ghp_secret@github.com/acme/shop.git/",
            "ssh://git@github.com:22/acme/shop.git",
            "git@github.com:acme/shop.git",
            "github.com:acme/shop",
            "https://github.com/acme/shop?token=secret",
        ] {
            assert_eq!(normalised(url).as_deref(), Some("github.com/acme/shop"), "{url}");
        }
        let paths = [
            "/srv/git/shop.git",
            "../shop",
            "C:\\git\\shop",
            "file:///srv/shop",
            "",
            "./a:b",
            "ssh://",
        ];
        for path in paths {
            assert_eq!(normalised(path), None, "{path}");
        }
    }

    fn project(path: &Path) -> Project {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let path = Some(path.to_string_lossy().into_owned());
        Project { name, path, proof: Proof::Cwd, hash: None, dir: None }
    }

    #[test]
    fn clones_and_worktrees_are_one_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let config = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = git@github.com:ada/shop\n\
                      [remote \"origin\"]\n\turl = https://u:p@github.com/acme/shop.git\n";
        fs::create_dir_all(root.join("clone/.git/worktrees/wt")).unwrap();
        fs::create_dir_all(root.join("clone/crates/core")).unwrap();
        fs::write(root.join("clone/.git/config"), config).unwrap();
        fs::write(root.join("clone/.git/worktrees/wt/commondir"), "../..\n").unwrap();
        fs::create_dir_all(root.join("tree")).unwrap();
        let link = format!("gitdir: {}\n", root.join("clone/.git/worktrees/wt").display());
        fs::write(root.join("tree/.git"), link).unwrap();
        fs::create_dir_all(root.join("plain")).unwrap();
        fs::create_dir_all(root.join("mirror/.git")).unwrap();
        fs::write(root.join("mirror/.git/config"), "[remote \"origin\"]\nurl = /srv/git/shop\n")
            .unwrap();

        let key = Key::new(b"0123456789abcdef").unwrap();
        let mut identities = Identities::new(&key);
        for name in ["clone", "clone/crates/core", "tree"] {
            assert_eq!(
                &*identities.of(&project(&root.join(name))).project,
                "github.com/acme/shop",
                "{name}"
            );
        }
        for name in ["plain", "mirror", "gone"] {
            let identity = identities.of(&project(&root.join(name))).project;
            assert!(identity.starts_with(&format!("{name}~")), "{identity}");
            assert!(!identity.contains('/'), "{identity}");
        }
    }
    #[test]
    fn a_machine_that_knows_only_the_hash_agrees_on_the_folder() {
        let key = Key::new(b"0123456789abcdef").unwrap();
        let mut identities = Identities::new(&key);
        let known = project(Path::new("/no/such/shop"));
        let hash = Some(hash_of("/no/such/shop"));
        let unknown = Project {
            name: hash.clone().unwrap()[..8].to_owned(),
            path: None,
            proof: Proof::None,
            hash,
            dir: None,
        };
        let (known, unknown) = (identities.of(&known), identities.of(&unknown));
        assert_eq!(known.folder, unknown.folder);
        assert_eq!(*known.project, *format!("shop{}", known.folder));
        assert_eq!(unknown.project, unknown.folder);
    }
}
