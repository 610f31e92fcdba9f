//! `belay install`: connects agents with belay, shows what it wrote, and proves that it works.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use similar::TextDiff;

use crate::agents::plan::{File, Ground, files, program_of, trace};
use crate::agents::settings::{self, Edit};
use crate::agents::silence::silence;
use crate::agents::{Agent, AgentName};
use crate::commands::doctor;
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

    /// Write into the settings of this project, and not into your own
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
    #[arg(value_name = "AGENT", value_parser = AgentName)]
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
    let (mut failed, mut silent) = (false, false);
    let agents = args.which.agents(&home);
    if agents.is_empty() {
        context.ui.say(
            "No agent that belay knows is used here; `belay run -- COMMAND` and `belay watch` protect from any other.",
        );
    }
    let mut connected = Vec::new();
    for agent in agents {
        if args.project && agent == Agent::Copilot {
            context.ui.say("copilot: has no tools of a project; `belay install copilot` gives them to you everywhere");
        }
        let edit = |file: &File| {
            ground.project.map_or(Ok(()), |project| settings::check_within(project, &file.path))?;
            settings::install(file)
        };
        let edits: Result<Vec<Edit>> = files(agent, &ground).iter().map(edit).collect();
        match edits.and_then(|edits| apply(context, agent, edits, args.dry_run, "everything is in place")) {
            Ok(()) if !args.dry_run && !args.no_probe => {
                match probe(context, agent, &ground) {
                    Probed::Works => {}
                    Probed::Silent => silent = true,
                    Probed::Failed => failed = true,
                }
                connected.push(agent);
            }
            Ok(()) => {}
            // One agent's settings must not keep another from being connected.
            Err(failure) => {
                context.ui.fail(&failure);
                failed = true;
            }
        }
    }
    if !connected.is_empty() && !context.ui.json && !context.ui.quiet {
        doctor::tell_of_the_rest(context)?;
    }
    Ok(match (failed, silent) {
        (true, _) => ExitCode::from(Kind::Refused.exit_code()),
        (_, true) => ExitCode::from(Kind::Incomplete.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

/// What came of trying a hook out.
enum Probed {
    /// It works.
    Works,
    /// It works, and the agent will not run it.
    Silent,
    /// It does not work.
    Failed,
}

impl Args {
    /// Everything that is used here, in the settings of the project.
    pub(crate) fn for_project() -> Args {
        let which = Which { agents: Vec::new(), all: true };
        Args { which, dry_run: false, project: true, worktrees: false, shell: false, no_probe: false }
    }
}

impl Which {
    /// The agents that are meant.
    pub(crate) fn agents(&self, home: &Path) -> Vec<Agent> {
        match self.all {
            true => Agent::ALL.into_iter().filter(|agent| is_used(*agent, home)).collect(),
            false => self.agents.clone(),
        }
    }
}

/// Whether an agent is used here: it has left its directory, or can be started.
pub(crate) fn is_used(agent: Agent, home: &Path) -> bool {
    home.join(trace(agent)).is_dir() || crate::environment::in_path(program_of(agent)).is_some()
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

/// Carries the edits out, or only shows them; `idle` is said if there are none.
pub(crate) fn apply(context: &Context<'_>, agent: Agent, edits: Vec<Edit>, dry_run: bool, idle: &str) -> Result<()> {
    let name = agent.name();
    let edits: Vec<Edit> = edits.into_iter().filter(|edit| !edit.is_nothing()).collect();
    if edits.is_empty() {
        context.ui.say(format_args!("{name}: nothing to do, {idle}"));
        return Ok(());
    }
    // All or nothing: half a connection would look like one.
    if !dry_run {
        edits.iter().try_for_each(settings::check)?;
        settings::write_all(&edits)?;
    }
    let mut out = context.ui.out();
    for edit in &edits {
        if context.ui.json {
            out.json(&json!({ "agent": name, "path": edit.path.to_string_lossy(), "written": !dry_run }))?;
        } else {
            write!(out, "{}", shown(edit))?;
        }
    }
    out.finish()?;
    if dry_run {
        context.ui.say("Nothing was changed (dry run).");
    }
    Ok(())
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
fn probe(context: &Context<'_>, agent: Agent, ground: &Ground<'_>) -> Probed {
    let here = context.directory().unwrap_or_default();
    match try_out(agent) {
        Ok(took) => {
            if took > TIME_MAX {
                let (took, most) = (quantity::took(took), quantity::took(TIME_MAX));
                context.ui.warn(format_args!("{}: a hook takes {took}, more than the {most} it should", agent.name()));
            }
            let (name, took) = (agent.name(), quantity::took(took));
            match silence(agent, ground.home, ground.project.unwrap_or(&here)) {
                Some(silence) if agent != Agent::Codex => {
                    context.ui.warn(format_args!(
                        "{name}: not protected: belay's hooks are in place and work, but will not be run: {}",
                        silence.why
                    ));
                    context.ui.hint(format_args!("{}; `belay doctor` tells whether it worked", silence.advice));
                    return Probed::Silent;
                }
                // Nobody can have trusted what was written a moment ago.
                Some(silence) => {
                    context.ui.say(format_args!("{name}: connected, a hook takes {took}"));
                    context.ui.warn(format_args!("{name}: not protected yet: {}", silence.why));
                    context.ui.hint(silence.advice);
                }
                None => context.ui.say(format_args!("{name}: connected, a hook takes {took}")),
            }
            Probed::Works
        }
        Err(failure) => {
            context.ui.fail(&failure);
            Probed::Failed
        }
    }
}

/// What a hook may take when nothing changed, so that nobody notices it.
pub(crate) const TIME_MAX: Duration = Duration::from_millis(10);
/// Calls of which the quickest counts: a machine that is busy with something else says nothing of hooks.
const TRIES: usize = 5;

/// Tells a prompt, and that a tool is about to be used after something changed; returns how long a hook takes then.
pub(crate) fn try_out(agent: Agent) -> Result<Duration> {
    let base = tempfile::tempdir().map_err(|error| Failure::system("cannot make a directory to try in", &error))?;
    let (home, workspace) = (base.path().join("home"), base.path().join("workspace"));
    let cannot = |error: std::io::Error| Failure::system("cannot make a directory to try in", &error);
    std::fs::create_dir(&workspace).map_err(cannot)?;
    let count = || Ok::<_, Failure>(belay(&home, &workspace, &["snapshots", "--json"])?.matches("\"snap_").count());
    let mut said = json!({ "session_id": "probe", "cwd": workspace, "prompt": "probe",
        "tool_name": "Bash", "tool_input": { "command": "true" } });
    let mut before = 0;
    for (at, event) in ["UserPromptSubmit", "PreToolUse"].into_iter().enumerate() {
        std::fs::write(workspace.join("file"), format!("probe {at}\n")).map_err(cannot)?;
        said["tool_use_id"] = json!(format!("probe-{at}"));
        let stderr = tell(agent, &home, event, &said.to_string())?;
        let now = count()?;
        if now <= before {
            let what = format!("{}: {event} was fired and no snapshot came of it", agent.name());
            return Err(Failure::refused(what).note(stderr));
        }
        before = now;
    }
    let mut best = Duration::MAX;
    for at in 0..TRIES {
        said["tool_use_id"] = json!(format!("again-{at}"));
        let begun = Instant::now();
        tell(agent, &home, "PreToolUse", &said.to_string())?;
        best = best.min(begun.elapsed());
    }
    Ok(best)
}

fn own() -> Result<Command> {
    let own = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
    Ok(Command::new(own))
}

fn tell(agent: Agent, home: &Path, event: &str, said: &str) -> Result<String> {
    let cannot = |error: std::io::Error| Failure::system("cannot fire a hook", &error);
    let mut command = own()?;
    command.args(["hook", agent.name(), event]).env("BELAY_HOME", home);
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
