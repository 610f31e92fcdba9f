//! Sizes, counts and ages as a person reads them.

use std::time::Duration;

use jiff::Timestamp;

use crate::environment::zone;

/// `812 B`, `1.2 KB`, `45 KB`, `2.1 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 9.95 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

/// `just now`, `45 min ago`, `2 hours ago`, `3 days ago`, and the date when it is longer than two weeks.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second());
    match seconds {
        ..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} ago", count((seconds / 3600) as u64, "hour")),
        86_400..1_209_600 => format!("{} ago", count((seconds / 86_400) as u64, "day")),
        _ => then.to_zoned(zone()).strftime("%Y-%m-%d").to_string(),
    }
}

/// The local date and time to the second.
pub(crate) fn moment(then: Timestamp) -> String {
    then.to_zoned(zone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `1 file`, `2 files`, `0 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        _ if number == 1 => return format!("1 {noun}"),
        "directory" => "directories".to_owned(),
        "entry" => "entries".to_owned(),
        "property" => "properties".to_owned(),
        "process" => "processes".to_owned(),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(number))
}

/// `1 more file`, `2 more files`.
pub(crate) fn more(number: u64, noun: &str) -> String {
    let counted = count(number, noun);
    match counted.split_once(' ') {
        Some((number, nouns)) => format!("{number} more {nouns}"),
        None => counted,
    }
}

/// What so many things are called when they are spoken of again.
pub(crate) fn them(number: u64) -> &'static str {
    if number == 1 { "it" } else { "them" }
}

/// A number with thousands set apart, as in `32,900`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let mut out = digits[..head].to_owned();
    for at in (head..digits.len()).step_by(3) {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&digits[at..at + 3]);
    }
    out
}

/// How long something took: `0.8 s`, `41 ms`, `2 min 5 s`.
pub(crate) fn took(duration: Duration) -> String {
    match duration.as_secs() {
        0 if duration.as_millis() < 100 => format!("{} ms", duration.as_millis()),
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// A span of time that somebody set: `30 s`, `5 min`, `90 s`, `2 h`.
pub(crate) fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds > 0 && seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        seconds if seconds > 0 && seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    #[test]
    fn sizes_have_two_or_three_digits() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (12_345, "12 KB"),
            (999_499, "999 KB"),
            (999_500, "1.0 MB"),
            (234_000, "234 KB"),
            (5 << 30, "5.4 GB"),
            (u64::MAX, "18 EB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn ages_read_as_in_a_conversation() {
        let now: Timestamp = "2026-01-20T12:00:00Z".parse().expect("a timestamp");
        let cases = [
            (0, "just now"),
            (30, "30 s ago"),
            (600, "10 min ago"),
            (3600, "1 hour ago"),
            (7200, "2 hours ago"),
            (86_400, "1 day ago"),
            (-50, "just now"),
        ];
        for (seconds, text) in cases {
            assert_eq!(age(now - i64::from(seconds).seconds(), now), text);
        }
    }

    #[test]
    fn counts_are_grouped_and_agree_in_number() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(32_900, "file"), "32,900 files");
        assert_eq!(count(2, "directory"), "2 directories");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(0), "0");
    }
}
