//! `belay du`: what the snapshots cost.

use std::io::Write;
use std::process::ExitCode;

use belay_session::store::{HeavyPath, Usage};
use belay_session::{Du, DuRow, Home};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity::{self, count, size};
use crate::ui::table::{Cell, Table};
use crate::ui::{Out, style};
use crate::view;

/// Show how much space the snapshots take
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show for each snapshot what deleting it alone would free, and which paths take most
    #[arg(long)]
    why: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay du
  belay du --why";

/// Prints the cost of the store, of each workspace, and of each snapshot if asked.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let du = context.ui.while_working("Weighing", || home.du(args.why))?;
    if context.ui.json {
        context.ui.print_json(&to_json(&home, &du))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    write(&mut out, &home, &du)?;
    if args.why {
        du.workspaces.iter().try_for_each(|row| write_snapshots(&mut out, &home, &du, row))?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn write(out: &mut Out, home: &Home, du: &Du) -> Result<()> {
    let Usage { packs, objects, stored_bytes, content_bytes } = du.usage;
    let (packs, objects) = (count(packs, "pack"), count(objects, "object"));
    writeln!(out, "{} on disk in {}", size(stored_bytes), view::path(home.path()))?;
    writeln!(out, "{packs}, {objects}, {} before compression", size(content_bytes))?;
    if du.workspaces.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new(&["WORKSPACE", "ONLY HERE", "PATH"]);
    for row in &du.workspaces {
        let only = size(row.exclusive_bytes);
        table.row(vec![Cell::new(row.id.as_str(), style::ID), only.into(), place(home, du, row).into()]);
    }
    Ok(table.write(out)?)
}

/// Where a workspace is; a fork that is a layer is nowhere that one could go to.
fn place(home: &Home, du: &Du, row: &DuRow) -> String {
    match home.fork_of(&row.id).ok().flatten().filter(|fork| fork.directory().is_none()) {
        Some(fork) => {
            let origin = du.workspaces.iter().find(|other| other.id == fork.origin);
            let origin = origin.map_or_else(|| fork.origin.clone(), |origin| view::path(&origin.path));
            format!("{origin} (fork {})", fork.name)
        }
        None => view::path(&row.path),
    }
}

fn write_snapshots(out: &mut Out, home: &Home, du: &Du, row: &DuRow) -> Result<()> {
    writeln!(out, "\n{}", place(home, du, row))?;
    let now = home.now().timestamp();
    let mut table = Table::new(&["ID", "TYPE", "CREATED", "FREED IF DELETED", "HOLDS", "LABEL"]);
    for (snapshot, freed) in &row.snapshots {
        table.row(vec![
            Cell::new(snapshot.id.as_str(), style::ID),
            snapshot.kind.name().into(),
            quantity::age(snapshot.created_at, now).into(),
            size(*freed).into(),
            size(snapshot.bytes).into(),
            crate::ui::escape::printable(snapshot.label.as_deref().unwrap_or_default().as_bytes()).into(),
        ]);
    }
    table.write(out)?;
    if row.paths.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhat takes most in there, over all snapshots:")?;
    let mut table = Table::new(&["ON DISK", "PATH"]);
    for heavy in &row.paths {
        let slash = if heavy.is_dir { "/" } else { "" };
        table.row(vec![size(heavy.bytes).into(), format!("{}{slash}", view::relative(&heavy.path)).into()]);
    }
    Ok(table.write(out)?)
}

fn heavy_json(heavy: &HeavyPath) -> Value {
    let mut object = serde_json::Map::new();
    crate::ui::escape::put_path(&mut object, "path", &heavy.path);
    object.insert("directory".to_owned(), heavy.is_dir.into());
    object.insert("bytes".to_owned(), heavy.bytes.into());
    object.into()
}

fn to_json(home: &Home, du: &Du) -> Value {
    let workspaces = du.workspaces.iter().map(|row| {
        let weighed =
            |(snapshot, freed): &(belay_session::Snapshot, u64)| json!({ "id": snapshot.id, "freed_bytes": freed });
        json!({
            "workspace": row.id,
            "path": row.path.to_string_lossy(),
            "exclusive_bytes": row.exclusive_bytes,
            "snapshots": row.snapshots.iter().map(weighed).collect::<Vec<_>>(),
            "paths": row.paths.iter().map(heavy_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "home": home.path().to_string_lossy(),
        "stored_bytes": du.usage.stored_bytes,
        "content_bytes": du.usage.content_bytes,
        "packs": du.usage.packs,
        "objects": du.usage.objects,
        "workspaces": workspaces.collect::<Vec<_>>(),
    })
}
