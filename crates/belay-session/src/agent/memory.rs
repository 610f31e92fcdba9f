//! What is remembered of an agent's conversation between two of its words: `workspaces/<id>/agents/<key>`.
//!
//! Losing it costs the numbers of calls that are under way, nothing else; so it is written without waiting for the disk.

use std::io;

use belay_event::{At, Degraded, Event, What};
use belay_store::Disk;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::unhooked::Unhooked;
use super::{AgentDeed, AgentWord};
use crate::error::{Error, Result};
use crate::record::Cause;
use crate::workspace::Workspace;

/// Words that are known again.
const HEARD_MAX: usize = 128;
/// How soon the same prompt must come again to count as told twice.
const TWICE: SignedDuration = SignedDuration::from_millis(1500);

/// Beneath a workspace: what is wrong with an agent's hooks.
const ALARM: &str = "alarm";

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The name of the file.
    #[serde(skip)]
    name: String,
    /// The run that its journal is kept as.
    pub(super) run: Option<String>,
    /// The turn that is going on, or was last.
    pub(super) turn: Option<u64>,
    /// Whether that run is one that records its commands by itself, under numbers of its own.
    #[serde(default)]
    pub(super) is_guest: bool,
    /// Tool calls so far.
    pub(super) commands: u64,
    /// Tool calls that have not ended.
    #[serde(default)]
    pub(super) open: Vec<OpenCall>,
    /// What changed since the prompt without a hook that told it.
    #[serde(default)]
    pub(super) unhooked: Option<Unhooked>,
    /// Whether the turn has ended.
    #[serde(default)]
    pub(super) resting: bool,
    /// Words that were heard, and when.
    #[serde(default)]
    heard: Vec<(String, Timestamp)>,
}

/// A tool call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) at: Timestamp,
    pub(super) what: String,
}

/// A word of an agent that nothing came of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// When.
    pub at: Timestamp,
    /// What the agent told, and why nothing came of it.
    pub why: String,
}

impl Memory {
    pub(super) fn read(workspace: &Workspace<'_>, session: &str) -> Result<Memory> {
        let name = file_of(workspace, session);
        let memory = match workspace.home.disk().read(&name) {
            // A memory that cannot be read is none, and neither is what is no file: the next one takes its place.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
                Memory::default()
            }
            Err(error) => return Err(Error::disk("read", &name)(error)),
        };
        Ok(Memory { name, ..memory })
    }

    /// Whether anything is remembered of that conversation.
    pub(super) fn is_there(workspace: &Workspace<'_>, session: &str) -> Result<bool> {
        let name = file_of(workspace, session);
        match workspace.home.disk().read(&name) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::disk("read", &name)(error)),
        }
    }

    /// The name of its file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// When it was last heard of.
    pub(super) fn last_heard(&self) -> Option<Timestamp> {
        self.heard.last().map(|(_, at)| *at)
    }

    /// Whether a turn is under way, and no tool call in it.
    pub(super) fn is_between_calls(&self) -> bool {
        self.turn.is_some() && !self.resting && self.open.is_empty()
    }

    /// Every conversation in the workspace.
    pub(super) fn all(workspace: &Workspace<'_>) -> Result<Vec<Memory>> {
        let dir = workspace.file("agents");
        let names = workspace.home.disk().list(&dir).map_err(Error::disk("list", &dir))?;
        let read = |name: String| {
            let name = workspace.file(&format!("agents/{name}"));
            let memory: Memory = serde_json::from_slice(&workspace.home.disk().read(&name).ok()?).ok()?;
            Some(Memory { name, ..memory })
        };
        Ok(names.into_iter().filter_map(|(name, _)| read(name)).collect())
    }

    pub(super) fn write(&self, workspace: &Workspace<'_>) -> Result<()> {
        let bytes = serde_json::to_vec(self).expect("it is plain data with text keys");
        overwrite(workspace.home.disk(), &self.name, &bytes)
    }

    /// Whether the word was told before; remembers it otherwise.
    pub(super) fn has_heard(&mut self, word: &AgentWord, now: Timestamp) -> bool {
        let short = |text: String| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
        let named = word.key.as_ref().map(|key| short(format!("{} {key}", kind(&word.deed))));
        // Two programs that tell the same may name it differently, but they tell it at the same moment.
        let said = match &word.deed {
            AgentDeed::Prompt(prompt) => Some(short(format!("said {prompt}"))),
            AgentDeed::TurnEnd => Some(short(format!("end of {:?}", self.turn))),
            _ => None,
        };
        let is_recent = |at: &Timestamp| now.duration_since(*at) < TWICE;
        if let AgentDeed::ToolStart { id, tool, what } = &word.deed
            && self.is_under_way(id, &format!("{tool}: {what}"), is_recent)
        {
            return true;
        }
        let is_known = self
            .heard
            .iter()
            .any(|(heard, at)| named.as_ref() == Some(heard) || (said.as_ref() == Some(heard) && is_recent(at)));
        if !is_known {
            self.heard.extend(named.into_iter().chain(said).map(|key| (key, now)));
            self.heard.drain(..self.heard.len().saturating_sub(HEARD_MAX));
        }
        is_known
    }

    /// Whether somebody who does not name calls has just told of this one, or who does has told of it before one who does not.
    fn is_under_way(&self, id: &str, what: &str, is_recent: impl Fn(&Timestamp) -> bool) -> bool {
        // The same command under two names may be two calls; which tool it is, every teller says in its own way.
        let subject = |what: &str| what.split_once(": ").map_or_else(String::new, |(_, subject)| subject.to_owned());
        let same =
            |call: &&OpenCall| is_recent(&call.at) && !subject(what).is_empty() && subject(&call.what) == subject(what);
        self.open.iter().filter(same).any(|call| call.id.is_empty() || id.is_empty())
    }

    /// The call of that name, which has ended; of those who name none, or tell of one that another told, the one that began last.
    pub(super) fn close(&mut self, id: &str) -> Option<OpenCall> {
        let named = self.open.iter().position(|call| call.id == id);
        let nameless = |call: &OpenCall| id.is_empty() || call.id.is_empty();
        let at = named.or_else(|| self.open.iter().rposition(nameless))?;
        Some(self.open.remove(at))
    }

    /// The number of a call in the record, if calls have one there.
    pub(super) fn number_of(&self, call: u64) -> Option<u64> {
        (!self.is_guest).then_some(call)
    }

    pub(super) fn cause(&self) -> Cause {
        Cause { run: self.run.clone(), turn: self.turn, trigger: None, command: None }
    }
}

