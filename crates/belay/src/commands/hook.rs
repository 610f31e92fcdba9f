//! `belay hook`: what an agent tells of itself, turned into turns, tool calls and snapshots.
//!
//! It never holds an agent up: whatever goes wrong is told, remembered for the status line, and ends with success.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::store::Quiet;
use belay_session::{AgentDeed, Consent, Heard, Home, Work, Workspace};
use serde_json::Value;

use crate::agents::Agent;
use crate::agents::word::{Said, understand};
use crate::commands::reside;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::swift::INPUT_BYTES_MAX;
use crate::ui::Ui;

/// Characters of a prompt that a run is told.
const PREVIEW_CHARS_MAX: usize = 160;

/// Take in an event of an agent, as JSON on standard input
///
/// Agents call this by their hooks, which `belay install` sets up. A prompt becomes a turn, so that `belay undo @turn-3`
/// takes it back; a tool call is recorded with the files that it changed. Before and after it a snapshot is taken if
/// anything changed. It never blocks the agent: a problem is told and remembered, and the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The agent that calls
    agent: Agent,

    /// The event, for agents that do not name it in what they say
    event: Option<String>,

    /// What was read from standard input already
    #[arg(skip)]
    input: Option<Vec<u8>>,
}

const EXAMPLES: &str = "\
Examples:
  belay install claude        sets the hooks up that call this
  echo '{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"1\",\"prompt\":\"hi\"}' | belay hook claude";

/// Takes the event in, and answers as the agent expects.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    answer(context.ui, args.agent, take_in(context, &args).map(drop))
}

/// Takes the event in from inside a run, which records everything but what the user asked for: that it is told.
pub(crate) fn run_inside(ui: &Ui, args: &Args, ask: &dyn Fn(&[&str]) -> Result<()>) -> Result<ExitCode> {
    let told = args.heard().and_then(|said| match said.map(|said| said.word.deed) {
        Some(AgentDeed::Prompt(prompt)) => {
            let preview: String = prompt.chars().take(PREVIEW_CHARS_MAX).collect();
            ask(&["snapshot", "--quiet", "--turn", &format!("--prompt={preview}")])
        }
        _ => Ok(()),
    });
    answer(ui, args.agent, told)
}

fn answer(ui: &Ui, agent: Agent, done: Result<()>) -> Result<ExitCode> {
    let problem = done.err().map(|failure| failure.line());
    if let Some(problem) = &problem {
        ui.warn(format_args!("this step of the agent is not protected: {problem}"));
    }
    let problem = problem.map(|problem| format!("belay could not protect this step: {problem}"));
    if let Some(reply) = agent.reply(problem.as_deref()) {
        let mut out = std::io::stdout().lock();
        // An agent that does not read the answer does not need it.
        let _ = writeln!(out, "{reply}");
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Passes on what was read from standard input already.
    pub(crate) fn already(&mut self, input: Vec<u8>) {
        self.input = Some(input);
    }

    /// What the agent says, if it concerns belay.
    fn heard(&self) -> Result<Option<Said>> {
        let mut input = self.input.clone().unwrap_or_default();
        if self.input.is_none() {
            std::io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut input)?;
        }
        let said: Value = serde_json::from_slice(&input)
            .map_err(|error| Failure::refused("the agent did not say JSON").because(&error))?;
        Ok(understand(self.agent, self.event.as_deref(), &said))
    }
}

fn take_in(context: &Context<'_>, args: &Args) -> Result<Heard> {
    let Some(said) = args.heard()? else { return Ok(Heard::default()) };
    let home = context.home()?;
    let workspace = open(context, &home, &said)?;
    let heard = hear(&workspace, &said).inspect_err(|failure| {
        // If even that cannot be written, what is printed has to do.
        let _ = workspace.miss(&failure.line());
    })?;
    reside::start(&workspace);
    Ok(heard)
}

fn hear(workspace: &Workspace<'_>, said: &Said) -> Result<Heard> {
    let stop = std::sync::atomic::AtomicBool::new(false);
    Ok(workspace.hear(&said.word, Work { progress: &Quiet, stop: &stop })?)
}

/// The known workspace that the agent works in, else the repository that holds it, else the directory itself.
fn open<'h>(context: &Context<'_>, home: &'h Home, said: &Said) -> Result<Workspace<'h>> {
    let sources = context.sources()?;
    let directory = match &said.cwd {
        Some(cwd) if cwd.is_dir() => cwd.clone(),
        _ => context.directory()?,
    };
    if let Some(workspace) = home.find(&directory, &sources)? {
        return Ok(workspace);
    }
    let consent = Consent { yes_really: context.yes_really(), home: context.environment.user_home.as_deref() };
    let project = project(&directory).filter(|project| Some(project.as_path()) != consent.home);
    Ok(home.create(project.as_deref().unwrap_or(&directory), consent, &sources)?)
}

fn project(directory: &Path) -> Option<PathBuf> {
    let mut above = directory.ancestors();
    above.find(|one| one.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}
