//! `belay gc`: gives back the space of what no snapshot needs.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity::{count, size};

/// Give back the space of what no snapshot needs any more
///
/// Snapshots are not deleted by it; see `belay snapshots prune`. Other belay processes may go on working.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only say what would be freed
    #[arg(short = 'n', long)]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay gc
  belay gc --dry-run";

/// Collects, and says what it gave back.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let meter = context.ui.meter("Collecting").counting("object");
    let collected = home.gc_telling(args.dry_run, &meter)?;
    drop(meter);
    let report = collected.report;
    if context.ui.json {
        context.ui.print_json(&json!({
            "dry_run": args.dry_run,
            "freed_bytes": report.freed_bytes,
            "dead_objects": report.dead_objects,
            "packs": report.packs,
            "snapshots": collected.snapshots,
            "left": report.left,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.out();
    let kept = count(collected.snapshots as u64, "snapshot");
    let verb = if args.dry_run { "Would free" } else { "Freed" };
    match report.freed_bytes {
        0 => writeln!(out, "Nothing to free: all that is there belongs to {kept}.")?,
        freed => writeln!(out, "{verb} {} ({}); {kept} kept.", size(freed), count(report.dead_objects, "object"))?,
    }
    out.finish()?;
    for left in &report.left {
        context
            .ui
            .warn(format!("{left} is not needed any more and could not be removed; the next collection tries again"));
    }
    Ok(ExitCode::SUCCESS)
}
