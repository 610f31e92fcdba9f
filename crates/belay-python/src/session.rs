//! A session: tracked directories, and their numbered snapshots in a home of belay's that is theirs alone.
//!
//! - The home never lies inside a tracked directory, which is checked before it is made.
//! - Nothing is restored from a record whose root hash does not match its trees.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use belay_session::store::{Algorithm, Disk, Gap, GapKind, Left, Lock, LockMode, Manifest, OnDamage, Packing};
use belay_session::{
    Consent, Error as SessionError, Format, Goal, Home, HomeOptions, RewindRequest, Snapshot, SnapshotRequest, Sources,
    Stage, Text, Work, Workspace,
};

use crate::changes;
use crate::error::{Error, Result};
use crate::numbered::{Numbered, TrackedRoot};
use crate::restores::{Mark, Restore, Restores};
use crate::values::{Change, ExclusionConfig};

const LOCK: &str = "session/lock";
const ROOM_ENTRIES: u64 = 1 << 16;

/// Tracked directories and where their snapshots are.
pub(crate) struct Session {
    pub(crate) home: Arc<Home>,
    tracked: Vec<PathBuf>,
    sources: Sources,
    entries_max: u64,
    bytes_max: u64,
}

/// What a session may hold.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) entries_max: u64,
    pub(crate) bytes_max: u64,
}

impl Session {
    pub(crate) fn open(
        dir: &Path,
        tracked: &[PathBuf],
        exclusion: Option<&ExclusionConfig>,
        limits: Limits,
    ) -> Result<Session> {
        let whole = |path: &PathBuf| absolute(path).map_err(|error| Error::Path(path.clone(), error));
        let mut tracked = tracked.iter().map(whole).collect::<Result<Vec<_>>>()?;
        tracked.dedup();
        let dir = whole(&dir.to_path_buf())?;
        check_apart(&dir, &tracked)?;
        let options = HomeOptions { algorithm: Algorithm::Sha256, packing: Packing::Swift, ..HomeOptions::default() };
        let home = Arc::new(Home::open(&dir, options)?);
        let Limits { entries_max, bytes_max } = limits;
        Ok(Session { home, tracked, sources: sources(exclusion, limits), entries_max, bytes_max })
    }

    fn disk(&self) -> &dyn Disk {
        self.home.store().disk().as_ref()
    }

    fn lock(&self) -> Result<Option<Lock>> {
        self.disk().lock(LOCK, LockMode::Exclusive, true).map_err(|error| Error::Path(LOCK.into(), error))
    }

    /// The record of a number, checked.
    pub(crate) fn record(&self, number: u64) -> Result<Numbered> {
        Numbered::read(self.disk(), number)
    }

    /// The record of the newest snapshot.
    pub(crate) fn latest(&self) -> Result<Option<Numbered>> {
        self.numbers()?.last().map(|number| self.record(*number)).transpose()
    }

    pub(crate) fn numbers(&self) -> Result<Vec<u64>> {
        Numbered::all(self.disk())
    }

    /// Takes the next snapshot; with `onto`, as the child of the newest and with what changed since.
    pub(crate) fn take(&self, onto: bool, work: Work<'_>) -> Result<(Numbered, Vec<Change>)> {
        if self.tracked.is_empty() {
            return Err(Error::NothingTracked);
        }
        let _held = self.lock()?;
        let parent = match onto {
            true => Some(self.latest()?.ok_or(Error::NoBaseline)?),
            false => None,
        };
        let number = self.numbers()?.last().map_or(0, |last| last + 1);
        let mut taken = Vec::new();
        let done = self.capture_all(number, &mut taken, work);
        if let Err(error) = done {
            self.take_back(&taken);
            return Err(error);
        }
        let timestamp = iso(&taken[0].1);
        let roots = taken.iter().map(|(path, snapshot)| TrackedRoot::new(path, snapshot)).collect();
        let record = Numbered::new(number, timestamp, parent.as_ref().map(|parent| parent.number), roots);
        record.write(self.disk())?;
        let changes = parent.map(|parent| self.changes(&parent, &record)).transpose()?;
        Ok((record, changes.unwrap_or_default()))
    }

