//! `belay hook`: what an agent tells of itself, turned into turns, tool calls and snapshots.
//!
//! It never holds an agent up: whatever goes wrong is told, remembered for the status line, and ends with success.

mod worktree;

use std::borrow::Cow;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use belay_session::store::Quiet;
use belay_session::{AgentDeed, Consent, Heard, Home, Work, Workspace};
use serde_json::Value;

use crate::agents::silence::{Silence, tampered};
use crate::agents::word::{Concern, Said, is_garbled, understand};
use crate::agents::{Agent, AgentName};
use crate::commands::reside;
use crate::context::{Context, recovery};
use crate::error::{Failure, Result};
use crate::said;
use crate::swift::Begun;
use crate::ui::Ui;

/// How long an agent waits for the first snapshot.
const FIRST_TIME_MAX: Duration = Duration::from_millis(1000);
/// How often one looks whether it is there.
const FIRST_LOOK: Duration = Duration::from_millis(5);
/// How long an agent waits for any other step; agents give up on their hooks soon after, and then nobody tells.
pub(crate) const STEP_TIME_MAX: Duration = Duration::from_secs(5);
/// How long it waits for one that another hook has given up waiting for.
const LATE_TIME_MAX: Duration = Duration::from_millis(200);
/// How long work may take to notice that it is to stop; what does not is left where it is.
const STOP_TIME_MAX: Duration = Duration::from_secs(1);
/// What is said of a step that was not waited for.
pub(crate) const LATE: &str =
    "a snapshot takes long and is still being taken; what changes until it is there is not protected";
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
    #[arg(value_parser = AgentName)]
    agent: Agent,

    /// The event, for agents that do not name it in what they say
    event: Option<String>,

    /// Nothing was said: the agent is about to give this command line to a shell
    #[arg(long, value_name = "COMMAND", conflicts_with = "event", hide = true)]
    shell: Option<String>,

    /// Nobody waits for this: take whatever time it needs
    #[arg(long, hide = true)]
    patient: bool,

    /// What is known already
    #[arg(skip)]
    begun: Option<Begun>,
}

const EXAMPLES: &str = "\
Examples:
  belay install claude        sets the hooks up that call this
  echo '{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"1\",\"prompt\":\"hi\"}' | belay hook claude";

/// Takes the event in, and answers as the agent expects.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let said = args.heard();
    if let Ok(Some(Said { concern: Concern::Worktree(name), cwd, .. })) = &said {
        return worktree::make(context, name, cwd.as_deref());
    }
    let deed = said.as_ref().ok().and_then(|said| Some(said.as_ref()?.word.deed.clone()));
    let speaker = said.as_ref().ok().and_then(|said| Some(said.as_ref()?.speaker(args.agent))).unwrap_or(args.agent);
    let said = said.inspect_err(|failure| miss_here(context, failure));
    let taken = said.and_then(|said| take_in(context, &args, said));
    let unprotected = |failure: Failure| Taken {
        problem: Some(format!("this step is not protected: {}", failure.line())),
        news: None,
    };
    let Taken { problem, news } = taken.unwrap_or_else(unprotected);
    Ok(answer(context.ui, speaker, problem, news.zip(deed)))
}

/// Remembers that nothing came of what cannot be understood, in the workspace that the agent most likely meant.
fn miss_here(context: &Context<'_>, failure: &Failure) {
    let miss = || -> Result<()> {
        let (home, directory) = (context.home()?, context.directory()?);
        let found = home.find(&directory, &context.sources()?)?;
        found.into_iter().try_for_each(|workspace| Ok(workspace.miss(&failure.line())?))
    };
    // If even that cannot be written, what is printed has to do.
    let _ = miss();
}

/// What came of an event.
#[derive(Default)]
struct Taken {
    /// What is wrong all the same.
    problem: Option<String>,
    /// What the agent should know.
    news: Option<String>,
}

