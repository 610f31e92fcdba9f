//! A copy of the workspace for an agent that asks for one: a fork, with what git would leave out.
//!
//! The agent reads its path from standard output, where nothing else may be; without it the agent goes no further.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use belay_session::store::Quiet;
use belay_session::{Work, Workspace};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::view;

/// Characters of the agent's name for it that are kept.
const NAME_CHARS_MAX: usize = 32;
/// Nobody has more copies of the same name.
const COPIES_MAX: u32 = 1000;

/// Makes the copy and prints where it is.
pub(super) fn make(context: &Context<'_>, name: &str, cwd: Option<&Path>) -> Result<ExitCode> {
    let home = context.home()?;
    let directory = match cwd {
        Some(cwd) if cwd.is_dir() => cwd.to_owned(),
        _ => context.directory()?,
    };
    let workspace = context.workspace_or_new(&home, &directory, false)?;
    let (name, to) = free_place(&workspace, name)?;
    let stop = AtomicBool::new(false);
    let work = Work { progress: &Quiet, stop: &stop };
    let fork = workspace.fork_to(&name, &to, context.consent(), &context.sources()?, work)?;
    let path = fork.directory().unwrap_or(to);
    writeln!(std::io::stdout(), "{}", path.display())?;
    context.ui.say(format_args!("Forked {name}: `belay pick {name}` brings back what changes in it"));
    Ok(ExitCode::SUCCESS)
}

/// A name that no fork has, and a directory beside the workspace that is not there.
fn free_place(workspace: &Workspace<'_>, wanted: &str) -> Result<(String, PathBuf)> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
    let name: String = wanted.chars().map(plain).take(NAME_CHARS_MAX).collect();
    let name = name.trim_start_matches(['-', '.']);
    let name = if name.is_empty() || name == "origin" { "worktree" } else { name };
    let root = workspace.path();
    let beside = root.file_name().zip(root.parent()).map(|(own, parent)| {
        let mut own = own.to_owned();
        own.push(".worktrees");
        parent.join(own)
    });
    let beside = beside.ok_or_else(|| Failure::refused(format!("nothing is beside {}", view::path(root))))?;
    let candidates = (1..COPIES_MAX).map(|n| if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
    let is_free =
        |name: &String| workspace.check_fork_name(name).is_ok() && beside.join(name).symlink_metadata().is_err();
    let too_many = || Failure::refused(format!("there are too many copies called {name}"));
    let name = candidates.into_iter().find(is_free).ok_or_else(too_many)?;
    let to = beside.join(&name);
    Ok((name, to))
}
