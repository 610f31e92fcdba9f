//! `belay history`: the versions of one path.

use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Version, VersionState};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{escape, quantity, style};
use crate::view;

/// Show in which snapshots a file or directory is new, modified or deleted
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file or directory; it need not exist any more
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Show the snapshots in which it did not change, too
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay history .env
  belay history src/main.rs --all
  belay history src --json";

/// Prints the versions, oldest first.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let path = context.beneath(&workspace, &args.path)?;
    let versions = context.ui.while_working("Searching", || workspace.history(&path))?;
    if versions.is_empty() {
        let latest = workspace.resolve("@latest")?;
        let nearest = workspace.nearest_paths(&workspace.tree(&latest)?, &path)?;
        let nearest: Vec<String> = nearest.iter().map(|path| view::relative(path)).collect();
        return Err(Failure::not_found(format!("no snapshot holds the path {}", view::relative(&path)))
            .nearest(&nearest)
            .hint("`belay find NAME` finds a name anywhere in the workspace"));
    }
    let shown = versions.iter().filter(|version| args.all || version.state != VersionState::Unchanged);
    let mut out = context.ui.paged();
    if context.ui.json {
        for version in shown {
            out.json(&to_json(&path, version))?;
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let now = home.now().timestamp();
    let mut table = Table::new(&["ID", "CREATED", "CHANGE", "MODE", "SIZE", "LABEL"]);
    shown.for_each(|version| table.row(row(version, now)));
    table.write(&mut out)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn row(version: &Version, now: jiff::Timestamp) -> Vec<Cell> {
    let (state, style) = match version.state {
        VersionState::New => ("new", style::GOOD),
        VersionState::Modified => ("modified", style::CAUTION),
        VersionState::Unchanged => ("unchanged", style::DIM),
        VersionState::Deleted => ("deleted", style::BAD),
        VersionState::Uncaptured => ("not captured", style::CAUTION),
    };
    let label = version.snapshot.label.as_deref().unwrap_or_default();
    vec![
        Cell::new(version.snapshot.id.as_str(), style::ID),
        quantity::age(version.snapshot.created_at, now).into(),
        Cell::new(state, style),
        version.entry.as_ref().map(|entry| format!("{:04o}", entry.meta.mode)).unwrap_or_default().into(),
        version.entry.as_ref().map(view::amount).unwrap_or_default().into(),
        escape::printable(label.as_bytes()).into(),
    ]
}

fn to_json(path: &[u8], version: &Version) -> Value {
    let mut object = Map::new();
    escape::put_path(&mut object, "path", path);
    let state = match version.state {
        VersionState::New => "new",
        VersionState::Modified => "modified",
        VersionState::Unchanged => "unchanged",
        VersionState::Deleted => "deleted",
        VersionState::Uncaptured => "not-captured",
    };
    object.insert("change".to_owned(), state.into());
    object.insert("snapshot".to_owned(), view::snapshot_json(&version.snapshot));
    object.insert("entry".to_owned(), version.entry.as_ref().map(view::entry_json).into());
    object.into()
}