    fn capture_all(&self, number: u64, taken: &mut Vec<(PathBuf, Snapshot)>, work: Work<'_>) -> Result<()> {
        let (mut entries, mut bytes) = (0, 0);
        for path in &self.tracked {
            let workspace = self.workspace(path)?;
            let snapshot = capture(&workspace, number, work).map_err(Error::at(path))?;
            taken.push((path.clone(), snapshot.clone()));
            entries += snapshot.files;
            bytes += snapshot.bytes;
            self.check_limits(path, &snapshot, entries, bytes)?;
        }
        Ok(())
    }

    fn check_limits(&self, path: &Path, snapshot: &Snapshot, entries: u64, bytes: u64) -> Result<()> {
        let store = self.home.store();
        let coverage = Manifest::read(store, &snapshot.manifest)?.coverage(store)?;
        let over = coverage.gaps.iter().find(|gap| gap.kind == GapKind::OverLimit);
        let at = |gap: &Gap| path.join(OsStr::from_bytes(&gap.path));
        let place = over.map_or_else(|| path.to_path_buf(), at);
        let error = |what: String, limit| Err(Error::Limit { what, limit, path: place.clone() });
        if entries > self.entries_max {
            return error(format!("{entries} entries are tracked"), self.entries_max);
        }
        if bytes > self.bytes_max {
            return error(format!("{bytes} bytes are tracked"), self.bytes_max);
        }
        match over {
            Some(gap) if gap.detail.ends_with("entries") => error("more entries are tracked".into(), self.entries_max),
            Some(_) => error("more bytes are tracked".into(), self.bytes_max),
            None => Ok(()),
        }
    }

    /// Removes snapshots that no number will name.
    fn take_back(&self, taken: &[(PathBuf, Snapshot)]) {
        for (path, snapshot) in taken {
            // What stays is in the timeline without a number, and does no harm.
            let _ = self.workspace(path).map(|workspace| workspace.delete(std::slice::from_ref(&snapshot.id)));
        }
    }

