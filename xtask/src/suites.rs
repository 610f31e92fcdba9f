//! `cargo xtask crash` and `cargo xtask fuzz`: suites that take too long for every change.
//!
//! The tests themselves read `BELAY_CRASH` and `BELAY_FUZZ_SECONDS`; without them they run a bounded sample.

use crate::{cargo, finish, usage};
use std::process::ExitCode;

const CRATES: [&str; 3] = ["belay-store", "belay-session", "belay"];

/// Crashes, kills and full disks; every point of them with `--full`.
pub(crate) fn crash(arguments: &[String]) -> ExitCode {
    let extent = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => "sample",
        ["--full"] => "full",
        _ => return usage("crash takes only --full"),
    };
    run("crash", "BELAY_CRASH", extent)
}

/// Mutated bytes for every decoder, for so many seconds each.
pub(crate) fn fuzz(arguments: &[String]) -> ExitCode {
    let seconds = match arguments {
        [] => "60",
        [seconds] if seconds.parse::<u64>().is_ok() => seconds,
        _ => return usage("fuzz takes a number of seconds"),
    };
    run("fuzz", "BELAY_FUZZ_SECONDS", seconds)
}

fn run(module: &str, variable: &str, value: &str) -> ExitCode {
    let mut command = cargo();
    command.args(["test", "--release", "--test", "it"]);
    for name in CRATES {
        command.args(["--package", name]);
    }
    command.args(["--", "--nocapture", &format!("{module}::")]).env(variable, value);
    println!("{variable}={value}");
    finish(&mut command)
}
