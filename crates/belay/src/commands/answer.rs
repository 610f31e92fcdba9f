//! `belay answer`: carries out what a confined command asks of its run; started by a supervisor, never by a person.
//!
//! Invariants: the words come from an enemy, and mean what the command line means by them, no more; only commands and
//! flags that are listed here are carried out, and only on the workspace of the run.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command as Process, ExitCode};

use anstream::ColorChoice;
use belay_server::Need;
use belay_session::{AgentAnswer, AgentCall, Guard, RunRecord};
use clap::Parser;

use crate::args::{Cli, Command};
use crate::commands;
use crate::context::Context;
use crate::environment::AGENT_SOCKET;
use crate::error::{Failure, Result};
use crate::ui::Ui;

/// Carry out what an agent asks for
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run that it is in
    #[arg(long, value_name = "RUN")]
    run: String,

    /// Where it is
    #[arg(long, value_name = "DIR")]
    cwd: PathBuf,

    /// Whether its terminal has colours
    #[arg(long)]
    coloured: bool,

    /// Whether it wants to talk, not an answer
    #[arg(long)]
    pipe: bool,

    /// What it typed after `belay`
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// The process that answers a question.
pub(crate) fn answerer(run: &str, call: &AgentCall) -> Process {
    let mut process = Process::new("/proc/self/exe");
    // What led a supervisor inside another run must not lead this process there.
    process.env_remove(AGENT_SOCKET).arg("answer").arg("--run").arg(run);
    if call.color {
        process.arg("--coloured");
    }
    if call.pipe {
        process.arg("--pipe");
    }
    let cwd = [b"--cwd=", call.cwd.bytes()].concat();
    process.arg(OsStr::from_bytes(&cwd)).arg("--");
    process.args(call.argv.iter().map(|word| OsStr::from_bytes(word.bytes())));
    process
}

/// Carries it out, if an agent may have it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    if args.pipe {
        return talk(context, args);
    }
    let words = std::iter::once(OsString::from("belay")).chain(args.words);
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            context.ui.tell(error.render().ansi());
            return Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)));
        }
    };
    let home = context.home()?;
    let (run, guard) = (home.run(&args.run)?, home.guard_of(&args.run)?);
    let color = if args.coloured { ColorChoice::Always } else { ColorChoice::Never };
    let ui = Ui::new(cli.global.json, cli.global.quiet, color, None).veiling(guard.hides());
    let root = PathBuf::from(OsStr::from_bytes(run.root.bytes()));
    let done = permit(context, &cli, &run, &guard).and_then(|()| {
        let cwd = beneath(&root, &args.cwd);
        commands::run(cli, &context.pinned(&ui, root, cwd, guard.clone()))
    });
    done.or_else(|failure| {
        let failure = failure.hinting(is_for_agents);
        ui.fail(&failure);
        Ok(ExitCode::from(failure.kind.exit_code()))
    })
}

/// Serves an agent for as long as it likes; the first line tells whether.
fn talk(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let say = |answer: &AgentAnswer| -> Result<()> {
        let line = serde_json::to_string(answer).map_err(std::io::Error::from)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    };
    let words = std::iter::once(OsString::from("belay")).chain(args.words);
    let permitted = Cli::try_parse_from(words).map_err(|error| Failure::refused(error.to_string())).and_then(|cli| {
        let home = context.home()?;
        let (run, guard) = (home.run(&args.run)?, home.guard_of(&args.run)?);
        only_here(&cli)?;
        match cli.command {
            Command::Mcp(mcp) => Ok((mcp, denied(context, &run, &guard)?, run, guard)),
            _ => refuse("this is no conversation"),
        }
    });
    let (mcp, denied, run, guard) = match permitted {
        Ok(permitted) => permitted,
        Err(failure) => {
            say(&AgentAnswer::Refused(failure.line()))?;
            return Ok(ExitCode::from(failure.kind.exit_code()));
        }
    };
    say(&AgentAnswer::Piped)?;
    let ui = Ui::new(false, true, ColorChoice::Never, None);
    let root = PathBuf::from(OsStr::from_bytes(run.root.bytes()));
    let cwd = beneath(&root, &args.cwd);
    commands::mcp::run_inside(&context.pinned(&ui, root, cwd, guard), mcp, &denied)
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Failure::refused(why.to_owned()).untouched().hint("whoever started the run can do it"))
}

