//! Reads and checks the rules, and compiles them when first needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::Regex;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::group::Ending;
use super::keywords::{Keyword, Keywords};
use super::value::Value;

const EMBEDDED: &str = include_str!("rules.toml");

/// The beginning of a marker. It is searched for like a keyword, because text in markers is never a secret.
pub(super) const MARKER: &str = "[redacted:";

/// The maximum number of bytes that any rule examines from its keyword on.
pub(super) const REACH: usize = 32 * 1024;

/// An invalid rule or entry of the allow-list.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A rule is invalid.
    #[error("rule `{kind}`: {why}")]
    Rule {
        /// The kind of the rule.
        kind: String,
        /// The reason.
        why: String,
    },
    /// An entry of the allow-list is not a valid regex.
    #[error("allow `{entry}`: {why}")]
    Allow {
        /// The entry of the list.
        entry: String,
        /// The reason.
        why: String,
    },
    /// A kind to enable or disable does not exist.
    #[error("no rule is called `{0}`")]
    Unknown(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pieces: BTreeMap<String, String>,
    rule: Vec<Spec>,
}

/// One rule of `rules.toml`, which describes the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    kind: String,
    keywords: Vec<String>,
    #[serde(default)]
    any_case: bool,
    #[serde(default)]
    by: By,
    #[serde(default)]
    regex: String,
    #[serde(default)]
    lead: usize,
    #[serde(default)]
    marks: Vec<(usize, char)>,
    #[serde(default)]
    before: Before,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    entropy: f64,
    #[serde(default = "usual_reach")]
    reach: usize,
    #[serde(default)]
    opt_in: bool,
}

/// Returns the number of bytes that most rules examine from their keyword on.
fn usual_reach() -> usize {
    1024
}

/// A way to find secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// By its regex, from the keyword on.
    #[default]
    Regex,
    /// By its regex, anywhere in a text that contains a keyword.
    Search,
    /// By the name of a password around the keyword.
    Password,
    /// By the name of another secret around the keyword.
    Secret,
    /// As a block of base64 between `BEGIN` and `END`.
    Block,
    /// In the column below a heading.
    Column,
    /// Among the values of cookies.
    Cookie,
    /// Among the data of a Kubernetes secret.
    Manifest,
}

/// The text that may precede a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Before {
    /// Anything but a letter or a digit.
    #[default]
    Word,
    /// Anything but a letter, a digit, `_` or `-`.
    Name,
    /// The beginning of a command-line option.
    Flag,
    /// Anything.
    Any,
}

/// A rule that the user defined.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRule {
    /// The name of the kind of secret.
    pub kind: String,
    /// The pattern, which may match anywhere. The first group that participates is the secret, otherwise the
    /// whole match.
    pub regex: String,
    /// The literals that a text must contain one of. Without any, every text is searched.
    #[serde(default)]
    pub keywords: Vec<String>,
}

/// The user's changes to the rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choice {
    /// Additional rules.
    pub rules: Vec<UserRule>,
    /// Values that are not secrets: literals, or regexes that match the whole value.
    pub allow: Vec<String>,
    /// The kinds to enable that are off by default.
    pub enable: Vec<String>,
    /// The kinds to disable.
    pub disable: Vec<String>,
}

/// A rule that is in use. `rules.toml` describes the fields.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its index in the list of kinds.
    pub(super) kind: usize,
    /// The way to find its secrets.
    pub(super) by: By,
    /// The number of bytes before the keyword at which a match begins.
    pub(super) lead: usize,
    /// Characters at fixed offsets, which are checked before the regex.
    pub(super) marks: Vec<(usize, char)>,
    /// The text that may precede a match.
    pub(super) before: Before,
    /// The form that a secret must have.
    pub(super) value: Value,
    /// The minimum entropy of a secret, in bits per character.
    pub(super) entropy: f64,
    /// The maximum number of bytes that the regex examines.
    pub(super) reach: usize,
    /// Whether its regex may match white space.
    pub(super) is_spaced: bool,
    /// Whether its regex may examine whole lines before it fails.
    pub(super) is_long: bool,
    /// The parts of a regex that ends with its group.
    pub(super) ending: Option<Ending>,
    source: String,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    /// Returns the compiled regex; `None` if it is invalid. A test compiles the embedded rules, and the
    /// user's rules are compiled when they are read.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }
}

