//! Which command, run and prompt last changed a file, and each of its lines.
//!
//! Snapshots tell between which two moments a line came, the records of runs who touched the file then. Where several
//! did, all are named; nothing is guessed.

mod witness;

use belay_event::At;
use belay_store::{Entry, Kind as EntryKind, kept_lines, lines};

use crate::error::{Error, Result};
use crate::record::{RewindKind, Snapshot};
use crate::workspace::{Work, Workspace};

pub use witness::Touch;
pub(crate) use witness::{Span, once};

/// Larger files are told about as a whole only.
const LINES_BYTES_MAX: u64 = 4 << 20;

/// Where a file and its lines come from.
#[derive(Clone, Debug)]
pub struct Blame {
    /// What is at the path now.
    pub entry: Option<Entry>,
    /// The stretches of time in which the file changed, oldest first.
    pub intervals: Vec<Interval>,
    /// The lines; none for what is no text.
    pub lines: Vec<BlamedLine>,
}

/// A stretch of time in which a file changed.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The last snapshot with the version before; none if the file was in the first snapshot already.
    pub after: Option<Snapshot>,
    /// The first snapshot with the new version; none if only the present has it.
    pub until: Option<Snapshot>,
    /// What belay did to the workspace meanwhile.
    pub rewound: Option<RewindKind>,
    /// Who touched the file, oldest first, each command once.
    pub touches: Vec<Touch>,
    /// Runs that went on then and whose records cannot be read, so that nobody knows whether they touched it.
    pub unread: Vec<String>,
}

/// Programs that change what is said about a file and never what is in it.
const ABOUT_FILES: [&[u8]; 6] = [b"chmod", b"chown", b"chgrp", b"chattr", b"setfacl", b"setfattr"];

impl Interval {
    /// Who may have changed the content, oldest first; all, if nobody is left otherwise.
    pub fn authors(&self) -> Vec<&Touch> {
        let writes = |touch: &&Touch| {
            let program = touch.argv.first().map(belay_event::Raw::bytes).unwrap_or_default();
            let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            touch.action != belay_event::Action::Modified || !ABOUT_FILES.contains(&name)
        };
        let authors: Vec<&Touch> = self.touches.iter().filter(writes).collect();
        if authors.is_empty() { self.touches.iter().collect() } else { authors }
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// The interval in which it came.
    pub interval: usize,
    /// The line without its end.
    pub text: Vec<u8>,
}

/// One content that a file had.
struct State {
    bytes: Option<Vec<u8>>,
    interval: Interval,
}

impl Workspace<'_> {
    /// Where the file at `path` and its lines come from.
    pub fn blame(&self, path: &[u8], work: Work<'_>) -> Result<Blame> {
        let mut states: Vec<State> = Vec::new();
        let mut last: Option<Entry> = None;
        let mut previous: Option<Snapshot> = None;
        for snapshot in self.timeline()?.snapshots() {
            let tree = self.tree(snapshot)?;
            let entry = self.entry(&tree, path)?.filter(|entry| !entry.is_opaque());
            if differs(last.as_ref(), entry.as_ref()) {
                let bytes = self.text(&tree, path, entry.as_ref())?;
                let interval = self.interval(path, previous.clone(), Some(snapshot.clone()))?;
                states.push(State { bytes, interval });
            }
            (last, previous) = (entry, Some(snapshot.clone()));
        }
        let present = self.present(work)?;
        let entry = self.entry(&present, path)?.filter(|entry| !entry.is_opaque());
        if differs(last.as_ref(), entry.as_ref()) {
            let bytes = self.text(&present, path, entry.as_ref())?;
            states.push(State { bytes, interval: self.interval(path, previous, None)? });
        }
        if states.is_empty() {
            let path = String::from_utf8_lossy(path).escape_debug().to_string();
            return Err(Error::NotInSnapshot { path, snapshot: "any snapshot".to_owned(), nearest: Vec::new() });
        }
        let lines = blamed_lines(&states);
        Ok(Blame { entry, intervals: states.into_iter().map(|state| state.interval).collect(), lines })
    }

    fn interval(&self, path: &[u8], after: Option<Snapshot>, until: Option<Snapshot>) -> Result<Interval> {
        // What happened while a snapshot was taken may have come too late for it.
        let begun = after.as_ref().map(|after| self.begun(after)).transpose()?;
        let span = Span { after: begun, until: until.as_ref().map(|until| At::from(until.created_at)) };
        let timeline = self.timeline()?;
        let rewound = timeline.rewinds().iter().rev().find(|rewind| {
            let is_merged = matches!(rewind.kind, RewindKind::Revert | RewindKind::Pick);
            let reached = until.as_ref().is_some_and(|until| until.id == rewind.to && is_merged);
            reached || span.has(At::from(rewind.at))
        });
        // Before the first snapshot nobody watched.
        let touches = if after.is_some() { once(self.touches_of(path, span)?) } else { Vec::new() };
        let unread = if after.is_some() { self.unread_in(span)? } else { Vec::new() };
        Ok(Interval { rewound: rewound.map(|rewind| rewind.kind), after, until, touches, unread })
    }

    /// The bytes of a file that is not too large and looks like text.
    fn text(&self, tree: &crate::present::Tree, path: &[u8], entry: Option<&Entry>) -> Result<Option<Vec<u8>>> {
        match entry {
            Some(entry) if matches!(entry.kind, EntryKind::File { size, .. } if size <= LINES_BYTES_MAX) => {
                Ok(Some(self.read(tree, path, entry)?).filter(|bytes| !bytes.contains(&0)))
            }
            _ => Ok(None),
        }
    }
}

fn differs(before: Option<&Entry>, after: Option<&Entry>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => !before.same_identity(after),
        (before, after) => before.is_some() != after.is_some(),
    }
}

/// The lines of the last state, each with the interval in which it came and stayed since.
fn blamed_lines(states: &[State]) -> Vec<BlamedLine> {
    let mut origins: Vec<usize> = Vec::new();
    let mut before: &[u8] = &[];
    for (number, state) in states.iter().enumerate() {
        let bytes = state.bytes.as_deref().unwrap_or_default();
        let kept = kept_lines(before, bytes);
        origins = kept.into_iter().map(|line| line.map_or(number, |line| origins[line])).collect();
        before = bytes;
    }
    let text = |line: &&[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    lines(before).iter().zip(origins).map(|(line, interval)| BlamedLine { interval, text: text(line) }).collect()
}
