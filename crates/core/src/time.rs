//! Parses and formats times.

use std::borrow::Cow;
use std::ops::Range;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};
use serde::{Serialize, Serializer};

/// The accepted forms of a time, for error messages.
#[doc(hidden)]
pub const FORMS: &str = "a date (2026-08-01), a month (2026-08), a time (2026-08-01T14:30), an age (30m, 12h, 7d, 2w, 3mo, 1y, \
     \"3 days\"), a weekday (monday), today, yesterday, or this or last week, month or year";

/// A time as written in documents: UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:.3}", self.0))
    }
}

/// Returns the earlier of two times, or the known one.
#[doc(hidden)]
pub fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.min(other).or(one).or(other)
}

/// A period from `since` until before `until`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    /// The first moment; none for no limit.
    pub since: Option<Timestamp>,
    /// The moment after the last; none for no limit.
    pub until: Option<Timestamp>,
}

impl Period {
    /// Returns whether a moment is in the period.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether something that happened at a time, if it is known, is in the period. An
    /// unlimited period includes what has no time.
    pub fn includes(&self, at: Option<Timestamp>) -> bool {
        at.map_or(self.is_everything(), |at| self.contains(at))
    }

    /// Returns whether the period overlaps the time from `from` to `to`, both included.
    pub fn overlaps(&self, from: Timestamp, to: Timestamp) -> bool {
        self.since.is_none_or(|since| to >= since) && self.until.is_none_or(|until| from < until)
    }

    /// Returns whether the period is unlimited.
    pub fn is_everything(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }
}

/// Serializes a time for storage as seconds and nanoseconds.
pub(crate) mod stored {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(|at| (at.as_second(), at.subsec_nanosecond())).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let at = Option::<(i64, i32)>::deserialize(deserializer)?;
        Ok(at.and_then(|(second, nanosecond)| Timestamp::new(second, nanosecond).ok()))
    }
}

/// Parses an ISO time. Nearly all have the form that JavaScript writes, and there are millions.
pub(crate) fn iso(text: &str) -> Option<Timestamp> {
    iso_bytes(text.as_bytes())
}

/// Parses an ISO time that need not be text.
pub(crate) fn iso_bytes(text: &[u8]) -> Option<Timestamp> {
    javascript(text).or_else(|| str::from_utf8(text).ok()?.parse().ok())
}

/// The form of `2026-03-01T10:04:00.123Z`.
const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";

/// What can be added to the distance of each byte from the form, if it is allowed, without setting its highest bit.
const ROOM: [u8; FORM.len()] = {
    let mut room = [0x7F; FORM.len()];
    let mut at = 0;
    while at < room.len() {
        room[at] -= if FORM[at] == b'0' { 9 } else { 0 };
        at += 1;
    }
    room
};

/// Parses exactly `2026-03-01T10:04:00.123Z`. Eight bytes are checked at once, without branches.
fn javascript(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; FORM.len()] = text.try_into().ok()?;
    let word = |bytes: &[u8; FORM.len()], at: usize| {
        bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    };
    let mut distances = [0; FORM.len()];
    let mut odd = 0;
    for at in [0, 8, 16] {
        // The distance of a digit is its value.
        let distance = word(text, at) ^ word(FORM, at);
        odd |= distance | distance.wrapping_add(word(&ROOM, at));
        distances[at..at + 8].copy_from_slice(&distance.to_le_bytes());
    }
    if odd & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let number = |place: Range<usize>| {
        distances[place].iter().fold(0, |number, digit| number * 10 + i64::from(*digit))
    };
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let (hour, minute) = (number(11..13), number(14..16));
    let (second, millisecond) = (number(17..19), number(20..23));
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !is_time || day == 0 || day > days_in_month(year, month)? {
        return None;
    }
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Timestamp::from_millisecond(seconds * 1000 + millisecond).ok()
}

#[inline]
fn days_in_month(year: i64, month: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => return None,
    })
}

