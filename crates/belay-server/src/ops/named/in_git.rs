//! Named states as commits beneath `refs/sandbox/snapshots/` of the workspace's own repository.
//!
//! They hold what git sees. A complete snapshot of the same moment goes into belay's store, where no agent reaches it.

use belay_session::store::{Left, LeftReason, MtimePolicy, OnDamage};
use belay_session::{
    CommitRequest, Committed, Error as SessionError, Goal, RewindRequest, SNAPSHOT_REFS, SnapshotRequest,
};
use serde_json::json;

use super::super::Call;
use super::super::checkpoint::with_gaps;
use super::super::way_back::{rewind, with_left};
use super::{Row, changed_files, on_one_line, restored};
use crate::error::Result;
use crate::reply::Reply;
use crate::words;

/// How many lost paths an answer names.
const LOST_SHOWN_MAX: usize = 20;

/// The ref that a name means: always one of these, whatever git itself calls by that name.
pub(super) fn full(name: &str) -> String {
    if name.starts_with(SNAPSHOT_REFS) { name.to_owned() } else { format!("{SNAPSHOT_REFS}{name}") }
}

/// Writes the present under a name.
pub(super) fn create(call: &Call<'_>, name: &str) -> Result<Reply> {
    call.workspace.check_git_name(name)?;
    if let Some(other) = super::in_store(call, name)? {
        return Err(SessionError::LabelInUse { label: name.to_owned(), id: other.id }.into());
    }
    let message = call.arguments.text("description").unwrap_or_default().to_owned();
    let description = Some(format!("{SNAPSHOT_REFS}{name} {message}").trim_end().to_owned());
    let request = SnapshotRequest { description, ..SnapshotRequest::default() };
    let taken = call.workspace.snapshot(&request, call.work)?;
    let request = CommitRequest { name: name.to_owned(), message, all: false };
    let committed = call.workspace.commit(&taken.snapshot, &request, call.work)?;
    let hash = committed.git_ref.commit.to_hex();
    let mut data = json!({
        "name": name,
        "hash": hash,
        "id": taken.snapshot.id,
        "files_count": committed.files,
        "ref": format!("{SNAPSHOT_REFS}{name}"),
    });
    let text = with_lost(format!("snapshot {name} created: {hash}"), &mut data, &committed);
    Ok(with_gaps(call, Reply::new(text, data), &taken.snapshot))
}

/// Says what the commit should hold and does not.
fn with_lost(mut text: String, data: &mut serde_json::Value, committed: &Committed) -> String {
    let lost = committed.left.iter().filter(|left| left.why.is_loss());
    let names: Vec<String> = lost.map(|left| words::path(&left.path)).collect();
    if !names.is_empty() {
        let shown = names.iter().take(LOST_SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(LOST_SHOWN_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("\nnot in it, because git cannot hold it: {shown}{more}"));
        data["left_out"] = names.into();
    }
    if committed.is_index_partial {
        text.push_str("\ngit's index could not be read whole: tracked files that .gitignore matches may not be in it");
        data["index_partial"] = true.into();
    }
    text
}

/// The refs as rows of the list.
pub(super) fn rows(call: &Call<'_>) -> Result<Vec<Row>> {
    let row = |one: belay_session::GitRef| Row {
        hash: one.commit.to_hex()[..12].to_owned(),
        time: one.at,
        description: on_one_line(&one.message),
        data: json!({ "ref": format!("{SNAPSHOT_REFS}{}", one.name), "commit": one.commit.to_hex() }),
        name: one.name,
    };
    Ok(call.workspace.git_refs()?.into_iter().map(row).collect())
}

/// Takes the workspace back to a ref, as far as the ref can say what was there.
pub(super) fn restore(call: &Call<'_>, name: &str) -> Result<Reply> {
    let from = call.workspace.read_git_ref(&full(name), call.work)?;
    if !call.workspace.differs(&from)? {
        return Ok(restored(name, &[], json!({ "changed": 0 })));
    }
    let target = call.workspace.adopt(&from, None, None)?;
    // What git ignores, and so what was built, is not in it: old times would say that it is up to date.
    let mtime = Some(MtimePolicy::Fresh);
    let request =
        RewindRequest { goal: Goal::To(Some(target.id)), paths: Vec::new(), mtime, on_damage: OnDamage::Refuse };
    let outcome = rewind(call, &request)?;
    let files = changed_files(call, &outcome)?;
    let safety = outcome.safety.as_ref().map(|safety| &safety.id);
    let mut reply = restored(name, &files, json!({ "changed": outcome.changed, "safety": safety }));
    // What git cannot hold was said when the commit was made.
    let left: Vec<Left> = outcome
        .left
        .into_iter()
        .filter(|left| !matches!(left.reason, LeftReason::NotCaptured | LeftReason::Missed))
        .collect();
    reply.text = with_left(reply.text, &mut reply.data, &left);
    Ok(reply)
}

/// How the present differs from a ref, as git shows it.
pub(super) fn diff(call: &Call<'_>, name: &str) -> Result<Reply> {
    let from = call.workspace.read_git_ref(&full(name), call.work)?;
    let patch = (call.patch)(call.workspace, &from.tree, &from.present.tree, &|path| !super::is_git(path))?;
    // Remarks on what git has no words for.
    let lines = patch.split_inclusive('\n').filter(|line| !line.starts_with('#'));
    Ok(super::different(name, lines.collect()))
}
