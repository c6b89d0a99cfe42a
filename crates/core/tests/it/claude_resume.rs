//! Continues transcripts of Claude Code that have grown: the result must be that of a scan from the beginning.

use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use backstory_core::agent::{Agent, Detail, Scan, claude::Claude};
use backstory_core::discover::{Source, SourceKind};
use backstory_core::facts::SourceFacts;
use backstory_core::read::bytes::{Bytes, ReadSeek};
use proptest::prelude::*;

use crate::support::{files_below, testdata};

/// A file in memory that records the first byte that was read.
struct Memory<'a> {
    content: &'a [u8],
    first_read: Cell<u64>,
}

impl<'a> Memory<'a> {
    fn new(content: &'a [u8]) -> Self {
        Self { content, first_read: Cell::new(u64::MAX) }
    }
}

struct Input<'a> {
    content: Cursor<&'a [u8]>,
    first_read: &'a Cell<u64>,
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.first_read.set(self.first_read.get().min(self.content.position()));
        self.content.read(out)
    }
}

impl Seek for Input<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }
}

impl Bytes for Memory<'_> {
    fn open(&self, _source: &Source) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(Box::new(Input { content: Cursor::new(self.content), first_read: &self.first_read }))
    }

    fn beside(&self, _folder: &Path, _below: &Path, _most: u64) -> Option<Vec<u8>> {
        None
    }
}

/// Returns all transcripts of the test data.
fn transcripts() -> Vec<PathBuf> {
    let mut out = files_below(&testdata("claude"));
    out.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    out.retain(|path| path.components().any(|part| part.as_os_str() == "projects"));
    assert!(out.len() > 100);
    out
}

fn source(path: &Path) -> Source {
    let is_agent = path.file_name().unwrap().to_str().unwrap().starts_with("agent-");
    let kind = if is_agent { SourceKind::Subagent } else { SourceKind::Conversation };
    Source {
        agent: Claude.id(),
        path: path.to_owned(),
        kind,
        folder: None,
        size: 0,
        modified: None,
        changed: None,
        inode: None,
        archived: None,
    }
}

fn whole(source: &Source, content: &[u8]) -> Scan {
    Claude.scan(source, &Memory::new(content), Detail::Full).unwrap()
}

/// Continues an earlier scan, and checks that only what is new was read.
fn grown(source: &Source, earlier: Scan, content: &[u8]) -> Scan {
    let resume = earlier.resume.unwrap();
    let memory = Memory::new(content);
    let scan = Claude.continue_scan(source, &memory, earlier.facts, &resume.state).unwrap();
    assert!(memory.first_read.get() >= resume.offset, "{}", source.path.display());
    scan
}

fn look(facts: &SourceFacts) -> String {
    format!("{facts:#?}")
}

#[test]
fn a_transcript_that_grows_line_by_line_is_never_read_from_its_beginning() {
    for path in transcripts() {
        let content = std::fs::read(&path).unwrap();
        let source = source(&path);
        let mut scan = whole(&source, &[]);
        let is_end = |at: &usize| content[at - 1] == b'\n';
        let ends: Vec<usize> = (1..=content.len()).filter(is_end).collect();
        for (n, end) in ends.iter().enumerate() {
            scan = grown(&source, scan, &content[..*end]);
            // Comparing after every line would take too long.
            if n % 16 == 0 {
                let want = whole(&source, &content[..*end]);
                assert_eq!(look(&scan.facts), look(&want.facts), "{}: {n}", path.display());
            }
        }
        scan = grown(&source, scan, &content);
        assert_eq!(look(&scan.facts), look(&whole(&source, &content).facts), "{}", path.display());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_transcript_can_be_continued_from_any_byte(
        path in prop::sample::select(transcripts()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
    ) {
        let content = std::fs::read(&path).unwrap();
        let source = source(&path);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(content.len() + 1)).collect();
        ends.sort_unstable();
        ends.push(content.len());
        let mut scan = whole(&source, &[]);
        for end in ends {
            scan = grown(&source, scan, &content[..end]);
            let want = whole(&source, &content[..end]);
            prop_assert_eq!(look(&scan.facts), look(&want.facts));
            prop_assert_eq!(scan.resume.as_ref().map(|r| (r.offset, &r.state)),
                want.resume.as_ref().map(|r| (r.offset, &r.state)));
        }
    }
}
