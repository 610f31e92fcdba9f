//! Everything that can go wrong in a decision, named by the operation and its operands.

use std::io;
use std::path::PathBuf;

/// The result of a session operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed session operation; nothing in the workspace was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] belay_store::Error),
    /// A file of belay's own could not be read, written, renamed or removed.
    #[error("{operation} {name} in belay's home")]
    Disk {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file's name beneath belay's home.
        name: String,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// Nothing is freed while snapshots are listed that need what is damaged or missing.
    #[error("nothing can be freed while {} is listed, which cannot be read in full", .snapshots[0].1)]
    Unfreeable {
        /// The workspaces and the snapshots; at least one.
        snapshots: Vec<(PathBuf, String)>,
        /// What is damaged or missing.
        #[source]
        source: belay_store::Error,
    },
    /// A workspace had snapshots, and the list of them is gone.
    #[error("{name} in belay's home is missing or empty, and this workspace had snapshots")]
    LostTimeline {
        /// The file's name beneath belay's home.
        name: String,
    },
    /// A directory that the user named could not be used.
    #[error("{operation} {}", .path.display())]
    Path {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The path.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// Somebody else was being heard for too long.
    #[error("another hook, or the helper, has been at work for {seconds} seconds and keeps this one waiting")]
    Unheard {
        /// How long one waited.
        seconds: u64,
    },
    /// Whoever asked for bytes could not take them.
    #[error("write the output")]
    Output(#[source] io::Error),
    /// A backend that was asked for does not work here.
    #[error("the backend {backend} cannot be had: {why}")]
    NoBackend {
        /// The backend.
        backend: &'static str,
        /// Why not.
        why: String,
    },
    /// A workspace is not forgotten while something needs it.
    #[error("{} is still in use: {by}", .path.display())]
    WorkspaceInUse {
        /// Where it is or was.
        path: PathBuf,
        /// What uses it.
        by: String,
    },
    /// A workspace was forgotten by another process while this one had it open.
    #[error("the history of {} was removed meanwhile", .0.display())]
    Forgotten(PathBuf),
    /// No known workspace holds the directory.
    #[error("{} is not in a workspace", .0.display())]
    NoWorkspace(PathBuf),
    /// The directory is a home or the root of the filesystem, and that was not confirmed.
    #[error("{} is your home, holds it, or is the root of the filesystem: it does not become a workspace by accident", .0.display())]
    NeedsConsent(PathBuf),
    /// The store would be captured into itself.
    #[error("belay's home {} lies inside the workspace {}", .home.display(), .workspace.display())]
    HomeInWorkspace {
        /// Belay's home.
        home: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The workspace would be a part of the store.
    #[error("the workspace {} lies inside belay's home {}", .workspace.display(), .home.display())]
    WorkspaceInHome {
        /// Belay's home.
        home: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// Belay's home is no place for anything but belay's own.
    #[error("{} lies inside belay's home {}", .path.display(), .home.display())]
    InsideHome {
        /// Belay's home.
        home: PathBuf,
        /// What was to be written there.
        path: PathBuf,
    },
    /// No snapshot has that name.
    #[error("no snapshot is called {name:?}")]
    UnknownSnapshot {
        /// What was asked for.
        name: String,
        /// The names that come closest.
        nearest: Vec<String>,
    },
    /// No snapshot is as old as that.
    #[error("no snapshot is as old as {name:?}; the oldest is {oldest}")]
    NoneSoOld {
        /// The time that was asked for.
        name: String,
        /// The oldest snapshot.
        oldest: String,
    },
    /// Only snapshots that belay took before rollbacks are left, and those must be named.
    #[error("this workspace has only safety snapshots, which are used only by name")]
    OnlySafety,
    /// Several snapshots have that name.
    #[error("{name:?} could be any of {}", .candidates.join(", "))]
    AmbiguousSnapshot {
        /// What was asked for.
        name: String,
        /// The snapshots that fit.
        candidates: Vec<String>,
    },
    /// The workspace has no snapshot yet.
    #[error("this workspace has no snapshot yet")]
    NoSnapshots,
    /// The label belongs to another snapshot.
    #[error("label {label:?} is already used by {id}")]
    LabelInUse {
        /// The label.
        label: String,
        /// The snapshot that has it.
        id: String,
    },
    /// The label cannot be told from another way to name a snapshot, or cannot be printed.
    #[error("{label:?} cannot be a label: {reason}")]
    BadLabel {
        /// The label.
        label: String,
        /// Why not.
        reason: &'static str,
    },
    /// Every slot of the manual pool is taken.
    #[error("all {max} manual slots are taken")]
    PoolFull {
        /// How many slots there are.
        max: u32,
    },
    /// The snapshot is in no pool, so that it is not one of those that come and go.
    #[error("{snapshot} is in no pool")]
    NotInPool {
        /// The snapshot.
        snapshot: String,
    },
    /// The newest of several snapshots does not say what became of a path that an older one holds.
    #[error("only {snapshot} holds {path}, which the newest of them could not capture")]
    OnlyCopy {
        /// The path, made printable.
        path: String,
        /// The older one.
        snapshot: String,
    },
    /// The path is neither in the snapshot nor in the workspace.
    #[error("{path} is not in {snapshot}")]
    NotInSnapshot {
        /// The path, made printable.
        path: String,
        /// The snapshot.
        snapshot: String,
        /// Paths of it that come close, made printable.
        nearest: Vec<String>,
    },
    /// The path is hidden from the run that whoever asks is in, or can only be read there.
    #[error("this run is kept from {path}, and so is whatever is done for it")]
    KeptFrom {
        /// The path, made printable.
        path: String,
    },
    /// The path does not lie beneath the workspace.
    #[error("{} is outside the workspace {}", .path.display(), .workspace.display())]
    OutsideWorkspace {
        /// The path.
        path: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// There is no rollback that could be undone, or no undo that could be redone.
    #[error("there is nothing to {0}")]
    NothingTo(&'static str),
    /// The safety snapshot that an undo or redo would bring back was deleted.
    #[error("{snapshot}, to which the {verb} would go back, was deleted")]
    SafetyGone {
        /// `undo` or `redo`.
        verb: &'static str,
        /// The snapshot's id.
        snapshot: String,
    },
    /// Another rollback of the same workspace is under way.
    #[error("another rollback of this workspace is under way")]
    RollbackBusy,
    /// The snapshot's contents are damaged, so nothing was written from it.
    #[error("{snapshot} cannot be restored")]
    Damaged {
        /// The snapshot.
        snapshot: String,
        /// What is damaged.
        #[source]
        source: belay_store::Error,
    },
    /// The timeline is damaged, and what was asked for could lose more.
    #[error("{name} is damaged at byte {offset}: {detail}")]
    TimelineDamaged {
        /// The file beneath belay's home.
        name: String,
        /// Where the damage begins.
        offset: u64,
        /// What was expected and not found.
        detail: String,
    },
    /// A record was written by a newer belay.
    #[error("{name} was written by a newer belay")]
    TooNew {
        /// The file beneath belay's home.
        name: String,
    },
    /// The description of a run is none.
    #[error("{name} is damaged, or was written by a newer belay")]
    NoRecord {
        /// The file beneath belay's home.
        name: String,
    },
    /// A text that should be a time, a span or a size is none.
    #[error("{text:?} is not {expected}")]
    Unreadable {
        /// The text.
        text: String,
        /// What it should be, with examples.
        expected: &'static str,
    },
    /// A configuration file is not valid TOML or YAML.
    #[error("{origin} cannot be read: {detail}")]
    ConfigSyntax {
        /// The file.
        origin: String,
        /// What the parser said.
        detail: String,
    },
    /// A configuration file cannot be changed by a command.
    #[error("{origin} is not changed: {why}")]
    ConfigByHand {
        /// The file.
        origin: String,
        /// Why not.
        why: String,
        /// The key that was to change.
        key: String,
        /// What the file should say, as TOML; none if the key should go.
        line: Option<String>,
    },
    /// A configuration names a key that does not exist.
    #[error("{origin} sets {key}, which does not exist")]
    ConfigKey {
        /// The file, variable or flag.
        origin: String,
        /// The key.
        key: String,
        /// The keys that come closest.
        nearest: Vec<String>,
    },
    /// A configuration gives a key a value that it cannot have.
    #[error("{origin} sets {key} to {value}, which is not {expected}")]
    ConfigValue {
        /// The file, variable or flag.
        origin: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// None was named, and there is none.
    #[error("there was no run here yet")]
    NoRun,
    /// No run has that name.
    #[error("no run is called {0:?}")]
    UnknownRun(String),
    /// Several runs have that name.
    #[error("{name:?} could be any of {}", .candidates.join(", "))]
    AmbiguousRun {
        /// What was asked for.
        name: String,
        /// The runs that fit.
        candidates: Vec<String>,
    },
    /// The run has no command of that number.
    #[error("{run} has no command {number}")]
    UnknownCommand {
        /// The run.
        run: String,
        /// The number that was asked for.
        number: u64,
        /// How many commands it has.
        count: u64,
    },
    /// The command changed nothing in the workspace that is known of.
    #[error("no change in this workspace is known to be made by command {number} of {run}")]
    NothingChanged {
        /// The run.
        run: String,
        /// The command.
        number: u64,
        /// How many changes of the run could be given to no command.
        unknown: u64,
        /// The last snapshot before the first of them.
        step: Option<String>,
        /// The last snapshot before the command.
        before: Option<String>,
        /// What was removed while it ran by somebody who is not known.
        removed: Vec<Vec<u8>>,
    },
    /// No snapshot is left from before a step.
    #[error("no snapshot from before {step} is left")]
    NoneBefore {
        /// The step in words.
        step: String,
    },
    /// The run has ended, or was given up.
    #[error("{0} is over")]
    RunOver(String),
    /// A run could not be started or followed.
    #[error("{operation}")]
    Run {
        /// What was tried.
        operation: &'static str,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// Nothing can be traced as it was asked for.
    #[error(transparent)]
    Trace(#[from] belay_trace::Error),
    /// The journal of a run failed.
    #[error(transparent)]
    Journal(#[from] belay_journal::Error),
    /// The snapshot before the run could not be taken, so nothing was run.
    #[error("the snapshot before the run failed, so nothing was run: {0}")]
    NoPreRun(String),
    /// Somebody stopped the run before its command began.
    #[error("interrupted before the command began")]
    RunInterrupted,
    /// The command cannot be confined as asked for, so nothing was run.
    #[error("the command cannot be confined, so nothing was run: {why}")]
    Confinement {
        /// Why.
        why: String,
    },
    /// More files of the workspace lead out of it than can be kept from being written, so nothing was run.
    #[error(
        "{count} files of the workspace have a name elsewhere too, {} is one of them, and so many cannot be kept from being \
         written: --ephemeral changes copies, and --rw with a file or a directory opens it with its links", example.display()
    )]
    TooManyLinks {
        /// How many.
        count: usize,
        /// One of them.
        example: PathBuf,
    },
    /// This machine cannot lay changes over a directory.
    #[error("this machine cannot lay changes over a directory: {why}")]
    NoOverlay {
        /// Why.
        why: String,
    },
    /// No fork of this workspace has that name.
    #[error("no fork of this workspace is called {name:?}")]
    UnknownFork {
        /// What was asked for.
        name: String,
        /// The forks that come closest.
        nearest: Vec<String>,
    },
    /// A fork of this workspace has that name already.
    #[error("a fork of this workspace is called {0:?} already")]
    ForkInUse(String),
    /// The name cannot be a fork's.
    #[error("{name:?} cannot be the name of a fork: {reason}")]
    BadForkName {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A fork is not taken from a fork.
    #[error("this is a fork itself")]
    ForkOfFork,
    /// Something goes on in the fork.
    #[error("{run} goes on in the fork {fork}")]
    ForkBusy {
        /// The fork.
        fork: String,
        /// The run.
        run: String,
    },
    /// What the fork was taken from is not known any more.
    #[error("the snapshot that the fork {0} was taken from was deleted")]
    ForkBaseGone(String),
    /// A run of this workspace does not hold still, so nothing may be swapped under it.
    #[error("{run} cannot be held still: {why}")]
    NotFrozen {
        /// The run.
        run: String,
        /// Why not.
        why: String,
    },
    /// An archive cannot be written or read in that form.
    #[error("{} is not an archive that can be used: {why}", .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The workspace is not the top of a git repository.
    #[error("{} is not the top of a git repository", .0.display())]
    NoRepository(PathBuf),
    /// The workspace's git repository cannot be read or written as it is.
    #[error("the git repository cannot be used: {why}")]
    Repository {
        /// Why not.
        why: String,
    },
    /// No ref has that name.
    #[error("there is no ref {0}")]
    UnknownRef(String),
    /// A ref has that name already.
    #[error("{0} exists already")]
    RefExists(String),
    /// Git allows no ref of that name.
    #[error("{name:?} cannot be the name of a ref: {reason}")]
    BadRefName {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Something is there already, and it is not overwritten.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// Snapshots are switched off by the configuration.
    #[error("snapshots.disabled is set by {origin}")]
    Disabled {
        /// Where it is set.
        origin: String,
    },
}

impl Error {
    pub(crate) fn disk(operation: &'static str, name: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let name = name.into();
        move |source| Error::Disk { operation, name, source }
    }

    pub(crate) fn run(operation: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Run { operation, source }
    }

    pub(crate) fn path(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Path { operation, path, source }
    }
}

/// An error with everything that caused it.
pub(crate) fn chain(error: &Error) -> String {
    chain_of(error)
}

/// The same for an error of another crate.
pub(crate) fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    belay_sys::plain(text)
}
