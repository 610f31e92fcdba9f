//! `belay compare`: what differs between two forks, or between a fork and the workspace.

use std::process::ExitCode;

use belay_session::Stored;
use belay_session::store::{Changes, Scope};

use crate::commands::diff::{Style, write};
use crate::context::Context;
use crate::error::Result;
use crate::patch::Comparison;
use crate::patch::stat::Weighed;
use crate::ui::quantity;
use crate::view;

/// Show what differs between two forks, or between the workspace and a fork
///
/// `origin` is the workspace itself, as it is now. Nothing in either is changed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A fork, or origin
    #[arg(value_name = "A")]
    from: String,

    /// The fork that it is compared with; without it, A is compared with the workspace
    #[arg(value_name = "B")]
    to: Option<String>,

    /// Only these files and directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<std::path::PathBuf>,

    #[command(flatten)]
    style: Style,
}

const EXAMPLES: &str = "\
Examples:
  belay compare alpha              what alpha has and the workspace has not
  belay compare alpha beta --stat
  belay compare origin beta -- src";

/// Compares and prints; 1 with `--exit-code` when something differs.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    context.refuse_fork("compare")?;
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    let scope = Scope::new(context.all_beneath(&workspace, &args.paths)?);
    let stored = |name: &str| -> Result<Stored> {
        let meter = context.ui.meter("Looking");
        if name == "origin" {
            return Ok(workspace.stored(context.work(&meter))?);
        }
        Ok(context.open_fork(&workspace, name)?.0.stored(context.work(&meter))?)
    };
    let (from, to) = match &args.to {
        Some(to) => (stored(&args.from)?, stored(to)?),
        None => (stored("origin")?, stored(&args.from)?),
    };
    let (mut changes, mut opaque) = (Changes::default(), Vec::new());
    workspace.each_change(&from.tree, &to.tree, &scope, &mut |change| match change.opaque {
        true => opaque.push(change.path),
        false => changes.push(&change),
    })?;
    for (before, after) in [(&from.tree, &to.tree), (&to.tree, &from.tree)] {
        let new = workspace.new_gaps(before, after)?.into_iter().map(|(path, _)| path);
        opaque.extend(new.filter(|path| scope.contains(path)));
    }
    opaque.sort();
    let is_within =
        |path: &[u8], above: &[u8]| path.strip_prefix(above).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
    opaque.dedup_by(|inner, outer| is_within(inner, outer));
    let differs = !changes.is_empty();
    let asks_for_git = args.style.all || context.ui.json || args.paths.iter().any(|path| names_git(path));
    let mut innards = 0;
    changes.retain(|change| {
        let is_shown = asks_for_git || !is_innards(&change.path);
        innards += u64::from(!is_shown);
        is_shown
    });
    let comparison = Comparison { workspace: &workspace, before: &from.tree, after: &to.tree, is_indexed: false };
    let mut out = context.ui.paged();
    write(context, &mut out, &comparison, (changes, Weighed::default()), &args.paths, &args.style)?;
    out.finish()?;
    if innards > 0 {
        let paths = quantity::count(innards, "path");
        context.ui.say(format_args!("Not shown: {paths} of .git that only git reads (--all shows them)."));
    }
    if !opaque.is_empty() {
        let paths: Vec<&[u8]> = opaque.iter().map(Vec::as_slice).collect();
        let named = view::some(&paths, view::NAMED_MAX);
        context.ui.say(format_args!("Not compared, because not both sides could be captured: {named}."));
    }
    Ok(if args.style.exit_code && differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn names_git(path: &std::path::Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether a path of a repository says nothing to a person: objects, logs, the index and git's notes on its last work.
fn is_innards(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/').skip_while(|name| *name != b".git").skip(1);
    let own: [&[u8]; 7] = [b"objects", b"logs", b"index", b"COMMIT_EDITMSG", b"ORIG_HEAD", b"FETCH_HEAD", b"modules"];
    parts.next().is_some_and(|name| own.contains(&name))
}
