//! Named states, as agents know them from git-ref tools: the same names, parameters and answers, kept in belay's store, or
//! as refs of the workspace's repository if that was chosen (`agents.named`). A name that is not among the refs is looked
//! for in the store, so that none is lost when the choice changes.
//!
//! They are about the files of a project: what git knows (HEAD, index, branches, stash) is captured with everything else,
//! but these tools neither take it back nor show it.

mod in_git;

use std::collections::{BTreeSet, HashSet};

use belay_session::store::{FileType, OnDamage, Scope};
use belay_session::{Error as SessionError, Goal, Outcome, RewindRequest, Snapshot, SnapshotRequest};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Call;
use super::checkpoint::with_gaps;
use super::way_back::{rewind, with_left};
use crate::error::{Error, Result};
use crate::reply::Reply;
use crate::words;

/// Whether a name is one of `[A-Za-z0-9_][A-Za-z0-9_.-]*`.
fn is_name(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.as_bytes().first().is_some_and(|first| word(*first))
        && text.bytes().all(|byte| word(byte) || b".-".contains(&byte))
}

fn name<'a>(call: &'a Call<'_>) -> Result<&'a str> {
    let name = call.arguments.required("name");
    match is_name(name) {
        true => Ok(name),
        false => {
            Err(Error::Arguments(format!("invalid snapshot name {name:?}: must match [A-Za-z0-9_][A-Za-z0-9_.-]*")))
        }
    }
}

/// The snapshot of belay's store with exactly that name.
fn in_store(call: &Call<'_>, name: &str) -> Result<Option<Snapshot>> {
    let timeline = call.workspace.timeline()?;
    Ok(timeline.snapshots().iter().find(|snapshot| snapshot.label.as_deref() == Some(name)).cloned())
}

fn named(call: &Call<'_>) -> Result<Snapshot> {
    let name = name(call)?;
    let unknown = || SessionError::UnknownSnapshot { name: name.to_owned(), nearest: Vec::new() };
    Ok(in_store(call, name)?.ok_or_else(unknown)?)
}

/// Whether a ref of the workspace's repository has the name, and refs are what was chosen.
fn is_in_git(call: &Call<'_>, name: &str) -> Result<bool> {
    Ok(call.workspace.names_in_git()? && call.workspace.has_git_ref(&in_git::full(name))?)
}

/// Records the present under a name.
pub(super) fn create(call: &Call<'_>) -> Result<Reply> {
    let name = name(call)?;
    // A commit would hold what is hidden from whoever asks, and he reads the repository.
    if call.workspace.names_in_git()? && !call.workspace.hides_something() {
        return in_git::create(call, name);
    }
    let description = call.arguments.text("description").map(str::to_owned);
    let request = SnapshotRequest { label: Some(name.to_owned()), description, ..SnapshotRequest::default() };
    let taken = call.workspace.snapshot(&request, call.work)?;
    let told = call.workspace.as_told(&taken.snapshot)?;
    let hash = told.root.to_hex();
    let data = json!({ "name": name, "hash": hash, "id": taken.snapshot.id, "files_count": told.files });
    Ok(with_gaps(call, Reply::new(format!("snapshot {name} created: {hash}"), data), &taken.snapshot))
}

/// One line of the list.
struct Row {
    name: String,
    hash: String,
    time: Timestamp,
    description: String,
    data: Value,
}

fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Lists the named snapshots, most recent first.
pub(super) fn list(call: &Call<'_>) -> Result<Reply> {
    let mut rows = if call.workspace.names_in_git()? { in_git::rows(call)? } else { Vec::new() };
    for snapshot in call.workspace.timeline()?.snapshots().iter().rev() {
        let Some(name) = snapshot.label.as_deref().filter(|label| is_name(label)) else { continue };
        if rows.iter().all(|row| row.name != name) {
            rows.push(Row {
                name: name.to_owned(),
                hash: call.workspace.as_told(snapshot)?.root.to_hex()[..12].to_owned(),
                time: snapshot.created_at,
                description: on_one_line(snapshot.description.as_deref().unwrap_or_default()),
                data: json!({ "id": snapshot.id }),
            });
        }
    }
    // Stable, because a commit's time is told in seconds where it is not one of belay's.
    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    let (mut lines, mut data) = (Vec::new(), Vec::new());
    for row in rows {
        let Row { name, hash, time, description, data: mut more } = row;
        let time = time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string();
        lines.push(format!("{name}\t{hash}\t{time}\t{description}"));
        if let Some(object) = more.as_object_mut() {
            let own = [("name", name), ("hash", hash), ("time", time), ("description", description)];
            object.extend(own.map(|(key, value)| (key.to_owned(), Value::from(value))));
        }
        data.push(more);
    }
    let text = if lines.is_empty() { "no snapshots".to_owned() } else { lines.join("\n") };
    Ok(Reply::new(text, json!({ "snapshots": data })))
}

