//! Splits text into tokens, in the same way for the index and for queries.
//!
//! A token is a run of letters and digits, folded for case and accents. Everything else separates
//! tokens, so `search_file_content` and `src/main.rs` become their parts in order, and searching
//! for them is searching for the phrase. `parseHttpHeader` is one token, because `github` must
//! match `GitHub`; its parts follow after the text, separated from it. Scripts written without
//! spaces yield each pair of neighbours, and the last character of a run by itself.
//!
//! The only ASCII characters in tokens are `a` to `z` and digits, so the index splits at the spaces
//! between them and nowhere else.

use std::collections::HashSet;
use std::ops::Range;

use super::letter::{Letter, fold, is_ignored};

/// Separates texts that do not follow each other; it cannot occur in a query.
pub const GAP: &str = "·";

/// The length to which words are cut, in the index and in queries alike; longer ones are not real
/// words.
const LONGEST_TOKEN: usize = 64;

/// The first byte of an escape sequence.
const ESCAPE: u8 = 0x1B;

/// The relation of a token to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A word.
    Word,
    /// Two neighbours of a script without spaces.
    Pair,
    /// The last character of a run in such a script.
    Last,
    /// A part of a word that is written `likeThis`.
    Part,
    /// A separator between texts.
    Gap,
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The folded text.
    pub text: &'a str,
    /// Its form.
    pub form: Form,
    /// The start of its position in the text, always on a character boundary.
    pub start: usize,
    /// The end of its position in the text.
    pub end: usize,
}

/// Yields the tokens of a text in order: the text, then for each word `likeThis` a gap and its
/// parts.
pub fn each_token(text: &str, sink: &mut dyn FnMut(Token<'_>)) {
    let mut state = State {
        sink,
        word: String::new(),
        from: 0,
        humps: false,
        before: None,
        spaceless: None,
        camels: Vec::new(),
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() {
            at = state.run(text, at);
        } else if *byte == ESCAPE {
            if let Some(length) = escape(&bytes[at..]) {
                at += length;
            } else {
                state.end(at);
                at += 1;
            }
        } else if byte.is_ascii() {
            state.end(at);
            at += 1;
        } else {
            let Some(c) = text[at..].chars().next() else { break };
            state.wide(c, at);
            at += c.len_utf8();
        }
    }
    state.end(text.len());
    let State { camels, .. } = state;
    let mut seen = HashSet::new();
    for range in camels {
        if !seen.insert(&text[range.clone()]) {
            continue;
        }
        let parts = camel_parts(text, range.clone());
        if !parts.is_empty() {
            sink(Token { text: GAP, form: Form::Gap, start: range.start, end: range.start });
        }
        for (part, Range { start, end }) in parts {
            sink(Token { text: &part, form: Form::Part, start, end });
        }
    }
}

struct State<'a> {
    sink: &'a mut dyn FnMut(Token<'_>),
    /// The word so far, folded.
    word: String,
    from: usize,
    /// Whether it is written `likeThis`.
    humps: bool,
    /// Whether the previous letter was a capital.
    before: Option<bool>,
    /// The previous character and its position, if its script has no spaces.
    spaceless: Option<(char, usize)>,
    camels: Vec<Range<usize>>,
}

