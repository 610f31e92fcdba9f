//! `belay verify`: finds damage in the store, and heals what can be healed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::{Health, Home, Mended, RepairReport};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity::{count, grouped, size};
use crate::ui::{Out, escape, style};
use crate::view;

/// Check that every snapshot can be restored
///
/// Checks that everything a snapshot needs is there, and with --deep that every byte is as it was written. Exits
/// with 1 when something is damaged, and names the snapshots and files that it concerns.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read and check every byte
    #[arg(long)]
    deep: bool,

    /// Bring back lost records, store damaged content anew where a workspace still holds it, and set the rest aside
    #[arg(long)]
    repair: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay verify
  belay verify --deep
  belay verify --deep --repair";

/// So many snapshots and paths that one damage concerns are named.
const NAMED_MAX: usize = 5;

/// Checks, repairs if asked, and reports; 1 when damage remains.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let (home, mended) = match args.repair {
        true => context.mended_home()?,
        false => (context.settled_home()?, Vec::new()),
    };
    let health = check(context, &home, args.deep)?;
    let is_asked = args.repair && (!health.is_sound() || !mended.is_empty());
    let repaired = if is_asked { Some(home.repair(&health)?) } else { None };
    let after = match &repaired {
        Some(_) => Some(check(context, &home, args.deep)?),
        None => None,
    };
    let is_sound = after.as_ref().unwrap_or(&health).is_sound();
    if context.ui.json {
        context.ui.print_json(&to_json(&health, &mended, repaired.as_ref(), is_sound))?;
    } else {
        let mut out = context.ui.paged();
        mended.iter().try_for_each(|one| write_mended(&mut out, one))?;
        write(&mut out, &health, args.deep)?;
        if let Some(repaired) = &repaired {
            write_repair(&mut out, repaired, is_sound)?;
            if let Some(after) = after.as_ref().filter(|after| !after.store.damage.is_empty()) {
                writeln!(out, "Still damaged:")?;
                write_damage(&mut out, after)?;
            }
        }
        out.finish()?;
        match repaired {
            _ if is_sound => {}
            None => context.ui.hint(
                "`belay verify --deep --repair` heals what a workspace or another snapshot still holds; nothing is restored from damage",
            ),
            Some(_) => hint_at_giving_up(context, after.as_ref().unwrap_or(&health)),
        }
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what to type for whatever cannot be healed.
fn hint_at_giving_up(context: &Context<'_>, health: &Health) {
    let concerned = health.affected.iter().map(|one| (one.workspace.as_path().to_path_buf(), one.snapshot.id.clone()));
    let concerned: BTreeSet<(PathBuf, String)> = concerned.collect();
    context.ui.hint("other snapshots are not concerned; `belay gc` may free nothing until those that are are given up");
    for way in view::ways_to_give_up(&concerned.into_iter().collect::<Vec<_>>()) {
        context.ui.hint(format_args!("{way} gives up what cannot be healed"));
    }
}

fn write_mended(out: &mut Out, mended: &Mended) -> Result<()> {
    match mended {
        Mended::Format { format, algorithm } => {
            let hash = algorithm.name();
            writeln!(out, "Made again: store/format (format {format}, {hash}), as what is stored proves.")?;
        }
        Mended::Packs => writeln!(out, "Made again: store/packs, without what was in it.")?,
        Mended::Aside { name, to } => {
            writeln!(out, "Set aside: what was in the place of {name}; it is {} now.", view::path(to))?;
        }
    }
    Ok(())
}

fn check(context: &Context<'_>, home: &Home, deep: bool) -> Result<Health> {
    let meter = context.ui.meter("Checking").counting("object");
    Ok(home.verify(deep, Context::watched(&meter))?)
}

fn write(out: &mut Out, health: &Health, deep: bool) -> Result<()> {
    let (good, bad) = (style::GOOD, style::BAD);
    let snapshots = count(health.snapshots as u64, "snapshot");
    let objects = count(health.store.objects, "object");
    let read = if deep { format!(", {} read", size(health.store.bytes)) } else { String::new() };
    if health.is_sound() {
        writeln!(out, "{good}Sound:{good:#} {snapshots}, {objects} checked{read}.")?;
        if !deep {
            writeln!(out, "Everything that they need is there; --deep checks every byte, too.")?;
        }
        return Ok(());
    }
    writeln!(out, "{bad}Damaged:{bad:#} {snapshots}, {objects} checked{read}.")?;
    for damage in &health.timelines {
        writeln!(out, "  {} at byte {}: {}", damage.file, damage.offset, damage.detail)?;
    }
    write_damage(out, health)
}

/// Each damage once, with what it concerns.
fn write_damage(out: &mut Out, health: &Health) -> Result<()> {
    for (at, damage) in health.store.damage.iter().enumerate() {
        writeln!(out, "  {}: {}", damage.file, damage.detail)?;
        let mut concerned: BTreeMap<&Path, Concerned<'_>> = BTreeMap::new();
        let from = health.affected.partition_point(|one| one.damage < at);
        for one in health.affected[from..].iter().take_while(|one| one.damage == at) {
            let concerned = concerned.entry(one.workspace.as_path()).or_default();
            concerned.snapshots.insert(one.snapshot.number, &one.snapshot.id);
            concerned.paths.insert(&one.path);
        }
        for (workspace, concerned) in concerned {
            write_concerned(out, workspace, &concerned)?;
        }
        let unnamed = damage.affected - damage.affects.len() as u64;
        if unnamed > 0 {
            writeln!(out, "    and {} more places, which are not named", grouped(unnamed))?;
        }
    }
    Ok(())
}

/// What of one workspace one damage concerns.
#[derive(Default)]
struct Concerned<'a> {
    /// By their numbers.
    snapshots: BTreeMap<u64, &'a str>,
    paths: BTreeSet<&'a [u8]>,
}

