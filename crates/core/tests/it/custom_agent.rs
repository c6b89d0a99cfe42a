//! Tests that an agent defined here works everywhere once it is added to a registry.
//!
//! Its format is one record per line: `session ID FOLDER [PARENT TOOL-CALL]`, `typed ID TIME WORDS`,
//! `reply ID TIME INPUT/OUTPUT WORDS`, `ran ID REPLY NAME WORDS`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use backstory_core::agent::{Agent, Agents, Detail, Scan};
use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::collection::Collection;
use backstory_core::content::View;
use backstory_core::discover::{Discovery, Source, SourceKind};
use backstory_core::doctor::{Report, Survey};
use backstory_core::env::Env;
use backstory_core::export::{events, json};
use backstory_core::facts::{
    CallFacts, CallKey, Contents, MessageFacts, PartFacts, SessionFile, SessionRef, SourceFacts,
    Span, ToolFacts,
};
use backstory_core::fault::FaultKind;
use backstory_core::model::{
    AgentId, Message, MessageKind, SessionKind, ToolCall, ToolStatus, Usage,
};
use backstory_core::pricing::{Bill, Table};
use backstory_core::projects::ProjectHints;
use backstory_core::query::usage::Group;
use backstory_core::query::{Reports, usage::Question};
use backstory_core::read::bytes::Bytes;
use backstory_core::search::Query;
use backstory_core::tools::tool_name;
use jiff::Timestamp;
use jiff::tz::TimeZone;

#[derive(Debug)]
struct Parley;

static AGENTS: [&dyn Agent; 1] = [&Parley];

impl Agent for Parley {
    fn id(&self) -> AgentId {
        AgentId::new("parley")
    }

    fn name(&self) -> &'static str {
        "Parley"
    }

    fn revision(&self) -> u32 {
        1
    }

    fn discover(&self, env: &Env) -> Discovery {
        env.home.as_deref().map(|home| self.discover_at(home)).unwrap_or_default()
    }

    fn discover_at(&self, path: &Path) -> Discovery {
        let mut found = Discovery::default();
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if let Ok(about) = entry.metadata() {
                found.sources.push(Source {
                    agent: self.id(),
                    path: entry.path(),
                    kind: SourceKind::Conversation,
                    folder: Some(path.into()),
                    size: about.len(),
                    modified: about.modified().ok(),
                    changed: None,
                    inode: None,
                    archived: None,
                });
            }
        }
        found
    }

    fn scan(&self, source: &Source, bytes: &dyn Bytes, _: Detail) -> io::Result<Scan> {
        let mut text = String::new();
        bytes.open(source)?.read_to_string(&mut text)?;
        let mut part = PartFacts { is_resumable: true, ..PartFacts::default() };
        let mut facts = SourceFacts::default();
        let mut offset = 0;
        for (n, line) in text.split_inclusive('\n').enumerate() {
            let span = Span::File { offset, length: line.len() as u64 };
            offset += line.len() as u64;
            if record(line.trim_end(), span, &mut part).is_none() {
                facts.faults.push(Some(n as u64 + 1), None, FaultKind::Unknown(line.to_owned()));
            }
        }
        part.current = part.messages.iter().map(|message| message.id.clone()).collect();
        facts.parts.push(part);
        let file = SessionFile { updated: None, is_resumable: true, is_offered: true };
        facts.contents = Contents::Session(file);
        Ok(Scan::whole(facts))
    }

    fn fill(&self, message: &mut Message, _: &MessageFacts, record: &str) {
        let words: Vec<&str> = record.trim_end().splitn(5, ' ').collect();
        match words[..] {
            ["typed", _, _, first, rest] => message.text = format!("{first} {rest}"),
            ["reply", _, _, _, text] => text.clone_into(&mut message.text),
            ["ran", id, _, name, output] => message.tool_calls.push(ToolCall {
                output: Some(output.to_owned()),
                status: ToolStatus::Success,
                recorded: true,
                ..ToolCall::new(id.into(), tool_name(name, None))
            }),
            _ => {}
        }
    }
}

/// Adds one record to a session. Returns `None` for an unknown one.
fn record(line: &str, span: Span, part: &mut PartFacts) -> Option<()> {
    let words: Vec<&str> = line.splitn(5, ' ').collect();
    match words[..] {
        ["session", id, folder, ..] => {
            part.session = SessionRef::Id(id.into());
            part.project = Some(folder.to_owned());
            if let [parent, tool] = words[3..] {
                part.kind = SessionKind::Subagent;
                part.parent = Some(parent.into());
                part.spawned_by = Some(tool.into());
            }
        }
        [kind @ ("typed" | "reply"), id, at, numbers, rest] => {
            let is_reply = kind == "reply";
            let kind = if is_reply { MessageKind::Reply } else { MessageKind::Prompt };
            let mut message = MessageFacts::new(id.into(), kind, at.parse().ok());
            if is_reply {
                let (input, output) = numbers.split_once('/')?;
                let (input, output) = (input.parse().ok()?, output.parse().ok()?);
                message.call = Some(CallFacts::new(Usage { input, output, ..Usage::default() }));
                message.key = CallKey::Message;
                message.model = Some(Arc::from("gemini-2.5-pro"));
            } else {
                message.typed = Some(format!("{numbers} {rest}"));
            }
            message.spans.push(span);
            part.messages.push(message);
        }
        ["ran", id, reply, name, _] => {
            let message = part.messages.iter_mut().find(|message| message.id == reply)?;
            message.tools.push(ToolFacts {
                id: Some(id.into()),
                name: name.into(),
                agent_id: None,
                status: ToolStatus::Success,
                server: None,
                at: None,
                lines: None,
            });
            message.spans.push(span);
        }
        _ => return None,
    }
    Some(())
}

