//! Reads trees that real versions of Codex CLI wrote, and compares the results with the billed usage and the
//! recorded messages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, SyncOptions};
use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::model::{Fate, Message, MessageKind, Session, SessionId, Usage};
use backstory_core::projects::ProjectHints;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::{Home, discover_at, files_below, testdata};

/// Returns the folders of all cases.
fn cases() -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut cases: Vec<PathBuf> =
        folders(&testdata("codex")).iter().flat_map(|version| folders(version)).collect();
    cases.sort();
    assert!(cases.len() > 40, "{}", cases.len());
    cases
}

fn expected(case: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(case.join(name)).unwrap()).unwrap()
}

/// Runs a check on every case, and fails with the problems of all cases.
fn each_case(check: impl Fn(&Path, &Home) -> Vec<String>) {
    let mut failures = Vec::new();
    for case in cases() {
        let home = Home::at(&case);
        let name = case.strip_prefix(testdata("codex")).unwrap().display().to_string();
        failures.extend(check(&case, &home).into_iter().map(|what| format!("{name}: {what}")));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The numbers of calls and tokens by model.
pub(crate) type Totals = BTreeMap<String, (u64, Usage)>;

pub(crate) fn totals(home: &Home) -> Totals {
    let mut out = Totals::new();
    for session in &home.sessions {
        for entry in session.listed().filter(|entry| entry.owned) {
            let Some(call) = &entry.facts.call else { continue };
            let model = entry.facts.model.as_deref().unwrap_or("unknown");
            let sum = out.entry(model.to_owned()).or_default();
            sum.0 += u64::from(!call.is_extra);
            sum.1 += call.usage;
        }
    }
    out
}

fn billed(case: &Path) -> Totals {
    let expected = expected(case, "expected-usage.json");
    let models = expected["in_files"].as_object().unwrap().iter();
    let total = |(model, row): (&String, &Value)| {
        let number = |name: &str| row[name].as_u64().unwrap();
        let usage = Usage {
            input: number("input") - number("cached") - number("cache_write"),
            cached: number("cached"),
            cache_write_5m: number("cache_write"),
            output: number("output") - number("reasoning"),
            thoughts: number("reasoning"),
            ..Usage::default()
        };
        (model.clone(), (number("calls"), usage))
    };
    models.map(total).collect()
}

#[test]
fn every_call_that_is_in_the_files_is_counted_once() {
    each_case(|case, home| {
        let (found, billed) = (totals(home), billed(case));
        if found == billed { Vec::new() } else { vec![format!("{found:?}\n    for {billed:?}")] }
    });
}

/// Returns at most 200 characters of a text, with white space collapsed.
fn cut(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect::<String>()
}

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

pub(crate) fn replies(messages: &[Message]) -> Vec<String> {
    let replies = messages.iter().filter(|message| message.kind == MessageKind::Reply);
    replies.map(|message| cut(&message.text)).filter(|text| !text.is_empty()).collect()
}

/// Returns the ids of tool calls, except searches by the vendor, whose ids nothing refers to.
fn tool_calls(messages: &[Message]) -> Vec<String> {
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let named = calls.filter(|call| call.name.name != "web_search");
    named.map(|call| call.id.to_string()).collect()
}

/// Compares two lists regardless of order. Entries of `optional` may be missing or additional.
fn differ(
    what: &str,
    mut found: Vec<String>,
    mut wanted: Vec<String>,
    optional: &[String],
) -> Option<String> {
    found.retain(|text| !optional.contains(text));
    wanted.retain(|text| !optional.contains(text));
    found.sort();
    wanted.sort();
    (found != wanted).then(|| format!("{what}:\n    {found:?}\n    for {wanted:?}"))
}

#[test]
fn sessions_and_their_views_are_those_of_the_program() {
    each_case(|case, home| {
        let mut out = Vec::new();
        let expected = expected(case, "expected-sessions.json");
        let expected = expected.as_array().unwrap();
        let ids = |is_optional: bool| {
            let wanted =
                expected.iter().filter(move |one| is_optional || one["optional_session"] != true);
            wanted.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let found: Vec<String> =
            home.sessions.iter().map(|session| session.session.id.to_string()).collect();
        let optional: Vec<String> =
            ids(true).into_iter().filter(|id| !ids(false).contains(id)).collect();
        out.extend(differ("sessions", found, ids(false), &optional));
        for wanted in expected {
            let id = wanted["id"].as_str().unwrap();
            let Some(assembled) = home.sessions.iter().find(|one| one.session.id == id) else {
                continue;
            };
            let session = &assembled.session;
            if session.kind.name() != wanted["kind"]
                || session.parent.as_deref() != wanted["parent"].as_str()
            {
                out.push(format!("{id} is {:?} of {:?}", session.kind, session.parent));
            }
            if let Some(project) = wanted["project"].as_str()
                && session.project.path.as_deref() != Some(project)
            {
                out.push(format!("{id} is in {:?}", session.project));
            }
            let optional = |name: &str| strings(&wanted[name]);
            let full = home.messages(assembled, View::Full);
            if wanted["prompts"].is_array() {
                let own = assembled.listed().filter(|entry| !entry.facts.is_inherited);
                let typed = own.filter(|entry| entry.facts.kind == MessageKind::Prompt);
                let typed = typed.map(|entry| cut(entry.facts.typed.as_deref().unwrap())).collect();
                out.extend(differ(
                    &format!("{id} prompts"),
                    typed,
                    strings(&wanted["prompts"]),
                    &optional("optional_prompts"),
                ));
            }
            let own: Vec<Message> = full
                .iter()
                .filter(|message| {
                    !assembled
                        .listed()
                        .any(|entry| entry.facts.id == message.id && entry.facts.is_inherited)
                })
                .cloned()
                .collect();
            let whole = |name: &str| {
                let mut all = strings(&wanted["full"][name]);
                all.extend(strings(&wanted["inherited"][name]));
                all
            };
            out.extend(differ(
                &format!("{id} own replies"),
                replies(&own),
                strings(&wanted["full"]["replies"]),
                &optional("optional"),
            ));
            let parts = optional("optional_tool_calls");
            out.extend(differ(
                &format!("{id} own tools"),
                tool_calls(&own),
                strings(&wanted["full"]["tool_calls"]),
                &parts,
            ));
            out.extend(differ(
                &format!("{id} full replies"),
                replies(&full),
                whole("replies"),
                &optional("optional"),
            ));
            out.extend(differ(
                &format!("{id} full tools"),
                tool_calls(&full),
                whole("tool_calls"),
                &parts,
            ));
            let nameless =
                own.iter().flat_map(|m| &m.tool_calls).filter(|c| c.name.name == "web_search");
            if nameless.count() as u64 != wanted["calls_without_id"].as_u64().unwrap_or(0)
                && parts.is_empty()
            {
                out.push(format!("{id} has other searches"));
            }
            if wanted["uncertain"] == false {
                let current = home.messages(assembled, View::Current);
                out.extend(differ(
                    &format!("{id} current replies"),
                    replies(&current),
                    strings(&wanted["current"]["replies"]),
                    &optional("optional"),
                ));
                out.extend(differ(
                    &format!("{id} current tools"),
                    tool_calls(&current),
                    strings(&wanted["current"]["tool_calls"]),
                    &parts,
                ));
            }
        }
        out
    });
}

pub(crate) type File = (PathBuf, Vec<u8>);

/// Copies a tree, applying `change` to each file.
pub(crate) fn copy(from: &Path, to: &Path, change: &dyn Fn(&Path, Vec<u8>) -> File) {
    for file in files_below(from) {
        let below = file.strip_prefix(from).unwrap();
        let (below, bytes) = change(below, fs::read(&file).unwrap());
        fs::create_dir_all(to.join(&below).parent().unwrap()).unwrap();
        fs::write(to.join(below), bytes).unwrap();
    }
}

/// Returns the messages and the usage of all sessions.
pub(crate) fn told(home: &Home) -> Vec<[Vec<String>; 4]> {
    let one = |assembled: &SessionFacts| {
        let full = home.messages(assembled, View::Full);
        let fates = full.iter().map(|message| format!("{:?} {:?}", message.kind, message.fate));
        let current = home.messages(assembled, View::Current);
        let id = format!("{} {:?}", assembled.session.id, assembled.session.usage);
        [vec![id], fates.collect(), replies(&full), replies(&current)]
    };
    home.sessions.iter().map(one).collect()
}

const TREES: [&str; 4] =
    ["codex/0.98.0/life", "codex/0.125.0/forks", "codex/0.153.0/forks", "codex/0.166.0/life"];

#[test]
fn compressed_files_say_the_same() {
    for tree in TREES {
        let folder = tempfile::tempdir().unwrap();
        copy(&testdata(tree).join("codex"), folder.path(), &|path, bytes| {
            if !path.file_name().unwrap().to_str().unwrap().starts_with("rollout-") {
                return (path.to_owned(), bytes);
            }
            let name = path.with_extension("jsonl.zst");
            (name, zstd::encode_all(bytes.as_slice(), 3).unwrap())
        });
        assert_eq!(told(&Home::at(folder.path())), told(&Home::at(&testdata(tree))), "{tree}");
    }
}

#[test]
fn a_copy_of_every_file_changes_nothing() {
    for tree in TREES {
        let folder = tempfile::tempdir().unwrap();
        let from = testdata(tree).join("codex");
        copy(&from, folder.path(), &|path, bytes| (path.to_owned(), bytes));
        copy(&from.join("sessions"), &folder.path().join("archived_sessions"), &|path, bytes| {
            (path.file_name().unwrap().into(), bytes)
        });
        assert_eq!(totals(&Home::at(folder.path())), totals(&Home::at(&testdata(tree))), "{tree}");
    }
}

#[test]
fn files_may_be_read_in_any_order_and_in_steps() {
    for tree in TREES {
        let found = discover_at(&testdata(tree));
        let whole = told(&Home::of(found.clone()));
        for reversed in [false, true] {
            let mut sources = found.sources.clone();
            if reversed {
                sources.reverse();
            }
            let mut archive = Archive::in_memory().unwrap();
            for count in 1..=sources.len() {
                let mut some = found.clone();
                some.sources = sources[..count].to_vec();
                archive
                    .sync(&some, &SyncOptions::plain(&ProjectHints::default()), &|_| {})
                    .unwrap();
            }
            assert_eq!(told(&Home::new(archive, found.clone())), whole, "{tree} {reversed}");
        }
    }
}

#[test]
fn a_home_has_nothing_for_other_agents() {
    let folder = tempfile::tempdir().unwrap();
    copy(&testdata("codex/0.166.0/life/codex"), &folder.path().join(".codex"), &|path, bytes| {
        (path.to_owned(), bytes)
    });
    fs::write(folder.path().join(".codex/auth.json"), "{\"OPENAI_API_KEY\":\"x\"}").unwrap();
    fs::create_dir_all(folder.path().join(".gemini/tmp/app/chats")).unwrap();
    let session = r#"{"sessionId":"0000000a-0000-4000-8000-000000000000","projectHash":"h"}"#;
    fs::write(folder.path().join(".gemini/tmp/app/chats/session-1.jsonl"), session).unwrap();
    for path in [folder.path().to_owned(), folder.path().join(".codex")] {
        let found = discover_at(&path);
        let names = found.sources.iter().map(|source| source.path.to_str().unwrap());
        assert!(names.clone().all(|name| !name.contains("auth")), "{:?}", found.sources);
        let rollouts = found.sources.iter().filter(|source| source.agent.as_str() == "codex");
        assert!(rollouts.count() >= 4, "{:?}", found.sources);
        let others = found.sources.iter().filter(|source| source.agent.as_str() == "gemini");
        assert_eq!(others.count(), usize::from(path == folder.path()));
    }
}

#[test]
fn threads_have_the_last_of_their_names() {
    let home = Home::at(&testdata("codex/0.153.0/forks"));
    let named = home.sessions.iter().filter_map(|one| one.session.summary.as_deref());
    assert_eq!(named.collect::<Vec<_>>(), ["Answer some prompts"; 4]);
    let home = Home::at(&testdata("codex/0.125.0/abort"));
    assert!(home.sessions.iter().any(|one| one.session.summary.as_deref() == Some("My own name")));
}

#[test]
fn an_interrupted_turn_is_loaded_and_marked() {
    let home = Home::at(&testdata("codex/0.125.0/abort"));
    let marked = home.sessions.iter().flat_map(SessionFacts::listed);
    let marked: Vec<_> = marked.filter(|entry| entry.facts.fate == Fate::Interrupted).collect();
    let typed = marked.iter().filter_map(|entry| entry.facts.typed.as_deref());
    assert_eq!(typed.collect::<Vec<_>>(), ["a slow one", "a sleepy tool"]);
    assert!(marked.iter().all(|entry| entry.current.is_some()));
}

#[test]
fn what_a_newer_file_of_a_thread_left_behind_is_rewound() {
    let home = Home::at(&testdata("codex/0.166.0/life"));
    let rewound = home.sessions.iter().flat_map(|one| home.messages(one, View::Full));
    let rewound = rewound.filter(|message| message.fate == Fate::Rewound && message.kind.is_turn());
    let texts: Vec<String> = rewound.map(|message| message.text).collect();
    assert_eq!(texts, ["prompt three", "Answer: prompt three"]);
}

#[test]
fn forgetting_a_fork_keeps_the_thread_it_continues() {
    let found = discover_at(&testdata("codex/0.153.0/forks"));
    let mut archive = Archive::of(&found).unwrap();
    let sessions = archive.sessions().unwrap();
    let borrows = |session: &&Session| session.parts.len() > 1 && session.prompts > 0;
    let fork = sessions.iter().find(borrows).unwrap().id.clone();
    let hints = ProjectHints::default();
    let setup = SyncOptions::plain(&hints);
    archive.forget(std::slice::from_ref(&fork), &setup, Timestamp::UNIX_EPOCH).unwrap();
    archive.sync(&found, &setup, &|_| {}).unwrap();
    let left: Vec<SessionId> = archive.sessions().unwrap().into_iter().map(|one| one.id).collect();
    let expected = sessions.iter().map(|one| &one.id).filter(|id| **id != fork);
    assert_eq!(left, expected.cloned().collect::<Vec<_>>());
}
