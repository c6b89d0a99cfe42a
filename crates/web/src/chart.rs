//! Charts as SVG, each with its values on hover and in a table behind it.
//!
//! Bars are drawn without text in a picture that stretches, and their scale is written beside it, so that
//! letters keep their size on a phone. Nothing is smoothed, and days without a value keep their place.

use maud::{Markup, html};

/// One column of bars on top of each other.
pub(crate) struct Column {
    /// The name on the axis.
    pub(crate) label: String,
    /// The whole name, for the table and on hover.
    pub(crate) name: String,
    /// The length of each part, in the order of the series.
    pub(crate) parts: Vec<f64>,
    /// The value of each part as text.
    pub(crate) values: Vec<String>,
    /// The sum as text.
    pub(crate) total: String,
    /// The page with the details.
    pub(crate) link: Option<String>,
    /// Whether more may follow, as for today.
    pub(crate) is_open: bool,
}

/// A chart of columns.
pub(crate) struct Columns<'a> {
    pub(crate) title: &'a str,
    pub(crate) series: &'a [String],
    pub(crate) each: &'a [Column],
    /// Writes a length as text, for the scale.
    pub(crate) scale: &'a dyn Fn(f64) -> String,
    /// The maximum number of labels below the chart.
    pub(crate) labels: usize,
}

/// The size of the picture, which is stretched to the width of the page.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 160.0;

