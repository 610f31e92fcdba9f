//! Compares belay with its peers and with the machine's floors, in one run, by minima over interleaved rounds.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod census;
mod dirty;
mod edits;
mod error;
mod floors;
mod measure;
mod place;
mod rows;
mod table;
mod tools;
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
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Floors(args) => floors::run(&args),
        Command::Dirty(args) => dirty::run(&args),
        Command::Store(args) => rows::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {}", error::chain(&error));
            ExitCode::FAILURE
        }
    }
}
