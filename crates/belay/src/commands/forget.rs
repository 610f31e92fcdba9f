//! `belay forget`: erases paths from all history.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Elsewhere, ErasedRecords, Finished, Forget, ForgetReport, NamedInRun, Snapshot};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::escape::printable;
use crate::ui::quantity::{count, moment, size};
use crate::view;

/// Erase files or directories from every snapshot and every record of the workspace
///
/// For secrets that should never have been captured. The files in the workspace stay. The snapshots are written
/// anew without the paths, and belay proves that their content is gone from the store.
///
/// In the records of runs every event that names a path loses those words: the path, whole words of a command, whole
/// texts of a tool call. A signed event says which events that were, so `belay audit verify` still proves the rest. A
/// command that came to a path without naming it (by a pattern, a variable, another name) keeps its words. What the
/// terminal of a run showed loses the lines that name a path; the content may stand in others: see --consoles. Afterwards
/// belay looks through its own files and tells which still name a path. A run that goes on is not reached, and bundles
/// and archives that were exported are not either. This cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The files and directories; they need not exist any more
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Erase the same content from every other path and workspace that ever held it, too
    #[arg(long)]
    everywhere: bool,

    /// Also erase everything that the terminals of runs showed whose records name a path
    #[arg(long)]
    consoles: bool,

    /// Only show which snapshots hold them, and which runs name them
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay forget .env --dry-run
  belay forget secrets/ id_rsa -y
  belay forget .env --everywhere        its copies in other workspaces, too
  belay forget .env --consoles          with what the terminals of runs showed

To keep a path out of future snapshots, add it to snapshots.exclude.additional.";

/// Erases the paths, and proves it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let finished = context.ui.while_working("Erasing", || home.finish_forgetting())?;
    for one in &finished {
        context.ui.warn(format_args!("the forgetting of {} was interrupted, and is now finished", moment(one.at)));
    }
    let workspace = context.workspace(&home)?;
    let paths = context.all_beneath(&workspace, &args.paths)?;
    if paths.iter().any(Vec::is_empty) {
        return Err(Failure::refused("that is the whole workspace")
            .untouched()
            .hint("to delete snapshots as a whole, use `belay snapshots delete`"));
    }
    let plan = context.ui.while_working("Searching", || match args.everywhere {
        true => workspace.plan_forget_everywhere(&paths),
        false => workspace.plan_forget(&paths),
    })?;
    let is_it = |one: &&Finished| paths.iter().all(|path| one.forget.paths.contains(path));
    if let Some(one) = finished.iter().find(is_it).filter(|_| plan.is_empty()) {
        tell(context, &one.forget, &one.report)?;
        return Ok(ExitCode::SUCCESS);
    }
    if plan.is_empty() {
        return Err(Failure::not_found("no snapshot holds any of these paths, and no run names one")
            .untouched()
            .hint("`belay find NAME` tells which snapshots hold a path"));
    }
    if args.dry_run {
        return dry_run(context, &plan);
    }
    if !args.yes {
        context.ui.say(format_args!("Held by {}", snapshots_line(&plan.snapshots)));
        for other in &plan.elsewhere {
            context.ui.say(format_args!("{}", elsewhere_line(other)));
        }
        if !plan.runs.is_empty() {
            context.ui.say(format_args!("Named by {}", runs_line(&plan.runs)));
        }
        context.ui.confirm("Erase them from all of these for good? This cannot be undone.")?;
    }
    let report = context.ui.while_working("Erasing", || workspace.forget(&plan, args.consoles))?;
    tell(context, &plan, &report)?;
    // Whether the repository can be read is nothing that the store depends on.
    if workspace.git_refs().is_ok_and(|refs| !refs.is_empty()) {
        context.ui.warn("the workspace's git repository is not rewritten: its refs/sandbox/snapshots/ may hold them");
        context.ui.hint("`belay snapshots --refs` lists them, `git update-ref -d` removes one");
    }
    Ok(ExitCode::SUCCESS)
}

