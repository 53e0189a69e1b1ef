//! Moments as people say them: how long ago.

use jiff::Timestamp;

/// "3 min ago" for a moment as the server wrote it; a text that is none stays as it is.
pub(crate) fn ago(moment: &str) -> String {
    match moment.parse::<Timestamp>() {
        Ok(then) => between(then, Timestamp::now()),
        Err(_) => moment.to_owned(),
    }
}

fn between(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    // Two machines' clocks need not agree, so what is to come is now.
    let seconds = (now.as_second() - then.as_second()).max(0);
    match seconds {
        0..5 => "just now".to_owned(),
        5..MINUTE => format!("{seconds} s ago"),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ => format!("{} d ago", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: i64, expected: &str) {
        let then = Timestamp::from_second(1_000_000).unwrap();
        assert_eq!(between(then, Timestamp::from_second(1_000_000 + seconds).unwrap()), expected);
    }

    #[test]
    fn the_largest_unit_that_fits_is_said() {
        check(-7, "just now");
        check(4, "just now");
        check(5, "5 s ago");
        check(59, "59 s ago");
        check(60, "1 min ago");
        check(3 * 60 + 59, "3 min ago");
        check(3600, "1 h ago");
        check(86_399, "23 h ago");
        check(86_400 * 40, "40 d ago");
    }

    #[test]
    fn a_text_that_is_no_moment_stays_as_it_is() {
        assert_eq!(ago("yesterday"), "yesterday");
        assert!(ago("2020-01-08T10:00:00.005Z").ends_with(" d ago"));
    }
}
