//! Rollback, undo, redo and restore: show the plan, ask, carry it out, tell how to take it back.

use std::io::Write;
use std::process::ExitCode;

use belay_session::store::{MtimePolicy, Step};
use belay_session::{
    Goal, Kind as SnapshotKind, NewerEdit, Origin, Outcome, RewindKind, RewindPlan, RewindRequest, Snapshot, Stage,
    Workspace,
};
use serde_json::json;

use crate::commands::rollback::{Damage, How};
use crate::context::Context;
use crate::error::{Kind, Result};
use crate::ui::escape::printable;
use crate::ui::{Streamed, quantity};
use crate::view::{self, changes};

/// On a terminal a plan is a screenful; `--dry-run` shows all of it.
const LINES_MAX: usize = 30;

/// Paths that somebody else changed, of which the rest is only counted.
const NEWER_MAX: usize = 10;

/// Takes the workspace, or some paths of it, to the goal.
pub(crate) fn rewind(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    goal: Goal,
    paths: Vec<Vec<u8>>,
    (how, damage): (&How, Damage),
) -> Result<ExitCode> {
    let mtime = how.mtime.map(Into::into);
    let request = RewindRequest { goal, paths, mtime, on_damage: damage.on_damage() };
    warn_of_runs(context, workspace)?;
    say_passed(context, workspace, &request)?;
    if how.dry_run {
        return dry_run(context, workspace, &request);
    }
    if !how.yes && !ask(context, workspace, &request)? {
        return Ok(ExitCode::SUCCESS);
    }
    carry_out(context, workspace, &request)
}

/// Whoever still runs here may write again what is taken back.
pub(crate) fn warn_of_runs(context: &Context<'_>, workspace: &Workspace<'_>) -> Result<()> {
    let runs = workspace.home().open_runs(workspace.id())?;
    for run in runs.iter().filter(|run| run.is_live() && !run.is_watch()) {
        let label = run.label.as_ref().map(|label| format!(" ({})", printable(label.as_bytes()))).unwrap_or_default();
        context.ui.warn(format_args!("{}{label} still runs here and may write again", run.id));
        context.ui.hint(format_args!("`belay stop {}` ends it first", run.id));
    }
    for (run, left) in workspace.outlived_runs()? {
        let left = quantity::count(left.len() as u64, "process");
        context.ui.warn(format_args!("{left} of {} may write here again, although the run is over", run.id));
        context.ui.hint(format_args!("`belay stop {}` ends what is left of it first", run.id));
    }
    Ok(())
}

/// Whoever names no snapshot is told of those that somebody took since the one that is meant.
fn say_passed(context: &Context<'_>, workspace: &Workspace<'_>, request: &RewindRequest) -> Result<()> {
    let Goal::To(None) = request.goal else { return Ok(()) };
    // Where nothing can be meant, carrying it out tells so.
    let Ok(target) = workspace.default_target() else { return Ok(()) };
    let timeline = workspace.timeline()?;
    let is_passed = |snapshot: &&Snapshot| snapshot.origin == Origin::Manual && snapshot.number > target.number;
    let mut passed = timeline.snapshots().iter().rev().filter(is_passed);
    if let Some(newest) = passed.next() {
        let more = passed.count() as u64;
        let more = if more == 0 { String::new() } else { format!(" and {}", quantity::more(more, "snapshot")) };
        let (newest, target) = (view::snapshot_name(newest), &target.id);
        context
            .ui
            .say(format_args!("Going back to {target}, past {newest}{more} of yours; `belay snapshots` lists them."));
    }
    Ok(())
}

/// After an agent's turn the newest snapshot is of the present, and what can be taken back is the turn.
pub(crate) fn hint_turn(context: &Context<'_>, workspace: &Workspace<'_>) {
    if let Some(turn) = latest_turn(workspace) {
        context.ui.hint(format_args!("`belay undo @turn-{turn}` takes back what the agent did in its latest turn"));
    }
}

/// The number of an agent's latest turn.
pub(crate) fn latest_turn(workspace: &Workspace<'_>) -> Option<u64> {
    // A timeline that cannot be read is told by whatever was asked for.
    let timeline = workspace.timeline().ok()?;
    let turn = timeline.snapshots().iter().rev().find(|snapshot| snapshot.kind == SnapshotKind::Turn);
    turn.and_then(|snapshot| snapshot.cause.turn)
}

/// What a run must not leave behind may be in a snapshot of it all the same; whoever goes back there decides.
fn warn_of_led(context: &Context<'_>, workspace: &Workspace<'_>, target: &Snapshot, paths: &[Vec<u8>]) -> Result<()> {
    let is_meant = |path: &Vec<u8>| {
        let is_at = |above: &Vec<u8>| path == above || path.starts_with(&[above, &b"/"[..]].concat());
        paths.is_empty() || paths.iter().any(is_at)
    };
    for path in workspace.leads_git(target)?.iter().filter(|path| is_meant(path)) {
        context.ui.warn(format_args!(
            "{} leads git to settings or programs that a run made, and comes back with {}",
            printable(path),
            target.id
        ));
    }
    Ok(())
}

