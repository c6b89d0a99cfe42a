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
