//! `belay export`: a snapshot as an archive, a directory or a commit, for elsewhere.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::store::OnDamage;
use belay_session::{CommitRequest, Committed, NotInGit, Packing, SNAPSHOT_REFS, Snapshot, WhyNotInGit, Workspace};
use serde_json::{Value, json};

use crate::commands::rollback;
use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity;
use crate::view;

/// Write a snapshot as an archive, into a directory or as a commit
///
/// A name that ends in `.tar.zst`, `.tar.gz` or `.tar` is an archive: modes, owners, times, links, holes and extended
/// attributes are in it, and plain `tar` unpacks it; access control lists only if it is told to (`tar --acls -xpf`), and so
/// with all other attributes (`tar --acls --xattrs --xattrs-include='*' -xpf`). Any other name is a directory, which must be new or empty. What belay needs to know beyond that is in a comment that other
/// programs pass over, so that `belay import` brings back the very same snapshot, and checks its root hash.
///
/// With `--git-ref NAME` it becomes a commit of the workspace's own repository, as refs/sandbox/snapshots/NAME: what git sees
/// of it, byte by byte, without any filter. HEAD, index, branches and stash stay as they are. What git cannot hold is named.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// The archive or directory
    #[arg(value_name = "FILE|DIR", required_unless_present = "git_ref")]
    to: Option<PathBuf>,

    /// Write a commit and call it refs/sandbox/snapshots/NAME, which must not exist
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to", "force"])]
    git_ref: Option<String>,

    /// Put what git ignores into the commit, too
    #[arg(long, requires = "git_ref")]
    all: bool,

    /// Overwrite an archive that exists
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay export @latest shop.tar.zst
  belay export before-refactor ./before       a directory, new or empty
  tar --acls --xattrs --xattrs-include='*' -xpf shop.tar.zst -C elsewhere
  belay export @pre-run --git-ref before      git diff refs/sandbox/snapshots/before";

/// How many paths are named for each reason.
const NAMED_MAX: usize = 3;

/// Writes the snapshot elsewhere.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    if let Some(name) = &args.git_ref {
        let snapshot = workspace.resolve(&args.snapshot)?;
        return commit(context, &workspace, &snapshot, name, args.all);
    }
    let to = args.to.unwrap_or_default();
    let Some(packing) = Packing::of(&to) else {
        return rollback::extract(context, &workspace, Some(&args.snapshot), &[], &to, OnDamage::Refuse);
    };
    archive(context, &workspace, &args.snapshot, &to, packing, args.force)
}

fn archive(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    name: &str,
    named: &Path,
    packing: Packing,
    force: bool,
) -> Result<ExitCode> {
    let snapshot = workspace.resolve(name)?;
    let meter = context.ui.meter("Exporting");
    let to = context.directory()?.join(named);
    let exported = workspace.export(&snapshot, &to, packing, force, context.work(&meter))?;
    drop(meter);
    if context.ui.json {
        context.ui.print_json(&json!({
            "snapshot": view::snapshot_json(&snapshot),
            "to": named.to_string_lossy(),
            "entries": exported.entries,
            "bytes": exported.bytes,
        }))?;
    } else {
        tell(context, &snapshot.id, named, &exported);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(context: &Context<'_>, id: &str, to: &Path, exported: &belay_session::Exported) {
    let (entries, size) = (quantity::count(exported.entries, "path"), quantity::size(exported.bytes));
    context.ui.say(format_args!("Exporting {id} to {}... done ({entries}, {size})", view::path(to)));
    context.ui.hint("it holds everything that was captured, secrets too");
}

fn commit(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    snapshot: &Snapshot,
    name: &str,
    all: bool,
) -> Result<ExitCode> {
    let message = snapshot.description.clone().or_else(|| snapshot.label.clone());
    let message = message.unwrap_or_else(|| format!("belay snapshot {}", snapshot.id));
    let request = CommitRequest { name: name.to_owned(), message, all };
    let meter = context.ui.meter("Exporting");
    let committed = workspace.commit(snapshot, &request, context.work(&meter))?;
    drop(meter);
    if context.ui.json {
        context.ui.print_json(&commit_json(snapshot, &committed))?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = quantity::count(committed.files, "file");
    let (id, commit) = (&snapshot.id, &committed.git_ref.commit);
    context.ui.say(format_args!("Exporting {id} to {SNAPSHOT_REFS}{name}... done ({files}, {commit})"));
    say_left(context, &committed.left);
    if committed.is_index_partial {
        context.ui.warn("git's index could not be read whole: tracked files that .gitignore matches may be missing");
    }
    Ok(ExitCode::SUCCESS)
}

/// What is not in the commit, by reason.
fn say_left(context: &Context<'_>, left: &[NotInGit]) {
    let mut reasons: Vec<WhyNotInGit> = left.iter().map(|one| one.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let paths: Vec<String> =
            left.iter().filter(|one| one.why == why).map(|one| view::relative(&one.path)).collect();
        let shown = paths.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = if paths.len() > NAMED_MAX { ", …" } else { "" };
        let count = quantity::count(paths.len() as u64, "path");
        context.ui.say(format_args!("Not in it, {}: {count} ({shown}{more})", reason(why)));
    }
}

fn reason(why: WhyNotInGit) -> &'static str {
    match why {
        WhyNotInGit::NotCaptured => "because the snapshot lacks it",
        WhyNotInGit::TooLarge => "because it is larger than snapshots.max_bytes",
        WhyNotInGit::Forged => "because it is made to have the SHA-1 of something else",
        WhyNotInGit::Name => "because git allows no such name",
        WhyNotInGit::TooDeep => "because it lies deeper than git goes",
        WhyNotInGit::Repository => "because no commit of that repository is known",
        WhyNotInGit::Special => "because git holds no pipes, sockets and devices",
        WhyNotInGit::EmptyDir => "because git holds no empty directories",
        WhyNotInGit::Ignored => "because git ignores it (--all takes it)",
        WhyNotInGit::Regenerable => "because it can be made again and was not captured",
        WhyNotInGit::Mode => "permissions beyond the right to execute",
        WhyNotInGit::Attributes => "extended attributes",
    }
}

fn commit_json(snapshot: &Snapshot, committed: &Committed) -> Value {
    let left = committed.left.iter().map(|one| json!({ "path": view::relative(&one.path), "why": reason(one.why) }));
    json!({
        "snapshot": view::snapshot_json(snapshot),
        "ref": format!("{SNAPSHOT_REFS}{}", committed.git_ref.name),
        "commit": committed.git_ref.commit.to_hex(),
        "files": committed.files,
        "left_out": left.collect::<Vec<_>>(),
        "index_partial": committed.is_index_partial,
    })
}
