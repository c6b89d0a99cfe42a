//! Compares the text index with the text itself.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use backstory_core::archive::{Archive, Order, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::Discovery;
use backstory_core::model::{Message, MessageId, SessionId};
use backstory_core::projects::ProjectHints;
use backstory_core::search::{Extent, Fields, Finder, Form, Query, Where, each_token};
use jiff::{Timestamp, Zoned};

use crate::support::discover_at;
use crate::support::{Home, testdata, trees_below};

fn now() -> Zoned {
    "2026-08-14T16:30:00+00:00[UTC]".parse().unwrap()
}

fn query(text: &str) -> Query {
    Query::parse(text, &now()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Session and message of all matches; an empty message is the session itself.
type Hits = BTreeSet<(SessionId, MessageId)>;

fn ask(archive: &Archive, all: &Collection, query: &Query) -> Hits {
    let hits = archive.matches(query, &all.sessions, Order::Relevance, &|_| true).unwrap();
    let id = |row: i64| archive.text_row(row).unwrap().unwrap().message.unwrap_or_default();
    hits.iter().map(|hit| (hit.session.id.clone(), id(hit.row))).collect()
}

/// An indexed home and all its messages, except those that repeat another session's.
struct Indexed {
    home: Home,
    messages: Vec<(SessionId, Message)>,
}

impl Indexed {
    fn at(path: &Path) -> Self {
        let mut home = Home::at(path);
        home.archive.index(&|| ()).unwrap();
        assert_eq!(home.archive.left_to_index().unwrap(), 0);
        let mut messages = Vec::new();
        for assembled in &home.sessions {
            let id = &assembled.session.id;
            let copies = home.archive.copies_of(id).unwrap();
            let all = home.messages(assembled, View::Full);
            messages.extend(
                all.into_iter().filter(|m| !copies.contains(&m.id)).map(|m| (id.clone(), m)),
            );
        }
        Self { home, messages }
    }

    fn ask(&self, query: &Query) -> Hits {
        ask(&self.home.archive, &self.home.all, query)
    }

    /// Returns the matches found without the index.
    fn look(&self, query: &Query) -> Hits {
        let finder = Finder::Words(query);
        let fields = query.filters.fields();
        let mut out = Hits::new();
        for (session, message) in &self.messages {
            if finder.find(&Fields::of(message, Extent::Capped), &fields).is_some() {
                out.insert((session.clone(), message.id.clone()));
            }
        }
        for assembled in &self.home.sessions {
            let own = Fields::of_session(&assembled.session);
            if !own.pieces.is_empty() && finder.find(&own, &fields).is_some() {
                out.insert((assembled.session.id.clone(), MessageId::default()));
            }
        }
        out
    }
}

fn fixtures() -> Vec<Indexed> {
    let mut trees = trees_below(&testdata("gemini"));
    trees.push(testdata("export"));
    trees
        .iter()
        .map(|tree| Indexed::at(tree))
        .filter(|indexed| !indexed.messages.is_empty())
        .collect()
}

/// Anything a person may remember of a message finds it: three words in a row of any of its texts,
/// or two neighbours of a script without spaces.
#[test]
fn every_message_is_found_by_its_words() {
    let mut asked = 0;
    for indexed in fixtures() {
        for (session, message) in &indexed.messages {
            let hit = (session.clone(), message.id.clone());
            for piece in Fields::of(message, Extent::Capped).pieces {
                let words: Vec<&str> = piece.text.split_whitespace().collect();
                let last = words.len().saturating_sub(3);
                for from in BTreeSet::from([0, last / 3, last / 2, last]) {
                    let phrase =
                        words[from..(from + 3).min(words.len())].join(" ").replace('"', " ");
                    let query = query(&format!("\"{phrase}\""));
                    if query.words.is_some() {
                        asked += 1;
                        assert!(
                            indexed.ask(&query).contains(&hit),
                            "{phrase:?} does not find {hit:?}"
                        );
                    }
                }
                let mut pairs = BTreeSet::new();
                each_token(&piece.text, &mut |token| {
                    if token.form == Form::Pair {
                        pairs.insert(piece.text[token.start..token.end].to_owned());
                    }
                });
                for pair in pairs.iter().take(20) {
                    asked += 1;
                    assert!(
                        indexed.ask(&query(pair)).contains(&hit),
                        "{pair:?} does not find {hit:?}"
                    );
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

/// A small pseudo-random generator, so that every run asks the same questions.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides.max(1) as u64).unwrap()
    }
}

/// Returns a query of words from the texts, and of some that are not in them.
fn any_question(dice: &mut Dice, texts: &[String], depth: usize) -> String {
    let words = |dice: &mut Dice, count: usize| {
        let words: Vec<&str> = texts[dice.roll(texts.len())].split_whitespace().collect();
        let from = dice.roll(words.len());
        words[from..(from + count).min(words.len())].join(" ").replace(['"', '(', ')', ':'], " ")
    };
    let term = |dice: &mut Dice| match dice.roll(8) {
        0 | 1 => format!("\"{}\"", words(dice, 2)),
        2 => format!("\"{}\"", words(dice, 3)),
        3 => {
            let word: String =
                words(dice, 1).chars().filter(|c| c.is_alphanumeric()).take(3).collect();
            format!("{word}*")
        }
        4 => "zyzzyva".to_owned(),
        _ => format!("\"{}\"", words(dice, 1)),
    };
    let mut out = term(dice);
    for _ in 0..dice.roll(3) {
        let next = if depth < 2 && dice.roll(4) == 0 {
            format!("({})", any_question(dice, texts, depth + 1))
        } else {
            term(dice)
        };
        let join = ["", "", "OR", "-"][dice.roll(4)];
        let space = if join == "-" { "" } else { " " };
        write!(out, " {join}{space}{next}").unwrap();
    }
    if depth == 0 && dice.roll(4) == 0 {
        write!(out, " where:{}", Where::ALL[dice.roll(6)].name()).unwrap();
    }
    out
}

#[test]
fn the_index_agrees_with_the_text() {
    let mut dice = Dice(7);
    let (mut asked, mut found) = (0, 0);
    let all = fixtures();
    while asked < 1000 {
        for indexed in &all {
            let texts: Vec<String> = indexed
                .messages
                .iter()
                .flat_map(|(_, message)| Fields::of(message, Extent::Capped).pieces)
                .map(|piece| piece.text.into_owned())
                .collect();
            for _ in 0..40 {
                let text = any_question(&mut dice, &texts, 0);
                let Ok(query) = Query::parse(&text, &now()) else { continue };
                if query.words.is_none() {
                    continue;
                }
                let (got, want) = (indexed.ask(&query), indexed.look(&query));
                assert_eq!(got, want, "{text}");
                asked += 1;
                found += usize::from(!got.is_empty());
            }
        }
    }
    assert!(found > 400, "{found} of {asked}");
}

/// A home of files, and an archive next to it.
struct Kept {
    folder: tempfile::TempDir,
    archive: Archive,
}

const ID: &str = "5f0a1b2c-1111-4000-8000-000000000001";

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(&folder.path().join("archive.db")).unwrap();
        let kept = Self { folder, archive };
        fs::create_dir_all(kept.home().join("tmp/shop/chats")).unwrap();
        fs::write(kept.home().join("tmp/shop/.project_root"), "/code/shop").unwrap();
        kept
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join(".gemini")
    }

    fn log(&self) -> std::path::PathBuf {
        self.home().join("tmp/shop/chats/session-2026-08-01T10-00-5f0a1b2c.jsonl")
    }

    fn write(&self, texts: &[&str]) {
        let mut out = format!(
            r#"{{"sessionId":"{ID}","projectHash":"{}","startTime":"2026-08-01T10:00:00.000Z","lastUpdated":"2026-08-01T11:00:00.000Z","kind":"main"}}"#,
            "ab".repeat(32)
        );
        for (n, text) in texts.iter().enumerate() {
            let text = serde_json::to_string(text).unwrap();
            let kind = if n % 2 == 0 { "user" } else { "gemini" };
            write!(out, "\n{{\"id\":\"m{n}\",\"timestamp\":\"2026-08-01T10:0{n}:00.000Z\",\"type\":\"{kind}\",\"content\":{text}}}").unwrap();
        }
        fs::write(self.log(), out + "\n").unwrap();
    }

    fn setup<T>(&mut self, run: impl FnOnce(&mut Archive, &SyncOptions<'_>) -> T) -> T {
        let candidates = ProjectHints::default();
        run(&mut self.archive, &SyncOptions::plain(&candidates))
    }

    fn sync(&mut self) {
        let found = discover_at(&self.home());
        self.setup(|archive, setup| archive.sync(&found, setup, &|_| ()).unwrap());
        self.archive.capture(&[], None, &|_| ()).unwrap();
    }

    fn ask(&self, text: &str) -> Vec<MessageId> {
        let all = Collection::new(&self.archive, Discovery::default()).unwrap();
        ask(&self.archive, &all, &query(text)).into_iter().map(|(_, message)| message).collect()
    }
}

#[test]
fn what_grew_is_read_and_no_more() {
    let mut kept = Kept::new();
    kept.write(&["first words", "an answer"]);
    kept.sync();
    assert_eq!(kept.archive.index(&|| ()).unwrap().messages, 2);
    assert_eq!(kept.archive.index(&|| ()).unwrap().sessions, 0, "nothing changed");
    kept.write(&["first words", "an answer", "more words"]);
    kept.sync();
    assert_eq!(kept.archive.index(&|| ()).unwrap().messages, 1, "only what is new");
    assert_eq!(kept.ask("words"), ["m0", "m2"]);
    kept.write(&["other texts", "an answer", "more words"]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    assert_eq!(kept.ask("other"), ["m0"]);
    kept.archive.drop_index().unwrap();
    assert!(kept.ask("words").is_empty());
    kept.archive.index(&|| ()).unwrap();
    assert_eq!(kept.ask("an answer"), ["m1"]);
    assert!(kept.archive.check(&|_| ()).unwrap().problems.is_empty());
}

/// FTS5 writes a segment whenever it flushes its buffer, and merges segments later.
#[test]
fn all_sessions_of_a_batch_share_one_segment() {
    let mut kept = Kept::new();
    for n in 1..=5 {
        kept.write(&["some words", "an answer"]);
        let log = fs::read_to_string(kept.log()).unwrap();
        let name = format!("session-2026-08-01T10-00-5f0a1b{n:02}.jsonl");
        let id = ID.replace("5f0a1b2c", &format!("5f0a1b{n:02}"));
        fs::write(kept.log().with_file_name(name), log.replace(ID, &id)).unwrap();
    }
    kept.sync();
    assert_eq!(kept.archive.index(&|| ()).unwrap().sessions, 6);
    let db = rusqlite::Connection::open(kept.folder.path().join("archive.db")).unwrap();
    let sql = "SELECT count(DISTINCT id >> 37) FROM words_data WHERE id >> 37 > 0";
    assert_eq!(db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn a_new_message_before_one_that_changed() {
    let mut kept = Kept::new();
    let write = |kept: &Kept, messages: &[(&str, &str)]| {
        kept.write(&[]);
        let mut out = fs::read_to_string(kept.log()).unwrap();
        for (n, (id, text)) in messages.iter().enumerate() {
            writeln!(out, r#"{{"id":"{id}","timestamp":"2026-08-01T10:0{n}:00.000Z","type":"user","content":"{text}"}}"#).unwrap();
        }
        fs::write(kept.log(), out).unwrap();
    };
    write(&kept, &[("a", "first"), ("c", "last")]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    write(&kept, &[("a", "first"), ("b", "between"), ("c", "changed")]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    for (word, id) in [("first", "a"), ("between", "b"), ("changed", "c")] {
        assert_eq!(kept.ask(word), [id]);
    }
    assert!(kept.ask("last").is_empty());
}

/// A condition that holds for every message is checked one by one, in another way than words alone.
#[test]
fn hits_are_ranked_the_same_with_a_condition() {
    let mut ranked = 0;
    for indexed in fixtures() {
        let (archive, all) = (&indexed.home.archive, &indexed.home.all.sessions);
        let ask = |text: &str| {
            let hits = archive.matches(&query(text), all, Order::Relevance, &|_| true).unwrap();
            hits.iter().map(|hit| (hit.row, hit.score)).collect::<Vec<_>>()
        };
        let texts = indexed.messages.iter().map(|(_, message)| message.words());
        let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphabetic()));
        let words: BTreeSet<&str> = words.filter(|word| word.len() > 3).take(40).collect();
        for word in words {
            let hits = ask(word);
            assert_eq!(hits, ask(&format!("{word} -model:none")), "{word}");
            assert!(hits.is_sorted_by(|(_, a), (_, b)| *a * 1.001 >= *b), "{word}: {hits:?}");
            ranked += usize::from(hits.len() > 1);
        }
    }
    assert!(ranked > 20, "{ranked}");
}

/// Indexes while another process changes the archive after text was read, `times` times at most.
fn index_while_names_change(times: usize) -> Kept {
    let mut kept = Kept::new();
    kept.write(&["a lighthouse", "it blinks"]);
    kept.sync();
    let path = kept.folder.path().join("archive.db");
    let reads = Cell::new(0);
    let change = || {
        if reads.get() < times {
            let name = format!("name{}", reads.get());
            let mut other = Archive::open(&path).unwrap();
            other.set_name(ID, Some(&name), Timestamp::UNIX_EPOCH).unwrap();
        }
        reads.set(reads.get() + 1);
    };
    kept.archive.index(&change).unwrap();
    assert_eq!(reads.get(), times + 1);
    kept
}

#[test]
fn text_is_read_again_if_the_archive_changed_in_the_meantime() {
    for times in 0..4 {
        let kept = index_while_names_change(times);
        assert_eq!(kept.ask("lighthouse"), ["m0"]);
        if times > 0 {
            assert_eq!(kept.ask(&format!("name{}", times - 1)), [""]);
        }
        assert_eq!(kept.archive.left_to_index().unwrap(), 0);
    }
}

#[test]
fn sessions_whose_files_are_gone_are_found_the_same() {
    let mut kept = Kept::new();
    kept.write(&["a lighthouse", "it blinks"]);
    kept.sync();
    fs::remove_file(kept.log()).unwrap();
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    assert_eq!(kept.ask("lighthouse"), ["m0"]);
    let read = kept.archive.read_around(&BTreeMap::from([(ID, vec!["m0"])]), 1).unwrap();
    assert_eq!(
        read[ID].iter().map(|m| m.text.as_str()).collect::<Vec<_>>(),
        ["a lighthouse", "it blinks"]
    );
}

#[test]
fn names_and_tags_are_words_too() {
    let mut kept = Kept::new();
    kept.write(&["a lighthouse", "it blinks"]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    kept.archive.set_name(ID, Some("The Tower"), Timestamp::UNIX_EPOCH).unwrap();
    kept.archive.add_tag(ID, "coast", Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(kept.archive.index(&|| ()).unwrap().messages, 0, "no message is read for a name");
    assert_eq!(kept.ask("tower coast where:name"), [""]);
    kept.archive.set_name(ID, None, Timestamp::UNIX_EPOCH).unwrap();
    kept.archive.index(&|| ()).unwrap();
    assert!(kept.ask("tower").is_empty());
    assert_eq!(kept.ask("coast"), [""]);
}

#[test]
fn what_is_forgotten_leaves_no_word() {
    let mut kept = Kept::new();
    kept.write(&["the quokkasecret", "it blinks"]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    let folder = kept.folder.path().to_owned();
    let holds = || {
        let files = ["archive.db", "archive.db-wal"]
            .map(|name| fs::read(folder.join(name)).unwrap_or_default());
        files.iter().any(|bytes| bytes.windows(7).any(|bytes| bytes == b"quokkas"))
    };
    assert!(holds(), "the index holds words as they are");
    kept.setup(|archive, setup| {
        archive.forget(&[ID.into()], setup, Timestamp::UNIX_EPOCH).unwrap()
    });
    assert!(kept.ask("quokkasecret").is_empty());
    assert!(!holds());
    assert!(kept.archive.check(&|_| ()).unwrap().problems.is_empty());
}

#[test]
fn an_interrupted_forgetting_leaves_no_word_once_it_is_finished() {
    let mut kept = Kept::new();
    kept.write(&["the quokkasecret", "it blinks"]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    let path = kept.folder.path().join("archive.db");
    let other = backstory_pages::open(&path, rusqlite::OpenFlags::default()).unwrap();
    let holds = || {
        let sql = "SELECT count(*) FROM words_data WHERE instr(block, CAST('quokkas' AS BLOB))";
        other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() > 0
    };
    // The rows are gone, and the run ends before the words are.
    other
        .execute_batch(
            "DELETE FROM words WHERE rowid IN (SELECT number FROM texts); DELETE FROM texts;
             DELETE FROM indexed_sessions; INSERT INTO notes VALUES ('unclean', x'');",
        )
        .unwrap();
    assert!(holds());
    kept.archive.finish_forgetting().unwrap();
    assert!(!holds());
    assert!(!kept.archive.is_unclean().unwrap());
}

/// Terminal escapes, bidi controls, characters without width, very long lines.
#[test]
fn hostile_text_is_found_and_shown_harmlessly() {
    let mut kept = Kept::new();
    let long = format!("start {} finish", "x".repeat(10_000_000));
    kept.write(&["\u{1b}[31mred\u{1b}[0m alert", "pass\u{200b}word \u{202e}evil", &long]);
    kept.sync();
    kept.archive.index(&|| ()).unwrap();
    assert_eq!(kept.ask("\"red alert\""), ["m0"]);
    assert_eq!(kept.ask("password evil"), ["m1"]);
    assert_eq!(kept.ask("start finish"), ["m2"]);
    let words = query("finish");
    let marks = Finder::Words(&words).marks(&long);
    let length: usize =
        backstory_core::search::snippet(&long, &marks).iter().map(|(text, _)| text.len()).sum();
    assert!(length < 400, "{length}");
}
