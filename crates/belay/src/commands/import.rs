//! `belay import`: an archive, a directory or a commit from elsewhere as a snapshot.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{ImportRequest, Imported};
use serde_json::Value;

use crate::commands::snapshot::warn_of_gaps;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::view;

/// Make a snapshot of an archive, of another directory or of a git ref
///
/// The workspace is not touched: the archive becomes a snapshot in its timeline, to look at (`belay diff`, `belay ls`) or to go
/// back to (`belay rollback`). Nothing is unpacked on the way. An archive whose paths lead out of it, come twice or lie in
/// a link is refused, and so is one that is larger than snapshots.max_entries and snapshots.max_bytes allow.
///
/// Of a git ref (`--git-ref`) the files of its commit are taken. Whatever git cannot say (permissions, attributes, empty directories,
/// ignored files) is as it is in the workspace now, so that going back to the snapshot leaves it alone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A tar archive, plain or compressed with gzip or zstd; or a directory
    #[arg(value_name = "FILE|DIR", required_unless_present = "git_ref")]
    from: Option<PathBuf>,

    /// A ref of the workspace's own repository: one beneath refs/sandbox/snapshots/, or a full name such as refs/heads/main
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    git_ref: Option<String>,

    /// A name for the snapshot, unique in the workspace
    #[arg(short, long, value_name = "NAME")]
    label: Option<String>,

    /// A longer note
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay import shop.tar.zst --label from-the-other-machine
  belay import ../shop-copy
  belay import --git-ref refs/heads/main
  id=$(belay import -q backup.tar.gz) && belay diff $id";

/// Imports, and prints the snapshot's name.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let directory = context.directory()?;
    if let Some(from) = args.from.as_ref().map(|from| directory.join(from)) {
        // Before the directory becomes a workspace for nothing.
        let cannot = |error| Failure::named(format!("cannot open {}", view::path(&from)), &error).untouched();
        from.metadata().map_err(cannot)?;
    }
    let workspace = context.workspace_or_new(&home, &directory, false)?;
    let meter = context.ui.meter("Importing");
    let request = ImportRequest { label: args.label, description: args.description };
    let imported = match (&args.git_ref, args.from) {
        (Some(name), _) => workspace.import_git_ref(name, request, context.work(&meter))?,
        (None, from) => workspace.import(&directory.join(from.unwrap_or_default()), request, context.work(&meter))?,
    };
    drop(meter);
    if context.ui.json {
        context.ui.print_json(&to_json(&imported))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.out();
    writeln!(out, "{}", view::snapshot_name(&imported.snapshot))?;
    out.finish()?;
    if imported.is_verified {
        context.ui.say("Its root hash is the one that was exported.");
    }
    warn_of_gaps(context, &workspace, &imported.snapshot)?;
    let id = &imported.snapshot.id;
    context.ui.hint(format_args!("`belay rollback {id} --dry-run` shows what going there would change"));
    Ok(ExitCode::SUCCESS)
}

fn to_json(imported: &Imported) -> Value {
    let mut value = view::snapshot_json(&imported.snapshot);
    if let Some(object) = value.as_object_mut() {
        object.insert("verified".to_owned(), imported.is_verified.into());
    }
    value
}
