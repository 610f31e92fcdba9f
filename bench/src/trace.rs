//! What watching a run costs: each workload bare, under strace and under belay, in turn, as root and as an ordinary user.
//!
//! A workload is timed inside of the run, by a child that stands between belay and it, because the agent feels only
//! that; the snapshots before and after are a line of their own.

pub(crate) mod lane;
mod moments;
mod workload;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use self::lane::{Ground, Lane, Who};
use self::workload::{Setting, Workload};
pub(crate) use self::workload::{stamp, timed};
use crate::error::{Doing, Result, chain};
use crate::table::{preamble, size, time};

/// Compares runs under belay with bare ones.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows to run; all when none is named.
    #[arg(long, value_delimiter = ',', value_enum)]
    rows: Vec<Kind>,
    /// As whom to run; both when none is named.
    #[arg(long = "as", value_delimiter = ',', value_enum)]
    who: Vec<Who>,
    /// Rounds of each; of a workload the median counts, so an odd number from five on says most.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Processes of the row `processes`.
    #[arg(long, default_value_t = 20_000)]
    processes: u64,
    /// File events, about, of the row `memory`.
    #[arg(long, default_value_t = 1_000_000)]
    events: u64,
    /// Where bench/workspaces.sh put S and M.
    #[arg(long, default_value = "target/bench-data")]
    data: PathBuf,
    /// Where copies and images go; the data's directory when not named.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// A release build of belay.
    #[arg(long, default_value = "target/release/belay")]
    belay: PathBuf,
    /// A file that gets the table too.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Many short processes.
    Processes,
    /// `tar x` of 30,000 files.
    Tar,
    /// `cargo build` of S.
    Cargo,
    /// `make -j2` of a C library.
    Make,
    /// `npm install` of M's packages.
    Npm,
    /// From the start of belay to the command's first instruction, on an unchanged M.
    Start,
    /// Snapshots of ten changes during a run on M.
    Dirty,
    /// Memory of the supervisor after many events.
    Memory,
}

/// One figure with what was promised for it.
pub(crate) struct Finding {
    what: String,
    measured: String,
    promise: String,
    kept: bool,
}

impl Finding {
    fn line(&self) -> String {
        let kept = if self.kept { "yes" } else { "**no**" };
        format!("| {} | {} | {} | {kept} |", self.what, self.measured, self.promise)
    }
}

/// Runs the rows and prints each as soon as it is known.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut text = String::new();
    let mut say = |line: String| {
        println!("{line}");
        text.push_str(&line);
        text.push('\n');
    };
    say(preamble());
    for who in wanted(&args.who) {
        let ground = Ground { data: &args.data, scratch: args.scratch.as_deref(), belay: &args.belay };
        let lane = match Lane::new(who, &ground)? {
            Ok(lane) => lane,
            Err(reason) => {
                say(format!("skipped as {}: {reason}", who.name()));
                continue;
            }
        };
        say(format!("\n## As {}\n\n| | measured | promised | kept |\n|---|---|---|---|", who.name()));
        for kind in wanted(&args.rows) {
            let begun = Instant::now();
            match findings(kind, &lane, args) {
                Ok(found) => found.iter().for_each(|finding| say(finding.line())),
                // The other rows are worth having all the same.
                Err(error) => say(format!("| {kind:?} | failed: {} | | |", chain(&error).replace('\n', " "))),
            }
            eprintln!("bench: {kind:?} as {} took {}", who.name(), time(begun.elapsed()));
        }
    }
    match &args.out {
        Some(out) => std::fs::write(out, &text).doing("write", out),
        None => Ok(()),
    }
}

pub(crate) fn wanted<T: ValueEnum + Copy>(named: &[T]) -> Vec<T> {
    if named.is_empty() { T::value_variants().to_vec() } else { named.to_vec() }
}

fn findings(kind: Kind, lane: &Lane, args: &Args) -> Result<Vec<Finding>> {
    match kind {
        Kind::Start => moments::start(lane, args.rounds),
        Kind::Dirty => moments::dirty(lane),
        Kind::Memory => moments::memory(lane, args.events),
        _ => overhead(&Workload::new(kind, lane, args.processes)?, lane, args.rounds),
    }
}

/// Bare, under belay and, where it is the peer, under strace, in turn; the turns alternate, so that none always finds what another left.
fn overhead(work: &Workload, lane: &Lane, rounds: usize) -> Result<Vec<Finding>> {
    let mut took: [Vec<Duration>; Setting::ALL.len()] = Default::default();
    let mut whole = Vec::new();
    for round in 0..rounds.max(1) {
        let mut turns: Vec<(usize, Setting)> = Setting::ALL.into_iter().enumerate().collect();
        turns.retain(|(_, setting)| work.beside_strace || !setting.is_peer());
        if round % 2 == 1 {
            turns.reverse();
        }
        for (at, setting) in turns {
            work.reset(lane)?;
            let begun = Instant::now();
            took[at].push(work.run(lane, setting)?);
            if setting == Setting::Belay {
                whole.push(begun.elapsed());
            }
        }
    }
    let spread =
        |all: &[Duration]| format!("{}–{}", time(least(all)), time(all.iter().copied().max().unwrap_or_default()));
    let (bares, belays) = (spread(&took[0]), spread(&took[1]));
    let [bare, belay, peers @ ..] = took.each_ref().map(|all| median(all));
    let whole = median(&whole);
    let ratio = belay.as_secs_f64() / bare.as_secs_f64();
    let limit = work.limit(lane.who);
    let mut found = vec![Finding {
        what: work.title.clone(),
        measured: format!(
            "{ratio:.3} × ({} of {belays} against {} of {bares} bare; {} with the snapshots around it)",
            time(belay),
            time(bare),
            time(whole)
        ),
        promise: format!("≤ {limit} ×"),
        kept: ratio <= limit,
    }];
    // What a tracer adds is what it costs; the work itself is nobody's merit.
    let added = |with: Duration| with.saturating_sub(bare).as_secs_f64().max(1e-9);
    for (peer, took) in Setting::ALL[2..].iter().zip(peers).filter(|_| work.beside_strace) {
        let factor = added(took) / added(belay);
        found.push(Finding {
            what: format!("{}, beside {}", work.title, peer.name()),
            measured: format!(
                "{:.2} × bare; it adds {factor:.1} times what belay adds",
                took.as_secs_f64() / bare.as_secs_f64()
            ),
            promise: if *peer == Setting::Strace { "≥ 5 times" } else { "" }.to_owned(),
            kept: *peer != Setting::Strace || factor >= 5.0,
        });
    }
    Ok(found)
}

/// The middle one; nothing for none.
fn median(all: &[Duration]) -> Duration {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn least(all: &[Duration]) -> Duration {
    all.iter().copied().min().unwrap_or_default()
}

/// A count of bytes for the table.
pub(crate) fn bytes(count: u64) -> String {
    size(count)
}
