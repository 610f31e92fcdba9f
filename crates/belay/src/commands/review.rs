//! `belay review`: what an ephemeral run wrote, to be applied in whole, by file, by hunk or not at all.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::store::{Change, merge_lines};
use belay_session::{Choice, Draft, Error, Home, RunRecord, Workspace};
use serde_json::{Value, json};

use crate::bring::{bring, carry_out, within, write_plan};
use crate::choose::{choose, is_any_left};
use crate::commands::discard;
use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::hunks::{Fate, Hunks};
use crate::ui::style;
use crate::view;

/// Show what an ephemeral run wrote, and apply all, some or none of it
///
/// What a run with `--ephemeral` wrote is kept apart from the workspace. Here it becomes a snapshot. On a terminal you are asked
/// about each hunk, with the keys of `git add -p`; elsewhere, or with a flag, it is shown what applying would change. What is
/// applied is merged with whatever changed in the workspace since: the present is captured first, and `belay undo`
/// takes it back. It can be done in parts, again, and while the run still goes on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Apply it; on a terminal, after one question for all of it
    #[arg(long)]
    apply: bool,

    /// Apply hunks of a file by their numbers, such as src/main.rs:2 or src/main.rs:1,3
    #[arg(long, value_name = "PATH:N", conflicts_with_all = ["apply", "all", "none"])]
    apply_hunk: Vec<String>,

    /// Apply everything
    #[arg(long, conflicts_with_all = ["paths", "none"])]
    all: bool,

    /// Apply nothing, and discard what was written as `belay discard` does
    #[arg(long, conflicts_with_all = ["paths", "apply"])]
    none: bool,

    /// Show every hunk with its number
    #[arg(short, long)]
    patch: bool,

    /// The run; by default the latest ephemeral one of this workspace that still waits for a review
    #[arg(long, value_name = "RUN")]
    run: Option<String>,

    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay run --ephemeral -- ./agent.sh
  belay review                               hunk by hunk
  belay review --patch
  belay review --apply src/main.rs
  belay review --apply-hunk src/main.rs:1,3 -y
  belay review --all -y
  belay discard";

/// Shows or applies what was written.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    if args.none {
        return discard::discard(context, &home, &workspace, args.run.as_deref(), args.how.yes);
    }
    let (record, draft) = candidate(context, &home, &workspace, &args)?;
    let is_all = args.paths.is_empty() && draft.uncaptured.is_empty() && !args.how.dry_run;
    let wants = args.apply || args.all;
    if wants && !args.how.dry_run && record.is_live() {
        context.ui.warn(format_args!("{} goes on, and may see what is applied beneath what it wrote", record.id));
    }
    if !args.apply_hunk.is_empty() {
        let choices = by_number(context, &workspace, &draft, &args.apply_hunk)?;
        return bring(context, &workspace, &draft, &choices, &args.how);
    }
    if wants {
        let code = bring(context, &workspace, &draft, &HashMap::new(), &args.how)?;
        // What could not be merged lies beside.
        if is_all && (code == ExitCode::SUCCESS || !draft.conflicts.is_empty()) {
            done_with(context, &workspace, &record)?;
        }
        return Ok(code);
    }
    if context.ui.is_interactive() && !args.how.dry_run && !args.patch && !draft.changes.is_empty() {
        let choices = choose(context, &workspace, &draft)?;
        if !is_any_left(&draft, &choices) {
            context.ui.say("Nothing was applied.");
            return Ok(ExitCode::SUCCESS);
        }
        let code = carry_out(context, &workspace, &draft, &choices, &args.how)?;
        if is_all && choices.is_empty() && code == ExitCode::SUCCESS {
            done_with(context, &workspace, &record)?;
        }
        return Ok(code);
    }
    show(context, &workspace, &record, &draft, args.patch)
}

/// The run that was asked for, or the newest of which something was neither applied nor discarded; and what applying it
/// would do.
fn candidate(context: &Context<'_>, home: &Home, workspace: &Workspace<'_>, args: &Args) -> Result<(RunRecord, Draft)> {
    loop {
        let record = discard::ephemeral(home, workspace, args.run.as_deref())?;
        let draft = draft(context, workspace, &record, args)?;
        let is_blank = draft.changes.is_empty() && draft.conflicts.is_empty() && draft.uncaptured.is_empty();
        let names_none = args.run.is_none() && args.paths.is_empty() && args.apply_hunk.is_empty();
        if !is_blank || !names_none || !home.is_unreviewed(&record) {
            return Ok((record, draft));
        }
        // It was applied in parts, or the workspace came to the same by itself.
        workspace.note_reviewed(&record)?;
    }
}

/// Notes that all of it was applied, and says what waits beside it.
fn done_with(context: &Context<'_>, workspace: &Workspace<'_>, record: &RunRecord) -> Result<()> {
    workspace.note_reviewed(record)?;
    if let Some(next) = workspace.unreviewed()?.pop() {
        context.ui.hint(format_args!("{} wrote something that waits, too: `belay review` shows it", next.id));
    }
    Ok(())
}

