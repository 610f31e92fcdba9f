//! The machine's floors: the least work that an operation of belay could be made of, written without belay's code.
//!
//! Each floor uses two threads on a list of paths that is known beforehand, so walking is never part of it.

mod known;
mod pipeline;
mod threads;
mod write;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::fs::{AtFlags, StatxFlags};

use crate::error::{Doing, Result};
use known::KnownList;

/// Which floor to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Floor {
    /// statx of every known path.
    Statx,
    /// Read of every byte.
    Read,
    /// Read and BLAKE3 of every byte.
    Hash,
    /// Read, BLAKE3, zstd-1 in 256 KiB blocks, write and fdatasync, in one pass.
    Pack,
    /// Creation of the same files elsewhere from memory.
    Write,
}

impl Floor {
    /// The floor's name on the command line and in its output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Floor::Statx => "statx",
            Floor::Read => "read",
            Floor::Hash => "hash",
            Floor::Pack => "pack",
            Floor::Write => "write",
        }
    }
}

/// Measures floors and prints `name seconds cpu-seconds entries bytes` lines, tab-separated.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory whose files are the work.
    dir: PathBuf,
    /// Where packs and written files go; must be on the filesystem in question.
    #[arg(long, default_value = "target/bench-floors")]
    scratch: PathBuf,
    /// Floors to measure; all when none is named.
    #[arg(long = "floor", value_enum)]
    floors: Vec<Floor>,
    /// Directories below DIR to which the work is limited, one a line.
    #[arg(long)]
    only: Option<PathBuf>,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// One floor's figure; the synced time includes the wait until the data is on the disk.
#[derive(Clone, Copy, Debug)]
struct Figure {
    time: Duration,
    /// Of both threads; steadier than the time on a machine that others use too.
    cpu: Duration,
    synced: Option<Duration>,
    entries: usize,
    bytes: u64,
}

/// Starts when the list is known and the memory is there.
struct Clock {
    wall: Instant,
    cpu: Duration,
}

impl Clock {
    fn start() -> Self {
        Clock { wall: Instant::now(), cpu: cpu_time() }
    }

    fn figure(&self, entries: usize, bytes: u64) -> Figure {
        Figure { time: self.wall.elapsed(), cpu: cpu_time().saturating_sub(self.cpu), synced: None, entries, bytes }
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let only = match &args.only {
        Some(file) => crate::edits::read_dirs(file)?,
        None => Vec::new(),
    };
    let list = KnownList::of(&args.dir, &only)?;
    std::fs::create_dir_all(&args.scratch).doing("create", &args.scratch)?;
    let floors = match args.floors.as_slice() {
        [] => Floor::value_variants(),
        named => named,
    };
    for &floor in floors {
        let figure = best(floor, &list, args)?;
        line(floor.name(), figure.time, &figure);
        if let Some(synced) = figure.synced {
            line("write+syncfs", synced, &figure);
        }
    }
    Ok(())
}

fn line(name: &str, time: Duration, figure: &Figure) {
    println!(
        "{name}\t{:.6}\t{:.6}\t{}\t{}",
        time.as_secs_f64(),
        figure.cpu.as_secs_f64(),
        figure.entries,
        figure.bytes
    );
}

fn best(floor: Floor, list: &KnownList, args: &Args) -> Result<Figure> {
    let mut best: Option<Figure> = None;
    for _ in 0..args.rounds.max(1) {
        let now = once(floor, list, &args.scratch)?;
        best = Some(match best {
            None => now,
            Some(old) => Figure {
                time: old.time.min(now.time),
                cpu: old.cpu.min(now.cpu),
                synced: old.synced.min(now.synced),
                ..old
            },
        });
    }
    Ok(best.expect("at least one round was run"))
}

fn once(floor: Floor, list: &KnownList, scratch: &Path) -> Result<Figure> {
    match floor {
        Floor::Statx => statx(list),
        Floor::Read => pipeline::read(list, false),
        Floor::Hash => pipeline::read(list, true),
        Floor::Pack => pipeline::pack(list, scratch),
        Floor::Write => write::write(list, scratch),
    }
}

fn statx(list: &KnownList) -> Result<Figure> {
    let start = Clock::start();
    threads::in_two(
        list.entries.len(),
        |_| Ok(()),
        |(), at| {
            let path = &list.entries[at].path;
            rustix::fs::statx(&list.root, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
            Ok(())
        },
    )
    .doing("statx", &list.dir)?;
    Ok(start.figure(list.entries.len(), 0))
}
