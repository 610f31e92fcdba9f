//! Bringing in what was changed elsewhere: show what would change and what stays, ask, carry it out, tell how to take it back.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use belay_session::store::{Change, Clash, Conflict, Opaque, Scope};
use belay_session::{Brought, Choice, Draft, Stage, Workspace};
use serde_json::{Value, json};

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::{Kind, Result};
use crate::revert::{clash_name, conflict_object};
use crate::ui::quantity;
use crate::view::{self, changes};

/// On a terminal a plan is a screenful; `--dry-run` shows all of it.
const LINES_MAX: usize = 30;
/// Files of a new directory that are shown one by one.
const FILES_MAX: usize = 100;

/// Shows the draft and, with consent, brings it in.
pub(crate) fn bring(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    draft: &Draft,
    choices: &HashMap<Vec<u8>, Choice>,
    how: &How,
) -> Result<ExitCode> {
    if how.dry_run {
        return dry_run(context, workspace, draft);
    }
    let is_empty = draft.changes.is_empty();
    if !is_empty && !how.yes {
        if context.ui.is_interactive() {
            let mut out = context.ui.out();
            write_plan(&mut out, workspace, draft, LINES_MAX)?;
            out.finish()?;
        }
        context.ui.confirm("Go ahead?")?;
    }
    carry_out(context, workspace, draft, choices, how)
}

