//! What a timeline records, and how it is written as JSON.

use belay_store::Hash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Before a run began.
    PreRun,
    /// After a commit.
    Git,
    /// After a build.
    Build,
    /// When nothing happened for a while.
    Idle,
    /// Because the interval had passed.
    Auto,
    /// Because somebody asked.
    Manual,
    /// Before an agent's turn.
    Turn,
    /// Before a tool call of an agent.
    Tool,
    /// Before belay changed the workspace.
    Safety,
    /// After a run had ended.
    Final,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 10] = [
        Kind::PreRun,
        Kind::Git,
        Kind::Build,
        Kind::Idle,
        Kind::Auto,
        Kind::Manual,
        Kind::Turn,
        Kind::Tool,
        Kind::Safety,
        Kind::Final,
    ];

    /// The kind as it is printed and recorded.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PreRun => "pre-run",
            Kind::Git => "git",
            Kind::Build => "build",
            Kind::Idle => "idle",
            Kind::Auto => "auto",
            Kind::Manual => "manual",
            Kind::Turn => "turn",
            Kind::Tool => "tool",
            Kind::Safety => "safety",
            Kind::Final => "final",
        }
    }
}

/// Who wanted a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Belay.
    Auto,
    /// A person or an agent.
    #[default]
    Manual,
}

impl Origin {
    /// Its name in lists and records.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Auto => "auto",
            Origin::Manual => "manual",
        }
    }
}

/// A pool with numbered slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// The ring that overwrites its oldest.
    Auto,
    /// The named slots that are never overwritten.
    Manual,
}

/// How a snapshot's content is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// In the content-addressed store.
    #[default]
    Objects,
    /// In a directory with every file, which share their blocks where the disk can.
    Clone,
    /// In a snapshot of a btrfs subvolume.
    Btrfs,
    /// In a snapshot of a zfs dataset.
    Zfs,
    /// In a tar archive.
    Archive,
}

impl Backend {
    /// All backends.
    pub const ALL: [Backend; 5] = [Backend::Objects, Backend::Clone, Backend::Btrfs, Backend::Zfs, Backend::Archive];

    /// The backend as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Objects => "objects",
            Backend::Clone => "clone",
            Backend::Btrfs => "btrfs",
            Backend::Zfs => "zfs",
            Backend::Archive => "archive",
        }
    }
}

/// The run and the event inside it that caused a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The number of the user's turn in its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The prompt, command or tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// The number of the command in its run whose end, or beginning, asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
}

impl Cause {
    fn is_unknown(&self) -> bool {
        *self == Cause::default()
    }
}

/// One snapshot of a workspace, as its timeline records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `snap_` and six base-36 characters.
    pub id: String,
    /// Its number in the timeline, counted from 1 and never used twice.
    pub number: u64,
    /// Why it was taken.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Who wanted it.
    pub origin: Origin,
    /// The name that somebody gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A text that somebody gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The pool it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Its slot, if it is in a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// What caused it.
    #[serde(default, skip_serializing_if = "Cause::is_unknown")]
    pub cause: Cause,
    /// The snapshot before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it was taken; later than every snapshot before it, whatever the clock said.
    pub created_at: Timestamp,
    /// How its content is kept.
    pub backend: Backend,
    /// What its copy is called by whatever keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_ref: Option<String>,
    /// Bytes by which the store grew.
    pub size_delta: u64,
    /// Entries that are not directories.
    pub files: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Paths that could not be captured although nobody asked to leave them out.
    pub gaps: u64,
    /// Whether everything was captured, regenerable directories too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The hash over everything captured but times and owners.
    #[serde(with = "hex")]
    pub root: Hash,
    /// The key of the manifest in the store.
    #[serde(with = "hex")]
    pub manifest: Hash,
    /// Whether it was imported, so that the workspace was never in this state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Snapshots of the ring that this one took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
}

impl Snapshot {
    /// `cp-3` for a snapshot in slot 3.
    pub fn checkpoint(&self) -> Option<String> {
        self.slot.map(|slot| format!("cp-{slot}"))
    }

    /// Whether something could not be captured.
    pub fn is_partial(&self) -> bool {
        self.gaps > 0
    }
}

