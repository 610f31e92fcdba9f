//! `belay forget`: erases paths from all history.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Elsewhere, Forget, ForgetReport};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::quantity::{count, size};
use crate::view;

/// Erase files or directories from every snapshot of the workspace
///
/// For secrets that should never have been captured. The files in the workspace stay. The snapshots are written
/// anew without the paths, and belay proves that their content is gone from the store. This cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The files and directories; they need not exist any more
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Erase the same content from every other path and workspace that ever held it, too
    #[arg(long)]
    everywhere: bool,

    /// Only show which snapshots hold them
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

To keep a path out of future snapshots, add it to snapshots.exclude.additional.";

/// Erases the paths, and proves it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
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
    if plan.snapshots.is_empty() {
        return Err(Failure::not_found("no snapshot holds any of these paths")
            .untouched()
            .hint("`belay find NAME` tells which snapshots hold a path"));
    }
    if args.dry_run {
        return dry_run(context, &plan);
    }
    if !args.yes {
        let snapshots = count(plan.snapshots.len() as u64, "snapshot");
        context.ui.say(format_args!("Held by {snapshots}: {}", view::ids(&plan.snapshots)));
        for other in &plan.elsewhere {
            context.ui.say(format_args!("{}", elsewhere_line(other)));
        }
        context.ui.confirm("Erase them from all of these for good? This cannot be undone.")?;
    }
    let report = context.ui.while_working("Erasing", || workspace.forget(&plan))?;
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
        }))?;
    } else {
        let mut out = context.ui.out();
        writeln!(
            out,
            "Would rewrite {}: {}",
            count(plan.snapshots.len() as u64, "snapshot"),
            view::ids(&plan.snapshots)
        )?;
        plan.elsewhere.iter().try_for_each(|other| writeln!(out, "{}", elsewhere_line(other)))?;
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
    out.finish()?;
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
