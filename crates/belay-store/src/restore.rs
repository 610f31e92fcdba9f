//! The way back: a plan of what differs, verified, staged beside the live files and then swapped in.
//!
//! - A plan is a function of two trees. Whatever it changes or removes is captured in the first of them, and it never
//!   names a path that the second did not capture or would not have taken.
//! - No live path is changed before every byte that will be written was read, checked and staged.
//! - A live path is changed only if it still is what the plan says; one change of one path is atomic.
//! - Every path is reached from the workspace's handle, and nothing is ever followed out of it.

mod claims;
mod content;
mod difference;
mod durable;
mod extract;
mod flush;
mod hands;
mod layout;
mod links;
mod metadata;
mod plan;
mod stage;
mod steps;
mod still;
mod swap;
mod tidy;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};

use belay_sys::{FileType, Root};

use crate::capture::Progress;
use crate::diff::What;
use crate::error::{Error, Result};
use crate::objects::Store;
use crate::tree::{Entry, Meta};

pub use difference::{is_between, is_privileged};
pub use extract::extract;
pub use plan::plan;
pub use steps::{Step, Steps};
pub use tidy::tidy_up;

use hands::Hands;
use layout::Layout;

/// What a restore will do, path by path.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps, parents before children, in the order of names.
    pub steps: Steps,
    /// What differs and is left as it is.
    pub left: Vec<Left>,
    /// Bytes that will be written.
    pub bytes: u64,
    /// The existing directories in which or of which something changes, sorted by path.
    pub(crate) sites: Vec<Site>,
    /// What the files are like that no step stages and that others become hard links to.
    pub(crate) anchors: HashMap<Vec<u8>, Entry>,
    /// What is not in the target, or is something else there, and in the way only because its owner cannot read it.
    pub(crate) shut: Vec<Shut>,
}

/// Something that its owner cannot read and may open.
#[derive(Clone, Debug)]
pub(crate) struct Shut {
    pub(crate) path: Vec<u8>,
    /// All that is known of it.
    pub(crate) now: Entry,
    /// The directory that it is in.
    pub(crate) place: Site,
}

impl Plan {
    /// The part of the plan that only opens what its owner cannot read, if there is any: once that is done its content can be
    /// captured, and so be replaced.
    pub fn opening(&self) -> Option<Plan> {
        let mut steps = self.steps.clone();
        steps.retain(|step| step.opens());
        let places: HashSet<Vec<u8>> = steps.paths().map(|path| split(path).0.to_vec()).collect();
        // These directories themselves stay as they are, their times too.
        let sites = self.sites.iter().filter(|site| places.contains(&site.path));
        let mut sites: Vec<Site> = sites.map(|site| Site { after: None, ..site.clone() }).collect();
        for shut in &self.shut {
            let meta = Meta { mode: opened(&shut.now), ..shut.now.meta.clone() };
            let after = Entry { meta, ..shut.now.clone() };
            let what = What { mode: true, opaque: true, ..What::default() };
            steps.push(&shut.path, Some(&shut.now), Some(&after), what);
            sites.push(shut.place.clone());
        }
        steps.sort();
        sites.sort_by(|one, other| one.path.cmp(&other.path));
        sites.dedup_by(|one, other| one.path == other.path);
        (!steps.is_empty()).then(|| Plan { steps, sites, ..Plan::default() })
    }

    /// Counts how many names each file has among the steps, for a plan of [`Plan::opening`]: nobody could look into them, so
    /// that no capture knows which are one. A file that has more, elsewhere, would change there too.
    pub fn count_names(&mut self, root: &Root) {
        let find = |path: &[u8]| {
            let (place, name) = split(path);
            let found = root.dir_path_only(place).and_then(|dir| dir.stat(name)).ok()?;
            Some((found.dev, found.ino))
        };
        let found: Vec<Option<(u64, u64)>> = self.steps.paths().map(find).collect();
        let mut names: HashMap<(u64, u64), u32> = HashMap::new();
        for one in found.iter().flatten() {
            *names.entry(*one).or_default() += 1;
        }
        for (at, one) in found.iter().enumerate() {
            self.steps.set_names(at, one.and_then(|one| names.get(&one).copied()).unwrap_or(1));
        }
    }

