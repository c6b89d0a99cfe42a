//! Parses queries: words, phrases, and conditions on the message that contains them.
//!
//! `cart "add a till" price* -draft (red OR blue) project:shop` becomes a tree of terms and a list
//! of conditions. Errors have their position in the query.

use std::ops::Range;

use jiff::Zoned;

use super::filter::{Condition, Filters};
use super::token::{Form, each_token};

/// A parsed query.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// None if there are only conditions.
    pub words: Option<Node>,
    /// The conditions.
    pub filters: Filters,
}

/// A node of the tree of terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A word or a phrase.
    Term(Term),
    /// All of the first list, and none of the second.
    And(Vec<Node>, Vec<Node>),
    /// Any of the list.
    Or(Vec<Node>),
}

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The text as typed.
    pub text: String,
    /// Its tokens in order, and, if it is one word written `likeThis`, those of its parts. Any of
    /// these phrases matches; none is empty.
    pub phrases: Vec<Vec<String>>,
    /// Whether the last token is only the beginning of a word.
    pub prefix: bool,
}

/// A problem of a query, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct QueryError {
    /// A description of the problem.
    pub what: String,
    /// The position in bytes.
    pub at: Range<usize>,
}

/// The deepest nesting of parentheses; anything deeper is a mistake.
const DEEPEST: usize = 32;

impl Query {
    /// Parses a query; `now` is the reference for `7d` and `yesterday`.
    pub fn parse(text: &str, now: &Zoned) -> Result<Self, QueryError> {
        let mut parser =
            Parser { text, lexemes: lex(text)?, at: 0, now, filters: Filters::default() };
        let words = parser.any(0)?;
        if let Some(lexeme) = parser.lexemes.get(parser.at) {
            return fail("`)` closes nothing", lexeme.at.clone());
        }
        let words = words.map(|(node, _)| node);
        Ok(Self { words, filters: parser.filters })
    }

    /// Returns the terms that must or may occur, from left to right.
    pub fn terms(&self) -> Vec<&Term> {
        let mut out = Vec::new();
        if let Some(words) = &self.words {
            words.collect(&mut out);
        }
        out
    }
}

impl Node {
    fn collect<'a>(&'a self, out: &mut Vec<&'a Term>) {
        match self {
            Self::Term(term) => out.push(term),
            Self::And(all, _) | Self::Or(all) => all.iter().for_each(|node| node.collect(out)),
        }
    }

    /// Returns the query in the syntax of the index. It consists only of our own tokens, so that
    /// nothing that was typed is syntax there. `columns` are those to search; empty for all.
    pub fn expression(&self, columns: &str) -> String {
        let only = if columns.is_empty() { String::new() } else { format!("{{{columns}}} : ") };
        let join = |nodes: &[Self], with: &str| {
            nodes.iter().map(|node| node.expression(columns)).collect::<Vec<_>>().join(with)
        };
        match self {
            Self::Term(term) => {
                let star = if term.prefix { " *" } else { "" };
                let phrase = |tokens: &Vec<String>| format!("{only}\"{}\"{star}", tokens.join(" "));
                let phrases: Vec<String> = term.phrases.iter().map(phrase).collect();
                format!("({})", phrases.join(" OR "))
            }
            Self::Or(any) => format!("({})", join(any, " OR ")),
            Self::And(all, none) if none.is_empty() => format!("({})", join(all, " AND ")),
            Self::And(all, none) => {
                format!("(({}) NOT ({}))", join(all, " AND "), join(none, " OR "))
            }
        }
    }
}

