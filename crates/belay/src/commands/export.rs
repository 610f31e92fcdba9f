//! `belay export`: a snapshot as an archive or a directory, for elsewhere.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::Packing;
use serde_json::json;

use crate::commands::rollback;
use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity;
use crate::view;

/// Write a snapshot as an archive or into a directory
///
/// A name that ends in `.tar.zst`, `.tar.gz` or `.tar` is an archive: modes, owners, times, links, holes and extended
/// attributes are in it, and plain `tar` unpacks it. Any other name is a directory, which must be new or empty. What belay
/// needs to know beyond that is in a comment that other programs pass over, so that `belay import` brings back the very
/// same snapshot, and checks its root hash.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// The archive or directory
    #[arg(value_name = "FILE|DIR")]
    to: PathBuf,

    /// Overwrite an archive that exists
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay export @latest shop.tar.zst
  belay export before-refactor ./before       a directory, new or empty
  tar --xattrs -xf shop.tar.zst -C elsewhere";

/// Writes the snapshot elsewhere.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    let Some(packing) = Packing::of(&args.to) else {
        return rollback::extract(context, &workspace, Some(&args.snapshot), &[], &args.to);
    };
    let snapshot = workspace.resolve(&args.snapshot)?;
    let meter = context.ui.meter("Exporting");
    let to = context.directory()?.join(&args.to);
    let exported = workspace.export(&snapshot, &to, packing, args.force, context.work(&meter))?;
    drop(meter);
    if context.ui.json {
        context.ui.print_json(&json!({
            "snapshot": view::snapshot_json(&snapshot),
            "to": args.to.to_string_lossy(),
            "entries": exported.entries,
            "bytes": exported.bytes,
        }))?;
    } else {
        tell(context, &snapshot.id, &args.to, &exported);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(context: &Context<'_>, id: &str, to: &Path, exported: &belay_session::Exported) {
    let (entries, size) = (quantity::count(exported.entries, "path"), quantity::size(exported.bytes));
    context.ui.say(format_args!("Exporting {id} to {}... done ({entries}, {size})", view::path(to)));
    context.ui.hint("it holds everything that was captured, secrets too");
}
