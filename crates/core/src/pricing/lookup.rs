//! Finds the row of a model's name in the table.
//!
//! In this order: the name itself; an alias; the name without the path that some services put
//! before it; and, marked as an estimate, the name without a version at its end, and the name of a
//! Claude model as other services write it. Nothing else is guessed: a wrong price is worse than
//! none, because nobody notices it.

use jiff::Timestamp;
use jiff::civil::Date;

use super::dates;
use super::row::Row;
use super::table::Table;
use crate::model::{Service, ServiceClass};

/// Longer prefixes come before those they contain.
const PREFIXES: [&str; 6] =
    ["publishers/google/models/", "models/", "google/", "gemini/", "anthropic/", "openai/"];

/// A row, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceMatch<'a> {
    /// The row.
    pub row: &'a Row,
    /// Whether the price is that of the same model without the version at the end of its name, in
    /// another service, or of another class of service.
    pub estimated: bool,
    /// The name under which it was found, if it is another one.
    pub via: Option<String>,
}

impl Table {
    /// Returns the price of a model at a time, or the latest if the time is unknown.
    pub fn lookup(&self, model: &str, at: Option<Timestamp>) -> Option<PriceMatch<'_>> {
        let bare = without_prefix(model);
        let (rows, estimated) = self
            .named(model)
            .or_else(|| self.named(bare))
            .map(|rows| (rows, false))
            .or_else(|| Some((self.named(without_ending(bare)?)?, true)))
            .or_else(|| Some((self.elsewhere(&plain_name(bare)?)?, true)))?;
        let row = dates::at(rows, at)?;
        let via = (row.model != model).then(|| row.model.clone());
        Some(PriceMatch { row, estimated, via })
    }

    /// Returns the price of a model for calls that were served in a particular way.
    ///
    /// A class without prices has the standard ones, as an estimate. The user's own standard prices
    /// take precedence over built-in prices of a class. The prices of other providers are unknown,
    /// unless they are the user's own.
    pub fn lookup_served(
        &self,
        model: &str,
        at: Option<Timestamp>,
        service: Service,
    ) -> Option<PriceMatch<'_>> {
        let standard = self.lookup(model, at)?;
        let is_own = standard.row.overridden;
        if service.is_elsewhere && !is_own {
            return None;
        }
        if service.class == ServiceClass::Standard {
            return Some(standard);
        }
        let rows = self.class(&standard.row.model, service.class);
        let special = dates::at(rows, at).filter(|row| row.overridden || !is_own);
        Some(match special {
            Some(row) => PriceMatch { row, ..standard },
            None => PriceMatch { estimated: true, ..standard },
        })
    }

    /// Returns the rows of the plain name of a model that another service serves, with or without a version.
    fn elsewhere(&self, name: &str) -> Option<&[Row]> {
        let versions = || self.rows().map(|row| row.model.as_str());
        let version = || versions().find(|version| without_ending(version) == Some(name));
        let short = without_ending(name).and_then(|short| self.named(short));
        self.named(name).or(short).or_else(|| self.named(version()?))
    }

    /// Returns the rows of a name. Some aliases have rows of their own, which take precedence.
    fn named(&self, id: &str) -> Option<&[Row]> {
        self.model(id).or_else(|| self.model(self.alias(id)?))
    }
}

/// Returns the name without a path before it, and without the mark with which Claude Code requests a longer
/// context.
fn without_prefix(id: &str) -> &str {
    let id = id.strip_suffix("[1m]").unwrap_or(id);
    PREFIXES.iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id)
}

/// Returns the plain name of a Claude model as Bedrock (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`), Vertex
/// (`claude-sonnet-4-5@20250929`) and routers (`openrouter/anthropic/claude-sonnet-4.5`) write it.
fn plain_name(id: &str) -> Option<String> {
    let name = id.rsplit('/').next()?;
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, name)| name);
    let is_version = |version: &str| version.bytes().all(|b| b.is_ascii_digit() || b == b':');
    let split = name.rsplit_once("-v").filter(|(_, version)| is_version(version));
    let name = split.map_or(name, |(name, _)| name);
    name.starts_with("claude-").then(|| name.replace(['@', '.'], "-"))
}