/// Takes the whole workspace back to a named snapshot.
pub(super) fn restore(call: &Call<'_>) -> Result<Reply> {
    let wanted = name(call)?;
    if is_in_git(call, wanted)? {
        return in_git::restore(call, wanted);
    }
    let target = named(call)?;
    let paths = beside_git(call, &target)?;
    if paths.as_ref().is_some_and(Vec::is_empty) {
        return Ok(restored(wanted, &[], json!({})));
    }
    let goal = Goal::To(Some(target.id.clone()));
    let request = RewindRequest { goal, paths: paths.unwrap_or_default(), mtime: None, on_damage: OnDamage::Refuse };
    let outcome = rewind(call, &request)?;
    let files = changed_files(call, &outcome)?;
    let safety = outcome.safety.as_ref().map(|safety| &safety.id);
    let mut reply = restored(wanted, &files, json!({ "changed": outcome.changed, "safety": safety }));
    reply.text = with_left(reply.text, &mut reply.data, &outcome.left);
    Ok(reply)
}

fn restored(name: &str, files: &[String], mut data: Value) -> Reply {
    let mut text = format!("restored snapshot {name} ({} file(s) changed)", files.len());
    if !files.is_empty() {
        text = format!("{text}:\n{}", files.join("\n"));
    }
    (data["name"], data["files"]) = (name.into(), files.into());
    Reply::new(text, data)
}

/// The files that a restore changed, but for the repository's.
fn changed_files(call: &Call<'_>, outcome: &Outcome) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let Some(safety) = &outcome.safety else { return Ok(files) };
    let left: HashSet<&[u8]> = outcome.left.iter().map(|left| left.path.as_slice()).collect();
    let (before, after) = (call.workspace.tree(safety)?, call.workspace.tree(&outcome.target)?);
    for change in call.workspace.changes(&before, &after, &Scope::default())? {
        let sides = [&change.before, &change.after];
        let is_file = sides.into_iter().flatten().any(|entry| entry.kind.file_type() != FileType::Dir);
        let is_file = is_file && !is_git(&change.path);
        if is_file && !change.what().is_nothing() && !change.opaque && !left.contains(change.path.as_slice()) {
            files.push(words::path(&change.path));
        }
    }
    Ok(files)
}

/// What lies at the top of the workspace now or in the snapshot, without the repository; none if there is no repository.
fn beside_git(call: &Call<'_>, target: &Snapshot) -> Result<Option<Vec<Vec<u8>>>> {
    let mut names = BTreeSet::new();
    for tree in [call.workspace.tree(target)?, call.workspace.present(call.work)?] {
        let entries = call.workspace.list(&tree, b"")?.unwrap_or_default();
        names.extend(entries.into_iter().map(|entry| entry.name));
    }
    let has_git = names.remove(&b".git"[..]);
    Ok(has_git.then(|| names.into_iter().collect()))
}

/// Whether a path belongs to the workspace's repository.
fn is_git(path: &[u8]) -> bool {
    path.strip_prefix(b".git").is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
}

/// How the present differs from a named snapshot.
pub(super) fn diff(call: &Call<'_>) -> Result<Reply> {
    let wanted = name(call)?;
    if is_in_git(call, wanted)? {
        return in_git::diff(call, wanted);
    }
    let target = named(call)?;
    let before = call.workspace.tree(&target)?;
    let present = call.workspace.present(call.work)?;
    Ok(different(wanted, (call.patch)(call.workspace, &before, &present, &|path| !is_git(path))?))
}

fn different(name: &str, patch: String) -> Reply {
    let data = json!({ "name": name, "different": !patch.is_empty() });
    let text = if patch.is_empty() { "no differences".to_owned() } else { patch };
    Reply::new(text, data)
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_are_those_of_the_git_ref_tools() {
        for good in ["s1", "_x", "before.refactor-2", "9"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".secret", "foo/bar", "a b", "-x", "é", "a\n", "a\0"] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
