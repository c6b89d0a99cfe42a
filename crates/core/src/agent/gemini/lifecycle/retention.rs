//! Predicts which files Gemini CLI is going to delete, and when.
//!
//! At each start it cleans up the chats of the current project. By default it deletes sessions
//! older than 30 days (since 0.30). Worse, a file with nothing to resume counts as corrupt, and a
//! corrupt file is deleted together with all files that share the 8 characters of its id. Resuming
//! a session leaves such a file, so a resume followed by a new start deletes the session that was
//! resumed.

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap as HashMap;
use serde_json::Value;

use crate::agent::lifecycle::Early;

/// The effective value of `general.sessionRetention` from all settings files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Whether the clean-up is enabled.
    pub enabled: bool,
    /// The age at which sessions are deleted.
    pub max_age: Option<String>,
    /// The number of sessions to keep.
    pub max_count: Option<i64>,
    /// The shortest time for which sessions are kept.
    pub min_retention: String,
    /// The last settings file that set any of it; none for Gemini CLI's own defaults.
    pub from: Option<String>,
    /// The reason why Gemini CLI does not clean up although it is enabled.
    pub invalid: Option<String>,
}

/// One settings file. In ascending order of precedence: system defaults, user, project, system.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the file.
    pub name: String,
    /// Its content.
    pub text: String,
}

impl Retention {
    /// Merges the files as Gemini CLI does. A file that does not parse is left out and named.
    pub fn decide(files: &[Settings]) -> (Self, Vec<String>) {
        let mut out = Self {
            enabled: true,
            max_age: Some("30d".to_owned()),
            max_count: None,
            min_retention: "1d".to_owned(),
            from: None,
            invalid: None,
        };
        let mut unreadable = Vec::new();
        for file in files {
            match serde_json::from_str::<Value>(&strip_comments(&file.text)) {
                Ok(value) => out.take(&value["general"]["sessionRetention"], &file.name),
                Err(error) => unreadable.push(format!("`{}` is not JSON: {error}", file.name)),
            }
        }
        out.invalid = out.check().err();
        (out, unreadable)
    }

    fn take(&mut self, value: &Value, name: &str) {
        let Value::Object(settings) = value else { return };
        for (key, value) in settings {
            match (key.as_str(), value) {
                ("enabled", value) => self.enabled = value.as_bool().unwrap_or(false),
                ("maxAge", value) => {
                    self.max_age = value.as_str().filter(|age| !age.is_empty()).map(str::to_owned);
                }
                ("maxCount", value) => self.max_count = value.as_i64(),
                ("minRetention", Value::String(text)) => self.min_retention.clone_from(text),
                _ => continue,
            }
            self.from = Some(name.to_owned());
        }
    }

    /// Applies Gemini CLI's own checks; an invalid setting disables the clean-up.
    fn check(&self) -> Result<(), String> {
        if let Some(age) = &self.max_age {
            let max = period(age).ok_or_else(|| format!("`maxAge` is `{age}`, not like `30d`"))?;
            let min = period(&self.min_retention).unwrap_or(SignedDuration::from_hours(24));
            if max < min {
                return Err(format!(
                    "`maxAge` {age} is less than `minRetention` {}",
                    self.min_retention
                ));
            }
        }
        match (self.max_count, &self.max_age) {
            (Some(count), _) if count < 1 => Err("`maxCount` is less than 1".to_owned()),
            (None, None) => Err("neither `maxAge` nor `maxCount` is set".to_owned()),
            _ => Ok(()),
        }
    }

    /// Returns whether anything will be deleted.
    pub fn is_active(&self) -> bool {
        self.enabled && self.invalid.is_none()
    }
}

/// Parses `<number><h|d|w|m>`; a month has 30 days.
fn period(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.parse().ok().filter(|n| *n > 0)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        'm' => 24 * 30,
        _ => return None,
    };
    Some(SignedDuration::from_hours(number.checked_mul(hours).filter(|h| *h < 1_000_000_000)?))
}

