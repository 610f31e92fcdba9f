//! `belay trust`: believes the workspace's own configuration, by its hash.

use std::process::ExitCode;

use belay_session::{Trust, Workspace};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::escape;

/// Trust the belay.toml (or .yaml) of the workspace as it is now
///
/// Until it is trusted, and again after it changes, only what makes protection stronger is taken from it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay trust
  belay trust --revoke";

/// Grants or withdraws trust.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let directory = context.directory()?;
    // A directory does not become a workspace for a file that it does not have.
    let is_known = home.find(&directory, &context.lenient_sources()?)?.is_some();
    let is_there = |name: &&str| directory.join(name).symlink_metadata().is_ok();
    if !is_known && !["belay.toml", "belay.yaml", "belay.yml"].iter().any(is_there) {
        return Err(absent());
    }
    let workspace = context.workspace_or_new(&home, &directory, false)?;
    if args.revoke {
        let had = workspace.revoke_trust()?;
        if context.ui.json {
            context.ui.print_json(&json!({ "revoked": had }))?;
        } else {
            context.ui.say(if had { "It is trusted no longer." } else { "Nothing was trusted." });
        }
        return Ok(ExitCode::SUCCESS);
    }
    let file = match workspace.trust() {
        Trust::Absent => return Err(absent()),
        Trust::Trusted { file } => {
            context.ui.say(format_args!("{} is trusted already.", escape::printable(file.as_bytes())));
            file.clone()
        }
        Trust::Untrusted { file, ignored } => {
            grant(context, &workspace, file, ignored, args.yes)?;
            file.clone()
        }
    };
    if context.ui.json {
        context.ui.print_json(&json!({ "trusted": file }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn absent() -> Failure {
    Failure::not_found("there is no belay.toml or belay.yaml here").untouched()
}

/// What is trusted is exactly the text that was shown.
fn grant(context: &Context<'_>, workspace: &Workspace<'_>, file: &str, ignored: &[String], yes: bool) -> Result<()> {
    let name = escape::printable(file.as_bytes());
    let changed = || Failure::refused(format!("{name} changed in the meantime")).untouched().hint("look at it again");
    workspace.check_own_configuration().map_err(|error| Failure::from(error).note("it is not trusted"))?;
    let (_, text) = workspace.own_configuration().ok_or_else(changed)?;
    text.lines().for_each(|line| context.ui.say(format_args!("  {}", escape::visible_line(line.as_bytes()))));
    context.ui.say(format_args!("Not in force until {name} is trusted: {}", ignored.join(", ")));
    if !yes {
        context.ui.confirm_or(&format!("Trust {name} as it is now?"), "add -y to trust it without being asked")?;
    }
    if !workspace.grant_trust(&text)? {
        return Err(changed());
    }
    context.ui.say(format_args!("{name} is trusted until it changes."));
    Ok(())
}
