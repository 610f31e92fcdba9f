//! What each failure of the session and the store means for the user: its kind, and what to do next.

use std::error::Error as _;
use std::io;

use belay_session::Error;
use belay_session::journal::Error as JournalError;
use belay_session::store::Error as StoreError;

use super::{FIND, Failure, Kind, NOT_YOURS};
use crate::revert::as_before;
use crate::view;

const LIST: &str = "`belay snapshots` lists them";
const HEAL: &str = "`belay verify --deep` shows all damage; `belay verify --repair` heals what can be healed";
/// What to do about files of belay's own that are somebody else's.
const NOT_OURS: &str = "belay's home is ~/.local/share/belay unless BELAY_HOME names another; after `sudo belay` files in it may be root's, \
                        and `sudo chown -R` gives them back";
const MAKE_ROOM: &str = "free some space; `belay snapshots prune` and `belay gc` shrink the store, `belay du` shows it";

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let error = match error {
            Error::Store(error) => return Failure::from(error),
            Error::Output(error) => return Failure::output(error),
            other => other,
        };
        let failure = Failure::new(kind_of(&error), message_of(&error));
        let failure = error.source().into_iter().fold(failure, |failure, cause| failure.because(cause));
        advise(failure, &error)
    }
}

fn kind_of(error: &Error) -> Kind {
    match error {
        Error::NoWorkspace(_)
        | Error::UnknownSnapshot { .. }
        | Error::NoneSoOld { .. }
        | Error::OnlySafety
        | Error::AmbiguousSnapshot { .. }
        | Error::NoSnapshots
        | Error::NotInSnapshot { .. }
        | Error::SafetyGone { .. }
        | Error::UnknownCommand { .. }
        | Error::NothingChanged { .. }
        | Error::NoneBefore { .. }
        | Error::UnknownRun(_)
        | Error::NoRun
        | Error::AmbiguousRun { .. }
        | Error::UnknownFork { .. }
        | Error::ForkBaseGone(_)
        | Error::NothingTo(_) => Kind::NotFound,
        Error::OutsideWorkspace { .. }
        | Error::BadLabel { .. }
        | Error::BadForkName { .. }
        | Error::Unreadable { .. }
        | Error::ConfigSyntax { .. }
        | Error::ConfigKey { .. }
        | Error::ConfigValue { .. } => Kind::Usage,
        Error::RunInterrupted => Kind::Interrupted,
        Error::Damaged { .. }
        | Error::TimelineDamaged { .. }
        | Error::LostTimeline { .. }
        | Error::Unfreeable { .. }
        | Error::TooNew { .. }
        | Error::NoRecord { .. } => Kind::Damaged,
        Error::Journal(JournalError::Query(_) | JournalError::Form(_)) => Kind::Usage,
        Error::Journal(JournalError::Missing(_)) => Kind::NotFound,
        Error::Journal(JournalError::Row { .. } | JournalError::Schema(_)) => Kind::Damaged,
        Error::Path { source, .. } => Kind::of_path(source),
        Error::Disk { .. }
        | Error::Run { .. }
        | Error::Trace(_)
        | Error::Journal(_)
        | Error::NotFrozen { .. }
        | Error::NoOverlay { .. }
        | Error::NoPreRun(_) => Kind::System,
        _ => Kind::Refused,
    }
}

fn message_of(error: &Error) -> String {
    match error {
        // These name an operation as a verb.
        Error::Disk { .. } | Error::Path { .. } | Error::Run { .. } => format!("cannot {error}"),
        Error::Journal(JournalError::File { .. } | JournalError::Database { .. }) => format!("cannot {error}"),
        _ => error.to_string(),
    }
}

