//! The report: Markdown tables with ratios, memory and bytes, and the verdict on each promise.

use std::fmt::Write as _;
use std::time::Duration;

use crate::census::Usage;
use crate::measure::Best;
use crate::rows::{Line, Row};
use crate::tools::Tool;
use crate::verdict;

/// What the machine was when the figures were taken.
pub(crate) fn preamble() -> String {
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    format!(
        "{threads} threads, Linux {kernel}, load at start {load}. Least time and greatest memory of all rounds.\n"
    )
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path)
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// A comparison that could not be had.
pub(crate) fn skipped(heading: &str, reason: &str) -> String {
    format!("\n## {heading}\n\nskipped: {reason}\n")
}

/// All rows of one workspace on one filesystem.
pub(crate) fn section(heading: &str, size_of: &Usage, rows: &[Row]) -> String {
    let mut text = format!(
        "\n## {heading} ({} files, {})\n",
        size_of.files,
        size(size_of.bytes)
    );
    for row in rows {
        let _ = writeln!(text, "\n### {}\n", row.kind.title());
        text.push_str(
            "| | time | × belay | CPU | peak RSS | on disk | bytes in files | rounds |\n",
        );
        text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
        let base = row.time(Tool::Belay.name());
        for line in &row.lines {
            text.push_str(&table_line(line, base));
        }
        for note in &row.notes {
            let _ = writeln!(text, "\n{note}");
        }
    }
    let verdicts = verdict::all(rows);
    if !verdicts.is_empty() {
        text.push_str("\n### promises\n\n| promise | measured | kept |\n|---|---|---|\n");
    }
    for verdict in verdicts {
        let kept = if verdict.kept { "yes" } else { "**no**" };
        let _ = writeln!(
            text,
            "| {} | {} | {kept} |",
            verdict.promise, verdict.measured
        );
    }
    text
}

fn table_line(line: &Line, base: Option<Duration>) -> String {
    let Best {
        wall,
        cpu,
        rss,
        rounds,
    } = line.best;
    let ratio = base.map(|base| format!("{:.2}", wall.as_secs_f64() / base.as_secs_f64()));
    let disk = line.disk.map(|disk| size(disk.on_disk));
    let files = line
        .disk
        .map(|disk| format!("{} in {}", size(disk.bytes), disk.files));
    let cell = |text: Option<String>| text.unwrap_or_default();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {rounds} |\n",
        line.who,
        time(wall),
        cell(ratio),
        cell(cpu.map(time)),
        cell(rss.map(size)),
        cell(disk),
        cell(files),
    )
}

/// A duration with three digits that mean something.
pub(crate) fn time(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}

/// Bytes in decimal units, as disks are sold.
pub(crate) fn size(bytes: u64) -> String {
    let mega = bytes as f64 / 1e6;
    match mega {
        mega if mega < 1.0 => format!("{:.1} kB", mega * 1e3),
        mega if mega < 100.0 => format!("{mega:.1} MB"),
        mega if mega < 10_000.0 => format!("{mega:.0} MB"),
        mega => format!("{:.2} GB", mega / 1e3),
    }
}
