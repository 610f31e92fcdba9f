//! Figures that are not ratios of a workload: the start of a run, a snapshot within it, the supervisor's memory.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::lane::Lane;
use super::workload::{fresh, read_nanos, shell};
use super::{Finding, bytes};
use crate::error::{Error, Result};
use crate::measure;
use crate::table::time;

const START_EXTRA: Duration = Duration::from_millis(50);
const MEMORY_MAX: u64 = 100_000_000;
const STEPS: u32 = 60;

/// From the start of belay to the first instruction of the command, against a snapshot of nothing new.
pub(crate) fn start(lane: &Lane, rounds: usize) -> Result<Vec<Finding>> {
    let workspace = lane.workspace("M")?;
    let told = lane.path("home/first");
    let snapshot = || {
        let mut command = lane.belay(&workspace);
        command.args(["snapshot", "--quiet"]);
        command
    };
    measure::run(vec![snapshot()])?;
    let (mut walk, mut first) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds.max(3) {
        walk = walk.min(measure::run(vec![snapshot()])?.wall);
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut run = lane.belay(&workspace);
        // The command itself looks at the clock, before anything else: a shell that starts another program is no first instruction.
        run.args(["run", "--quiet", "--isolation", "none", "--"]).arg(lane.path("bench")).arg("stamp").arg(&told);
        measure::run(vec![run])?;
        let at = Duration::from_nanos(read_nanos(&told)?);
        first = first.min(at.saturating_sub(begun));
    }
    Ok(vec![Finding {
        what: "start of a run to the command's first instruction, unchanged M".to_owned(),
        measured: format!("{} against {} for a snapshot", time(first), time(walk)),
        promise: "≤ the snapshot + 50 ms".to_owned(),
        kept: first <= walk + START_EXTRA,
    }])
}

/// What the snapshots cost that belay takes by itself while a run changes ten files at a time.
pub(crate) fn dirty(lane: &Lane) -> Result<Vec<Finding>> {
    let workspace = lane.workspace("M")?;
    let step = "for f in $(seq 1 10); do echo \"$0 $f\" >> web/src/c$f.ts; done";
    let script = format!("for i in $(seq 1 {STEPS}); do sh -c '{step}' $i; sleep 0.7; done");
    let mut run = lane.belay(&workspace);
    run.args(["run", "--quiet", "--isolation", "none", "--", "sh", "-c", &script]).current_dir(&workspace);
    measure::run(vec![run])?;
    let mut took = query(lane, &workspace, "SELECT took_us FROM snapshot_events WHERE by_dirty_set = 1")?;
    took.sort_unstable();
    let at = |part: f64| took.get(((took.len() as f64 - 1.0) * part) as usize).map(|us| Duration::from_micros(*us));
    let (Some(p50), Some(p99)) = (at(0.5), at(0.99)) else {
        return Err(Error::Wrong { tool: "belay".to_owned(), finding: "no snapshot by a dirty set".to_owned() });
    };
    Ok(vec![Finding {
        what: "snapshot by dirty set during a run on M, ten changes".to_owned(),
        measured: format!("p50 {}, p99 {} of {}", time(p50), time(p99), took.len()),
        promise: "p50 ≤ 10 ms, p99 ≤ 50 ms".to_owned(),
        kept: p50 <= Duration::from_millis(10) && p99 <= Duration::from_millis(50),
    }])
}

/// The greatest memory of the supervisor while a run makes many events.
pub(crate) fn memory(lane: &Lane, events: u64) -> Result<Vec<Finding>> {
    let workspace = fresh(lane, "memory")?;
    shell(lane, &workspace, "mkdir d")?;
    // Each turn makes, writes, closes and removes a file: two events at least, since the kernel may merge the first three.
    let script = format!(
        "import os\nfor i in range({}):\n p='d/%d' % (i % 5000)\n f=open(p,'w'); f.write('x'); f.close()\n os.remove(p)",
        events / 2
    );
    let mut run = lane.belay(&workspace);
    run.args(["run", "--quiet", "--isolation", "none", "--", "python3", "-c", &script]).current_dir(&workspace);
    let begun = Instant::now();
    let start_error = |source| Error::Start { program: "belay".to_owned(), source };
    let mut child = run.spawn().map_err(start_error)?;
    let mut peak = 0;
    while child.try_wait().map_err(start_error)?.is_none() {
        peak = peak.max(supervisors_peak(child.id()));
        std::thread::sleep(Duration::from_millis(50));
    }
    let took = begun.elapsed();
    let seen = query(lane, &workspace, "SELECT COUNT(*) FROM fs_events")?.first().copied().unwrap_or(0);
    Ok(vec![Finding {
        what: format!("memory of the supervisor after {seen} file events ({})", time(took)),
        measured: bytes(peak),
        promise: "≤ 100 MB".to_owned(),
        kept: peak > 0 && peak <= MEMORY_MAX,
    }])
}

/// The greatest memory that the supervisor which this process started ever had, in bytes.
fn supervisors_peak(parent: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let supervisors = processes.filter(|path| {
        std::fs::read(path.join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"supervise"))
    });
    let peak = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("status")).ok()?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let is_ours = number("PPid:")? == u64::from(parent);
        number("VmHWM:").filter(|_| is_ours).map(|kilobytes| kilobytes * 1024)
    };
    supervisors.filter_map(peak).max().unwrap_or(0)
}

/// A column of numbers from the latest run's record.
fn query(lane: &Lane, workspace: &Path, sql: &str) -> Result<Vec<u64>> {
    let mut command = lane.belay(workspace);
    command.args(["sql", "@latest", sql, "--csv"]);
    let said = measure::run(vec![command])?.stdout;
    Ok(said.lines().skip(1).filter_map(|line| line.trim().parse().ok()).collect())
}
