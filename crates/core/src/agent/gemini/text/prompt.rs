//! Separates typed text from the files that Gemini CLI appended to it.

use crate::agent::gemini::format::content::Part;
use crate::agent::gemini::format::record::Fields;
use crate::model::Reference;
use crate::read::json::{self, Raw};

/// In the middle of the text before 0.28, and a separate part since then.
const REFERENCES: &str = "--- Content from referenced files ---";
const END: &str = "--- End of content ---";

/// Returns the typed text of a user record, and whether the record itself separates it.
pub(crate) fn typed(fields: &Fields<'_>) -> (String, bool) {
    // `displayContent` has been seen to contain a function response next to a typed content.
    if let Some(shown) = fields.display.map(text).filter(|text| !text.trim().is_empty()) {
        return (trimmed(shown), true);
    }
    let mut all = String::new();
    match (&fields.parts, fields.content) {
        (Some(parts), _) => {
            parts.iter().filter_map(Part::text).for_each(|text| push_text(text, &mut all));
        }
        (None, Some(content)) => push_text(content, &mut all),
        (None, None) => {}
    }
    if let Some(words) = steering(&all) {
        return (words.to_owned(), true);
    }
    if let Some(end) = memchr::memmem::find(all.as_bytes(), REFERENCES.as_bytes()) {
        all.truncate(end);
    }
    (trimmed(all), false)
}

/// Returns text that was typed while the model worked, which Gemini CLI wraps in instructions.
fn steering(text: &str) -> Option<&str> {
    let wrapped = text.trim_start().strip_prefix("User steering update:")?;
    let (_, inside) = wrapped.split_once("<user_input>")?;
    let end = inside.rfind("</user_input>").unwrap_or(inside.len());
    Some(inside[..end].trim())
}

/// Trims the text and releases unused memory, because prompts can be long.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    text.drain(..text.len() - text.trim_start().len());
    text.shrink_to_fit();
    text
}

/// Returns all text of a content, which is a string, a part or a list of parts; thoughts are not
/// text.
pub(crate) fn text(content: Raw<'_>) -> String {
    let mut out = String::new();
    push_text(content, &mut out);
    out
}

fn push_text(content: Raw<'_>, out: &mut String) {
    match content.get().as_bytes().first() {
        Some(b'"') => {
            out.reserve(content.get().len());
            json::push_string(content, out);
        }
        Some(b'[') => {
            let _ = json::each_element(content.get(), |part| {
                if !part.get().starts_with('[') {
                    push_text(part, out);
                }
            });
        }
        Some(b'{') => {
            let (mut text, mut thought) = (None, false);
            let _ = json::each_field(content.get(), |key, value| match &*key {
                b"text" => text = Some(value).filter(|value| value.get().starts_with('"')),
                b"thought" => thought = json::is_truthy(value),
                _ => {}
            });
            if let Some(text) = text.filter(|_| !thought) {
                push_text(text, out);
            }
        }
        _ => {}
    }
}

/// Returns the files whose content follows the prompt.
pub(crate) fn references(text: &str) -> Vec<Reference> {
    let Some((_, behind)) = text.split_once(REFERENCES) else { return Vec::new() };
    let behind = behind.rsplit_once(END).map_or(behind, |(inside, _)| inside);
    let mut out = Vec::new();
    let mut rest = behind;
    while let Some((path, after)) = next_reference(rest) {
        let end = next_start(after).unwrap_or(after.len());
        out.push(Reference { path: path.to_owned(), bytes: after[..end].trim().len() as u64 });
        rest = &after[end..];
    }
    out
}

const START: &str = "Content from @";

fn next_start(text: &str) -> Option<usize> {
    text.match_indices(START).map(|(at, _)| at).find(|at| {
        let begins_a_line = *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let line = text[*at..].lines().next().unwrap_or_default();
        begins_a_line && line.trim_end().ends_with(':')
    })
}

/// Returns the path of the next reference and the text after its line.
fn next_reference(text: &str) -> Option<(&str, &str)> {
    let from = next_start(text)?;
    let line = text[from..].lines().next()?;
    let path = line.trim_end().strip_prefix(START)?.strip_suffix(':')?;
    Some((path, text[from + line.len()..].trim_start_matches(['\r', '\n'])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::gemini::format::record::Element;

    fn raw(text: &str) -> Raw<'_> {
        Raw::new(text).unwrap()
    }

    /// Returns the typed text of a complete record.
    fn typed_in(content: &str, display: &str) -> (String, bool) {
        let record = format!(r#"{{"content":{content},"displayContent":{display}}}"#);
        typed(&Element::new(&record).unwrap().message.unwrap().fields)
    }

    #[test]
    fn both_eras_of_file_references() {
        let old = raw(
            r#""look at @a.md and @b.md\n--- Content from referenced files ---\nContent from @a.md:\n# A\nContent from @b.md:\nbee\n--- End of content ---""#,
        );
        let new = raw(
            r##"[{"text":"look at @a.md and @b.md"},{"text":"\n--- Content from referenced files ---"},
                {"text":"\nContent from @a.md:\n"},{"text":"# A"},{"text":"\nContent from @b.md:\n"},
                {"text":"bee"},{"text":"\n--- End of content ---"}]"##,
        );
        for content in [old, new] {
            let got = typed_in(content.get(), "null");
            assert_eq!(got, ("look at @a.md and @b.md".to_owned(), false));
            let reference = |path: &str, bytes| Reference { path: path.to_owned(), bytes };
            assert_eq!(references(&text(content)), [reference("a.md", 3), reference("b.md", 3)]);
        }
    }

    #[test]
    fn what_was_typed_while_the_model_worked() {
        let update = r#""User steering update:\n<user_input>\nuse a </user_input> tag\n</user_input>\nInternal instruction: go on""#;
        assert_eq!(typed_in(update, "null"), ("use a </user_input> tag".to_owned(), true));
        assert_eq!(
            typed_in(r#""User steering update: none""#, "null").0,
            "User steering update: none"
        );
    }

    #[test]
    fn display_content_has_the_word_unless_it_has_none() {
        let content = r#"[{"text":"typed\n<hook_context>x</hook_context>"}]"#;
        let response = r#"[{"functionResponse":{"id":"c"}}]"#;
        let got = typed_in(content, r#"[{"text":" typed "}]"#);
        assert_eq!(got, ("typed".to_owned(), true));
        assert!(typed_in(content, response).0.starts_with("typed\n<hook"));
        assert_eq!(typed_in("null", "null").0, "");
        // In whatever form the content is read.
        for thinking in [
            r#"[{"text":"hm","thought":true},{"text":"yes"},7]"#,
            r#"[{"text":"hm","thought":true},{"text":"yes"},["no"]]"#,
        ] {
            assert_eq!(typed_in(thinking, "null").0, "yes");
            assert_eq!(text(raw(thinking)), "yes");
        }
    }
}
