//! What Gemini CLI is going to delete, and when.
//!
//! At each start it cleans up the chats of the project it is started in. By default sessions older
//! than 30 days go (since 0.30). Worse, a file with nothing to resume in it counts as corrupt, and
//! with a corrupt file go all that share the 8 characters of its id: resuming a session leaves such
//! a file, so a resume followed by a new start deletes the session that was resumed.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// `general.sessionRetention` as the settings files together decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub enabled: bool,
    pub max_age: Option<String>,
    pub max_count: Option<i64>,
    pub min_retention: String,
    /// The settings file that had the last word on any of it; none for Gemini CLI's own defaults.
    pub from: Option<String>,
    /// Why Gemini CLI does not clean up although it is enabled.
    pub invalid: Option<String>,
}

/// One settings file, the weakest first: system defaults, user, project, system.
#[derive(Debug, Clone)]
pub struct Settings {
    pub name: String,
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

    /// Gemini CLI's own checks: a bad setting switches the clean-up off.
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

    /// Whether anything will be deleted at all.
    pub fn is_active(&self) -> bool {
        self.enabled && self.invalid.is_none()
    }
}

/// `<number><h|d|w|m>`; a month has 30 days.
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
    pub name: String,
    /// The last update, when there is something to resume in it and it is no subagent's.
    pub resumable_since: Option<Timestamp>,
}

/// Why a file will go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is older than `maxAge`.
    Age,
    /// There are more than `maxCount` newer ones.
    Count,
    /// There is nothing to resume in it, which counts as corrupt.
    Corrupt,
    /// Another file with the same 8 characters goes: the resume bug.
    SharesId(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    pub name: String,
    /// At the first start of Gemini CLI in that project after this moment; none for the next start.
    pub at: Option<Timestamp>,
    pub why: Why,
}

/// What the clean-up will delete from one `chats` folder, each file once, the soonest first.
pub fn plan(files: &[ChatFile], retention: &Retention, now: Timestamp) -> Vec<Deletion> {
    if !retention.is_active() {
        return Vec::new();
    }
    let mut newest: Vec<&ChatFile> = files.iter().filter(|f| f.resumable_since.is_some()).collect();
    newest.sort_by_key(|file| std::cmp::Reverse(file.resumable_since));
    let age = retention.max_age.as_deref().and_then(period);
    let mut causes: Vec<(&ChatFile, Option<Timestamp>, Why)> = Vec::new();
    causes.extend(
        files.iter().filter(|f| f.resumable_since.is_none()).map(|f| (f, None, Why::Corrupt)),
    );
    for (n, file) in newest.into_iter().enumerate() {
        let limit = retention.max_count.and_then(|count| usize::try_from(count).ok());
        if limit.is_some_and(|limit| n >= limit) {
            causes.push((file, None, Why::Count));
        } else if let (Some(age), Some(updated)) = (age, file.resumable_since) {
            let end = updated.checked_add(age).unwrap_or(Timestamp::MAX);
            causes.push((file, Some(end).filter(|end| *end > now), Why::Age));
        }
    }
    causes.sort_by_key(|(file, at, _)| (at.is_some(), *at, &file.name));
    let mut out: HashMap<&str, Deletion> = HashMap::new();
    for (file, at, why) in &causes {
        let entry = |name: &str, why| Deletion { name: name.to_owned(), at: *at, why };
        out.entry(&file.name).or_insert_with(|| entry(&file.name, why.clone()));
        for other in files.iter().filter(|other| shares_id(&file.name, &other.name)) {
            let why = Why::SharesId(file.name.clone());
            out.entry(&other.name).or_insert_with(|| entry(&other.name, why));
        }
    }
    let mut out: Vec<Deletion> = out.into_values().collect();
    out.sort_by(|a, b| (a.at.is_some(), a.at, &a.name).cmp(&(b.at.is_some(), b.at, &b.name)));
    out
}

/// The 8 characters at the end of a session file's name.
pub fn short_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))?;
    let (rest, id) = stem.rsplit_once('-')?;
    let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && rest.starts_with("session")).then_some(id)
}

fn shares_id(a: &str, b: &str) -> bool {
    a != b && short_id(a).is_some() && short_id(a) == short_id(b)
}

/// Blanks out `//` and `/* */` comments, which settings files may hold.
pub(super) fn strip_comments(text: &str) -> String {
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
                ("2026-06-02", false, &Why::Age),
                ("2026-08-01", false, &Why::SharesId(stub)),
                ("2026-08-09", false, &Why::Corrupt),
                ("2026-08-02", true, &Why::Age),
            ]
        );
        let (mut none, _) = decide(&[]);
        none.enabled = false;
        assert!(plan(&files, &none, now).is_empty());
    }
}
