//! What an agent tells of itself by its hooks: turns and tool calls, without belay having started it.
//!
//! Each becomes what a run's own events are: a turn is a snapshot with the prompt, a tool call a command in a journal,
//! and what differs after it are that command's changes. So names, blame and undo work as they do for runs. Nothing is
//! recorded twice, however often it is told.

mod between;
mod broken_off;
mod called;
mod memory;
mod news;
mod put_back;
mod record;
mod unhooked;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use belay_event::{Action, Actor, At, Ended, Event, Exec, Exit, FileChange, Raw, SnapshotTaken, What};
use belay_store::{Change, FileType, Kind as EntryKind, Lock, LockMode, Scope};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::record::{Cause, Kind, Origin, Snapshot};
use crate::rollback::Recovered;
use crate::snapshot::SnapshotRequest;
use crate::spans::found_at;
use crate::workspace::{Work, Workspace};
use memory::{Memory, OpenCall};

pub use between::{Gap, Gaps};
pub use broken_off::BrokenOff;
pub use memory::Missed;
pub(crate) use memory::overwrite;
pub use unhooked::Unhooked;

/// Something that an agent told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWord {
    /// Which agent: `claude`, `codex`, …
    pub agent: String,
    /// Its own name for the conversation.
    pub session: String,
    /// Its own name for this moment, by which a second telling is known; none if it has none.
    pub key: Option<String>,
    /// What it was.
    pub deed: AgentDeed,
}

/// What an agent did, or is about to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentDeed {
    /// The user asked for something.
    Prompt(String),
    /// A tool is about to be used.
    ToolStart {
        /// The call, as the agent names it.
        id: String,
        /// The tool.
        tool: String,
        /// What it is used on: a command, a path.
        what: String,
    },
    /// A tool was used.
    ToolEnd {
        /// The call, as the agent names it.
        id: String,
        /// Whether it failed.
        failed: bool,
    },
    /// The agent has done what it was asked for, or gave up.
    TurnEnd,
    /// Something else happened that is worth a look at the files.
    Other(String),
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The snapshot that was taken, if one was.
    pub snapshot: Option<Snapshot>,
    /// The number of the turn.
    pub turn: Option<u64>,
    /// Whether it had been told before.
    pub again: bool,
    /// Interrupted rollbacks that were finished or reversed first.
    pub recovered: Vec<Recovered>,
}

/// Characters of a prompt that are kept.
const PREVIEW_CHARS_MAX: usize = 160;
/// Paths of one tool call that are recorded; what changes more is told as directories by the log anyway.
const CHANGES_MAX: usize = 20_000;

/// How long one waits for whoever is being heard; agents give up on their hooks soon after.
const TURN_WAIT: Duration = Duration::from_secs(15);
/// How often one looks whether it is over.
const TURN_LOOK: Duration = Duration::from_millis(2);

/// How a word is heard.
#[derive(Clone, Copy)]
struct Ear<'a> {
    work: Work<'a>,
    /// It is known that the files are as in the latest snapshot.
    unchanged: bool,
    /// Whoever was told it first was killed, maybe after it had written something of it down.
    again: bool,
}

