//! Decides where a file may be written.

use std::fs::FileType;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The existing entry at the path of a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    /// Nothing.
    Nothing,
    /// A regular file, with its own path if a link leads to it.
    File(PathBuf),
    /// Anything else, which must not be replaced, with a description.
    Special(&'static str),
}

/// Returns the entry at a path, following links.
pub fn occupant(path: &Path) -> Occupant {
    // If even this fails, writing fails as well, with a better error.
    if path.symlink_metadata().is_err() {
        return Occupant::Nothing;
    }
    match path.metadata() {
        Ok(about) if about.is_file() => {
            Occupant::File(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
        }
        Ok(about) => Occupant::Special(kind(about.file_type())),
        Err(_) => Occupant::Special("a link that leads nowhere"),
    }
}

fn kind(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;

        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        } else if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() { "a folder" } else { "not a regular file" }
}

/// Resolves links and `..` in a path that need not exist: existing parts through the file system,
/// the rest as text.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            other => {
                out.push(other);
                out = out.canonicalize().unwrap_or(out);
            }
        }
    }
    Ok(out)
}

/// Returns whether a path consists of a folder followed by plain names, without `..` or absolute
/// parts.
pub fn is_below(folder: &Path, path: &Path) -> bool {
    let is_plain = |part: Component| matches!(part, Component::Normal(_));
    path.strip_prefix(folder)
        .is_ok_and(|below| below.file_name().is_some() && below.components().all(is_plain))
}

/// Rejects a path that is not below a folder, by its text or through a link on the way.
pub fn check_below(folder: &Path, path: &Path) -> io::Result<()> {
    if is_below(folder, path) && resolve(path)?.starts_with(resolve(folder)?) {
        return Ok(());
    }
    let message = format!("it leads out of `{}`", folder.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_below() {
        let is_below = |path: &str| is_below(Path::new("/a/b"), Path::new(path));
        assert!(is_below("/a/b/c") && is_below("/a/b/./c/d") && is_below("/a/b/..c"));
        for path in ["/a/b", "/a/b/", "/a/bc", "/a", "/a/b/../b/c", "/a/b/c/..", "a/b/c", "/x", ""]
        {
            assert!(!is_below(path), "{path}");
        }
    }

    #[test]
    fn what_exists_is_resolved_by_the_file_system_and_the_rest_by_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("real/deep")).unwrap();
        let resolved = |path: &str| resolve(&folder.join(path)).unwrap();
        assert_eq!(resolved("a/../b/./c"), folder.join("b/c"));
        assert_eq!(resolved("real/../../x"), folder.parent().unwrap().join("x"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("real/deep", folder.join("link")).unwrap();
            assert_eq!(resolved("link/x"), folder.join("real/deep/x"));
            assert_eq!(resolved("link/../x"), folder.join("real/x"));
            assert!(check_below(&folder.join("link"), &folder.join("link/x/y")).is_ok());
            assert!(check_below(&folder.join("real"), &folder.join("link/x")).is_err());
            std::os::unix::fs::symlink("..", folder.join("real/up")).unwrap();
            assert!(check_below(&folder.join("real"), &folder.join("real/up/x")).is_err());
            assert!(check_below(&folder.join("real"), &folder.join("real/up/real/x")).is_ok());
        }
    }
}
