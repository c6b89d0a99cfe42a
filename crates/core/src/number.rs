//! Formats numbers, sizes and times for people.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Formats `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Rounds a number to a tenth of its unit: `12.3k`, `4.5M`, `1.7B`.
pub fn brief(number: u64) -> String {
    let (size, unit) = match number {
        0..10_000 => return count(number),
        10_000..999_950 => (1_000, "k"),
        999_950..999_950_000 => (1_000_000, "M"),
        _ => (1_000_000_000, "B"),
    };
    let tenths = (u128::from(number) * 10 + size / 2) / size;
    format!("{}.{}{unit}", count(u64::try_from(tenths / 10).unwrap_or(u64::MAX)), tenths % 10)
}

/// Formats `1 file` or `1,234 files`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Formats `37 %`, or a dash if the whole is 0.
pub fn percent(part: u64, whole: u64) -> String {
    match u128::from(part) * 100 {
        _ if whole == 0 => "–".to_owned(),
        0 => "0 %".to_owned(),
        hundredfold if hundredfold < u128::from(whole) => "<1 %".to_owned(),
        _ => format!("{} %", rounded_percent(part, whole)),
    }
}

/// Returns the rounded percentage of a part; less than everything is never 100.
pub fn rounded_percent(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let rounded = (part * 100 + whole / 2) / whole;
    let most = if part < whole { 99 } else { rounded };
    u64::try_from(rounded.min(most)).unwrap_or(u64::MAX)
}

/// Formats `12.3 MB`; a kilobyte has 1,000 bytes.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut unit = 0;
    // Tenths of the unit, rounded; integers keep the rounding exact.
    let mut size: u128 = 1000;
    let tenths = |size: u128| (u128::from(number) * 10 + size / 2) / size;
    while tenths(size) >= 10_000 && unit + 1 < UNITS.len() {
        size *= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths(size) / 10, tenths(size) % 10, UNITS[unit])
}

/// Formats `2026-08-14 16:30` in the time zone.
pub fn date(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats `3 days ago`, `in 5 hours` or `just now`.
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    let apart = now.duration_since(time);
    let (number, unit) = largest(apart);
    match (number, apart.is_negative()) {
        (0, _) => "just now".to_owned(),
        (1, false) => format!("1 {unit} ago"),
        (_, false) => format!("{} {unit}s ago", count(number)),
        (1, true) => format!("in 1 {unit}"),
        (_, true) => format!("in {} {unit}s", count(number)),
    }
}

/// Formats an age in few columns: `9min`, `10h`, `3d`, `5mo`, `2y`, `in 5h`, `now`.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    let apart = now.duration_since(time);
    let (number, unit) = largest(apart);
    let unit = match unit {
        "minute" => "min",
        "hour" => "h",
        "day" => "d",
        "month" => "mo",
        _ => "y",
    };
    match (number, apart.is_negative()) {
        (0, _) => "now".to_owned(),
        (_, false) => format!("{number}{unit}"),
        (_, true) => format!("in {number}{unit}"),
    }
}

/// Formats a length of time in few columns: `48 s`, `3 min`, `2 h 5 min`, `4 d`.
pub fn duration(length: SignedDuration) -> String {
    let seconds = length.as_secs().unsigned_abs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match hours {
        0 if minutes == 0 => format!("{seconds} s"),
        0 => format!("{minutes} min"),
        1..48 if minutes % 60 == 0 => format!("{hours} h"),
        1..48 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d", hours / 24),
    }
}

fn largest(apart: SignedDuration) -> (u64, &'static str) {
    let minutes = apart.as_secs().unsigned_abs() / 60;
    let (hours, days) = (minutes / 60, minutes / 60 / 24);
    match days {
        0 if hours == 0 => (minutes, "minute"),
        0 => (hours, "hour"),
        1..60 => (days, "day"),
        60..730 => (days / 30, "month"),
        _ => (days / 365, "year"),
    }
}

/// Formats a time for JSON: RFC 3339, UTC, milliseconds.
pub fn json_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_but_less_than_everything_is_not_all() {
        let texts =
            [(0, 0), (0, 9), (1, 1000), (1, 8), (999, 1000), (5, 5)].map(|(a, b)| percent(a, b));
        assert_eq!(texts, ["–", "0 %", "<1 %", "13 %", "99 %", "100 %"]);
        let numbers = [(0, 0), (1, 1000), (999, 1000), (5, 5)].map(|(a, b)| rounded_percent(a, b));
        assert_eq!(numbers, [0, 0, 99, 100]);
    }

    #[test]
    fn grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "file", "files"), "1 file");
        assert_eq!(plural(0, "file", "files"), "0 files");
    }

    #[test]
    fn sizes() {
        for (number, want) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_500_000_000, "1.5 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(bytes(number), want);
        }
    }

    #[test]
    fn times() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-08-14T16:30:00Z");
        for (time, want) in [
            ("2026-08-14T16:29:31Z", "just now"),
            ("2026-08-14T16:30:20Z", "just now"),
            ("2026-08-14T16:21:00Z", "9 minutes ago"),
            ("2026-08-14T15:30:00Z", "1 hour ago"),
            ("2026-08-11T16:00:00Z", "3 days ago"),
            ("2026-03-01T00:00:00Z", "5 months ago"),
            ("2023-03-01T00:00:00Z", "3 years ago"),
            ("2026-08-15T16:30:00Z", "in 1 day"),
            ("2026-08-14T18:30:00Z", "in 2 hours"),
        ] {
            assert_eq!(relative(at(time), now), want, "{time}");
        }
        for (time, want) in [
            ("2026-08-14T16:29:31Z", "now"),
            ("2026-08-14T16:21:00Z", "9min"),
            ("2026-08-14T15:30:00Z", "1h"),
            ("2026-03-01T00:00:00Z", "5mo"),
            ("2023-03-01T00:00:00Z", "3y"),
            ("2026-08-15T16:30:00Z", "in 1d"),
        ] {
            assert_eq!(age(at(time), now), want, "{time}");
        }
        for (seconds, want) in [
            (0, "0 s"),
            (59, "59 s"),
            (200, "3 min"),
            (7200, "2 h"),
            (7500, "2 h 5 min"),
            (400_000, "4 d"),
        ] {
            assert_eq!(duration(SignedDuration::from_secs(seconds)), want);
        }
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        assert_eq!(date(now, &zone), "2026-08-15 01:30");
        assert_eq!(json_time(now), "2026-08-14T16:30:00.000Z");
    }
}