/// Refuses options that lead elsewhere.
fn only_here(cli: &Cli) -> Result<()> {
    match cli.global.directory.is_some() || cli.global.fork.is_some() || cli.global.yes_really {
        true => refuse("inside a run belay is about its workspace and no other"),
        false => Ok(()),
    }
}

/// Whether what the run writes goes elsewhere than to the workspace.
fn is_apart(context: &Context<'_>, run: &RunRecord) -> Result<bool> {
    let fork = context.home()?.fork_of(&run.workspace)?;
    Ok(run.confinement.ephemeral || fork.is_some_and(|fork| fork.directory().is_none()))
}

/// What no tool of an agent in this run may do.
fn denied(context: &Context<'_>, run: &RunRecord, guard: &Guard) -> Result<Vec<Need>> {
    let apart = is_apart(context, run)?.then_some(Need::Present);
    let content = guard.hides().then_some(Need::Content);
    Ok([Some(Need::Removal), apart, content].into_iter().flatten().collect())
}

/// Commands that an agent may have, or some of their flags.
const LISTED: [&str; 16] = [
    "blame",
    "cat",
    "changes",
    "diff",
    "history",
    "log",
    "ls",
    "redo",
    "restore",
    "rollback",
    "show",
    "snapshot",
    "snapshots",
    "status",
    "statusline",
    "undo",
];

/// Whether a hint names no command that would be refused.
fn is_for_agents(hint: &str) -> bool {
    let named = hint.split("`belay ").skip(1);
    let mut names = named.filter_map(|rest| rest.split([' ', '`']).find(|word| !word.starts_with('-')));
    names.all(|name| LISTED.contains(&name))
}

/// Whether an agent may have it.
fn permit(context: &Context<'_>, cli: &Cli, run: &RunRecord, guard: &Guard) -> Result<()> {
    only_here(cli)?;
    let (is_listed, changes) = match &cli.command {
        Command::Snapshot(args) => (args.is_for_agents(), true),
        Command::Snapshots(args) => (args.is_for_agents(), false),
        Command::Log(args) => (args.is_for_agents(), false),
        Command::Status(_) | Command::Diff(_) => (true, true),
        Command::Rollback(args) => (args.is_for_agents(), true),
        Command::Undo(args) => (args.is_for_agents(), true),
        Command::Restore(_) | Command::Redo(_) | Command::Changes(_) | Command::Blame(_) => (true, true),
        Command::Show(args) => (args.is_for_agents(), false),
        Command::History(_) | Command::Ls(_) | Command::Cat(_) | Command::Statusline(_) => (true, false),
        _ => (false, false),
    };
    if !is_listed {
        return refuse("this is not available inside a run");
    }
    if changes && is_apart(context, run)? {
        return refuse("the workspace is kept apart from this run, which sees only its own copy");
    }
    let shows_content = match &cli.command {
        Command::Diff(args) => args.shows_content(),
        Command::Cat(_) | Command::Blame(_) => true,
        _ => false,
    };
    if shows_content && guard.hides() {
        return refuse("part of the workspace is hidden from this run: no content, only names (`diff --stat`, `ls`)");
    }
    Ok(())
}

/// The directory if it is in the workspace by its name, else the workspace.
fn beneath(root: &Path, cwd: &Path) -> PathBuf {
    let is_plain = cwd.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if is_plain && cwd.starts_with(root) { cwd.to_owned() } else { root.to_owned() }
}
