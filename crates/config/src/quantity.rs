//! Times and sizes as people write them, and back.

use std::time::Duration;

const UNITS_OF_TIME: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("", 1000), ("m", 60_000), ("h", 3_600_000)];

/// Whole powers of 1024 are what memory limits are made of; powers of 1000 are there for those who mean them.
const UNITS_OF_SIZE: [(&str, usize); 8] = [
    ("", 1),
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
];

/// What a limit may be, as an end to "must be".
pub(crate) const TIME_HELP: &str =
    "more than zero: seconds, or a text such as \"500ms\", \"30s\", \"5m\" or \"1h\", up to a year";

/// A longer time is a slip of the pen, and would overflow when added to a clock.
const LONGEST_DAYS: u64 = 365;

/// A number without a unit is seconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text);
    let (_, factor) = UNITS_OF_TIME.iter().find(|(name, _)| *name == unit)?;
    let time = Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(*factor)?);
    (time <= Duration::from_secs(LONGEST_DAYS * 24 * 3600)).then_some(time)
}

pub(crate) fn show_duration(time: Duration) -> String {
    let (seconds, ms) = (time.as_secs(), time.as_millis());
    match seconds {
        _ if ms % 1000 != 0 => format!("{ms}ms"),
        // A minute reads better as 60 s, next to limits of 30 s.
        0..120 => format!("{seconds}s"),
        _ if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        _ if seconds % 60 == 0 => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

pub(crate) fn size(text: &str) -> Option<usize> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let (_, factor) = UNITS_OF_SIZE.iter().find(|(name, _)| *name == unit)?;
    number.parse::<usize>().ok()?.checked_mul(*factor)
}

pub(crate) fn show_size(bytes: usize) -> String {
    let whole = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match whole.iter().find(|(_, factor)| bytes != 0 && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None => bytes.to_string(),
    }
}

/// The digits that a text starts with and what follows them; `+5` and `-5` have none.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (&text[..end], text[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected_ms: Option<u64>) {
        assert_eq!(duration(text), expected_ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn times_are_seconds_or_carry_their_unit() {
        check("30", Some(30_000));
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check(" 5 m ", Some(300_000));
        check("1h", Some(3_600_000));
        for bad in ["", "s", "soon", "-1", "+1", "1.5", "1d", "99999999999999999999", "18446744073709551615h"]
        {
            check(bad, None);
        }
    }

    #[test]
    fn sizes_are_bytes_or_carry_their_unit() {
        for (text, expected) in
            [("4MiB", Some(4 << 20)), ("1 kb", Some(1000)), ("17", Some(17)), ("4X", None)]
        {
            assert_eq!(size(text), expected, "{text}");
        }
        assert_eq!(size("99999999999GiB"), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back_the_same(ms in 0..10_000_000_000_u64, bytes: usize) {
            let time = Duration::from_millis(ms);
            prop_assert_eq!(duration(&show_duration(time)), Some(time));
            prop_assert_eq!(size(&show_size(bytes)), Some(bytes));
            prop_assert_eq!(size(&show_size(bytes & !0xf_ffff)), Some(bytes & !0xf_ffff));
        }
    }
}
