//! Numbers, times and links as pages show them.

use backstory_core::Session;
use backstory_core::clean;
use backstory_core::number::{brief, count, date, percent, relative};
use backstory_core::pricing::Bill;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::query::encode;

/// A session that was written to within this time is probably still running.
pub(crate) const RUNNING: SignedDuration = SignedDuration::from_mins(5);

/// Returns whether an agent is probably working on a session.
pub(crate) fn is_running(session: &Session, now: Timestamp) -> bool {
    let is_recent = |at: Timestamp| {
        let age = now.duration_since(at);
        age <= RUNNING && age >= SignedDuration::ZERO
    };
    session.state == backstory_core::model::State::Live && session.updated.is_some_and(is_recent)
}

/// Returns the address of a session, without that of the server.
pub fn session_path(session: &Session) -> String {
    format!("/sessions/{}/{}", encode(session.agent.as_str()), encode(&session.id))
}

/// Returns the title of a session without characters that mislead.
pub(crate) fn title(session: &Session) -> String {
    clean::line(&session.title().0).into_owned()
}

/// Shows a cost; one that is a bound or has gaps explains itself.
pub(crate) fn cost(bill: &Bill) -> Markup {
    let shown = bill.short().unwrap_or_else(|| "–".to_owned());
    let exact = bill.usd.map(|usd| format!("{usd} USD at list price"));
    let more: Vec<String> = exact.into_iter().chain(bill.lacks()).collect();
    html! { span.cost title=[(!more.is_empty()).then(|| more.join("; "))] { (shown) } }
}

/// Shows a number of tokens, rounded, with the exact number on hover.
pub(crate) fn tokens(number: u64) -> Markup {
    html! { span title=(format!("{} tokens", count(number))) { (brief(number)) } }
}

/// Shows a time as an age, with the time itself on hover.
pub(crate) fn age(at: Option<Timestamp>, now: Timestamp, zone: &TimeZone) -> Markup {
    html! {
        @if let Some(at) = at {
            time datetime=(format!("{at:.0}")) title=(date(at, zone)) { (relative(at, now)) }
        } @else { "–" }
    }
}

/// Describes the change of a number: `+12 %`, `−3 %`, or that there is nothing to compare with.
pub(crate) fn change(now: f64, before: f64) -> String {
    if before <= 0.0 {
        return if now > 0.0 { "nothing before".to_owned() } else { "no change".to_owned() };
    }
    let percent = (now - before) / before * 100.0;
    match percent.round() {
        0.0 => "no change".to_owned(),
        rounded if rounded > 999.0 => "over 10 times as much".to_owned(),
        rounded if rounded > 0.0 => format!("+{rounded:.0} %"),
        rounded => format!("−{:.0} %", rounded.abs()),
    }
}

/// Returns an amount of money as a number, which is exact enough for a length or a percentage.
#[expect(clippy::cast_precision_loss, reason = "only lengths and percentages are made from it")]
pub(crate) fn dollars(bill: &Bill) -> f64 {
    bill.usd.map_or(0.0, |usd| usd.pico() as f64 / 1e12)
}

/// Returns a count as a number for a length.
#[expect(clippy::cast_precision_loss, reason = "only lengths are made from it")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// Shows a share of a whole.
pub(crate) fn share(part: f64, whole: f64) -> String {
    // Thousandths are enough for whole percents.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "both are small and positive"
    )]
    let scaled = |number: f64| (number.max(0.0) * 1e6) as u64;
    percent(scaled(part), scaled(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_never_invented() {
        assert_eq!(change(3.0, 0.0), "nothing before");
        assert_eq!(change(0.0, 0.0), "no change");
        assert_eq!(change(1.12, 1.0), "+12 %");
        assert_eq!(change(0.5, 1.0), "−50 %");
        assert_eq!(change(1.001, 1.0), "no change");
        assert_eq!(change(100.0, 1.0), "over 10 times as much");
    }
}
