//! `belay snapshot`: captures the workspace now.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::store::{Algorithm, Cloned};
use belay_session::{BackendChoice, Cause, Kind, Origin, Snapshot, SnapshotRequest, Taken, Workspace, shell_word};
use serde_json::{Value, json};

use crate::context::{self, Context};
use crate::error::{Failure, Result};
use crate::ui::quantity;
use crate::view;

/// Take a snapshot of the workspace
///
/// Captures every file, directory and link with its permissions, owners and attributes, `.git` and git-ignored
/// files included. Left out are only directories that can be made again, such as `node_modules` or `target`, and
/// what your configuration excludes; belay names them and their size. Prints the snapshot's id.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A name for the snapshot, unique in the workspace
    #[arg(short, long, value_name = "NAME")]
    label: Option<String>,

    /// A longer note
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,

    /// Mark the beginning of a turn of an agent, so that `belay undo @turn-N` can take it back
    #[arg(long)]
    turn: bool,

    /// What the user asked for in that turn
    #[arg(long, value_name = "TEXT", requires = "turn")]
    prompt: Option<String>,

    /// Capture everything, regenerable and excluded directories too
    #[arg(short, long)]
    all: bool,

    /// Read every byte, instead of trusting that files whose times, size and inode are unchanged are the same
    #[arg(long, hide_short_help = true)]
    full: bool,

    /// Where its content is to lie; without it, where snapshots.backend says
    #[arg(long, value_name = "NAME", value_parser = backend)]
    backend: Option<BackendChoice>,

    /// Make this very directory a workspace, even if it lies inside one
    #[arg(long, hide_short_help = true)]
    here: bool,

    /// The hash function of a store that does not exist yet
    #[arg(long, value_name = "NAME", value_parser = ["blake3", "sha256"], hide_short_help = true)]
    hash: Option<String>,

    /// A directory in the workspace; the current one by default
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        let Args { label: _, description: _, turn: _, prompt: _, all, full, backend, here, hash, path } = self;
        !all && !full && backend.is_none() && !here && hash.is_none() && path.is_none()
    }
}

const EXAMPLES: &str = "\
Examples:
  belay snapshot
  belay snapshot --label before-refactor --description 'works, but slow'
  belay snapshot --all          node_modules, target and their like too
  belay snapshot ~/projects/shop
  id=$(belay snapshot -q)       only the id goes to standard output";

/// A backend by its name.
pub(crate) fn backend(name: &str) -> Result<BackendChoice, String> {
    BackendChoice::from_name(name).ok_or_else(|| format!("it is none of {}", BackendChoice::NAMES.join(", ")))
}

/// Takes the snapshot and prints its name.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let algorithm = args.hash.as_deref().and_then(Algorithm::from_name);
    let home = context.home_with(algorithm.unwrap_or_default())?;
    let directory = match &args.path {
        Some(path) => context.directory()?.join(path),
        None => context.anchor()?,
    };
    if algorithm.is_some_and(|asked| home.store().algorithm() != asked) {
        return Err(Failure::refused("the store exists already, with another hash function")
            .untouched()
            .hint("use another BELAY_HOME for a store of its own"));
    }
    let workspace = context.workspace_or_new(&home, &directory, args.here);
    let workspace = workspace.map_err(|failure| hinting_label(failure, args.path.as_deref(), &directory))?;
    let meter = context.ui.meter("Capturing");
    let (kind, origin, cause) = match args.turn {
        true => (Kind::Turn, Origin::Auto, workspace.next_turn(args.prompt)?),
        false => (Kind::Manual, Origin::Manual, Cause::default()),
    };
    let request = SnapshotRequest {
        kind,
        origin,
        cause,
        label: args.label,
        description: args.description,
        all: args.all,
        full: args.full,
        backend: args.backend,
        ..SnapshotRequest::default()
    };
    let taken = workspace.snapshot(&request, context.work(&meter))?;
    drop(meter);
    report(context, &workspace, &taken)?;
    Ok(ExitCode::SUCCESS)
}

/// A single word that names no directory is most likely meant to name the snapshot.
fn hinting_label(failure: Failure, typed: Option<&Path>, directory: &Path) -> Failure {
    let word = typed.and_then(Path::to_str).filter(|word| !word.contains('/'));
    match word {
        Some(word) if directory.symlink_metadata().is_err() => failure
            .hint(format!("`belay snapshot --label {}` gives the snapshot that name", shell_word(word.as_bytes()))),
        _ => failure,
    }
}