    fn workspace(&self, path: &Path) -> Result<Workspace<'_>> {
        self.home.create(path, Consent::default(), &self.sources).map_err(Error::at(path))
    }

    /// What changed from one number to another, in the directories that both hold.
    fn changes(&self, before: &Numbered, after: &Numbered) -> Result<Vec<Change>> {
        let store = self.home.store();
        let mut all = Vec::new();
        for new in &after.roots {
            let Some(old) = before.roots.iter().find(|old| old.path() == new.path()) else { continue };
            all.extend(changes::between(store, &new.path(), &old.manifest(store)?, &new.manifest(store)?)?);
        }
        Ok(once(all))
    }

    /// What a restore would change; nothing is written.
    pub(crate) fn plan(&self, number: u64, work: Work<'_>) -> Result<Vec<Change>> {
        let mut all = Vec::new();
        for (path, root) in self.targets(number)? {
            if !path.exists() {
                let plan = self.home.plan_anew(&root.manifest(self.home.store())?)?;
                all.extend(changes::planned(&path, &plan, &[]));
                continue;
            }
            let workspace = self.workspace(&path)?;
            let plan = workspace.plan_rewind(&to(&root.snapshot), work).map_err(Error::at(&path))?;
            all.extend(changes::planned(&path, &plan.plan, &[]));
        }
        Ok(once(all))
    }

    /// Restores what is tracked to a number; what was there is in the timeline as a safety snapshot.
    pub(crate) fn restore(&self, number: u64, work: Work<'_>) -> Result<Vec<Change>> {
        let _held = self.lock()?;
        let targets = self.targets(number)?;
        let mut made = Vec::new();
        let mut roots = Vec::new();
        for (path, root) in &targets {
            made.push(make_again(path)?);
            roots.push(Mark::now(path, &self.workspace(path)?, &root.snapshot)?);
        }
        let mut restores = Restores::read(self.disk())?;
        restores.push(Restore { roots });
        restores.write(self.disk())?;
        let mut all = Vec::new();
        let mut is_idle = true;
        for ((path, root), made) in targets.iter().zip(made) {
            let rewound = rewind(&self.workspace(path)?, path, &to(&root.snapshot), work)?;
            is_idle &= rewound.is_idle;
            // What a new directory is like itself is nobody's change.
            all.extend(rewound.changes.into_iter().filter(|change| !made || change.path != path.as_os_str()));
        }
        if is_idle {
            restores.pop();
            restores.write(self.disk())?;
        }
        Ok(once(all))
    }

    /// Takes the last restore back, in the directories that it changed.
    pub(crate) fn undo(&self, work: Work<'_>) -> Result<Vec<Change>> {
        let _held = self.lock()?;
        let mut restores = Restores::read(self.disk())?;
        let last = restores.last().cloned().ok_or(SessionError::NothingTo("undo"))?;
        let mut all = Vec::new();
        // Backwards, because one may lie in another that was restored before it.
        for mark in last.roots.iter().rev() {
            let path = mark.path();
            if !self.tracked.contains(&path) {
                continue;
            }
            make_again(&path)?;
            let workspace = self.workspace(&path)?;
            if let Some(before) = mark.before(&workspace)? {
                all.extend(rewind(&workspace, &path, &to(&before), work)?.changes);
            }
        }
        restores.pop();
        restores.write(self.disk())?;
        Ok(once(all))
    }

    /// The directories of a number that are tracked, each of them checked against the number's root hash.
    fn targets(&self, number: u64) -> Result<Vec<(PathBuf, TrackedRoot)>> {
        let record = self.record(number)?;
        let mut targets = Vec::new();
        for root in record.roots {
            root.manifest(self.home.store())?;
            let path = root.path();
            if self.tracked.contains(&path) {
                targets.push((path, root));
            }
        }
        if targets.is_empty() { Err(Error::NotTracked(number)) } else { Ok(targets) }
    }

    pub(crate) fn tracked(&self) -> &[PathBuf] {
        &self.tracked
    }

    /// Keeps a text of the session's owner.
    pub(crate) fn write_text(&self, name: &str, text: &str) -> Result<()> {
        crate::numbered::write_file(self.disk(), name, text.as_bytes())
    }
}

/// What going back did.
pub(crate) struct Rewound {
    pub(crate) changes: Vec<Change>,
    /// There was nothing to do.
    pub(crate) is_idle: bool,
}

/// Takes a workspace back, and tells what that changed: what was planned, less what could not be done.
pub(crate) fn rewind(
    workspace: &Workspace<'_>,
    path: &Path,
    request: &RewindRequest,
    work: Work<'_>,
) -> Result<Rewound> {
    let mut planned = None;
    let outcome = workspace.rewind(request, work, &mut |stage| {
        if let Stage::Restoring(plan) = stage {
            planned = Some(plan.clone());
        }
    });
    let outcome = outcome.map_err(Error::at(path))?;
    let Some(plan) = planned else { return Ok(Rewound { changes: Vec::new(), is_idle: true }) };
    let failed: Vec<Left> = outcome.left.into_iter().filter(|left| !plan.left.contains(left)).collect();
    Ok(Rewound { changes: changes::planned(path, &plan, &failed), is_idle: false })
}

/// Makes a directory that is gone; whether it had to.
pub(crate) fn make_again(path: &Path) -> Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    fs::create_dir_all(path).map_err(|error| Error::Path(path.to_path_buf(), error))?;
    Ok(true)
}

