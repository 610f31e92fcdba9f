//! Undo of one step: show what would change and what stays, ask, carry it out, tell how to take it back.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use belay_session::store::{Clash, Conflict};
use belay_session::{
    Circumstances, RevertPlan, RevertRequest, Reverted, Stage, StepInfo, StepName, Workspace, shell_word,
};
use serde_json::{Map, Value, json};

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::{Kind, Result};
use crate::rewind::warn_of_runs;
use crate::ui::escape::{printable, put_path};
use crate::ui::quantity;
use crate::view::{self, changes};

/// On a terminal a plan is a screenful; `--dry-run` shows all of it.
const LINES_MAX: usize = 30;
/// Paths that are named in one hint.
const NAMED_MAX: usize = 4;

/// Takes one step back and keeps what came later.
pub(crate) fn revert(context: &Context<'_>, workspace: &Workspace<'_>, step: StepName, how: &How) -> Result<ExitCode> {
    let mtime = how.mtime.map(Into::into);
    let request = RevertRequest { step, mtime };
    warn_of_runs(context, workspace)?;
    if how.dry_run {
        return dry_run(context, workspace, &request);
    }
    if !how.yes && !ask(context, workspace, &request)? {
        return Ok(ExitCode::SUCCESS);
    }
    carry_out(context, workspace, &request)
}

fn plan(context: &Context<'_>, workspace: &Workspace<'_>, request: &RevertRequest) -> Result<RevertPlan> {
    let meter = context.ui.meter("Looking");
    Ok(workspace.plan_revert(request, context.work(&meter))?)
}

fn dry_run(context: &Context<'_>, workspace: &Workspace<'_>, request: &RevertRequest) -> Result<ExitCode> {
    let plan = plan(context, workspace, request)?;
    // As the deed would end, so that a script can ask first.
    let code = if plan.conflicts.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(Kind::Incomplete.exit_code()) };
    if context.ui.json {
        context.ui.print_json(&plan_json(&plan))?;
        return Ok(code);
    }
    let mut out = context.ui.paged();
    write_plan(&mut out, workspace, &plan, usize::MAX)?;
    out.finish()?;
    advice(workspace, &plan.conflicts, &plan.step, &plan.known)?.iter().for_each(|advice| context.ui.hint(advice));
    if !plan.changes.is_empty() || !plan.conflicts.is_empty() {
        context.ui.say("Nothing was changed (dry run).");
    }
    Ok(code)
}

/// Shows the plan and asks; `false` when there is nothing to do.
fn ask(context: &Context<'_>, workspace: &Workspace<'_>, request: &RevertRequest) -> Result<bool> {
    let plan = plan(context, workspace, request)?;
    let is_empty = plan.changes.is_empty();
    if !context.ui.is_interactive() && (!is_empty || context.ui.json) {
        // Where there is nothing to do, carrying it out tells so.
        return if is_empty { Ok(true) } else { context.ui.confirm("").map(|()| true) };
    }
    let mut out = context.ui.out();
    write_plan(&mut out, workspace, &plan, LINES_MAX)?;
    out.finish()?;
    if is_empty {
        return Ok(false);
    }
    context.ui.confirm("Go ahead?")?;
    Ok(true)
}

fn carry_out(context: &Context<'_>, workspace: &Workspace<'_>, request: &RevertRequest) -> Result<ExitCode> {
    let ui = context.ui;
    let meter = ui.meter("Capturing");
    let reverted = workspace.revert(request, context.work(&meter), &mut |stage| match stage {
        Stage::Capturing | Stage::Restored => {}
        Stage::Captured(safety) => {
            ui.say(format_args!("Creating safety snapshot of current state... done ({})", safety.id));
        }
        Stage::Restoring(_) => meter.phase("Restoring"),
    })?;
    drop(meter);
    if ui.json {
        ui.print_json(&reverted_json(&reverted))?;
    } else {
        report(context, workspace, &reverted)?;
    }
    let left = reverted.outcome.iter().flat_map(|outcome| &outcome.left).any(view::is_shortfall);
    let is_whole = reverted.conflicts.is_empty() && !left;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(Kind::Incomplete.exit_code()) })
}

