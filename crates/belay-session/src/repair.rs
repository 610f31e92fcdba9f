//! Healing: what a spare, a workspace or the store itself still has of what was lost.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_store::{CopyPlace, Hash, LockMode, Manifest, Root, VerifyReport, View, Witness};
use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::given_up;
use crate::home::Home;
use crate::identity::{Identity, Index};
use crate::intent::Pending;
use crate::maintenance::{Census, Health, aside_name, unlisted};
use crate::record::{Backend, Cause, Kind, Origin, Record, Snapshot};
use crate::run::RunRecord;
use crate::spare;
use crate::timeline::{Healed, Timeline};
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
    /// Those of which it is not certain whose they are: they are kept, and known by their ids in every workspace.
    pub unclaimed: Vec<Snapshot>,
    /// Unreadable records that were set aside.
    pub records_dropped: u64,
    /// Interrupted rollbacks whose record was lost with the directory of their workspace; the next command there finishes them.
    pub rollbacks_found: u64,
}

/// Beside the workspaces: what was found in the store and belongs to none of them for certain.
const NOBODY: &str = "found";

/// A workspace whose timeline lost records that no spare has.
struct Poor {
    id: String,
    /// What is still named.
    named: Vec<Hash>,
    is_lost: bool,
}

/// A snapshot that the store holds and no timeline names.
struct Found {
    at: Timestamp,
    /// Which of the workspaces it was taken of.
    whose: Option<usize>,
    /// What it was called, if anything tells.
    id: Option<String>,
    key: Hash,
    manifest: Manifest,
}

impl Home {
    /// Brings back what can be brought back, and sets aside what cannot be read.
    pub fn repair(&self, health: &Health) -> Result<RepairReport> {
        let mut report = RepairReport::default();
        for damage in crate::forget::unfinished::damage(self.disk())? {
            self.disk().remove(&damage.file).map_err(Error::disk("remove", &damage.file))?;
            report.records_dropped += 1;
        }
        let had_list = Index::read(self.disk())?.exists;
        report.records_dropped += Index::set_damage_aside(self.disk())? + self.relist(had_list)?;
        let index = Index::read(self.disk())?;
        let bare: Vec<&Identity> = index.without_directory(self.disk()).collect();
        let mut poor = Vec::new();
        for (id, ..) in self.census()?.workspaces {
            let is_bare = bare.iter().any(|identity| identity.id == id);
            poor.extend(self.heal_timeline(&id, is_bare, &mut report)?);
        }
        // Without a list nobody knows how many workspaces there were.
        if !poor.is_empty() || !had_list {
            self.bring_back(&poor, &mut report)?;
        }
        // Until now that it was missing told of the loss: whoever dies in between begins again.
        for identity in bare {
            Index::copy_again(self.disk(), identity)?;
        }
        Index::begin(self.disk())?;
        // Last, when it is known again what is needed.
        let census = self.census()?;
        if !health.store.damage.is_empty() {
            let mut live = Vec::new();
            for (id, path, timeline) in &census.workspaces {
                if let (Ok(root), Some(latest)) = (Root::open(path), timeline.latest()) {
                    live.push(Witness { root, snapshot: latest.manifest, cache: format!("workspaces/{id}/cache") });
                }
            }
            live.extend(self.copies_of(&health.store)?);
            let repaired = belay_store::repair(self.store(), &health.store, &census.roots(), &live)?;
            (report.healed, report.lost) = (repaired.healed, repaired.lost);
        }
        Ok(report)
    }

    /// The native copies of snapshots that are damaged: each is a whole tree as it was.
    fn copies_of(&self, damaged: &VerifyReport) -> Result<Vec<Witness>> {
        let hit: HashSet<Hash> =
            damaged.damage.iter().flat_map(|one| &one.affects).map(|(manifest, _)| *manifest).collect();
        let mut witnesses = Vec::new();
        for copy in self.store().native_copies()?.into_iter().filter(|copy| !copy.is_archive) {
            let place = match &copy.place {
                CopyPlace::Home(name) => self.path().join(name),
                CopyPlace::Outside(path) => path.clone(),
            };
            if let (Some(snapshot), Ok(root)) =
                (copy.manifest.filter(|manifest| hit.contains(manifest)), Root::open(&place))
            {
                witnesses.push(Witness { root, snapshot, cache: format!("copies/{}/cache", copy.id) });
            }
        }
        Ok(witnesses)
    }

