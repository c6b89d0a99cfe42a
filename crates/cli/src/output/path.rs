//! Paths as they are shown to people.

use std::path::Path;

/// Returns the path with the home folder written as `~`.
pub(crate) fn tilde(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_is_a_tilde() {
        let show = |path: &str| tilde(Path::new(path), Some(Path::new("/home/dev")));
        assert_eq!(show("/home/dev"), "~");
        assert_eq!(show("/home/devil/x"), "/home/devil/x");
        assert_eq!(show("/home/dev/.gemini").replace('\\', "/"), "~/.gemini");
        assert_eq!(tilde(Path::new("/x"), None), "/x");
    }
}
