//! `belay log`: what a run did, as a tree of commands with their file changes and the snapshots between them.

mod deeds;
mod follow;
mod tree;

use std::collections::BTreeSet;
use std::process::ExitCode;

use belay_session::event::{Event, What};
use belay_session::journal::{Entry, Reader};
use belay_session::{Home, RunRecord};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::past;

/// Events that are read at a time.
const PAGE: usize = 4096;

/// Show what a run did: its commands, the files they changed, and the snapshots
///
/// Commands that repeat are shown as one line, and of many files only the first; --all shows everything. With --json
/// every event is one line, in the order in which they happened.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run; the latest in this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Go on showing what happens until the run ends
    #[arg(short, long)]
    follow: bool,

    /// Show every file of every command
    #[arg(long, conflicts_with = "no_files")]
    files: bool,

    /// Show no files
    #[arg(long)]
    no_files: bool,

    /// Show only this command and what it started
    #[arg(long, value_name = "N")]
    command: Option<u64>,

    /// Show every command, even those that repeat, and every file
    #[arg(short, long)]
    all: bool,
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        let Args { run, follow, files: _, no_files: _, command: _, all: _ } = self;
        run.is_none() && !follow
    }
}

const EXAMPLES: &str = "\
Examples:
  belay log
  belay log @-2 --no-files
  belay log --command 118 --files
  belay log --follow --json | jq -r 'select(.event == \"exec\") | .argv'";

/// Prints the log.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    if let Some(events) = without_runs(context, &home, &args)? {
        return follow::print_alone(context, &events).map(|()| ExitCode::SUCCESS);
    }
    let run = past::find(context, &home, args.run.as_deref())?;
    let journal = home.journal(&run)?;
    let scope = Scope::of(&journal, args.command)?;
    match (context.ui.json, args.follow) {
        (false, false) => tree::print(context, &home, &run, &journal, &args, &scope)?,
        (json, follow) => follow::print(context, &home, &run, &journal, &args, scope, follow::Style { json, follow })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What was taken back or forward in a workspace that no run has been in; none if there is a run, or nothing was.
fn without_runs(context: &Context<'_>, home: &Home, args: &Args) -> Result<Option<Vec<Event>>> {
    let here = past::workspace_here(context, home).filter(|_| args.run.is_none() && args.command.is_none());
    let Some(here) = here else { return Ok(None) };
    if home.runs()?.iter().any(|run| run.workspace == here) {
        return Ok(None);
    }
    Ok(Some(home.rewinds(&here, None, None)?).filter(|events| !events.is_empty()))
}

/// Which commands are meant: all, or one with everything beneath it.
struct Scope {
    only: Option<BTreeSet<u64>>,
}

impl Scope {
    fn of(journal: &Reader, command: Option<u64>) -> Result<Scope> {
        let Some(number) = command else { return Ok(Scope { only: None }) };
        let commands = journal.commands().map_err(belay_session::Error::from)?;
        if !commands.iter().any(|one| one.exec.command == number) {
            return Err(Failure::not_found(format!("the run has no command {number}")).hint("`belay log` lists them"));
        }
        let mut only = BTreeSet::from([number]);
        // A command's number is higher than that of the one that started it.
        for one in &commands {
            if one.exec.parent.is_some_and(|parent| only.contains(&parent)) {
                only.insert(one.exec.command);
            }
        }
        Ok(Scope { only: Some(only) })
    }

    fn has(&self, command: Option<u64>) -> bool {
        self.only.as_ref().is_none_or(|only| command.is_some_and(|command| only.contains(&command)))
    }

    /// Whether an event belongs; a command that is started beneath one that does, does as well.
    fn takes(&mut self, event: &Event) -> bool {
        let Some(only) = &mut self.only else { return true };
        match &event.what {
            What::Exec(exec) => {
                let beneath = exec.parent.is_some_and(|parent| only.contains(&parent));
                if beneath {
                    only.insert(exec.command);
                }
                beneath || only.contains(&exec.command)
            }
            What::Exit(exit) => only.contains(&exit.command),
            What::File(change) => change.by.and_then(|by| by.command).is_some_and(|command| only.contains(&command)),
            What::Snapshot(taken) => taken.command.is_some_and(|command| only.contains(&command)),
            _ => false,
        }
    }
}

/// The next events after `seq`.
fn next(journal: &Reader, seq: u64, files: bool) -> Result<Vec<Entry>> {
    let entries = if files { journal.events_after(seq, PAGE) } else { journal.events_but_files(seq, PAGE) };
    Ok(entries.map_err(belay_session::Error::from)?)
}

/// Whether nothing more will come.
fn is_over(home: &belay_session::Home, run: &RunRecord) -> bool {
    home.run(&run.id).is_ok_and(|run| !run.is_live())
}
