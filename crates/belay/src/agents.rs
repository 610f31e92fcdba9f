//! The agents that belay knows: what they tell by their hooks, how they are answered, and where their settings are.

pub(crate) mod jsonc;
pub(crate) mod plan;
pub(crate) mod settings;
pub(crate) mod silence;
mod tables;
pub(crate) mod word;

use std::ffi::OsStr;

use belay_session::{AgentDeed, distance};
use clap::ValueEnum;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
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

/// Reads the name of an agent; of one that is not known the nearest is proposed, by the letters that differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentName;

impl TypedValueParser for AgentName {
    type Value = Agent;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Agent, clap::Error> {
        let read = EnumValueParser::<Agent>::new().parse_ref(command, argument, value);
        read.map_err(|mut error| {
            error.remove(ContextKind::SuggestedValue);
            if let Some(near) = nearest(&value.to_string_lossy().to_lowercase()) {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(near.to_owned()));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Agent::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// The agent that is called most like this; of equals the one that begins most like it.
fn nearest(name: &str) -> Option<&'static str> {
    let alike = |other: &str| name.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let all = Agent::ALL.map(Agent::name).into_iter();
    let near = all.filter(|other| distance(name, other) < name.chars().count());
    near.min_by_key(|other| (distance(name, other), std::cmp::Reverse(alike(other))))
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