fn draft(context: &Context<'_>, workspace: &Workspace<'_>, record: &RunRecord, args: &Args) -> Result<Draft> {
    let meter = context.ui.meter("Looking");
    let written = match workspace.written(record, context.work(&meter)) {
        Err(Error::NothingTo(_)) => return Err(nothing_of(workspace, record)?),
        written => written?,
    };
    let mut wanted = context.all_beneath(workspace, &args.paths)?;
    for one in &args.apply_hunk {
        let (path, _) = split(one)?;
        wanted.push(context.beneath(workspace, path.as_ref())?);
    }
    if let Some(unknown) = wanted.iter().find(|wanted| !written.paths.iter().any(|path| is_within(path, wanted))) {
        let name = view::relative(unknown);
        return Err(Failure::not_found(format!("{} did not write {name}", record.id)).untouched());
    }
    let incoming = workspace.incoming_of(record, &written, wanted)?;
    Ok(workspace.draft(incoming, context.work(&meter))?)
}

/// Why there is nothing to review, and where it went if it was discarded.
fn nothing_of(workspace: &Workspace<'_>, record: &RunRecord) -> Result<Failure> {
    let Some(snapshot) = workspace.written_before(record)? else {
        return Ok(Failure::not_found(format!("{} wrote nothing that could be reviewed", record.id)).untouched());
    };
    let failure = Failure::not_found(format!("what {} wrote was discarded", record.id)).untouched();
    Ok(failure.hint(format!("it is still in {0}: `belay ls {0}`, `belay rollback {0} PATH`", snapshot.id)))
}

/// `PATH:N,M` as it was typed.
fn split(text: &str) -> Result<(&str, Vec<usize>)> {
    let unclear =
        || Failure::new(Kind::Usage, format!("{text} does not name hunks, such as src/main.rs:1,3")).untouched();
    let (path, numbers) = text.rsplit_once(':').ok_or_else(unclear)?;
    let numbers: Option<Vec<usize>> = numbers.split(',').map(|number| number.parse().ok()).collect();
    Ok((path, numbers.ok_or_else(unclear)?))
}

/// What is chosen if only these hunks are.
fn by_number(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    draft: &Draft,
    wanted: &[String],
) -> Result<HashMap<Vec<u8>, Choice>> {
    let mut numbers: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for one in wanted {
        let (path, some) = split(one)?;
        numbers.entry(context.beneath(workspace, path.as_ref())?).or_default().extend(some);
    }
    let mut choices = HashMap::new();
    for conflict in &draft.conflicts {
        let Some(versions) = workspace.versions(draft, &conflict.path)? else { continue };
        let Some(numbers) = numbers.remove(&conflict.path) else { continue };
        if let Some(bytes) = hunks_beside(&conflict.path, versions, &numbers)? {
            choices.insert(conflict.path.clone(), Choice::Content(bytes));
            choices.extend(conflict.beside.clone().map(|beside| (beside, Choice::Leave)));
        }
    }
    for change in &draft.changes {
        let is_beside = draft.conflicts.iter().any(|conflict| conflict.beside.as_ref() == Some(&change.path));
        match numbers.remove(&change.path) {
            Some(numbers) => choices.extend(hunks_of(workspace, draft, change, &numbers)?),
            // The other version of what cannot be merged comes with the file that was asked for.
            None if is_beside || is_directory(change) => {}
            None => drop(choices.insert(change.path.clone(), Choice::Leave)),
        }
    }
    let is_told = |path: &Vec<u8>| {
        let conflicts = draft.conflicts.iter().map(|conflict| &conflict.path);
        conflicts.chain(draft.uncaptured.iter().map(|(path, _)| path)).any(|known| known == path)
    };
    if let Some(path) = numbers.into_keys().find(|path| !is_told(path)) {
        let name = view::relative(&path);
        return Err(Failure::not_found(format!("the workspace already has what was written to {name}")).untouched());
    }
    Ok(choices)
}

fn is_directory(change: &Change) -> bool {
    change.after.as_ref().is_some_and(|entry| entry.kind.file_type() == belay_session::store::FileType::Dir)
}

/// What becomes of a file of which only these hunks are applied; nothing if those are all.
fn hunks_of(
    workspace: &Workspace<'_>,
    draft: &Draft,
    change: &Change,
    numbers: &[usize],
) -> Result<Option<(Vec<u8>, Choice)>> {
    let path = view::relative(&change.path);
    let Some([before, after]) = workspace.texts(draft, &change.path)? else {
        let failure = Failure::refused(format!("{path} is no text, and has no hunks")).untouched();
        return Err(failure.hint(format!("`belay review --apply {path}` applies it as a whole")));
    };
    let hunks = Hunks::of(&before, &after);
    let fates = fates(&path, &hunks, numbers)?;
    let is_partial = fates.contains(&Fate::Left);
    Ok(is_partial.then(|| (change.path.clone(), Choice::Content(hunks.with(&fates)))))
}

