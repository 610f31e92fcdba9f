//! Checkpoints come and go: create, delete, compact.

use belay_session::{Pool, Snapshot, SnapshotRequest};
use serde_json::{Value, json};

use super::Call;
use crate::error::{Error, Result};
use crate::reply::Reply;
use crate::words::{count, line};

/// What a snapshot is called in these operations: its slot, or where it has none its id.
pub(super) fn name_of(snapshot: &Snapshot) -> String {
    snapshot.checkpoint().unwrap_or_else(|| snapshot.id.clone())
}

/// Takes a named checkpoint.
pub(super) fn create(call: &Call<'_>) -> Result<Reply> {
    let label = Some(call.arguments.required("name").to_owned());
    let request = SnapshotRequest { label, pool: Some(Pool::Manual), ..SnapshotRequest::default() };
    // It is durable, and what is left to do is for those who come later.
    let told = |snapshot: &Snapshot| created(call, snapshot).into_iter().for_each(call.answer);
    let taken = call.workspace.snapshot_then(&request, call.work, told)?;
    created(call, &taken.snapshot)
}

fn created(call: &Call<'_>, snapshot: &Snapshot) -> Result<Reply> {
    let (available, max) = call.workspace.manual_slots()?;
    let snapshot = &call.workspace.as_told(snapshot)?;
    let mut reply = made(snapshot, available);
    reply.text = format!("created {}; {available} of {max} manual slots are free", described(snapshot));
    Ok(with_gaps(call, reply, snapshot))
}

/// Says what the snapshot should hold and does not.
pub(super) fn with_gaps(call: &Call<'_>, mut reply: Reply, snapshot: &Snapshot) -> Reply {
    if snapshot.is_partial() {
        let missing = count(snapshot.gaps, "path");
        // A coverage that cannot be read is no reason to keep silent about it.
        let which = call.workspace.lacking(snapshot).map(|which| format!(": {}", line(which.as_bytes())));
        let which = which.unwrap_or_default();
        reply.text = format!("{}\nwarning: it lacks {missing} that could not be captured{which}", reply.text);
        reply.data["missing"] = snapshot.gaps.into();
    }
    reply
}

fn described(snapshot: &Snapshot) -> String {
    let name = snapshot.label.as_deref().unwrap_or("without a name");
    format!("{} ({name}, {}, hash {})", name_of(snapshot), count(snapshot.files, "file"), &snapshot.root.to_hex()[..12])
}

fn made(snapshot: &Snapshot, available: u32) -> Reply {
    let data = json!({
        "checkpoint": name_of(snapshot),
        "slot": snapshot.slot,
        "id": snapshot.id,
        "name": snapshot.label,
        "hash": snapshot.root.to_hex(),
        "files_count": snapshot.files,
        "available": available,
    });
    Reply::new(String::new(), data)
}

/// Deletes a checkpoint of the manual pool.
pub(super) fn delete(call: &Call<'_>) -> Result<Reply> {
    let snapshot = call.workspace.resolve(call.arguments.required("checkpoint"))?;
    if snapshot.pool != Some(Pool::Manual) {
        return Err(Error::Refused(format!(
            "{} was not made with snapshots_create, so it is not deleted: belay keeps it as a way back",
            name_of(&snapshot)
        )));
    }
    call.workspace.delete(std::slice::from_ref(&snapshot.id))?;
    let (available, max) = call.workspace.manual_slots()?;
    let text = format!("deleted {}; {available} of {max} manual slots are free", described(&snapshot));
    Ok(Reply::new(text, json!({ "deleted": true, "checkpoint": name_of(&snapshot), "available": available })))
}

/// Makes one checkpoint of several.
pub(super) fn compact(call: &Call<'_>) -> Result<Reply> {
    let mut ids: Vec<String> = Vec::new();
    let mut names: Vec<Value> = Vec::new();
    for name in call.arguments.texts("checkpoints") {
        let snapshot = call.workspace.resolve(name)?;
        if !ids.contains(&snapshot.id) {
            names.push(name_of(&snapshot).into());
            ids.push(snapshot.id);
        }
    }
    let made_of = call.workspace.compact(&ids, call.arguments.text("name").map(str::to_owned))?;
    let (available, _) = call.workspace.manual_slots()?;
    let mut reply = made(&made_of, available);
    reply.text = format!("compacted {} into {}", count(ids.len() as u64, "checkpoint"), described(&made_of));
    reply.data["compacted"] = names.into();
    Ok(with_gaps(call, reply, &made_of))
}
