//! `belay snapshots`: lists, prunes and deletes snapshots.

use std::io::Write;
use std::process::ExitCode;

use belay_session::{
    Backend, GitRef, Kind, PrunePlan, PruneRule, Pruned, SNAPSHOT_REFS, Snapshot, Timeline, Workspace,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::quantity;
use crate::ui::table::{Cell, Table};
use crate::ui::{escape, style};
use crate::view;

/// List, prune or delete snapshots
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Prune(PruneArgs),
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        matches!(self.action, None | Some(Action::List(_)))
    }
}

/// List the snapshots of the workspace, oldest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = LIST_EXAMPLES)]
struct ListArgs {
    /// Show only the newest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Show only snapshots of this type, such as manual, pre-run or safety
    #[arg(short = 't', long = "type", value_name = "TYPE", value_parser = KINDS)]
    kind: Option<String>,

    /// Show number, exact time, files, bytes and description too
    #[arg(short, long)]
    long: bool,

    /// List the named states in the workspace's git repository (refs/sandbox/snapshots/) instead
    #[arg(long, conflicts_with_all = ["kind", "long"])]
    refs: bool,
}

/// Delete old snapshots by a rule, and give the space back
///
/// Pre-run snapshots go by no rule unless snapshots.retention.delete_initial is set, labelled ones only by --budget, and there last.
/// `belay gc` is not needed afterwards.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PRUNE_EXAMPLES)]
#[command(group = clap::ArgGroup::new("rule").required(true).args(["keep", "older_than", "budget"]))]
struct PruneArgs {
    /// Keep the N newest, a pre-run one among them, and delete the rest
    ///
    /// The newest snapshot, labelled and pre-run ones, and what an undo, a redo or a run still needs stay in any case, with 0 too.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Delete what is older than this, such as 7d or 36h
    #[arg(long, value_name = "SPAN", value_parser = belay_session::parse_span)]
    older_than: Option<SignedDuration>,

    /// Delete until the store takes no more than this, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = belay_session::parse_size)]
    budget: Option<u64>,

    /// Only show what would be deleted
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// Delete snapshots by name
///
/// One that the next `belay undo` or `belay redo` goes back to is not deleted without --force.
#[derive(Debug, clap::Args)]
#[command(after_long_help = DELETE_EXAMPLES)]
struct DeleteArgs {
    /// The snapshots
    #[arg(required = true, value_name = "SNAP")]
    snapshots: Vec<String>,

    /// Delete also what the next undo or redo needs, which can then not be done any more
    #[arg(short, long)]
    force: bool,

