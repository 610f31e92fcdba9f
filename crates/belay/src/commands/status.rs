//! `belay status`: where the workspace stands, what changed, what is not protected.

use std::io::Write;
use std::process::ExitCode;

use belay_session::event::{Protection, What};
use belay_session::store::{Changes, GapKind};
use belay_session::{Budget, Home, Outlived, RunRecord, Status, Trust, Unprotected, Workspace};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity::{self, count, grouped, size};
use crate::ui::{Out, Streamed, escape, style, width};
use crate::view::{self, changes};
use crate::{past, summary};

/// Show the last snapshot, what changed since, and what is not protected
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name every changed and every unprotected path, instead of the first few
    #[arg(short, long)]
    pub(crate) all: bool,

    /// Only name what changed, a letter and a path a line
    #[arg(short, long)]
    pub(crate) short: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay status
  belay status --all
  belay status --short
  belay status --json | jq .changed

Letters:
  A  added    D  deleted    M  content changed    T  of another type
  P  only permissions, attributes or owner changed";

/// Prints the status.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let meter = context.ui.meter("Looking");
    let status = workspace.status(context.work(&meter))?;
    drop(meter);
    let mut runs = home.open_runs(workspace.id())?;
    runs.retain(RunRecord::is_live);
    let outlived = workspace.outlived_runs()?;
    let unreviewed = workspace.unreviewed()?;
    if context.ui.json {
        let mut value = to_json(&workspace, &status);
        value["runs"] = json!(runs);
        value["unreviewed"] = unreviewed.iter().map(|run| run.id.as_str()).collect();
        value["outlived"] = outlived.iter().map(outlived_json).collect();
        let streamed = Streamed::new(value).list("changed", || listed(&status.changes));
        context.ui.print_json(&streamed.list("uncaptured", || listed(&status.uncaptured)))?;
        return Ok(ExitCode::SUCCESS);
    }
    for damage in &status.damage {
        context.ui.warn(format_args!("{} is damaged at byte {}: {}", damage.file, damage.offset, damage.detail));
    }
    let mut out = context.ui.paged();
    if args.short {
        let mut lines = changes::collapse(status.changes.iter().map(changes::Line::from));
        lines.try_for_each(|line| writeln!(out, "{} {}", view::letter(line.what), line.name()))?;
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines_max = if args.all { usize::MAX } else { LINES_MAX };
    write(&mut out, &workspace, context.fork(), &status, lines_max)?;
    write_runs(&mut out, &home, &runs)?;
    write_unreviewed(&mut out, &unreviewed)?;
    write_outlived(&mut out, &outlived)?;
    write_uncaptured(&mut out, &status.uncaptured, lines_max)?;
    write_unguarded(&mut out, &status)?;
    let is_all = status.uncaptured.is_empty() && unguarded(&status).is_none();
    write_unprotected(&mut out, &status.unprotected, is_all, lines_max)?;
    write_untrusted(&mut out, workspace.trust())?;
    // How much a store grows tells somebody who guesses whether it holds what he wrote already.
    if !context.ui.veils {
        write_budget(&mut out, &status.budget)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// More lines than this need `--all`.
const LINES_MAX: usize = 20;
/// Columns before the command of a run.
const RUN_COLUMNS: usize = 28;

fn write(
    out: &mut Out,
    workspace: &Workspace<'_>,
    fork: Option<&str>,
    status: &Status,
    lines_max: usize,
) -> Result<()> {
    heading(out, "Workspace", &format!("{} ({})", view::path(workspace.path()), workspace.id()))?;
    if let Some(fork) = fork {
        heading(out, "Fork", &escape::printable(fork.as_bytes()))?;
    }
    match &status.base {
        Some(base) => {
            let now = workspace.home().now().timestamp();
            let (name, age) = (view::snapshot_name(base), quantity::age(base.created_at, now));
            let back = status.rewound_at.map(|at| format!(", taken back to it {}", quantity::age(at, now)));
            let all = count(status.snapshots as u64, "snapshot");
            heading(
                out,
                "Snapshot",
                &format!("{name}, {}, {age}{} ({all})", base.kind.name(), back.unwrap_or_default()),
            )?;
            write_changes(out, status, lines_max)?;
        }
        None if status.snapshots > 0 => {
            let all = count(status.snapshots as u64, "safety snapshot");
            heading(out, "Snapshot", &format!("none but {all}; take one with `belay snapshot`"))?;
        }
        None => heading(out, "Snapshot", "none yet; take one with `belay snapshot`")?,
    }
    Ok(())
}

/// What is there, and would be captured now, but is not in the snapshot because it was excluded then or forgotten since.
fn write_uncaptured(out: &mut Out, uncaptured: &Changes, lines_max: usize) -> Result<()> {
    if uncaptured.is_empty() {
        return Ok(());
    }
    heading(out, "Left out", &format!("{} that the snapshot does not hold", count(uncaptured.len() as u64, "path")))?;
    for change in uncaptured.iter().take(lines_max) {
        writeln!(out, "  {}", changes::Line::from(change).name())?;
    }
    more(out, uncaptured.len(), lines_max)?;
    Ok(writeln!(out, "  To protect it: belay snapshot")?)
}

/// Runs and watches that go on, and what protects them.
fn write_runs(out: &mut Out, home: &Home, runs: &[RunRecord]) -> Result<()> {
    for run in runs {
        let line = past::command_line(&run.argv, width::rest(RUN_COLUMNS));
        let what = if run.is_watch() { "watching".to_owned() } else { line };
        heading(out, "Run", &format!("{}, {what}", run.id))?;
        let Some(protection) = &run.protection else { continue };
        writeln!(out, "  {}", summary::in_force(run, protection))?;
        if let Some(weaker) = summary::weaker(protection) {
            writeln!(out, "  weaker than it could be: {weaker}")?;
        }
        let caution = style::CAUTION;
        for why in summary::unprotected(protection) {
            writeln!(out, "  {caution}not protected:{caution:#} {why}")?;
        }
        write_troubles(out, home, run, protection)?;
    }
    Ok(())
}

/// What became weaker, or was lost, since the run began.
fn write_troubles(out: &mut Out, home: &Home, run: &RunRecord, protection: &Protection) -> Result<()> {
    let troubles = home.journal(run).and_then(|journal| Ok(journal.troubles()?));
    let caution = style::CAUTION;
    // A record that cannot be read just now is no reason to say nothing else.
    for event in troubles.unwrap_or_default() {
        match event.what {
            What::Degraded(one) if !protection.degraded.contains(&one) => {
                writeln!(out, "  {caution}{}{caution:#}", escape::printable(one.why.as_bytes()))?;
            }
            What::Lost(lost) => {
                let how_many = lost.count.map_or_else(|| "some".to_owned(), grouped);
                let source = escape::printable(lost.source.as_bytes());
                writeln!(out, "  {caution}{how_many} {source} events were lost{caution:#}")?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Ephemeral runs of which something was neither applied nor discarded, the newest first.
fn write_unreviewed(out: &mut Out, unreviewed: &[RunRecord]) -> Result<()> {
    for run in unreviewed.iter().rev().take(LINES_MAX) {
        let paths = run.totals.paths.unwrap_or(run.totals.changes);
        let wait = if paths == 1 { "waits" } else { "wait" };
        let how = format!("belay review --run {}", run.id);
        heading(out, "To review", &format!("{} of {} {wait}: {how}", count(paths, "path"), run.id))?;
    }
    if let Some(more) = unreviewed.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
        writeln!(out, "  … and {}; `belay runs` names them", quantity::more(more as u64, "run"))?;
    }
    Ok(())
}

/// Processes of runs that are over; what they write is not recorded.
fn write_outlived(out: &mut Out, outlived: &[Outlived]) -> Result<()> {
    for (run, left) in outlived {
        let lives = if left.len() == 1 { "lives" } else { "live" };
        let counted = count(left.len() as u64, "process");
        heading(out, "Unrecorded", &format!("{counted} of {}, which is over, {lives} on", run.id))?;
        for (pid, command) in left.iter().take(LINES_MAX) {
            writeln!(out, "  {pid}  {}", escape::printable(command.as_bytes()))?;
        }
        more(out, left.len(), LINES_MAX)?;
        writeln!(out, "  To end them: belay stop {}", run.id)?;
    }
    Ok(())
}

fn outlived_json((run, left): &Outlived) -> Value {
    let left = left.iter().map(|(pid, command)| json!({ "pid": pid, "command": command }));
    json!({ "run": run.id, "left": left.collect::<Vec<_>>() })
}

/// The workspace's own settings that are not in force.
fn write_untrusted(out: &mut Out, trust: &Trust) -> Result<()> {
    match trust {
        Trust::Untrusted { file, ignored } if !ignored.is_empty() => {
            let keys: Vec<String> = ignored.iter().map(|key| escape::printable(key.as_bytes())).collect();
            let file = escape::printable(file.as_bytes());
            heading(out, "Not trusted", &format!("{file}; not in force until `belay trust`: {}", keys.join(", ")))
        }
        _ => Ok(()),
    }
}

fn write_budget(out: &mut Out, budget: &Budget) -> Result<()> {
    let (used, limit, free) = (size(budget.used_bytes), size(budget.limit_bytes), size(budget.free_bytes));
    heading(out, "Budget", &format!("{used} of {limit} used; {free} free on the disk"))
}

fn heading(out: &mut Out, name: &str, text: &str) -> Result<()> {
    let style = style::HEADING;
    Ok(writeln!(out, "{style}{name:<12}{style:#} {text}")?)
}

fn write_changes(out: &mut Out, status: &Status, lines_max: usize) -> Result<()> {
    if status.changes.is_empty() {
        return heading(out, "Changed", "nothing since then");
    }
    heading(out, "Changed", &format!("{} since then", count(status.changes.len() as u64, "path")))?;
    let mut lines = changes::collapse(status.changes.iter().map(changes::Line::from));
    for line in lines.by_ref().take(lines_max) {
        writeln!(out, "  {}", line.status())?;
    }
    more(out, lines.count(), 0)
}

/// Why what is there is not protected, whatever the settings include.
fn unguarded(status: &Status) -> Option<String> {
    if let Some(origin) = &status.disabled {
        return Some(format!(
            "nothing that changes from now on: snapshots.disabled ({})",
            escape::printable(origin.as_bytes())
        ));
    }
    let Some(base) = &status.base else { return Some("nothing yet: there is no snapshot to go back to".to_owned()) };
    let lacking = count(base.gaps, "path");
    let it = quantity::them(base.gaps);
    base.is_partial().then(|| format!("all but {lacking} that {0} lacks; `belay ls {0}` names {it}", base.id))
}

fn write_unguarded(out: &mut Out, status: &Status) -> Result<()> {
    let caution = style::CAUTION;
    match unguarded(status) {
        Some(why) => heading(out, "Protected", &format!("{caution}{why}{caution:#}")),
        None => Ok(()),
    }
}

fn write_unprotected(out: &mut Out, unprotected: &[Unprotected], is_all: bool, lines_max: usize) -> Result<()> {
    if unprotected.is_empty() {
        return if is_all { heading(out, "Protected", "everything") } else { Ok(()) };
    }
    let total: u64 = unprotected.iter().filter_map(|one| one.bytes).sum();
    let counted = count(unprotected.len() as u64, "path");
    heading(out, "Unprotected", &format!("{counted}, {}", size(total)))?;
    for one in unprotected.iter().take(lines_max) {
        writeln!(out, "  {}", line_of(one))?;
    }
    more(out, unprotected.len(), lines_max)?;
    for advice in advice(unprotected) {
        writeln!(out, "  {advice}")?;
    }
    Ok(())
}

fn line_of(one: &Unprotected) -> String {
    let style = if one.reason.is_wanted() { style::DIM } else { style::CAUTION };
    let at_least = if one.at_least { "over " } else { "" };
    let bytes = one.bytes.map(|bytes| format!(", {at_least}{}", size(bytes))).unwrap_or_default();
    let detail =
        if one.detail.is_empty() { String::new() } else { format!(": {}", escape::printable(one.detail.as_bytes())) };
    format!("{} {style}({}{detail}{bytes}){style:#}", view::relative(&one.path), view::gap_name(one.reason))
}

/// How to protect what is not, once for each reason.
fn advice(unprotected: &[Unprotected]) -> impl Iterator<Item = &'static str> {
    const ADVICE: &[(GapKind, &str)] = &[
        (
            GapKind::Regenerable,
            "To protect it: belay snapshot --all (always: snapshots.exclude.gitignored = \"capture\")",
        ),
        (GapKind::GitIgnored, "To protect what git ignores: snapshots.exclude.gitignored = \"regenerable\""),
        (GapKind::Excluded, "Excluded on purpose: belay config list --origin snapshots.exclude"),
        (GapKind::Unreadable, "You may not read it; no rollback will touch it"),
        (GapKind::Mount, "Another filesystem; to cross into it: snapshots.cross_mounts = true"),
        (GapKind::Hung, "It does not answer; no rollback will touch it"),
        (GapKind::Attributes, "Its extended attributes cannot be read; no rollback will replace or remove it"),
        (GapKind::OverLimit, "Over a limit: raise snapshots.max_entries or snapshots.max_bytes"),
    ];
    let found = |kind: GapKind| unprotected.iter().any(|one| one.reason == kind);
    ADVICE.iter().filter(move |(kind, _)| found(*kind)).map(|(_, text)| *text)
}

fn more(out: &mut Out, all: usize, shown: usize) -> Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => Ok(writeln!(out, "  … and {} more (--all names them)", grouped(more as u64))?),
    }
}

fn listed(changes: &Changes) -> impl Iterator<Item = Value> {
    changes.iter().map(|change| view::change_json(&change))
}

fn to_json(workspace: &Workspace<'_>, status: &Status) -> Value {
    let ignored = match workspace.trust() {
        Trust::Untrusted { ignored, .. } => ignored.as_slice(),
        _ => &[],
    };
    json!({
        "workspace": workspace.id(),
        "path": workspace.path().to_string_lossy(),
        "snapshots": status.snapshots,
        "base": status.base.as_ref().map(view::snapshot_json),
        "rewound_at": status.rewound_at.map(|at| at.to_string()),
        "untrusted": ignored,
        "disabled": status.disabled,
        "unprotected": status.unprotected.iter().map(unprotected_json).collect::<Vec<_>>(),
        "budget": {
            "used_bytes": status.budget.used_bytes,
            "limit_bytes": status.budget.limit_bytes,
            "free_bytes": status.budget.free_bytes,
        },
        "damage": status.damage.iter().map(|damage| json!({
            "file": damage.file, "offset": damage.offset, "detail": damage.detail,
        })).collect::<Vec<_>>(),
    })
}

fn unprotected_json(one: &Unprotected) -> Value {
    let mut object = Map::new();
    escape::put_path(&mut object, "path", &one.path);
    object.insert("reason".to_owned(), view::gap_name(one.reason).into());
    object.insert("detail".to_owned(), one.detail.as_str().into());
    object.insert("bytes".to_owned(), one.bytes.into());
    object.insert("at_least".to_owned(), one.at_least.into());
    object.into()
}