impl State<'_> {
    /// Adds the ASCII letters and digits at `at` to the word, and returns the end of their run.
    #[inline]
    fn run(&mut self, text: &str, at: usize) -> usize {
        let rest = &text.as_bytes()[at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (run, end) = (&rest[..length], at + length);
        let is_alone = self.before.is_none()
            && self.spaceless.is_none()
            && rest.get(length).is_none_or(|next| next.is_ascii() && *next != ESCAPE);
        // Most words are like this: they need no folding.
        if is_alone && !run.iter().any(u8::is_ascii_uppercase) {
            let cut = at + length.min(LONGEST_TOKEN);
            (self.sink)(Token { text: &text[at..cut], form: Form::Word, start: at, end });
            return end;
        }
        for (n, byte) in run.iter().enumerate() {
            self.letter(at + n, byte.is_ascii_uppercase(), byte.is_ascii_lowercase());
            self.word.push(char::from(byte.to_ascii_lowercase()));
        }
        end
    }

    /// Adds a letter or digit at `at` to the word.
    #[inline]
    fn letter(&mut self, at: usize, upper: bool, lower: bool) {
        if self.spaceless.is_some() {
            self.end_run();
        }
        if self.before.is_none() {
            self.from = at;
            self.humps = false;
        } else {
            let was_upper = self.before == Some(true);
            self.humps |= (upper && !was_upper) || (lower && was_upper && at > self.from + 1);
        }
        self.before = Some(upper);
    }

    fn wide(&mut self, c: char, at: usize) {
        match Letter::of(c) {
            Letter::Ignored => {}
            Letter::Spaceless => {
                self.end_word(at);
                if let Some((before, start)) = self.spaceless {
                    let mut pair = [0; 8];
                    let split = before.encode_utf8(&mut pair).len();
                    let length = split + c.encode_utf8(&mut pair[split..]).len();
                    let text = std::str::from_utf8(&pair[..length]).unwrap_or_default();
                    let end = at + c.len_utf8();
                    (self.sink)(Token { text, form: Form::Pair, start, end });
                }
                self.spaceless = Some((c, at));
            }
            Letter::Spaced { is_upper, is_lower, folded } => {
                self.letter(at, is_upper, is_lower);
                match folded {
                    Some(folded) => self.word.push_str(&folded),
                    None => fold(c, &mut self.word),
                }
            }
            Letter::None => self.end(at),
        }
    }

    fn end(&mut self, at: usize) {
        self.end_word(at);
        self.end_run();
    }

    fn end_word(&mut self, end: usize) {
        if self.before.take().is_none() {
            return;
        }
        let mut length = self.word.len().min(LONGEST_TOKEN);
        while !self.word.is_char_boundary(length) {
            length -= 1;
        }
        let start = self.from;
        if length > 0 {
            (self.sink)(Token { text: &self.word[..length], form: Form::Word, start, end });
            if self.humps && self.word.len() <= LONGEST_TOKEN {
                self.camels.push(start..end);
            }
        }
        self.word.clear();
    }

    fn end_run(&mut self) {
        if let Some((last, start)) = self.spaceless.take() {
            let end = start + last.len_utf8();
            (self.sink)(Token {
                text: last.encode_utf8(&mut [0; 4]),
                form: Form::Last,
                start,
                end,
            });
        }
    }
}