const MAIN: &str = "\
session one /work/app
typed p1 2026-01-01T10:00:00Z please investigate
reply r1 2026-01-01T10:00:05Z 100/20 A zebra is asked
ran t1 r1 invoke_agent it is black and white
mumble
";
const CHILD: &str = "\
session one/child /work/app one t1
typed p2 2026-01-01T10:00:06Z describe zebras
reply r2 2026-01-01T10:00:08Z 50/5 Striped
";
/// A session that begins with a copy of the first one.
const FORK: &str = "\
session two /work/app
typed p1 2026-01-01T10:00:00Z please investigate
reply r1 2026-01-01T10:00:05Z 100/20 A zebra is asked
typed p3 2026-01-02T10:00:00Z and giraffes?
reply r3 2026-01-02T10:00:05Z 7/3 Tall
";

#[test]
fn an_agent_of_a_test_goes_through_everything() {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in [("one.parley", MAIN), ("child.parley", CHILD), ("two.parley", FORK)] {
        fs::write(home.path().join(name), text).unwrap();
    }
    let agents = Agents::of(&AGENTS);
    let env = Env { home: Some(home.path().to_owned()), ..Env::default() };
    let found = agents.discover(&env);
    let mut archive = Archive::in_memory().unwrap().with_agents(agents);
    let hints = ProjectHints::default();
    let setup = SyncOptions::plain(&hints);
    let synced = archive.sync(&found, &setup, &|_| {}).unwrap();
    assert_eq!((synced.new, synced.faulty), (3, 1));
    archive.capture(&[], None, &|_| {}).unwrap();

    // The copied call counts once, where it was made.
    let prices = Table::embedded();
    let reports = Reports::new(&archive, &TimeZone::UTC, &prices);
    let answer = reports.usage(&Question::new(Group::Session)).unwrap();
    let rows: Vec<_> = answer.rows.iter().map(|r| (r.key.as_str(), r.sum.usage.total())).collect();
    assert_eq!(rows, [("one", 120), ("one/child", 55), ("two", 10)]);
    assert!(answer.total.bill.usd.is_some());

    let all = Collection::new(&archive, found.clone()).unwrap();
    let described: Vec<_> = all
        .sessions
        .iter()
        .map(|s| (s.id.as_str(), s.kind.name(), s.agent.as_str(), s.project.key()))
        .collect();
    let expected = |id, kind| (id, kind, "parley", "/work/app");
    assert_eq!(
        described,
        [expected("one", "main"), expected("one/child", "subagent"), expected("two", "main")]
    );

    let one = archive.assembled("one").unwrap().unwrap();
    let messages =
        archive.reader().transcript(&one, View::Full, &|id| all.agent_session(id)).unwrap();
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["please investigate", "A zebra is asked"]);
    assert_eq!(messages[1].tool_calls[0].output.as_deref(), Some("it is black and white"));

    archive.index(&|| {}).unwrap();
    let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let query = Query::parse("zebra", &now).unwrap();
    let hits = archive
        .matches(&query, &all.sessions, backstory_core::archive::Order::Relevance, &|_| true)
        .unwrap();
    let hits: BTreeSet<&str> = hits.iter().map(|hit| hit.session.id.as_str()).collect();
    assert_eq!(hits, BTreeSet::from(["one", "two"]));

    let mut written = Vec::new();
    json::write(&one.session, Bill::default(), &messages, &prices, &mut written).unwrap();
    assert!(String::from_utf8(written).unwrap().contains("\"agent\": \"parley\""));
    let mut written = Vec::new();
    events::write(&one, &messages, &prices, &events::Choice::default(), &mut written).unwrap();
    assert!(String::from_utf8(written).unwrap().contains("\"agent\":\"parley\""));

    let survey = Survey::new(&archive, &all).unwrap();
    let report = Report::new(&survey, &env, Timestamp::UNIX_EPOCH);
    assert_eq!(report.fault_count, 1);
    assert_eq!(report.deletions.len(), 0);

    let forgotten = archive.forget(&["one".into()], &setup, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(forgotten.sources, 1);
    let left = Collection::new(&archive, found).unwrap();
    assert_eq!(left.sessions.len(), 2);
}
