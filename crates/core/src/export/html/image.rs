//! Embeds the images of a message in the page.

use std::borrow::Cow;

use crate::model::Attachment;
use crate::read::json::{self, Raw};

/// The largest image to embed, and the most bytes of images per page. Others are only named.
const LARGEST: u64 = 2_000_000;
const MOST: u64 = 20_000_000;

/// The bytes of images embedded so far.
#[derive(Debug, Default)]
pub(super) struct Room(u64);

impl Room {
    /// Returns the image as a data URL, if it is one and within the limits. SVG is code, not an
    /// image.
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

/// Returns the recorded data in base64.
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
