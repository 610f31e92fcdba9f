//! The one normaliser: what any agent's hook says, as a word that belay understands.
//!
//! Names of fields and events differ between agents and move between their versions, so all known spellings are taken,
//! and what is not known is no word at all.

use std::path::PathBuf;

use belay_session::{AgentDeed, AgentWord};
use serde_json::Value;

use super::Agent;

/// Characters of a command or path that are kept.
const WHAT_CHARS_MAX: usize = 400;

/// A word, and where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) word: AgentWord,
    /// Where the agent works, if it says so.
    pub(crate) cwd: Option<PathBuf>,
    /// What else it is about.
    pub(crate) concern: Concern,
}

/// What a word is about beside what the agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Concern {
    /// Nothing else.
    Work,
    /// The agent's settings, in which belay's hooks should be.
    Settings {
        /// Whether they were changed a moment ago.
        changed: bool,
    },
    /// A copy of the workspace of that name, which the agent is to be given.
    Worktree(String),
}

impl Said {
    /// The same as a hook would say of a command line that is about to be given to a shell.
    pub(crate) fn shell(agent: Agent, command: &str) -> Said {
        let what: String = asked_for(command).chars().take(WHAT_CHARS_MAX).collect();
        let (agent, deed) = (agent.name().to_owned(), AgentDeed::Other(format!("shell: {what}")));
        let word = AgentWord { session: format!("{agent} shell"), agent, key: None, deed };
        Said { word, cwd: None, concern: Concern::Work }
    }

    /// The agent that is to be answered, whoever's hook it ran.
    pub(crate) fn speaker(&self, called: Agent) -> Agent {
        Agent::named(&self.word.agent).unwrap_or(called)
    }

    /// Whether a helper that only takes in what was told is not enough.
    pub(crate) fn needs_more_than_telling(&self) -> bool {
        self.concern != Concern::Work
    }
}

/// What kind of moment an event is.
enum Moment {
    Prompt,
    Start,
    End { failed: bool },
    TurnEnd,
    Other,
}

fn moment(event: &str) -> Option<Moment> {
    Some(match event {
        "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt" | "userPromptSubmitted" | "chat.message" => {
            Moment::Prompt
        }
        "PreToolUse"
        | "BeforeTool"
        | "preToolUse"
        | "beforeShellExecution"
        | "beforeMCPExecution"
        | "tool.execute.before" => Moment::Start,
        "PostToolUse"
        | "AfterTool"
        | "postToolUse"
        | "afterShellExecution"
        | "afterMCPExecution"
        | "afterFileEdit"
        | "tool.execute.after" => Moment::End { failed: false },
        "PostToolUseFailure" | "postToolUseFailure" => Moment::End { failed: true },
        "Stop" | "StopFailure" | "AfterAgent" | "stop" | "agentStop" | "SessionEnd" | "sessionEnd" | "session.idle"
        | "Interrupt" => Moment::TurnEnd,
        "SessionStart" | "sessionStart" | "SubagentStart" | "SubagentStop" | "WorktreeCreate" | "WorktreeRemove"
        | "ConfigChange" | "PreCompact" | "errorOccurred" => Moment::Other,
        _ => return None,
    })
}

/// Where agents name the event.
const EVENT: [&str; 3] = ["hook_event_name", "hookEventName", "event"];

/// Whether what was said is nothing that any agent says: it names no event, so that nobody knows what is missed.
pub(crate) fn is_garbled(event: Option<&str>, said: &Value) -> bool {
    let names_event =
        || EVENT.iter().any(|name| said.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty()));
    !said.is_object() || (event.is_none() && !names_event())
}

