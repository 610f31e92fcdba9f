//! `belay find`: which snapshots hold a path.

use std::process::ExitCode;

use belay_session::Found;
use belay_session::store::Entry;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::table::{self, Cell};
use crate::ui::{escape, quantity, style};
use crate::view;

/// Find the snapshots that hold a path
///
/// PATTERN is a glob: with a slash it is matched against whole paths in the workspace, without one against names.
/// Without any of `*?[{` it finds every name that contains it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A part of a name, or a glob
    #[arg(value_name = "PATTERN")]
    pattern: String,

    /// Search this snapshot only
    #[arg(short, long, value_name = "SNAP")]
    snapshot: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay find .env
  belay find '*.sqlite'
  belay find 'src/**/*.rs' --snapshot @latest";

/// Prints every path that matches, with the snapshots that hold it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let only = args.snapshot.as_deref().map(|name| workspace.resolve(name)).transpose()?;
    let mut found = context.ui.while_working("Searching", || workspace.find_paths(&args.pattern))?;
    if let Some(only) = &only {
        found.keep_only(only);
    }
    if found.iter().next().is_none() {
        let pattern = escape::printable(args.pattern.as_bytes());
        return Err(Failure::not_found(format!("no snapshot holds anything like {pattern}")));
    }
    let mut out = context.ui.paged();
    if context.ui.json {
        for one in found.iter() {
            out.json(&to_json(one, workspace.newest(one)?.as_ref()))?;
        }
    } else {
        let now = home.now().timestamp();
        table::write(&mut out, &["SNAPSHOTS", "FIRST", "LAST", "SEEN", "PATH"], || {
            found.iter().map(|one| row(one, now))
        })?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn row(found: Found<'_>, now: jiff::Timestamp) -> Vec<Cell> {
    let id = |snapshot: Option<&belay_session::Snapshot>| snapshot.map(|one| one.id.clone()).unwrap_or_default();
    let last = found.snapshots().next_back();
    vec![
        quantity::grouped(found.snapshots().count() as u64).into(),
        Cell::new(id(found.snapshots().next()), style::ID),
        Cell::new(id(last), style::ID),
        last.map(|snapshot| quantity::age(snapshot.created_at, now)).unwrap_or_default().into(),
        view::relative(found.path).into(),
    ]
}

fn to_json(found: Found<'_>, entry: Option<&Entry>) -> Value {
    let mut object = Map::new();
    escape::put_path(&mut object, "path", found.path);
    object.insert("snapshots".to_owned(), found.snapshots().map(|snapshot| snapshot.id.clone()).collect());
    object.insert("entry".to_owned(), entry.map(view::entry_json).into());
    object.into()
}