fn dry_run(context: &Context<'_>, plan: &Forget) -> Result<ExitCode> {
    if context.ui.json {
        context.ui.print_json(&json!({
            "dry_run": true,
            "paths": paths_json(plan),
            "snapshots": plan.snapshots.iter().map(|snapshot| &snapshot.id).collect::<Vec<_>>(),
            "elsewhere": plan.elsewhere.iter().map(elsewhere_json).collect::<Vec<_>>(),
            "runs": runs_json(&plan.runs),
        }))?;
    } else {
        let mut out = context.ui.out();
        writeln!(out, "Would rewrite {}", snapshots_line(&plan.snapshots))?;
        plan.elsewhere.iter().try_for_each(|other| writeln!(out, "{}", elsewhere_line(other)))?;
        if !plan.runs.is_empty() {
            writeln!(out, "Would erase words of {}", runs_line(&plan.runs))?;
        }
        out.finish()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(context: &Context<'_>, plan: &Forget, report: &ForgetReport) -> Result<()> {
    if context.ui.json {
        return context.ui.print_json(&json!({
            "paths": paths_json(plan),
            "rewritten": report.rewritten.iter().map(|snapshot| &snapshot.id).collect::<Vec<_>>(),
            "gone": report.gone.iter().map(|hash| hash.to_hex()).collect::<Vec<_>>(),
            "shared": report.shared.iter().map(|hash| hash.to_hex()).collect::<Vec<_>>(),
            "freed_bytes": report.freed_bytes,
            "records": records_json(&report.records),
        }));
    }
    let mut out = context.ui.out();
    writeln!(
        out,
        "Rewrote {} (freed {}).",
        count(report.rewritten.len() as u64, "snapshot"),
        size(report.freed_bytes)
    )?;
    if !report.gone.is_empty() {
        let gone = count(report.gone.len() as u64, "object");
        writeln!(out, "Gone from the store, looked for each and found none: {gone}.")?;
        report.gone.iter().try_for_each(|hash| writeln!(out, "  {hash}"))?;
    }
    let records = &report.records;
    if !records.runs.is_empty() {
        writeln!(out, "Erased words of {}", runs_line(&records.runs))?;
    }
    if records.still.is_empty() {
        writeln!(
            out,
            "Named in none of belay's records any more: looked through {}.",
            count(records.searched, "file")
        )?;
    }
    if !report.rewritten.is_empty() {
        writeln!(out, "The snapshots keep the bare name, so that a rollback leaves what is there.")?;
    }
    out.finish()?;
    tell_left(context, records);
    if !report.shared.is_empty() {
        let still = count(report.shared.len() as u64, "object");
        context.ui.warn(format_args!(
            "still in the store: {still}, because another path or workspace holds the same content"
        ));
        context.ui.hint("add --everywhere to erase it there as well; `belay find` helps to find it");
    }
    context.ui.hint("the files in the workspace are untouched; the next snapshot takes them again unless snapshots.exclude.additional names them");
    Ok(())
}

/// What was not reached.
fn tell_left(context: &Context<'_>, records: &ErasedRecords) {
    for (run, why) in &records.unreached {
        context.ui.warn(format_args!("the record of {run} still names them: {}", printable(why.as_bytes())));
    }
    if !records.unreached.is_empty() {
        context.ui.hint("run this again when those runs have ended; `belay stop RUN` ends one");
    }
    for file in &records.still {
        context.ui.warn(format_args!("still named in {}", view::path(file)));
    }
    if !records.consoles.is_empty() {
        let runs = records.consoles.join(", ");
        context.ui.hint(format_args!(
            "what the terminal showed is kept but for lines that name them: `belay logs` of {runs}"
        ));
    }
}

/// `2 snapshots: snap_a, snap_b`.
fn snapshots_line(snapshots: &[Snapshot]) -> String {
    match snapshots {
        [] => "no snapshot".to_owned(),
        _ => format!("{}: {}", count(snapshots.len() as u64, "snapshot"), view::ids(snapshots)),
    }
}

/// `3 events of 2 runs: run_a, run_b`.
fn runs_line(runs: &[NamedInRun]) -> String {
    let events = count(runs.iter().map(|run| run.events).sum(), "event");
    let names: Vec<&str> = runs.iter().map(|run| run.run.as_str()).collect();
    format!("{events} of {}: {}", count(runs.len() as u64, "run"), names.join(", "))
}

fn runs_json(runs: &[NamedInRun]) -> Value {
    runs.iter().map(|run| json!({ "run": run.run, "events": run.events })).collect()
}

fn records_json(records: &ErasedRecords) -> Value {
    json!({
        "runs": runs_json(&records.runs),
        "consoles_kept": records.consoles,
        "unreached": records.unreached.iter().map(|(run, why)| json!({ "run": run, "why": why })).collect::<Vec<_>>(),
        "searched_files": records.searched,
        "still_named_in": records.still.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    })
}

fn elsewhere_line(other: &Elsewhere) -> String {
    let names: Vec<String> = other.paths.iter().map(|path| view::relative(path)).collect();
    let (directory, names) = (view::path(&other.directory), names.join(", "));
    format!("In {directory}, held by {}: {names}", count(other.snapshots.len() as u64, "snapshot"))
}

fn elsewhere_json(other: &Elsewhere) -> Value {
    json!({
        "workspace": other.workspace,
        "path": other.directory.to_string_lossy(),
        "paths": other.paths.iter().map(|path| String::from_utf8_lossy(path)).collect::<Vec<_>>(),
        "snapshots": other.snapshots.iter().map(|snapshot| &snapshot.id).collect::<Vec<_>>(),
    })
}

fn paths_json(plan: &Forget) -> Value {
    plan.paths.iter().map(|path| Value::from(String::from_utf8_lossy(path))).collect()
}