impl Columns<'_> {
    pub(crate) fn draw(&self) -> Markup {
        let sum = |column: &Column| column.parts.iter().sum::<f64>();
        let top = round_up(self.each.iter().map(sum).fold(0.0, f64::max));
        let each = WIDTH / f64::from(u32::try_from(self.each.len()).unwrap_or(u32::MAX)).max(1.0);
        let gap = (each * 0.18).clamp(0.4, 6.0);
        let step = self.each.len().div_ceil(self.labels.max(1)).max(1);
        html! {
            figure.chart {
                div.plot {
                    div.scale aria-hidden="true" {
                        span { ((self.scale)(top)) } span { ((self.scale)(top / 2.0)) } span { "0" }
                    }
                    svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="group" aria-label=(self.title) {
                        line.grid x1="0" x2=(WIDTH) y1="0.5" y2="0.5" {}
                        line.grid x1="0" x2=(WIDTH) y1=(HEIGHT / 2.0) y2=(HEIGHT / 2.0) {}
                        @for (n, column) in self.each.iter().enumerate() {
                            (self.bar(column, f64::from(u32::try_from(n).unwrap_or(0)) * each, each, gap, top))
                        }
                    }
                    div.axis aria-hidden="true" {
                        @for (n, column) in self.each.iter().enumerate() {
                            @if n % step == 0 {
                                span.spare[n / step % 2 == 1].end[n + step >= self.each.len()] { (column.label) }
                            } @else { span {} }
                        }
                    }
                }
                @if !self.series.is_empty() {
                    ul.legend {
                        @for (n, name) in self.series.iter().enumerate() { li class=(series(n)) { (name) } }
                    }
                }
                (self.table())
            }
        }
    }

    fn bar(&self, column: &Column, x: f64, each: f64, gap: f64, top: f64) -> Markup {
        let mut below = 0.0;
        let mut rects = Vec::new();
        for (n, part) in column.parts.iter().enumerate() {
            let (from, to) = (below / top * HEIGHT, (below + part) / top * HEIGHT);
            below += part;
            // Whatever is not nothing can be seen.
            let height = if *part > 0.0 { (to - from).max(1.0) } else { 0.0 };
            rects.push((series(n), HEIGHT - from - height, height));
        }
        let bars = html! {
            title { (self.hover(column)) }
            rect.hit x=(round(x)) y="0" width=(round(each)) height=(HEIGHT) {}
            @for (class, y, height) in &rects {
                @if *height > 0.0 {
                    rect class=(class) x=(round(x + gap / 2.0)) y=(round(*y)) width=(round(each - gap)) height=(round(*height)) {}
                }
            }
        };
        let class = if column.is_open { "column open" } else { "column" };
        html! {
            @match &column.link {
                // The table behind the chart has the same links for the keyboard.
                Some(link) => a class=(class) href=(link) tabindex="-1" { (bars) },
                None => g class=(class) { (bars) },
            }
        }
    }

    fn hover(&self, column: &Column) -> String {
        let mut lines = vec![format!("{}: {}", column.name, column.total)];
        if self.series.len() > 1 {
            let parts = self.series.iter().zip(&column.values).zip(&column.parts);
            lines.extend(
                parts
                    .filter(|(_, part)| **part > 0.0)
                    .map(|((name, value), _)| format!("{name}: {value}")),
            );
        }
        if column.is_open {
            lines.push("not over yet".to_owned());
        }
        lines.join("\n")
    }

    fn table(&self) -> Markup {
        html! {
            details.behind {
                summary { "Table" }
                div.scroll tabindex="0" role="region" aria-label=(format!("{}, as a table", self.title)) {
                    table {
                        thead { tr {
                            th scope="col" { "" }
                            @if self.series.len() > 1 { @for name in self.series { th.n scope="col" { (name) } } }
                            th.n scope="col" { "all" }
                        } }
                        tbody {
                            @for column in self.each.iter().rev() {
                                tr {
                                    th scope="row" {
                                        @match &column.link { Some(link) => a href=(link) { (column.name) }, None => (column.name) }
                                        @if column.is_open { " " small { "not over yet" } }
                                    }
                                    @if self.series.len() > 1 { @for value in &column.values { td.n { (value) } } }
                                    td.n { (column.total) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A row of a list of bars.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) length: f64,
    pub(crate) value: String,
    /// A second value, such as a share.
    pub(crate) note: String,
    pub(crate) link: Option<String>,
}

/// Draws a list of bars, which is its own table.
pub(crate) fn bars(title: &str, rows: &[Bar]) -> Markup {
    let longest = rows.iter().map(|row| row.length).fold(0.0, f64::max);
    html! {
        table.bars {
            caption.sr { (title) }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" {
                            @match &row.link { Some(link) => a href=(link) { (row.name) }, None => span { (row.name) } }
                            (strip(row.length, longest))
                        }
                        td.n { (row.value) }
                        td.n { small { (row.note) } }
                    }
                }
            }
        }
    }
}

/// Draws one bar that is as long as its share of the longest; nothing marks the whole width, which would look like 100 %.
pub(crate) fn strip(length: f64, longest: f64) -> Markup {
    let share = if longest > 0.0 { (length / longest * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    let share = if length > 0.0 { share.max(0.6) } else { 0.0 };
    html! {
        svg.strip viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.s0 width=(round(share)) height="4" {}
        }
    }
}

/// Returns the class of a series; there are six colours, the last for the rest.
pub(crate) fn series(n: usize) -> &'static str {
    ["s0", "s1", "s2", "s3", "s4", "s5"][n.min(5)]
}

/// Rounds a length, which needs no more digits.
pub(crate) fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Returns the next number of the form 1, 2, 2.5 or 5 times a power of ten.
fn round_up(number: f64) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(number.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps.iter().map(|step| step * power).find(|step| *step >= number * 0.999_999).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number() {
        for (number, want) in [
            (0.0, 1.0),
            (0.7, 1.0),
            (1.0, 1.0),
            (1.2, 2.0),
            (2.2, 2.5),
            (3.0, 5.0),
            (72.0, 100.0),
            (1e9, 1e9),
        ] {
            assert!(
                (round_up(number) - want).abs() < want * 1e-6,
                "{number}: {}",
                round_up(number)
            );
        }
    }

    #[test]
    fn names_are_escaped_and_every_value_is_in_the_table() {
        let column = Column {
            label: "<b>".into(),
            name: "<script>".into(),
            parts: vec![1.0, 0.0],
            values: vec!["$1".into(), "$0".into()],
            total: "$1".into(),
            link: Some("/x?a=\"b".into()),
            is_open: true,
        };
        let series = ["a".to_owned(), "b".to_owned()];
        let chart = Columns {
            title: "t\"",
            series: &series,
            each: &[column],
            scale: &|n| n.to_string(),
            labels: 5,
        };
        let text = chart.draw().into_string();
        assert!(
            !text.contains("<script>") && !text.contains("<b>") && !text.contains("a=\"b"),
            "{text}"
        );
        assert!(text.contains("<td class=\"n\">$0</td>") && text.contains("not over yet"));
    }

    #[test]
    fn a_bar_is_never_longer_than_its_picture() {
        for (length, longest) in [(0.0, 0.0), (1.0, 0.0), (5.0, 2.0), (-1.0, 2.0)] {
            let text = strip(length, longest).into_string();
            let width: f64 =
                text.rsplit("width=\"").next().unwrap().split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=100.0).contains(&width), "{text}");
        }
    }
}