pub(super) fn file_of(workspace: &Workspace<'_>, session: &str) -> String {
    let key = blake3::hash(session.as_bytes()).to_hex();
    workspace.file(&format!("agents/{}", &key[..24]))
}

fn kind(deed: &AgentDeed) -> &'static str {
    match deed {
        AgentDeed::Prompt(_) => "prompt",
        AgentDeed::ToolStart { .. } => "start",
        AgentDeed::ToolEnd { .. } => "end",
        AgentDeed::TurnEnd => "turn end",
        AgentDeed::Other(_) => "other",
    }
}

/// Replaces a small file that nobody waits for the disk for.
pub(crate) fn overwrite(disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<()> {
    let fresh = format!("{name}.new");
    let write = || {
        match disk.remove(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        disk.create(&fresh)?.write(bytes)?;
        disk.rename(&fresh, name)
    };
    write().map_err(Error::disk("write", name))
}

impl Workspace<'_> {
    /// Remembers that nothing came of a word, so that somebody is told.
    pub fn miss(&self, why: &str) -> Result<()> {
        let missed = Missed { at: self.home.options.clock.now(), why: why.to_owned() };
        let bytes = serde_json::to_vec(&missed).expect("it is plain data with text keys");
        overwrite(self.home.disk(), &self.file("missed"), &bytes)
    }

    /// Remembers that an agent's hooks are no longer what they should be, until they are; its record says so, too.
    pub fn raise_alarm(&self, session: &str, why: &str) -> Result<()> {
        let at = self.home.options.clock.now();
        let bytes = serde_json::to_vec(&Missed { at, why: why.to_owned() }).expect("it is plain data with text keys");
        overwrite(self.home.disk(), &self.file(ALARM), &bytes)?;
        let _held = self.turn_to_speak()?;
        let degraded = Degraded { layer: "hooks".to_owned(), why: why.to_owned() };
        self.write_down(&Memory::read(self, session)?, vec![Event::new(At::from(at), What::Degraded(degraded))], false)
    }

    /// Learns that the hooks are as they should be.
    pub fn calm_alarm(&self) -> Result<()> {
        let name = self.file(ALARM);
        match self.home.disk().remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::disk("remove", &name)(error)),
            _ => Ok(()),
        }
    }

    /// What is wrong with an agent's hooks, as was last seen.
    pub fn alarm(&self) -> Option<Missed> {
        serde_json::from_slice(&self.home.disk().read(&self.file(ALARM)).ok()?).ok()
    }

    /// The last word that nothing came of, unless a snapshot was taken since.
    pub fn missed(&self) -> Result<Option<Missed>> {
        let Ok(bytes) = self.home.disk().read(&self.file("missed")) else { return Ok(None) };
        let Ok(missed) = serde_json::from_slice::<Missed>(&bytes) else { return Ok(None) };
        let timeline = self.timeline()?;
        let is_over = timeline.latest().is_some_and(|latest| latest.created_at > missed.at);
        Ok((!is_over).then_some(missed))
    }
}
