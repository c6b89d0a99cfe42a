//! Orders the rows of one model by date, and inserts new ones.
//!
//! A list is sorted by `from`. Each row applies until the next one's day, the first also before its
//! own, and the last one forever, so a model is never without a price between its rows.

use jiff::civil::Date;
use jiff::{Timestamp, tz::Offset};

use super::row::Row;

/// Returns the row that applies at a time, or the latest without one. `None` only for an empty
/// list.
pub(super) fn at(rows: &[Row], time: Option<Timestamp>) -> Option<&Row> {
    match (rows, time) {
        ([], _) => None,
        ([only], _) => Some(only),
        (_, None) => rows.last(),
        (_, Some(time)) => {
            let day = Offset::UTC.to_datetime(time).date();
            rows.iter().rev().find(|row| row.from.is_some_and(|from| from <= day)).or(rows.first())
        }
    }
}

/// Lays new rows of a model over the existing ones.
///
/// A row without dates replaces all. A row with dates applies on those days, and the existing rows
/// on all others.
pub(super) fn lay_over(old: Vec<Row>, new: Vec<Row>) -> Result<Vec<Row>, &'static str> {
    let (mut lasting, mut dated): (Vec<Row>, Vec<Row>) =
        new.into_iter().partition(|row| row.from.is_none() && row.to.is_none());
    if lasting.len() > 1 {
        return Err("it has two rows without dates");
    }
    dated.sort_by_key(|row| row.from);
    let overlap = |pair: &[Row]| {
        pair[0].from == pair[1].from || pair[0].to.is_some_and(|to| Some(to) > pair[1].from)
    };
    if dated.windows(2).any(overlap) {
        return Err("it has two rows for the same days");
    }
    if lasting.is_empty() {
        lasting = old;
    }
    let mut rows = if lasting.is_empty() {
        dated
    } else {
        dated.into_iter().fold(lasting, |rows, row| insert(&rows, row))
    };
    let starts: Vec<Option<Date>> = rows.iter().map(|row| row.from).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row.to = starts.get(i + 1).copied().flatten();
    }
    Ok(rows)
}

