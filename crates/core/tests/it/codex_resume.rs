//! Reads session files of Codex CLI that grow, or only their calls, and compares the results with those of reading
//! everything at once.

use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use backstory_core::agent::codex::Codex;
use backstory_core::agent::{Agent as _, Detail, Scan};
use backstory_core::discover::{Source, SourceKind};
use backstory_core::facts::SourceFacts;
use backstory_core::read::bytes::{Bytes, ReadSeek};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{discover_at, testdata};

/// The content of a file in memory.
struct Content<'a>(&'a [u8]);

impl Bytes for Content<'_> {
    fn open(&self, _: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(Cursor::new(self.0)))
    }

    fn beside(&self, _: &Path, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }
}

/// A scan as the archive stores it.
struct Stored {
    facts: Vec<u8>,
    state: Option<Vec<u8>>,
}

impl Stored {
    fn new(scan: Scan) -> Self {
        let facts = postcard::to_stdvec(&scan.facts).unwrap();
        Self { facts, state: scan.resume.map(|resume| resume.state) }
    }

    fn at_once(source: &Source, bytes: &[u8]) -> Self {
        Self::new(Codex.scan(source, &Content(bytes), Detail::Full).unwrap())
    }

    /// Continues the scan; `None` if the file must be read from its beginning.
    fn grown(&self, source: &Source, bytes: &[u8]) -> Option<Self> {
        let facts: SourceFacts = postcard::from_bytes(&self.facts).unwrap();
        let scan = Codex.continue_scan(source, &Content(bytes), facts, self.state.as_deref()?);
        Some(Self::new(scan.unwrap()))
    }
}

/// Reads the beginnings of a file one after the other. Returns how many could be continued.
fn read_in_steps(source: &Source, bytes: &[u8], cuts: impl IntoIterator<Item = usize>) -> usize {
    let mut known = Stored::at_once(source, b"");
    let mut continued = 0;
    for cut in cuts {
        let beginning = &bytes[..cut];
        let whole = Stored::at_once(source, beginning);
        if let Some(grown) = known.grown(source, beginning) {
            let facts = |stored: &Stored| {
                let facts: SourceFacts = postcard::from_bytes(&stored.facts).unwrap();
                format!("{facts:#?}")
            };
            assert!(
                grown.facts == whole.facts,
                "{} up to {cut}:\n{}",
                source.path.display(),
                diff(&facts(&grown), &facts(&whole))
            );
            assert_eq!(grown.state.is_some(), whole.state.is_some());
            continued += 1;
            known = grown;
        } else {
            known = whole;
        }
    }
    continued
}

/// Returns the calls and faults of a file, and the session that they belong to.
fn calls(source: &Source, bytes: &[u8], detail: Detail) -> String {
    let facts = Codex.scan(source, &Content(bytes), detail).unwrap().facts;
    let mut calls: Vec<String> = facts
        .messages()
        .filter_map(|one| {
            Some(format!("{:?} {:?} {:?} {:?}", one.key, one.model, one.at, one.call.as_ref()?))
        })
        .collect();
    calls.sort();
    let of = facts.parts.iter().filter(|_| !calls.is_empty());
    let of =
        of.map(|part| (&part.session, part.kind, &part.parent, part.started)).collect::<Vec<_>>();
    format!("{of:?} {:?}\n{}", facts.faults, calls.join("\n"))
}

/// Asserts that the calls are the same when nothing else is read.
fn count(source: &Source, bytes: &[u8]) {
    let (few, all) = (calls(source, bytes, Detail::Calls), calls(source, bytes, Detail::Full));
    assert!(few == all, "{}:\n{}", source.path.display(), diff(&few, &all));
}

/// Returns the first lines that differ.
fn diff(found: &str, wanted: &str) -> String {
    let pairs = found.lines().zip(wanted.lines()).filter(|(found, wanted)| found != wanted);
    let lines = pairs.take(8).map(|(found, wanted)| format!("{found}\n    for {wanted}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn rollouts() -> Vec<(Source, Vec<u8>)> {
    let found = discover_at(&testdata("codex")).sources.into_iter();
    let logs = found.filter(|source| {
        source.kind == SourceKind::Conversation
            && source.path.extension().is_some_and(|ending| ending == "jsonl")
    });
    let logs: Vec<_> =
        logs.map(|log| fs::read(&log.path).map(|bytes| (log, bytes)).unwrap()).collect();
    assert!(logs.len() > 60, "{}", logs.len());
    logs
}

#[test]
fn a_file_that_grew_by_a_line_is_continued() {
    for (source, bytes) in rollouts() {
        let ends = memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1);
        let lines = ends.clone().count();
        assert_eq!(read_in_steps(&source, &bytes, ends), lines - 1, "{}", source.path.display());
        count(&source, &bytes);
    }
}

#[test]
fn a_compressed_file_is_read_from_its_beginning() {
    let (mut source, bytes) = rollouts().swap_remove(0);
    source.path = PathBuf::from(format!("{}.zst", source.path.display()));
    let packed = zstd::encode_all(bytes.as_slice(), 3).unwrap();
    assert!(Stored::at_once(&source, &packed).state.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines may come in any order and from several files, be cut off, or not be JSON.
    #[test]
    fn the_result_does_not_depend_on_the_steps(
        files in prop::collection::vec(any::<Index>(), 1..3),
        order in prop::collection::vec((any::<Index>(), 0..12_u8), 0..60),
        cuts in prop::collection::vec(any::<Index>(), 0..12),
    ) {
        let all = rollouts();
        let (source, _) = files[0].get(&all);
        let lines: Vec<&[u8]> =
            files.iter().flat_map(|file| file.get(&all).1.split_inclusive(|byte| *byte == b'\n')).collect();
        let mut bytes = lines[0].to_vec();
        for (line, damage) in &order {
            let line = *line.get(&lines);
            match damage {
                0 => bytes.extend(&line[..line.len() / 2]),
                1 => bytes.extend(b"\xff{}\n\n[1]\n{\"payload\":1}\n"),
                _ => bytes.extend(line),
            }
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        read_in_steps(source, &bytes, cuts);
        count(source, &bytes);
    }
}
