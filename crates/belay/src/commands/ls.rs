//! `belay ls`: what a snapshot holds.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::store::{Entry, FileType, Kind};
use belay_session::{Error, Snapshot, Tree, Workspace};
use serde_json::{Map, Value};

use crate::commands::cat::missing;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::{Out, escape, quantity, style};
use crate::view;

/// List what a snapshot holds, and what it lacks
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot; the newest by default
    #[arg(value_name = "SNAP")]
    snapshot: Option<String>,

    /// A file or directory; the current directory by default
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,

    /// Show mode, owner, size and time
    #[arg(short, long)]
    long: bool,

    /// List what is in directories, too
    #[arg(short = 'R', long)]
    recursive: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay ls
  belay ls @latest src
  belay ls -l before-refactor src
  belay ls -R snap_k8m2p1 --json

A name in brackets was seen but not captured; the reason follows.";

/// Prints the entries in the order of their names.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let here = context.beneath(&workspace, Path::new("."))?;
    let path = match &args.path {
        Some(path) => context.beneath(&workspace, path)?,
        None => here.clone(),
    };
    let snapshot = named(context, &workspace, args.snapshot.as_deref())?;
    let tree = workspace.tree(&snapshot)?;
    let Some(entry) = workspace.entry(&tree, &path)? else { return Err(missing(&workspace, &tree, &path)?) };
    let (out, json) = (context.ui.paged(), context.ui.json);
    let mut lister = Lister { workspace: &workspace, tree: &tree, out, json, here, args: &args };
    if matches!(entry.kind, Kind::Dir { .. }) {
        lister.directory(&path)?;
    } else {
        lister.entry(&path, &entry)?;
    }
    lister.out.finish()?;
    say_gaps(context, &workspace, &tree, &snapshot)?;
    Ok(ExitCode::SUCCESS)
}

/// Someone who types a path where a snapshot is expected is told how to say it.
fn named(context: &Context<'_>, workspace: &Workspace<'_>, name: Option<&str>) -> Result<Snapshot> {
    match (workspace.resolve(name.unwrap_or("@latest")), name) {
        (Err(error @ Error::UnknownSnapshot { .. }), Some(name)) if context.has_path(name)? => {
            Err(Failure::from(error).hint(format!("to list the path: `belay ls @latest {name}`")))
        }
        (other, _) => Ok(other?),
    }
}

struct Lister<'a> {
    workspace: &'a Workspace<'a>,
    tree: &'a Tree,
    out: Out,
    json: bool,
    /// The current directory; names are shown as they can be typed there.
    here: Vec<u8>,
    args: &'a Args,
}

impl Lister<'_> {
    /// An explicit stack, because trees may be deeper than ours.
    fn directory(&mut self, path: &[u8]) -> Result<()> {
        let mut waiting = self.children(path)?;
        while let Some((path, entry)) = waiting.pop() {
            self.entry(&path, &entry)?;
            if self.args.recursive && matches!(entry.kind, Kind::Dir { .. }) {
                waiting.extend(self.children(&path)?);
            }
        }
        Ok(())
    }

    fn children(&self, path: &[u8]) -> Result<Vec<(Vec<u8>, Entry)>> {
        let entries = self.workspace.list(self.tree, path)?.unwrap_or_default();
        let joined = |entry: Entry| {
            let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
            ([path, separator, &entry.name].concat(), entry)
        };
        Ok(entries.into_iter().rev().map(joined).collect())
    }

    fn entry(&mut self, path: &[u8], entry: &Entry) -> Result<()> {
        if self.json {
            return self.out.json(&to_json(path, entry));
        }
        let path = from(&self.here, path);
        let line = if self.args.long { long_line(&path, entry) } else { name(&path, entry) };
        Ok(writeln!(self.out, "{line}")?)
    }
}

/// A path beneath the workspace as it is typed in the directory `here`.
fn from(here: &[u8], path: &[u8]) -> Vec<u8> {
    let mut rest = path;
    let mut steps = here.split(|byte| *byte == b'/').filter(|step| !step.is_empty()).peekable();
    while let Some(step) = steps.peek() {
        let Some(below) = rest.strip_prefix(*step).filter(|below| below.is_empty() || below.starts_with(b"/")) else {
            break;
        };
        rest = below.strip_prefix(b"/").unwrap_or(below);
        steps.next();
    }
    let ups = b"../".repeat(steps.count());
    [&ups, rest].concat()
}

fn name(path: &[u8], entry: &Entry) -> String {
    let text = view::relative(path);
    let slash = if entry.kind.file_type() == FileType::Dir { "/" } else { "" };
    match &entry.kind {
        Kind::Opaque { reason, .. } => {
            let dim = style::DIM;
            format!("{dim}[{text}{slash}] {}{dim:#}", view::opaque_name(*reason))
        }
        _ => format!("{text}{slash}"),
    }
}

fn long_line(path: &[u8], entry: &Entry) -> String {
    let (mode, amount) = (view::mode_text(entry), view::amount(entry));
    let time = view::mtime(entry).map(quantity::moment).unwrap_or_default();
    let link = match &entry.kind {
        Kind::Symlink(target) => format!(" -> {}", escape::printable(target)),
        _ => String::new(),
    };
    let (uid, gid) = (entry.meta.uid, entry.meta.gid);
    format!("{mode} {uid:>5} {gid:>5} {amount:>8} {time:<19} {}{link}", name(path, entry))
}

fn to_json(path: &[u8], entry: &Entry) -> Value {
    let mut object = Map::new();
    escape::put_path(&mut object, "path", path);
    if let Value::Object(more) = view::entry_json(entry) {
        object.extend(more);
    }
    object.into()
}

fn say_gaps(context: &Context<'_>, workspace: &Workspace<'_>, tree: &Tree, snapshot: &Snapshot) -> Result<()> {
    if !snapshot.is_partial() || context.ui.json {
        return Ok(());
    }
    context.ui.warn(format_args!("{} lacks {}:", snapshot.id, quantity::count(snapshot.gaps, "path")));
    let coverage = tree.coverage(workspace.home().store())?;
    for gap in coverage.gaps.iter().filter(|gap| !gap.kind.is_wanted()) {
        context.ui.tell(format_args!("  {}", view::gap(gap)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::from;

    #[test]
    fn names_can_be_typed_where_they_are_shown() {
        assert_eq!(from(b"", b"src/main.rs"), b"src/main.rs");
        assert_eq!(from(b"src", b"src/main.rs"), b"main.rs");
        assert_eq!(from(b"src/deep", b"src/main.rs"), b"../main.rs");
        assert_eq!(from(b"src", b"srcs/a"), b"../srcs/a");
    }
}
