//! Times, spans and sizes as people write them.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, ToSpan, Zoned};

use crate::error::{Error, Result};

/// A span such as `7d`, `36h`, `90 minutes` or `2 weeks`.
pub fn parse_span(text: &str) -> Result<SignedDuration> {
    let bad = || Error::Unreadable { text: text.to_owned(), expected: "a span such as 7d, 36h or 90m" };
    let span: Span = text.trim().parse().map_err(|_| bad())?;
    let span = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| bad())?;
    if span.is_negative() { Err(bad()) } else { Ok(span) }
}

/// A size such as `2GiB`, `500 MB` or `1024`.
pub fn parse_size(text: &str) -> Result<u64> {
    let bad = |_| Error::Unreadable { text: text.to_owned(), expected: "a size such as 2GiB, 500MB or 1024" };
    text.trim().parse::<bytesize::ByteSize>().map(|size| size.as_u64()).map_err(bad)
}

/// The instant that `text` means at `now`: `10m ago`, `yesterday`, `14:30`, `2026-01-20 14:30`, RFC 3339.
pub(crate) fn parse_instant(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    if text == "now" {
        return Some(now.timestamp());
    }
    if text.ends_with(" ago") {
        let span: Span = text.parse().ok()?;
        return now.checked_add(span).ok().map(|zoned| zoned.timestamp());
    }
    let civil = civil(text, now)?;
    civil.to_zoned(now.time_zone().clone()).ok().map(|zoned| zoned.timestamp())
}

fn civil(text: &str, now: &Zoned) -> Option<DateTime> {
    if let Some(time) = clock(text) {
        // A time of day is the last one that has come, so after midnight `23:50` is yesterday's.
        let today = now.date().to_datetime(time);
        return if today > now.datetime() { today.checked_sub(1.day()).ok() } else { Some(today) };
    }
    let (day, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let date = match day {
        "today" => now.date(),
        "yesterday" => now.date().yesterday().ok()?,
        _ => day.parse::<Date>().ok()?,
    };
    let end_of_day = Time::constant(23, 59, 59, 999_999_999);
    let time = if rest.trim().is_empty() { end_of_day } else { clock(rest.trim())? };
    Some(date.to_datetime(time))
}

/// `9:15`, `14:30` or `14:30:05`.
fn clock(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let mut part = || parts.next().map(|digits| digits.parse::<i8>());
    let (hour, minute) = (part()?.ok()?, part()?.ok()?);
    let second = part().transpose().ok()?.unwrap_or(0);
    if parts.next().is_some() || text.starts_with(['+', '-']) {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-01-20T10:30:00+01:00[+01:00]".parse().unwrap()
    }

    fn instant(text: &str) -> Option<String> {
        parse_instant(text, &now()).map(|instant| instant.to_string())
    }

    #[test]
    fn spans_and_sizes_are_read() {
        assert_eq!(parse_span("7d").unwrap(), SignedDuration::from_hours(168));
        assert_eq!(parse_span("90 minutes").unwrap(), SignedDuration::from_mins(90));
        assert_eq!(parse_span("2 weeks").unwrap(), SignedDuration::from_hours(336));
        assert!(parse_span("soon").is_err());
        assert!(parse_span("-3d").is_err());
        assert!(parse_span("3d ago").is_err());
        assert_eq!(parse_size("2GiB").unwrap(), 2 << 30);
        assert_eq!(parse_size("500 MB").unwrap(), 500_000_000);
        assert_eq!(parse_size("1024").unwrap(), 1024);
        assert!(parse_size("much").is_err());
    }

    #[test]
    fn instants_are_read_in_the_users_zone() {
        assert_eq!(instant("10m ago").as_deref(), Some("2026-01-20T09:20:00Z"));
        assert_eq!(instant("2 hours ago").as_deref(), Some("2026-01-20T07:30:00Z"));
        assert_eq!(instant("9:15").as_deref(), Some("2026-01-20T08:15:00Z"));
        assert_eq!(instant("10:30").as_deref(), Some("2026-01-20T09:30:00Z"));
        assert_eq!(instant("23:50:01").as_deref(), Some("2026-01-19T22:50:01Z"));
        assert_eq!(instant("yesterday 14:30").as_deref(), Some("2026-01-19T13:30:00Z"));
        assert_eq!(instant("yesterday").as_deref(), Some("2026-01-19T22:59:59.999999999Z"));
        assert_eq!(instant("2026-01-02 08:00").as_deref(), Some("2026-01-02T07:00:00Z"));
        assert_eq!(instant("2026-01-20T07:00:00Z").as_deref(), Some("2026-01-20T07:00:00Z"));
        assert_eq!(instant("2026-01-20T08:00:00+02:00").as_deref(), Some("2026-01-20T06:00:00Z"));
    }

    #[test]
    fn other_texts_are_no_instants() {
        for text in ["", "before-refactor", "25:00", "1:2:3:4", "-1:30", "10m", "ago", "2026-13-01"] {
            assert_eq!(instant(text), None, "{text:?}");
        }
    }
}
