//! What a layered fork stands on: the snapshot of its origin that its changes are told from.

use std::sync::atomic::AtomicBool;

use belay_store::{ApplyOptions, Change, LockMode, Manifest, MtimePolicy, OnDamage, OnStop, Scope, View, apply, plan};

use super::{Fork, base_request};
use crate::config::Sources;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::snapshot::Look;
use crate::workspace::{Work, Workspace};

/// What was done so that a fork goes on as it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// Paths that its origin changed since, and that the fork has as they were.
    pub paths: u64,
    /// Paths that its origin changed since, and that the fork may see changed, mostly because something goes on in it.
    pub seen: u64,
}

impl<'h> Workspace<'h> {
    /// Opens a layered fork of this workspace so that it shows what it was taken from and its own changes, and nothing else.
    pub(super) fn settle_fork(
        &self,
        fork: &mut Fork,
        sources: &Sources,
        work: Work<'_>,
    ) -> Result<(Workspace<'h>, Pinned)> {
        let opened = self.home.open_fork(fork, sources)?;
        // Whoever made the fork may be at it, too.
        let lock = opened.file("ground-lock");
        let _held = self.home.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
        if let Some(settled) = self.home.fork_of(&fork.id)? {
            *fork = settled;
        }
        if fork.ground.is_some() {
            let pinned = self.pin(fork, &opened, work)?;
            return Ok((opened, pinned));
        }
        let _lock = opened.lock_fork()?;
        // Somebody else may have been the first to use it.
        if let Some(known) = self.home.fork_of(&fork.id)?.filter(|known| known.ground.is_some()) {
            *fork = known;
            return Ok((opened, Pinned::default()));
        }
        let captured = self.capture(Look::default(), work)?;
        self.remember(&captured);
        let base = opened.name(&captured, &base_request(self))?;
        // The fork's own, so that only its changes have to be read; after its first record, or it would tell of a lost one.
        copy_cache(self.home, &self.file("cache"), &opened.file("cache"));
        (fork.ground, fork.base) = (Some(base.id.clone()), Some(base.id));
        fork.save(self.home)?;
        Ok((opened, Pinned::default()))
    }

    /// Hides from the fork what its origin changed since, unless something goes on in it.
    fn pin(&self, fork: &Fork, opened: &Workspace<'_>, work: Work<'_>) -> Result<Pinned> {
        let ground = opened.ground()?.ok_or_else(|| Error::ForkBaseGone(fork.name.clone()))?;
        let now = self.look(Look { keep: Some(&ground), ..Look::default() }, work)?;
        let then = crate::present::Tree::stored(ground.clone());
        let changes = self.changes(&then, &now, &Scope::default())?;
        let own = opened.layer().map(|layer| layer.changed()).transpose()?.unwrap_or_default();
        let paths = foreign(&changes, &own);
        if paths.is_empty() {
            return Ok(Pinned::default());
        }
        if self.home.open_runs(&fork.id)?.iter().any(|run| run.is_live()) {
            return Ok(Pinned { paths: 0, seen: paths.len() as u64 });
        }
        let _lock = opened.lock_rollback()?.ok_or(Error::RollbackBusy)?;
        let count = paths.len() as u64;
        let hidden = opened.put_back(&ground, &paths, work)?.min(count);
        Ok(Pinned { paths: hidden, seen: count - hidden })
    }

    /// Makes these paths of a layered workspace as the snapshot has them; its history is not told.
    pub(crate) fn put_back(&self, target: &Manifest, paths: &[Vec<u8>], work: Work<'_>) -> Result<u64> {
        let store = self.home.store();
        let ground = self.ground()?.ok_or_else(|| Error::ForkBaseGone(self.id.clone()))?;
        let look = Look { keep: Some(target), dirty: Some((&ground, paths)), ..Look::default() };
        // With all its content in the store: what is to be replaced is compared with it once more.
        let now = self.capture(look, work)?;
        let scope = Scope::new(paths.to_vec());
        let (view, links) = (View::stored(store), now.manifest.links(store)?);
        let steps = plan(view, &now.manifest, &links, target, &scope, belay_sys::is_root())?;
        let calm = AtomicBool::new(false);
        let options = ApplyOptions {
            mtime: MtimePolicy::Exact,
            prefix: b".belay-fork-",
            progress: work.progress,
            stop: &calm,
            on_stop: OnStop::OldState,
            on_damage: OnDamage::Refuse,
            faults: None,
        };
        Ok(apply(store, &self.writable()?, &steps, &options)?.changed)
    }

    /// The snapshot of the origin that the layer of this workspace lies above, if it has one.
    pub(crate) fn ground(&self) -> Result<Option<Manifest>> {
        if let Some(said) = self.said_above() {
            return Ok(Some(said.clone()));
        }
        let Some(ground) = self.home.fork_of(&self.id)?.and_then(|fork| fork.ground) else { return Ok(None) };
        let timeline = self.timeline()?;
        let found = timeline.get(&ground);
        Ok(found.map(|found| Manifest::read(self.home.store(), &found.manifest)).transpose()?)
    }
}

/// The changes of an origin that its fork has nothing of its own at, above or beneath.
fn foreign(changes: &[Change], own: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let within = |path: &[u8], dir: &[u8]| {
        path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || dir.is_empty())
    };
    let is_foreign = |path: &[u8]| !own.iter().any(|own| within(path, own) || within(own, path));
    let real = changes.iter().filter(|change| !change.opaque && !change.what().is_nothing());
    real.map(|change| change.path.clone()).filter(|path| is_foreign(path)).collect()
}

/// Lets the fork know its ground by the stat cache of its origin; without it everything is read once.
fn copy_cache(home: &Home, from: &str, to: &str) {
    for ending in ["base", "delta"] {
        let copy = || -> std::io::Result<()> {
            let bytes = home.disk().read(&format!("{from}.{ending}"))?;
            home.disk().append(&format!("{to}.{ending}"), 0)?.write(&bytes)
        };
        let _ = copy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use belay_store::{Entry, Kind, Meta};

    fn changed(path: &str) -> Change {
        let entry = Entry { name: Vec::new(), meta: Meta::default(), kind: Kind::Fifo };
        Change { path: path.as_bytes().to_vec(), before: None, after: Some(entry), opaque: false }
    }

    #[test]
    fn what_a_fork_changed_itself_is_never_put_back() {
        let changes = [changed("a"), changed("d"), changed("d/x"), changed("d/y"), changed("e/z")];
        let own = [b"d/x".to_vec(), b"e".to_vec()];
        assert_eq!(foreign(&changes, &own), [b"a".to_vec(), b"d/y".to_vec()]);
    }
}