fn write_concerned(out: &mut Out, workspace: &Path, concerned: &Concerned<'_>) -> Result<()> {
    let Concerned { snapshots, paths } = concerned;
    let named: Vec<&str> = snapshots.values().take(NAMED_MAX).copied().collect();
    let more = snapshots.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {} more", grouped(more as u64)) } else { String::new() };
    let (of_paths, of_snapshots) = (count(paths.len() as u64, "path"), count(snapshots.len() as u64, "snapshot"));
    writeln!(out, "    {of_paths} in {of_snapshots} of {}: {}{more}", view::path(workspace), named.join(", "))?;
    for path in paths.iter().take(NAMED_MAX) {
        writeln!(out, "      {}", view::relative(path))?;
    }
    let more = paths.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        writeln!(out, "      and {} more; --json names all", grouped(more as u64))?;
    }
    Ok(())
}

fn write_repair(out: &mut Out, repaired: &RepairReport, is_sound: bool) -> Result<()> {
    writeln!(out, "Repaired: {} stored anew from what is left.", count(repaired.healed, "object"))?;
    if repaired.records_restored > 0 {
        writeln!(out, "Brought back: {}, as they were.", count(repaired.records_restored, "record"))?;
    }
    if repaired.snapshots_found > 0 {
        let found = count(repaired.snapshots_found, "snapshot");
        writeln!(out, "Found again: {found}, under new ids and without labels.")?;
    }
    if !repaired.unclaimed.is_empty() {
        let found = count(repaired.unclaimed.len() as u64, "snapshot");
        writeln!(out, "Found, and not certain whose: {found}, kept until they are deleted by id.")?;
        for snapshot in &repaired.unclaimed {
            let (files, bytes) = (count(snapshot.files, "file"), size(snapshot.bytes));
            writeln!(out, "  {}  {files}, {bytes}: `belay ls {0}`, `belay rollback {0} --to DIR`", snapshot.id)?;
        }
    }
    if repaired.rollbacks_found > 0 {
        let found = count(repaired.rollbacks_found, "interrupted rollback");
        writeln!(out, "Found again: {found}; the next command in the workspace finishes it.")?;
    }
    if repaired.records_dropped > 0 {
        writeln!(out, "Set aside: {} that cannot be read.", count(repaired.records_dropped, "record"))?;
    }
    if !repaired.lost.is_empty() {
        writeln!(
            out,
            "Lost: {}, which no workspace and no other snapshot holds any more.",
            count(repaired.lost.len() as u64, "object")
        )?;
    }
    if is_sound {
        writeln!(out, "Everything is sound now.")?;
    }
    Ok(())
}

fn to_json(health: &Health, mended: &[Mended], repaired: Option<&RepairReport>, is_sound: bool) -> Value {
    let mended = mended.iter().map(|one| match one {
        Mended::Format { format, algorithm } => {
            json!({ "file": "store/format", "format": format, "hash": algorithm.name() })
        }
        Mended::Packs => json!({ "file": "store/packs" }),
        Mended::Aside { name, to } => json!({ "file": name, "aside": to.to_string_lossy() }),
    });
    let damage = health.store.damage.iter();
    let damage = damage.map(|one| json!({ "file": one.file, "detail": one.detail, "affected": one.affected }));
    let timelines = health.timelines.iter();
    let timelines = timelines.map(|one| json!({ "file": one.file, "offset": one.offset, "detail": one.detail }));
    let affected = health.affected.iter().map(|one| {
        let mut object = Map::new();
        object.insert("damage".to_owned(), one.damage.into());
        object.insert("workspace".to_owned(), one.workspace.to_string_lossy().into());
        object.insert("snapshot".to_owned(), one.snapshot.id.as_str().into());
        escape::put_path(&mut object, "path", &one.path);
        Value::from(object)
    });
    json!({
        "sound": is_sound,
        "snapshots": health.snapshots,
        "objects": health.store.objects,
        "bytes": health.store.bytes,
        "mended": mended.collect::<Vec<_>>(),
        "damage": damage.chain(timelines).collect::<Vec<_>>(),
        "affected": affected.collect::<Vec<_>>(),
        "repaired": repaired.map(|repaired| json!({
            "healed": repaired.healed,
            "lost": repaired.lost.iter().map(|hash| hash.to_hex()).collect::<Vec<_>>(),
            "records_restored": repaired.records_restored,
            "snapshots_found": repaired.snapshots_found,
            "unclaimed": view::snapshots_json(&repaired.unclaimed),
            "records_dropped": repaired.records_dropped,
            "rollbacks_found": repaired.rollbacks_found,
        })),
    })
}
