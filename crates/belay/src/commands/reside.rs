//! `belay reside`: the process behind an agent's hooks; started by the first of them, never by a person.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;

use belay_session::{Residence, Workspace, reside};

use crate::context::Context;
use crate::environment;
use crate::error::{Failure, Result};
use crate::swift::VERSION;

/// See what changes in a workspace, and answer its agents' hooks
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Start another process in a session of its own that does it
    #[arg(long)]
    begin: bool,

    /// The workspace
    workspace: String,
}

/// Set when the helper is to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// Starts a helper for the workspace, if one would be of use and none is there.
pub(crate) fn start(workspace: &Workspace<'_>) {
    // Without one everything is done all the same, more slowly.
    if environment::is_in_run() || !workspace.wants_helper().unwrap_or(false) {
        return;
    }
    let _ = spawn(&["--begin", workspace.id()], true);
}

/// Starts this program with nothing of ours: no streams, no directory, no group that would be killed with us.
fn spawn(words: &[&str], apart: bool) -> std::io::Result<()> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("belay").arg("reside").args(words).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It stays for long, and what an agent has in its environment is nothing to keep for long.
    command.env_clear().envs(environment::own());
    if apart {
        command.process_group(0);
    }
    // It outlives us, and is nobody's to wait for then.
    command.spawn().map(drop)
}

/// Answers until nobody needs it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    belay_session::close_inherited();
    belay_session::survive_terminal();
    if args.begin {
        // Who leads a group cannot lead a session, so another one does.
        spawn(&[&args.workspace], false).map_err(|error| Failure::system("cannot start the helper", &error))?;
        return Ok(ExitCode::SUCCESS);
    }
    belay_session::lead_session();
    belay_session::on_interrupt(&STOP).map_err(|error| Failure::system("cannot handle signals", &error))?;
    let home = context.home()?;
    let residence = Residence {
        home: &home,
        workspace: &args.workspace,
        sources: &|| context.sources().ok(),
        version: VERSION,
        steering: &context.environment.steering(),
        program: std::env::current_exe().ok(),
        stop: &STOP,
    };
    reside(&residence)?;
    Ok(ExitCode::SUCCESS)
}
