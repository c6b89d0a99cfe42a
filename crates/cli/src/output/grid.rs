//! A table whose cells are wrapped instead of cut, for Markdown.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::text::{Piece, wrap};
use super::{Line, style};

const INDENT: &str = "  ";
const GAP: usize = 2;
/// A column is never narrower than this.
const NARROWEST: usize = 6;

/// Returns the lines of a table within `room` columns; its first row is the header, and all rows are equally long.
pub(super) fn lines(rows: &[Vec<String>], room: usize) -> Vec<Line> {
    let Some((header, body)) = rows.split_first() else { return Vec::new() };
    let room = room.saturating_sub(INDENT.len());
    match widths(rows, room) {
        Some(widths) => side_by_side(rows, &widths),
        None => body.iter().flat_map(|row| list(header, row)).collect(),
    }
}

/// Returns the widths of the columns, or `None` if there is not enough room for all of them.
fn widths(rows: &[Vec<String>], room: usize) -> Option<Vec<usize>> {
    let columns = rows.first()?.len();
    let widest = |n: usize| rows.iter().map(|row| row[n].trim().width()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(|n| widest(n).min(room)).collect();
    let gaps = GAP * columns.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let widest = widths.iter_mut().max().filter(|width| **width > NARROWEST)?;
        *widest -= 1;
    }
    Some(widths)
}

fn side_by_side(rows: &[Vec<String>], widths: &[usize]) -> Vec<Line> {
    let mut out = Vec::new();
    let mut is_wrapped = false;
    let rows: Vec<Vec<Vec<Vec<Piece>>>> = rows
        .iter()
        .enumerate()
        .map(|(n, row)| {
            let style = if n == 0 { style::HEADING } else { Style::new() };
            let cells = row.iter().zip(widths).map(|(cell, width)| {
                wrap(&[(style, cell.trim().to_owned())], (*width).max(1), (*width).max(1))
            });
            cells.inspect(|cell| is_wrapped |= cell.len() > 1).collect()
        })
        .collect();
    for (n, row) in rows.iter().enumerate() {
        if is_wrapped && n > 0 {
            out.push(Line::new());
        }
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        out.extend((0..height).map(|at| line(row, widths, at)));
    }
    out
}

/// Returns the line of a row at some height.
fn line(row: &[Vec<Vec<Piece>>], widths: &[usize], at: usize) -> Line {
    let mut line = Line::new().text(INDENT);
    let mut space = 0;
    for (cell, width) in row.iter().zip(widths) {
        let pieces = cell.get(at).map_or(&[][..], Vec::as_slice);
        let used: usize = pieces.iter().map(|(_, text)| text.width()).sum();
        if used > 0 {
            line = line.text(" ".repeat(space));
            space = 0;
        }
        for (style, text) in pieces {
            line = line.styled(*style, text);
        }
        space += width.saturating_sub(used) + GAP;
    }
    line
}

/// Returns a row as one line per cell.
fn list(header: &[String], row: &[String]) -> Vec<Line> {
    let pairs = header.iter().zip(row);
    let line = |(name, cell): (&String, &String)| {
        let name = format!("{}: ", name.trim());
        Line::new().text(INDENT).styled(style::HEADING, name).text(cell.trim()).hang("    ")
    };
    pairs.map(line).collect()
}
