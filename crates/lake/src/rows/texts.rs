//! The rows of texts, if the policy allows them.

use backstory_core::redact::Redactor;
use backstory_core::search::each_token;
use backstory_core::{Archive, ArchiveError, SessionFacts, View};

use super::Rows;
use crate::filter::Filter;
use crate::tables::{SessionRow, TextRow};
use crate::value::count;

/// Adds the messages of a session, without their secrets.
pub(super) fn add(
    rows: &mut Rows,
    archive: &Archive,
    filter: &Filter<'_>,
    assembled: &SessionFacts,
    session: &SessionRow,
) -> Result<(), ArchiveError> {
    let id = &assembled.session.id;
    let messages = archive
        .reader()
        .transcript(assembled, View::Full, &|_| None)
        .map_err(|error| ArchiveError::Read(id.to_string(), error))?;
    let mut redactor = Redactor::new(&filter.rules);
    for message in &messages {
        redactor.text(&message.text);
    }
    // A secret may be recognizable in one message only.
    redactor.learn();
    for (position, message) in messages.iter().enumerate() {
        let text = redactor.text(&message.text).replace('\0', "");
        if text.trim().is_empty() {
            continue;
        }
        rows.push(
            filter,
            TextRow {
                session: session.session.clone(),
                position: count(position),
                agent: session.agent.clone(),
                project: session.project.clone(),
                occurred_at: message.at,
                role: message.role.name().into(),
                kind: message.kind.name().into(),
                words: words(&text).into(),
                text: text.into(),
            },
        );
    }
    Ok(())
}

/// Returns the tokens of a text, separated by spaces.
fn words(text: &str) -> String {
    let mut words = String::new();
    each_token(text, &mut |token| {
        if !token.text.is_empty() {
            words.push_str(token.text);
            words.push(' ');
        }
    });
    words.truncate(words.trim_end().len());
    words
}
