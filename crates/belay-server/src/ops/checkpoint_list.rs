//! Looking at checkpoints: which there are, what differs from them, and the versions of one path.

use std::collections::BTreeMap;

use belay_session::store::{Change, Entry, FileType, Hash, Kind as EntryKind, Scope};
use belay_session::{Kind, Snapshot, VersionState, Workspace};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Call;
use super::checkpoint::name_of;
use crate::error::{Error, Result};
use crate::page::{Item, Paged};
use crate::reply::Reply;
use crate::words::{self, age, count, seconds};

/// Lists every snapshot, newest first.
pub(super) fn list(call: &Call<'_>) -> Result<Reply> {
    let workspace = call.workspace;
    let timeline = workspace.timeline()?;
    let now = workspace.home().now().timestamp();
    let all = timeline.snapshots();
    let with_changes = call.arguments.flag("include_changes");
    // The newest first, and only those of the page.
    let mut item = |nth: usize| {
        let at = all.len() - 1 - nth;
        let before = at.checked_sub(1).map(|at| &all[at]).filter(|_| with_changes);
        listed(workspace, &all[at], before, now)
    };
    let (available, max) = workspace.manual_slots_of(&timeline);
    let head = match all.len() {
        0 => String::new(),
        number => format!("{}; {available} of {max} manual slots are free\n", count(number as u64, "snapshot")),
    };
    let extra = Map::from_iter([
        ("manual_available".to_owned(), Value::from(available)),
        ("manual_max".to_owned(), Value::from(max)),
    ]);
    let none = "no snapshots yet; snapshots_create takes one";
    let paged = Paged { key: "checkpoints", none, items: Vec::new(), head, extra };
    paged.reply_with(call.arguments, all.len(), &mut item)
}

fn listed(workspace: &Workspace<'_>, snapshot: &Snapshot, before: Option<&Snapshot>, now: Timestamp) -> Result<Item> {
    // One that is damaged stands in the list all the same, but its hash would tell of what is hidden.
    let nothing = |_| Snapshot { root: Hash([0; 32]), files: 0, ..snapshot.clone() };
    let told = workspace.as_told(snapshot).unwrap_or_else(nothing);
    let (name, hash) = (name_of(snapshot), told.root.to_hex());
    let origin = snapshot.origin.name();
    let kind = snapshot.kind.name();
    let age = age(snapshot.created_at, now);
    let turn = snapshot.cause.turn.filter(|_| snapshot.kind == Kind::Turn);
    let prompt = turn.and(snapshot.cause.trigger.as_deref());
    let label = match (snapshot.label.as_deref(), turn) {
        (Some(label), _) => format!(" {label}"),
        (None, Some(turn)) => {
            let prompt = prompt.map(|prompt| format!(" \"{}\"", words::line(prompt.as_bytes())));
            format!(" @turn-{turn}{}", prompt.unwrap_or_default())
        }
        (None, None) => String::new(),
    };
    let mut line = format!("{name}{label} ({kind}, {age}, {}, hash {})", count(told.files, "file"), &hash[..12]);
    let mut data = json!({
        "checkpoint": name,
        "slot": snapshot.slot,
        "id": snapshot.id,
        "number": snapshot.number,
        "type": kind,
        "origin": origin,
        "name": snapshot.label,
        "turn": turn,
        "prompt": prompt,
        "hash": hash,
        "age": age,
        "age_seconds": seconds(snapshot.created_at, now),
        "created_at": snapshot.created_at.to_string(),
        "files_count": told.files,
    });
    if let Some(before) = before {
        let changes = tally(workspace, before, snapshot)?;
        line.push_str(&format!(": {} created, {} modified, {} deleted", changes[0], changes[1], changes[2]));
        data["changes"] = json!({ "created": changes[0], "modified": changes[1], "deleted": changes[2] });
    }
    Ok((line, data))
}

/// How many files were created, modified and deleted from one snapshot to the other.
fn tally(workspace: &Workspace<'_>, before: &Snapshot, after: &Snapshot) -> Result<[u64; 3]> {
    let mut counts = [0; 3];
    if before.manifest != after.manifest {
        let (before, after) = (workspace.tree(before)?, workspace.tree(after)?);
        for change in workspace.changes(&before, &after, &Scope::default())?.iter().filter(|change| is_told(change)) {
            counts[operation(change) as usize] += 1;
        }
    }
    Ok(counts)
}

#[derive(Clone, Copy)]
enum Deed {
    Created,
    Modified,
    Deleted,
}

impl Deed {
    fn name(self) -> &'static str {
        match self {
            Deed::Created => "created",
            Deed::Modified => "modified",
            Deed::Deleted => "deleted",
        }
    }
}

fn operation(change: &Change) -> Deed {
    match (&change.before, &change.after) {
        (None, _) => Deed::Created,
        (_, None) => Deed::Deleted,
        _ => Deed::Modified,
    }
}

