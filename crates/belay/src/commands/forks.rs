//! `belay forks`: the forks of the workspace, and the end of one.

use std::io::Write;
use std::process::ExitCode;

use belay_session::{Fork, ForkState, Workspace};
use serde_json::{Value, json};

use crate::commands::fork;
use crate::context::Context;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{quantity, style};
use crate::view;

/// List the forks of the workspace, or remove one
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List them
    #[command(visible_alias = "ls", after_long_help = LIST_EXAMPLES)]
    List,
    /// Remove forks; the last state of each is captured first, and a directory of its own stays
    #[command(after_long_help = RM_EXAMPLES)]
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,

        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

const LIST_EXAMPLES: &str = "\
Examples:
  belay forks list
  belay forks list --json";

const RM_EXAMPLES: &str = "\
Examples:
  belay forks rm alpha
  belay forks rm alpha beta -y";

const EXAMPLES: &str = "\
Examples:
  belay forks
  belay forks --json
  belay forks rm alpha beta -y";

/// Lists or removes.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    context.refuse_fork("forks")?;
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    match args.command.unwrap_or(Command::List) {
        Command::List => list(context, &workspace),
        Command::Rm { names, yes } => remove(context, &workspace, &names, yes),
    }
}

fn list(context: &Context<'_>, workspace: &Workspace<'_>) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for fork in workspace.forks()? {
        let state = workspace.fork_state(&fork)?;
        rows.push((fork, state));
    }
    if context.ui.json {
        let forks: Vec<Value> = rows.iter().map(|(fork, state)| row_json(fork, state)).collect();
        context.ui.print_json(&json!({ "forks": forks }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    if rows.is_empty() {
        writeln!(out, "No forks; `belay fork NAME` makes one.")?;
    } else {
        let now = workspace.home().now().timestamp();
        let mut table = Table::new(&["NAME", "BASE", "CREATED", "CHANGES", "SIZE", "STATE", "AT"]);
        rows.iter().for_each(|(fork, state)| table.row(row(fork, state, now)));
        table.write(&mut out)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn row(fork: &Fork, state: &ForkState, now: jiff::Timestamp) -> Vec<Cell> {
    vec![
        Cell::new(fork.name.as_str(), style::ID),
        fork.base.clone().unwrap_or_else(|| "-".to_owned()).into(),
        quantity::age(fork.created_at, now).into(),
        state.changed.map_or_else(|| "-".to_owned(), |changed| quantity::grouped(changed as u64)).into(),
        state.bytes.map(quantity::size).unwrap_or_else(|| "-".to_owned()).into(),
        state_name(fork, state).into(),
        fork.directory().map(|path| view::path(&path)).unwrap_or_default().into(),
    ]
}

fn state_name(fork: &Fork, state: &ForkState) -> String {
    match (&state.run, state.exists) {
        (_, false) => "gone".to_owned(),
        (Some(run), _) => format!("{run} goes on"),
        (None, true) if fork.base.is_none() => "not used yet".to_owned(),
        (None, true) => "idle".to_owned(),
    }
}

fn row_json(fork: &Fork, state: &ForkState) -> Value {
    let mut value = fork::to_json(fork);
    if let Some(object) = value.as_object_mut() {
        object.insert("changed".to_owned(), state.changed.into());
        object.insert("bytes".to_owned(), state.bytes.into());
        object.insert("run".to_owned(), state.run.clone().into());
        object.insert("exists".to_owned(), state.exists.into());
    }
    value
}

fn remove(context: &Context<'_>, workspace: &Workspace<'_>, names: &[String], yes: bool) -> Result<ExitCode> {
    for name in names {
        workspace.fork(name)?;
    }
    if !yes {
        let many = quantity::count(names.len() as u64, "fork");
        context.ui.confirm_or(&format!("Remove {many}?"), "add -y to go ahead without being asked")?;
    }
    let mut removed = Vec::new();
    for name in names {
        let directory = workspace.fork(name)?.directory();
        let meter = context.ui.meter("Capturing");
        let last = workspace.remove_fork(name, &context.sources()?, context.work(&meter))?;
        drop(meter);
        let kept = last.as_ref().map(|last| format!("; its last state is in {}", last.snapshot.id)).unwrap_or_default();
        let stays = directory.map(|path| format!("; {} stays", view::path(&path))).unwrap_or_default();
        context.ui.say(format_args!("Removed {name}{kept}{stays}."));
        let lacking = last.as_ref().map(|last| last.lacking.as_slice()).unwrap_or_default();
        view::warn_lacking(context.ui, lacking);
        removed.push(json!({ "name": name, "snapshot": last.as_ref().map(|last| &last.snapshot.id),
            "not_captured": view::lacking_json(lacking) }));
    }
    if context.ui.json {
        context.ui.print_json(&json!({ "removed": removed }))?;
    }
    Ok(ExitCode::SUCCESS)
}