/// Understands what an agent's hook said; none if it is nothing that concerns belay.
pub(crate) fn understand(agent: Agent, event: Option<&str>, said: &Value) -> Option<Said> {
    let text = |names: &[&str]| names.iter().find_map(|name| said.get(name)?.as_str()).filter(|text| !text.is_empty());
    let event = event.or_else(|| text(&EVENT))?;
    // Cursor also runs the hooks that were meant for Claude Code.
    let is_cursor = said.get("conversation_id").is_some() || said.get("cursor_version").is_some();
    let agent = if is_cursor { Agent::Cursor } else { agent };
    let session = text(&["conversation_id", "session_id", "sessionId", "sessionID"]).unwrap_or("only");
    let call = text(&["tool_use_id", "tool_call_id", "toolCallId", "callID"]).unwrap_or_default();
    let (deed, key) = match moment(event)? {
        Moment::Prompt => {
            let prompt = text(&["prompt", "userPrompt", "initialPrompt"]).unwrap_or_default();
            (AgentDeed::Prompt(prompt.to_owned()), text(&["prompt_id", "turn_id", "generation_id"]))
        }
        Moment::Start => {
            let tool = text(&["tool_name", "toolName", "tool"]).unwrap_or(default_tool(event));
            let deed = AgentDeed::ToolStart { id: call.to_owned(), tool: tool.to_owned(), what: what(said) };
            (deed, Some(call).filter(|call| !call.is_empty()))
        }
        Moment::End { failed } => {
            let failed = failed || has_failed(said);
            (AgentDeed::ToolEnd { id: call.to_owned(), failed }, Some(call).filter(|call| !call.is_empty()))
        }
        Moment::TurnEnd => (AgentDeed::TurnEnd, None),
        Moment::Other => (AgentDeed::Other(event.to_owned()), None),
    };
    let root = said.get("workspace_roots").and_then(|roots| roots.get(0)?.as_str());
    // What is about to be removed is what matters, and it may be a workspace of its own.
    let doomed = text(&["worktree_path"]).filter(|_| event == "WorktreeRemove");
    let cwd = doomed.or(text(&["cwd", "directory"])).or(root).map(PathBuf::from);
    let concern = match event {
        "ConfigChange" | "SessionStart" => Concern::Settings { changed: event == "ConfigChange" },
        "WorktreeCreate" => Concern::Worktree(text(&["name", "worktree_name"]).unwrap_or("worktree").to_owned()),
        _ => Concern::Work,
    };
    let word = AgentWord {
        agent: agent.name().to_owned(),
        session: format!("{} {session}", agent.name()),
        key: key.map(str::to_owned),
        deed,
    };
    Some(Said { word, cwd, concern })
}

/// The command that was asked for, without what Claude Code puts around it.
fn asked_for(line: &str) -> &str {
    let Some((_, rest)) = line.split_once("&& eval ") else { return line };
    let rest = rest.rsplit_once(" && pwd ").map_or(rest, |(before, _)| before);
    rest.trim_end_matches("< /dev/null").trim_end_matches('\\').trim().trim_matches('\'')
}

fn default_tool(event: &str) -> &'static str {
    match event {
        "beforeShellExecution" => "Shell",
        "beforeMCPExecution" => "MCP",
        _ => "tool",
    }
}

/// What the tool is used on: the command, else the path, else nothing.
fn what(said: &Value) -> String {
    let input = ["tool_input", "toolArgs", "args"].iter().find_map(|name| said.get(name));
    let parsed = input.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = parsed.as_ref().or(input).unwrap_or(said);
    let names = [
        "command",
        "file_path",
        "filePath",
        "path",
        "absolute_path",
        "notebook_path",
        "url",
        "pattern",
        "query",
        "input",
    ];
    let found = [input, said].into_iter().find_map(|place| {
        names.iter().find_map(|name| match place.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => None,
        })
    });
    found.unwrap_or_default().chars().take(WHAT_CHARS_MAX).collect()
}

fn has_failed(said: &Value) -> bool {
    let response = ["tool_response", "toolResult", "tool_output"].iter().find_map(|name| said.get(name));
    let of_response = response.is_some_and(|response| {
        let is_bad =
            |name: &str| response.get(name).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
        is_bad("error") || is_bad("is_error") || response.get("resultType").is_some_and(|kind| kind != "success")
    });
    of_response || said.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
}

#[cfg(test)]
mod tests;
