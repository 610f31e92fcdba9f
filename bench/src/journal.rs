//! The row of the journal: how many file events a second it takes, chained, signed and durable, and in how much memory.

use std::path::{Path, PathBuf};
use std::time::Instant;

use belay_event::{Action, Actor, At, Event, FileChange, Raw, What};
use belay_journal::{Key, Reader, Writer};

use crate::error::{Doing, Error, Result};
use crate::table;

/// What the issue promises.
const PROMISE: f64 = 150_000.0;
/// Events that a tracer hands over at a time.
const BATCH: u64 = 512;

/// Records many file events as fast as they are taken, and prints how fast that was.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many events.
    #[arg(long, default_value_t = 1_000_000)]
    events: u64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the record goes; a directory of its own is made beneath it.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    println!("| round | events | taken | durable | events/s | longest wait | bytes | verified |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut best = 0.0_f64;
    for round in 1..=args.rounds.max(1) {
        let dir = tempfile::tempdir_in(&args.dir).doing("make a directory in", &args.dir)?;
        best = best.max(record(dir.path(), round, args.events)?);
    }
    println!("\nbest {best:.0} events/s, promised {PROMISE:.0}: {:.2} ×", best / PROMISE);
    println!("memory at its highest {}", table::size(peak_memory()?));
    Ok(())
}

fn record(dir: &Path, round: usize, events: u64) -> Result<f64> {
    let writer = Writer::create(dir, "run_bench000", Key::from_bytes(&[7; 32])).map_err(failed)?;
    let (start, mut longest) = (Instant::now(), 0.0_f64);
    for first in (0..events).step_by(BATCH as usize) {
        let batch = (first..events.min(first + BATCH)).map(change).collect();
        let asked = Instant::now();
        writer.append(batch);
        longest = longest.max(asked.elapsed().as_secs_f64());
    }
    let taken = start.elapsed();
    let head = writer.finish().map_err(failed)?;
    let durable = start.elapsed();
    drop(writer);
    let bytes = std::fs::metadata(dir.join("session.db")).doing("look at", dir)?.len();
    let reader = Reader::open(dir).map_err(failed)?;
    let verifying = Instant::now();
    let verdict = reader.verify(None).map_err(failed)?;
    if head.count != events || !verdict.is_good() {
        let finding = format!("{} of {events} events, faults {:?}", head.count, verdict.faults);
        return Err(Error::Wrong { tool: "belay-journal".to_owned(), finding });
    }
    let rate = events as f64 / durable.as_secs_f64();
    println!(
        "| {round} | {events} | {} | {} | {rate:.0} | {:.1} ms | {} | {} |",
        table::time(taken),
        table::time(durable),
        longest * 1000.0,
        table::size(bytes),
        table::time(verifying.elapsed()),
    );
    Ok(rate)
}

fn change(number: u64) -> Event {
    let path = format!("node_modules/package-{}/lib/module-{}.js", number / 97, number % 97);
    let change = FileChange {
        action: if number.is_multiple_of(3) { Action::Created } else { Action::Modified },
        path: Raw::from(path.into_bytes()),
        to: None,
        dir: false,
        size: Some(number),
        by: Some(Actor { pid: Some(4000), command: Some(number / 1000), exact: true }),
    };
    Event::new(At::from_unix_nanos(1_768_904_400_000_000_000 + i128::from(number) * 6_500), What::File(change))
}

/// The highest that this process's memory ever was.
fn peak_memory() -> Result<u64> {
    let path = Path::new("/proc/self/status");
    let status = std::fs::read_to_string(path).doing("read", path)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.unwrap_or(0) * 1024)
}

fn failed(error: belay_journal::Error) -> Error {
    Error::Wrong { tool: "belay-journal".to_owned(), finding: error.to_string() }
}
