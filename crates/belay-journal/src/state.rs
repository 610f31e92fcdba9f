//! What the next event's rows depend on: a pure fold over the events before it.
//!
//! Writing, recovering and verifying fold the same way, so that they cannot disagree.

use std::collections::BTreeMap;
use std::sync::Arc;

use belay_event::{At, Event, Exec, Exit, McpCall, SnapshotTaken, What};

use crate::chain::{Link, ORIGIN};

/// The fold so far.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// How many events there are; the number of the last.
    pub(crate) seq: u64,
    /// The last event's link.
    pub(crate) link: Link,
    /// The last id in `fs_events`.
    pub(crate) files: i64,
    /// The last id in `exec_events`.
    pub(crate) commands: i64,
    /// The last id in `snapshot_events`.
    pub(crate) snapshots: i64,
    /// The last id in `mcp_calls`.
    pub(crate) calls: i64,
    /// Where the range of the last automatic snapshot ended, in whatever slot.
    auto_stop: i64,
    /// The same for the last one in the ring.
    ring_stop: i64,
    /// The snapshot that the latest rewind went to.
    pub(crate) rewound: Option<String>,
    /// Commands that have not ended.
    pub(crate) running: BTreeMap<u64, Arc<Running>>,
    /// Whether the run has ended.
    pub(crate) ended: bool,
    /// When the last event happened.
    pub(crate) last: Option<At>,
}

/// A command that has not ended.
#[derive(Debug)]
pub(crate) struct Running {
    /// Its id in `exec_events`.
    pub(crate) row: i64,
    /// When it began.
    pub(crate) at: At,
    /// What it is.
    pub(crate) exec: Exec,
    /// The number of the event that said so.
    pub(crate) seq: u64,
}

/// What an event means for the tables that are derived from events.
pub(crate) enum Effect<'e> {
    /// Nothing.
    None,
    /// A command began.
    Began(Arc<Running>),
    /// A command ended.
    Ended(Arc<Running>, &'e Exit),
    /// A snapshot was taken.
    Snapshot(SnapshotRow<'e>),
    /// A tool was called.
    Called(CallRow<'e>),
}

/// A row of `mcp_calls`.
pub(crate) struct CallRow<'e> {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) at: At,
    pub(crate) call: &'e McpCall,
}

/// A row of `snapshot_events`.
pub(crate) struct SnapshotRow<'e> {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) at: At,
    pub(crate) taken: &'e SnapshotTaken,
    /// The slot; one that no other snapshot has if it is in no pool, so that grouping by slot keeps it apart.
    pub(crate) slot: i64,
    /// The file events it covers: those after `start`, up to and with `stop`.
    pub(crate) start: i64,
    pub(crate) stop: i64,
}

impl Default for State {
    fn default() -> State {
        State {
            seq: 0,
            link: ORIGIN,
            files: 0,
            commands: 0,
            snapshots: 0,
            calls: 0,
            auto_stop: 0,
            ring_stop: 0,
            rewound: None,
            running: BTreeMap::new(),
            ended: false,
            last: None,
        }
    }
}

impl State {
    /// Takes the next event in.
    pub(crate) fn observe<'e>(&mut self, event: &'e Event) -> Effect<'e> {
        self.seq += 1;
        self.last = Some(event.at);
        match &event.what {
            What::File(_) => self.files += 1,
            What::Exec(exec) => return self.began(event.at, exec),
            What::Exit(exit) => {
                let running = self.running.remove(&exit.command);
                return running.map_or(Effect::None, |running| Effect::Ended(running, exit));
            }
            What::Snapshot(taken) if taken.snapshot.is_some() => return self.snapshot(event.at, taken),
            What::Rewound(rewound) => self.rewound = Some(rewound.checkpoint.as_ref().unwrap_or(&rewound.to).clone()),
            What::McpCall(call) => {
                self.calls += 1;
                return Effect::Called(CallRow { id: self.calls, seq: self.seq, at: event.at, call });
            }
            What::RunEnded(_) => self.ended = true,
            What::RunStarted(_) | What::Snapshot(_) | What::Lost(_) | What::Degraded(_) => {}
            What::Denied(_) | What::Storm(_) | What::Erased(_) => {}
        }
        Effect::None
    }

    fn began(&mut self, at: At, exec: &Exec) -> Effect<'static> {
        self.commands += 1;
        let running = Arc::new(Running { row: self.commands, at, exec: exec.clone(), seq: self.seq });
        self.running.insert(exec.command, Arc::clone(&running));
        Effect::Began(running)
    }

    fn snapshot<'e>(&mut self, at: At, taken: &'e SnapshotTaken) -> Effect<'e> {
        self.snapshots += 1;
        let (id, seq, stop) = (self.snapshots, self.seq, self.files);
        let manual = taken.origin == "manual";
        let start = match taken.slot {
            _ if manual => 0,
            Some(_) => self.ring_stop,
            None => self.auto_stop,
        };
        if !manual {
            self.auto_stop = stop;
            self.ring_stop = if taken.slot.is_some() { stop } else { self.ring_stop };
        }
        let slot = taken.slot.map_or(-id, i64::from);
        Effect::Snapshot(SnapshotRow { id, seq, at, taken, slot, start, stop })
    }
}
