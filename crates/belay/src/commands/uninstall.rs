//! `belay uninstall`: takes belay's entries out of agents' settings again.

use std::process::ExitCode;

use crate::agents::plan::{File, Ground, files};
use crate::agents::settings::{self, Edit};
use crate::commands::install::{Which, apply, program, user_home};
use crate::context::Context;
use crate::error::{Kind, Result};

/// Take belay's entries out of the settings of agents
///
/// Exactly the entries that `belay install` put in go; everything else stays as it is. Snapshots stay, too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,

    /// Only show what would be written
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Take them out of the settings of this project instead of your own
    #[arg(long)]
    project: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay uninstall claude
  belay uninstall --all --dry-run";

/// Writes the settings without belay, and shows what went.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = user_home(context)?;
    let belay = program()?;
    let project = if args.project { Some(context.directory()?) } else { None };
    let ground = Ground { home: &home, project: project.as_deref(), belay: &belay, worktrees: true, shell: true };
    let mut failed = false;
    for agent in args.which.agents(&home) {
        let edit = |file: &File| {
            ground.project.map_or(Ok(()), |project| settings::check_within(project, &file.path))?;
            settings::uninstall(file)
        };
        let edits: Result<Vec<Edit>> = files(agent, &ground).iter().map(edit).collect();
        let idle = "there is nothing of belay in its settings";
        if let Err(failure) = edits.and_then(|edits| apply(context, agent, edits, args.dry_run, idle)) {
            context.ui.fail(&failure);
            failed = true;
        }
    }
    Ok(if failed { ExitCode::from(Kind::Refused.exit_code()) } else { ExitCode::SUCCESS })
}
