//! Reads the limits of a plan that a token count repeats from the headers of a response.

use jiff::{SignedDuration, Timestamp};

use super::object::Object;
use crate::facts::LimitFacts;

/// Returns the limits in a token count of the given time. A plan has a short window and a long one.
pub(crate) fn limits(event: &Object<'_>, at: Option<Timestamp>) -> Vec<LimitFacts> {
    let all = event.object("rate_limits");
    let plan = all.owned("plan_type");
    let name = all.owned("limit_name").or_else(|| all.owned("limit_id"));
    let read = |window: &str| {
        let limit = all.object(window);
        Some(LimitFacts {
            at,
            seen: at,
            plan: plan.as_deref().map(Into::into),
            name: name.as_deref().map(Into::into),
            window: limit.number("window_minutes"),
            used: limit
                .get("used_percent")?
                .get()
                .parse()
                .ok()
                .filter(|used: &f64| used.is_finite())?,
            resets: resets(&limit, at),
        })
    };
    ["primary", "secondary"].into_iter().filter_map(read).collect()
}

/// Returns the end of the window: a time, or up to 0.45 the number of seconds until then.
fn resets(limit: &Object<'_>, at: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = |name: &str| i64::try_from(limit.number(name)?).ok();
    if let Some(second) = seconds("resets_at") {
        return Timestamp::from_second(second).ok();
    }
    at?.checked_add(SignedDuration::from_secs(seconds("resets_in_seconds")?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_windows_are_read_with_their_ends() {
        let read = |text: &str| {
            let at = Timestamp::from_second(1000).ok();
            let found = limits(&Object::read(text).unwrap(), at);
            let reset = |limit: &LimitFacts| limit.resets.map(Timestamp::as_second);
            found.iter().map(|one| (one.window, one.used, reset(one))).collect::<Vec<_>>()
        };
        let new = r#"{"rate_limits":{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":5000},
            "secondary":{"used_percent":2,"window_minutes":10080,"resets_at":9000},"plan_type":"plus"}}"#;
        assert_eq!(read(new), [(Some(300), 12.5, Some(5000)), (Some(10_080), 2.0, Some(9000))]);
        let old = r#"{"rate_limits":{"primary":{"used_percent":1.0,"resets_in_seconds":60},"secondary":null}}"#;
        assert_eq!(read(old), [(None, 1.0, Some(1060))]);
        assert_eq!(read(r#"{"rate_limits":{"primary":{"used_percent":"x"}}}"#), []);
        assert_eq!(read(r#"{"rate_limits":null}"#), []);
    }
}
