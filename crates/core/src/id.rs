//! Recognizes ids of sessions and messages.

/// Returns whether an id is a UUID, which can only belong to one session or message.
pub fn is_uuid(id: impl AsRef<[u8]>) -> bool {
    let id = id.as_ref();
    id.len() == 36
        && id.iter().enumerate().all(|(n, byte)| match n {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether an id identifies one message wherever copies of it are: a UUID, or an id that
/// the API of a vendor made. Ids that count within a session are shorter.
pub fn is_unique(id: &str) -> bool {
    id.len() >= 20 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