fn advise(failure: Failure, error: &Error) -> Failure {
    let failure = failure.untouched();
    match error {
        Error::Disk { source, .. } => of_system(failure, source, NOT_OURS),
        Error::Path { source, .. } => of_system(failure, source, NOT_YOURS),
        Error::NoWorkspace(_) => {
            failure.hint("`belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows")
        }
        Error::NoBackend { .. } => {
            failure.hint("`--backend objects` works everywhere; `--backend auto` takes the best that works here")
        }
        Error::NeedsConsent(_) => failure.hint("add --yes-really if you mean it"),
        Error::HomeInWorkspace { .. } | Error::WorkspaceInHome { .. } => {
            failure.hint("set BELAY_HOME to a directory outside, or choose a smaller workspace with -C")
        }
        Error::KeptFrom { .. } => failure.hint("whoever started the run can do it"),
        Error::InsideHome { .. } => failure.hint("name a directory somewhere else"),
        Error::UnknownSnapshot { name, nearest } if !nearest.is_empty() => {
            let failure = failure.nearest(nearest);
            match nearest.iter().any(|near| near.trim_start_matches("snap_").starts_with(name.as_str())) {
                true => failure.hint(
                    "of an id type `snap_` and its beginning, or at least four characters that are not all digits",
                ),
                false => failure.hint(LIST),
            }
        }
        Error::UnknownSnapshot { name, .. } if name.starts_with("@turn") => failure.hint(
            "`belay snapshots --type turn` lists the turns; `belay install AGENT` has each prompt recorded as one",
        ),
        Error::UnknownSnapshot { .. } | Error::NoneSoOld { .. } | Error::OnlySafety => failure.hint(LIST),
        Error::Journal(JournalError::Query(_)) => failure.hint("one statement that only reads is answered"),
        Error::Journal(JournalError::Row { .. }) => failure.hint("`belay audit verify` shows all damage"),
        Error::NoRun => failure.hint("`belay run -- COMMAND` protects and records one"),
        Error::UnknownRun(_) => failure
            .hint("`belay runs` lists them; an id may be shortened to four characters, or to `run_` and its beginning"),
        Error::NotFrozen { run, .. } => failure.hint(format!("end it with `belay stop {run}`, then try again")),
        Error::NoOverlay { .. } => failure
            .hint("it takes user namespaces and overlayfs; where an administrator forbids them, `belay fork --to DIR`")
            .hint(
                "makes a fork as a directory of its own, and `belay run` without --ephemeral still keeps the way back",
            ),
        Error::UnknownFork { nearest, .. } if !nearest.is_empty() => {
            failure.nearest(nearest).hint("`belay forks` lists them")
        }
        Error::UnknownFork { .. } => failure.hint("`belay forks` lists them; `belay fork NAME` makes one"),
        Error::ForkInUse(name) => {
            failure.hint(format!("choose another name, or remove that one with `belay forks rm {name}`"))
        }
        Error::ForkOfFork => failure.hint("leave --fork out, or take it to a directory with `belay rollback --to DIR`"),
        Error::ForkBusy { run, .. } => failure.hint(format!("wait for its end, or end it with `belay stop {run}`")),
        Error::AmbiguousSnapshot { .. } | Error::AmbiguousRun { .. } => failure.hint("type more of the id"),
        Error::NoSnapshots => failure.hint("take one with `belay snapshot`"),
        Error::LabelInUse { id, .. } => {
            failure.hint(format!("choose another label, or delete that one with `belay snapshots delete {id}`"))
        }
        Error::NoRepository(_) => failure.hint("`git init` makes one; belay never does that by itself"),
        Error::UnknownRef(_) => failure.hint("`belay snapshots --refs` lists those of belay, `git for-each-ref` all"),
        Error::RefExists(name) => {
            failure.hint(format!("choose another name, or remove it with `git update-ref -d {name}`"))
        }
        Error::PoolFull { .. } => {
            failure.hint("delete one with `belay snapshots delete`, or raise snapshots.manual_max")
        }
        Error::NotInSnapshot { nearest, .. } => failure.nearest(nearest).hint(FIND),
        Error::OutsideWorkspace { .. } => {
            failure.hint("name a path inside the workspace, or another workspace with -C")
        }
        Error::NothingTo("redo") => failure.hint("only an undo can be redone, until the next rollback"),
        Error::NothingTo(_) => failure
            .hint("`belay rollback` goes back to before the latest run, or to the last snapshot")
            .hint("`belay undo --command N` takes back one command of a run; `belay log` shows their numbers"),
        Error::SafetyGone { .. } => {
            failure.hint("`belay rollback SNAP` goes back to a snapshot; `belay snapshots` lists them")
        }
        Error::UnknownCommand { count: 0, .. } => {
            failure.hint("that run recorded no commands; `belay runs` lists others")
        }
        Error::UnknownCommand { count, .. } => {
            failure.hint(format!("its commands are numbered from 1 to {count}; `belay log` shows them"))
        }
        Error::NothingChanged { before: Some(before), removed, .. } if !removed.is_empty() => {
            let paths: Vec<&[u8]> = removed.iter().map(Vec::as_slice).collect();
            failure
                .hint("files were removed while it ran, and nobody saw by whom; `belay log` lists them")
                .hint(as_before(before, &paths))
        }
        Error::NothingChanged { unknown: 1.., step: Some(step), .. } => failure
            .hint("there are changes in this run that could be given to no command; `belay log` lists them")
            .hint(format!("`belay undo --step {step}` takes back what happened between two snapshots around them")),
        Error::NothingChanged { .. } => failure.hint("`belay changes` shows which commands changed what"),
        Error::NoneBefore { .. } => {
            failure.hint("it was thinned or deleted; `belay snapshots` lists what there is to go back to")
        }
        Error::RollbackBusy => failure.hint("try again when it has ended"),
        Error::Damaged { .. } => failure.hint(HEAL).hint("with --skip-damaged a rollback brings back everything else"),
        Error::TimelineDamaged { .. } => failure.hint(HEAL),
        Error::Unfreeable { snapshots, .. } => {
            let failure =
                failure.hint("`belay verify --deep --repair` heals it where something still holds what it needs");
            let ways = view::ways_to_give_up(snapshots);
            ways.into_iter().fold(failure, |failure, way| {
                failure.hint(format!("{way} gives up what cannot be healed, and then gc frees"))
            })
        }
        Error::LostTimeline { .. } => {
            failure.hint("`belay verify --repair` brings back what is left of it; until then nothing is taken or freed")
        }
        Error::Forgotten(_) => failure.hint("begin again: `belay snapshot` makes the directory a workspace once more"),
        Error::Exists(_) => failure.hint("name another file, or add --force to overwrite it"),
        Error::Archive { why, .. } if why.starts_with("it holds more than") => {
            failure.hint("raise snapshots.max_entries or snapshots.max_bytes if you trust it")
        }
        Error::TooNew { .. } => failure.hint("use the newer belay, or another BELAY_HOME"),
        Error::ConfigKey { nearest, .. } if !nearest.is_empty() => {
            failure.nearest(nearest).hint("`belay config list` shows every key")
        }
        Error::ConfigByHand { key, line, .. } => match line {
            Some(line) => failure.hint(format!("write it by hand; in TOML that is: {line}")),
            None => failure.hint(format!("take {key} out by hand")),
        },
        Error::ConfigSyntax { .. } => failure.hint("mend it, or move it away: everything has a default"),
        Error::ConfigKey { .. } | Error::ConfigValue { .. } => failure.hint("`belay config list` shows every key"),
        _ => failure,
    }
}