fn dry_run(context: &Context<'_>, workspace: &Workspace<'_>, request: &RewindRequest) -> Result<ExitCode> {
    let meter = context.ui.meter("Looking");
    let plan = workspace.plan_rewind(request, context.work(&meter))?;
    let newer = newer_edits(workspace, &plan)?;
    drop(meter);
    warn_of_led(context, workspace, &plan.target, &request.paths)?;
    if context.ui.json {
        context.ui.print_json(&plan_json(&plan, &newer))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    write_plan(&mut out, &plan, &newer, usize::MAX)?;
    out.finish()?;
    match plan.plan.steps.is_empty() {
        true if means_latest(request) => hint_turn(context, workspace),
        true => {}
        false => context.ui.say("Nothing was changed (dry run)."),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether no snapshot and no path was named.
fn means_latest(request: &RewindRequest) -> bool {
    matches!(request.goal, Goal::To(None)) && request.paths.is_empty()
}

/// Shows the plan and asks; `false` when there is nothing to do.
fn ask(context: &Context<'_>, workspace: &Workspace<'_>, request: &RewindRequest) -> Result<bool> {
    let meter = context.ui.meter("Looking");
    let plan = workspace.plan_rewind(request, context.work(&meter))?;
    let newer = newer_edits(workspace, &plan)?;
    drop(meter);
    warn_of_led(context, workspace, &plan.target, &request.paths)?;
    let is_empty = plan.plan.steps.is_empty();
    if !context.ui.is_interactive() && (!is_empty || context.ui.json) {
        // Where there is nothing to do, carrying it out tells so.
        return if is_empty { Ok(true) } else { context.ui.confirm("").map(|()| true) };
    }
    let mut out = context.ui.out();
    write_plan(&mut out, &plan, &newer, LINES_MAX)?;
    out.finish()?;
    if is_empty {
        if means_latest(request) {
            hint_turn(context, workspace);
        }
        return Ok(false);
    }
    let question = match newer.is_empty() {
        true => "Go ahead?",
        false => "Go ahead, and take back what others changed, too?",
    };
    context.ui.confirm(question)?;
    Ok(true)
}

/// What somebody else changed since; an undo or redo only takes back what belay itself did.
fn newer_edits(workspace: &Workspace<'_>, plan: &RewindPlan) -> Result<Vec<NewerEdit>> {
    match plan.kind {
        RewindKind::Rollback | RewindKind::Restore => Ok(workspace.newer_edits(plan)?),
        RewindKind::Undo | RewindKind::Redo | RewindKind::Revert | RewindKind::Pick => Ok(Vec::new()),
    }
}

fn carry_out(context: &Context<'_>, workspace: &Workspace<'_>, request: &RewindRequest) -> Result<ExitCode> {
    let ui = context.ui;
    let meter = ui.meter("Capturing");
    let outcome = workspace.rewind(request, context.work(&meter), &mut |stage| match stage {
        Stage::Capturing | Stage::Restored => {}
        Stage::Captured(safety) => {
            meter.phase("Restoring");
            ui.say(format_args!("Creating safety snapshot of current state... done ({})", safety.id));
        }
        Stage::Restoring(_) => meter.phase("Restoring"),
    })?;
    drop(meter);
    warn_of_led(context, workspace, &outcome.target, &request.paths)?;
    if ui.json {
        ui.print_json(&outcome_json(&outcome))?;
    } else {
        report(context, workspace, &outcome);
        if outcome.safety.is_none() && means_latest(request) {
            hint_turn(context, workspace);
        }
    }
    let short = outcome.left.iter().any(view::is_shortfall);
    Ok(if short { ExitCode::from(Kind::Incomplete.exit_code()) } else { ExitCode::SUCCESS })
}

fn report(context: &Context<'_>, workspace: &Workspace<'_>, outcome: &Outcome) {
    let ui = context.ui;
    // What took back one step is itself undone by bringing back its paths.
    let whole = outcome.paths.is_empty();
    let target = &outcome.target.id;
    if outcome.safety.is_none() {
        ui.say(format_args!("Nothing to do: the workspace is as in {target} already."));
        view::say_left(ui, &outcome.left);
        say_left_out(context, workspace, outcome, whole);
        return;
    }
    match whole {
        true => ui.say(format_args!("Restoring workspace to {target}... done")),
        false => {
            let paths = quantity::count(outcome.changed, "path");
            ui.say(format_args!("Restoring {paths} from {target}... done"));
        }
    }
    view::say_left(ui, &outcome.left);
    say_left_out(context, workspace, outcome, whole);
    let back = match outcome.kind {
        RewindKind::Undo => "redo",
        _ => "undo",
    };
    ui.say(format_args!("\nTo undo: {} {back}", context.itself()));
}

/// Says what a whole rollback did not touch because the snapshot leaves it out.
fn say_left_out(context: &Context<'_>, workspace: &Workspace<'_>, outcome: &Outcome, whole: bool) {
    if !whole || outcome.kind != RewindKind::Rollback {
        return;
    }
    // A coverage that cannot be read now is told by `belay verify`.
    let mut left_out = workspace.left_out(&outcome.target).unwrap_or_default();
    left_out.retain(|path| outcome.left.iter().all(|left| left.path != *path));
    if !left_out.is_empty() {
        let names: Vec<&[u8]> = left_out.iter().map(Vec::as_slice).collect();
        context.ui.say(format_args!("Not part of it (left out of snapshots): {}", view::some(&names, NEWER_MAX)));
    }
}

fn write_plan(out: &mut dyn Write, plan: &RewindPlan, newer: &[NewerEdit], lines_max: usize) -> Result<()> {
    let target = view::snapshot_name(&plan.target);
    if plan.plan.steps.is_empty() {
        writeln!(out, "Nothing to do: the workspace is as in {target} already.")?;
    } else {
        writeln!(out, "Back to {target}:")?;
    }
    let mut lines = changes::collapse(plan.plan.steps.iter().map(changes::Line::from));
    for line in lines.by_ref().take(lines_max) {
        writeln!(out, "  {}", line.plan())?;
    }
    let more = lines.count();
    if more > 0 {
        writeln!(out, "  … and {} more (--dry-run shows all)", quantity::grouped(more as u64))?;
    }
    if !plan.plan.steps.is_empty() {
        writeln!(out, "{}", summary(plan))?;
    }
    let newer_max = lines_max.min(NEWER_MAX);
    for edit in newer.iter().take(newer_max) {
        let who = edit.run.as_deref().unwrap_or("somebody outside of any run");
        writeln!(out, "  newer: {} was changed later by {who}", view::relative(&edit.path))?;
    }
    if let Some(more) = newer.len().checked_sub(newer_max).filter(|more| *more > 0) {
        writeln!(out, "  newer: and {} (--json names all)", quantity::more(more as u64, "path"))?;
    }
    for left in &plan.plan.left {
        let verb = if view::is_absent(left) { "not brought back" } else { "left alone" };
        writeln!(out, "  {verb}: {} ({})", view::relative(&left.path), view::left_name(left.reason))?;
    }
    Ok(())
}

fn summary(plan: &RewindPlan) -> String {
    let steps = &plan.plan.steps;
    let added = steps.iter().filter(|step| step.what.added).count();
    let removed = steps.iter().filter(|step| step.what.removed).count();
    let changed = steps.len() - added - removed;
    let parts = [(added, "to bring back"), (changed, "to change"), (removed, "to remove")];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let text: Vec<String> =
        parts.map(|(number, verb)| format!("{} {verb}", quantity::grouped(*number as u64))).collect();
    format!(
        "{}: {}; {} to write",
        quantity::count(steps.len() as u64, "path"),
        text.join(", "),
        quantity::size(plan.plan.bytes)
    )
}

fn plan_json<'a>(plan: &'a RewindPlan, newer: &[NewerEdit]) -> Streamed<'a> {
    let newer = newer.iter().map(|edit| {
        let mut object = serde_json::Map::new();
        crate::ui::escape::put_path(&mut object, "path", &edit.path);
        object.insert("run".to_owned(), edit.run.clone().into());
        serde_json::Value::from(object)
    });
    let step = |step: Step<'_>| {
        let mut object = serde_json::Map::new();
        crate::ui::escape::put_path(&mut object, "path", step.path);
        object.insert("change".to_owned(), view::words(step.what).into());
        serde_json::Value::from(object)
    };
    let head = json!({
        "kind": plan.kind.name(),
        "dry_run": true,
        "target": view::snapshot_json(&plan.target),
        "mtime": match plan.mtime { MtimePolicy::Exact => "exact", MtimePolicy::Fresh => "fresh" },
        "newer": newer.collect::<Vec<_>>(),
        "left": plan.plan.left.iter().map(view::left_json).collect::<Vec<_>>(),
        "bytes": plan.plan.bytes,
    });
    Streamed::new(head).list("steps", move || plan.plan.steps.iter().map(step))
}

fn outcome_json(outcome: &Outcome) -> serde_json::Value {
    json!({
        "kind": outcome.kind.name(),
        "safety": outcome.safety.as_ref().map(view::snapshot_json),
        "target": view::snapshot_json(&outcome.target),
        "changed": outcome.changed,
        "left": outcome.left.iter().map(view::left_json).collect::<Vec<_>>(),
    })
}
