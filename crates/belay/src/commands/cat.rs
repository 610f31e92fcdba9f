//! `belay cat`: the bytes of a file as they were.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::store::{Entry, Kind};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::escape;
use crate::view;

/// Print a file as it is in a snapshot
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  belay cat @latest .env
  belay cat before-refactor src/main.rs | diff - src/main.rs";

/// Writes the file's bytes to standard output, as they were.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let path = context.beneath(&workspace, &args.path)?;
    let snapshot = workspace.resolve(&args.snapshot)?;
    let tree = workspace.tree(&snapshot)?;
    let entry = workspace.entry(&tree, &path)?.ok_or_else(|| missing(&path, &snapshot.id))?;
    if !matches!(entry.kind, Kind::File { .. }) {
        return Err(not_a_file(&path, &entry, &snapshot.id));
    }
    if context.ui.json {
        let bytes = workspace.read(&tree, &path, &entry)?;
        context.ui.print_json(&to_json(&path, &entry, &bytes))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Bytes of a file go out unchanged, whatever they are: colours in them are the file's own.
    let mut out = std::io::stdout().lock();
    workspace.stream(&tree, &entry, &mut |bytes| out.write_all(bytes))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn missing(path: &[u8], id: &str) -> Failure {
    Failure::not_found(format!("{} is not in {id}", view::relative(path)))
        .hint("`belay find NAME` tells which snapshots hold a path")
}

fn not_a_file(path: &[u8], entry: &Entry, id: &str) -> Failure {
    let name = view::relative(path);
    match &entry.kind {
        Kind::Symlink(target) => {
            let target = escape::printable(target);
            Failure::not_found(format!("{name} is a symbolic link to {target}"))
        }
        Kind::Opaque { reason, .. } => {
            let why = view::opaque_name(*reason);
            Failure::not_found(format!("{name} was seen, but not captured ({why})"))
        }
        Kind::Dir { .. } => {
            Failure::not_found(format!("{name} is a directory")).hint(format!("`belay ls {id} {name}` lists it"))
        }
        other => Failure::not_found(format!("{name} is a {}", view::type_name(other.file_type()))),
    }
}

fn to_json(path: &[u8], entry: &Entry, bytes: &[u8]) -> Value {
    let mut object = Map::new();
    escape::put_path(&mut object, "path", path);
    escape::put_path(&mut object, "content", bytes);
    object.insert("entry".to_owned(), view::entry_json(entry));
    object.into()
}
