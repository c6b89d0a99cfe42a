//! Locates the words of a query in a text: for snippets, for text that is not indexed, and to check
//! the index.

use std::ops::Range;

use regex::Regex;

use super::field::{Fields, Piece, Where};
use super::query::{Node, Query, Term};
use super::token::each_token;

/// The thing to search for.
#[derive(Debug)]
pub enum Finder<'a> {
    /// The words of a query.
    Words(&'a Query),
    /// A regular expression.
    Pattern(&'a Regex),
}

/// A text that matches at least in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMatch {
    /// Its place among the pieces.
    pub piece: usize,
    /// The field it belongs to.
    pub field: Where,
    /// The matches in bytes; sorted and disjoint.
    pub marks: Vec<Range<usize>>,
    /// The number of terms that it contains.
    pub terms: usize,
}

impl Finder<'_> {
    /// Returns the matches in a message, or `None` if the message as a whole does not match.
    pub fn find(&self, fields: &Fields<'_>, only: &[Where]) -> Option<Vec<FieldMatch>> {
        let wanted = |piece: &Piece<'_>| only.contains(&piece.field);
        match self {
            Self::Pattern(pattern) => {
                let mut out = Vec::new();
                for (n, piece) in
                    fields.pieces.iter().enumerate().filter(|(_, piece)| wanted(piece))
                {
                    let marks: Vec<_> =
                        pattern.find_iter(&piece.text).map(|found| found.range()).collect();
                    if !marks.is_empty() {
                        out.push(FieldMatch { piece: n, field: piece.field, marks, terms: 1 });
                    }
                }
                (!out.is_empty()).then_some(out)
            }
            Self::Words(query) => {
                let streams: Vec<(usize, Where, Stream)> = fields
                    .pieces
                    .iter()
                    .enumerate()
                    .filter(|(_, piece)| wanted(piece))
                    .map(|(n, piece)| (n, piece.field, Stream::of(&piece.text)))
                    .collect();
                let words = query.words.as_ref();
                if words.is_some_and(|words| !holds(words, &streams)) {
                    return None;
                }
                let terms = query.terms();
                Some(
                    streams
                        .iter()
                        .filter_map(|(n, field, stream)| stream.found(*n, *field, &terms))
                        .collect(),
                )
            }
        }
    }

    /// Returns the matches in one text, regardless of the rest of the query.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            Self::Pattern(pattern) => pattern.find_iter(text).map(|found| found.range()).collect(),
            Self::Words(query) => {
                let found = Stream::of(text).found(0, Where::Reply, &query.terms());
                found.map(|found| found.marks).unwrap_or_default()
            }
        }
    }
}

fn holds(node: &Node, streams: &[(usize, Where, Stream)]) -> bool {
    match node {
        Node::Term(term) => {
            streams.iter().any(|(_, _, stream)| !stream.places(term, true).is_empty())
        }
        Node::Or(any) => any.iter().any(|node| holds(node, streams)),
        Node::And(all, none) => {
            all.iter().all(|node| holds(node, streams))
                && !none.iter().any(|node| holds(node, streams))
        }
    }
}

/// The tokens of a text and their positions.
struct Stream {
    tokens: String,
    /// The token's end in `tokens`, and its position in the text.
    places: Vec<(usize, Range<usize>)>,
}

impl Stream {
    fn of(text: &str) -> Self {
        let (mut tokens, mut places) = (String::new(), Vec::new());
        each_token(text, &mut |token| {
            tokens.push_str(token.text);
            places.push((tokens.len(), token.start..token.end));
        });
        Self { tokens, places }
    }

    fn token(&self, n: usize) -> &str {
        let start = n.checked_sub(1).map_or(0, |before| self.places[before].0);
        &self.tokens[start..self.places[n].0]
    }

    fn places(&self, term: &Term, one_is_enough: bool) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        for phrase in &term.phrases {
            for n in 0..(self.places.len() + 1).saturating_sub(phrase.len()) {
                let fits = phrase.iter().enumerate().all(|(at, wanted)| {
                    let token = self.token(n + at);
                    if term.prefix && at + 1 == phrase.len() {
                        token.starts_with(wanted)
                    } else {
                        token == wanted
                    }
                });
                if fits {
                    out.push(self.places[n].1.start..self.places[n + phrase.len() - 1].1.end);
                    if one_is_enough {
                        return out;
                    }
                }
            }
        }
        out
    }

    fn found(&self, piece: usize, field: Where, terms: &[&Term]) -> Option<FieldMatch> {
        let places = terms.iter().map(|term| self.places(term, false));
        let (mut marks, mut count) = (Vec::new(), 0);
        for places in places {
            count += usize::from(!places.is_empty());
            marks.extend(places);
        }
        if marks.is_empty() {
            return None;
        }
        marks.sort_by_key(|mark| (mark.start, mark.end));
        marks.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
        Some(FieldMatch { piece, field, marks, terms: count })
    }
}