fn report(context: &Context<'_>, workspace: &Workspace<'_>, reverted: &Reverted) -> Result<()> {
    let ui = context.ui;
    let what = printable(reverted.step.what.as_bytes());
    match &reverted.outcome {
        Some(outcome) => {
            let paths = quantity::count(outcome.changed, "path");
            ui.say(format_args!("Undoing {what}... done ({paths} changed)"));
            view::say_left(ui, &outcome.left);
        }
        None if reverted.conflicts.is_empty() => {
            ui.say(nothing_left(&reverted.step, &reverted.known));
        }
        None => ui.say(format_args!("Nothing was changed.")),
    }
    for conflict in &reverted.conflicts {
        let fate = match conflict.clash {
            Clash::Unseen => "cannot be brought back",
            Clash::NotCaptured if !is_there(workspace, &conflict.path) => "cannot be brought back",
            _ if is_in_place(conflict) => "an older version is back",
            _ => "left as it is",
        };
        ui.warn(format_args!("{fate}: {}", conflict_line(conflict, &reverted.step, &reverted.known)));
    }
    advice(workspace, &reverted.conflicts, &reverted.step, &reverted.known)?.iter().for_each(|advice| ui.hint(advice));
    if reverted.outcome.is_some() {
        ui.say(format_args!("\nTo undo: {} undo", context.itself()));
    }
    Ok(())
}

/// Says that there is nothing to take back, and where nobody could have seen that there is.
fn nothing_left(step: &StepInfo, known: &Circumstances) -> String {
    let what = printable(step.what.as_bytes());
    let names: Vec<&[u8]> = known.left_out.iter().map(Vec::as_slice).collect();
    match names.is_empty() {
        true => format!("Nothing to do: nothing of {what} is left that can be taken back."),
        false => format!(
            "Nothing to do: nothing of {what} is left that can be taken back; snapshots leave out {}.",
            view::some(&names, NAMED_MAX)
        ),
    }
}

fn write_plan(out: &mut dyn Write, workspace: &Workspace<'_>, plan: &RevertPlan, lines_max: usize) -> Result<()> {
    let what = printable(plan.step.what.as_bytes());
    if plan.changes.is_empty() && plan.conflicts.is_empty() {
        writeln!(out, "{}", nothing_left(&plan.step, &plan.known))?;
        return Ok(());
    }
    writeln!(out, "Undo {what}, {}:", between(&plan.step))?;
    let mut lines = changes::collapse(plan.changes.iter().map(changes::Line::from));
    for line in lines.by_ref().take(lines_max) {
        writeln!(out, "  {}", line.plan())?;
    }
    let more = lines.count();
    if more > 0 {
        writeln!(out, "  … and {} more (--dry-run shows all)", quantity::grouped(more as u64))?;
    }
    for conflict in &plan.conflicts {
        let fate = match conflict.clash {
            Clash::Unseen => "is lost",
            Clash::NotCaptured if !is_there(workspace, &conflict.path) => "is lost",
            _ if is_in_place(conflict) => "older",
            _ => "stays",
        };
        writeln!(out, "  {fate}: {}", conflict_line(conflict, &plan.step, &plan.known))?;
    }
    Ok(())
}

fn between(step: &StepInfo) -> String {
    match &step.after {
        Some(after) => format!("which lies between {} and {}", step.before.id, after.id),
        None => format!("which lies between {} and now", step.before.id),
    }
}

/// Whether the step emptied the place and an older version is put there: nothing is in its way, but it may not be the last.
fn is_in_place(conflict: &Conflict) -> bool {
    conflict.beside.as_ref() == Some(&conflict.path)
}

/// Whether something is at the path.
fn is_there(workspace: &Workspace<'_>, path: &[u8]) -> bool {
    let path = workspace.path().join(OsStr::from_bytes(path));
    path.symlink_metadata().is_ok()
}

fn conflict_line(conflict: &Conflict, step: &StepInfo, known: &Circumstances) -> String {
    if is_in_place(conflict) {
        let path = view::relative(&conflict.path);
        return format!("{path} (as in {}; somebody else changed it before this step removed it)", step.before.id);
    }
    let beside = match &conflict.beside {
        Some(beside) => format!("; the version before it is {}", view::relative(beside)),
        None => String::new(),
    };
    let rivals = known.rivals.get(&conflict.path).filter(|_| conflict.clash == Clash::Doubtful);
    let why = match rivals {
        Some(rivals) => {
            let rivals = printable(rivals.as_bytes());
            format!("somebody else changed it in the same interval: {rivals}; nobody can tell what is whose")
        }
        None => clash_words(conflict.clash).to_owned(),
    };
    format!("{} ({why}){beside}", view::relative(&conflict.path))
}

