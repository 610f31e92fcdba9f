//! `belay cat`: the bytes of a file as they were.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::store::{Entry, Kind};
use belay_session::{Tree, Workspace};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{FIND, Failure, Result};
use crate::ui::escape;
use crate::view;

/// Print a file as it is in a snapshot
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, allow_missing_positional = true)]
pub(crate) struct Args {
    /// The snapshot; the newest by default
    #[arg(value_name = "SNAP")]
    snapshot: Option<String>,

    /// The file
    #[arg(value_name = "PATH", required = true)]
    path: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  belay cat .env
  belay cat @turn-3 .env
  belay cat before-refactor src/main.rs | diff - src/main.rs";

/// Writes the file's bytes to standard output, as they were.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let path = context.beneath(&workspace, &args.path)?;
    let snapshot = workspace.resolve(args.snapshot.as_deref().unwrap_or("@latest"))?;
    let tree = workspace.tree(&snapshot)?;
    let Some(entry) = workspace.entry(&tree, &path)? else { return Err(missing(&workspace, &tree, &path)?) };
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

/// Says that a path is not in a snapshot, and what is called alike.
pub(crate) fn missing(workspace: &Workspace<'_>, tree: &Tree, path: &[u8]) -> Result<Failure> {
    let id = tree.snapshot.as_ref().map_or("the workspace", |snapshot| &snapshot.id);
    let nearest: Vec<String> = workspace.nearest_paths(tree, path)?.iter().map(|path| view::relative(path)).collect();
    Ok(Failure::not_found(format!("{} is not in {id}", view::relative(path))).nearest(&nearest).hint(FIND))
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
