//! Tests the redactor on a table of secrets and harmless texts, in various contexts and forms.

use std::fmt::Write;
use std::fs;
use std::sync::LazyLock;

use backstory_core::model::AgentId;
use backstory_core::model::{
    Fate, Message, MessageKind, Reference, Service, Session, Thought, ToolCall, ToolName,
    ToolStatus,
};
use backstory_core::project::{Project, Proof};
use backstory_core::redact::{Choice, Redactor, Rules, UserRule};
use proptest::prelude::*;
use serde_json::value::{RawValue, to_raw_value};

/// A text of the table, with its secrets and their kind.
struct Case {
    kind: String,
    text: String,
    secrets: Vec<String>,
}

fn table(name: &str) -> Vec<Case> {
    let path = format!("{}/../../testdata/redact/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(path).unwrap();
    let lines = table.lines().filter(|line| !line.starts_with("# "));
    lines
        .enumerate()
        .map(|(n, line)| {
            let (kind, text) = match name {
                "positive" => line.split_once('\t').expect("kind, tab, text"),
                _ => ("", line),
            };
            let text = fill(text, n as u64).replace('␤', "\n").replace('␛', "\x1b");
            let marked = text.split('⟦').skip(1).filter_map(|rest| rest.split('⟧').next());
            let secrets = marked.map(str::to_owned).collect();
            Case { kind: kind.to_owned(), text: text.replace(['⟦', '⟧'], ""), secrets }
        })
        .collect()
}

/// Replaces placeholders of the table such as `{an36}` with made-up characters.
fn fill(text: &str, seed: u64) -> String {
    const CLASSES: [(&str, &str); 7] = [
        ("an", "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"),
        ("lo", "abcdefghijkmnopqrstuvwxyz"),
        ("up", "ABCDEFGHJKLMNPQRSTUVWXYZ"),
        ("hex", "abcdef"),
        ("d", "123456789"),
        ("b64", "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ+/"),
        ("url", "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ-_"),
    ];
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = CLASSES.iter().find_map(|(name, class)| {
            let tail = rest[1..].strip_prefix(name)?;
            let (count, tail) = tail.split_once('}')?;
            Some((class.as_bytes(), count.parse::<usize>().ok()?, tail))
        });
        if let Some((class, count, tail)) = found {
            for n in 0..count {
                // Digits are at fixed positions, so that a value never consists of letters alone or ends with
                // a separator.
                let digit = n % 4 == 1 || n + 1 == count;
                let pool = if digit { b"123456789" } else { class };
                out.push(char::from(pool[next(pool.len())]));
            }
            rest = tail;
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out + rest
}

/// The rules, shared by all tests: each rule is compiled when it is first needed.
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded().unwrap());
static POSITIVE: LazyLock<Vec<Case>> = LazyLock::new(|| table("positive"));

#[test]
fn the_table_is_large() {
    let (positive, negative) = (&*POSITIVE, table("negative"));
    assert!(positive.len() >= 300 && negative.len() >= 300);
    let mut kinds: Vec<&str> = positive.iter().map(|case| case.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let all: Vec<&str> = RULES.kinds().iter().filter(|k| k.enabled).map(|k| &*k.name).collect();
    let missing: Vec<_> = all.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    assert!(kinds.len() >= 60);
}

#[test]
fn every_secret_goes_and_nothing_else() {
    let mut wrong = String::new();
    for case in &*POSITIVE {
        let mut redactor = Redactor::new(&RULES);
        let got = redactor.text(&case.text).into_owned();
        let mut want = case.text.clone();
        let mut numbers: Vec<&str> = Vec::new();
        for secret in &case.secrets {
            if !numbers.contains(&secret.as_str()) {
                numbers.push(secret);
            }
            let number = numbers.iter().position(|known| known == secret).unwrap() + 1;
            want = want.replacen(secret.as_str(), &format!("[redacted:{}:{number}]", case.kind), 1);
        }
        if got != want {
            writeln!(wrong, "{}\n  got  {got:?}\n  want {want:?}", case.text).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_is_no_secret_stays() {
    let mut wrong = String::new();
    for case in table("negative") {
        let got = Redactor::new(&RULES).text(&case.text).into_owned();
        if got != case.text {
            writeln!(wrong, "{}\n  got {got}", case.text).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Checks that a secret is found in any context: escaped once or twice, in a URL, in a diff, in a command.
#[test]
fn no_secret_survives_its_surroundings() {
    let escape = |text: &str| serde_json::to_string(text).unwrap();
    for case in &*POSITIVE {
        let surroundings = [
            escape(&case.text),
            format!("{{\"a\":{}}}", escape(&format!("{{\"b\":{}}}", escape(&case.text)))),
            case.text.lines().fold("@@ -1 +1 @@\n".to_owned(), |all, line| all + "+" + line + "\n"),
            case.text.lines().fold(String::new(), |all, line| all + "    " + line + "\r\n"),
            format!("before it\n{}\nafter it", case.text),
            format!("bash -lc {:?}", case.text),
        ];
        for text in surroundings {
            let got = Redactor::new(&RULES).text(&text).into_owned();
            for secret in &case.secrets {
                // In pieces, because a key of many lines looks different in each form.
                for piece in secret.split('\n').flat_map(|line| line.split("\\n")) {
                    let piece = piece.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                    // A password of a few letters may also be part of the text around it.
                    if case.text.matches(piece).count() == 1 {
                        assert!(!got.contains(piece), "{piece} survives in\n{text}\nas\n{got}");
                    }
                }
            }
        }
    }
}

#[test]
fn twice_is_once() {
    let all: String = POSITIVE.iter().map(|case| case.text.clone() + "\n").collect();
    let once = Redactor::new(&RULES).text(&all).into_owned();
    assert_eq!(Redactor::new(&RULES).text(&once), once);
    for case in &*POSITIVE {
        let once = Redactor::new(&RULES).text(&case.text).into_owned();
        assert_eq!(Redactor::new(&RULES).text(&once), once);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Concatenates pieces of the table in any order and any way.
    #[test]
    fn twice_is_once_whatever_the_text(
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0usize..120, 0usize..9), 1..8)
    ) {
            let mut text = String::new();
        for (pick, cut, glue) in picks {
            let case = &pick.get(&POSITIVE).text;
            text.extend(case.chars().skip(cut / 3).take(if cut % 3 == 0 { 4000 } else { cut }));
            text.push_str(["", " ", "\n", "=", "\"", ":", "@", " --password ", "PASSWORD="][glue]);
        }
        let once = Redactor::new(&RULES).text(&text).into_owned();
        let mut second = Redactor::new(&RULES);
        prop_assert_eq!(second.text(&once), once.as_str(), "from {}", text);
        prop_assert!(second.counts().is_empty());
    }

    #[test]
    fn any_text_goes_through(text in "(?s).{0,200}") {
        let once = Redactor::new(&RULES).text(&text).into_owned();
        prop_assert_eq!(Redactor::new(&RULES).text(&once), once.as_str());
    }

    /// Manifests of secrets that are cut, nested or repeated go through.
    #[test]
    fn any_manifest_goes_through(
        parts in prop::collection::vec(prop::sample::select(&[
            "kind: Secret\n", "\"kind\":\"Secret\",", "data:\n", "stringData: ", "  token: ", "QWxhZGRpbjEyMw==\n",
            "---\n", "\\n", "\"", "é", "{", "type: Opaque\n", "hunter2=",
        ][..]), 0..80),
        pad in 0..5000usize,
    ) {
        let text = format!("{}{}", parts.concat(), "é".repeat(pad));
        Redactor::new(&RULES).text(&text);
        Redactor::new(&RULES).text(&format!("{}{text}", "x".repeat(pad)));
    }

    /// Redaction preserves the structure of a document, even where a key holds a secret.
    #[test]
    fn json_keeps_its_shape(text in "(?s).{0,40}", number in any::<i64>()) {
        let token = fill("ghp_{an36}", 7);
        let value = serde_json::json!({ &text: [number, &text, {"k": format!("{text} {token}")}] });
        let json = value.to_string();
        let got = Redactor::new(&RULES).json(&json).into_owned();
        let got: serde_json::Value = serde_json::from_str(&got).unwrap();
        prop_assert!(!got.to_string().contains(&token));
        let fields: Vec<_> = got.as_object().unwrap().values().collect();
        prop_assert_eq!(fields.len(), 1);
        let items = fields[0].as_array().unwrap();
        prop_assert_eq!(items.len(), 3);
        prop_assert_eq!(items[0].as_i64(), Some(number));
        prop_assert!(items[1].is_string());
        prop_assert!(items[2]["k"].is_string());
    }
}

#[test]
fn equal_secrets_stay_equal() {
    let mut redactor = Redactor::new(&RULES);
    let (a, b) = (fill("ghp_{an36}", 1), fill("ghp_{an36}", 2));
    let text = format!("{a} {b} GITHUB_TOKEN={a}");
    let want = "[redacted:github-token:1] [redacted:github-token:2] GITHUB_TOKEN=[redacted:github-token:1]";
    assert_eq!(redactor.text(&text), want);
    assert_eq!(redactor.text(&b), "[redacted:github-token:2]");
    let counts = redactor.counts();
    assert_eq!(
        (counts[0].kind.as_str(), counts[0].found, counts[0].distinct),
        ("github-token", 4, 2)
    );
}

#[test]
fn what_was_recognised_once_goes_everywhere() {
    let key = fill("{hex32}", 5);
    let name = "harbor_key_2024";
    let text = format!(
        "RADARR_API_KEY={key} ADMIN_TOKEN={name}\n\"key\": \"{key}\" {{'Authorization': '{key}'}} apikey: {name} \
         ?apikey={name}&appid={key} | RADARR_API_KEY | {key} | the token is `{key}` <ApiKey>{key}</ApiKey> \
         \"hash\":\"{name}\" pwd: \"{key}\" x{key} {key}0"
    );
    let mut redactor = Redactor::new(&RULES);
    redactor.text(&text);
    redactor.learn();
    let out = redactor.text(&text).into_owned();
    assert_eq!(out.matches(&key).count(), 2, "only inside longer words: {out}");
    assert!(!out.contains(name), "{out}");
    assert!(out.contains("\"key\": \"[redacted:secret:1]\""), "{out}");
    let found: u64 = redactor.counts().iter().map(|count| count.found).sum();
    assert_eq!(found, 12, "counted once: {out}");
}

#[test]
fn a_wrapped_key_goes_whole_at_any_width() {
    let body = vec!["A1b2C3d4".repeat(8); 6].join("\\n");
    let text = format!(
        "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n\""
    );
    for width in 44..200 {
        let lines: Vec<&str> =
            text.as_bytes().chunks(width).map(|l| str::from_utf8(l).unwrap()).collect();
        for indent in ["", "    ", "> ", "│ "] {
            let wrapped = format!("{indent}{}\n", lines.join(&format!("\n{indent}")));
            let out = Redactor::new(&RULES).text(&wrapped).into_owned();
            assert!(!out.contains("b2C3"), "at {width}: {out}");
        }
    }
}

#[test]
fn a_disguise_is_taken_out_with_the_secret() {
    let token = fill("ghp_{an36}", 1);
    let (head, tail) = token.split_at(9);
    let marker = "x [redacted:github-token:1] y";
    for inside in ["\u{200b}", "\x1b[1m", "\u{feff}\u{2060}"] {
        let text = format!("x {head}{inside}{tail} y");
        assert_eq!(Redactor::new(&RULES).text(&text), marker);
    }
    let escaped = format!("x {}\\u{:04x}{} y", &token[..9], token.as_bytes()[9], &token[10..]);
    assert_eq!(Redactor::new(&RULES).text(&escaped), marker);
    assert_eq!(
        Redactor::new(&RULES).text(&format!("\x1b[32m{token}\x1b[0m")),
        "\x1b[32m[redacted:github-token:1]\x1b[0m"
    );
}

#[test]
fn the_hundredth_secret_of_a_form_goes_like_the_first() {
    for form in [
        "https://user{n}:{an16}@host{n}.corp.test/repo.git",
        "Authorization: Bearer {an40}",
        "INFO running curl -s -u deploy:{an14} https://host{n}.corp.test/a",
        "aws configure set aws_secret_access_key {an40}",
        "GET /callback?code={an30}&state=1",
        "mysqldump --password {an14} shop",
        "setx DB_PASSWORD {an14}",
        "db{n}.corp.test:5432:shop:app:{an16}",
        "ENV APP_PASSWORD {an14}",
        "CREATE USER u{n} IDENTIFIED BY '{an14}';",
        "ConvertTo-SecureString '{an14}' -AsPlainText -Force",
        "curl https://host{n}.corp.test/a && curl -u deploy:{an14} https://host{n}.corp.test/b",
    ] {
        let mut text = String::new();
        let mut secrets = Vec::new();
        for n in 0..300_u64 {
            let (head, rest) = form.split_once("{an").unwrap();
            let (length, tail) = rest.split_once('}').unwrap();
            let secret = fill(&format!("{{an{length}}}"), n + 1);
            let line = format!("{head}{secret}{tail}\n").replace("{n}", &n.to_string());
            secrets.push(secret);
            text.push_str(&line);
        }
        let redacted = Redactor::new(&RULES).text(&text).into_owned();
        let left = secrets.iter().filter(|secret| redacted.contains(secret.as_str())).count();
        assert_eq!(left, 0, "{form}");
    }
}

#[test]
fn the_users_own_rules() {
    let rules = Rules::with(&Choice {
        rules: vec![UserRule {
            kind: "badge".into(),
            regex: r"badge-(\d{4})".into(),
            keywords: vec!["badge-".into()],
        }],
        allow: vec!["hunter2".into(), "ghp_a+".into()],
        enable: vec!["email".into(), "home-path".into()],
        disable: vec!["url-password".into()],
    })
    .unwrap();
    let allowed = format!("ghp_{}", "a".repeat(36));
    let text = format!(
        "badge-1234 DB_PASSWORD=hunter2 {allowed} postgres://a:b1@c me@example.org /home/me/x C:\\Users\\me"
    );
    let want = format!(
        "badge-[redacted:badge:1] DB_PASSWORD=hunter2 {allowed} postgres://a:b1@c [redacted:email:1] \
         /home/[redacted:home-path:1]/x C:\\Users\\[redacted:home-path:1]"
    );
    assert_eq!(Redactor::new(&rules).text(&text), want);
}

#[test]
fn json_is_read_with_its_keys_and_left_as_it_is() {
    let token = fill("ghp_{an36}", 1);
    let mut escaped = String::new();
    for c in token.chars() {
        write!(escaped, "\\u{:04x}", u32::from(c)).unwrap();
    }
    let json = format!(
        r#"{{ "a": 1.50, "a": "\ud800", "password": "hunter2", "argv": ["x", "--password", "swordfish"],
        "k": "{escaped}", "inlineData": {{"data": "{token}"}}, "note": "a {{\"token\":\"{token}\"}}" }}"#
    );
    let want = format!(
        r#"{{ "a": 1.50, "a": "\ud800", "password": "[redacted:password:1]", "argv": ["x", "--password", "[redacted:flag-password:1]"],
        "k": "[redacted:github-token:1]", "inlineData": {{"data": "{token}"}}, "note": "a {{\"token\":\"[redacted:github-token:1]\"}}" }}"#
    );
    let mut redactor = Redactor::new(&RULES);
    let got = redactor.json(&json).into_owned();
    assert_eq!(got, want);
    assert_eq!(redactor.json(&got), got);
}

#[test]
fn a_message_and_its_session() {
    let token = fill("ghp_{an36}", 1);
    let some = || Some(token.clone());
    let raw = || -> Option<Box<RawValue>> {
        to_raw_value(&serde_json::json!({ "command": format!("echo {token}"), "n": 1 })).ok()
    };
    let mut message = Message {
        id: "m1".into(),
        at: None,
        role: MessageKind::Prompt.role(),
        kind: MessageKind::Prompt,
        fate: Fate::Kept,
        current: true,
        part: 0,
        text: token.clone(),
        typed: some(),
        references: vec![Reference { path: format!("/tmp/{token}"), bytes: 1 }],
        attachments: vec![],
        thoughts: vec![Thought { subject: token.clone(), description: token.clone(), at: None }],
        model: some(),
        usage: None,
        service: Service::default(),
        is_imported: false,
        tool_calls: vec![ToolCall {
            id: "c1".into(),
            name: ToolName {
                name: token.clone(),
                label: token.clone(),
                canonical: "shell",
                category: "shell",
                server: some(),
            },
            display_name: some(),
            description: some(),
            args: raw(),
            status: ToolStatus::Success,
            recorded: true,
            at: None,
            output: some(),
            error: some(),
            result_display: raw(),
            markdown: false,
            exit_code: None,
            lines_added: None,
            lines_removed: None,
            agent_session: None,
            is_powershell: false,
        }],
    };
    let project =
        Project { name: "p".into(), path: None, proof: Proof::None, hash: None, dir: None };
    let mut session = Session::new("s".into(), AgentId::new("gemini"), project.into());
    session.summary = some();
    session.first_prompt = some();
    session.last_prompt = some();
    session.name = some();
    session.tags = vec![token.clone()];
    session.models = vec![token.clone()];
    let mut redactor = Redactor::new(&RULES);
    redactor.message(&mut message);
    redactor.session(&mut session);
    let all = format!("{message:?} {session:?}");
    assert!(!all.contains(&token), "{all}");
    assert_eq!(redactor.counts()[0].found, 21);
    assert_eq!(
        message.tool_calls[0].args.as_ref().unwrap().get(),
        r#"{"command":"echo [redacted:github-token:1]","n":1}"#
    );
}

/// An image of several megabytes is a single string without a secret, and is scanned once.
#[test]
fn blobs_stay_whole() {
    let blob = fill("{b64300}", 3).repeat(10_000);
    let inside = blob.clone() + "/AKIA" + &"A".repeat(16) + "/" + &blob;
    assert_eq!(Redactor::new(&RULES).text(&inside), inside);
}
