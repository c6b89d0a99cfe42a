//! Finds values in a column whose heading names a secret: Markdown, CSV, the output of databases and command lines.

use std::ops::Range;

use memchr::{memmem, memrchr};

use super::identifier::{ends_word, identifier, is_identifier};
use super::name_class::NameClass;
use super::rule::REACH;
use super::separator::{count, margin};

/// The maximum length of a line of a table.
const LONGEST_LINE: usize = 1024;

/// The maximum number of columns to examine.
const MOST_COLUMNS: usize = 64;

/// Finds tables in one text. Each line is read once as a heading and once as a row.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The position up to which the text has been read.
    done: usize,
}

impl Tables {
    /// Returns the position of the heading whose keyword is at `hit`, and the values below it.
    pub(super) fn look(
        &mut self,
        text: &str,
        hit: &Range<usize>,
    ) -> Option<(usize, Vec<Range<usize>>)> {
        let bytes = text.as_bytes();
        let may_end = |byte: &u8| is_identifier(*byte) || b" |\t;,\n\r\\\"'`*".contains(byte);
        if hit.start < self.done
            || !bytes.get(hit.end).is_some_and(may_end)
            || !ends_word(bytes, hit)
            || !is_cell(bytes, &identifier(bytes, hit))
        {
            return None;
        }
        let from = hit.start.saturating_sub(LONGEST_LINE);
        let start = line_start(bytes, from, hit.start);
        let Some(end) = line_end(bytes, hit.end) else {
            self.done = hit.end + LONGEST_LINE;
            return None;
        };
        self.done = end.end;
        let heading = start..end.start;
        let line = &bytes[heading.clone()];
        let is_in = |separator: &str| memmem::find(line, separator.as_bytes()).is_some();
        let separator = SEPARATORS.into_iter().find(|separator| is_in(separator));
        let columns = cells(bytes, heading.clone(), separator);
        if !is_heading(bytes, &columns, separator) {
            return None;
        }
        let class = |cell: &Range<usize>| {
            NameClass::of(text.get(cell.clone())?).filter(|name| name.is_strong())
        };
        let wanted: Vec<(usize, NameClass)> =
            columns.iter().enumerate().filter_map(|(at, cell)| Some((at, class(cell)?))).collect();
        if wanted.is_empty() {
            return None;
        }
        let mut values = Vec::new();
        let mut next = end.end;
        while next < text.len().min(heading.end + REACH) {
            let below = line_end(bytes, next).unwrap_or(text.len()..text.len());
            let row = next..string_end(bytes, next..below.start, end.len() - 1);
            if row.len() > LONGEST_LINE {
                break;
            }
            if !is_rule(&bytes[row.clone()]) {
                let cells = cells(bytes, row, separator);
                if cells.len() != columns.len() {
                    break;
                }
                let is_held = |value: &Range<usize>, name: &NameClass| {
                    text.get(value.clone()).is_some_and(|value| name.is_held_by(value))
                };
                let held = wanted.iter().filter(|(at, name)| is_held(&cells[*at], name));
                values.extend(held.map(|(at, _)| cells[*at].clone()));
            }
            next = below.end;
            self.done = next;
        }
        Some((heading.start, values))
    }
}

/// The separators of table cells. In a line without any of them, two or more blanks separate cells.
const SEPARATORS: [&str; 5] = ["|", "\t", "\\t", ";", ","];

/// Returns the cells of a line, without quotes and other marks around them.
fn cells(text: &[u8], line: Range<usize>, separator: Option<&str>) -> Vec<Range<usize>> {
    let (mut cells, mut start, mut at) = (Vec::new(), line.start, line.start);
    while at < line.end && cells.len() < MOST_COLUMNS {
        let rest = &text[at..line.end];
        let len = if let Some(separator) = separator {
            if rest.starts_with(separator.as_bytes()) { separator.len() } else { 0 }
        } else {
            Some(count(rest, LONGEST_LINE, |byte| byte == b' ')).filter(|len| *len > 1).unwrap_or(0)
        };
        if len > 0 {
            cells.push(trimmed(text, start..at));
            start = at + len;
        }
        at += len.max(1);
    }
    cells.push(trimmed(text, start..line.end));
    cells
}