/// A request to go back to a snapshot, wholly.
pub(crate) fn to(snapshot: &str) -> RewindRequest {
    RewindRequest {
        goal: Goal::To(Some(snapshot.to_owned())),
        paths: Vec::new(),
        mtime: None,
        on_damage: OnDamage::Refuse,
    }
}

/// Takes the snapshot under a label that tells the number, unless somebody else has used that.
fn capture(workspace: &Workspace<'_>, number: u64, work: Work<'_>) -> belay_session::Result<Snapshot> {
    let description = Some(format!("snapshot {number} of a session"));
    let request = SnapshotRequest { label: Some(format!("session-{number}")), description, ..Default::default() };
    match workspace.snapshot(&request, work) {
        Err(SessionError::LabelInUse { .. }) => {
            let request = SnapshotRequest { label: None, ..request };
            Ok(workspace.snapshot(&request, work)?.snapshot)
        }
        other => Ok(other?.snapshot),
    }
}

/// When a snapshot was taken, in the form of ISO 8601 that every Python reads.
pub(crate) fn iso(snapshot: &Snapshot) -> String {
    snapshot.created_at.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00").to_string()
}

/// Each path once, since a tracked directory may lie in another.
fn once(mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.dedup_by(|a, b| a.path == b.path);
    changes
}

/// Refuses a session directory inside of what it is to protect, or around it, before it is made.
fn check_apart(dir: &Path, tracked: &[PathBuf]) -> Result<()> {
    let real = real_path(dir);
    for path in tracked {
        let own = real_path(path);
        if real.starts_with(&own) || dir.starts_with(path) || holds(path, &real) {
            return Err(Error::Inside { inner: dir.to_path_buf(), outer: path.clone() });
        }
        if own.starts_with(&real) || holds(dir, &own) {
            return Err(Error::Inside { inner: path.clone(), outer: dir.to_path_buf() });
        }
    }
    Ok(())
}

/// Where a path leads, through all links: what is there of it decides, and what is not will be made there.
fn real_path(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let rest = known.as_ref().and_then(|(above, _)| path.strip_prefix(above).ok());
    known.as_ref().zip(rest).map_or_else(|| path.to_path_buf(), |((_, real), rest)| real.join(rest))
}

/// Whether the directory is above the path or at it, also where it is mounted twice.
fn holds(dir: &Path, path: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let own = identity(dir);
    own.is_some() && path.ancestors().any(|above| identity(above) == own)
}

/// The settings of a session, whose number of snapshots nobody but its owner limits.
fn sources(exclusion: Option<&ExclusionConfig>, limits: Limits) -> Sources {
    let mut snapshots = toml::Table::new();
    let number = |value: u64| toml::Value::from(i64::try_from(value).unwrap_or(i64::MAX));
    // A capture that meets its limit in the topmost directory cannot say by how much, so it is given some room.
    let room = limits.entries_max.max(ROOM_ENTRIES);
    snapshots.insert("max_entries".into(), number(limits.entries_max.saturating_add(room)));
    snapshots.insert("max_bytes".into(), number(limits.bytes_max));
    let mut retention = toml::Table::new();
    retention.insert("budget".into(), number(1 << 62));
    retention.insert("budget_free_percent".into(), number(100));
    snapshots.insert("retention".into(), retention.into());
    if let Some(exclusion) = exclusion {
        let mut exclude = toml::Table::new();
        exclude.insert("gitignored".into(), if exclusion.use_gitignore { "skip" } else { "capture" }.into());
        exclude.insert("exclude_patterns".into(), exclusion.exclude_patterns.clone().into());
        exclude.insert("exclude_globs".into(), exclusion.exclude_globs.clone().into());
        exclude.insert("force_include".into(), exclusion.force_include.clone().into());
        snapshots.insert("exclude".into(), exclude.into());
    }
    let mut all = toml::Table::new();
    all.insert("snapshots".into(), snapshots.into());
    let text = Text { name: "the session".into(), format: Format::Toml, text: all.to_string() };
    Sources { user: Some(text), ..Sources::default() }
}