fn dry_run(context: &Context<'_>, workspace: &Workspace<'_>, draft: &Draft) -> Result<ExitCode> {
    if context.ui.json {
        context.ui.print_json(&plan_json(draft))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    write_plan(&mut out, workspace, draft, usize::MAX)?;
    out.finish()?;
    if !draft.changes.is_empty() {
        context.ui.say("Nothing was changed (dry run).");
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings the draft in, but for what was chosen otherwise.
pub(crate) fn carry_out(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    draft: &Draft,
    choices: &HashMap<Vec<u8>, Choice>,
    how: &How,
) -> Result<ExitCode> {
    let ui = context.ui;
    let mtime = how.mtime.map(Into::into);
    let meter = ui.meter("Capturing");
    let brought = workspace.bring_in(draft, choices, mtime, context.work(&meter), &mut |stage| match stage {
        Stage::Capturing | Stage::Restored => {}
        Stage::Captured(safety) => {
            ui.say(format_args!("Creating safety snapshot of current state... done ({})", safety.id));
        }
        Stage::Restoring(_) => meter.phase("Restoring"),
    })?;
    drop(meter);
    if ui.json {
        ui.print_json(&brought_json(draft, &brought))?;
    } else {
        report(context, draft, &brought);
    }
    let left = brought.outcome.iter().flat_map(|outcome| &outcome.left).any(view::is_shortfall);
    let is_whole = brought.conflicts.is_empty() && !left;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(Kind::Incomplete.exit_code()) })
}

fn report(context: &Context<'_>, draft: &Draft, brought: &Brought) {
    let (ui, what) = (context.ui, &draft.incoming.what);
    match &brought.outcome {
        Some(outcome) => {
            let paths = quantity::count(outcome.changed, "path");
            ui.say(format_args!("Bringing in {what}... done ({paths} changed)"));
            view::say_left(ui, &outcome.left);
        }
        None if brought.conflicts.is_empty() && draft.uncaptured.is_empty() => {
            ui.say(format_args!("Nothing to do: the workspace already has {what}."));
        }
        None => ui.say(format_args!("Nothing was changed.")),
    }
    for conflict in &brought.conflicts {
        ui.warn(format_args!("conflict: {}", conflict_line(conflict)));
    }
    if brought.conflicts.iter().any(|conflict| conflict.clash == Clash::Repository) {
        let (theirs, fork) = (&draft.incoming.theirs.id, draft.incoming.fork.as_ref());
        match fork.map(|fork| (fork, fork.directory())) {
            Some((_, Some(path))) => {
                ui.hint(format_args!("to have its commits here: `git fetch {}`", view::path(&path)))
            }
            Some((fork, None)) => ui.hint(format_args!(
                "to have its commits here: `belay --fork {} export {theirs} DIR`, then `git fetch DIR`",
                fork.name
            )),
            None => {
                ui.hint(format_args!("to have its commits here: `belay export {theirs} DIR`, then `git fetch DIR`"))
            }
        }
    }
    say_uncaptured(context, draft);
    if brought.outcome.is_some() {
        ui.say("\nTo undo: belay undo");
    }
}

fn say_uncaptured(context: &Context<'_>, draft: &Draft) {
    for (paths, why) in uncaptured(draft) {
        context.ui.say(format_args!("Not brought in ({why}): {}", view::some(&paths, view::NAMED_MAX)));
    }
}

/// What cannot be brought in because it was not captured, by reason.
fn uncaptured(draft: &Draft) -> Vec<(Vec<&[u8]>, &'static str)> {
    let of = |wanted: Option<Opaque>| {
        let paths = draft.uncaptured.iter().filter(|(_, reason)| *reason == wanted);
        (paths.map(|(path, _)| &path[..]).collect(), wanted.map_or("it was not captured here", view::opaque_words))
    };
    let all = Opaque::ALL.into_iter().map(Some).chain([None]).map(of);
    all.filter(|(paths, _): &(Vec<&[u8]>, _)| !paths.is_empty()).collect()
}

/// Writes what would change and what stays.
pub(crate) fn write_plan(
    out: &mut dyn Write,
    workspace: &Workspace<'_>,
    draft: &Draft,
    lines_max: usize,
) -> Result<()> {
    let what = &draft.incoming.what;
    if draft.changes.is_empty() && draft.conflicts.is_empty() && draft.uncaptured.is_empty() {
        writeln!(out, "Nothing to do: the workspace already has {what}.")?;
        return Ok(());
    }
    writeln!(out, "Bring in {what}:")?;
    let all = in_full(workspace, draft)?;
    let lines = changes::unfold(all.iter().map(changes::Line::from), FILES_MAX);
    for line in lines.iter().take(lines_max) {
        writeln!(out, "  {}", line.marked_plan())?;
    }
    // However long the plan is, these are shown.
    for line in lines.iter().skip(lines_max).filter(|line| line.is_notable()) {
        writeln!(out, "  {}", line.marked_plan())?;
    }
    if let Some(more) = lines.len().checked_sub(lines_max).filter(|more| *more > 0) {
        writeln!(out, "  … and {} more (--dry-run shows all)", quantity::grouped(more as u64))?;
    }
    for conflict in &draft.conflicts {
        writeln!(out, "  conflict: {}", conflict_line(conflict))?;
    }
    for (paths, why) in uncaptured(draft) {
        writeln!(out, "  not brought in ({why}): {}", view::some(&paths, lines_max))?;
    }
    Ok(())
}

/// The changes of a draft, with what is within the repositories that it takes over as a whole.
fn in_full(workspace: &Workspace<'_>, draft: &Draft) -> Result<Vec<Change>> {
    let mut all = Vec::new();
    for change in &draft.changes {
        let within = within(workspace, draft, change)?;
        if within.is_empty() || within.len() > FILES_MAX {
            all.push(change.clone());
            all.extend(within.into_iter().filter(|inner| changes::Line::from(inner).is_notable()));
        } else {
            all.extend(within);
        }
    }
    Ok(all)
}

/// What changes within a repository that is taken over as a whole; nothing for any other path.
pub(crate) fn within(workspace: &Workspace<'_>, draft: &Draft, change: &Change) -> Result<Vec<Change>> {
    let is_repository = change.path == b".git" || change.path.ends_with(b"/.git");
    if !is_repository || change.after.is_none() {
        return Ok(Vec::new());
    }
    let (base, theirs) = (workspace.tree(&draft.incoming.base)?, workspace.tree(&draft.incoming.theirs)?);
    let mut within = workspace.changes(&base, &theirs, &Scope::new(vec![change.path.clone()]))?;
    within.retain(|inner| inner.path.len() > change.path.len());
    Ok(within)
}

fn conflict_line(conflict: &Conflict) -> String {
    let beside = match &conflict.beside {
        Some(beside) => format!("; the other version is {}", view::relative(beside)),
        None => String::new(),
    };
    format!("{} stays ({}){beside}", view::relative(&conflict.path), words(conflict.clash))
}

fn words(clash: Clash) -> &'static str {
    match clash {
        Clash::BothChanged => "both changed the same place",
        Clash::NotText => "both changed it, and it is no text",
        Clash::RemovedLater => "it was removed here",
        Clash::MadeThenChanged => "it was removed there and changed here",
        Clash::MadeAgain => "it was made both here and there, and not alike",
        Clash::Retyped => "here it is another kind of thing by now: a file, a directory or a link",
        Clash::Repository => "commits, branches or the index changed both here and there, and git alone can merge them",
        Clash::Database => "another file of the same database stays",
        Clash::Doubtful | Clash::NotCaptured | Clash::Unseen | Clash::MovedOn => "it was not captured",
    }
}

fn conflicts_json(conflicts: &[Conflict]) -> Value {
    conflicts.iter().map(|conflict| conflict_object(conflict, clash_name(conflict.clash))).collect()
}

fn plan_json(draft: &Draft) -> Value {
    json!({
        "kind": "pick",
        "dry_run": true,
        "what": draft.incoming.what,
        "base": draft.incoming.base.id,
        "from": draft.incoming.theirs.id,
        "changes": draft.changes.iter().map(view::change_json).collect::<Vec<_>>(),
        "conflicts": conflicts_json(&draft.conflicts),
    })
}

fn brought_json(draft: &Draft, brought: &Brought) -> Value {
    let outcome = brought.outcome.as_ref();
    let left = outcome.map(|outcome| outcome.left.iter().map(view::left_json).collect::<Vec<_>>());
    json!({
        "kind": "pick",
        "what": draft.incoming.what,
        "safety": outcome.and_then(|outcome| outcome.safety.as_ref()).map(view::snapshot_json),
        "target": outcome.map(|outcome| view::snapshot_json(&outcome.target)),
        "changed": outcome.map_or(0, |outcome| outcome.changed),
        "left": left.unwrap_or_default(),
        "conflicts": conflicts_json(&brought.conflicts),
    })
}