    /// Lists workspaces again, or sets aside the timelines of which nobody knows whose they are.
    fn relist(&self, had_list: bool) -> Result<u64> {
        let histories = self.histories();
        let mut set_aside = 0;
        for id in unlisted(&histories, &Index::read(self.disk())?) {
            if !Index::relist(self.disk(), id, || self.told_by_runs(id))? {
                let (name, aside) = (timeline_name(id), aside_name(id));
                match self.disk().rename(&name, &aside) {
                    // There is only its spare.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        Healed::read(self.disk(), &name)?.timeline.rewrite(self.disk(), &aside)?;
                    }
                    renamed => renamed.map_err(Error::disk("set aside", &name))?,
                }
                spare::remove(self.disk(), &name)?;
                set_aside += 1;
            }
        }
        // Of these there is no history left; the store may hold what they had.
        for id in Index::known_apart(self.disk()).iter().filter(|_| !had_list) {
            Index::relist(self.disk(), id, || Ok(None))?;
        }
        Ok(set_aside)
    }

    /// What the newest record of a run says of where its workspace is.
    fn told_by_runs(&self, id: &str) -> Result<Option<Identity>> {
        let newest = self.runs()?.into_iter().rfind(|run| run.workspace == id);
        let path = |run: &RunRecord| PathBuf::from(OsStr::from_bytes(run.root.bytes()));
        Ok(newest.map(|run| Identity::of_path(id.to_owned(), path(&run), run.created_at)))
    }

    /// Writes a timeline anew with what its spare has of it; if records stay lost, it is left as it is and returned.
    fn heal_timeline(&self, workspace: &str, is_bare: bool, report: &mut RepairReport) -> Result<Option<Poor>> {
        let (name, lock) = (timeline_name(workspace), format!("workspaces/{workspace}/lock"));
        let _held = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
        let pending = Pending::read(self.disk(), workspace)?;
        for damage in &pending.damage {
            self.disk().remove(&damage.file).map_err(Error::disk("remove", &damage.file))?;
        }
        report.records_dropped += pending.damage.len() as u64;
        let found = Timeline::read(self.disk(), &name)?;
        let healed = Healed::read(self.disk(), &name)?;
        let restored = healed.restored;
        if is_bare {
            let has_ended =
                |operation: &str| healed.timeline.rewinds().iter().any(|rewind| rewind.operation == operation);
            report.rollbacks_found += Pending::bring_back(self.disk(), workspace, has_ended)?;
        }
        report.records_restored += restored;
        let dropped = (found.damage().len() as u64).saturating_sub(restored);
        if dropped > 0 || is_bare && restored == 0 {
            report.records_dropped += dropped;
            let named = healed.timeline.snapshots().iter().map(|snapshot| snapshot.manifest).collect();
            return Ok(Some(Poor { id: workspace.to_owned(), named, is_lost: found.is_lost() }));
        }
        if !found.damage().is_empty() {
            healed.write(self.disk(), &name)?;
        }
        spare::renew(self.disk(), &name)?;
        Index::set_apart(self.disk(), workspace);
        Ok(None)
    }

    /// Makes snapshots anew of what the store holds and no timeline names, in the workspaces whose timelines lost something,
    /// and writes those timelines without what cannot be read.
    fn bring_back(&self, poor: &[Poor], report: &mut RepairReport) -> Result<()> {
        let mut found = self.find_lost(poor)?;
        found.sort_by_key(|one| one.at);
        for (number, one) in poor.iter().enumerate() {
            let (name, lock) = (timeline_name(&one.id), format!("workspaces/{}/lock", one.id));
            let _held = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
            let mut healed = Healed::read(self.disk(), &name)?;
            for found in found.iter().filter(|found| found.whose == Some(number)) {
                healed.add(Record::Snapshot(Box::new(self.found_again(&healed.timeline, found))));
                report.snapshots_found += 1;
            }
            // The cache tells of the loss until the timeline has what was found: whoever dies in between begins again.
            healed.write(self.disk(), &name)?;
            if one.is_lost {
                self.drop_cache(&one.id)?;
            }
        }
        let nobodys: Vec<&Found> = found.iter().filter(|found| found.whose.is_none()).collect();
        if !nobodys.is_empty() {
            let name = aside_name(NOBODY);
            let mut timeline = Timeline::read(self.disk(), &name)?;
            for found in nobodys {
                let snapshot = self.found_again(&timeline, found);
                report.unclaimed.push(snapshot.clone());
                timeline.apply(Record::Snapshot(Box::new(snapshot)));
            }
            timeline.rewrite(self.disk(), &name)?;
        }
        Ok(())
    }

    /// What the store holds and no timeline names, unless it was given up.
    fn find_lost(&self, poor: &[Poor]) -> Result<Vec<Found>> {
        let census = self.census()?;
        let mut known: Vec<Hash> = census.named().chain(poor.iter().flat_map(|one| one.named.clone())).collect();
        let mut found = Vec::new();
        for (number, one) in poor.iter().enumerate() {
            for intent in Pending::read(self.disk(), &one.id)?.intents {
                for named in [intent.target, intent.safety] {
                    if !known.contains(&named.manifest)
                        && let Ok(manifest) = Manifest::read(self.store(), &named.manifest)
                    {
                        known.push(named.manifest);
                        let (at, whose, id) = (intent.begun_at, Some(number), Some(named.id));
                        found.push(Found { at, whose, id, key: named.manifest, manifest });
                    }
                }
            }
        }
        let given_up = given_up::read(self.disk());
        for stray in belay_store::strays(self.store(), &known)? {
            if given_up.contains(&stray.manifest) {
                continue;
            }
            let manifest = Manifest::read(self.store(), &stray.manifest)?;
            let packed = std::fs::metadata(self.path().join(&stray.pack)).and_then(|meta| meta.modified()).ok();
            let at = packed.and_then(|at| Timestamp::try_from(at).ok()).unwrap_or_else(|| self.options.clock.now());
            let whose = self.whose(&manifest, poor, &census)?;
            found.push(Found { at, whose, id: None, key: stray.manifest, manifest });
        }
        Ok(found)
    }

    /// Which of these workspaces a snapshot was taken of, if that is beyond doubt: the one that has at least half of the names
    /// at its top, and more of them than every other workspace that is known.
    fn whose(&self, manifest: &Manifest, poor: &[Poor], census: &Census) -> Result<Option<usize>> {
        let top = View::stored(self.store()).node(&manifest.root_node())?;
        let names: HashSet<&[u8]> = top.entries.iter().map(|entry| entry.name.as_slice()).collect();
        let shared = |path: &Path| names_in(path).iter().filter(|name| names.contains(name.as_slice())).count();
        let counts: Vec<(usize, &str)> =
            census.workspaces.iter().map(|(id, path, _)| (shared(path), id.as_str())).collect();
        let Some((most, id)) = counts.iter().copied().max() else { return Ok(None) };
        let is_alone = counts.iter().filter(|(count, _)| *count == most).count() == 1;
        let is_enough = most > 0 && most * 2 >= names.len();
        Ok(poor.iter().position(|one| one.id == id).filter(|_| is_alone && is_enough))
    }

    fn found_again(&self, timeline: &Timeline, found: &Found) -> Snapshot {
        let Found { at, id, key, manifest, .. } = found;
        Snapshot {
            id: id.clone().unwrap_or_else(|| self.options.ids.next("snap_", 6)),
            number: timeline.next_number(),
            kind: Kind::Manual,
            origin: Origin::Auto,
            label: None,
            description: Some("found again by belay verify --repair".to_owned()),
            pool: None,
            slot: None,
            cause: Cause::default(),
            parent: timeline.latest().map(|parent| parent.id.clone()),
            created_at: timeline.instant(*at),
            backend: Backend::Objects,
            native_ref: None,
            size_delta: 0,
            files: manifest.counts.files,
            bytes: manifest.counts.bytes,
            gaps: manifest.counts.gaps,
            all: false,
            root: manifest.identity,
            manifest: *key,
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
