//! Compares belay with its peers and with the machine's floors, in one run, by minima over interleaved rounds.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod backends;
mod census;
mod dirty;
mod edits;
mod error;
mod floors;
mod jail;
mod journal;
mod measure;
mod place;
mod rows;
mod table;
mod tools;
mod trace;
mod verdict;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Comparisons of belay with its peers and with the machine's floors.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure what the machine can do at best on one directory.
    Floors(floors::Args),
    /// Capture ten known paths through the library.
    Dirty(dirty::Args),
    /// Run belay, its peers and the floors in turn and print the table.
    Store(rows::Args),
    /// Run belay's backends, reflink copies and btrfs snapshots in turn, and the Python package beside its original.
    Backends(backends::Args),
    /// Record many file events and print how fast they were taken.
    Journal(journal::Args),
    /// Start a program bare, in bubblewrap and in a jail, and print the table.
    Jail(jail::Args),
    /// Run workloads bare, under strace and under belay, and print the table.
    Trace(trace::Args),
    /// Call hooks and tools as agents do, and print the table.
    Agents(agents::Args),
    /// The same as whoever runs it, as bare figures.
    #[command(hide = true)]
    AgentsProbe(agents::probe::Args),
    /// Write into FILE when this process began, in nanoseconds since 1970.
    #[command(hide = true)]
    Stamp { file: std::path::PathBuf },
    /// Run a command and write into FILE how many nanoseconds it took.
    #[command(hide = true)]
    Timed {
        file: std::path::PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

fn main() -> ExitCode {
    let begun = std::time::SystemTime::now();
    let outcome = match Args::parse().command {
        Command::Floors(args) => floors::run(&args),
        Command::Dirty(args) => dirty::run(&args),
        Command::Store(args) => rows::run(&args),
        Command::Backends(args) => backends::run(&args),
        Command::Journal(args) => journal::run(&args),
        Command::Jail(args) => jail::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::AgentsProbe(args) => agents::probe::run(&args),
        Command::Stamp { file } => trace::stamp(&file, begun),
        Command::Timed { file, words } => trace::timed(&file, &words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {}", error::chain(&error));
            ExitCode::FAILURE
        }
    }
}
