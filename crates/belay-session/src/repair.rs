//! Healing: what a spare, a workspace or the store itself still has of what was lost.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use belay_store::{Hash, LockMode, Manifest, Root, View, Witness};
use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::identity::Index;
use crate::intent::Pending;
use crate::maintenance::{Health, aside_name, unlisted};
use crate::record::{Backend, Cause, Kind, Origin, Record, Snapshot};
use crate::spare;
use crate::timeline::Timeline;
use crate::workspace::timeline_name;

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// Objects that were found again in a workspace and stored anew.
    pub healed: u64,
    /// Objects that are lost.
    pub lost: Vec<Hash>,
    /// Records of timelines that were brought back as they were.
    pub records_restored: u64,
    /// Snapshots whose records are lost, and that were found in the store.
    pub snapshots_found: u64,
    /// Unreadable records that were set aside.
    pub records_dropped: u64,
}

impl Home {
    /// Brings back what can be brought back, and sets aside what cannot be read.
    pub fn repair(&self, health: &Health) -> Result<RepairReport> {
        let mut report = RepairReport::default();
        report.records_dropped += Index::set_damage_aside(self.disk())? + self.relist()?;
        let mut lost = Vec::new();
        for (id, path, _) in self.census()?.workspaces {
            if !self.heal_timeline(&id, &mut report)? {
                lost.push((id, path));
            }
        }
        if !lost.is_empty() {
            self.bring_back(&lost, &mut report)?;
        }
        // Last, when it is known again what is needed.
        let census = self.census()?;
        if !health.store.damage.is_empty() {
            let mut live = Vec::new();
            for (id, path, timeline) in &census.workspaces {
                if let (Ok(root), Some(latest)) = (Root::open(path), timeline.latest()) {
                    live.push(Witness { root, snapshot: latest.manifest, cache: format!("workspaces/{id}/cache") });
                }
            }
            let repaired = belay_store::repair(self.store(), &health.store, &census.roots(), &live)?;
            (report.healed, report.lost) = (repaired.healed, repaired.lost);
        }
        Ok(report)
    }

    /// Lists workspaces again, or sets aside the timelines of which nobody knows whose they are.
    fn relist(&self) -> Result<u64> {
        let histories = self.histories();
        let mut set_aside = 0;
        for id in unlisted(&histories, &Index::read(self.disk())?) {
            if !Index::relist(self.disk(), id)? {
                let (name, aside) = (timeline_name(id), aside_name(id));
                match self.disk().rename(&name, &aside) {
                    // There is only its spare.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    renamed => renamed.map_err(Error::disk("set aside", &name))?,
                }
                spare::remove(self.disk(), &name)?;
                set_aside += 1;
            }
        }
        Ok(set_aside)
    }

    /// Writes a timeline anew with what its spare has of it, and without what cannot be read; false if nothing is left of one.
    fn heal_timeline(&self, workspace: &str, report: &mut RepairReport) -> Result<bool> {
        let (name, lock) = (timeline_name(workspace), format!("workspaces/{workspace}/lock"));
        let _held = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
        let pending = Pending::read(self.disk(), workspace)?;
        for damage in &pending.damage {
            self.disk().remove(&damage.file).map_err(Error::disk("remove", &damage.file))?;
        }
        report.records_dropped += pending.damage.len() as u64;
        let found = Timeline::read(self.disk(), &name)?;
        let (healed, restored) = Timeline::healed(self.disk(), &name)?;
        if found.is_lost() && restored == 0 {
            return Ok(false);
        }
        if !found.damage().is_empty() {
            healed.rewrite(self.disk(), &name)?;
            report.records_restored += restored;
            report.records_dropped += (found.damage().len() as u64).saturating_sub(restored);
        }
        Ok(true)
    }

    /// Makes snapshots anew of what the store holds and no timeline names, in the workspaces whose timelines are lost.
    fn bring_back(&self, lost: &[(String, PathBuf)], report: &mut RepairReport) -> Result<()> {
        let mut found = Vec::new();
        for stray in belay_store::strays(self.store(), &self.census()?.roots())? {
            let manifest = Manifest::read(self.store(), &stray.manifest)?;
            let packed = std::fs::metadata(self.path().join(&stray.pack)).and_then(|meta| meta.modified()).ok();
            let at = packed.and_then(|at| Timestamp::try_from(at).ok()).unwrap_or_else(|| self.options.clock.now());
            let whose = self.whose(&manifest, lost)?;
            found.push((at, whose, stray.manifest, manifest));
        }
        found.sort_by_key(|(at, ..)| *at);
        for (number, (workspace, _)) in lost.iter().enumerate() {
            let mut timeline = Timeline::default();
            for (at, whose, key, manifest) in &found {
                if *whose == number {
                    let snapshot = self.found_again(&timeline, *at, *key, manifest);
                    timeline.apply(Record::Snapshot(Box::new(snapshot)));
                }
            }
            let (name, lock) = (timeline_name(workspace), format!("workspaces/{workspace}/lock"));
            let _held = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
            // The cache tells of the loss until the timeline has what was found: whoever dies in between begins again.
            timeline.rewrite(self.disk(), &name)?;
            self.drop_cache(workspace)?;
            report.snapshots_found += timeline.snapshots().len() as u64;
            report.records_dropped += 1;
        }
        Ok(())
    }

    /// Which of these workspaces a snapshot was taken of: the one that has most of the names at its top.
    fn whose(&self, manifest: &Manifest, lost: &[(String, PathBuf)]) -> Result<usize> {
        let top = View::stored(self.store()).node(&manifest.root_node())?;
        let names: HashSet<&[u8]> = top.entries.iter().map(|entry| entry.name.as_slice()).collect();
        let shared = |(number, (_, path)): &(usize, &(String, PathBuf))| {
            let count = names_in(path).iter().filter(|name| names.contains(name.as_slice())).count();
            (count, std::cmp::Reverse(*number))
        };
        Ok(lost.iter().enumerate().max_by_key(shared).map_or(0, |(number, _)| number))
    }

    fn found_again(&self, timeline: &Timeline, at: Timestamp, key: Hash, manifest: &Manifest) -> Snapshot {
        Snapshot {
            id: self.options.ids.next("snap_", 6),
            number: timeline.next_number(),
            kind: Kind::Manual,
            origin: Origin::Auto,
            label: None,
            description: Some("found again by belay verify --repair".to_owned()),
            pool: None,
            slot: None,
            cause: Cause::default(),
            parent: timeline.latest().map(|parent| parent.id.clone()),
            created_at: timeline.instant(at),
            backend: Backend::Objects,
            native_ref: None,
            size_delta: 0,
            files: manifest.counts.files,
            bytes: manifest.counts.bytes,
            gaps: manifest.counts.gaps,
            all: false,
            root: manifest.identity,
            manifest: key,
            imported: false,
            replaces: Vec::new(),
        }
    }

    /// Removes the cache, which would for ever tell of a timeline that is lost.
    pub(crate) fn drop_cache(&self, workspace: &str) -> Result<()> {
        let dir = format!("workspaces/{workspace}");
        for (name, _) in self.disk().list(&dir).map_err(Error::disk("list", &dir))? {
            if name.starts_with("cache") {
                let name = format!("{dir}/{name}");
                self.disk().remove(&name).map_err(Error::disk("remove", &name))?;
            }
        }
        Ok(())
    }
}

fn names_in(dir: &Path) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStringExt;
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_vec()).collect()
}
