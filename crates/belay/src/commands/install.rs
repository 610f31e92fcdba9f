//! `belay install`: connects agents with belay, shows what it wrote, and proves that it works.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use similar::TextDiff;

use crate::agents::Agent;
use crate::agents::plan::{Ground, files, trace};
use crate::agents::settings::{self, Edit};
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::ui::quantity;
use crate::view;

/// Connect agents with belay: their hooks, their tools and their status line
///
/// Merges a few entries into the agent's own settings and shows them as a diff. Everything else in these files stays as
/// it is, comments included, and what was there is kept beside them as `.belay-backup`. From then on every prompt is a
/// turn that `belay undo @turn-N` takes back, without `belay run`. Doing it again changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Only show what would be written
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Write into the settings of this project instead of your own
    #[arg(long)]
    project: bool,

    /// Let Claude Code get the copies that it works in (its worktrees) from belay: git-ignored files and dependencies included
    #[arg(long)]
    worktrees: bool,

    /// Have every command line that Claude Code gives to a shell go through belay, which takes a snapshot first if anything
    /// changed: also when hooks are switched off
    #[arg(long)]
    shell: bool,

    /// Do not try the hook out afterwards
    #[arg(long, hide_short_help = true)]
    no_probe: bool,
}

/// Which agents are meant.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Which {
    /// The agents
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,

    /// All agents that are used here
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay install claude
  belay install --all
  belay install codex gemini --dry-run
  belay install copilot --project     for whoever works in this repository";

/// Writes the settings, shows them, and tries the hook out.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = user_home(context)?;
    let belay = program()?;
    let project = if args.project { Some(context.directory()?) } else { None };
    let ground = Ground {
        home: &home,
        project: project.as_deref(),
        belay: &belay,
        worktrees: args.worktrees,
        shell: args.shell,
    };
    let mut failed = false;
    let agents = args.which.agents(&home);
    if agents.is_empty() {
        context.ui.say(
            "No agent that belay knows is used here; `belay run -- COMMAND` and `belay watch` protect from any other.",
        );
    }
    for agent in agents {
        let edits: Result<Vec<Edit>> = files(agent, &ground).iter().map(settings::install).collect();
        match edits.and_then(|edits| apply(context, agent, edits, args.dry_run)) {
            Ok(true) if !args.dry_run && !args.no_probe => failed |= !probe(context, agent),
            Ok(_) => {}
            // One agent's settings must not keep another from being connected.
            Err(failure) => {
                context.ui.fail(&failure);
                failed = true;
            }
        }
    }
    Ok(if failed { ExitCode::from(Kind::Refused.exit_code()) } else { ExitCode::SUCCESS })
}

impl Which {
    /// The agents that are meant.
    pub(crate) fn agents(&self, home: &Path) -> Vec<Agent> {
        match self.all {
            true => Agent::ALL.into_iter().filter(|agent| home.join(trace(*agent)).is_dir()).collect(),
            false => self.agents.clone(),
        }
    }
}

/// The user's home, in which agents keep their settings.
pub(crate) fn user_home(context: &Context<'_>) -> Result<PathBuf> {
    let home = context.environment.user_home.clone();
    home.ok_or_else(|| Failure::new(Kind::System, "cannot tell where agents keep their settings: HOME is not set"))
}

/// How this very belay is called: by its name if that finds it, else by its path.
pub(crate) fn program() -> Result<String> {
    let own = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
    let found = crate::environment::in_path("belay").and_then(|found| found.canonicalize().ok());
    if found.is_some() && found == own.canonicalize().ok() {
        return Ok("belay".to_owned());
    }
    own.into_os_string().into_string().map_err(|_| Failure::refused("the path of belay itself is not UTF-8"))
}