    /// The paths that nobody can read, and that would go if they were opened first.
    pub fn shut(&self) -> impl Iterator<Item = &[u8]> {
        self.shut.iter().map(|shut| shut.path.as_slice())
    }

    /// The same plan as it is shown before anything is opened: what will be opened goes.
    pub fn as_if_opened(mut self) -> Plan {
        let gone: HashSet<Vec<u8>> = self.shut().map(<[u8]>::to_vec).collect();
        self.left.retain(|left| !gone.contains(&left.path));
        for shut in std::mem::take(&mut self.shut) {
            self.steps.push(&shut.path, Some(&shut.now), None, What { removed: true, ..What::default() });
        }
        self.steps.sort();
        self
    }

    /// What a rollback may have opened that this plan is of, innermost first: each path with the mode that it had and the
    /// one that it was given.
    pub fn opened(&self) -> Vec<(Vec<u8>, u16, u16)> {
        let of = |path: &[u8], entry: &Entry| {
            let needed = if entry.kind.file_type() == FileType::Dir { 0o500 } else { 0o400 };
            let (before, after) = (entry.meta.mode, opened(entry));
            (before & needed != needed && before != after).then(|| (path.to_vec(), before, after))
        };
        let steps = self.steps.iter().filter_map(|step| of(step.path, step.before.as_ref()?));
        let mut all: Vec<_> = steps.chain(self.shut.iter().filter_map(|shut| of(&shut.path, &shut.now))).collect();
        all.sort_by(|one, other| links::in_tree_order(&other.0, &one.0));
        all
    }
}

/// The mode that lets the owner read a file, or list and enter a directory and take out of it.
fn opened(entry: &Entry) -> u16 {
    entry.meta.mode
        | match entry.kind.file_type() {
            FileType::Dir => 0o700,
            FileType::File => 0o400,
            _ => 0,
        }
}

/// A directory that exists and in which, or of which, something changes.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) path: Vec<u8>,
    /// What the directory is like.
    pub(crate) before: Meta,
    /// What it is like in the target, if it is a directory there.
    pub(crate) after: Option<Meta>,
}

/// A path that differs and that a restore does not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Why it is left.
    pub reason: LeftReason,
}

/// Why a restore leaves a path that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftReason {
    /// The snapshot's filter did not claim it.
    NotClaimed,
    /// The snapshot saw it and could not capture it.
    NotCaptured,
    /// The same, and it is not there either.
    Missed,
    /// The snapshot does not hold it, and it is not there either.
    NotHeld,
    /// Git held this lock when the snapshot was taken, and does not now; with it git would refuse to work.
    GitLock,
    /// It is in the way and was not captured, so it cannot be removed.
    InTheWay,
    /// It changed after the plan was made.
    ChangedSince,
    /// Whoever asked must not have it changed.
    Spared,
    /// What the store holds of it is damaged or lost.
    Damaged,
    /// The user may not do it, or not all of it (devices, owners, some attributes).
    NotPermitted,
    /// The operating system refused, with this error number.
    Failed(i32),
}

impl LeftReason {
    /// Whether a restore that leaves a path for this is incomplete; what no snapshot holds is left on purpose.
    pub fn is_shortfall(self) -> bool {
        use LeftReason::{GitLock, Missed, NotCaptured, NotClaimed, NotHeld, Spared};
        !matches!(self, NotClaimed | NotCaptured | Missed | NotHeld | GitLock | Spared)
    }

    /// The reason that an answer of the operating system amounts to.
    fn of(error: &io::Error) -> LeftReason {
        use io::ErrorKind::*;
        match error.kind() {
            NotFound | AlreadyExists | NotADirectory | IsADirectory | DirectoryNotEmpty => LeftReason::ChangedSince,
            PermissionDenied | ReadOnlyFilesystem => LeftReason::NotPermitted,
            _ => LeftReason::Failed(error.raw_os_error().unwrap_or_default()),
        }
    }
}

/// Which modification time a restored file gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtimePolicy {
    /// The one it had.
    Exact,
    /// The present for every file that is written, so that build tools see the change.
    #[default]
    Fresh,
}

/// Stops a restore at its n-th change of the workspace, as a crash or a full disk would.
#[derive(Debug, Default)]
pub struct Faults {
    /// Which change goes wrong, counted from one; zero means none.
    pub after: AtomicU64,
    /// The errno that this one change is answered with; zero behaves as if the process had died before it.
    pub errno: AtomicU64,
    /// How many changes were asked for.
    pub seen: AtomicU64,
}

