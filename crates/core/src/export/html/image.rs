//! Pictures of a message, put into the page itself.

use std::borrow::Cow;

use crate::model::Attachment;
use crate::read::json::{self, Raw};

/// A picture of more bytes is only named, and no page gets more of them together.
const LARGEST: u64 = 2_000_000;
const MOST: u64 = 20_000_000;

/// How much of it is used up.
#[derive(Debug, Default)]
pub(super) struct Room(u64);

impl Room {
    /// The picture as an address, if it is one and there is room. SVG is a program, not a picture.
    pub(super) fn address(&mut self, attachment: &Attachment) -> Option<String> {
        let mime = attachment.mime.as_str();
        let is_picture = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
        let fits = attachment.bytes <= LARGEST && self.0 + attachment.bytes <= MOST;
        if !is_picture || !fits {
            return None;
        }
        let data = data(attachment)?;
        let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        if data.is_empty() || !data.bytes().all(is_digit) {
            return None;
        }
        self.0 += attachment.bytes;
        Some(format!("data:{mime};base64,{data}"))
    }
}

/// What the agent recorded of it, in base64.
fn data(attachment: &Attachment) -> Option<Cow<'_, str>> {
    let inline = field(Raw::of(attachment.raw.as_ref()?), b"inlineData")?;
    json::string(field(inline, b"data")?)
}

fn field<'a>(object: Raw<'a>, name: &[u8]) -> Option<Raw<'a>> {
    let mut found = None;
    let _ = json::each_field(object.get(), |key, value| {
        if *key == *name {
            found = Some(value);
        }
    });
    found
}
