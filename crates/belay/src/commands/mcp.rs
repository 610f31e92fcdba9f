//! `belay mcp`: the tools that an agent has, over standard input and output.

use std::process::ExitCode;

use belay_server::{Desk, Need, serve};
use belay_session::store::{Change, Scope};
use belay_session::{Consent, Error, Lookout, Tree, Workspace};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::patch::{self, Comparison};

/// Lines around each change.
const CONTEXT: usize = 3;

/// Serve belay's tools to an agent, as an MCP server on standard input and output
///
/// An agent that is connected to it can take checkpoints, compare, and take back what it did: whole states, single
/// files, turns and commands. What it takes back can be taken back, too. Agents start this by themselves; you only have
/// to name it in their configuration.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Offer only tools that change nothing
    #[arg(long)]
    read_only: bool,
}

const EXAMPLES: &str = "\
Examples:
  claude mcp add --scope user belay -- belay mcp
  codex mcp add belay -- belay mcp
  belay mcp --read-only
  belay -C ~/projects/shop mcp";

/// Answers until the input ends.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    run_inside(context, args, &[])
}

/// The same for an agent inside a run, which is not offered everything.
pub(crate) fn run_inside(context: &Context<'_>, args: Args, denied: &[Need]) -> Result<ExitCode> {
    let home = context.home()?;
    // Whatever directory an agent says it is in, and whatever a link in it leads to.
    let directory = context.anchor()?;
    let sources = context.sources()?;
    let user_home = context.environment.user_home.clone();
    let lookout = Lookout::default();
    let open = || {
        let consent = Consent { yes_really: context.yes_really(), home: user_home.as_deref() };
        let workspace = match args.read_only {
            true => home.find(&directory, &sources)?.ok_or_else(|| Error::NoWorkspace(directory.clone())),
            false => home.find_or_create(&directory, consent, &sources),
        }?;
        Ok(lookout.over(workspace.guarded_by(context.guard())))
    };
    let version = env!("CARGO_PKG_VERSION");
    let desk = Desk { open: &open, patch: &unified, read_only: args.read_only, denied, version };
    serve(&desk).map_err(|error| Failure::refused("the agent cannot be served").because(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// The differences as `belay diff` shows them in a file.
fn unified(
    workspace: &Workspace<'_>,
    before: &Tree,
    after: &Tree,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> belay_session::Result<String> {
    let mut out = Vec::new();
    let comparison = Comparison { workspace, before, after, is_indexed: true };
    let changes = workspace.changes(before, after, &Scope::default())?;
    let wanted = changes.into_iter().filter(|change: &Change| !change.opaque && is_wanted(&change.path));
    for change in wanted.flat_map(patch::split_retyped) {
        let written = patch::write_change(&mut out, &comparison, &change, CONTEXT, true);
        written.map_err(|failure| Error::Output(std::io::Error::other(failure.line())))?;
    }
    Ok(anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string())
}