impl Workspace<'_> {
    /// Takes in what an agent told.
    pub fn hear(&self, word: &AgentWord, work: Work<'_>) -> Result<Heard> {
        self.take_up(work)?;
        let recovered = self.recover(work)?;
        Ok(Heard { recovered, ..self.hear_after(word, false, work)? })
    }

    /// The right to change what is remembered of conversations.
    fn turn_to_speak(&self) -> Result<Lock> {
        self.turn_to_speak_unless(&AtomicBool::new(false))
    }

    /// The same for whoever may be told to stop.
    fn turn_to_speak_unless(&self, stop: &AtomicBool) -> Result<Lock> {
        let lock = self.file("agents.lock");
        let deadline = Instant::now() + TURN_WAIT;
        loop {
            let held = self.home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
            match held {
                Some(held) => return Ok(held),
                // Whoever holds it may be stopped for good, and an agent waits for us.
                None if Instant::now() > deadline => return Err(Error::Unheard { seconds: TURN_WAIT.as_secs() }),
                None if stop.load(Ordering::Relaxed) => return Err(belay_store::Error::Interrupted.into()),
                None => std::thread::sleep(TURN_LOOK),
            }
        }
    }

    /// Whether somebody is being heard at this moment.
    pub fn is_hearing(&self) -> Result<bool> {
        let lock = self.file("agents.lock");
        let held = self.home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        Ok(held.is_none())
    }

    /// The same, some time after it was told; `unchanged` says that at that time the files were as in the latest snapshot.
    pub(crate) fn hear_after(&self, word: &AgentWord, unchanged: bool, work: Work<'_>) -> Result<Heard> {
        self.listen(word, Ear { work, unchanged, again: false })
    }

    /// The same for a word of which somebody may have written something down before it was killed.
    pub(crate) fn hear_again(&self, word: &AgentWord, work: Work<'_>) -> Result<Heard> {
        self.listen(word, Ear { work, unchanged: true, again: true })
    }

    fn listen(&self, word: &AgentWord, ear: Ear<'_>) -> Result<Heard> {
        let _held = self.turn_to_speak_unless(ear.work.stop)?;
        let mut memory = Memory::read(self, &word.session)?;
        let now = self.home.options.clock.now();
        if memory.has_heard(word, now) {
            return Ok(Heard { again: true, turn: memory.turn, ..Heard::default() });
        }
        let between = memory.is_between_calls();
        let heard = match &word.deed {
            AgentDeed::Prompt(prompt) => self.hear_prompt(&mut memory, word, prompt, ear),
            AgentDeed::ToolStart { id, tool, what } => self.hear_start(&mut memory, word, [id, tool, what], ear),
            AgentDeed::ToolEnd { id, failed } => self.hear_end(&mut memory, word, id, *failed, ear),
            AgentDeed::TurnEnd => self.hear_turn_end(&mut memory, word, ear),
            AgentDeed::Other(what) => self.hear_other(&mut memory, what, ear),
        }?;
        self.notice(&mut memory, word, between, &heard)?;
        memory.write(self)?;
        Ok(heard)
    }

    fn hear_prompt(&self, memory: &mut Memory, word: &AgentWord, prompt: &str, ear: Ear<'_>) -> Result<Heard> {
        let broken_off = self.broken_off()?;
        self.begin_session(memory, word)?;
        let turns = self.timeline()?.snapshots().iter().filter_map(|snapshot| snapshot.cause.turn).max();
        let turn = turns.unwrap_or_default() + 1;
        memory.turn = Some(turn);
        memory.open.clear();
        let hash = blake3::hash(prompt.as_bytes()).to_hex();
        let shown = self.shown_prompt(prompt);
        let request = SnapshotRequest {
            kind: Kind::Turn,
            origin: Origin::Auto,
            description: Some(format!("prompt {hash}")),
            cause: Cause { trigger: Some(shown), ..memory.cause() },
            ..SnapshotRequest::default()
        };
        let begun = Instant::now();
        let snapshot = self.snapshot(&request, ear.work)?.snapshot;
        let mut events = self.unclaimed(memory, &snapshot)?;
        events.push(told(&snapshot, None, begun.elapsed()));
        events
            .extend(broken_off.map(|broken| Event::new(At::from(snapshot.created_at), What::Degraded(broken.said()))));
        self.write_down(memory, events, false)?;
        Ok(Heard { turn: memory.turn, snapshot: Some(snapshot), ..Heard::default() })
    }

    /// What is kept of a prompt: its beginning, or if that is not wanted a hash.
    pub(crate) fn shown_prompt(&self, prompt: &str) -> String {
        if self.settings.flag("agents.hide_prompts") {
            return format!("prompt {}", &blake3::hash(prompt.as_bytes()).to_hex()[..12]);
        }
        prompt.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(PREVIEW_CHARS_MAX).collect()
    }

    fn hear_start(&self, memory: &mut Memory, word: &AgentWord, call: [&String; 3], ear: Ear<'_>) -> Result<Heard> {
        let [id, tool, what] = call;
        self.begin_session(memory, word)?;
        let argv: Vec<Raw> =
            [tool, what].into_iter().filter(|word| !word.is_empty()).map(|w| Raw::from(w.as_str())).collect();
        let written = if ear.again { self.last_written(memory)? } else { None };
        let is_written = written.as_ref().is_some_and(|(_, last)| *last == argv);
        memory.commands = written.map_or(memory.commands, |(last, _)| last) + u64::from(!is_written);
        let number = memory.commands;
        let begun = Instant::now();
        let snapshot = self.if_changed(memory, memory.number_of(number), &format!("before {tool}: {what}"), ear)?;
        let at = At::from(self.home.options.clock.now());
        let exec = Exec {
            command: number,
            parent: None,
            pid: 0,
            ppid: 0,
            uid: 0,
            argv,
            exe: Raw::from(word.agent.as_str()),
            cwd: raw(self.path()),
            cut: false,
        };
        let mut events = match &snapshot {
            Some(snapshot) => self.unclaimed(memory, snapshot)?,
            None => Vec::new(),
        };
        events.extend(snapshot.as_ref().map(|snapshot| told(snapshot, None, begun.elapsed())));
        events.extend((!is_written).then(|| Event::new(at, What::Exec(exec))));
        memory.open.push(OpenCall { id: id.clone(), number, at: at.timestamp(), what: format!("{tool}: {what}") });
        self.write_down(memory, events, false)?;
        Ok(Heard { snapshot, turn: memory.turn, ..Heard::default() })
    }

    fn hear_end(&self, memory: &mut Memory, word: &AgentWord, id: &str, failed: bool, ear: Ear<'_>) -> Result<Heard> {
        self.begin_session(memory, word)?;
        let Some(call) = memory.close(id) else { return self.hear_other(memory, "a tool call", ear) };
        let before = self.timeline()?.latest().cloned();
        // The call was over before it was told of, and so before what is captured now.
        let (now, begun) = (self.home.options.clock.now(), Instant::now());
        let snapshot = self.if_changed(memory, memory.number_of(call.number), &call.what, ear)?;
        let mut events = Vec::new();
        if let (Some(before), Some(after)) = (&before, &snapshot) {
            // Where several are under way nobody can tell whose it is.
            let by = memory.open.is_empty().then_some(Actor { pid: None, command: Some(call.number), exact: false });
            let changes = self.changes(&self.tree(before)?, &self.tree(after)?, &Scope::default())?;
            let told = changes.iter().filter(|change| !change.what().is_nothing() && !change.opaque);
            let at = found_at(after);
            events.extend(told.take(CHANGES_MAX).map(|change| Event::new(at, What::File(change_of(change, by)))));
        }
        let duration_ns = u64::try_from(now.duration_since(call.at).as_nanos()).unwrap_or_default();
        events.extend(snapshot.as_ref().map(|snapshot| told(snapshot, Some(call.number), begun.elapsed())));
        let exit = Exit { command: call.number, pid: 0, ended: Ended::Code(i32::from(failed)), duration_ns };
        events.push(Event::new(At::from(now), What::Exit(exit)));
        self.write_down(memory, events, false)?;
        Ok(Heard { snapshot, turn: memory.turn, ..Heard::default() })
    }

    fn hear_turn_end(&self, memory: &mut Memory, word: &AgentWord, ear: Ear<'_>) -> Result<Heard> {
        // Agents also end what never began, such as a list of their servers.
        if memory.run.is_none() {
            return self.hear_other(memory, "the end of a session", ear);
        }
        self.begin_session(memory, word)?;
        // Without its end what a person does afterwards would count as the turn's.
        let begun = Instant::now();
        let at = self.home.options.clock.now();
        if let Some(latest) = self.timeline()?.latest().filter(|_| !memory.is_guest)
            && (ear.unchanged || self.present(ear.work)?.manifest().identity == latest.root)
        {
            self.write_down(memory, vec![ended_at(latest, at)], true)?;
            self.update_session(memory, latest, at)?;
            return Ok(Heard { turn: memory.turn, ..Heard::default() });
        }
        let request = SnapshotRequest {
            kind: Kind::Final,
            origin: Origin::Auto,
            cause: Cause { trigger: Some("the end of the turn".to_owned()), ..memory.cause() },
            ..SnapshotRequest::default()
        };
        let snapshot = self.snapshot(&request, ear.work)?.snapshot;
        let mut events = self.unclaimed(memory, &snapshot)?;
        events.push(told(&snapshot, None, begun.elapsed()));
        self.write_down(memory, events, true)?;
        self.update_session(memory, &snapshot, snapshot.created_at)?;
        Ok(Heard { snapshot: Some(snapshot), turn: memory.turn, ..Heard::default() })
    }

    fn hear_other(&self, memory: &mut Memory, what: &str, ear: Ear<'_>) -> Result<Heard> {
        let snapshot = self.if_changed(memory, None, what, ear)?;
        if let Some(snapshot) = &snapshot {
            self.write_down(memory, self.unclaimed(memory, snapshot)?, false)?;
        }
        Ok(Heard { snapshot, turn: memory.turn, ..Heard::default() })
    }

    /// Takes a snapshot unless the files are as in the latest one.
    fn if_changed(&self, memory: &Memory, command: Option<u64>, why: &str, ear: Ear<'_>) -> Result<Option<Snapshot>> {
        if ear.unchanged || (memory.is_guest && self.is_captured_by_run(memory, why)) {
            return Ok(None);
        }
        let timeline = self.timeline()?;
        if let Some(latest) = timeline.latest()
            && self.present(ear.work)?.manifest().identity == latest.root
        {
            return Ok(None);
        }
        let trigger: String = why.chars().take(PREVIEW_CHARS_MAX).collect();
        let request = SnapshotRequest {
            kind: Kind::Tool,
            origin: Origin::Auto,
            cause: Cause { trigger: Some(trigger), command, ..memory.cause() },
            ..SnapshotRequest::default()
        };
        Ok(Some(self.snapshot(&request, ear.work)?.snapshot))
    }
}

