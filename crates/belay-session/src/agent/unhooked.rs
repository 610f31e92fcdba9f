//! What changed while an agent worked and none of its hooks told: a tool that is not hooked, or somebody else.
//!
//! Between two tool calls of a turn nothing should change. What does is captured all the same, and said.

use belay_store::Scope;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::memory::Memory;
use super::{AgentDeed, AgentWord, Heard};
use crate::error::Result;
use crate::record::Kind;
use crate::workspace::Workspace;

/// Changes that no hook told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unhooked {
    /// When they were noticed.
    pub at: Timestamp,
    /// How many paths.
    pub paths: u64,
}

impl Workspace<'_> {
    /// Notices what changed between two calls; `between` says that none was under way before this word.
    pub(super) fn notice(&self, memory: &mut Memory, word: &AgentWord, between: bool, heard: &Heard) -> Result<()> {
        match word.deed {
            AgentDeed::Prompt(_) => {
                memory.unhooked = None;
                memory.resting = false;
            }
            AgentDeed::TurnEnd => memory.resting = true,
            _ => {}
        }
        let is_told = matches!(word.deed, AgentDeed::ToolStart { .. } | AgentDeed::TurnEnd);
        let Some(after) = heard.snapshot.as_ref().filter(|_| is_told && between) else { return Ok(()) };
        let timeline = self.timeline()?;
        let before = after.parent.as_ref().and_then(|parent| timeline.get(parent));
        // After a rollback the latest snapshot is of what was there before it.
        let Some(before) = before.filter(|before| before.kind != Kind::Safety && before.root != after.root) else {
            return Ok(());
        };
        let changes = self.changes(&self.tree(before)?, &self.tree(after)?, &Scope::default())?;
        let paths = changes.iter().filter(|change| !change.what().is_nothing() && !change.opaque).count() as u64;
        if paths > 0 {
            memory.unhooked = Some(Unhooked { at: after.created_at, paths });
        }
        Ok(())
    }

    /// What changed without a hook in the last turn.
    pub fn unhooked(&self) -> Result<Option<Unhooked>> {
        let all = Memory::all(self)?.into_iter().filter_map(|memory| memory.unhooked);
        let Some(last) = all.max_by_key(|unhooked| unhooked.at) else { return Ok(None) };
        let timeline = self.timeline()?;
        let turn = timeline.snapshots().iter().rev().find(|snapshot| snapshot.kind == Kind::Turn);
        Ok(Some(last).filter(|last| turn.is_none_or(|turn| turn.created_at < last.at)))
    }

    /// Whether a conversation is in the middle of a turn and of no tool call, so that nothing of its should change.
    pub fn is_between_calls(&self, agent: &str, session: &str) -> Result<bool> {
        Ok(Memory::read(self, &format!("{agent} {session}"))?.is_between_calls())
    }

    /// Whether a conversation has told anything by its hooks.
    pub fn has_heard_of(&self, agent: &str, session: &str) -> Result<bool> {
        Memory::is_there(self, &format!("{agent} {session}"))
    }
}
