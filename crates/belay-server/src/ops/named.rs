//! Named states, as agents know them from git-ref tools: the same names, parameters and answers, kept in belay's store.
//!
//! They are about the files of a project: what git knows (HEAD, index, branches, stash) is captured with everything else,
//! but these tools neither take it back nor show it.

use std::collections::{BTreeSet, HashSet};

use belay_session::store::{FileType, Scope};
use belay_session::{Error as SessionError, Goal, RewindRequest, Snapshot, SnapshotRequest};
use serde_json::json;

use super::Call;
use super::way_back::with_left;
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

/// The snapshot with exactly that name.
fn named(call: &Call<'_>) -> Result<Snapshot> {
    let name = name(call)?;
    let timeline = call.workspace.timeline()?;
    let found = timeline.snapshots().iter().find(|snapshot| snapshot.label.as_deref() == Some(name));
    let unknown = || SessionError::UnknownSnapshot { name: name.to_owned(), nearest: Vec::new() };
    Ok(found.cloned().ok_or_else(unknown)?)
}

/// Records the present under a name.
pub(super) fn create(call: &Call<'_>) -> Result<Reply> {
    let name = name(call)?;
    let description = call.arguments.text("description").map(str::to_owned);
    let request = SnapshotRequest { label: Some(name.to_owned()), description, ..SnapshotRequest::default() };
    let taken = call.workspace.snapshot(&request, call.work)?;
    let hash = taken.snapshot.root.to_hex();
    let data = json!({ "name": name, "hash": hash, "id": taken.snapshot.id, "files_count": taken.snapshot.files });
    Ok(Reply::new(format!("snapshot {name} created: {hash}"), data))
}

/// Lists the named snapshots, most recent first.
pub(super) fn list(call: &Call<'_>) -> Result<Reply> {
    let timeline = call.workspace.timeline()?;
    let mut rows = Vec::new();
    let mut data = Vec::new();
    for snapshot in timeline.snapshots().iter().rev() {
        let Some(name) = snapshot.label.as_deref().filter(|label| is_name(label)) else { continue };
        let hash = &snapshot.root.to_hex()[..12];
        let time = snapshot.created_at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string();
        let description = snapshot.description.as_deref().unwrap_or_default();
        let on_one_line: String = description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        rows.push(format!("{name}\t{hash}\t{time}\t{on_one_line}"));
        data.push(json!({ "name": name, "hash": hash, "time": time, "description": description, "id": snapshot.id }));
    }
    let text = if rows.is_empty() { "no snapshots".to_owned() } else { rows.join("\n") };
    Ok(Reply::new(text, json!({ "snapshots": data })))
}

/// Takes the whole workspace back to a named snapshot.
pub(super) fn restore(call: &Call<'_>) -> Result<Reply> {
    let target = named(call)?;
    let name = target.label.clone().unwrap_or_default();
    let paths = beside_git(call, &target)?;
    if paths.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Reply::new(
            format!("restored snapshot {name} (0 file(s) changed)"),
            json!({ "name": name, "files": [] }),
        ));
    }
    let goal = Goal::To(Some(target.id.clone()));
    let request = RewindRequest { goal, paths: paths.unwrap_or_default(), mtime: None };
    let outcome = call.workspace.rewind(&request, call.work, &mut |_| {})?;
    let mut files = Vec::new();
    if let Some(safety) = &outcome.safety {
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
    }
    let mut text = format!("restored snapshot {name} ({} file(s) changed)", files.len());
    if !files.is_empty() {
        text = format!("{text}:\n{}", files.join("\n"));
    }
    let safety = outcome.safety.as_ref().map(|safety| &safety.id);
    let mut data = json!({ "name": name, "files": files, "changed": outcome.changed, "safety": safety });
    let text = with_left(text, &mut data, &outcome.left);
    Ok(Reply::new(text, data))
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
    let target = named(call)?;
    let before = call.workspace.tree(&target)?;
    let present = call.workspace.present(call.work)?;
    let patch = (call.patch)(call.workspace, &before, &present, &|path| !is_git(path))?;
    let data = json!({ "name": target.label, "different": !patch.is_empty() });
    let text = if patch.is_empty() { "no differences".to_owned() } else { patch };
    Ok(Reply::new(text, data))
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
