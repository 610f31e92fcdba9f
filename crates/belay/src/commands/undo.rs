//! `belay undo`: takes back the last rollback, or one command or turn of a run.

use std::process::ExitCode;

use belay_session::{Goal, StepName, Workspace};

use crate::commands::rollback::{Damage, How};
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::revert::revert;
use crate::rewind::{latest_turn, rewind};

/// Take back the last rollback, or one command or turn and nothing else
///
/// Without a step it restores what was there before the last rollback. Undo again to go further back, `belay redo` to
/// go forward. Edits made since are captured in a safety snapshot first.
///
/// With a step it takes back what that one command or turn did, and keeps what came later, line by line. Where later
/// changes meet those of the step, the present stays and the older version is put beside it; nothing is guessed. The
/// exit code is then 5.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The turn to take back: from its snapshot to the next turn, or to now; or '#N', a command of the latest run
    #[arg(value_name = "@turn-N", conflicts_with_all = ["command", "step", "skip_damaged"])]
    turn: Option<String>,

    /// The number of the command to take back, with everything that it started; `belay log` shows the numbers
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "skip_damaged")]
    command: Option<u64>,

    /// The run that the command belongs to; the latest by default
    #[arg(long, value_name = "RUN", requires = "command")]
    run: Option<String>,

    /// Take back what happened between this snapshot and the next
    #[arg(long, value_name = "SNAP", conflicts_with_all = ["command", "skip_damaged"])]
    step: Option<String>,

    #[command(flatten)]
    how: How,

    #[command(flatten)]
    damage: Damage,
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        let Args { turn: _, command: _, run, step: _, how: _, damage: _ } = self;
        run.is_none()
    }
}

const EXAMPLES: &str = "\
Examples:
  belay undo                     the last rollback
  belay undo --dry-run
  belay undo --command 118       what one command did
  belay undo --command 4 --run run_k3v9x2ab -y
  belay undo @turn-3             what one turn of the agent did
  belay undo --step @-1          what happened between two snapshots";

/// Takes back the last rollback, or the step.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let step = match (args.command, args.step, args.turn) {
        (Some(number), ..) => StepName::Command { run: args.run, number },
        (None, Some(step), _) => StepName::From(step),
        (None, None, Some(turn)) if turn.starts_with("@turn") => StepName::From(turn),
        (None, None, Some(other)) => match other.strip_prefix('#').and_then(|rest| rest.parse().ok()) {
            Some(number) => StepName::Command { run: None, number },
            None => return Err(unclear(&workspace, &other)),
        },
        (None, None, None) => {
            let undone = rewind(context, &workspace, Goal::Undo, Vec::new(), (&args.how, args.damage));
            return undone.map_err(|failure| hinting_turn(&workspace, failure));
        }
    };
    revert(context, &workspace, step, &args.how)
}

/// Where no rollback can be undone, the agent's latest turn is what is most likely meant.
fn hinting_turn(workspace: &Workspace<'_>, failure: Failure) -> Failure {
    match latest_turn(workspace) {
        Some(turn) if failure.kind == Kind::NotFound => {
            failure.hint(format!("`belay undo @turn-{turn}` takes back what the agent did in its latest turn"))
        }
        _ => failure,
    }
}

/// A command's number, with or without the sign that `belay log` puts before it.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    digits.parse().map_err(|_| "not the number of a command, such as 118".to_owned())
}

fn unclear(workspace: &Workspace<'_>, typed: &str) -> Failure {
    let name = crate::ui::escape::printable(typed.as_bytes());
    let failure = Failure::new(Kind::Usage, format!("{name} is not a turn, so it is not clear what to take back"));
    let failure = failure.untouched();
    if typed.parse::<u64>().is_ok() {
        return failure
            .hint(format!("`belay undo --command {name}` takes back what that command of the latest run did"));
    }
    if workspace.path().join(typed).symlink_metadata().is_ok() {
        return failure
            .hint(format!("`belay restore @pre-run {name}` brings a path back as it was before the latest run"));
    }
    failure
        .hint(format!("`belay rollback {name}` goes back to a snapshot; `belay undo --step {name}` takes back what"))
        .hint("happened between it and the next, and keeps what came later")
}