/// Takes the event in from inside a run, which records everything but what the user asked for: that it is told. Before and
/// after a tool it captures what changed, as it saw it.
pub(crate) fn run_inside(
    ui: &Ui,
    args: &Args,
    ask: &dyn Fn(&[&str]) -> Result<()>,
    step: &dyn Fn(String) -> Result<()>,
) -> Result<ExitCode> {
    let said = args.heard();
    if let Ok(Some(Said { concern: Concern::Worktree(_), .. })) = &said {
        return Err(Failure::refused("inside a run there are no copies of the workspace"));
    }
    let told = said.and_then(|said| match said.map(|said| said.word.deed) {
        Some(AgentDeed::Prompt(prompt)) => {
            let preview: String = prompt.chars().take(PREVIEW_CHARS_MAX).collect();
            ask(&["snapshot", "--quiet", "--turn", &format!("--prompt={preview}")])
        }
        Some(AgentDeed::ToolStart { tool, what, .. }) => step(format!("before {tool}: {what}")),
        Some(AgentDeed::ToolEnd { .. }) => step("a tool call".to_owned()),
        Some(AgentDeed::TurnEnd) => step("the end of the turn".to_owned()),
        Some(AgentDeed::Other(what)) => step(what),
        None => Ok(()),
    });
    let problem = told.err().map(|failure| format!("this step is not protected: {}", failure.line()));
    Ok(answer(ui, args.agent, problem, None))
}

/// Answers as the agent expects; what is wrong is told to whoever reads either.
fn answer(ui: &Ui, agent: Agent, problem: Option<String>, news: Option<(String, AgentDeed)>) -> ExitCode {
    if let Some(problem) = &problem {
        ui.warn(problem);
    }
    let problem = problem.map(|problem| format!("belay: {problem}"));
    let reply = match &news {
        Some((news, deed)) => agent.reply_with(problem.as_deref(), Some(news), deed),
        None => agent.reply(problem.as_deref()),
    };
    if let Some(reply) = reply {
        let mut out = std::io::stdout().lock();
        // An agent that does not read the answer does not need it.
        let _ = writeln!(out, "{reply}");
    }
    ExitCode::SUCCESS
}

impl Args {
    /// The same event once more, for a process that nobody waits for.
    fn patiently(&self) -> std::io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("belay").args(["hook", self.agent.name()]).args(&self.event).arg("--patient");
        if let Some(shell) = &self.shell {
            command.arg("--shell").arg(shell);
        }
        // Whoever ends the hook's group does not end what it began.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        if let (Some(mut input), Some(begun)) = (child.stdin.take(), &self.begun) {
            // One that ends early says why in what it remembers.
            let _ = input.write_all(&begun.input);
        }
        Ok(child)
    }

    /// Goes on from where the short way led.
    pub(crate) fn go_on(&mut self, begun: Begun) {
        self.begun = Some(begun);
    }

    /// What the agent says, if it concerns belay.
    fn heard(&self) -> Result<Option<Said>> {
        if let Some(command) = &self.shell {
            return Ok(Some(Said::shell(self.agent, command)));
        }
        let input = match &self.begun {
            Some(begun) => Cow::Borrowed(&begun.input),
            None => Cow::Owned(said::read(STEP_TIME_MAX)?),
        };
        let said: Value = serde_json::from_slice(&input)
            .map_err(|error| Failure::refused("the agent did not say JSON").because(&error))?;
        if is_garbled(self.event.as_deref(), &said) {
            return Err(Failure::refused("the agent did not say what happened: its JSON names no event"));
        }
        Ok(understand(self.agent, self.event.as_deref(), &said))
    }
}

/// Takes the word in.
fn take_in(context: &Context<'_>, args: &Args, said: Option<Said>) -> Result<Taken> {
    let Some(said) = said else { return Ok(Taken::default()) };
    let home = context.home()?;
    let workspace = open(context, &home, &said)?;
    if let Some(pid) = args.begun.as_ref().and_then(|begun| begun.hung) {
        // If that cannot be written down, the step itself still can.
        let _ = workspace.mind_hung(pid);
    }
    if !args.patient && args.begun.is_some() && workspace.timeline()?.latest().is_none() {
        return Ok(Taken { problem: begin(&workspace, args)?, news: None });
    }
    if args.begun.as_ref().is_some_and(|begun| begun.late) {
        return Ok(Taken { problem: Some(miss_late(&workspace)), news: None });
    }
    let heard = hear(context.ui, &workspace, args, &said).inspect_err(|failure| {
        // If even that cannot be written, what is printed has to do.
        let _ = workspace.miss(&failure.line());
    });
    let finding = match heard? {
        // Somebody else goes on with it.
        Some(problem) if problem == LATE => return Ok(Taken { problem: Some(problem), news: None }),
        finding => finding,
    };
    reside::start(&workspace);
    let news = workspace.take_news(&said.word);
    let problem = match said.concern {
        Concern::Settings { changed } if said.word.agent == Agent::Claude.name() => {
            look_at_settings(context, &workspace, &said, changed)?
        }
        _ => None,
    };
    Ok(Taken { problem: problem.or(finding), news })
}

