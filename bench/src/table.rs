//! The report: Markdown tables with ratios, memory and bytes, and the verdict on each promise.

use std::fmt::Write as _;
use std::time::Duration;

use crate::measure::Best;
use crate::place::Fs;
use crate::rows::{Line, Row, Section};
use crate::tools::Tool;
use crate::verdict::{self, Verdict};

/// What the machine was when the figures were taken.
pub(crate) fn preamble() -> String {
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    format!("{threads} threads, Linux {kernel}, load at start {load}. Least time and greatest memory of all rounds.\n")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Begins the rows of one workspace on one filesystem.
pub(crate) fn heading(workspace: &str, fs: Fs) -> String {
    format!("\n## {workspace} on {}\n", fs.name())
}

/// Ends them, so that a run that is resumed knows.
pub(crate) fn done(workspace: &str, fs: Fs) -> String {
    format!("\n(that is all of {workspace} on {})\n", fs.name())
}

/// The verdicts on all rows of a section.
pub(crate) fn verdicts(section: &Section) -> String {
    promises(&verdict::all(&section.rows))
}

/// The promise that spans workspaces: a known dirty set costs what it costs, however large the tree.
pub(crate) fn growth(sections: &[Section]) -> String {
    let mut verdicts = Vec::new();
    for large in sections.iter().filter(|section| section.workspace == "L") {
        let small = sections.iter().find(|section| section.workspace == "S" && section.fs == large.fs);
        verdicts.extend(small.and_then(|small| verdict::growth(&small.rows, &large.rows)));
    }
    promises(&verdicts)
}

/// One row.
pub(crate) fn row(row: &Row) -> String {
    let mut text = format!("\n### {}\n", row.kind.title());
    if !row.lines.is_empty() {
        text.push_str("\n| | time | × belay | CPU | peak RSS | on disk | bytes in files | rounds |\n");
        text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    }
    let base = row.time(Tool::Belay.name());
    for line in &row.lines {
        text.push_str(&table_line(line, base));
    }
    for note in &row.notes {
        let _ = writeln!(text, "\n{note}");
    }
    text
}

fn promises(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut text = "\n### promises\n\n| promise | measured | kept |\n|---|---|---|\n".to_owned();
    for verdict in verdicts {
        let kept = if verdict.kept { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {} | {} | {kept} |", verdict.promise, verdict.measured);
    }
    text
}

fn table_line(line: &Line, base: Option<Duration>) -> String {
    let Best { wall, cpu, rss, rounds } = line.best;
    let ratio = base.map(|base| format!("{:.2}", wall.as_secs_f64() / base.as_secs_f64()));
    let disk = line.disk.map(|disk| size(disk.on_disk));
    let files = line.disk.map(|disk| format!("{} in {}", size(disk.bytes), disk.files));
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