/// What a file that changed on both sides becomes with these hunks of what was written; none if one of them meets a change
/// that was made here.
fn hunks_beside(path: &[u8], [base, now, theirs]: [Vec<u8>; 3], numbers: &[usize]) -> Result<Option<Vec<u8>>> {
    let path = view::relative(path);
    let hunks = Hunks::of(&base, &theirs);
    let fates = fates(&path, &hunks, numbers)?;
    let merged = merge_lines(&base, &now, &hunks.with(&fates));
    if merged.as_ref() == Some(&now) {
        return Err(Failure::not_found(format!("the workspace already has these hunks of {path}")).untouched());
    }
    Ok(merged)
}

/// The hunks of these numbers are taken, and no others.
fn fates(path: &str, hunks: &Hunks, numbers: &[usize]) -> Result<Vec<Fate>> {
    let groups = hunks.groups();
    let mut fates = vec![Fate::Left; hunks.runs()];
    for number in numbers {
        let group = number.checked_sub(1).and_then(|at| groups.get(at)).ok_or_else(|| {
            let count = groups.len();
            Failure::not_found(format!("{path} has no hunk {number}; its hunks are numbered to {count}")).untouched()
        })?;
        fates[group.clone()].fill(Fate::Taken);
    }
    Ok(fates)
}

fn show(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    record: &RunRecord,
    draft: &Draft,
    patch: bool,
) -> Result<ExitCode> {
    if context.ui.json {
        let changes = draft.changes.iter().map(|change| {
            let mut value = marked_json(change);
            value["hunks"] = hunks_json(workspace, draft, &change.path)?;
            let within = within(workspace, draft, change)?;
            if !within.is_empty() {
                value["within"] = within.iter().map(marked_json).collect();
            }
            Ok(value)
        });
        let changes = changes.collect::<Result<Vec<Value>>>()?;
        let conflicts: Vec<String> = draft.conflicts.iter().map(|one| view::relative(&one.path)).collect();
        let (run, snapshot) = (&record.id, &draft.incoming.theirs.id);
        let lacking: Vec<_> =
            draft.uncaptured.iter().filter_map(|(path, reason)| Some((path.clone(), (*reason)?))).collect();
        context
            .ui
            .print_json(&json!({ "run": run, "snapshot": snapshot, "changes": changes, "conflicts": conflicts,
            "not_captured": view::lacking_json(&lacking) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    write_plan(&mut out, workspace, draft, usize::MAX)?;
    if patch {
        write_hunks(&mut out, workspace, draft)?;
    }
    out.finish()?;
    if !draft.changes.is_empty() {
        let more = if patch { "--apply-hunk PATH:N a part of it" } else { "--patch shows every hunk" };
        context.ui.say(format_args!("Nothing was changed; --apply applies it, {more}."));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes every hunk with the number by which it is applied; of a file that stays, the hunks of what was written.
fn write_hunks(out: &mut dyn Write, workspace: &Workspace<'_>, draft: &Draft) -> Result<()> {
    let mut write = |path: &[u8], before: &[u8], after: &[u8]| -> Result<()> {
        let hunks = Hunks::of(before, after);
        for (at, group) in hunks.groups().iter().enumerate() {
            let heading = style::HEADING;
            writeln!(out, "{heading}{}:{}{heading:#}", view::relative(path), at + 1)?;
            hunks.write(out, group)?;
        }
        Ok(())
    };
    let is_beside = |path: &[u8]| draft.conflicts.iter().any(|one| one.beside.as_deref() == Some(path));
    for change in draft.changes.iter().filter(|change| !is_beside(&change.path)) {
        if let Some([before, after]) = workspace.texts(draft, &change.path)? {
            write(&change.path, &before, &after)?;
        }
    }
    for conflict in &draft.conflicts {
        if let Some([base, _, theirs]) = workspace.versions(draft, &conflict.path)? {
            write(&conflict.path, &base, &theirs)?;
        }
    }
    Ok(())
}

fn marked_json(change: &Change) -> Value {
    let mut value = view::change_json(change);
    if let Some(who) = view::notable::notable(&change.path).filter(|_| change.after.is_some()) {
        value["notable"] = who.into();
    }
    value
}

fn hunks_json(workspace: &Workspace<'_>, draft: &Draft, path: &[u8]) -> Result<Value> {
    let Some([before, after]) = workspace.texts(draft, path)? else { return Ok(json!([])) };
    let hunks = Hunks::of(&before, &after);
    let text = |(sign, line): (char, &[u8])| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        format!("{sign}{}", String::from_utf8_lossy(line))
    };
    let one = |(at, group): (usize, &std::ops::Range<usize>)| {
        let lines: Vec<String> = hunks.lines(group).into_iter().map(text).collect();
        json!({ "number": at + 1, "header": hunks.header(group), "lines": lines })
    };
    Ok(hunks.groups().iter().enumerate().map(one).collect())
}

fn is_within(path: &[u8], outer: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(outer) else { return false };
    outer.is_empty() || rest.is_empty() || rest[0] == b'/'
}
