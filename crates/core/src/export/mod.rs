//! Writes sessions for others, with one file per format.
//!
//! For people: `markdown` and `html` write a [`Document`]; `tool` formats its tool calls, `front` is the front matter,
//! `index` lists many documents, and `escape` and `link` keep text by others harmless. For programs: `json` and
//! `events` write sessions, and `sessions`, `tools` and `usage` the answers of reports, as documents and as `plain` rows.

// Modules that are hidden serve the program.
mod document;
mod escape;
pub mod events;
mod front;
pub mod html;
#[doc(hidden)]
pub mod index;
pub mod json;
mod link;
pub mod markdown;
#[doc(hidden)]
pub mod plain;
#[doc(hidden)]
pub mod sessions;
#[doc(hidden)]
pub mod tool;
#[doc(hidden)]
pub mod tools;
#[doc(hidden)]
pub mod usage;

#[doc(hidden)]
pub use document::DEEPEST;
pub use document::{Agent, Agents, Document, Options};

use std::io::{self, Write};

use serde::Serialize;

/// Writes one line of JSON lines. Raw JSON of the agent in a row, such as arguments, may contain
/// line breaks.
fn write_line(row: &impl Serialize, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut line = serde_json::to_vec(row)?;
    if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        squeeze(&mut line);
    }
    line.push(b'\n');
    out.write_all(&line)
}

/// Removes white space between JSON tokens.
fn squeeze(json: &mut Vec<u8>) {
    let (mut in_string, mut escaped) = (false, false);
    json.retain(|byte| {
        let is_space = byte.is_ascii_whitespace();
        in_string ^= *byte == b'"' && !escaped;
        escaped = in_string && *byte == b'\\' && !escaped;
        in_string || !is_space
    });
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::write_line;

    #[test]
    fn a_line_is_one_line() {
        let raw = "{\n  \"a b\": [1,\r\n 2],\t\"c\\\" \\\\\": \"x  y\" }";
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        let mut out = Vec::new();
        write_line(&raw, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\"a b\":[1,2],\"c\\\" \\\\\":\"x  y\"}\n");
    }
}