/// One file directly in a `chats` folder, as the clean-up sees it.
#[derive(Debug, Clone)]
pub struct ChatFile {
    /// The name of the file.
    pub name: String,
    /// The last update, if it contains something to resume and is not a subagent's.
    pub resumable_since: Option<Timestamp>,
}

/// The reason why a file will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is older than `maxAge`.
    Age,
    /// There are more than `maxCount` newer ones.
    Count,
    /// There is nothing to resume in it, which counts as corrupt.
    Corrupt,
    /// Another file with the same 8 characters is deleted: the resume bug.
    SharesId(String),
}

/// A file that will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The name of the file.
    pub name: String,
    /// The moment after which the next start of Gemini CLI in that project deletes it; none for the
    /// next start.
    pub at: Option<Timestamp>,
    /// The reason.
    pub why: Reason,
    /// Set if it is deleted before its time because another file shares its id.
    pub early: Option<Early>,
}

/// Returns the files that the clean-up will delete from one `chats` folder, each once, the soonest
/// first. File names must be unique.
pub fn plan(files: &[ChatFile], retention: &Retention, now: Timestamp) -> Vec<Deletion> {
    if !retention.is_active() {
        return Vec::new();
    }
    let limits = Limits::new(retention, now);
    let ranks = ranks(files);
    let causes: Vec<Option<Cause>> =
        files.iter().zip(&ranks).map(|(file, rank)| limits.cause(file, rank.newer)).collect();
    let order = |at: &usize| {
        let cause = causes[*at].as_ref()?;
        Some((cause.at.is_some(), cause.at, files[*at].name.as_str()))
    };
    let mut going: Vec<usize> = (0..files.len()).filter(|at| causes[*at].is_some()).collect();
    going.sort_by_key(order);
    // The first file of an id to be deleted takes all others with that id along.
    let mut first: HashMap<&str, usize> = HashMap::default();
    for at in going {
        if let Some(id) = short_id(&files[at].name) {
            first.entry(id).or_insert(at);
        }
    }
    let deletion = |at: usize| {
        let name = files[at].name.clone();
        let leader = short_id(&name).and_then(|id| first.get(id)).copied();
        let Some(leader) = leader.filter(|leader| *leader != at) else {
            let Cause { at, why } = causes[at].clone()?;
            return Some(Deletion { name, at, why, early: None });
        };
        let cause = causes[leader].as_ref()?;
        let alone = limits.cause(&files[at], ranks[at].newer_of_other_ids);
        let early = match alone.map(|alone| alone.at) {
            None => Some(Early { instead_of: None }),
            Some(Some(own)) if cause.at.is_none_or(|at| own > at) => {
                Some(Early { instead_of: Some(own) })
            }
            Some(_) => None,
        };
        let why = Reason::SharesId(files[leader].name.clone());
        Some(Deletion { name, at: cause.at, why, early })
    };
    let mut out: Vec<Deletion> = (0..files.len()).filter_map(deletion).collect();
    out.sort_by(|a, b| (a.at.is_some(), a.at, &a.name).cmp(&(b.at.is_some(), b.at, &b.name)));
    out
}

/// The reason and time for which a file is deleted by itself.
#[derive(Debug, Clone)]
struct Cause {
    at: Option<Timestamp>,
    why: Reason,
}

/// The limits that the settings set at one moment.
struct Limits {
    age: Option<SignedDuration>,
    count: Option<usize>,
    now: Timestamp,
}

impl Limits {
    fn new(retention: &Retention, now: Timestamp) -> Self {
        let age = retention.max_age.as_deref().and_then(period);
        let count = retention.max_count.and_then(|count| usize::try_from(count).ok());
        Self { age, count, now }
    }

    /// Returns why and when a file with `newer` newer ones is deleted, or `None` if it is kept.
    fn cause(&self, file: &ChatFile, newer: usize) -> Option<Cause> {
        let Some(updated) = file.resumable_since else {
            return Some(Cause { at: None, why: Reason::Corrupt });
        };
        if self.count.is_some_and(|count| newer >= count) {
            return Some(Cause { at: None, why: Reason::Count });
        }
        let end = updated.checked_add(self.age?).unwrap_or(Timestamp::MAX);
        Some(Cause { at: Some(end).filter(|end| *end > self.now), why: Reason::Age })
    }
}

