//! `cargo xtask bench`: the comparisons, built in release mode.

use std::process::ExitCode;

/// Passes `arguments` to the crate `bench`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    crate::finish(crate::cargo().args(["run", "--release", "--package", "bench", "--"]).args(arguments))
}
