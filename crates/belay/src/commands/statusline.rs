//! `belay statusline`: one short line for an agent's status bar.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use belay_session::{Kind, Resident, Told, Want, Workspace};
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::commands::hook::settings_fault;
use crate::context::Context;
use crate::error::Result;
use crate::said;
use crate::swift;
use crate::ui::escape::printable;
use crate::ui::{quantity, style};

/// How long whoever wants the line may take to say for which directory.
const INPUT_TIME_MAX: Duration = Duration::from_millis(500);
/// Characters of what was missed.
const WHY_CHARS_MAX: usize = 60;

/// Print one line on how well this workspace is protected, for the status line of an agent
///
/// Reads what Claude Code says on standard input, if it says something, to know which directory is meant.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  belay statusline
  belay install claude        sets it up for Claude Code";

/// Prints the line.
pub(crate) fn run(context: &Context<'_>, _args: Args) -> Result<ExitCode> {
    let (good, bad, caution) = (style::GOOD, style::BAD, style::CAUTION);
    // Whoever shows the line shows nothing of one that fails, and nothing looks like all is well.
    let line = found(context).unwrap_or_else(|failure| {
        let why: String = printable(failure.line().as_bytes()).chars().take(2 * WHY_CHARS_MAX).collect();
        format!("{bad}●{bad:#} belay: not protected: {why}")
    });
    let mut out = context.ui.out();
    if context.ui.json {
        let begins = |style: anstyle::Style| line.starts_with(&style.to_string());
        let states = [(good, "good"), (caution, "caution"), (bad, "bad")];
        let state = states.into_iter().find(|(style, _)| begins(*style)).map_or("bad", |(_, state)| state);
        let text = anstream::adapter::strip_str(&line).to_string();
        out.json(&json!({ "state": state, "line": text.trim_start_matches("● ") }))?;
    } else {
        writeln!(out, "{line}")?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The line.
fn found(context: &Context<'_>) -> Result<String> {
    let home = context.home()?;
    let told = told();
    let directory = match told.directory {
        Some(directory) => directory,
        None => context.directory()?,
    };
    let found = home.find(&directory, &context.sources()?)?;
    match &found {
        Some(workspace) => match alarm(context, workspace) {
            Some(alarm) => Ok(alarm),
            None => line(context, workspace, told.session.as_deref()),
        },
        None => {
            let bad = style::BAD;
            Ok(format!("{bad}●{bad:#} belay: not protected yet"))
        }
    }
}

/// What Claude Code says on standard input.
#[derive(Default)]
struct Asked {
    /// The directory that it works in.
    directory: Option<PathBuf>,
    /// Its name for the conversation.
    session: Option<String>,
}

fn told() -> Asked {
    if std::io::stdin().is_terminal() {
        return Asked::default();
    }
    let Ok(bytes) = said::read(INPUT_TIME_MAX) else { return Asked::default() };
    let Ok(said) = serde_json::from_slice::<Value>(&bytes) else { return Asked::default() };
    let place = said.get("workspace").and_then(|workspace| workspace.get("project_dir")?.as_str());
    let directory = place.or_else(|| said.get("cwd")?.as_str()).map(PathBuf::from).filter(|place| place.is_dir());
    let session = said.get("session_id").and_then(Value::as_str).map(str::to_owned);
    Asked { directory, session }
}

/// What is wrong with the hooks, if somebody was seen to change them and they are not as they should be again.
fn alarm(context: &Context<'_>, workspace: &Workspace<'_>) -> Option<String> {
    let raised = workspace.alarm()?;
    let fault = settings_fault(context, workspace, None)?;
    let (bad, when) = (style::BAD, quantity::age(raised.at, workspace.home().now().timestamp()));
    Some(format!("{bad}●{bad:#} belay: not protected: {} {when}; {}", fault.why, fault.advice))
}

/// How many paths changed since the latest snapshot, if a helper sees that.
fn changed(context: &Context<'_>, workspace: &Workspace<'_>) -> Option<u64> {
    let mut helper = Resident::near(&context.environment.home, workspace.path()).ok()??;
    let letter = swift::letter(&context.environment, workspace.path().to_owned(), Want::Standing);
    match helper.ask(&letter) {
        Ok(Told::Standing(standing)) if standing.workspace == workspace.id() => standing.changed,
        _ => None,
    }
}

fn line(context: &Context<'_>, workspace: &Workspace<'_>, session: Option<&str>) -> Result<String> {
    let timeline = workspace.timeline()?;
    let now = workspace.home().now().timestamp();
    let (good, bad, caution) = (style::GOOD, style::BAD, style::CAUTION);
    // What cannot be written down is not remembered either.
    workspace.check_writable()?;
    if workspace.is_rewinding()? {
        return Ok(format!("{caution}●{caution:#} belay: files are being put back at this moment"));
    }
    if let Some(dead) = workspace.interrupted()?.first() {
        let (kind, when) = (dead.kind.command(), quantity::age(dead.at, now));
        return Ok(format!(
            "{bad}●{bad:#} belay: a {kind} was interrupted {when}; the next hook or command finishes it"
        ));
    }
    if let Some(missed) = workspace.missed()? {
        let why: String = printable(missed.why.as_bytes()).chars().take(WHY_CHARS_MAX).collect();
        let when = quantity::age(missed.at, now);
        return Ok(format!("{bad}●{bad:#} belay: missed a step {when}: {why}"));
    }
    // Claude Code tells of a conversation by a hook before it asks for the first line on it.
    if let Some(session) = session
        && !workspace.has_heard_of(Agent::Claude.name(), session)?
    {
        return Ok(format!("{bad}●{bad:#} belay: the hooks of this session are silent; `belay doctor` tells why"));
    }
    if let Some(unhooked) = workspace.unhooked()? {
        let (paths, when) = (quantity::count(unhooked.paths, "path"), quantity::age(unhooked.at, now));
        return Ok(format!(
            "{bad}●{bad:#} belay: {paths} changed without a hook that told, {when}; captured all the same"
        ));
    }
    if let Some(session) = session
        && workspace.is_between_calls(Agent::Claude.name(), session)?
        && let Some(paths) = changed(context, workspace).filter(|paths| *paths > 0)
    {
        let paths = quantity::count(paths, "path");
        return Ok(format!("{bad}●{bad:#} belay: {paths} changed, and no hook told; the next snapshot captures them"));
    }
    if let Some(broken) = workspace.broken_off()? {
        let (turn, when) = (broken.turn, quantity::age(broken.at, now));
        return Ok(format!(
            "{bad}●{bad:#} belay: the machine went down during @turn-{turn}, {when}: its log may lack the last steps"
        ));
    }
    let left = workspace.left_behind()? as u64;
    if left > 0 {
        let steps = quantity::count(left, "step");
        return Ok(format!("{bad}●{bad:#} belay: the helper was killed; {steps} will be recorded with the next hook"));
    }
    let Some(latest) = timeline.latest() else {
        return Ok(format!("{caution}●{caution:#} belay: no snapshot yet"));
    };
    // What was taken back is a snapshot that names its turn, too.
    let turns = timeline.snapshots().iter().rev().filter(|snapshot| snapshot.kind == Kind::Turn);
    let turn = turns.filter_map(|snapshot| snapshot.cause.turn).next();
    let turn = turn.map(|turn| format!(" · @turn-{turn}")).unwrap_or_default();
    let age = quantity::age(latest.created_at, now);
    let count = quantity::count(timeline.snapshots().len() as u64, "snapshot");
    if latest.is_partial() {
        let lacking = quantity::count(latest.gaps, "path");
        return Ok(format!(
            "{caution}●{caution:#} belay: {count}, {age}{turn} · {lacking} not in it; `belay status` tells"
        ));
    }
    let Some(hung) = workspace.hung()? else {
        return Ok(format!("{good}●{good:#} belay: {count}, {age}{turn}"));
    };
    let (pid, ended) = (hung.pid, if hung.ended { ", ended" } else { "; `belay stop --helper` ends it" });
    Ok(format!("{caution}●{caution:#} belay: {count}, {age}{turn} · the helper (process {pid}) did not answer{ended}"))
}