fn trimmed(text: &[u8], cell: Range<usize>) -> Range<usize> {
    let is_mark = |byte: &&u8| byte.is_ascii_whitespace() || b"\"'`*\\}]".contains(byte);
    let start = cell.start + text[cell.clone()].iter().take_while(is_mark).count();
    let end = text[start..cell.end].iter().rev().take_while(is_mark).count();
    start..cell.end - end
}

/// Returns whether a name is alone in its cell.
fn is_cell(text: &[u8], name: &Range<usize>) -> bool {
    let is_mark = |byte: &&u8| b" \"'`*\\".contains(byte);
    let head = &text[..name.start];
    let head = head.strip_suffix(b"\\t").unwrap_or(head);
    let is_tabbed = head.len() < name.start;
    let before = head.iter().rev().take(40).find(|byte| !is_mark(byte));
    let rest = &text[name.end..];
    let after = rest.iter().take(80).find(|byte| !is_mark(byte));
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| b"|\t;,\n\r".contains(byte));
    let after = if rest.first() == Some(&b'\\') { None } else { after };
    let is_wide = rest.starts_with(b"  ") || text[..name.start].ends_with(b"  ");
    (is_edge(before) || is_tabbed) && is_edge(after) || is_wide
}

/// Returns whether cells consist of a few words, like headings. If only blanks separate them, they must be in
/// upper case. The first cell may contain anything.
fn is_heading(text: &[u8], columns: &[Range<usize>], separator: Option<&str>) -> bool {
    let is_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || b" _-./#%".contains(byte) || *byte >= 0x80;
    let is_name = |cell: &&Range<usize>| {
        let cell = &text[(*cell).clone()];
        let is_large = separator.is_some() || !cell.iter().any(u8::is_ascii_lowercase);
        cell.len() <= 40 && cell.iter().all(is_word) && is_large
    };
    let filled = columns.iter().filter(|cell| !cell.is_empty()).count();
    filled > 1 && columns[1..].iter().all(|cell| is_name(&cell))
}

/// Returns whether a line is a horizontal rule: `|---|:--:|`, `----+----`.
fn is_rule(line: &[u8]) -> bool {
    let line = &line[margin(line)..];
    line.iter().all(|byte| b"-+|:= \t\r".contains(byte)) && line.len() > 2
}

/// Returns the beginning of a line, behind a line end that may be escaped.
fn line_start(text: &[u8], from: usize, at: usize) -> usize {
    let from = from + memrchr(b'\n', &text[from..at]).map_or(0, |found| found + 1);
    let head = &text[from..at];
    let after = |literal: &str| Some(memmem::rfind(head, literal.as_bytes())? + literal.len());
    from + after("\\n").max(after(": \"")).unwrap_or(0)
}

/// Returns the next line end, which may be escaped.
fn line_end(text: &[u8], from: usize) -> Option<Range<usize>> {
    let line = &text[from..text.len().min(from + LONGEST_LINE)];
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'\n', b'\\', &line[at..])?;
        let slashes = count(&line[at..], 8, |byte| byte == b'\\');
        match line.get(at + slashes) {
            _ if slashes == 0 => return Some(from + at..from + at + 1),
            Some(b'n') => return Some(from + at..from + at + slashes + 1),
            _ => at += slashes,
        }
    }
}

/// Returns the end of a line in a string whose line ends have this many backslashes. The closing quote of the
/// string, which has fewer, ends the line as well.
fn string_end(text: &[u8], line: Range<usize>, slashes: usize) -> usize {
    let before = |at: usize| text[line.start..at].iter().rev().take_while(|byte| **byte == b'\\');
    let is_closing = |at: &usize| text[*at] == b'"' && before(*at).count() < slashes;
    line.clone().find(is_closing).unwrap_or(line.end)
}