impl Term {
    /// Creates a term. Returns `None` if the text contains nothing to search for.
    pub fn new(text: &str, prefix: bool) -> Option<Self> {
        let mut tokens: Vec<(String, Form, usize)> = Vec::new();
        let mut parts = Vec::new();
        each_token(text, &mut |token| match token.form {
            Form::Part => parts.push(token.text.to_owned()),
            Form::Gap => {}
            form => tokens.push((token.text.to_owned(), form, token.end)),
        });
        let mut prefix = prefix;
        if let [.., before, last] = &tokens[..]
            && (before.1, last.1, before.2) == (Form::Pair, Form::Last, last.2)
        {
            // The run may continue in the text.
            tokens.pop();
        } else if tokens.last().is_some_and(|last| last.1 == Form::Last) {
            prefix = true;
        }
        if tokens.is_empty() {
            return None;
        }
        let is_one = tokens.len() == 1;
        let mut phrases = vec![tokens.into_iter().map(|(token, ..)| token).collect()];
        if is_one && !parts.is_empty() {
            phrases.push(parts);
        }
        Some(Self { text: text.to_owned(), phrases, prefix })
    }
}

#[derive(Debug, Clone)]
struct Lexeme {
    what: TokenKind,
    at: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TokenKind {
    Open,
    Close,
    Or,
    Not,
    Word { text: String, prefix: bool },
    Filter { key: &'static str, value: String },
}

fn fail<T>(what: impl Into<String>, at: Range<usize>) -> Result<T, QueryError> {
    Err(QueryError { what: what.into(), at })
}

fn lex(text: &str) -> Result<Vec<Lexeme>, QueryError> {
    let mut out: Vec<Lexeme> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let what = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '-' if begins_term(&text[at + 1..]) => TokenKind::Not,
            '"' => {
                let (value, end) = quoted(text, at)?;
                at = end;
                let prefix = text[at..].starts_with('*');
                at += usize::from(prefix);
                out.push(Lexeme { what: TokenKind::Word { text: value, prefix }, at: start..at });
                continue;
            }
            _ => {
                let (what, end) = word(text, at)?;
                at = end;
                out.push(Lexeme { what, at: start..at });
                continue;
            }
        };
        at += 1;
        out.push(Lexeme { what, at: start..at });
    }
    Ok(out)
}

/// Returns whether a dash before `rest` excludes a term; elsewhere it is just a dash.
fn begins_term(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '(' | '_' | '/' | '.'))
}

/// Returns the text of a quote that opens at `at`, and its end.
fn quoted(text: &str, at: usize) -> Result<(String, usize), QueryError> {
    match text[at + 1..].find('"') {
        Some(length) => {
            let end = at + 1 + length;
            Ok((text[at + 1..end].to_owned(), end + 1))
        }
        None => fail("the quote is never closed", at..text.len()),
    }
}

fn word(text: &str, at: usize) -> Result<(TokenKind, usize), QueryError> {
    let rest = &text[at..];
    if let Some((key, length)) = Condition::key(rest) {
        let from = at + length;
        let (value, end) = if text[from..].starts_with('"') {
            quoted(text, from)?
        } else {
            let end = from + text[from..].find(ends_word).unwrap_or(text.len() - from);
            (text[from..end].to_owned(), end)
        };
        if value.is_empty() {
            return fail(format!("`{key}:` what?"), at..end);
        }
        return Ok((TokenKind::Filter { key, value }, end));
    }
    let end = rest.find(ends_word).map_or(text.len(), |length| at + length);
    let word = &text[at..end];
    let what = match word {
        "OR" => TokenKind::Or,
        // It is implied between words anyway.
        "AND" => TokenKind::Word { text: String::new(), prefix: false },
        "NOT" => TokenKind::Not,
        _ => {
            let prefix = word.len() > 1 && word.ends_with('*');
            TokenKind::Word { text: word.trim_end_matches('*').to_owned(), prefix }
        }
    };
    Ok((what, end))
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '"')
}

struct Parser<'a> {
    text: &'a str,
    lexemes: Vec<Lexeme>,
    at: usize,
    now: &'a Zoned,
    filters: Filters,
}

type Part = Option<(Node, Range<usize>)>;

