//! Hashes that show the index whether a message or a label has changed.

use crate::archive::fingerprint::Fingerprint;
use crate::archive::stamp::Stamp;
use crate::assemble::{MessageEntry, SessionFacts};
use crate::facts::Span;
use crate::model::Message;

pub(super) fn label(name: Option<&String>, tags: Option<&Vec<String>>) -> i64 {
    let mut stamp = Stamp::default();
    stamp.maybe(name, |stamp, name| stamp.text(name));
    for tag in tags.into_iter().flatten() {
        stamp.text(tag);
    }
    stamp.finish()
}

/// Returns a hash of the positions of a message's records and of its facts from the scan.
pub(super) fn stamp(assembled: &SessionFacts, placed: &MessageEntry) -> i64 {
    let said = &placed.facts;
    let mut stamp = Stamp::default();
    stamp.text(said.kind.name()).text(said.fate.name());
    stamp.maybe(said.at, |stamp, at| stamp.number(at.as_nanosecond()));
    stamp.maybe(said.model.as_deref(), Stamp::text).maybe(said.typed.as_deref(), Stamp::text);
    for place in &placed.places {
        let source = &assembled.files[place.file];
        let number = source.archived.as_ref().map(|archived| archived.number);
        stamp.maybe(number, |stamp, number| stamp.number(number.into()));
        match &place.span {
            Span::Inline(text) => stamp.text(text),
            Span::File { offset, length } => {
                stamp.number((*offset).into()).number((*length).into())
            }
        };
        // A log only grows; a document is rewritten.
        if assembled.documents[place.file] {
            let modified = Fingerprint::of(source).modified;
            stamp.number(source.size.into());
            stamp.maybe(modified, |stamp, at| stamp.number(at.into()));
        }
    }
    stamp.finish()
}

/// Returns a hash of the content of a message; 0 if it is empty.
pub(super) fn content(message: &Message) -> i64 {
    let words = message.words().trim();
    if words.is_empty() && message.tool_calls.is_empty() {
        return 0;
    }
    let mut stamp = Stamp::default();
    stamp.text(words);
    for call in &message.tool_calls {
        stamp.text(&call.name.name);
        stamp.maybe(call.args.as_ref(), |stamp, args| stamp.text(args.get()));
    }
    stamp.finish()
}