#[inline]
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March end with the leap day, and their months have 30.6 days.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// Parses an expression such as `last week`, `7d` or `2026-08` and returns the start and the end of its period, in
/// the zone of `now`. [`FORMS`] lists the forms; a moment starts and ends at once.
///
/// A caller uses the start of the period as a beginning and its end as an end: `--until 2026-08-01`
/// includes that whole day.
#[doc(hidden)]
pub fn parse_period(word: &str, now: &Zoned) -> Option<(Timestamp, Timestamp)> {
    let zone = now.time_zone();
    let today = now.date();
    let monday =
        today.checked_sub(i32::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
    let first = today.first_of_month();
    let word = &*words(word);
    let year = first.first_of_year();
    match word {
        "now" => return Some((now.timestamp(), now.timestamp())),
        "today" => return days(today, today.tomorrow().ok()?, zone),
        "yesterday" => return days(today.yesterday().ok()?, today, zone),
        "this-week" => return days(monday, monday.checked_add(1.week()).ok()?, zone),
        "last-week" => return days(monday.checked_sub(1.week()).ok()?, monday, zone),
        "this-month" => return days(first, first.checked_add(1.month()).ok()?, zone),
        "last-month" => return days(first.checked_sub(1.month()).ok()?, first, zone),
        "this-year" => return days(year, year.checked_add(1.year()).ok()?, zone),
        "last-year" => return days(year.checked_sub(1.year()).ok()?, year, zone),
        _ => {}
    }
    if let Some(weekday) = weekday(word.trim_start_matches("last-")) {
        // The most recent one; today is only meant without `last`.
        let last = i32::from(word.starts_with("last-"));
        let since = (i32::from(today.weekday().since(weekday)) + 7 - last) % 7 + last;
        let day = today.checked_sub(since.days()).ok()?;
        return days(day, day.tomorrow().ok()?, zone);
    }
    if let Some(span) = age(word) {
        let start = now.checked_sub(span).ok()?.timestamp();
        return Some((start, start));
    }
    if let Ok(exact) = word.parse::<Timestamp>() {
        return Some((exact, exact));
    }
    if let Ok(date) = word.parse::<Date>()
        && word.len() == 10
    {
        return days(date, date.tomorrow().ok()?, zone);
    }
    if let Ok(civil) = word.parse::<jiff::civil::DateTime>() {
        let at = civil.to_zoned(zone.clone()).ok()?.timestamp();
        return Some((at, at));
    }
    // A month: 2026-08.
    let date: Date = format!("{word}-01").parse().ok()?;
    days(date, date.checked_add(1.month()).ok()?, zone)
}

/// Returns several words as one, joined by `-`, in lower case; exact times stay as they are.
fn words(text: &str) -> Cow<'_, str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
    if !text.chars().all(is_word) || text.starts_with('-') {
        return Cow::Borrowed(text);
    }
    let words = text.split([' ', '_']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase().into()
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn days(from: Date, to: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let start = |date: Date| date.to_zoned(zone.clone()).map(|zoned| zoned.timestamp()).ok();
    Some((start(from)?, start(to)?))
}

/// Parses `30m`, `12h`, `7d`, `2w`, `3mo`, `1y`, and the same in words: `3-days`, `last-3-days`, `3-days-ago`.
/// A bare `m` is minutes, as in a shell's `sleep`.
fn age(word: &str) -> Option<Span> {
    let word = word.strip_suffix("-ago").unwrap_or(word.trim_start_matches("last-"));
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: i64 = word.strip_suffix(unit)?.parse().ok().filter(|n| (0..100_000).contains(n))?;
    Some(match unit.trim_start_matches('-') {
        "m" | "min" | "minute" | "minutes" => number.minutes(),
        "h" | "hour" | "hours" => number.hours(),
        "d" | "day" | "days" => number.days(),
        "w" | "week" | "weeks" => number.weeks(),
        "mo" | "month" | "months" => number.months(),
        "y" | "year" | "years" => number.years(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_times() {
        let now: Zoned = "2026-08-14T18:30:00+02:00[Europe/Berlin]".parse().unwrap();
        let got =
            |word: &str| parse_period(word, &now).map(|(a, b)| (a.to_string(), b.to_string()));
        let want = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(got("today"), want("2026-08-13T22:00:00Z", "2026-08-14T22:00:00Z"));
        assert_eq!(got("2026-08-01"), want("2026-07-31T22:00:00Z", "2026-08-01T22:00:00Z"));
        assert_eq!(got("2026-03"), want("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"));
        assert_eq!(got("this-week"), want("2026-08-09T22:00:00Z", "2026-08-16T22:00:00Z"));
        assert_eq!(got("last-month"), want("2026-06-30T22:00:00Z", "2026-07-31T22:00:00Z"));
        assert_eq!(got("7d"), want("2026-08-07T16:30:00Z", "2026-08-07T16:30:00Z"));
        assert_eq!(got("2026-08-01T14:30"), want("2026-08-01T12:30:00Z", "2026-08-01T12:30:00Z"));
        assert_eq!(got("30min"), want("2026-08-14T16:00:00Z", "2026-08-14T16:00:00Z"));
        assert_eq!(got("3mo"), want("2026-05-14T16:30:00Z", "2026-05-14T16:30:00Z"));
        assert_eq!(got("30m"), got("30min"), "minutes, never months");
        // The 14th is a Friday.
        assert_eq!(got("monday"), got("2026-08-10"));
        assert_eq!(got("Fri"), got("today"));
        assert_eq!(got("last friday"), got("2026-08-07"));
        assert_eq!(got("last saturday"), got("2026-08-08"));
        assert_eq!(got("last thursday"), got("yesterday"));
        assert_eq!(got("Last Week"), got("last-week"));
        assert_eq!(got("last_month"), got("last-month"));
        assert_eq!(got("last-year"), want("2024-12-31T23:00:00Z", "2025-12-31T23:00:00Z"));
        for same in ["7days", "7 days", "last 7 days", "7-days-ago", "7 d"] {
            assert_eq!(got(same), got("7d"), "{same}");
        }
        for bad in
            ["", "7", "d", "soon", "2026-13-01", "-3d", "2026-02-30", "mo", "last", "-", "last-"]
        {
            assert_eq!(got(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_day_across_daylight_saving_has_its_own_length() {
        let now: Zoned = "2026-03-30T12:00:00+02:00[Europe/Berlin]".parse().unwrap();
        let (from, to) = parse_period("2026-03-29", &now).unwrap();
        assert_eq!(to.duration_since(from).as_hours(), 23);
    }

    proptest::proptest! {
        #[test]
        fn times_of_javascript(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9][.,][0-9]{3}[Zz]") {
            proptest::prop_assert_eq!(iso(&text), text.parse().ok());
        }

        #[test]
        fn real_times(seconds in -60_000_000_000_i64..250_000_000_000, milli in 0..1000_i32) {
            let at = Timestamp::new(seconds, milli * 1_000_000).unwrap();
            let text = format!("{at:.3}");
            proptest::prop_assert_eq!(iso(&text), text.parse().ok());
        }
    }
}
