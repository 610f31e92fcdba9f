//! `belay stop`: ends a run with everything that it started.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use belay_session::{Answer, Request, Resident, RunClient, RunRecord, Told, Unheard, Want, end_hung};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::quantity::count;
use crate::{past, swift};

/// End a run, with everything that it started
///
/// Asks every process of the run to end, and kills those that live on after five seconds, daemons and orphans
/// included. Then the run is put in order as usual: final snapshot, summary, journal.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Kill at once
    #[arg(long)]
    now: bool,

    /// End the helper that answers the hooks of agents here
    #[arg(long, conflicts_with_all = ["now", "run"])]
    helper: bool,

    /// The run or watch; the latest that goes on in this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// How long a helper is waited for that still has something to do.
const PATIENCE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  belay stop
  belay stop --now run_k8m2p1x0
  belay stop --helper        the next hook of an agent starts another";

/// Stops the run, and waits until it is over.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    if args.helper {
        return end_helper(context);
    }
    let home = context.home()?;
    let workspace = past::workspace_here(context, &home);
    let is_here = |id: &str| workspace.as_deref().is_none_or(|here| here == id);
    let lives = |run: &RunRecord| is_here(&run.workspace) && (run.is_live() || !run.living().is_empty());
    let record = home.find_run(args.run.as_deref(), &lives).map_err(past::none_goes_on)?;
    let connected = record.is_live().then(|| RunClient::connect(&home.run_dir(&record.id)).ok()).flatten();
    let Some(mut client) = connected else {
        let killed = record
            .kill_living()
            .map_err(|error| Failure::system(format!("not every process of {} could be ended", record.id), &error))?;
        if killed == 0 {
            return Err(Failure::not_found(format!("{} is over already", record.id)).untouched());
        }
        context.ui.say(format_args!("Ended {} that outlived {}.", count(killed as u64, "process"), record.id));
        return Ok(ExitCode::SUCCESS);
    };
    let gone = |error: std::io::Error| Failure::system(format!("{} cannot be reached", record.id), &error);
    client.ask(&Request::Stop { now: args.now }).map_err(gone)?;
    while let Some(answer) = client.hear_answer().map_err(gone)? {
        if let Answer::Ended(farewell) = answer {
            if context.ui.json {
                context.ui.print_json(&json!({ "run": farewell.run }))?;
            } else {
                context.ui.say(format_args!("Stopped {}.", record.id));
            }
            crate::summary::say_left(context, &farewell.run, &farewell.left);
            return Ok(ExitCode::SUCCESS);
        }
    }
    Err(Failure::not_found(format!("the supervisor of {} went away while stopping", record.id))
        .hint("`belay status` puts in order what was left"))
}

fn end_helper(context: &Context<'_>) -> Result<ExitCode> {
    let directory = context.directory()?;
    let none = || Failure::not_found("no helper answers hooks here").untouched();
    let ask = |want: Want| {
        let Some(mut helper) = Resident::near(&context.environment.home, &directory)? else { return Ok(None) };
        helper.ask(&swift::letter(&context.environment, directory.clone(), want)).map(Some)
    };
    let standing = match ask(Want::Standing).and_then(|told| ask(Want::Leave).map(|_| told)) {
        Ok(Some(Told::Standing(standing))) => standing,
        Ok(_) => return Err(none()),
        Err(Unheard::Hangs(Some(pid))) if end_hung(pid) => {
            context.ui.say(format_args!("Ended the helper, process {pid}, which did not answer."));
            return Ok(ExitCode::SUCCESS);
        }
        Err(Unheard::Hangs(pid)) => {
            let which = pid.map(|pid| format!(", process {pid},")).unwrap_or_default();
            return Err(Failure::refused(format!("the helper{which} does not answer and cannot be ended")));
        }
        Err(Unheard::Busy) => return Err(Failure::refused("the helper is busy; try again")),
        Err(Unheard::Broken(error)) => return Err(Failure::system("the helper does not answer", &error)),
    };
    let process = format!("/proc/{}", standing.pid);
    let deadline = Instant::now() + PATIENCE;
    // What it has begun it finishes first.
    while Path::new(&process).exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    context.ui.say("Ended the helper.");
    Ok(ExitCode::SUCCESS)
}
