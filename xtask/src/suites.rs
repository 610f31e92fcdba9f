//! `cargo xtask large` and `cargo xtask fuzz`: suites that take too long for every change.
//!
//! The tests themselves read `BELAY_LARGE_PERCENT` and `BELAY_FUZZ_SECONDS`; without them they run a bounded sample.

use crate::{cargo, finish, usage};
use std::process::ExitCode;

/// Whose decoders are fed; they are private, so these tests are beside them.
const FUZZED: [&str; 2] = ["belay-store", "belay-session"];

/// Runs in the size that agents make them, or in so many hundredths of it.
pub(crate) fn large(arguments: &[String]) -> ExitCode {
    let percent = match arguments {
        [] => "100",
        [percent] if percent.parse::<u32>().is_ok_and(|percent| (1..=100).contains(&percent)) => percent,
        _ => return usage("large takes a percentage of the full size"),
    };
    run(&["belay"], &["--test", "it"], "large", ("BELAY_LARGE_PERCENT", percent))
}

/// Mutated bytes for every decoder, for so many seconds each.
pub(crate) fn fuzz(arguments: &[String]) -> ExitCode {
    let seconds = match arguments {
        [] => "60",
        [seconds] if seconds.parse::<u64>().is_ok() => seconds,
        _ => return usage("fuzz takes a number of seconds"),
    };
    run(&FUZZED, &["--lib"], "fuzz", ("BELAY_FUZZ_SECONDS", seconds))
}

fn run(crates: &[&str], target: &[&str], module: &str, (variable, value): (&str, &str)) -> ExitCode {
    let mut command = cargo();
    command.args(["test", "--release"]).args(target);
    for name in crates {
        command.args(["--package", name]);
    }
    command.args(["--", "--nocapture", &format!("{module}::")]).env(variable, value);
    println!("{variable}={value}");
    finish(&mut command)
}
