//! File names for sessions: readable, stable, and valid on every system.

use std::collections::BTreeMap;

use backstory_core::model::{Session, SessionId};
use backstory_core::projects::hash_of;

/// File names by session id.
pub(super) type Names = BTreeMap<SessionId, String>;

/// Returns a unique name for each session, even on case-insensitive file systems.
pub(super) fn names<'a>(sessions: impl Iterator<Item = &'a Session>, ending: &str) -> Names {
    let mut by_name: BTreeMap<String, Vec<&Session>> = BTreeMap::new();
    for session in sessions {
        by_name.entry(name(session, &short_id(session))).or_default().push(session);
    }
    let mut out = Names::new();
    for (known, sessions) in by_name {
        for session in &sessions {
            let stem = match sessions.len() {
                1 => known.clone(),
                _ => name(session, &hash_of(&session.id)[..16]),
            };
            out.insert(session.id.clone(), format!("{stem}.{ending}"));
        }
    }
    out
}

/// Returns a name such as `2026-08-14_shop_add-a-cart_3f2a91c7`. The day is in UTC, so that the time zone
/// does not change the name.
fn name(session: &Session, id: &str) -> String {
    let day = session.started.or(session.updated);
    let day = day.map_or_else(|| "undated".to_owned(), |at| at.strftime("%Y-%m-%d").to_string());
    let parts = [
        day,
        slug(&session.project.name, 24),
        slug(&unnumbered(&session.title().0), 48),
        id.to_owned(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// Removes the numbers from redaction markers, because they depend on the other exported sessions.
fn unnumbered(title: &str) -> String {
    let mut parts = title.split("[redacted:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (marker, rest) = part.split_once(']').unwrap_or((part, ""));
        let kind = marker.split(':').next().unwrap_or_default();
        out.extend(["redacted ", kind, " ", rest]);
    }
    out
}

/// Returns the first 8 characters of an id that is globally unique, or else of its hash.
fn short_id(session: &Session) -> String {
    if session.id.is_uuid() {
        return session.id[..8].to_ascii_lowercase();
    }
    hash_of(&session.id)[..8].to_owned()
}

/// Returns lower-case letters and digits with hyphens between words. A character takes at most 4 bytes, so
/// that the whole name stays within the usual limit of 255 bytes.
fn slug(text: &str, most: usize) -> String {
    const BYTES: usize = 96;
    let mut out = String::new();
    let mut length = 0;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        let added = word.chars().count() + usize::from(length > 0);
        if length + added > most || out.len() + word.len() + 1 > BYTES {
            // A first word that is too long is cut; a later one is dropped.
            if out.is_empty() {
                out.extend(word.chars().take(BYTES / 4));
            }
            break;
        }
        if length > 0 {
            out.push('-');
        }
        out.push_str(&word);
        length += added;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_file_names() {
        assert_eq!(slug("Add a /cart/, please: CON?", 24), "add-a-cart-please-con");
        assert_eq!(slug("one two three four five six", 12), "one-two");
        assert_eq!(slug("../../etc/passwd", 48), "etc-passwd");
        assert_eq!(slug("Überprüfe 日本語 🥛", 48), "überprüfe-日本語");
        assert_eq!(slug(&"x".repeat(300), 48).len(), 24);
        assert!(slug(&"語".repeat(300), 48).len() <= 96);
        assert_eq!(slug("?!", 48), "");
        assert_eq!(slug(&unnumbered("use [redacted:jwt:12] now"), 48), "use-redacted-jwt-now");
    }
}