/// Carries the edits out, or only shows them; whether the agent is connected now.
pub(crate) fn apply(context: &Context<'_>, agent: Agent, edits: Vec<Edit>, dry_run: bool) -> Result<bool> {
    let name = agent.name();
    let edits: Vec<Edit> = edits.into_iter().filter(|edit| !edit.is_nothing()).collect();
    if edits.is_empty() {
        context.ui.say(format_args!("{name}: nothing to do, everything is in place"));
        return Ok(true);
    }
    // All or nothing: half a connection would look like one.
    edits.iter().filter(|_| !dry_run).try_for_each(settings::check)?;
    let mut out = context.ui.out();
    for edit in &edits {
        if context.ui.json {
            out.json(&json!({ "agent": name, "path": edit.path.to_string_lossy(), "written": !dry_run }))?;
        } else {
            write!(out, "{}", shown(edit))?;
        }
        if !dry_run {
            settings::write(edit)?;
        }
    }
    out.finish()?;
    if dry_run {
        context.ui.say("Nothing was changed (dry run).");
    }
    Ok(true)
}

fn shown(edit: &Edit) -> String {
    let (before, after) = (edit.before.as_deref().unwrap_or_default(), edit.after.as_deref().unwrap_or_default());
    let name = view::path(&edit.path);
    let mut text = String::new();
    let diff = TextDiff::from_lines(before, after);
    let _ = write!(text, "{}", diff.unified_diff().context_radius(2).header(&name, &name));
    text
}

/// Fires a real event through the real program, in a world of its own, and looks whether a snapshot came of it.
pub(crate) fn probe(context: &Context<'_>, agent: Agent) -> bool {
    match try_out(agent) {
        Ok(took) => {
            let how = if agent == Agent::Codex { "; now open Codex, run /hooks and trust belay" } else { "" };
            context.ui.say(format_args!("{}: connected, a hook takes {}{how}", agent.name(), quantity::took(took)));
            true
        }
        Err(failure) => {
            context.ui.fail(&failure);
            false
        }
    }
}

/// Tells a prompt twice; returns how long the second one took.
pub(crate) fn try_out(agent: Agent) -> Result<Duration> {
    let base = tempfile::tempdir().map_err(|error| Failure::system("cannot make a directory to try in", &error))?;
    let (home, workspace) = (base.path().join("home"), base.path().join("workspace"));
    let prepare = || -> std::io::Result<()> {
        std::fs::create_dir(&workspace)?;
        std::fs::write(workspace.join("file"), "probe\n")
    };
    prepare().map_err(|error| Failure::system("cannot make a directory to try in", &error))?;
    let mut took = Duration::ZERO;
    for prompt in ["one", "two"] {
        let said = json!({ "session_id": "probe", "cwd": workspace, "prompt": prompt });
        let begun = Instant::now();
        let stderr = tell(agent, &home, &said.to_string())?;
        took = begun.elapsed();
        let list = belay(&home, &workspace, &["snapshots", "--json"])?;
        if !list.contains(&format!("\"{prompt}\"")) {
            return Err(
                Failure::refused(format!("{}: a hook was fired and no snapshot came of it", agent.name())).note(stderr)
            );
        }
    }
    Ok(took)
}

fn own() -> Result<Command> {
    let own = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
    Ok(Command::new(own))
}

fn tell(agent: Agent, home: &Path, said: &str) -> Result<String> {
    let cannot = |error: std::io::Error| Failure::system("cannot fire a hook", &error);
    let mut command = own()?;
    command.args(["hook", agent.name(), "UserPromptSubmit"]).env("BELAY_HOME", home);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(cannot)?;
    if let Some(mut input) = child.stdin.take() {
        // A hook that ends early tells why on its standard error.
        let _ = input.write_all(said.as_bytes());
    }
    let output = child.wait_with_output().map_err(cannot)?;
    Ok(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn belay(home: &Path, workspace: &Path, words: &[&str]) -> Result<String> {
    let mut command = own()?;
    let output = command.args(words).env("BELAY_HOME", home).current_dir(workspace).output();
    let output = output.map_err(|error| Failure::system("cannot start belay itself", &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
