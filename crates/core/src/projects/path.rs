//! Handles paths of POSIX and Windows systems, and the hashes of project folders.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::id::hex_digit;
use crate::project::Project;

/// Returns whether a path is a Windows path.
pub fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

/// Returns a key that is the same for all spellings of a path with a drive.
pub(super) fn drive_key(path: &str) -> Option<String> {
    has_drive(path).then(|| path.to_lowercase().replace('/', "\\"))
}

/// Returns a path with its drive in the other case, if it begins with one.
pub(super) fn other_drive_case(path: &str) -> Option<String> {
    let drive = path.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = path[1..].strip_prefix(':')?;
    let other = if drive.is_ascii_lowercase() {
        drive.to_ascii_uppercase()
    } else {
        drive.to_ascii_lowercase()
    };
    Some(format!("{other}:{rest}"))
}

/// Returns the folders above an absolute path of either kind of system, the innermost first.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let at = rest.rfind(['/', '\\'])?;
        rest = &rest[..at];
        (!rest.is_empty()).then_some(rest)
    })
}

/// Returns the folder that several files have in common, if it is deeper than a home folder.
pub(super) fn common_folder(paths: &[String]) -> Option<String> {
    let (first, rest) = paths.split_first()?;
    let common = ancestors(first).find(|folder| {
        let inside = |path: &String| {
            path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
        };
        rest.iter().all(inside)
    })?;
    let depth = common.split(['/', '\\']).filter(|part| !part.is_empty()).count();
    (depth > 2 && !rest.is_empty()).then(|| common.to_owned())
}

/// Returns the SHA-256 of a path in hexadecimal digits, which identifies a project without a known
/// path.
pub fn hash_of(path: &str) -> String {
    let hash = Sha256::digest(path);
    let digits = hash.iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(*byte)]);
    digits.map(char::from).collect()
}

/// Returns whether a text is such a hash.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the last component of a path of either kind of system.
pub fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches(['/', '\\']);
    trimmed.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// Returns whether an agent's folder is named by the hash of its project.
pub fn is_hash_folder(folder: &Path) -> bool {
    is_hash(&folder.file_name().unwrap_or_default().to_string_lossy())
}

/// Returns whether a path is absolute on either kind of system. Of network paths, those of the Linux distributions on
/// a Windows machine are: looking at another server must not be up to a session.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path) || is_in_wsl(path)
}

/// Returns whether a path leads from Windows into one of its Linux distributions.
fn is_in_wsl(path: &str) -> bool {
    let server = path.strip_prefix(r"\\").and_then(|rest| rest.split('\\').next());
    server.is_some_and(|server| {
        server.eq_ignore_ascii_case("wsl.localhost") || server.eq_ignore_ascii_case("wsl$")
    })
}

/// Returns the beginning of a project's hash, never of a folder's name, so that a copied folder
/// gives the same.
pub fn short_hash(project: &Project) -> String {
    let hash = project.path.as_deref().map(hash_of);
    let hash = project.hash.clone().filter(|hash| is_hash(hash)).or(hash);
    hash.map_or_else(|| "unknown".to_owned(), |hash| hash[..8].to_owned())
}