/// A kind of secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The name of the kind, as in markers.
    pub name: String,
    /// Whether it is off by default.
    pub opt_in: bool,
    /// Whether it is on.
    pub enabled: bool,
    /// The literals of its rules.
    pub keywords: Vec<String>,
}

/// All rules, ready for scanning.
#[derive(Debug)]
pub struct Rules {
    kinds: Vec<Kind>,
    /// The rules that are on.
    pub(super) list: Vec<Rule>,
    /// The literals to search for: the marker, then the keywords.
    pub(super) keywords: Keywords,
    /// The rules that each keyword triggers.
    pub(super) wakes: Vec<Vec<usize>>,
    /// The rules without a keyword.
    pub(super) always: Vec<usize>,
    allow: Vec<(String, Regex)>,
}

impl Rules {
    /// Returns the embedded rules.
    pub fn embedded() -> Result<Self, RuleError> {
        Self::with(&Choice::default())
    }

    /// Returns the embedded rules with the user's changes.
    pub fn with(choice: &Choice) -> Result<Self, RuleError> {
        let file: File = toml::from_str(EMBEDDED).map_err(|error| RuleError::Rule {
            kind: "rules.toml".into(),
            why: error.to_string(),
        })?;
        let mut list = Builder {
            choice,
            kinds: Vec::new(),
            rules: Vec::new(),
            keywords: Vec::new(),
            numbers: FxHashMap::default(),
        };
        let marker = Keyword { literal: MARKER.to_owned(), any_case: false };
        list.keywords.push((marker, Vec::new()));
        for spec in file.rule {
            list.embedded(spec, &file.pieces);
        }
        for rule in &choice.rules {
            list.own(rule)?;
        }
        list.finish()
    }

    /// Returns all kinds of secrets, including those that are off.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns whether a text contains a keyword.
    pub(super) fn has_keyword(&self, text: &str) -> bool {
        let mut is_found = false;
        self.keywords.find(text, 0..text.len(), |_, _| is_found = true);
        is_found
    }

    /// Returns whether the user allows a value.
    pub(super) fn is_allowed(&self, secret: &str) -> bool {
        self.allow.iter().any(|(literal, regex)| literal == secret || regex.is_match(secret))
    }
}

struct Builder<'c> {
    choice: &'c Choice,
    kinds: Vec<Kind>,
    rules: Vec<Rule>,
    keywords: Vec<(Keyword, Vec<usize>)>,
    /// The index of each keyword, by its literal and whether case is ignored.
    numbers: FxHashMap<(String, bool), usize>,
}