fn report(context: &Context<'_>, workspace: &Workspace<'_>, taken: &Taken) -> Result<()> {
    if context.ui.json {
        context.ui.print_json(&to_json(workspace, taken))?;
    } else {
        let mut out = context.ui.out();
        match context.ui.quiet {
            true => writeln!(out, "{}", taken.snapshot.id)?,
            false => writeln!(out, "{}", view::snapshot_name(&taken.snapshot))?,
        }
        out.finish()?;
    }
    if let Some(news) = context::news_of(&taken.arrival) {
        context.ui.say(news);
    }
    if let Some(cloned) = &taken.cloned {
        context.ui.say(how_cloned(cloned));
    }
    if !taken.thinned.deleted.is_empty() {
        let went = quantity::count(taken.thinned.deleted.len() as u64, "old snapshot");
        let freed = quantity::size(taken.thinned.freed_bytes);
        context.ui.say(format_args!("The budget was reached: {went} went (freed {freed})."));
    }
    if taken.over_budget {
        context.ui.warn("the store is over its budget, and nothing more may go by itself");
        context.ui.hint("`belay du --why` shows what takes the space; raise snapshots.retention.budget to keep it");
    }
    if taken.snapshot.number == 1 {
        say_what_is_left_out(context, workspace, taken)?;
    }
    warn_of_gaps(context, workspace, &taken.snapshot)
}

/// How files came into a copy: sharing blocks costs nothing, and copying costs their size.
fn how_cloned(cloned: &Cloned) -> String {
    let shared = quantity::count(cloned.shared, "file");
    let (linked, copied) = (quantity::grouped(cloned.linked), quantity::grouped(cloned.copied));
    let bytes = quantity::size(cloned.copied_bytes);
    format!("Clone: {shared} shared, {linked} as in the copy before, {copied} copied ({bytes})")
}

/// Said once, with the first snapshot; `belay status` says it any time.
fn say_what_is_left_out(context: &Context<'_>, workspace: &Workspace<'_>, taken: &Taken) -> Result<()> {
    const NAMED_MAX: usize = 3;
    let coverage = workspace.tree(&taken.snapshot)?.coverage(workspace.home().store())?;
    let out: Vec<String> = coverage.gaps.iter().filter(|gap| gap.kind.is_wanted()).map(view::gap).collect();
    if !out.is_empty() {
        let more = out.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {} more", quantity::grouped(more as u64)) };
        context.ui.say(format_args!("Left out: {}{more}", out[..out.len().min(NAMED_MAX)].join(", ")));
        context.ui.hint("`belay status` shows how much that is; `belay snapshot --all` captures it too");
    }
    Ok(())
}

/// Whatever should have been captured and was not is named at once, not when it is missed.
pub(crate) fn warn_of_gaps(context: &Context<'_>, workspace: &Workspace<'_>, snapshot: &Snapshot) -> Result<()> {
    const NAMED_MAX: usize = 5;
    if !snapshot.is_partial() || context.ui.json {
        return Ok(());
    }
    let id = &snapshot.id;
    let coverage = workspace.tree(snapshot)?.coverage(workspace.home().store())?;
    let gaps = coverage.gaps.iter().filter(|gap| !gap.kind.is_wanted());
    context.ui.warn(format_args!("{id} lacks {}:", quantity::count(snapshot.gaps, "path")));
    for gap in gaps.take(NAMED_MAX) {
        context.ui.tell(format_args!("  {}", view::gap(gap)));
    }
    if snapshot.gaps > NAMED_MAX as u64 {
        context.ui.tell(format_args!("  … `belay ls {id}` names all"));
    }
    Ok(())
}

fn to_json(workspace: &Workspace<'_>, taken: &Taken) -> Value {
    let mut value = view::snapshot_json(&taken.snapshot);
    if let Some(object) = value.as_object_mut() {
        object.insert("workspace".to_owned(), workspace.id().into());
        object.insert("files_read".to_owned(), taken.files_read.into());
        if let Some(Cloned { shared, linked, copied, copied_bytes }) = taken.cloned {
            let cloned = json!({ "shared": shared, "linked": linked, "copied": copied, "copied_bytes": copied_bytes });
            object.insert("clone".to_owned(), cloned);
        }
        object.insert("thinned".to_owned(), taken.thinned.deleted.iter().map(|gone| gone.id.clone()).collect());
        object.insert("over_budget".to_owned(), taken.over_budget.into());
    }
    value
}
