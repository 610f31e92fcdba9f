//! Going back: one path to a checkpoint, the last rollback, or one step.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use belay_session::store::{Clash, Entry, Left, OnDamage};
use belay_session::{
    Error as SessionError, Goal, Kind, Outcome, RevertRequest, Reverted, RewindRequest, Snapshot, StepName,
};
use serde_json::{Value, json};

use super::Call;
use super::checkpoint::name_of;
use super::checkpoint_list::LEFT_OUT;
use crate::error::{Error, Result};
use crate::reply::Reply;
use crate::words::{self, count};

/// Brings one path back as it is in a checkpoint.
pub(super) fn revert(call: &Call<'_>) -> Result<Reply> {
    let path = words::beneath(call.workspace, call.arguments.required("path"))?;
    if path.is_empty() {
        return Err(Error::Refused("that is the whole workspace; snapshot_restore takes all of it back".to_owned()));
    }
    let name = words::path(&path);
    let target = match call.arguments.text("checkpoint") {
        Some(checkpoint) => call.workspace.resolve(checkpoint)?,
        None => newest_with(call, &path)?,
    };
    let checkpoint = name_of(&target);
    let left_out =
        || Error::Refused(format!("{name} was not captured in {checkpoint}; nothing was changed; {LEFT_OUT}"));
    let tree = call.workspace.tree(&target)?;
    if call.workspace.is_left_out(&tree, &path)? {
        return Err(left_out());
    }
    let is_kept = call.workspace.entry(&tree, &path)?.is_some();
    let goal = Goal::To(Some(target.id.clone()));
    let request = RewindRequest { goal, paths: vec![path.clone()], mtime: None, on_damage: OnDamage::Refuse };
    let outcome = rewind(call, &request)?;
    // By the rules of that snapshot it would not have been captured, had it been there.
    if outcome.safety.is_none() && outcome.left.iter().any(|left| left.path == path) {
        return Err(left_out());
    }
    let action = match (&outcome.safety, is_kept) {
        (None, _) => "unchanged",
        (_, true) => "restored",
        (_, false) => "deleted",
    };
    let text = match action {
        "unchanged" => format!("{name} is already as in {checkpoint}; nothing was changed"),
        "restored" => format!("restored {name} from {checkpoint}; belay_undo takes it back"),
        _ => format!("deleted {name}, which {checkpoint} does not have; belay_undo brings it back"),
    };
    let mut data = json!({
        "reverted": outcome.safety.is_some(), "action": action, "path": name, "checkpoint": checkpoint,
        "changed": outcome.changed, "safety": outcome.safety.as_ref().map(|safety| &safety.id),
    });
    let text = with_left(text, &mut data, &outcome.left);
    Ok(Reply::new(text, data))
}

/// How long a call waits for another one that takes something back.
const TURN_TIME_MAX: Duration = Duration::from_secs(30);
const TURN_LOOK: Duration = Duration::from_millis(5);

/// Goes back when nobody else does: calls may come side by side, and each of them is carried out.
pub(super) fn rewind(call: &Call<'_>, request: &RewindRequest) -> Result<Outcome> {
    patiently(call, || call.workspace.rewind(request, call.work, &mut |_| {}))
}

fn patiently<T>(call: &Call<'_>, go: impl Fn() -> belay_session::Result<T>) -> Result<T> {
    let until = Instant::now() + TURN_TIME_MAX;
    loop {
        match go() {
            Err(SessionError::RollbackBusy) if Instant::now() < until && !call.work.stop.load(Ordering::Relaxed) => {
                std::thread::sleep(TURN_LOOK);
            }
            done => return Ok(done?),
        }
    }
}

/// The newest checkpoint that holds the path; where none does, the newest other snapshot in which it is not as it is now.
///
/// What hooks take after each step would be as the path is now, and what belay saved before going back does not count at
/// all, or going back twice would go forward.
fn newest_with(call: &Call<'_>, path: &[u8]) -> Result<Snapshot> {
    let timeline = call.workspace.timeline()?;
    let held = |snapshot: &Snapshot| -> Result<Option<Entry>> {
        let entry = call.workspace.entry(&call.workspace.tree(snapshot)?, path)?;
        Ok(entry.filter(|entry| !entry.is_opaque()))
    };
    let newest_first = || timeline.snapshots().iter().rev().filter(|snapshot| snapshot.kind != Kind::Safety);
    for snapshot in newest_first().filter(|snapshot| snapshot.slot.is_some()) {
        if held(snapshot)?.is_some() {
            return Ok(snapshot.clone());
        }
    }
    let now = call.workspace.present(call.work)?;
    let now = call.workspace.entry(&now, path)?;
    let mut same = None;
    for snapshot in newest_first() {
        match held(snapshot)? {
            Some(then) if now.as_ref().is_some_and(|now| now.same_identity(&then)) => same = same.or(Some(snapshot)),
            Some(_) => return Ok(snapshot.clone()),
            None => {}
        }
    }
    let unknown = || belay_session::Error::NotInSnapshot {
        path: words::path(path),
        snapshot: "any snapshot".to_owned(),
        nearest: Vec::new(),
    };
    Ok(same.cloned().ok_or_else(unknown)?)
}