/// What took the workspace back or forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewindKind {
    /// `belay rollback`.
    Rollback,
    /// `belay undo`.
    Undo,
    /// `belay redo`.
    Redo,
    /// `belay restore`.
    Restore,
    /// `belay undo` of one step, with what came later kept.
    Revert,
    /// `belay pick` and `belay review`: changes made elsewhere, merged into the present.
    Pick,
}

impl RewindKind {
    /// The kind as it is printed and recorded.
    pub fn name(self) -> &'static str {
        match self {
            RewindKind::Rollback => "rollback",
            RewindKind::Undo => "undo",
            RewindKind::Redo => "redo",
            RewindKind::Restore => "restore",
            RewindKind::Revert => "revert",
            RewindKind::Pick => "pick",
        }
    }

    /// The command by which somebody did it, as it is typed.
    pub fn command(self) -> &'static str {
        match self {
            // `belay undo @turn-3`, `belay undo --command 7`.
            RewindKind::Revert => "undo",
            other => other.name(),
        }
    }
}

/// A rollback, undo, redo, restore, revert or pick that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    /// Names this operation, in its intent and in its record.
    pub operation: String,
    /// Which command it was.
    pub kind: RewindKind,
    /// The safety snapshot of what was there before.
    pub from: String,
    /// The snapshot that was restored.
    pub to: String,
    /// The paths that were meant; none mean all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathText>,
    /// When it was carried out.
    pub at: Timestamp,
    /// How many paths were changed.
    pub changed: u64,
    /// Whether an interruption made belay go back instead of forward.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
}

/// A path in JSON: text where it is UTF-8, else its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PathText {
    /// A path that is UTF-8.
    Text(String),
    /// A path that is not.
    Bytes(Vec<u8>),
}

impl From<&[u8]> for PathText {
    fn from(path: &[u8]) -> PathText {
        match std::str::from_utf8(path) {
            Ok(text) => PathText::Text(text.to_owned()),
            Err(_) => PathText::Bytes(path.to_vec()),
        }
    }
}

impl PathText {
    /// The path's bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            PathText::Text(text) => text.as_bytes(),
            PathText::Bytes(bytes) => bytes,
        }
    }
}

/// One line of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Record {
    /// A snapshot was taken.
    Snapshot(Box<Snapshot>),
    /// Snapshots were deleted.
    Delete { ids: Vec<String>, why: Why, at: Timestamp },
    /// The workspace was taken back or forward.
    Rewind(Rewound),
    /// Snapshots were rewritten without certain paths.
    Forget { rewritten: Vec<Rewritten>, at: Timestamp },
    /// What a rewritten timeline must remember of the records it dropped.
    Base {
        numbers: u64,
        latest_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auto_slot: Option<u32>,
    },
}

impl Record {
    /// Whether a timeline may name less after it.
    pub(crate) fn gives_up(&self) -> bool {
        match self {
            Record::Snapshot(snapshot) => !snapshot.replaces.is_empty(),
            Record::Delete { .. } | Record::Forget { .. } => true,
            Record::Rewind(_) | Record::Base { .. } => false,
        }
    }

    /// The manifests that it names.
    pub(crate) fn names(&self) -> Vec<Hash> {
        match self {
            Record::Snapshot(snapshot) => vec![snapshot.manifest],
            Record::Forget { rewritten, .. } => rewritten.iter().map(|one| one.manifest).collect(),
            _ => Vec::new(),
        }
    }
}

/// Why snapshots were deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Why {
    /// Somebody asked.
    Asked,
    /// A prune's rule.
    Pruned,
    /// The store's budget.
    Budget,
}

/// A snapshot's new content after certain paths were erased from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rewritten {
    pub(crate) id: String,
    #[serde(with = "hex")]
    pub(crate) root: Hash,
    #[serde(with = "hex")]
    pub(crate) manifest: Hash,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Hashes as hexadecimal text.
pub(crate) mod hex {
    use std::fmt;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    use super::Hash;

    pub(crate) fn serialize<S: Serializer>(hash: &Hash, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&hash.to_hex())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Hash, D::Error> {
        input.deserialize_str(Hex)
    }

    struct Hex;

    impl Visitor<'_> for Hex {
        type Value = Hash;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("64 hexadecimal characters")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Hash, E> {
            Hash::from_hex(text).ok_or_else(|| E::custom("a hash has 64 hexadecimal characters"))
        }
    }
}
