//! The format of an export: the given one, or the one that the name of the file asks for.

use std::path::Path;

use clap::ValueEnum;

use crate::error::{Failure, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum Format {
    /// For any forge: prompts, replies, and tool calls folded
    #[value(alias = "md")]
    Markdown,
    /// A self-contained page that needs no network
    Html,
    /// A complete document: the session and every message (`backstory.session/1`)
    Json,
    /// The same as JSON lines: the session, then its messages
    Jsonl,
    /// One line per model call: tokens, tools, commands, prompt, cost
    Calls,
    /// A table for spreadsheets
    Csv,
    /// One line per event: prompts, tools and their results (`backstory events`)
    Events,
    /// Gemini CLI's own document, as `/export-session` writes it and `--session-file` reads it
    Gemini,
}

impl Format {
    /// Returns the extension of an exported file.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json | Self::Gemini => "json",
            Self::Jsonl | Self::Calls | Self::Events => "jsonl",
            Self::Csv => "csv",
        }
    }

    /// Returns whether all sessions are written to one file.
    pub(super) fn is_rows(self) -> bool {
        matches!(self, Self::Calls | Self::Csv | Self::Events)
    }

    /// Returns the formats that a file with this name may have, the usual one first.
    pub(super) fn of_file(path: &Path) -> &'static [Self] {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str().unwrap_or_default() {
            "md" | "markdown" => &[Self::Markdown],
            "html" | "htm" => &[Self::Html],
            "json" => &[Self::Json, Self::Gemini],
            "jsonl" | "ndjson" => &[Self::Jsonl, Self::Calls, Self::Events],
            "csv" => &[Self::Csv],
            "txt" => Self::value_variants(),
            _ => &[],
        }
    }

    /// Returns the name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Chooses the format. `is_one` is whether a single session is exported; many sessions are written to a folder,
/// whose name says nothing, unless they are rows of a table.
pub(super) fn choose(given: Option<Format>, output: Option<&Path>, is_one: bool) -> Result<Format> {
    let output = output.unwrap_or(Path::new(""));
    let named = Format::of_file(output);
    let is_file = |format: Format| is_one || format.is_rows();
    match (given, named.first()) {
        (Some(given), Some(usual)) if is_file(given) && !named.contains(&given) => {
            let right = output.with_extension(given.ending());
            Err(Failure::new(format!(
                "`{}` is the name of a {} file, but `--format` is `{}`",
                output.display(),
                usual.name(),
                given.name()
            ))
            .hint(format!("leave `--format` out, or write to `{}`", right.display())))
        }
        (Some(given), _) => Ok(given),
        (None, Some(usual)) if is_file(*usual) => Ok(*usual),
        (None, _) => {
            let names =
                Format::value_variants().iter().map(|format| format!("`{}`", format.name()));
            Err(Failure::new("no format was given")
                .hint(format!("name one with `--format`: {}", names.collect::<Vec<_>>().join(", ")))
                .hint("or a file with the usual ending: `-o session.html`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(given: Option<Format>, output: &str, is_one: bool) -> Option<Format> {
        choose(given, Some(Path::new(output)), is_one).ok()
    }

    #[test]
    fn every_format_is_accepted_for_the_files_it_writes() {
        for format in Format::value_variants() {
            let file = format!("a.b/session.{}", format.ending());
            for is_one in [true, false] {
                assert_eq!(chosen(Some(*format), &file, is_one), Some(*format));
                assert_eq!(chosen(Some(*format), "session", is_one), Some(*format));
                assert_eq!(chosen(Some(*format), "session.txt", is_one), Some(*format));
            }
            assert!(Format::of_file(Path::new(&file)).contains(format));
        }
    }

    #[test]
    fn the_name_of_the_file_decides_without_a_format() {
        for (file, format) in [
            ("x.html", Format::Html),
            ("X.HTM", Format::Html),
            ("x.md", Format::Markdown),
            ("x.txt", Format::Markdown),
            ("x.json", Format::Json),
            ("x.jsonl", Format::Jsonl),
            ("x.csv", Format::Csv),
        ] {
            assert_eq!(chosen(None, file, true), Some(format), "{file}");
        }
        assert_eq!(chosen(None, "all.csv", false), Some(Format::Csv));
        for folder in ["all", "all.html", "-", ""] {
            assert_eq!(chosen(None, folder, false), None, "{folder}");
        }
    }

    #[test]
    fn a_name_that_contradicts_the_format_is_an_error() {
        assert_eq!(chosen(Some(Format::Html), "x.md", true), None);
        assert_eq!(chosen(Some(Format::Json), "x.jsonl", true), None);
        assert_eq!(chosen(Some(Format::Calls), "all.csv", false), None);
        assert_eq!(chosen(Some(Format::Html), "site.md", false), Some(Format::Html));
    }
}
