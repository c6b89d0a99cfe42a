//! Defines the ids of sessions, messages and tool calls, so that one is never taken for another.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// Defines an id: a text that is compared and stored as it was recorded.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// Returns the text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns whether it is a UUID, see [`is_uuid`].
            pub fn is_uuid(&self) -> bool {
                is_uuid(self.as_bytes())
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<T: Into<Box<str>>> From<T> for $name {
            fn from(id: T) -> Self {
                Self(id.into())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                *self.0 == *other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self.0 == **other
            }
        }
    };
}

id! {
    /// Identifies a session among all sessions.
    SessionId
}

id! {
    /// Identifies a message within its session.
    MessageId
}

id! {
    /// Identifies a tool call within its session.
    ToolCallId
}

impl MessageId {
    /// Returns whether it is only the place of a message in a list, because its record has no id.
    pub fn is_nameless(&self) -> bool {
        self.is_empty() || self.starts_with('#')
    }
}

/// Returns whether an id is a UUID, which can only belong to one session or message.
pub fn is_uuid(id: impl AsRef<[u8]>) -> bool {
    let id = id.as_ref();
    id.len() == 36
        && id.iter().enumerate().all(|(n, byte)| match n {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns the hexadecimal digit of the lower half of a byte. Formatting takes several times as long.
pub(crate) fn hex_digit(byte: u8) -> u8 {
    b"0123456789abcdef"[usize::from(byte & 15)]
}

/// Returns whether an id identifies one message wherever copies of it are: a UUID, or an id that
/// the API of a vendor made. Ids that count within a session are shorter.
pub fn is_unique(id: &str) -> bool {
    id.len() >= 20 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Archives and documents contain ids as texts.
        #[test]
        fn an_id_is_stored_like_its_text(text in ".*") {
            let id = SessionId::from(text.as_str());
            let stored = postcard::to_stdvec(&id).unwrap();
            prop_assert_eq!(&stored, &postcard::to_stdvec(&text).unwrap());
            prop_assert_eq!(postcard::from_bytes::<SessionId>(&stored).unwrap(), id.clone());
            prop_assert_eq!(serde_json::to_string(&id).unwrap(), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn an_id_is_found_and_sorted_by_its_text(a in "[ab]{0,3}", b in "[ab]{0,3}") {
            let ids = HashMap::from([(MessageId::from(a.as_str()), 1)]);
            prop_assert_eq!(ids.contains_key(b.as_str()), a == b);
            prop_assert_eq!(MessageId::from(a.as_str()).cmp(&b.as_str().into()), a.cmp(&b));
        }
    }
}
