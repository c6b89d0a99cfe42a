//! The activity of a year, day by day.

use std::collections::HashMap;

use backstory_core::number::{count, plural};
use backstory_core::query::usage::{Row, Sum};
use jiff::ToSpan;
use jiff::civil::Date;
use maud::{Markup, html};

use crate::scope::Scope;

/// The size of a day, and the distance to the next.
const DAY: i32 = 10;
const STEP: i32 = 13;

/// The room above for the months, and on the left for the days of the week.
const ABOVE: i32 = 16;
const LEFT: i32 = 28;

/// The rows that are labelled; a week begins on Monday.
const WEEKDAYS: [(usize, &str); 3] = [(0, "Mon"), (2, "Wed"), (4, "Fri")];

/// Draws the 53 weeks up to a day; `rows` are sums by day.
pub(super) fn draw(rows: &[Row], today: Date, scope: &Scope) -> Markup {
    let sums: HashMap<&str, &Sum> = rows.iter().map(|row| (row.key.as_str(), &row.sum)).collect();
    let monday = i32::from(today.weekday().to_monday_zero_offset());
    let Ok(first) = today.checked_sub((monday + 52 * 7).days()) else { return html! {} };
    let days: Vec<Date> = first.series(1.day()).take_while(|day| *day <= today).collect();
    let mut totals: Vec<u64> =
        days.iter().map(|day| tokens(&sums, *day)).filter(|total| *total > 0).collect();
    totals.sort_unstable();
    let months: Vec<(i32, Date)> = days
        .iter()
        .enumerate()
        .filter(|(n, day)| day.day() <= 7 && n % 7 == 0)
        .map(|(n, day)| (LEFT + place(n / 7), *day))
        .collect();
    let width = LEFT + 53 * STEP;
    let height = ABOVE + 7 * STEP;
    let active = totals.len() as u64;
    html! {
        figure.chart.year {
            div.scroll tabindex="0" role="region" aria-label="Activity by day" {
                svg viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="group" aria-label=(format!("Activity of the last 53 weeks: {}", plural(active, "active day", "active days"))) {
                    @for (row, name) in WEEKDAYS { text x="0" y=(ABOVE + place(row) + DAY - 1) { (name) } }
                    @for (x, day) in &months { text x=(x) y="10" { (day.strftime("%b")) } }
                    @for (n, day) in days.iter().enumerate() {
                        (square(n, *day, sums.get(day.to_string().as_str()).copied(), &totals, scope))
                    }
                }
            }
            figcaption {
                (plural(active, "active day", "active days")) " in 53 weeks, by tokens: less "
                svg.key width="64" height="10" aria-hidden="true" {
                    @for level in 0..5 { rect class=(format!("h{level}")) x=(level * 13) width="10" height="10" rx="2" {} }
                }
                " more"
            }
        }
    }
}

fn place(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(0) * STEP
}

fn tokens(sums: &HashMap<&str, &Sum>, day: Date) -> u64 {
    sums.get(day.to_string().as_str()).map_or(0, |sum| sum.usage.total())
}

fn square(n: usize, day: Date, sum: Option<&Sum>, totals: &[u64], scope: &Scope) -> Markup {
    let total = sum.map_or(0, |sum| sum.usage.total());
    // Quarters of the active days, so that one busy day does not pale all others.
    let level = if total == 0 {
        0
    } else {
        1 + totals.partition_point(|other| *other < total) * 4 / totals.len().max(1)
    };
    let class = ["h0", "h1", "h2", "h3", "h4"][level.min(4)];
    let (x, y) = (LEFT + place(n / 7), ABOVE + place(n % 7));
    let name = day.strftime("%a %-d %b %Y").to_string();
    let text = match sum {
        Some(sum) if total > 0 => {
            let cost = sum.bill.short().map(|cost| format!(", {cost}")).unwrap_or_default();
            format!(
                "{name}: {} tokens in {}{cost}",
                count(total),
                plural(sum.sessions, "session", "sessions")
            )
        }
        _ => format!("{name}: nothing"),
    };
    let rect = html! {
        title { (text) }
        rect class=(class) x=(x) y=(y) width=(DAY) height=(DAY) rx="2" {}
    };
    let day = day.to_string();
    html! {
        @if total > 0 { a href=(scope.link_days("/sessions", &day, &day)) tabindex="-1" aria-label=(text) { (rect) } }
        @else { g { (rect) } }
    }
}
