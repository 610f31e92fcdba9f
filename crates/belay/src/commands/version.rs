//! `belay version`: which belay this is.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::swift::VERSION;

/// Print the version
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  belay version
  belay version --json";

/// Prints it.
pub(crate) fn run(context: &Context<'_>, _args: Args) -> Result<ExitCode> {
    let mut out = context.ui.out();
    match context.ui.json {
        true => out.json(&json!({ "version": VERSION }))?,
        false => writeln!(out, "belay {VERSION}")?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
