//! The row of a known dirty set: belay-store called as a library, as a run's watcher calls it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use belay_store::{
    Algorithm, CaptureOptions, Captured, Filter, Limits, Quiet, RealDisk, Root, Source, Store, Time, capture,
};

use crate::edits::Editor;
use crate::error::{Doing, Error, Result};
use crate::measure;
use crate::rows::{Bench, Kind, Row};
use crate::tools::Tool;

/// Captures ten known paths again and again through the library, and prints `dirty seconds cpu-seconds files bytes`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workspace; ten of its files are edited.
    dir: PathBuf,
    /// Where the store goes.
    #[arg(long)]
    store: PathBuf,
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let disk = RealDisk::open(&args.store).doing("open", &args.store)?;
    let store = Store::open(Arc::new(disk), Algorithm::Blake3)?;
    let root = Root::open(&args.dir).doing("open", &args.dir)?;
    let mut editor = Editor::of(&args.dir)?;
    let paths: Vec<Vec<u8>> = editor.pick(0).iter().map(|path| below(path, &args.dir)).collect();

    let mut base = captured(&store, &root, Source::Walk)?;
    let (mut best, mut cpu) = (f64::INFINITY, 0.0);
    let rounds = args.rounds.max(1);
    for _ in 0..rounds {
        editor.edit(0)?;
        let (start, spent) = (Instant::now(), cpu_seconds());
        let next = captured(&store, &root, Source::Dirty { base: &base.manifest, paths: &paths })?;
        best = best.min(start.elapsed().as_secs_f64());
        cpu += cpu_seconds() - spent;
        base = next;
    }
    let walked = captured(&store, &root, Source::Full)?;
    if walked.manifest.identity != base.manifest.identity {
        let finding = "the dirty set and the full walk disagree about the tree".to_owned();
        return Err(Error::Wrong { tool: "belay-store".to_owned(), finding });
    }
    println!("dirty\t{best:.6}\t{:.6}\t{}\t{}", cpu / rounds as f64, paths.len(), base.stored_bytes);
    Ok(())
}

/// What this process has had of the processors, to the nanosecond.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn below(path: &Path, dir: &Path) -> Vec<u8> {
    path.strip_prefix(dir).expect("the editor stays in its workspace").as_os_str().as_bytes().to_vec()
}

fn captured(store: &Store, root: &Root, source: Source<'_>) -> Result<Captured> {
    let filter = Filter::everything();
    let options = CaptureOptions {
        root,
        filter: &filter,
        cache: "bench/stat",
        is_live: &|_| true,
        keep: None,
        source,
        limits: Limits { entries_max: u64::MAX, new_bytes_max: u64::MAX, ..Limits::default() },
        cross_mounts: false,
        own_prefixes: &[],
        clock: &now,
        progress: &Quiet,
        stop: &AtomicBool::new(false),
    };
    let captured = capture(store, &options)?;
    captured.save_cache()?;
    Ok(captured)
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is after 1970");
    Time { sec: since.as_secs().cast_signed(), nsec: since.subsec_nanos() }
}

/// Measures the capture of ten files whose names are known, durable, without a walk.
pub(crate) fn row(bench: &mut Bench<'_>) -> Result<Option<Row>> {
    if !bench.has(Tool::Belay) {
        return Ok(None);
    }
    let mut row = Row::new(Kind::Dirty);
    let store = bench.path("dirty-store");
    let mut command = Command::new(bench.this_program()?);
    command.arg("dirty").arg(bench.work()).arg("--store").arg(&store);
    bench.settle()?;
    let output = measure::run(vec![command])?;
    let (_, sample, _) = crate::rows::parse_figure(&output.stdout)?;
    row.add(Tool::Belay.name(), &sample);
    std::fs::remove_dir_all(&store).doing("remove", &store)?;
    Ok(Some(row))
}
