//! Diffs on a terminal.

use super::{Line, style};

/// Returns the lines of a diff, coloured by their sign, each after a margin.
pub(crate) fn lines(diff: &str, margin: &str) -> Vec<Line> {
    let color = |line: &str| match line.as_bytes().first() {
        Some(b'+') => style::GOOD,
        Some(b'-') => style::GONE,
        Some(b'@' | b'*') => style::DIM,
        _ => anstyle::Style::new(),
    };
    let line = |line: &str| Line::new().text(margin).styled(color(line), line);
    diff.lines().map(|text| line(text).hang(format!("{margin}  "))).collect()
}
