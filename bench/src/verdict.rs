//! The promised limits, each held against the figures of the same run.

use std::time::Duration;

use crate::rows::{Kind, Row};
use crate::table::{size, time};

/// One promise and what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) promise: String,
    pub(crate) measured: String,
    pub(crate) kept: bool,
}

/// What belay's time, or another line of belay's, is held against.
enum Limit {
    /// At most so many times the other line's time, and this much more.
    Times(&'static str, f64, Duration),
    /// At least so many times faster than the other line.
    Faster(&'static str, f64),
    /// At most so many times the other line's bytes on disk.
    Bytes(&'static str, f64),
    /// At most this time.
    Within(Duration),
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const NONE: Duration = Duration::ZERO;
const BELAY: &str = "belay";
const GROWTH_MAX: f64 = 1.5;
const RSS_MAX: u64 = 150_000_000;

/// The table: row, belay's line, limit.
const PROMISES: &[(Kind, &str, Limit)] = &[
    (Kind::First, BELAY, Limit::Times("floor: pack", 1.3, NONE)),
    (Kind::First, BELAY, Limit::Faster("restic", 5.0)),
    (Kind::First, BELAY, Limit::Faster("git add -A + write-tree", 3.0)),
    (Kind::First, BELAY, Limit::Faster("tar.gz", 10.0)),
    (Kind::First, BELAY, Limit::Bytes("restic", 1.1)),
    (Kind::First, BELAY, Limit::Bytes("git add -A + write-tree", 1.0)),
    (Kind::First, BELAY, Limit::Bytes("tar.gz", 1.0)),
    (Kind::Unchanged, BELAY, Limit::Times("floor: statx", 1.7, NONE)),
    (Kind::Unchanged, BELAY, Limit::Faster("git status, every file tracked", 1.0)),
    (Kind::Unchanged, BELAY, Limit::Faster("restic", 10.0)),
    (Kind::Unchanged, "belay (default filter)", Limit::Faster("git status, own repository", 1.0)),
    (Kind::Ten, BELAY, Limit::Times("floor: statx", 1.7, ms(10))),
    (Kind::Ten, BELAY, Limit::Faster("restic", 10.0)),
    (Kind::Dirty, BELAY, Limit::Within(ms(5))),
    (Kind::RollbackTen, BELAY, Limit::Times("floor: statx", 1.7, ms(20))),
    (Kind::RollbackTen, BELAY, Limit::Faster("git-ref restore", 20.0)),
    (Kind::RollbackHalf, BELAY, Limit::Times("floor: write+syncfs", 1.3, NONE)),
    (Kind::RollbackHalf, BELAY, Limit::Times("floor: write", 1.3, NONE)),
    (Kind::RollbackHalf, BELAY, Limit::Faster("restic restore", 3.0)),
    (Kind::RollbackHalf, BELAY, Limit::Faster("tar x (gz)", 3.0)),
    (Kind::RollbackHalf, BELAY, Limit::Faster("tar x (zstd)", 3.0)),
    (Kind::Diff, BELAY, Limit::Within(ms(10))),
    (Kind::Thousand, "belay snapshots", Limit::Within(ms(10))),
    (Kind::Thousand, "belay diff --stat", Limit::Within(ms(10))),
    (Kind::Thousand, "belay gc", Limit::Within(ms(1000))),
];

/// The verdicts on all promises whose figures were measured.
pub(crate) fn all(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (kind, who, limit) in PROMISES {
        if let Some(row) = rows.iter().find(|row| row.kind == *kind) {
            verdicts.extend(judge(row, who, limit));
        }
    }
    for row in rows {
        for line in row.lines.iter().filter(|line| line.who.starts_with(BELAY)) {
            verdicts.extend(line.best.rss.map(|rss| Verdict {
                promise: format!("{}: {} RSS ≤ {}", row.kind.title(), line.who, size(RSS_MAX)),
                measured: size(rss),
                kept: rss <= RSS_MAX,
            }));
        }
    }
    verdicts
}

/// How the time of a known dirty set grows from a small tree to a large one.
pub(crate) fn growth(small: &[Row], large: &[Row]) -> Option<Verdict> {
    let of = |rows: &[Row]| rows.iter().find(|row| row.kind == Kind::Dirty).and_then(|row| row.time(BELAY));
    let ratio = of(large)?.as_secs_f64() / of(small)?.as_secs_f64();
    Some(Verdict {
        promise: format!("{}: time on L ≤ {GROWTH_MAX} × time on S", Kind::Dirty.title()),
        measured: format!("{ratio:.2} ×"),
        kept: ratio <= GROWTH_MAX,
    })
}

fn judge(row: &Row, who: &str, limit: &Limit) -> Option<Verdict> {
    let title = row.kind.title();
    let mine = row.line(who)?;
    let wall = mine.best.wall;
    let other = |name: &str| row.time(name).map(|time| time.as_secs_f64());
    let (promise, measured, kept) = match *limit {
        Limit::Times(name, factor, more) => {
            let floor = other(name)?;
            let most = floor * factor + more.as_secs_f64();
            let plus = if more.is_zero() { String::new() } else { format!(" + {}", time(more)) };
            (
                format!("≤ {factor} × {name}{plus}"),
                format!(
                    "{:.2} × ({} against {})",
                    wall.as_secs_f64() / floor,
                    time(wall),
                    time(Duration::from_secs_f64(floor))
                ),
                wall.as_secs_f64() <= most,
            )
        }
        Limit::Faster(name, factor) => {
            let ratio = other(name)? / wall.as_secs_f64();
            (format!("≥ {factor} × faster than {name}"), format!("{ratio:.1} ×"), ratio >= factor)
        }
        Limit::Bytes(name, factor) => {
            let ratio = mine.disk?.on_disk as f64 / row.line(name)?.disk?.on_disk as f64;
            (format!("≤ {factor} × the bytes of {name}"), format!("{ratio:.2} ×"), ratio <= factor)
        }
        Limit::Within(most) => (format!("{who} ≤ {}", time(most)), time(wall), wall <= most),
    };
    Some(Verdict { promise: format!("{title}: {promise}"), measured, kept })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sample;
    use crate::tools::Tool;

    fn row(times: &[(&str, u64)]) -> Row {
        let mut row = Row::new(Kind::Unchanged);
        for &(who, at) in times {
            let sample = Sample { wall: ms(at), ..Sample::default() };
            row.add(who, &sample);
        }
        row
    }

    #[test]
    fn a_kept_and_a_broken_promise_are_told_apart() {
        let verdicts = all(&[row(&[(Tool::Belay.name(), 80), ("floor: statx", 50), ("restic", 700)])]);
        let kept: Vec<bool> = verdicts.iter().map(|verdict| verdict.kept).collect();
        assert_eq!(kept, [true, false], "{verdicts:?}");
    }

    #[test]
    fn a_missing_peer_gives_no_verdict() {
        assert!(all(&[row(&[("restic", 700)])]).is_empty());
    }

    #[test]
    fn every_peer_that_is_named_exists() {
        for (_, _, limit) in PROMISES {
            if let Limit::Bytes(name, _) = limit {
                let mut tools = <Tool as clap::ValueEnum>::value_variants().iter();
                assert!(tools.any(|tool| tool.name() == *name), "{name}");
            }
        }
    }
}
