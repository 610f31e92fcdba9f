//! What is said over a run's `control.sock`: frames of terminal data and of JSON.
//!
//! A frame is one byte for its kind, four for the length of what follows (little-endian), and that.

use std::io::{self, Read, Write};

use belay_event::{At, Decision, McpCall, Raw, Rewound, SnapshotTaken, Storm};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::record::{RunRecord, TerminalSize};
use crate::proposals::Proposal;

/// More than this in one frame is nonsense, and not worth the memory.
const FRAME_BYTES_MAX: u32 = 1 << 20;

const DATA: u8 = 0;
const TEXT: u8 = 1;

/// What a client asks of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// To see its terminal from now on, which takes this size.
    Attach(TerminalSize),
    /// That its terminal has another size.
    Resize(TerminalSize),
    /// To be shown nothing until [`Request::Resume`], because the client stops as well.
    Away,
    /// To let its command go on after [`Answer::Stopped`], at a terminal of this size.
    Resume(TerminalSize),
    /// To pass on a signal to its command.
    Signal(i32),
    /// To stop: politely, or at once.
    Stop {
        /// At once.
        now: bool,
    },
    /// To let nothing of it run until [`Request::Thaw`], or until the client is gone.
    Freeze,
    /// To go on, and what was done meanwhile.
    Thaw(Option<Rewound>),
    /// To be told how it stands.
    Status,
    /// What to do about a storm of deletions that is held.
    Decide(Decision),
    /// To record that a tool of belay's was called.
    Called(Box<McpCall>),
    /// To record that somebody else took a snapshot of its workspace, and when.
    Taken(At, Box<SnapshotTaken>),
    /// To capture what changed, since an agent in it told of this step.
    Step(String),
}

/// What a run tells a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A snapshot that somebody waits for is so much further.
    Progress(Step),
    /// The command begins now.
    Started(Box<RunRecord>),
    /// Its command was stopped at the terminal, as by Ctrl-Z.
    Stopped,
    /// Nothing of the run moves.
    Frozen,
    /// The run goes on.
    Thawed,
    /// How it stands.
    Status(Box<RunRecord>),
    /// Many paths were deleted at once, and what became of it.
    Storm(Storm),
    /// What changed is captured.
    Captured,
    /// What was asked for cannot be done.
    Refused(String),
    /// The command ended; what is typed from now on is not for it.
    Finishing,
    /// The run is over.
    Ended(Box<Farewell>),
}

/// How much further a snapshot is since it was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Entries.
    pub entries: u64,
    /// Bytes.
    pub bytes: u64,
    /// Entries and bytes that there are in all, perhaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<(u64, u64)>,
}

/// The last that a run tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Farewell {
    /// The run as it is recorded now.
    pub run: RunRecord,
    /// The kernel's answer if the command could not be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexecuted: Option<i32>,
    /// Processes of the run that live on, with their commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<(u32, String)>,
    /// Processes that the command left and that were ended with it, with their commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<(u32, String)>,
    /// The names of calls that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The paths that were refused, and what would have allowed them; only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Proposal>,
    /// How many more there were.
    #[serde(default)]
    pub denied_more: u64,
    /// How many refusals nobody knows the path of.
    #[serde(default)]
    pub denied_untold: u64,
    /// Commands and how many paths each changed, the most first; only the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_command: Vec<Deed>,
    /// How many of them there are, those that are not named included.
    #[serde(default)]
    pub doers: u64,
    /// How many different paths changed.
    #[serde(default)]
    pub paths: u64,
    /// What changed where snapshots do not reach, so that no rollback takes it back; only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<Beyond>,
    /// Why the record is not complete, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
    /// What the final snapshot does not hold although nobody asked for that.
    #[serde(default)]
    pub gaps: u64,
    /// The same of the snapshot before the run.
    #[serde(default)]
    pub pre_run_gaps: u64,
    /// Whether it was stopped before its command began.
    #[serde(default)]
    pub interrupted: bool,
}

/// Something that snapshots leave out, and that a run changed all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beyond {
    /// Its path.
    pub path: Raw,
    /// How many paths in it changed.
    pub changes: u64,
}

/// What one command did to files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// Its number; none for somebody outside the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// Its arguments.
    pub argv: Vec<belay_event::Raw>,
    /// How many changes it made.
    pub changes: u64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// Bytes of the terminal.
    Data(Vec<u8>),
    /// A request or an answer.
    Text(T),
}

/// Reads a frame; none at the end.
pub(crate) fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<Frame<T>>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if length > FRAME_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    match head[0] {
        DATA => Ok(Some(Frame::Data(body))),
        _ => Ok(Some(Frame::Text(serde_json::from_slice(&body)?))),
    }
}

/// Writes terminal data.
pub(super) fn write_data(to: &mut impl Write, data: &[u8]) -> io::Result<()> {
    write(to, DATA, data)
}

/// Writes a request or an answer.
pub(crate) fn write_text(to: &mut impl Write, text: &impl Serialize) -> io::Result<()> {
    write(to, TEXT, &serde_json::to_vec(text)?)
}

fn write(to: &mut impl Write, kind: u8, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // One write for each frame, so that a small one is one packet.
    let mut frame = Vec::with_capacity(5 + body.len());
    frame.push(kind);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    to.write_all(&frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_wire_and_nonsense_is_an_error() {
        let mut wire = Vec::new();
        write_data(&mut wire, b"\x1b[2J\xff").unwrap();
        write_text(&mut wire, &Request::Stop { now: true }).unwrap();
        let mut from = wire.as_slice();
        assert_eq!(read_frame::<Request>(&mut from).unwrap(), Some(Frame::Data(b"\x1b[2J\xff".to_vec())));
        assert_eq!(read_frame(&mut from).unwrap(), Some(Frame::Text(Request::Stop { now: true })));
        assert_eq!(read_frame::<Request>(&mut from).unwrap(), None);
        assert!(read_frame::<Request>(&mut &b"\x00\xff\xff\xff\xff"[..]).is_err());
        assert!(read_frame::<Request>(&mut &b"\x01\x02\x00\x00\x00{}"[..]).is_err());
    }
}
