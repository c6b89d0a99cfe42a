//! Decides which links are safe.

/// Returns whether a link leads to the web or to an e-mail address.
pub(super) fn is_web(to: &str) -> bool {
    scheme(to).is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https" | "mailto"))
}

/// Returns whether a link is one of those, or relative to the document.
pub(super) fn is_harmless(to: &str) -> bool {
    scheme(to).is_none() || is_web(to)
}

/// Returns the scheme. Like browsers, it ignores white space and control characters.
fn scheme(to: &str) -> Option<String> {
    let to: String =
        to.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect::<String>();
    let end = to.find([':', '/', '?', '#'])?;
    to[end..].starts_with(':').then(|| to[..end].to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        for to in ["http://a", "HTTPS://a", "mailto:a@b", " https://a"] {
            assert!(is_web(to) && is_harmless(to), "{to:?}");
        }
        for to in ["src/a.rs", "#x", "/a:b", "?a:b", "", "//a.org"] {
            assert!(!is_web(to) && is_harmless(to), "{to:?}");
        }
        for to in [
            "javascript:x",
            "JaVa\tScript:x",
            " \u{1}javascript:x",
            "data:x",
            "file:///a",
            "a:b",
            ":x",
        ] {
            assert!(!is_web(to) && !is_harmless(to), "{to:?}");
        }
    }
}