/// Adds what was left as it is, and why.
pub(super) fn with_left(mut text: String, data: &mut Value, left: &[Left]) -> String {
    let told = left.iter().filter(|left| left.reason.is_shortfall());
    let names: Vec<String> = told.map(|left| words::path(&left.path)).collect();
    if !names.is_empty() {
        text.push_str(&format!("\nleft as it is: {}", names.join(", ")));
        data["left"] = names.into();
    }
    text
}

/// Takes back the last rollback, or one step.
pub(super) fn undo(call: &Call<'_>) -> Result<Reply> {
    let dry_run = call.arguments.flag("dry_run");
    let step = match (call.arguments.text("step"), call.arguments.number("command")) {
        (Some(_), Some(_)) => return Err(Error::Arguments("give step or command, not both".to_owned())),
        (Some(step), None) => StepName::From(step.to_owned()),
        (None, Some(number)) => StepName::Command { run: None, number },
        (None, None) if dry_run => return plan_last(call),
        (None, None) => return undo_last(call),
    };
    let request = RevertRequest { step, mtime: None };
    if dry_run {
        let plan = call.workspace.plan_revert(&request, call.work)?;
        let paths: Vec<String> = plan.changes.iter().map(|change| words::path(&change.path)).collect();
        let conflicts: Vec<String> = plan.conflicts.iter().map(|conflict| words::path(&conflict.path)).collect();
        let text = format!("would undo {}:\n{}\nnothing was changed (dry run)", plan.step.what, paths.join("\n"));
        return Ok(Reply::new(text, json!({ "dry_run": true, "paths": paths, "conflicts": conflicts })));
    }
    Ok(told(&patiently(call, || call.workspace.revert(&request, call.work, &mut |_| {}))?))
}

fn last() -> RewindRequest {
    RewindRequest { goal: Goal::Undo, paths: Vec::new(), mtime: None, on_damage: OnDamage::Refuse }
}

fn plan_last(call: &Call<'_>) -> Result<Reply> {
    let plan = call.workspace.plan_rewind(&last(), call.work)?;
    let paths: Vec<String> = plan.plan.steps.paths().map(words::path).collect();
    let text = format!("would go back to {}:\n{}\nnothing was changed (dry run)", plan.target.id, paths.join("\n"));
    Ok(Reply::new(text, json!({ "dry_run": true, "target": plan.target.id, "paths": paths })))
}

fn undo_last(call: &Call<'_>) -> Result<Reply> {
    let outcome = rewind(call, &last())?;
    let text = format!("undone: the workspace is as in {} again ({})", outcome.target.id, changed(&outcome));
    let mut data = json!({ "target": outcome.target.id, "changed": outcome.changed });
    let text = with_left(text, &mut data, &outcome.left);
    Ok(Reply::new(text, data))
}

fn changed(outcome: &Outcome) -> String {
    format!("{} changed", count(outcome.changed, "path"))
}

fn told(reverted: &Reverted) -> Reply {
    let what = &reverted.step.what;
    let mut text = match &reverted.outcome {
        Some(outcome) => format!("undid {what} ({}); belay_undo takes that back", changed(outcome)),
        None if reverted.conflicts.is_empty() => {
            format!("nothing of {what} is left that can be taken back; nothing was changed")
        }
        None => "nothing was changed".to_owned(),
    };
    let mut conflicts = Vec::new();
    for conflict in &reverted.conflicts {
        let (path, why) = (words::path(&conflict.path), clash(conflict.clash));
        let beside = conflict.beside.as_deref().map(words::path);
        let older = beside.as_ref().map(|beside| format!("; the version before is in {beside}")).unwrap_or_default();
        match conflict.beside.as_ref() == Some(&conflict.path) {
            true => text.push_str(&format!("\nolder version brought back: {path} ({why} before this step removed it)")),
            false => text.push_str(&format!("\nconflict, left as it is: {path} ({why}{older})")),
        }
        if conflict.clash == Clash::Repository {
            let before = &reverted.step.before.id;
            text.push_str(&format!("; `belay restore {before} {path}` brings it back as it was before"));
        }
        conflicts.push(json!({ "path": path, "why": why, "beside": beside }));
    }
    let changed = reverted.outcome.as_ref().map_or(0, |outcome| outcome.changed);
    let mut data = json!({ "undone": reverted.outcome.is_some(), "changed": changed, "conflicts": conflicts });
    let left = reverted.outcome.as_ref().map(|outcome| outcome.left.as_slice()).unwrap_or_default();
    let text = with_left(text, &mut data, left);
    Reply::new(text, data)
}

fn clash(clash: Clash) -> &'static str {
    match clash {
        Clash::BothChanged => "it was changed later, in the same place",
        Clash::NotText => "it was changed later, and is no text",
        Clash::RemovedLater => "it was removed later",
        Clash::MadeThenChanged => "the step made it, and it was changed later",
        Clash::MadeAgain => "it was made again later",
        Clash::Retyped => "something of another type is there now",
        Clash::Doubtful => "somebody else changed it too",
        Clash::Repository => "the repository was changed later, or by others too",
        Clash::Database => "it belongs to a database of which another file stays",
        Clash::NotCaptured => "it was not captured",
        Clash::Unseen => "no snapshot holds it",
        Clash::MovedOn => "the step moved it, and it was moved again or its old name was taken later",
    }
}