/// Returns the parts of a word written `likeThis`: a capital begins one after or before a small
/// letter. Returns none if that makes no sense, as in base64.
fn camel_parts(text: &str, range: Range<usize>) -> Vec<(String, Range<usize>)> {
    let word = &text[range.clone()];
    let chars: Vec<(usize, char)> = word.char_indices().filter(|(_, c)| !is_ignored(*c)).collect();
    let mut starts = vec![0];
    let mut capital = false;
    for (n, (at, c)) in chars.iter().enumerate() {
        let next = chars.get(n + 1).map(|(_, c)| *c);
        let next_is_small = next.is_some_and(char::is_lowercase);
        // `IDs` and `URLs` are one word each.
        let plural = next == Some('s') && chars.get(n + 2).is_none_or(|(_, c)| !c.is_lowercase());
        if n > 0 && c.is_uppercase() && (!capital || (next_is_small && !plural)) {
            starts.push(*at);
        }
        if c.is_alphabetic() {
            capital = c.is_uppercase();
        }
    }
    if starts.len() < 2 || starts.len() * 2 > chars.len() {
        return Vec::new();
    }
    let ends = starts.iter().skip(1).copied().chain([word.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| {
            let mut part = String::new();
            word[*from..to].chars().filter(|c| !is_ignored(*c)).for_each(|c| fold(c, &mut part));
            (part, range.start + from..range.start + to)
        })
        .filter(|(part, _)| !part.is_empty())
        .collect()
}

/// Returns the length of an escape sequence for colours and the like, which does not end a word.
fn escape(bytes: &[u8]) -> Option<usize> {
    let inside = bytes.strip_prefix(b"\x1b[")?;
    let end = inside.iter().take(32).position(|byte| (0x40..=0x7E).contains(byte))?;
    let plain = inside[..end].iter().all(|byte| (0x20..=0x3F).contains(byte));
    plain.then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> String {
        let mut out = Vec::new();
        each_token(text, &mut |token| out.push(token.text.to_owned()));
        out.join(" ")
    }

    #[test]
    fn words_fold() {
        assert_eq!(
            tokens("Fix the Straße, déjà-vu & ÅNGSTRÖM!"),
            "fix the strasse deja vu angstrom"
        );
        assert_eq!(tokens("cafe\u{301} caf\u{e9}"), "cafe cafe");
        assert_eq!(tokens("Łódź Ærø İstanbul ＡＢＣ１２"), "lodz aero istanbul abc12");
        assert_eq!(tokens("Привет ΣΊΣΥΦΟΣ"), "привет σισυφοσ");
        assert_eq!(tokens("it's 1,234.56 – v0.1.2"), "it s 1 234 56 v0 1 2");
        assert_eq!(tokens(""), "");
        assert_eq!(tokens("— ?! 🥛"), "");
    }

    #[test]
    fn identifiers_and_paths_are_their_parts() {
        assert_eq!(tokens("search_file_content"), "search file content");
        assert_eq!(tokens("src/main.rs:12"), "src main rs 12");
        assert_eq!(tokens("std::env::args()"), "std env args");
        assert_eq!(tokens("--no-sync"), "no sync");
    }

    #[test]
    fn words_written_like_this_are_whole_and_in_parts() {
        assert_eq!(
            tokens("call parseHttpHeader now"),
            "call parsehttpheader now · parse http header"
        );
        assert_eq!(tokens("HTTPServer GitHub"), "httpserver github · http server · git hub");
        assert_eq!(
            tokens("utf8Bytes HTTP2Server v2API"),
            "utf8bytes http2server v2api · utf8 bytes · http2 server · v2 api"
        );
        assert_eq!(tokens("GitHub GitHub"), "github github · git hub", "once is enough");
        assert_eq!(tokens("IDs URLs Word HTTP SHA256SUM"), "ids urls word http sha256sum");
        assert_eq!(tokens("aBcDeF"), "abcdef", "that is no word");
        assert_eq!(tokens("ÉcoleNormale"), "ecolenormale · ecole normale");
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(tokens("日本語"), "日本 本語 語");
        assert_eq!(tokens("修复bug了"), "修复 复 bug 了");
        assert_eq!(tokens("你好，世界"), "你好 好 世界 界");
        assert_eq!(tokens("한국어 ソート"), "한국 국어 어 ソー ート ト");
        assert_eq!(tokens("𠀋𠀋"), "𠀋𠀋 𠀋");
    }

    #[test]
    fn what_is_not_seen_ends_no_word() {
        assert_eq!(tokens("pass\u{200B}word \u{202E}evil\u{202C}"), "password evil");
        assert_eq!(tokens("\x1b[1;31merror\x1b[0m: re\x1b[4md\x1b[0m"), "error red");
        assert_eq!(
            tokens("\x1b]0;title\x07 \x1b[broken\n"),
            "0 title roken",
            "`[b` moves the cursor"
        );
        assert_eq!(tokens("a\0b\r\nc"), "a b c");
    }

    #[test]
    fn long_words_are_cut() {
        let long = "x".repeat(10_000);
        assert_eq!(tokens(&long).len(), LONGEST_TOKEN);
        assert_eq!(tokens(&"é".repeat(100)), "e".repeat(64));
        assert_eq!(tokens(&"ж".repeat(100)).len(), 64);
    }

    #[test]
    fn places() {
        let text = "Die Straße von parseHttp 日本";
        let mut got = Vec::new();
        each_token(text, &mut |t| got.push((t.text.to_owned(), text[t.start..t.end].to_owned())));
        let want = [
            ("die", "Die"),
            ("strasse", "Straße"),
            ("von", "von"),
            ("parsehttp", "parseHttp"),
            ("日本", "日本"),
            ("本", "本"),
            ("·", ""),
            ("parse", "parse"),
            ("http", "Http"),
        ];
        assert_eq!(got, want.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    proptest! {
        /// A soft hyphen is not part of a word, but what follows one is not copied as it is.
        #[test]
        fn words_are_the_same_with_soft_hyphens(text in "[a-cA-C0-2 _é日本.-]{0,100}") {
            let mut hyphened = String::new();
            for c in text.chars() {
                hyphened.push(c);
                hyphened.extend(c.is_alphanumeric().then_some('\u{AD}'));
            }
            assert_eq!(tokens(&hyphened), tokens(&text));
        }

        /// For any text, tokens are plain, short and in order, and do not split characters.
        #[test]
        fn any_text(text in any::<String>()) {
            let mut last = 0;
            each_token(&text, &mut |token| {
                assert!(!token.text.is_empty() && token.text.len() <= LONGEST_TOKEN);
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || !c.is_ascii();
                assert!(token.text.chars().all(plain), "{:?}", token.text);
                assert!(token.text.chars().all(|c| !c.is_whitespace()));
                assert!(text.get(token.start..token.end).is_some());
                if !matches!(token.form, Form::Part | Form::Gap) {
                    assert!(token.start >= last);
                    last = token.start;
                }
            });
        }

        /// A folded text folds to itself.
        #[test]
        fn folding_twice(text in "[a-zA-ZÀ-ž0-9 _.-]*") {
            let main = |text: &str| {
                let mut out = Vec::new();
                each_token(text, &mut |token| {
                    if token.form == Form::Word {
                        out.push(token.text.to_owned());
                    }
                });
                out.join(" ")
            };
            let once = main(&text);
            prop_assert_eq!(main(&once), once);
        }
    }
}