impl Builder<'_> {
    fn embedded(&mut self, spec: Spec, pieces: &BTreeMap<String, String>) {
        let mut source = spec.regex;
        if source.contains("<<") {
            for (name, piece) in pieces {
                source = source.replace(&format!("<<{name}>>"), piece);
            }
        }
        let ending = Ending::of(&source);
        // The regex is matched against a slice of the text that begins at the keyword.
        if spec.by == By::Regex {
            source = format!(r"\A(?:{source})");
        }
        let Some(kind) = self.kind(&spec.kind, spec.opt_in, &spec.keywords) else { return };
        self.rules.push(Rule {
            kind,
            by: spec.by,
            lead: spec.lead,
            marks: spec.marks,
            before: spec.before,
            value: spec.value,
            entropy: spec.entropy,
            reach: spec.reach.min(REACH),
            is_spaced: source.contains([' ', '"', '\'', '<'])
                || source.contains(r"\s")
                || source.contains(r"\t"),
            is_long: ["[ -~", r"[^\n", "[^}", "[^{", "_ ]+"].iter().any(|any| source.contains(any)),
            ending,
            source,
            regex: OnceLock::new(),
        });
        for keyword in &spec.keywords {
            self.wake(keyword, spec.any_case);
        }
    }

    fn own(&mut self, rule: &UserRule) -> Result<(), RuleError> {
        let wrong = |why: String| RuleError::Rule { kind: rule.kind.clone(), why };
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if rule.kind.is_empty() || rule.kind.len() > 40 || !rule.kind.chars().all(is_name) {
            return Err(wrong("a kind is made of a-z, 0-9 and `-`, 40 at most".into()));
        }
        if rule.keywords.iter().any(String::is_empty) {
            return Err(wrong("a keyword is empty".into()));
        }
        let regex = Regex::new(&rule.regex).map_err(|error| wrong(error.to_string()))?;
        if regex.is_match("") {
            return Err(wrong(
                "the regex matches nothing at all, so it would match everywhere".into(),
            ));
        }
        let Some(kind) = self.kind(&rule.kind, false, &rule.keywords) else { return Ok(()) };
        self.rules.push(Rule {
            kind,
            by: By::Search,
            lead: 0,
            marks: Vec::new(),
            before: Before::Any,
            value: Value::Any,
            entropy: 0.0,
            reach: REACH,
            is_spaced: true,
            is_long: true,
            ending: None,
            source: rule.regex.clone(),
            regex: OnceLock::from(Some(regex)),
        });
        for keyword in &rule.keywords {
            self.wake(keyword, true);
        }
        Ok(())
    }

    /// Returns the index of a kind; `None` if it is off.
    fn kind(&mut self, name: &str, opt_in: bool, keywords: &[String]) -> Option<usize> {
        let has = |list: &[String]| list.iter().any(|entry| entry == name);
        let enabled = (!opt_in || has(&self.choice.enable)) && !has(&self.choice.disable);
        let at = self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            let keywords = Vec::new();
            self.kinds.push(Kind { name: name.to_owned(), opt_in, enabled, keywords });
            self.kinds.len() - 1
        });
        self.kinds[at].keywords.extend_from_slice(keywords);
        enabled.then_some(at)
    }

    fn wake(&mut self, literal: &str, any_case: bool) {
        let rule = self.rules.len() - 1;
        let number = *self.numbers.entry((literal.to_owned(), any_case)).or_insert_with(|| {
            let literal = literal.to_owned();
            self.keywords.push((Keyword { literal, any_case }, Vec::new()));
            self.keywords.len() - 1
        });
        let rules = &mut self.keywords[number].1;
        if rules.last() != Some(&rule) {
            rules.push(rule);
        }
    }

    fn finish(self) -> Result<Rules, RuleError> {
        let names: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.name.as_str()).collect();
        let chosen = self.choice.enable.iter().chain(&self.choice.disable);
        if let Some(unknown) = chosen.into_iter().find(|name| !names.contains(name.as_str())) {
            return Err(RuleError::Unknown(unknown.clone()));
        }
        let allow = self.choice.allow.iter().map(|entry| {
            let regex = Regex::new(&format!(r"\A(?:{entry})\z"));
            let wrong = |error: regex::Error| error.to_string();
            match regex.map_err(wrong) {
                Ok(regex) => Ok((entry.clone(), regex)),
                Err(why) => Err(RuleError::Allow { entry: entry.clone(), why }),
            }
        });
        let allow = allow.collect::<Result<_, _>>()?;
        let (keywords, wakes): (Vec<_>, Vec<_>) = self.keywords.into_iter().unzip();
        let keywords = Keywords::new(&keywords);
        let woken: BTreeSet<usize> = wakes.iter().flatten().copied().collect();
        let always = (0..self.rules.len()).filter(|rule| !woken.contains(rule)).collect();
        Ok(Rules { kinds: self.kinds, list: self.rules, keywords, wakes, always, allow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_has_a_keyword() {
        let enable = vec!["email".to_owned(), "home-path".to_owned()];
        let rules = Rules::with(&Choice { enable, ..Choice::default() }).unwrap();
        for rule in &rules.list {
            assert!(rule.regex().is_some(), "{:?}", Regex::new(&rule.source).err());
        }
        assert!(rules.always.is_empty());
        assert!(rules.kinds().iter().filter(|kind| kind.enabled).count() >= 60);
    }

    #[test]
    fn a_bad_rule_is_named() {
        let own = |kind: &str, regex: &str| {
            let rule = UserRule { kind: kind.into(), regex: regex.into(), keywords: vec![] };
            let choice = Choice { rules: vec![rule], ..Choice::default() };
            Rules::with(&choice).map(|_| ()).unwrap_err().to_string()
        };
        assert!(own("ours", "(").starts_with("rule `ours`: regex parse error"));
        assert!(own("Ours!", "x").starts_with("rule `Ours!`: a kind is made of"));
        assert!(own("ours", "x*").starts_with("rule `ours`: the regex matches nothing"));
        let choice = Choice { allow: vec!["[".into()], ..Choice::default() };
        assert!(Rules::with(&choice).unwrap_err().to_string().starts_with("allow `[`: "));
        let choice = Choice { disable: vec!["gitub".into()], ..Choice::default() };
        let unknown = Rules::with(&choice).unwrap_err().to_string();
        assert_eq!(unknown, "no rule is called `gitub`");
    }
}