/// Returns the name without `-latest`, `-001` or a date, or `None` if it has no such ending.
fn without_ending(id: &str) -> Option<&str> {
    let split = |shape: &str| {
        let (stem, end) = id.split_at_checked(id.len().checked_sub(shape.len())?)?;
        let fits = |(byte, shape): (u8, u8)| match shape {
            b'-' => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        end.bytes().zip(shape.bytes()).all(fits).then_some((stem, end))
    };
    let dated = |shape: &str, iso: fn(&str) -> String| {
        let (stem, end) = split(shape)?;
        let day: Date = iso(end).parse().ok()?;
        (2000..2100).contains(&day.year()).then_some(stem)
    };
    id.strip_suffix("-latest")
        .or_else(|| split("-000").map(|(stem, _)| stem))
        .or_else(|| dated("-0000-00-00", |end| end[1..].to_owned()))
        .or_else(|| {
            dated("-00000000", |end| format!("{}-{}-{}", &end[1..5], &end[5..7], &end[7..]))
        })
        // Google's own formats: 09-2025, and 05-20, checked in a leap year.
        .or_else(|| dated("-00-0000", |end| format!("{}-{}-01", &end[4..], &end[1..3])))
        .or_else(|| dated("-00-00", |end| format!("2024{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the model that was found, how, and its cache price.
    fn find(model: &str, at: Option<&str>) -> Option<(String, bool, Option<String>, String)> {
        let table = Table::embedded();
        let found = table.lookup(model, at.map(|at| at.parse().unwrap()))?;
        let cache = found.row.cache_read.map_or(String::new(), |price| price.to_string());
        Some((found.row.model.clone(), found.estimated, found.via, cache))
    }

    /// Returns the model that was found, and whether it is an estimate.
    fn name(model: &str) -> Option<(String, bool)> {
        let (name, estimated, via, _) = find(model, None)?;
        assert_eq!(via.as_deref(), (name != model).then_some(name.as_str()));
        Some((name, estimated))
    }

    #[track_caller]
    fn sure(asked: &str, model: &str) {
        assert_eq!(name(asked), Some((model.to_owned(), false)), "{asked}");
    }

    #[track_caller]
    fn about(asked: &str, model: &str) {
        assert_eq!(name(asked), Some((model.to_owned(), true)), "{asked}");
    }

    #[test]
    fn names_aliases_and_prefixes() {
        sure("gemini-2.5-pro", "gemini-2.5-pro");
        sure("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5");
        sure("openai/gpt-5.4", "gpt-5.4");
        sure("gemini-3-flash", "gemini-3.5-flash");
        // An alias with rows of its own.
        let tools = "gemini-3.1-pro-preview-customtools";
        sure(tools, tools);
        for prefix in PREFIXES {
            sure(&format!("{prefix}gemini-2.5-pro"), "gemini-2.5-pro");
            sure(&format!("{prefix}gemini-3-flash"), "gemini-3.5-flash");
        }
    }

    #[test]
    fn versions_are_estimates() {
        about("gemini-2.5-pro-002", "gemini-2.5-pro");
        about("gemini-2.5-pro-latest", "gemini-2.5-pro");
        about("gemini-2.5-pro-2026-03-01", "gemini-2.5-pro");
        about("gemini-2.5-pro-20260301", "gemini-2.5-pro");
        about("gemini-2.5-pro-03-2026", "gemini-2.5-pro");
        about("gemini-2.5-pro-02-29", "gemini-2.5-pro");
        about("models/gemini-3-flash-001", "gemini-3.5-flash");
        // They have rows of their own.
        sure("gemini-2.0-flash-001", "gemini-2.0-flash-001");
        sure("gemini-flash-latest", "gemini-flash-latest");
        let preview = "gemini-2.5-pro-preview-05-06";
        sure(preview, preview);
    }

    #[test]
    fn other_services_write_the_names_of_claude_in_their_own_way() {
        sure("claude-sonnet-4-5[1m]", "claude-sonnet-4-5");
        for (asked, model) in [
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
            ("bedrock/eu.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5-20251101"),
            ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0[1m]", "claude-3-5-sonnet-20241022"),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-7",
                "claude-opus-4-7",
            ),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
            ("vertex_ai/claude-opus-4-1@20250805", "claude-opus-4-1-20250805"),
            ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
            ("openrouter/anthropic/claude-opus-4.6", "claude-opus-4-6"),
            ("anthropic/claude-sonnet-4", "claude-sonnet-4-20250514"),
            ("anthropic/claude-3.7-sonnet", "claude-3-7-sonnet-20250219"),
        ] {
            about(asked, model);
        }
        for unknown in [
            "us.anthropic.claude-sonnet-9-v1:0",
            "bedrock/us.meta.llama3-3-70b-instruct-v1:0",
            "openrouter/google/gemini-2.5-pro",
            "my-claude-sonnet-4-5",
            "claude-sonnet-4.5-turbo",
            "anthropic.claude-v2",
            "openrouter/",
        ] {
            assert_eq!(name(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn nothing_is_guessed() {
        let unknown = [
            "",
            "-",
            "-001",
            "-latest",
            "unknown",
            "gemini",
            "gemini-2.5",
            "gemini-9-pro",
            "gemma-9-31b-it",
            "Gemini-2.5-Pro",
            " gemini-2.5-pro",
            "gemini-2.5-pro-exp",
            "gemini-2.5-pro-preview-07-30",
            "gemini-2.5-pro-1",
            "gemini-2.5-pro-01",
            "gemini-2.5-pro-0001",
            "gemini-2.5-pro-13-01",
            "gemini-2.5-pro-02-30",
            "gemini-2.5-pro-2026-13-01",
            "gemini-2.5-pro-20261301",
            "gemini-2.5-pro-13-2026",
            "gemini-2.5-pro-01-1026",
            "gemini-2.5-pro-001-latest",
            "models/models/gemini-2.5-pro",
            "openrouter/gemini-2.5-pro",
            "models/",
            "é-001",
            "日本-02-29",
        ];
        for model in unknown {
            assert_eq!(name(model), None, "{model}");
        }
    }

    #[test]
    fn routing_names_have_no_price() {
        let table = Table::embedded();
        for model in
            ["auto", "auto-gemini-3", "auto-gemini-2.5", "pro", "flash", "flash-lite", "none"]
        {
            assert_eq!(name(model), None, "{model}");
        }
        // Unless the user sets one.
        let row = r#"[{"model": "auto", "input": 1, "output": 2}]"#;
        assert!(table.with_file(row, "x").unwrap().lookup("auto", None).is_some());
    }

    #[test]
    fn the_day_picks_the_row() {
        let cache = |at| find("gemini-2.5-pro", at).unwrap().3;
        assert_eq!(cache(Some("2024-01-01T00:00:00Z")), "");
        assert_eq!(cache(Some("2025-07-18T23:59:59Z")), "");
        assert_eq!(cache(Some("2025-07-19T00:00:00Z")), "0.3125");
        // Between two observations, the older one applies.
        assert_eq!(cache(Some("2026-01-16T23:59:59.999Z")), "0.3125");
        assert_eq!(cache(Some("2026-01-17T00:00:00Z")), "0.125");
        assert_eq!(cache(Some("2031-01-01T00:00:00Z")), "0.125");
        assert_eq!(cache(None), "0.125");
        let dated = find("models/gemini-2.5-pro-001", Some("2025-12-01T00:00:00Z")).unwrap();
        assert_eq!((dated.1, dated.3.as_str()), (true, "0.3125"));
    }

    #[test]
    fn the_users_price_of_a_model_is_that_of_its_alias() {
        let row = r#"[{"model": "gemini-3.5-flash", "input": 7, "output": 8}]"#;
        let table = Table::embedded().with_file(row, "x").unwrap();
        assert_eq!(table.lookup("gemini-3-flash", None).unwrap().row.input.to_string(), "7.00");
    }
}