/// How to have all the same what stays as it is and of which no other version is put anywhere: what was there before the
/// step comes back from its snapshot, what was not can only be removed. What the step only moved was there before, and may
/// be all that is left of it; and so may be what lies in a directory.
fn advice(
    workspace: &Workspace<'_>,
    conflicts: &[Conflict],
    step: &StepInfo,
    circumstances: &Circumstances,
) -> Result<Vec<String>> {
    let is_held = |conflict: &&Conflict| !matches!(conflict.clash, Clash::Unseen | Clash::NotCaptured);
    let is_kept = |conflict: &&Conflict| circumstances.kept.contains(&conflict.path);
    let stays = conflicts.iter().filter(|conflict| conflict.beside.is_none() && !is_kept(conflict)).filter(is_held);
    let before = workspace.tree(&step.before)?;
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for conflict in stays {
        let path = &conflict.path[..];
        let is_dir = || workspace.path().join(OsStr::from_bytes(path)).is_dir();
        match workspace.entry(&before, path)? {
            Some(_) => known.push(path),
            None if conflict.clash != Clash::MovedOn && !is_dir() => new.push(path),
            None => {}
        }
    }
    let mut advice = Vec::new();
    if !known.is_empty() {
        advice.push(as_before(&step.before.id, &known));
    }
    if !new.is_empty() {
        let (words, more) = named(&new);
        let listed = words.join(", ");
        let (was, is) = if new.len() == 1 { ("was", "it is") } else { ("were", "they are") };
        let words = words.join(" ");
        advice.push(format!("before this step there {was} no {listed}{more}; if {is} not wanted: `rm -r {words}`"));
    }
    Ok(advice)
}

/// The first of the paths as they are typed, and how many more there are.
fn named(paths: &[&[u8]]) -> (Vec<String>, String) {
    let words = paths.iter().take(NAMED_MAX).map(|path| shell_word(path)).collect();
    let more = match paths.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    (words, more)
}

/// How to have paths as a snapshot has them, whatever was done to them since.
pub(crate) fn as_before(snapshot: &str, paths: &[&[u8]]) -> String {
    let (words, more) = named(paths);
    let words = words.join(" ");
    format!(
        "`belay restore {snapshot} {words}`{more} brings that back as it was before, without what was done to it since"
    )
}

fn clash_words(clash: Clash) -> &'static str {
    match clash {
        Clash::BothChanged => "it was changed later, in the same place",
        Clash::NotText => "it was changed later, and is no text",
        Clash::RemovedLater => "it was removed later",
        Clash::MadeThenChanged => "it was made by this step and changed later",
        Clash::MadeAgain => "it was made again later",
        Clash::Retyped => "something of another type is there now",
        Clash::Doubtful => "somebody else changed it in the same interval, and nobody can tell what is whose",
        Clash::Repository => "the repository was changed later, or by others too",
        Clash::Database => "another file of the same database stays",
        Clash::NotCaptured => "it was not captured",
        Clash::Unseen => "it came and went between two snapshots, and none holds it",
        Clash::MovedOn => "this step moved it, and it was moved again or its old name was taken later",
    }
}

/// The reason for which a path stays, for scripts.
pub(crate) fn clash_name(clash: Clash) -> &'static str {
    match clash {
        Clash::BothChanged => "both-changed",
        Clash::NotText => "not-text",
        Clash::RemovedLater => "removed-later",
        Clash::MadeThenChanged => "made-then-changed",
        Clash::MadeAgain => "made-again",
        Clash::Retyped => "retyped",
        Clash::Doubtful => "doubtful",
        Clash::Repository => "repository",
        Clash::Database => "database",
        Clash::NotCaptured => "not-captured",
        Clash::Unseen => "unseen",
        Clash::MovedOn => "moved-on",
    }
}

fn conflict_json(conflict: &Conflict) -> Value {
    conflict_object(conflict, clash_name(conflict.clash))
}

/// A path that stays, as JSON.
pub(crate) fn conflict_object(conflict: &Conflict, why: &str) -> Value {
    let mut object = Map::new();
    put_path(&mut object, "path", &conflict.path);
    object.insert("why".to_owned(), why.into());
    if let Some(beside) = &conflict.beside {
        put_path(&mut object, "beside", beside);
    }
    object.into()
}

fn step_json(step: &StepInfo) -> Value {
    json!({
        "what": step.what,
        "run": step.run,
        "before": step.before.id,
        "after": step.after.as_ref().map(|after| &after.id),
    })
}

fn plan_json(plan: &RevertPlan) -> Value {
    json!({
        "kind": "revert",
        "dry_run": true,
        "step": step_json(&plan.step),
        "changes": plan.changes.iter().map(view::change_json).collect::<Vec<_>>(),
        "conflicts": plan.conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
    })
}

fn reverted_json(reverted: &Reverted) -> Value {
    let outcome = reverted.outcome.as_ref();
    let left = outcome.map(|outcome| outcome.left.iter().map(view::left_json).collect::<Vec<_>>());
    json!({
        "kind": "revert",
        "step": step_json(&reverted.step),
        "safety": outcome.and_then(|outcome| outcome.safety.as_ref()).map(view::snapshot_json),
        "target": outcome.map(|outcome| view::snapshot_json(&outcome.target)),
        "changed": outcome.map_or(0, |outcome| outcome.changed),
        "left": left.unwrap_or_default(),
        "conflicts": reverted.conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
    })
}