    /// Only show what would be deleted
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const KINDS: [&str; 10] = ["pre-run", "git", "build", "idle", "auto", "manual", "turn", "tool", "safety", "final"];

const EXAMPLES: &str = "\
Examples:
  belay snapshots
  belay snapshots --long -n 20
  belay snapshots --refs
  belay snapshots prune --keep 5
  belay snapshots delete snap_k8m2p1

Marks in the list:
  *  the snapshot lacks something that it should hold (unreadable, over a limit); `belay ls` shows what";

const LIST_EXAMPLES: &str = "\
Examples:
  belay snapshots list
  belay snapshots list --type safety --json";

const PRUNE_EXAMPLES: &str = "\
Examples:
  belay snapshots prune --keep 5 --dry-run
  belay snapshots prune --older-than 7d -y
  belay snapshots prune --budget 2GiB";

const DELETE_EXAMPLES: &str = "\
Examples:
  belay snapshots delete before-refactor
  belay snapshots delete snap_k8m2p1 snap_v7n4q9 -y";

/// Characters of what a snapshot was taken for.
const FOR_CHARS_MAX: usize = 50;

/// Lists, prunes or deletes.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    match args.action {
        None => list(context, &workspace, &args.list)?,
        Some(Action::List(args)) => list(context, &workspace, &args)?,
        Some(Action::Prune(args)) => prune(context, &workspace, &args)?,
        Some(Action::Delete(args)) => delete(context, &workspace, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context<'_>, workspace: &Workspace<'_>, args: &ListArgs) -> Result<()> {
    if args.refs {
        return list_refs(context, workspace, args.limit);
    }
    let timeline = workspace.timeline()?;
    let of_type = |snapshot: &&Snapshot| args.kind.as_deref().is_none_or(|kind| snapshot.kind.name() == kind);
    let mut shown: Vec<Snapshot> = timeline.snapshots().iter().filter(of_type).cloned().collect();
    let hidden = args.limit.map_or(0, |limit| shown.len().saturating_sub(limit));
    shown.drain(..hidden);
    if context.ui.veils {
        for snapshot in &mut shown {
            // One that is damaged stands in the list all the same.
            let files = workspace.as_told(snapshot).map_or(0, |told| told.files);
            (snapshot.files, snapshot.bytes, snapshot.size_delta) = (files, 0, 0);
        }
    }
    if context.ui.json {
        let snapshots: Vec<_> = shown.iter().map(view::snapshot_json).collect();
        let path = workspace.path().to_string_lossy();
        return context.ui.print_json(&json!({ "workspace": workspace.id(), "path": path, "snapshots": snapshots }));
    }
    warn_of_damage(context, &timeline);
    let mut out = context.ui.paged();
    write_table(&mut out, &shown, args.long, workspace.home().now().timestamp())?;
    if !shown.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", footer(&timeline, shown.len()))?;
    if shown.iter().any(|snapshot| snapshot.is_partial()) {
        writeln!(out, "* lacks something that could not be captured; `belay ls ID` names it")?;
    }
    out.finish()
}

/// The refs, oldest first as the snapshots are.
fn list_refs(context: &Context<'_>, workspace: &Workspace<'_>, limit: Option<usize>) -> Result<()> {
    let mut refs = workspace.git_refs()?;
    refs.truncate(limit.unwrap_or(usize::MAX));
    refs.reverse();
    if context.ui.json {
        let one = |one: &GitRef| {
            json!({
                "ref": format!("{SNAPSHOT_REFS}{}", one.name),
                "name": one.name,
                "commit": one.commit.to_hex(),
                "created_at": one.at,
                "description": one.message,
            })
        };
        let refs: Vec<_> = refs.iter().map(one).collect();
        let path = workspace.path().to_string_lossy();
        return context.ui.print_json(&json!({ "workspace": workspace.id(), "path": path, "refs": refs }));
    }
    let mut table = Table::new(&["NAME", "COMMIT", "CREATED", "DESCRIPTION"]);
    let now = workspace.home().now().timestamp();
    for one in &refs {
        let first_line = one.message.lines().next();
        table.row(vec![
            Cell::new(one.name.clone(), style::ID),
            one.commit.to_hex()[..12].to_owned().into(),
            quantity::age(one.at, now).into(),
            text(first_line),
        ]);
    }
    let mut out = context.ui.paged();
    table.write(&mut out)?;
    if !refs.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{} in {SNAPSHOT_REFS}", quantity::count(refs.len() as u64, "ref"))?;
    out.finish()
}

fn footer(timeline: &Timeline, shown: usize) -> String {
    let all = timeline.snapshots();
    let is_used = |backend: &Backend| all.iter().any(|snapshot| snapshot.backend == *backend);
    let used: Vec<&str> = Backend::ALL.into_iter().filter(is_used).map(Backend::name).collect();
    let backend = match used[..] {
        [] => format!("backend: {}", Backend::default().name()),
        [one] => format!("backend: {one}"),
        _ => format!("backends: {}", used.join(", ")),
    };
    let counted = quantity::count(all.len() as u64, "snapshot");
    match all.len() - shown {
        0 => format!("{counted} ({backend})"),
        _ => format!("{} of {counted} ({backend})", quantity::grouped(shown as u64)),
    }
}

fn write_table(out: &mut dyn Write, shown: &[Snapshot], long: bool, now: Timestamp) -> Result<()> {
    const SHORT: &[&str] = &["ID", "TYPE", "SIZE", "CREATED", "CP", "LABEL", "FOR"];
    const LONG: &[&str] =
        &["NUMBER", "ID", "TYPE", "SIZE", "CREATED", "CP", "FILES", "BYTES", "LABEL", "FOR", "DESCRIPTION"];
    let mut table = Table::new(if long { LONG } else { SHORT });
    for snapshot in shown {
        table.row(if long { long_row(snapshot) } else { short_row(snapshot, now) });
    }
    Ok(table.write(out)?)
}

fn short_row(snapshot: &Snapshot, now: Timestamp) -> Vec<Cell> {
    let [id, kind, size] = first_cells(snapshot);
    let created = quantity::age(snapshot.created_at, now);
    let what = asked_for(snapshot);
    vec![id, kind, size, created.into(), checkpoint(snapshot), text(snapshot.label.as_deref()), text(what.as_deref())]
}

/// The turn that a snapshot begins, by the name that it is undone by, or the tool call that it belongs to.
fn asked_for(snapshot: &Snapshot) -> Option<String> {
    let why = snapshot.cause.trigger.as_deref().unwrap_or_default();
    let cut = |text: String| match text.chars().count() > FOR_CHARS_MAX {
        true => text.chars().take(FOR_CHARS_MAX - 1).chain(['…']).collect(),
        false => text,
    };
    match (snapshot.kind, snapshot.cause.turn) {
        (Kind::Turn, Some(turn)) => Some(cut(format!("@turn-{turn} {why}"))),
        (Kind::Tool, _) => Some(cut(why.to_owned())),
        _ => None,
    }
}

fn long_row(snapshot: &Snapshot) -> Vec<Cell> {
    let [id, kind, size] = first_cells(snapshot);
    vec![
        snapshot.number.to_string().into(),
        id,
        kind,
        size,
        quantity::moment(snapshot.created_at).into(),
        checkpoint(snapshot),
        quantity::grouped(snapshot.files).into(),
        quantity::size(snapshot.bytes).into(),
        text(snapshot.label.as_deref()),
        text(asked_for(snapshot).as_deref()),
        text(snapshot.description.as_deref()),
    ]
}

fn first_cells(snapshot: &Snapshot) -> [Cell; 3] {
    let mark = if snapshot.is_partial() { "*" } else { "" };
    let size =
        if snapshot.size_delta == 0 { "-".to_owned() } else { format!("+{}", quantity::size(snapshot.size_delta)) };
    [Cell::new(format!("{}{mark}", snapshot.id), style::ID), snapshot.kind.name().into(), size.into()]
}

fn checkpoint(snapshot: &Snapshot) -> Cell {
    snapshot.checkpoint().unwrap_or_default().into()
}

fn text(text: Option<&str>) -> Cell {
    escape::printable(text.unwrap_or_default().as_bytes()).into()
}

fn warn_of_damage(context: &Context<'_>, timeline: &Timeline) {
    for damage in timeline.damage() {
        context.ui.warn(format_args!("{} is damaged at byte {}: {}", damage.file, damage.offset, damage.detail));
    }
    if !timeline.damage().is_empty() {
        context.ui.hint("the other snapshots are unharmed; `belay verify --repair` brings back what is left of it");
    }
}

fn prune(context: &Context<'_>, workspace: &Workspace<'_>, args: &PruneArgs) -> Result<()> {
    let rule = match (args.keep, args.older_than, args.budget) {
        (Some(keep), _, _) => PruneRule::Keep(keep),
        (_, Some(span), _) => PruneRule::OlderThan(span),
        (_, _, budget) => PruneRule::Budget(budget.unwrap_or(u64::MAX)),
    };
    let plan = context.ui.while_working("Weighing", || workspace.plan_prune(rule))?;
    if args.dry_run || plan.delete.is_empty() {
        let would = Pruned { deleted: plan.delete.clone(), freed_bytes: plan.freed_bytes, unfreed: None };
        return tell_pruned(context, &plan, &would, true);
    }
    if !args.yes {
        let gone = quantity::count(plan.delete.len() as u64, "snapshot");
        context.ui.say(format_args!("Would delete: {}", view::ids(&plan.delete)));
        context.ui.confirm(&format!("Delete {gone} for good?"))?;
    }
    let pruned = context.ui.while_working("Deleting", || workspace.prune(&plan))?;
    tell_pruned(context, &plan, &pruned, false)
}

fn delete(context: &Context<'_>, workspace: &Workspace<'_>, args: &DeleteArgs) -> Result<()> {
    let mut gone: Vec<Snapshot> = Vec::new();
    for name in &args.snapshots {
        let snapshot = workspace.resolve(name)?;
        if !gone.iter().any(|other| other.id == snapshot.id) {
            gone.push(snapshot);
        }
    }
    let timeline = workspace.timeline()?;
    let needed = |(_, needed): &(&str, &Snapshot)| gone.iter().any(|snapshot| snapshot.id == needed.id);
    let lost: Vec<(&str, &Snapshot)> = timeline.ways_back().into_iter().filter(needed).collect();
    if let Some((verb, snapshot)) = lost.first().filter(|_| !args.force && !args.dry_run) {
        return Err(Failure::refused(format!("the next `belay {verb}` goes back to {}", snapshot.id))
            .untouched()
            .hint(format!("--force deletes it all the same, and that {verb} cannot be done any more")));
    }
    for (verb, snapshot) in &lost {
        context.ui.warn(format_args!("without {} the next `belay {verb}` cannot be done any more", snapshot.id));
    }
    let plan = context.ui.while_working("Weighing", || workspace.plan_delete(gone))?;
    if args.dry_run {
        return tell_deleted(
            context,
            &plan,
            &Pruned { deleted: plan.delete.clone(), freed_bytes: plan.freed_bytes, unfreed: None },
            true,
        );
    }
    if !args.yes {
        context.ui.confirm(&format!("Delete {} for good?", view::ids(&plan.delete)))?;
    }
    let ids: Vec<String> = plan.delete.iter().map(|snapshot| snapshot.id.clone()).collect();
    let pruned = context.ui.while_working("Deleting", || workspace.delete(&ids))?;
    if pruned.deleted.is_empty() {
        return Err(Failure::not_found("they were deleted by somebody else in the meantime"));
    }
    tell_deleted(context, &plan, &pruned, false)
}

fn tell_pruned(context: &Context<'_>, plan: &PrunePlan, pruned: &Pruned, dry_run: bool) -> Result<()> {
    if !context.ui.json {
        let mut out = context.ui.out();
        writeln!(out, "Keeping: {}", if plan.keep.is_empty() { "none".to_owned() } else { view::ids(&plan.keep) })?;
        out.finish()?;
    }
    tell_deleted(context, plan, pruned, dry_run)
}

fn tell_deleted(context: &Context<'_>, plan: &PrunePlan, pruned: &Pruned, dry_run: bool) -> Result<()> {
    if context.ui.json {
        return context.ui.print_json(&json!({
            "dry_run": dry_run,
            "kept": plan.keep.iter().map(|snapshot| &snapshot.id).collect::<Vec<_>>(),
            "deleted": view::snapshots_json(&pruned.deleted),
            "freed_bytes": pruned.freed_bytes,
            "unfreed": pruned.unfreed,
        }));
    }
    let mut out = context.ui.out();
    let gone = quantity::count(pruned.deleted.len() as u64, "snapshot");
    let freed = quantity::size(pruned.freed_bytes);
    match (pruned.deleted.is_empty(), dry_run) {
        (true, _) => writeln!(out, "Deleting: nothing")?,
        (false, true) => writeln!(out, "Would delete: {} ({gone}, about {freed})", view::ids(&pruned.deleted))?,
        (false, false) => writeln!(out, "Deleting: {gone} (freed {freed})")?,
    }
    out.finish()?;
    view::say_unfreed(context.ui, pruned);
    Ok(())
}