/// What a request to stop may leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStop {
    /// The old state: from the first change of a live path on it is not heard.
    #[default]
    OldState,
    /// The old state, or once live paths are being changed a half that an intent tells of.
    OldOrHalf,
    /// Whatever is there at that moment, what was staged included, because an intent tells of it.
    Half,
}

/// How to apply a plan.
pub struct ApplyOptions<'a> {
    /// The modification times.
    pub mtime: MtimePolicy,
    /// Begins the names of temporary files, unique to this restore and recorded in its intent.
    pub prefix: &'a [u8],
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Set to stop.
    pub stop: &'a AtomicBool,
    /// What is left then.
    pub on_stop: OnStop,
    /// What becomes of files whose content is damaged.
    pub on_damage: OnDamage,
    /// For tests.
    pub faults: Option<&'a Faults>,
}

/// What a restore does if the store does not hold the content of a file any more as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// Nothing: it changes no path at all.
    #[default]
    Refuse,
    /// It leaves that file as it is, and brings back the rest.
    Leave,
}

/// What a restore did.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Paths that were changed.
    pub changed: u64,
    /// What was left, wholly or in part, although the plan meant to change it.
    pub left: Vec<Left>,
}

/// Carries out a plan: everything is verified and staged before the first live path is changed.
///
/// An error means that no live path was changed, unless it is [`Error::HalfDone`] or says that the changes could not be
/// made durable. What goes wrong with a single path is in [`Applied::left`].
pub fn apply(store: &Store, root: &Root, plan: &Plan, options: &ApplyOptions<'_>) -> Result<Applied> {
    check_prefix(options.prefix)?;
    if plan.steps.is_empty() {
        return Ok(Applied::default());
    }
    options.progress.expect(plan.steps.len() as u64, plan.bytes);
    // What the plan was made from is not needed to carry it out.
    store.forget_kept();
    let hands = Hands::new(options.faults);
    let (as_root, layout) = (belay_sys::is_root(), Layout::new(plan));
    let can_share = AtomicBool::new(store.has_copies()?);
    let mut work = Work { store, root, options, hands: &hands, as_root, can_share, layout };
    let applied = work.run();
    if hands.died() { Err(Error::Interrupted) } else { applied }
}

/// A restore under way.
struct Work<'a> {
    store: &'a Store,
    root: &'a Root,
    options: &'a ApplyOptions<'a>,
    hands: &'a Hands<'a>,
    as_root: bool,
    /// Whether a file may share the blocks of a copy, as far as is known.
    can_share: AtomicBool,
    layout: Layout<'a>,
}

impl Work<'_> {
    fn run(&mut self) -> Result<Applied> {
        let mut applied = Applied::default();
        if let Err(error) = self.stage(&mut applied) {
            if !matches!((&error, self.options.on_stop), (Error::Interrupted, OnStop::Half)) {
                self.unstage();
            }
            return Err(error);
        }
        self.swap(&mut applied)?;
        applied.left.sort_by(|a, b| links::in_tree_order(&a.path, &b.path));
        applied.left.dedup_by(|a, b| a.path == b.path);
        Ok(applied)
    }

    fn check_stop(&self) -> Result<()> {
        let stopped = self.options.stop.load(std::sync::atomic::Ordering::Relaxed);
        if stopped { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Whether to stop although live paths are changed already.
    fn stops_half_way(&self) -> bool {
        self.options.on_stop != OnStop::OldState && self.check_stop().is_err()
    }
}

/// Temporary names must fit beside names of any length, so they are short and stand alone.
const PREFIX_BYTES_MAX: usize = 200;

fn check_prefix(prefix: &[u8]) -> Result<()> {
    let usable =
        !prefix.is_empty() && prefix.len() <= PREFIX_BYTES_MAX && !prefix.contains(&b'/') && !prefix.contains(&0);
    if usable { Ok(()) } else { Err(Error::Invalid("a prefix for temporary files cannot be used".into())) }
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

/// The directory of a path and its name in it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}
/// Removes what is at the path beneath the root and all beneath it; nothing there is no error.
pub(crate) fn remove_tree(root: &Root, path: &[u8]) -> std::io::Result<()> {
    tidy::remove_tree(root, &hands::Hands::new(None), path)
}