impl Parser<'_> {
    fn next_is(&self, what: &TokenKind) -> bool {
        self.lexemes.get(self.at).is_some_and(|lexeme| lexeme.what == *what)
    }

    /// Parses alternatives up to a closing parenthesis or the end. Returns `None` if they contain
    /// no words.
    fn any(&mut self, depth: usize) -> Result<Part, QueryError> {
        let mut nodes = Vec::new();
        let mut range: Option<Range<usize>> = None;
        loop {
            let conditions = self.filters.len();
            let part = self.all(depth)?;
            let is_alternative = range.is_some() || self.next_is(&TokenKind::Or);
            if is_alternative {
                let here = self
                    .lexemes
                    .get(self.at)
                    .map_or(self.text.len()..self.text.len(), |l| l.at.clone());
                if self.filters.len() > conditions {
                    return fail("a condition cannot be one side of `OR`", here);
                }
                if part.is_none() {
                    return fail("there must be a word on both sides of `OR`", here);
                }
            }
            if let Some((node, at)) = part {
                let start = range.as_ref().map_or(at.start, |range| range.start);
                range = Some(start..at.end);
                nodes.push(node);
            }
            if !self.next_is(&TokenKind::Or) {
                break;
            }
            self.at += 1;
        }
        let node = if nodes.len() > 1 { Some(Node::Or(nodes)) } else { nodes.pop() };
        Ok(node.zip(range))
    }

    /// Parses terms that must all match, up to `OR`, a closing parenthesis or the end.
    fn all(&mut self, depth: usize) -> Result<Part, QueryError> {
        let (mut all, mut none) = (Vec::new(), Vec::new());
        let mut range: Option<Range<usize>> = None;
        while let Some(lexeme) = self.lexemes.get(self.at).cloned() {
            let mut negated = false;
            let mut here = lexeme;
            if here.what == TokenKind::Not {
                negated = true;
                self.at += 1;
                match self.lexemes.get(self.at).cloned() {
                    Some(next)
                        if !matches!(
                            next.what,
                            TokenKind::Or | TokenKind::Close | TokenKind::Not
                        ) =>
                    {
                        here = next;
                    }
                    _ => return fail("there is nothing behind it to leave out", here.at),
                }
            }
            let found: Part = match here.what {
                TokenKind::Or | TokenKind::Close => break,
                // Handled above.
                TokenKind::Not => None,
                TokenKind::Filter { key, value } => {
                    if depth > 0 {
                        return fail("a condition cannot stand in parentheses", here.at);
                    }
                    self.filters
                        .add(key, &value, negated, self.now)
                        .map_err(|what| QueryError { what, at: here.at })?;
                    self.at += 1;
                    continue;
                }
                TokenKind::Word { text, prefix } => {
                    self.at += 1;
                    Term::new(&text, prefix).map(|term| (Node::Term(term), here.at))
                }
                TokenKind::Open => {
                    if depth >= DEEPEST {
                        return fail("the parentheses are too deep", here.at);
                    }
                    self.at += 1;
                    let inside = self.any(depth + 1)?;
                    if !self.next_is(&TokenKind::Close) {
                        return fail("`(` is never closed", here.at);
                    }
                    self.at += 1;
                    inside
                }
            };
            if let Some((node, at)) = found {
                let start = range.as_ref().map_or(at.start, |range| range.start);
                range = Some(start..at.end);
                if negated { none.push(node) } else { all.push(node) }
            }
        }
        let Some(range) = range else { return Ok(None) };
        if all.is_empty() {
            return fail("there must be a word that is wanted beside those that are not", range);
        }
        let single = all.len() == 1 && none.is_empty();
        let node = if single { all.pop() } else { Some(Node::And(all, none)) };
        Ok(node.map(|node| (node, range)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Zoned {
        "2026-08-14T16:30:00+00:00[UTC]".parse().unwrap()
    }

    fn parsed(text: &str) -> String {
        let query = Query::parse(text, &now()).unwrap();
        query.words.map(|words| words.expression("")).unwrap_or_default()
    }

    fn error(text: &str) -> (String, String) {
        let error = Query::parse(text, &now()).unwrap_err();
        (text[error.at].to_owned(), error.what)
    }

    #[test]
    fn words_and_phrases() {
        assert_eq!(parsed("cart"), r#"("cart")"#);
        assert_eq!(parsed("add CART"), r#"(("add") AND ("cart"))"#);
        assert_eq!(parsed("\"add a cart\""), r#"("add a cart")"#);
        assert_eq!(parsed("search_file_content"), r#"("search file content")"#);
        assert_eq!(parsed("parseHttpHeader"), r#"("parsehttpheader" OR "parse http header")"#);
        assert_eq!(parsed("pri* \"add a ca\"*"), r#"(("pri" *) AND ("add a ca" *))"#);
        assert_eq!(parsed("日本語 語 \"語 a\""), r#"(("日本 本語") AND ("語" *) AND ("語 a"))"#);
        assert_eq!(parsed("https://example.org/a-b"), r#"("https example org a b")"#);
        assert_eq!(parsed("a AND b"), r#"(("a") AND ("b"))"#);
    }

    #[test]
    fn only_some_columns() {
        let query = Query::parse("ab -c", &now()).unwrap();
        let got = query.words.unwrap().expression("prompt reply");
        assert_eq!(got, r#"((({prompt reply} : "ab")) NOT (({prompt reply} : "c")))"#);
    }

    #[test]
    fn operators() {
        assert_eq!(parsed("a -b -\"c d\""), r#"((("a")) NOT (("b") OR ("c d")))"#);
        assert_eq!(parsed("a NOT b"), r#"((("a")) NOT (("b")))"#);
        assert_eq!(parsed("a OR b c"), r#"(("a") OR (("b") AND ("c")))"#);
        assert_eq!(parsed("(a OR b) c"), r#"((("a") OR ("b")) AND ("c"))"#);
        assert_eq!(
            parsed("a - b & c -- ?"),
            r#"(("a") AND ("b") AND ("c"))"#,
            "what is no word is passed over"
        );
        assert_eq!(parsed("state-of-the-art"), r#"("state of the art")"#);
        assert_eq!(parsed("or not and"), r#"(("or") AND ("not") AND ("and"))"#);
        assert_eq!(parsed("\"a\"b"), r#"(("a") AND ("b"))"#);
        assert_eq!(parsed(""), "");
    }

    #[test]
    fn nothing_that_is_typed_is_syntax_of_the_index() {
        assert_eq!(parsed("NEAR(a b)"), r#"(("near") AND (("a") AND ("b")))"#);
        assert_eq!(
            parsed("prompt : x ^y {z} + w"),
            r#"(("prompt") AND ("x") AND ("y") AND ("z") AND ("w"))"#
        );
        assert_eq!(
            parsed("a'; DROP TABLE words"),
            r#"(("a") AND ("drop") AND ("table") AND ("words"))"#
        );
    }

    #[test]
    fn mistakes_have_a_place() {
        let want = |text: &str, part: &str, what: &str| {
            assert_eq!(error(text), (part.to_owned(), what.to_owned()));
        };
        want("a \"b c", "\"b c", "the quote is never closed");
        want("a (b", "(", "`(` is never closed");
        want("a) b", ")", "`)` closes nothing");
        want("-a", "a", "there must be a word that is wanted beside those that are not");
        want("a OR -b", "b", "there must be a word that is wanted beside those that are not");
        want("a OR", "", "there must be a word on both sides of `OR`");
        want("OR a", "OR", "there must be a word on both sides of `OR`");
        want("a OR project:x", "", "a condition cannot be one side of `OR`");
        want("(project:x a)", "project:x", "a condition cannot stand in parentheses");
        want("a NOT", "NOT", "there is nothing behind it to leave out");
        want("a project:", "project:", "`project:` what?");
        assert!(error("since:soonish x").1.contains("`soonish` is not a time"));
        assert!(error("role:chef").1.contains("user, assistant, tool, system"));
        assert_eq!(error(&"(".repeat(100)).1, "the parentheses are too deep");
    }

    proptest! {
        /// Any text is parsed, or rejected at a position inside it.
        #[test]
        fn any_query(text in "[a-zé日 \"()*:ORN-]{0,40}|\\PC*") {
            match Query::parse(&text, &now()) {
                Ok(query) => query.terms().iter().for_each(|term| assert!(!term.phrases.is_empty())),
                Err(error) => assert!(text.get(error.at).is_some()),
            }
        }
    }
}