/// Has another process take the first snapshot, which reads everything and may take long; what to say until it is there.
///
/// An agent gives up on a hook after a while, and what was read by then would be read again by the next.
fn begin(workspace: &Workspace<'_>, args: &Args) -> Result<Option<String>> {
    let not_yet = "the first snapshot is being taken; until it is there nothing is protected";
    let is_there = || Ok::<_, Failure>(workspace.timeline()?.latest().is_some());
    if !workspace.is_hearing()? {
        let mut child = args.patiently().map_err(|error| Failure::system("cannot start belay itself", &error))?;
        let deadline = Instant::now() + FIRST_TIME_MAX;
        loop {
            let ended = child.try_wait()?.is_some();
            if ended && is_there()? {
                return Ok(None);
            }
            if ended || Instant::now() > deadline {
                break;
            }
            std::thread::sleep(FIRST_LOOK);
        }
        if child.try_wait()?.is_some() {
            let why = workspace.missed()?.map_or_else(|| "it ended early".to_owned(), |missed| missed.why);
            return Ok(Some(format!("the first snapshot failed: {why}")));
        }
    }
    if is_there()? {
        return Ok(None);
    }
    // If even that cannot be written, what is printed has to do.
    let _ = workspace.miss(not_yet);
    Ok(Some(not_yet.to_owned()))
}

/// Looks whether belay's hooks are still in the settings of Claude Code.
///
/// What is not there when a session begins was perhaps never meant to be; what goes while one is under way is an alarm.
fn look_at_settings(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    said: &Said,
    changed: bool,
) -> Result<Option<String>> {
    let Some(silence) = settings_fault(context, workspace, said.cwd.as_deref()) else {
        workspace.calm_alarm()?;
        return Ok(None);
    };
    if !changed {
        return Ok(None);
    }
    workspace.raise_alarm(&said.word.session, &silence.why)?;
    Ok(Some(format!("{}: what the agent does is not protected; {}", silence.why, silence.advice)))
}

/// What is wrong with belay's hooks in the settings of Claude Code.
pub(crate) fn settings_fault(context: &Context<'_>, workspace: &Workspace<'_>, cwd: Option<&Path>) -> Option<Silence> {
    let home = context.environment.user_home.as_deref()?;
    let places = [workspace.path(), cwd.unwrap_or(workspace.path())];
    tampered(home, &places)
}

/// Takes a word in, as long as an agent can be made to wait; what to say if that is not long enough.
fn hear(ui: &Ui, workspace: &Workspace<'_>, args: &Args, said: &Said) -> Result<Option<String>> {
    let stop = AtomicBool::new(false);
    let work = Work { progress: &Quiet, stop: &stop };
    if args.patient || args.begun.is_none() {
        return Ok(told(&workspace.hear(&said.word, work)?));
    }
    let is_known = workspace.is_hearing()? && workspace.missed()?.is_some_and(|missed| missed.why == LATE);
    let limit = if is_known { LATE_TIME_MAX } else { STEP_TIME_MAX };
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        let (stop, speaker) = (&stop, said.speaker(args.agent));
        scope.spawn(move || {
            let is_late = |limit| is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if !is_late(limit) {
                return;
            }
            stop.store(true, Ordering::SeqCst);
            if is_late(STOP_TIME_MAX) {
                // It waits for what does not hear: a lock, a disk. Whatever it has done so far, no crash harms.
                answer(ui, speaker, Some(give_up(workspace, args, is_known)), None);
                std::process::exit(0);
            }
        });
        let heard = workspace.hear(&said.word, work);
        drop(done);
        match heard {
            Err(_) if stop.load(Ordering::SeqCst) => Ok(Some(give_up(workspace, args, is_known))),
            heard => Ok(told(&heard?)),
        }
    })
}

/// What is said of a step that was taken in: what else was done to the files on the occasion.
fn told(heard: &Heard) -> Option<String> {
    let all: Vec<String> = heard.recovered.iter().map(recovery).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Leaves a step to a process that nobody waits for, unless one is at such a step already; what to say of it.
fn give_up(workspace: &Workspace<'_>, args: &Args, is_known: bool) -> String {
    if !is_known && let Err(error) = args.patiently() {
        let why = format!(
            "this step is not protected: it takes long, and belay cannot start itself: {}",
            belay_session::plain(error)
        );
        let _ = workspace.miss(&why);
        return why;
    }
    miss_late(workspace)
}

/// Remembers a step that was not waited for; what to say of it.
fn miss_late(workspace: &Workspace<'_>) -> String {
    // If even that cannot be written, what is printed has to do.
    let _ = workspace.miss(LATE);
    LATE.to_owned()
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
