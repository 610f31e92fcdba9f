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
use belay_session::{AgentAnswer, AgentCall, Ground, Reach, RunRecord};
use clap::Parser;

use crate::args::{Cli, Command};
use crate::commands;
use crate::context::Context;
use crate::environment::AGENT_SOCKET;
use crate::error::{Failure, Result};
use crate::profiles;
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
    let run = context.home()?.run(&args.run)?;
    let color = if args.coloured { ColorChoice::Always } else { ColorChoice::Never };
    let ui = Ui::new(cli.global.json, cli.global.quiet, color, None);
    let root = PathBuf::from(OsStr::from_bytes(run.root.bytes()));
    let done = permit(context, &cli, &run).and_then(|()| {
        let cwd = beneath(&root, &args.cwd);
        commands::run(cli, &context.pinned(&ui, root, cwd))
    });
    done.or_else(|failure| {
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
        let run = context.home()?.run(&args.run)?;
        only_here(&cli)?;
        match cli.command {
            Command::Mcp(mcp) => Ok((mcp, denied(context, &run)?, run)),
            _ => refuse("this is no conversation"),
        }
    });
    let (mcp, denied, run) = match permitted {
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
    commands::mcp::run_inside(&context.pinned(&ui, root, cwd), mcp, &denied)
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
fn denied(context: &Context<'_>, run: &RunRecord) -> Result<Vec<Need>> {
    let apart = is_apart(context, run)?.then_some(Need::Present);
    let content = hides_something(context, run).then_some(Need::Content);
    Ok([Some(Need::Removal), apart, content].into_iter().flatten().collect())
}

/// Whether an agent may have it.
fn permit(context: &Context<'_>, cli: &Cli, run: &RunRecord) -> Result<()> {
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
    if shows_content && hides_something(context, run) {
        return refuse("part of the workspace is hidden from this run: no content, only names (`diff --stat`, `ls`)");
    }
    Ok(())
}

/// Whether the run must not see all of the workspace; snapshots hold what it must not see.
fn hides_something(context: &Context<'_>, run: &RunRecord) -> bool {
    let by_flag = run.confinement.paths.iter().any(|(_, reach)| *reach == Reach::Hide);
    let profile = profiles::read(context).and_then(|all| profiles::get(&all, &run.confinement.profile));
    let root = PathBuf::from(OsStr::from_bytes(run.root.bytes()));
    let user_home = context.environment.user_home.as_deref().unwrap_or(Path::new("/"));
    let ground = Ground { workspace: &root, home: user_home, belay: &context.environment.home };
    // A profile that cannot be read any more may have hidden anything.
    let by_profile = profile.map_or(true, |profile| profile.hides_within(&ground));
    by_flag || by_profile
}

/// The directory if it is in the workspace by its name, else the workspace.
fn beneath(root: &Path, cwd: &Path) -> PathBuf {
    let is_plain = cwd.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if is_plain && cwd.starts_with(root) { cwd.to_owned() } else { root.to_owned() }
}
