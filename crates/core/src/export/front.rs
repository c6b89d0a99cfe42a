//! Writes the front matter of a Markdown file, for programs that collect such files.
//!
//! A renderer without support for front matter treats it as text. Anything that could be a tag, a
//! link or an image there is written as an escape, which YAML decodes and Markdown shows verbatim.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::document::Document;
use super::json::Time;
use crate::clean;
use crate::model::Bucket;

/// Writes the front matter. Each value is JSON, which is valid YAML.
pub(super) fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let session = document.session;
    let text = |text: &str| clean::line(text).into_owned();
    let (project, cost) = (&session.project, &document.cost);
    let fields = [
        ("title", json!(text(&session.title().0))),
        ("id", json!(text(&session.id))),
        ("agent", json!(session.agent.as_str())),
        ("kind", json!(session.kind.name())),
        ("parent", json!(session.parent.as_deref().map(text))),
        ("project", json!(text(&project.name))),
        ("path", json!(project.path.as_deref().map(text))),
        ("models", json!(session.models.iter().map(|model| text(model)).collect::<Vec<_>>())),
        ("started", json!(session.started.map(Time))),
        ("updated", json!(session.updated.map(Time))),
        ("prompts", json!(session.prompts)),
        ("calls", json!(session.calls)),
        ("tool_calls", json!(session.tool_calls)),
        ("cost_usd", json!(cost.usd)),
        ("at_least", json!(cost.at_least.then_some(true))),
        ("unpriced_calls", json!((cost.unpriced > 0).then_some(cost.unpriced))),
    ];
    writeln!(out, "---")?;
    for (name, value) in fields.iter().filter(|(_, value)| *value != Value::Null) {
        writeln!(out, "{name}: {}", inert(&value.to_string()))?;
    }
    writeln!(out, "usage:")?;
    for bucket in Bucket::ALL {
        writeln!(out, "  {}: {}", bucket.name(), session.usage.get(bucket))?;
    }
    writeln!(out, "  total: {}", session.usage.total())?;
    writeln!(out, "---")
}

/// Escapes characters with a meaning in Markdown inside the strings of a JSON value.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for c in json.chars() {
        match c {
            '<' | '>' | '[' | ']' | '`' | '&' if is_text => {
                out.extend(["\\u00", &format!("{:02x}", u32::from(c))]);
            }
            c => out.push(c),
        }
        is_text ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_same_value_without_markup(text in "[a<>\\[\\]`&!\\\\\"é]{0,12}") {
            let value = json!([text, {"k": text}]);
            let written = inert(&value.to_string());
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
            prop_assert!(!written.contains(['<', '>', '`', '&']) && written.matches('[').count() == 1);
        }
    }
}