/// Adds what to do about an answer of the operating system.
fn of_system(failure: Failure, error: &io::Error, denied: &str) -> Failure {
    match error.kind() {
        io::ErrorKind::PermissionDenied => failure.hint(denied),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => failure.hint(MAKE_ROOM),
        io::ErrorKind::NotADirectory | io::ErrorKind::InvalidData if denied == NOT_OURS => {
            failure.hint("`belay verify --repair` gives what is in the place of a file or directory another name")
        }
        _ => failure,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let kind = match &error {
            StoreError::Missing(_)
            | StoreError::Corrupt { .. }
            | StoreError::Unproven { .. }
            | StoreError::TooNew { .. } => Kind::Damaged,
            StoreError::Interrupted | StoreError::HalfDone => Kind::Interrupted,
            StoreError::StoreInWorkspace | StoreError::Busy => Kind::Refused,
            StoreError::Invalid(_) | StoreError::Pattern { .. } => Kind::Usage,
            _ => Kind::System,
        };
        let message = match &error {
            StoreError::Disk { .. } | StoreError::Workspace { .. } => format!("cannot {error}"),
            _ => error.to_string(),
        };
        let failure = Failure::new(kind, message);
        let failure = error.source().into_iter().fold(failure, |failure, cause| failure.because(cause));
        match &error {
            _ if error.is_no_space() => {
                failure.note("the old state is in place, and what was written is given back").hint(MAKE_ROOM)
            }
            StoreError::Disk { source, .. } => of_system(failure, source, NOT_OURS),
            StoreError::Workspace { source, .. } => of_system(failure, source, NOT_YOURS),
            StoreError::Corrupt { name, .. } if matches!(name.as_str(), "store/format" | "store/packs") => {
                failure.untouched().hint("`belay verify --repair` makes it again, and says what is lost")
            }
            StoreError::Missing(_) | StoreError::Corrupt { .. } => {
                failure.note("nothing was written from it").hint(HEAL)
            }
            StoreError::Unproven { .. } => failure.untouched().hint(
                "put the file back from a copy, or write it by hand if you know what it said: \"belay store\", \"format 2\", \"hash blake3\" in three lines",
            ),
            StoreError::TooNew { .. } => failure.untouched().hint("use the newer belay, or another BELAY_HOME"),
            StoreError::Interrupted => failure.note("the old state is in place"),
            StoreError::HalfDone => failure
                .note("some paths are changed and others not yet; the next belay command here goes on with it")
                .hint("`belay undo` takes it back when that is done"),
            StoreError::Busy => failure.untouched().hint("try again when it has ended"),
            StoreError::StoreInWorkspace => failure.untouched().hint("set BELAY_HOME to a directory outside"),
            _ => failure,
        }
    }
}