/// The number of resumable files that are newer than a file.
#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    newer: usize,
    newer_of_other_ids: usize,
}

fn ranks(files: &[ChatFile]) -> Vec<Rank> {
    let mut newest: Vec<usize> =
        (0..files.len()).filter(|at| files[*at].resumable_since.is_some()).collect();
    newest.sort_by_key(|at| std::cmp::Reverse(files[*at].resumable_since));
    let mut of_id: HashMap<&str, usize> = HashMap::default();
    let mut out = vec![Rank::default(); files.len()];
    for (newer, at) in newest.into_iter().enumerate() {
        let same = short_id(&files[at].name).map(|id| of_id.entry(id).or_default());
        let newer_of_other_ids = newer - same.as_deref().copied().unwrap_or(0);
        out[at] = Rank { newer, newer_of_other_ids };
        if let Some(same) = same {
            *same += 1;
        }
    }
    out
}

/// Returns the 8 characters at the end of a session file's name.
pub fn short_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))?;
    let (rest, id) = stem.rsplit_once('-')?;
    let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && rest.starts_with("session")).then_some(id)
}

/// Blanks out `//` and `/* */` comments, which settings files may contain.
pub(crate) fn strip_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{FEFF}').chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', _) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decide(files: &[(&str, &str)]) -> (Retention, Vec<String>) {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| Settings { name: (*name).to_owned(), text: (*text).to_owned() })
            .collect();
        Retention::decide(&files)
    }

    #[test]
    fn the_strongest_file_has_the_last_word() {
        let (defaults, _) = decide(&[]);
        assert!(defaults.is_active());
        assert_eq!(defaults.max_age.as_deref(), Some("30d"));
        let (got, bad) = decide(&[
            (
                "user",
                r#"{"general": {"sessionRetention": {"maxAge": "90d" /* long */, "maxCount": 5}}}"#,
            ),
            ("project", "{ // nothing here\n }"),
            ("broken", "{,}"),
            ("system", r#"{"general": {"sessionRetention": {"maxAge": "60d"}}, "x": "a // b"}"#),
        ]);
        assert_eq!((got.max_age.as_deref(), got.max_count), (Some("60d"), Some(5)));
        assert_eq!(got.from.as_deref(), Some("system"));
        assert_eq!(bad.len(), 1);
    }

    #[test]
    fn bad_settings_switch_it_off() {
        for settings in [
            r#"{"maxAge": "12h"}"#,
            r#"{"maxAge": "0d"}"#,
            r#"{"maxAge": "1y"}"#,
            r#"{"maxCount": 0}"#,
            r#"{"maxAge": ""}"#,
        ] {
            let text = format!(r#"{{"general": {{"sessionRetention": {settings}}}}}"#);
            let (got, _) = decide(&[("user", &text)]);
            assert!(got.invalid.is_some() && !got.is_active(), "{settings}");
        }
        let (got, _) =
            decide(&[("user", r#"{"general": {"sessionRetention": {"enabled": false}}}"#)]);
        assert!(!got.is_active());
    }

    #[test]
    fn a_stub_takes_its_session_along() {
        let file = |name: &str, since: Option<&str>| ChatFile {
            name: name.to_owned(),
            resumable_since: since.map(|time| time.parse().unwrap()),
        };
        let files = [
            file("session-2026-08-01T10-00-aaaaaaaa.jsonl", Some("2026-08-01T10:00:00Z")),
            file("session-2026-08-09T10-00-aaaaaaaa.jsonl", None),
            file("session-2026-08-02T10-00-bbbbbbbb.jsonl", Some("2026-08-02T10:00:00Z")),
            file("session-2026-06-02T10-00-cccccccc.json", Some("2026-06-02T10:00:00Z")),
        ];
        let now = "2026-08-14T00:00:00Z".parse().unwrap();
        let got = plan(&files, &decide(&[]).0, now);
        let got: Vec<_> = got.iter().map(|d| (&d.name[8..18], d.at.is_some(), &d.why)).collect();
        let stub = files[1].name.clone();
        assert_eq!(
            got,
            [
                ("2026-06-02", false, &Reason::Age),
                ("2026-08-01", false, &Reason::SharesId(stub)),
                ("2026-08-09", false, &Reason::Corrupt),
                ("2026-08-02", true, &Reason::Age),
            ]
        );
        let (mut none, _) = decide(&[]);
        none.enabled = false;
        assert!(plan(&files, &none, now).is_empty());
    }

    fn shares_id(a: &str, b: &str) -> bool {
        a != b && short_id(a).is_some() && short_id(a) == short_id(b)
    }

    /// Applies the rules one after the other, file by file: each deleted file takes others along.
    fn by_the_rules(files: &[ChatFile], retention: &Retention, now: Timestamp) -> Vec<Deletion> {
        let limits = Limits::new(retention, now);
        let mut newest: Vec<&ChatFile> =
            files.iter().filter(|f| f.resumable_since.is_some()).collect();
        newest.sort_by_key(|file| std::cmp::Reverse(file.resumable_since));
        let mut causes: Vec<(&ChatFile, Cause)> = Vec::new();
        for file in files {
            let newer = newest.iter().position(|other| other.name == file.name).unwrap_or(0);
            causes.extend(limits.cause(file, newer).map(|cause| (file, cause)));
        }
        causes.sort_by_key(|(file, cause)| (cause.at.is_some(), cause.at, &file.name));
        let mut out: Vec<Deletion> = Vec::new();
        for (file, Cause { at, why }) in causes {
            let along = files.iter().filter(|other| shares_id(&file.name, &other.name));
            let along = along.map(|other| (other, Reason::SharesId(file.name.clone())));
            for (file, why) in std::iter::once((file, why)).chain(along) {
                if out.iter().all(|known| known.name != file.name) {
                    out.push(Deletion { name: file.name.clone(), at, why, early: None });
                }
            }
        }
        out.sort_by(|a, b| (a.at.is_some(), a.at, &a.name).cmp(&(b.at.is_some(), b.at, &b.name)));
        out
    }

    /// Compares with the outcome if no other file shared its id.
    fn early(
        deletion: &Deletion,
        files: &[ChatFile],
        rules: &Retention,
        now: Timestamp,
    ) -> Option<Early> {
        if !matches!(deletion.why, Reason::SharesId(_)) {
            return None;
        }
        let alone: Vec<ChatFile> =
            files.iter().filter(|f| !shares_id(&f.name, &deletion.name)).cloned().collect();
        let plan = by_the_rules(&alone, rules, now);
        match plan.into_iter().find(|other| other.name == deletion.name) {
            None => Some(Early { instead_of: None }),
            Some(own) => {
                let is_later = own.at.is_some() && own.at > deletion.at;
                is_later.then_some(Early { instead_of: own.at })
            }
        }
    }

    proptest! {
        #[test]
        fn a_plan_is_what_the_rules_make_of_each_file(
            files in prop::collection::vec((0..5u8, prop::option::of(0..60i64)), 0..30),
            max_count in prop::option::of(1..20i64),
            has_age in any::<bool>(),
        ) {
            let now: Timestamp = "2026-08-14T00:00:00Z".parse().unwrap();
            let file = |(n, (id, days)): (usize, (u8, Option<i64>))| ChatFile {
                // An id that is not 8 characters long is not shared.
                name: format!("session-{n:02}-{}.jsonl", if id == 0 { "short".to_owned() } else { format!("aaaaaaa{id}") }),
                resumable_since: days.map(|days| now - SignedDuration::from_hours(24 * days)),
            };
            let files: Vec<ChatFile> = files.into_iter().enumerate().map(file).collect();
            let (mut rules, _) = decide(&[]);
            rules.max_count = max_count;
            rules.max_age = rules.max_age.filter(|_| has_age || max_count.is_none());
            let mut want = by_the_rules(&files, &rules, now);
            for deletion in &mut want {
                deletion.early = early(deletion, &files, &rules, now);
            }
            prop_assert_eq!(plan(&files, &rules, now), want);
        }
    }
}
