//! What an agent is told of: what somebody took back in the workspace while no tool of the agent was at work.
//!
//! An agent that does not know of it goes on from files that are no longer there. It is told once, with the next of its
//! hooks whose answer it reads; what it took back itself it knows. A call that was broken off and never told its end hides nothing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::memory::{Memory, OpenCall, file_of, overwrite};
use super::{AgentDeed, AgentWord};
use crate::intent::Intent;
use crate::workspace::Workspace;

/// Paths that are named; an agent can look up the rest.
const PATHS_MAX: usize = 20;
/// Conversations that were silent for longer are over.
const SILENT_MAX: jiff::SignedDuration = jiff::SignedDuration::from_hours(24 * 7);

/// One thing that was taken back.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct News {
    at: Timestamp,
    kind: String,
    to: String,
    changed: u64,
    paths: Vec<String>,
    /// How many paths those that are named stand for.
    #[serde(default)]
    named: u64,
}

impl AgentWord {
    /// Whether the agent reads the answer to this and takes something from it.
    pub fn takes_news(&self) -> bool {
        matches!(
            (self.agent.as_str(), &self.deed),
            ("claude" | "codex" | "gemini", AgentDeed::Prompt(_)) | ("claude", AgentDeed::ToolStart { .. })
        )
    }
}

impl Workspace<'_> {
    /// Leaves word for every conversation whose agent did not do this itself.
    pub(crate) fn leave_news(&self, intent: &Intent, changed: u64, paths: &mut dyn Iterator<Item = &[u8]>) {
        let Ok(memories) = Memory::all(self) else { return };
        let at = self.home.options.clock.now();
        let (paths, named) = worth_naming(paths);
        let (kind, to) = (intent.kind.command().to_owned(), intent.target.id.clone());
        let one = News { at, kind, to, changed, paths, named };
        let is_concerned = |memory: &&Memory| {
            let is_under_way = memory.last_heard().is_some_and(|heard| at.duration_since(heard) < SILENT_MAX);
            is_under_way && !memory.open.iter().any(takes_back)
        };
        for memory in memories.iter().filter(is_concerned) {
            let name = format!("{}.news", memory.name());
            let mut all: Vec<News> = self
                .home
                .disk()
                .read(&name)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .unwrap_or_default();
            all.push(one.clone());
            let bytes = serde_json::to_vec(&all).expect("it is plain data with text keys");
            // The workspace is as it was asked for, whoever is told of it.
            let _ = overwrite(self.home.disk(), &name, &bytes);
        }
    }

    /// Whether there is something that the agent should be told in answer to this.
    pub(crate) fn has_news(&self, word: &AgentWord) -> bool {
        word.takes_news() && self.home.disk().read(&format!("{}.news", file_of(self, &word.session))).is_ok()
    }

    /// What the agent should be told in answer to this; it is told once.
    pub fn take_news(&self, word: &AgentWord) -> Option<String> {
        if !word.takes_news() {
            return None;
        }
        let name = format!("{}.news", file_of(self, &word.session));
        let bytes = self.home.disk().read(&name).ok()?;
        self.home.disk().remove(&name).ok()?;
        let all: Vec<News> = serde_json::from_slice(&bytes).ok()?;
        let told: Vec<String> = all.iter().map(said).collect();
        Some(format!("{} Read these files again before you rely on them.", told.join(" ")))
    }
}

/// The paths that an agent should read again, and how many they stand for: a repository's own files it never reads.
fn worth_naming(paths: &mut dyn Iterator<Item = &[u8]>) -> (Vec<String>, u64) {
    let (mut names, mut repositories, mut named): (Vec<String>, Vec<String>, u64) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let own = parts.iter().position(|part| *part == b".git").map(|at| parts[..=at].join(&b'/'));
        let name = String::from_utf8_lossy(own.as_deref().unwrap_or(path)).into_owned();
        match own {
            Some(_) if repositories.contains(&name) => named += 1,
            Some(_) if repositories.len() < PATHS_MAX => {
                repositories.push(name);
                named += 1;
            }
            None if names.len() < PATHS_MAX => {
                names.push(name);
                named += 1;
            }
            _ => {}
        }
    }
    names.append(&mut repositories);
    (names, named)
}

/// Whether a call is one by which an agent takes something back itself: a tool of belay's, or belay in a shell.
fn takes_back(call: &OpenCall) -> bool {
    let tool = call.what.split_once(": ").map_or(call.what.as_str(), |(tool, _)| tool);
    call.what.contains("belay") || tool.starts_with("snapshot")
}

fn said(one: &News) -> String {
    let News { kind, to, changed, paths, named, .. } = one;
    let at = one.at.strftime("%H:%M:%S UTC");
    let more = changed.saturating_sub((*named).max(paths.len() as u64));
    let which = match (paths.is_empty(), more) {
        (true, _) => format!("{changed} paths"),
        (false, 0) => paths.join(", "),
        (false, 1) => format!("{} and 1 more path", paths.join(", ")),
        (false, more) => format!("{} and {more} more paths", paths.join(", ")),
    };
    format!("At {at} the user took changes in this workspace back (belay {kind}, to {to}): {which}.")
}
