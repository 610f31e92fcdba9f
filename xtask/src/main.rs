//! Chores of the project: `cargo xtask COMMAND`.
//!
//! Each command is one file. They start cargo, git or belay and report; none of them is part of belay.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod bpf;
mod crash;
mod reference;
mod suites;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  tidy                 check the house rules (also a test of this crate)
  crash [--full] [--minutes N] [--resume] [--part I/N] [--profile NAME]
                       crash, kill, race and full-disk suites, one test after another; --full tries every point
  large [PERCENT]      runs of 20,000 processes, 30,000 files and 200 commits, or a part of that, in release mode
  fuzz [SECONDS]       mutate stored bytes and feed every decoder, 60 seconds each by default
  bpf [--check]        build the programs that run in the kernel, or compare them with their source
  bench ARGS           compare belay with its peers and the machine's floors
  reference [--check]  write docs/reference from the built belay, or compare it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    };
    match command.as_str() {
        "tidy" => tidy::run(),
        "crash" => crash::run(rest),
        "large" => suites::large(rest),
        "fuzz" => suites::fuzz(rest),
        "bench" => bench::run(rest),
        "bpf" => bpf::run(rest),
        "reference" => reference::run(rest),
        "help" | "-h" | "--help" => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        unknown => usage(&format!("unknown command {unknown}")),
    }
}

/// Says what was wrong with the arguments, and how it goes.
fn usage(wrong: &str) -> ExitCode {
    eprint!("xtask: {wrong}\n\n{HELP}");
    ExitCode::from(2)
}

/// The directory that holds the whole project.
fn project() -> PathBuf {
    // Cargo says it at run time too, which holds even if a build directory is shared by several checkouts.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).parent().expect("xtask lies in the project's directory").to_owned()
}

/// Cargo, run in the project's directory.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(project());
    command
}

/// Runs a command to its end and passes its failure on.
fn finish(command: &mut Command) -> ExitCode {
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("xtask: {} ended with {status}", command.get_program().to_string_lossy());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {} did not start: {error}", command.get_program().to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
