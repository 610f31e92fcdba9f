//! `belay watch`: protects workspaces without wrapping a process, for agents that live in an editor.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use belay_session::{Answer, Rhythm, RunClient, RunPlan, RunRecord, catch_signals};

use crate::commands::run::supervised;
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::relay::stop_on_signals;
use crate::ui::quantity;
use crate::{summary, view};

/// Watch workspaces, with snapshots at the right moments
///
/// For agents that live in an editor: records every change of files, takes snapshots at intervals
/// (snapshots.auto_interval) and when work pauses (snapshots.triggers.idle_threshold_seconds), and ends with Ctrl-C, or with
/// `belay stop` if it was detached. Commands are recorded only by `belay run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Do not wait: the watch goes on without this terminal
    #[arg(short, long)]
    detach: bool,

    /// List the watches that go on
    #[arg(long, conflicts_with_all = ["detach", "directories"])]
    list: bool,

    /// The directories; the current one by default
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  belay watch
  belay watch --detach ~/projects/shop ~/projects/site
  belay watch --list
  belay stop";

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Watches, or lists watches.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    if args.list {
        return list(context, &home);
    }
    let here = context.directory()?;
    let directories = if args.directories.is_empty() { vec![PathBuf::new()] } else { args.directories };
    let clients: Arc<Mutex<Vec<RunClient>>> = Arc::default();
    let cannot = |error: std::io::Error| Failure::system("cannot handle signals", &error);
    // From the first on: what is stopped while its snapshot is taken does not begin.
    stop_on_signals(catch_signals(&[SIGHUP, SIGINT, SIGTERM]).map_err(cannot)?, Arc::clone(&clients));
    let mut watches = Vec::new();
    for directory in directories {
        let workspace = context.workspace_or_new(&home, &here.join(directory), false)?;
        let open = home.open_runs(workspace.id())?;
        if let Some(running) = open.iter().find(|run| run.is_watch() && run.is_live()) {
            context.ui.say(format_args!("{} is watched already by {}.", view::path(workspace.path()), running.id));
            continue;
        }
        workspace.check_history()?;
        let record = workspace.create_run(&RunPlan::default())?;
        let mut client = supervised(&record, true, true)?;
        clients.lock().expect("no holder panics").push(client.another().map_err(cannot)?);
        let record = await_start(context, &mut client, &record)?;
        summary::begin(context, &record);
        context.ui.say(rhythm(workspace.settings().rhythm()));
        watches.push((record, client));
    }
    if args.detach {
        for (record, _) in &watches {
            summary::detached(context, record)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    attend(context, watches)
}

/// When the watch takes snapshots, in words.
fn rhythm(rhythm: Rhythm) -> String {
    let every = rhythm.interval.map(|every| format!("every {} while files change", quantity::span(every)));
    let idle = rhythm.idle.map(|idle| format!("once nothing has happened for {}", quantity::span(idle)));
    let when: Vec<String> = every.into_iter().chain(idle).collect();
    match when.is_empty() {
        true => "       no snapshots until it ends: the triggers of `belay config list snapshots.triggers` are off"
            .to_owned(),
        false => format!("       a snapshot {}", when.join(", and ")),
    }
}

fn await_start(context: &Context<'_>, client: &mut RunClient, record: &RunRecord) -> Result<RunRecord> {
    let meter = context.ui.meter("Snapshot");
    let gone = |error: std::io::Error| Failure::system(format!("{} cannot be reached", record.id), &error);
    while let Some(answer) = client.hear_answer().map_err(gone)? {
        match answer {
            Answer::Progress(step) => meter.take(step),
            Answer::Started(run) => return Ok(*run),
            Answer::Ended(farewell) if farewell.interrupted => {
                return Err(Failure::new(Kind::Interrupted, "interrupted before the watch began").untouched());
            }
            Answer::Ended(farewell) => {
                let why = farewell.run.because.unwrap_or_else(|| "nobody knows why".to_owned());
                return Err(Failure::new(Kind::System, format!("the watch did not begin: {why}")).untouched());
            }
            _ => {}
        }
    }
    Err(Failure::new(Kind::System, format!("the supervisor of {} is gone", record.id)))
}

/// Waits for Ctrl-C, then ends every watch; a hangup leaves them.
fn attend(context: &Context<'_>, mut watches: Vec<(RunRecord, RunClient)>) -> Result<ExitCode> {
    if watches.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    context.ui.say("Watching; Ctrl-C ends it.");
    for (record, client) in &mut watches {
        loop {
            match client.hear_answer() {
                Ok(Some(Answer::Ended(farewell))) => {
                    let snapshots = quantity::count(farewell.run.totals.snapshots, "snapshot");
                    let changes = quantity::count(farewell.paths, "path");
                    context.ui.say(format_args!("{} ended: {changes} changed, {snapshots}", record.id));
                    summary::warn_of_gaps(context, &farewell);
                    if let Some(snapshot) = farewell.run.pre_run.as_ref().filter(|_| farewell.paths > 0) {
                        context.ui.say(format_args!(
                            "To take it all back: {} rollback {snapshot}   what was seen: {0} log {}",
                            context.itself(),
                            record.id
                        ));
                    }
                    break;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => {
                    context.ui.warn(format_args!("the supervisor of {} is gone", record.id));
                    break;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context<'_>, home: &belay_session::Home) -> Result<ExitCode> {
    let watches: Vec<RunRecord> = home.runs()?.into_iter().filter(|run| run.is_watch() && run.is_live()).collect();
    if watches.is_empty() && !context.ui.json {
        context.ui.say("No watch goes on.");
    }
    let mut out = context.ui.out();
    for watch in &watches {
        match context.ui.json {
            true => out.json(watch)?,
            false => {
                let since = quantity::moment(watch.started_at.unwrap_or(watch.created_at));
                writeln!(out, "{}  {since}  {}", watch.id, crate::ui::escape::printable(watch.root.bytes()))?;
            }
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