/// Files, links and their like; a directory is told by what is in it, unless there is nothing.
fn is_told(change: &Change) -> bool {
    let is_full = |entry: &Entry| matches!(entry.kind, EntryKind::Dir { files: 1.., .. });
    let is_dir = |entry: &Entry| entry.kind.file_type() == FileType::Dir;
    let entries = || [&change.before, &change.after].into_iter().flatten();
    let what = change.what();
    !what.is_nothing()
        && !what.opaque
        && (!entries().all(is_dir) || (entries().count() == 1 && !entries().any(is_full)))
}

/// Each path that differs, with the newest checkpoint that it differs from.
pub(super) fn changes(call: &Call<'_>) -> Result<Reply> {
    let workspace = call.workspace;
    let now = workspace.home().now().timestamp();
    let present = workspace.present(call.work)?;
    let timeline = workspace.timeline()?;
    let mut found: BTreeMap<Vec<u8>, (Change, &Snapshot)> = BTreeMap::new();
    let mut last = None;
    // What belay saved before a rollback is no state that anybody asked to compare with.
    for snapshot in timeline.snapshots().iter().rev().filter(|snapshot| snapshot.kind != Kind::Safety) {
        if last.replace(snapshot.manifest) == Some(snapshot.manifest) {
            continue;
        }
        if call.work.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::Refused("cancelled".to_owned()));
        }
        for change in workspace.changes(&workspace.tree(snapshot)?, &present, &Scope::default())? {
            if is_told(&change) && !found.contains_key(&change.path) {
                found.insert(change.path.clone(), (change, snapshot));
            }
        }
    }
    let items = found.into_values().map(|(change, snapshot)| changed(&change, snapshot, now)).collect();
    let none = match timeline.snapshots().is_empty() {
        true => "no snapshots yet; snapshots_create takes one",
        false => "nothing differs from any checkpoint",
    };
    Ok(Paged { key: "changes", none, items, head: String::new(), extra: Map::new() }.reply(call.arguments))
}

fn changed(change: &Change, snapshot: &Snapshot, now: Timestamp) -> Item {
    let entry = change.after.as_ref().or(change.before.as_ref()).expect("a change has a side");
    let size = size_of(entry);
    let (path, op, checkpoint) = (words::path(&change.path), operation(change).name(), name_of(snapshot));
    let age = age(snapshot.created_at, now);
    let line = format!("{op} {path} ({}) since {checkpoint}, {age}", count(size, "byte"));
    let is_symlink = entry.kind.file_type() == FileType::Symlink;
    let data = json!({
        "path": path, "op": op, "size": size, "is_symlink": is_symlink, "checkpoint": checkpoint, "age": age,
        "age_seconds": seconds(snapshot.created_at, now),
    });
    (line, data)
}

fn size_of(entry: &Entry) -> u64 {
    match &entry.kind {
        EntryKind::File { size, .. } => *size,
        EntryKind::Symlink(text) => text.len() as u64,
        EntryKind::Dir { bytes, .. } => *bytes,
        _ => 0,
    }
}

/// The versions of a path, newest first.
pub(super) fn history(call: &Call<'_>) -> Result<Reply> {
    let path = words::beneath(call.workspace, call.arguments.required("path"))?;
    let now = call.workspace.home().now().timestamp();
    let versions = call.workspace.history(&path)?;
    let name = words::path(&path);
    // Of these nobody can say what became of it.
    let (uncaptured, versions): (Vec<_>, Vec<_>) =
        versions.into_iter().rev().partition(|version| version.state == VersionState::Uncaptured);
    let mut text = match versions.is_empty() {
        true => format!("no snapshot holds {name}"),
        false => format!("{name}, newest first:"),
    };
    let mut list = Vec::new();
    for version in &versions {
        let state = match version.state {
            VersionState::New => "new",
            VersionState::Modified => "modified",
            VersionState::Unchanged => "unchanged",
            VersionState::Deleted => "deleted",
            VersionState::Uncaptured => continue,
        };
        let size = version.entry.as_ref().map(size_of);
        let (checkpoint, age) = (name_of(&version.snapshot), age(version.snapshot.created_at, now));
        let bytes = size.map(|size| format!(", {}", count(size, "byte"))).unwrap_or_default();
        text.push_str(&format!("\n{checkpoint}: {state}{bytes}, {age}"));
        list.push(json!({
            "checkpoint": checkpoint, "id": version.snapshot.id, "name": version.snapshot.label, "status": state,
            "size": size, "age": age, "created_at": version.snapshot.created_at.to_string(),
        }));
    }
    let mut data = json!({ "path": name, "versions": list });
    if !uncaptured.is_empty() {
        let names: Vec<String> = uncaptured.iter().map(|version| name_of(&version.snapshot)).collect();
        text.push_str(&format!("\nnot captured, though it was there: {}; {LEFT_OUT}", names.join(", ")));
        data["not_captured"] = names.into();
    }
    Ok(Reply::new(text, data))
}

/// Why a snapshot does not hold what was there.
pub(super) const LEFT_OUT: &str = "what is left out, or cannot be read, belay_status tells";