/// Removes a row's days from the others and inserts it.
fn insert(rows: &[Row], new: Row) -> Vec<Row> {
    let mut out = Vec::with_capacity(rows.len() + 2);
    for (i, row) in rows.iter().enumerate() {
        // The first row starts at the beginning of time, whatever day it has.
        let start = row.from.filter(|_| i > 0);
        let end = rows.get(i + 1).and_then(|next| next.from);
        if new.from.is_some() && start < new.from {
            out.push(Row { from: row.from.filter(|&from| Some(from) < new.from), ..row.clone() });
        }
        if let Some(to) = new.to
            && end.is_none_or(|end| to < end)
        {
            out.push(Row { from: start.max(Some(to)), ..row.clone() });
        }
    }
    out.push(new);
    out.sort_by_key(|row| row.from);
    out
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;
    use crate::model::ServiceClass;
    use crate::money::Price;

    fn day(n: i32) -> Date {
        date(2026, 1, 1).checked_add(n.days()).unwrap()
    }

    fn row(name: &str, from: Option<i32>, to: Option<i32>) -> Row {
        Row {
            model: name.to_owned(),
            service: ServiceClass::Standard,
            from: from.map(day),
            to: to.map(day),
            input: Price::default(),
            output: Price::default(),
            cache_read: None,
            cache_write_5m: None,
            cache_write_1h: None,
            tier: None,
            us_percent: None,
            web_search: None,
            source: None,
            overridden: false,
        }
    }

    /// Returns the names of the rows on days -1 to 9.
    fn calendar(rows: &[Row]) -> String {
        let noon = |n| Offset::UTC.to_timestamp(day(n).at(12, 0, 0, 0)).unwrap();
        (-1..10).map(|n| at(rows, Some(noon(n))).unwrap().model.as_str()).collect()
    }

    #[test]
    fn rows_follow_each_other() {
        let rows = vec![row("a", Some(2), None), row("b", Some(5), None)];
        let rows = lay_over(vec![], rows).unwrap();
        assert_eq!(calendar(&rows), "aaaaaabbbbb");
        assert_eq!((rows[0].to, rows[1].to), (Some(day(5)), None));
        let midnight = Offset::UTC.to_timestamp(day(5).at(0, 0, 0, 0)).unwrap();
        assert_eq!(at(&rows, Some(midnight)).unwrap().model, "b");
        assert_eq!(at(&rows, midnight.checked_sub(1.nanosecond()).ok()).unwrap().model, "a");
        assert_eq!(at(&rows, None).unwrap().model, "b");
        assert_eq!(at(&[], None), None);
    }

    #[test]
    fn new_rows_take_their_days() {
        let old = || vec![row("a", Some(2), Some(5)), row("b", Some(5), None)];
        let over = |new: Vec<Row>| calendar(&lay_over(old(), new).unwrap());
        assert_eq!(over(vec![row("X", None, None)]), "XXXXXXXXXXX");
        assert_eq!(over(vec![row("X", Some(3), Some(7))]), "aaaaXXXXbbb");
        assert_eq!(over(vec![row("X", Some(0), Some(1))]), "aXaaaabbbbb");
        assert_eq!(over(vec![row("X", Some(7), None)]), "aaaaaabbXXX");
        assert_eq!(over(vec![row("X", None, Some(1))]), "XXaaaabbbbb");
        let both = vec![row("Y", Some(7), None), row("X", None, Some(3))];
        assert_eq!(over(both), "XXXXaabbYYY");
        let lasting = vec![row("X", Some(3), Some(4)), row("Y", None, None)];
        assert_eq!(over(lasting), "YYYYXYYYYYY");
        // With no rows below, a gap is filled by the row before it.
        let alone = vec![row("X", Some(1), Some(2)), row("Y", Some(5), Some(6))];
        assert_eq!(calendar(&lay_over(vec![], alone).unwrap()), "XXXXXXYYYYY");
    }

    #[test]
    fn rows_that_contradict_each_other() {
        let over = |new| lay_over(vec![row("a", None, None)], new).unwrap_err();
        assert!(over(vec![row("X", None, None), row("Y", None, None)]).contains("without dates"));
        for (a, b) in [((None, Some(4)), (None, Some(5))), ((Some(1), Some(4)), (Some(3), None))] {
            let rows = vec![row("X", a.0, a.1), row("Y", b.0, b.1)];
            assert!(over(rows).contains("same days"));
        }
    }

    proptest! {
        /// Inserts row after row, and compares with a calendar painted day by day.
        #[test]
        fn as_if_painted(
            starts in prop::collection::btree_set(0..9_i32, 1..4),
            over in prop::collection::vec((prop::option::of(-1..9_i32), prop::option::of(0..10_i32)), 0..5),
        ) {
            let names = ["A", "B", "C", "D", "E"];
            let old = starts.iter().zip(["a", "b", "c"]).map(|(&n, name)| row(name, Some(n), None));
            let mut rows = lay_over(vec![], old.collect()).unwrap();
            let mut paint = calendar(&rows);
            for ((from, to), name) in over.into_iter().zip(names) {
                if from.zip(to).is_some_and(|(from, to)| from >= to) {
                    continue;
                }
                rows = lay_over(rows, vec![row(name, from, to)]).unwrap();
                let days = from.unwrap_or(-1)..to.unwrap_or(10);
                paint = paint.chars().zip(-1..).map(|(old, n)| {
                    if days.contains(&n) { name.chars().next().unwrap() } else { old }
                }).collect();
                prop_assert_eq!(calendar(&rows), paint.as_str());
                prop_assert!(rows.windows(2).all(|pair| pair[0].from < pair[1].from && pair[0].to == pair[1].from));
            }
        }
    }
}
