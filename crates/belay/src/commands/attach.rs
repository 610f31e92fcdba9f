//! `belay attach`: comes back to a run that goes on by itself.

use std::process::ExitCode;

use belay_session::{Request, RunClient, RunRecord};

use crate::commands::run::ended;
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::past;
use crate::relay::{Endings, News, Outcome, Screen, relay};
use crate::summary;

/// Come back to a run that goes on by itself
///
/// Shows its terminal here until it ends or you leave with Ctrl-] typed three times. A run whose output went to a pipe
/// or a file has no terminal; then this only waits for its end, and Ctrl-C leaves. The exit code is that of the run's
/// command.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run; the latest that goes on in this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay attach
  belay attach run_k8m2p1x0
  belay attach nightly";

/// Attaches.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let goes_on = |run: &RunRecord| run.workspace == workspace.id() && run.is_live();
    let record = home.find_run(args.run.as_deref(), &goes_on).map_err(past::none_goes_on)?;
    if !record.state.is_open() {
        let failure = Failure::not_found(format!("{} is over already", record.id)).untouched();
        return Err(
            failure.hint(format!("`belay logs {0}` shows what it showed, `belay show {0}` how it ended", record.id))
        );
    }
    let gone = |error: std::io::Error| {
        Failure::system(format!("{} cannot be reached", record.id), &error).hint("`belay runs` says how it ended")
    };
    let mut client = RunClient::connect(&home.run_dir(&record.id)).map_err(gone)?;
    let has_terminal = record.terminal.contains(&true);
    let screen = if has_terminal { Screen::find() } else { Screen::none() };
    if has_terminal {
        client.ask(&Request::Attach(screen.size().unwrap_or_default())).map_err(gone)?;
        context.ui.say("Ctrl-] typed three times leaves it going on.");
    } else {
        context.ui.say(format_args!("{} has no terminal; waiting for its end. Ctrl-C leaves it going on.", record.id));
    }
    match relay(client, &screen, Endings::Leave, &mut |news| {
        if let News::Storm(..) = news {
            summary::tell(context, &news);
        }
    })
    .map_err(gone)?
    {
        Outcome::Ended(farewell) => ended(context, &workspace, &farewell),
        Outcome::Detached => {
            context.ui.say(format_args!("\n{0} goes on; `belay stop {0}` ends it.", record.id));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Lost => Err(Failure::new(Kind::System, format!("the supervisor of {} is gone", record.id))
            .hint("`belay status` says what still lives, and puts in order what was left")),
    }
}
