//! Pseudonyms that only the organisation's key can link to what they replace.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::value::Text;

/// The length of a pseudonym in bytes, before it is written in hexadecimal.
const LENGTH: usize = 16;

/// The organisation's key. All its machines have the same, so that their pseudonyms are equal.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    /// The fewest bytes of a key.
    pub(crate) const SHORTEST: usize = 16;

    /// Creates a key; `None` if it is too short to be a secret.
    pub(crate) fn new(secret: &[u8]) -> Option<Self> {
        if secret.len() < Self::SHORTEST {
            return None;
        }
        Hmac::new_from_slice(secret).ok().map(Self)
    }

    /// Returns the pseudonym of a text. Equal texts of different kinds have different pseudonyms.
    pub(crate) fn pseudonym(&self, kind: &str, text: &str) -> String {
        let mut mac = self.0.clone();
        for part in [kind, text] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        let mut hash = format!("{:x}", mac.finalize().into_bytes());
        hash.truncate(2 * LENGTH);
        hash
    }

    /// Returns the id of a session as it leaves. A random id says nothing; any other may contain the name or
    /// the hash of a folder.
    pub(crate) fn session(&self, id: &str) -> Text {
        // A hash of a folder has hexadecimal digits too, but not this form.
        let is_uuid = id.len() == 36
            && id.bytes().enumerate().all(|(at, b)| match at {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            });
        if is_uuid { id.into() } else { format!("x{}", self.pseudonym("session", id)).into() }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_depends_on_the_key_and_the_kind() {
        let key = Key::new(b"0123456789abcdef").unwrap();
        let other = Key::new(b"0123456789abcdeF").unwrap();
        let name = key.pseudonym("path", "/home/ada");
        assert_eq!(name.len(), 2 * LENGTH);
        assert_eq!(name, key.pseudonym("path", "/home/ada"));
        assert_ne!(name, other.pseudonym("path", "/home/ada"));
        assert_ne!(name, key.pseudonym("session", "/home/ada"));
        assert_ne!(key.pseudonym("a", "bc"), key.pseudonym("ab", "c"));
        assert!(Key::new(b"short").is_none());
    }

    #[test]
    fn only_random_session_ids_leave() {
        let key = Key::new(b"0123456789abcdef").unwrap();
        let id = "2c6f1a50-0000-4000-8000-000000000001";
        assert_eq!(&*key.session(id), id);
        let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        for id in ["checkpoint/3fa9/fix-login", "agent-1", "prompts:/home/ada", hash, &hash[..36]] {
            assert!(key.session(id).starts_with('x') && key.session(id).len() == 33, "{id}");
        }
    }
}
