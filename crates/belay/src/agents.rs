//! The agents that belay knows: what they tell by their hooks, how they are answered, and where their settings are.

pub(crate) mod jsonc;
pub(crate) mod plan;
pub(crate) mod settings;
pub(crate) mod silence;
mod tables;
pub(crate) mod word;

use belay_session::AgentDeed;
use clap::ValueEnum;
use serde_json::{Value, json};

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// OpenCode
    Opencode,
    /// GitHub Copilot CLI
    Copilot,
}

impl Agent {
    /// All of them.
    pub(crate) const ALL: [Agent; 6] =
        [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Cursor, Agent::Opencode, Agent::Copilot];

    /// The name as it is typed and recorded.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Cursor => "cursor",
            Agent::Opencode => "opencode",
            Agent::Copilot => "copilot",
        }
    }

    /// The agent of that name.
    pub(crate) fn named(name: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The same with something that the agent itself should know; `event` is what it told.
    pub(crate) fn reply_with(self, problem: Option<&str>, news: Option<&str>, deed: &AgentDeed) -> Option<Value> {
        let reply = self.reply(problem);
        let Some(news) = news else { return reply };
        let event = match (self, deed) {
            (Agent::Claude | Agent::Codex, AgentDeed::Prompt(_)) => "UserPromptSubmit",
            (Agent::Claude, AgentDeed::ToolStart { .. }) => "PreToolUse",
            (Agent::Gemini, AgentDeed::Prompt(_)) => "BeforeAgent",
            _ => return reply,
        };
        let mut reply = reply.unwrap_or_else(|| json!({}));
        reply["hookSpecificOutput"] = json!({ "hookEventName": event, "additionalContext": news });
        Some(reply)
    }

    /// What the agent expects to read after it told something; a problem is shown to its user where there is a way.
    pub(crate) fn reply(self, problem: Option<&str>) -> Option<Value> {
        match (self, problem) {
            (Agent::Claude | Agent::Codex | Agent::Gemini, Some(problem)) => Some(json!({ "systemMessage": problem })),
            // These take silence for a fault.
            (Agent::Gemini | Agent::Cursor, _) => Some(json!({})),
            _ => None,
        }
    }
}