/// The end of a turn that left the files as in that snapshot.
fn ended_at(snapshot: &Snapshot, at: jiff::Timestamp) -> Event {
    let end = Snapshot { kind: Kind::Final, label: None, size_delta: 0, created_at: at, ..snapshot.clone() };
    told(&end, None, Duration::ZERO)
}

fn told(snapshot: &Snapshot, command: Option<u64>, took: Duration) -> Event {
    let turn = snapshot.cause.turn.filter(|_| snapshot.kind == Kind::Turn);
    let taken = SnapshotTaken {
        snapshot: Some(snapshot.id.clone()),
        kind: snapshot.kind.name().to_owned(),
        origin: snapshot.origin.name().to_owned(),
        name: snapshot.label.clone().or(turn.map(|turn| format!("@turn-{turn}"))),
        slot: snapshot.slot,
        files: snapshot.files,
        stored_bytes: snapshot.size_delta,
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        by_dirty_set: false,
        command,
        root: Some(snapshot.root.to_hex()),
        gaps: snapshot.gaps,
        meanwhile: 0,
        failed: None,
    };
    Event::new(At::from(snapshot.created_at), What::Snapshot(taken))
}

fn change_of(change: &Change, by: Option<Actor>) -> FileChange {
    let action = match (&change.before, &change.after) {
        (None, _) => Action::Created,
        (_, None) => Action::Deleted,
        _ => Action::Modified,
    };
    let entry = change.after.as_ref().or(change.before.as_ref());
    let size = change.after.as_ref().and_then(|entry| match entry.kind {
        EntryKind::File { size, .. } => Some(size),
        _ => None,
    });
    let dir = entry.is_some_and(|entry| entry.kind.file_type() == FileType::Dir);
    FileChange { action, path: Raw::from(change.path.as_slice()), to: None, dir, size, by }
}

fn raw(path: &Path) -> Raw {
    use std::os::unix::ffi::OsStrExt;
    Raw::from(path.as_os_str().as_bytes())
}
