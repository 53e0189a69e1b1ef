//! Moments in what servers send: RFC 3339, dates, and numbers of seconds or milliseconds.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use portolan_model::Moment;
use serde_json::Value;

/// Before 2000 and after 2100 a number is some other number.
const FIRST_SECOND: i64 = 946_684_800;
const LAST_SECOND: i64 = 4_102_444_800;

/// The moment that a member with the name of a date holds.
pub(super) fn of_value(value: &Value) -> Option<Moment> {
    match value {
        Value::String(text) => of_text(text),
        Value::Number(number) => {
            let number = number.as_i64()?;
            let plausible = |seconds: i64| (FIRST_SECOND..LAST_SECOND).contains(&seconds);
            if plausible(number) {
                return Some(Moment::from_millis(number * 1000));
            }
            plausible(number / 1000).then(|| Moment::from_millis(number))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A text that begins with a moment or a date; times without a zone are taken as UTC.
pub(super) fn of_text(text: &str) -> Option<Moment> {
    let text = text.trim();
    let text = text.get(..40).unwrap_or(text);
    let bytes = text.as_bytes();
    let is_date = bytes.len() >= 10
        && [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(|at| bytes[at].is_ascii_digit())
        && bytes[4] == b'-'
        && bytes[7] == b'-';
    if !is_date {
        return None;
    }
    // `2026-11-16 10:09:02 +0000`: git leaves a space before the zone.
    let joined = text.replace(" +", "+");
    if let Ok(timestamp) = joined.parse::<Timestamp>() {
        return Some(Moment::from_millis(timestamp.as_millisecond()));
    }
    let civil = joined.parse::<DateTime>().ok();
    let date = || text.get(..10)?.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0));
    let zoned = civil.or_else(date)?.to_zoned(TimeZone::UTC).ok()?;
    Some(Moment::from_millis(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &Value, expected: Option<&str>) {
        assert_eq!(of_value(value).map(|moment| moment.to_string()).as_deref(), expected, "{value}");
    }

    #[test]
    fn moments_are_read_as_servers_write_them() {
        check(&json!("2026-11-16T10:09:02Z"), Some("2026-11-16T10:09:02.000Z"));
        check(&json!("2026-11-16 10:09:02+02:00"), Some("2026-11-16T08:09:02.000Z"));
        check(&json!("2026-11-16 10:09:02 +0000"), Some("2026-11-16T10:09:02.000Z"));
        check(&json!("2026-11-16T10:09:02.5"), Some("2026-11-16T10:09:02.500Z"));
        check(&json!("2026-11-16"), Some("2026-11-16T00:00:00.000Z"));
        check(&json!("2026-11-16: the meeting"), Some("2026-11-16T00:00:00.000Z"));
        check(&json!(1_736_330_400), Some("2025-01-08T10:00:00.000Z"));
        check(&json!(1_736_330_400_005_i64), Some("2025-01-08T10:00:00.005Z"));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for value in [json!("2026-13-40"), json!("yesterday"), json!(7), json!(null), json!("2026-1-1é")] {
            check(&value, None);
        }
    }
}
