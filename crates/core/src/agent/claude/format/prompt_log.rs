//! Reads `history.jsonl`, which records every line typed in a terminal, including those of deleted sessions.

use std::borrow::Cow;
use std::io::{self, Read};

use jiff::Timestamp;

use crate::facts::{PromptLine, SESSIONLESS};
use crate::read::json::{self, Raw};
use crate::read::lines::{Lines, Position};
use crate::read::{decode, unpadded};

/// A typed line.
#[derive(Debug, Default)]
pub(super) struct Typed {
    text: String,
    at: Option<Timestamp>,
    session: Option<String>,
    project: String,
}

/// Reads one line of the log. Returns `None` if it is not a line of a prompt log.
pub(super) fn line(text: &str) -> Option<Typed> {
    let mut typed = Typed::default();
    let (mut display, mut project, mut pasted) = (None, None, None);
    json::each_field(text, |key, value| match &*key {
        b"display" => display = json::string(value),
        b"pastedContents" => pasted = Some(value),
        b"project" => project = json::string(value),
        b"timestamp" => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a time that is out of range is none"
            )]
            let millisecond = json::number(value.get()).map(|number| number as i64);
            typed.at = millisecond.and_then(|at| Timestamp::from_millisecond(at).ok());
        }
        b"sessionId" => typed.session = json::string(value).map(Cow::into_owned),
        _ => {}
    })
    .ok()?;
    typed.text = with_pasted(display?.into_owned(), pasted);
    typed.project = project?.into_owned();
    Some(typed)
}

/// Replaces the placeholders of pasted texts, such as `[Pasted text #1 +20 lines]`, by the texts.
pub(super) fn with_pasted(mut text: String, pasted: Option<Raw<'_>>) -> String {
    let Some(pasted) = pasted else { return text };
    let _ = json::each_field(pasted.get(), |number, value| {
        let mut content = None;
        let _ = json::each_field(value.get(), |key, value| {
            if &*key == b"content" {
                content = json::string(value);
            }
        });
        let opening = format!("[Pasted text #{}", json::to_text(number));
        let place = text.match_indices(&opening).find_map(|(from, _)| {
            let rest = &text[from + opening.len()..];
            let end = rest
                .find(']')
                .filter(|end| !rest[..*end].starts_with(|c: char| c.is_ascii_digit()))?;
            Some(from..from + opening.len() + end + 1)
        });
        if let (Some(content), Some(place)) = (content, place) {
            text.replace_range(place, &content);
        }
    });
    text
}

/// Reads a prompt log. Lines of old versions do not record the session.
pub(super) fn read(input: impl Read) -> io::Result<Vec<PromptLine>> {
    let mut lines = Lines::new(input, Position::default());
    let mut out = Vec::new();
    while let Some(found) = lines.next()? {
        let Some(Typed { text, at, session, project }) = line(unpadded(&decode(found.bytes)))
        else {
            continue;
        };
        let session = session.filter(|session| !session.is_empty());
        let session = session.unwrap_or_else(|| format!("{SESSIONLESS}{project}")).into();
        out.push(PromptLine { session, number: found.number, at, text, project: Some(project) });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_texts_are_part_of_what_was_typed() {
        let text = |display: &str| {
            let pasted = r#"{"1":{"type":"text","content":"a\nb"},"12":{"content":"z"},"2":{"type":"image"}}"#;
            let line =
                format!(r#"{{"display":"{display}","pastedContents":{pasted},"project":"/p"}}"#);
            line_text(&line)
        };
        assert_eq!(text("see [Pasted text #1 +1 lines] and"), "see a\nb and");
        assert_eq!(text("[Pasted text #12][Pasted text #1]"), "za\nb");
        assert_eq!(text("[Image #2] [Pasted text #9] ]["), "[Image #2] [Pasted text #9] ][");
    }

    fn line_text(text: &str) -> String {
        line(text).unwrap().text
    }
}
