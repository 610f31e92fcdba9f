//! The store as a whole: how big it is, what can go, and whether it is sound.
//!
//! Nothing is freed while a timeline, the list of workspaces or an intent cannot be read in full: what they
//! named could not be told from what nobody needs.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    GcOptions, GcReport, Hash, HeavyPath, Progress, Quiet, Usage, VerifyOptions, VerifyReport, gc, heaviest, verify,
    weigh,
};

use crate::error::{Error, Result};
use crate::given_up;
use crate::home::Home;
use crate::identity::Index;
use crate::intent::Pending;
use crate::record::{Record, Snapshot, Why};
use crate::spare;
use crate::timeline::Timeline;
use crate::workspace::{Work, timeline_name};

/// A record of a timeline that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineDamage {
    /// The file beneath belay's home.
    pub file: String,
    /// Where the damage begins.
    pub offset: u64,
    /// What was expected and not found.
    pub detail: String,
}

/// How much disk belay uses, and for what.
#[derive(Clone, Debug, Default)]
pub struct Du {
    /// The store.
    pub usage: Usage,
    /// Each workspace's share, largest first.
    pub workspaces: Vec<DuRow>,
}

/// One workspace's share of the store.
#[derive(Clone, Debug, Default)]
pub struct DuRow {
    /// The workspace.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its snapshots, oldest first, with the bytes that deleting only that one would free; filled if asked for.
    pub snapshots: Vec<(Snapshot, u64)>,
    /// The paths that take most, over all its snapshots; filled if asked for.
    pub paths: Vec<HeavyPath>,
    /// Bytes that deleting all of its snapshots would free.
    pub exclusive_bytes: u64,
}

/// How many paths are named of a workspace.
const HEAVY_PATHS_MAX: usize = 10;

/// What a collection did.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// What the store says.
    pub report: GcReport,
    /// How many snapshots were kept.
    pub snapshots: usize,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Damage in the store.
    pub store: VerifyReport,
    /// What needs what is damaged.
    pub affected: Vec<Affected>,
    /// Damage in timelines, intents and in the list of workspaces.
    pub timelines: Vec<TimelineDamage>,
    /// How many snapshots were checked.
    pub snapshots: usize,
}

/// A path of a snapshot that needs what is damaged.
#[derive(Clone, Debug)]
pub struct Affected {
    /// Which of the store's damages it is.
    pub damage: usize,
    /// The workspace's directory.
    pub workspace: Arc<PathBuf>,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The path beneath the workspace.
    pub path: Vec<u8>,
}

impl Health {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.store.damage.is_empty() && self.timelines.is_empty()
    }
}

/// Everything that all timelines say at one moment.
pub(crate) struct Census {
    pub(crate) workspaces: Vec<(String, PathBuf, Timeline)>,
    pub(crate) damage: Vec<TimelineDamage>,
    /// Content that a rollback under way needs.
    intended: Vec<Hash>,
    /// Content of timelines of which nobody knows whose they are.
    aside: Vec<Hash>,
}

impl Census {
    /// The manifests that timelines name.
    pub(crate) fn named(&self) -> impl Iterator<Item = Hash> {
        let snapshots = self.workspaces.iter().flat_map(|(_, _, timeline)| timeline.snapshots());
        snapshots.map(|snapshot| snapshot.manifest).chain(self.aside.iter().copied())
    }

    /// The manifests that must stay.
    pub(crate) fn roots(&self) -> Vec<Hash> {
        let all = self.named().chain(self.intended.iter().copied());
        // In the order of the timelines, so that neighbours, which share most, are marked one after the other.
        let mut seen = HashSet::new();
        all.filter(|manifest| seen.insert(*manifest)).collect()
    }
}

impl Home {
    pub(crate) fn census(&self) -> Result<Census> {
        // Before the index: a workspace that is made meanwhile is in it before its directory is there.
        let histories = self.histories();
        let index = Index::read(self.disk())?;
        let damage = index.damage.clone();
        let mut census = Census { workspaces: Vec::new(), damage, intended: Vec::new(), aside: Vec::new() };
        if !index.exists && self.store().stored_bytes()? > 0 {
            let detail = "the list of workspaces is missing, and the store is not empty".to_owned();
            census.damage.push(TimelineDamage { file: "workspaces/index".to_owned(), offset: 0, detail });
        }
        census.damage.extend(unlisted(&histories, &index).map(|id| TimelineDamage {
            file: timeline_name(id),
            offset: 0,
            detail: "its workspace is not in the list of workspaces".to_owned(),
        }));
        census.damage.extend(crate::forget::unfinished::damage(self.disk())?);
        let bare: Vec<&str> = index.without_directory(self.disk()).map(|identity| identity.id.as_str()).collect();
        // Somebody may have forgotten one since the list was read.
        let still = if bare.is_empty() { Index::default() } else { Index::read(self.disk())? };
        let is_listed = |id: &&&str| still.known.iter().any(|identity| identity.id == **id);
        census.damage.extend(bare.iter().filter(is_listed).map(|id| TimelineDamage {
            file: format!("workspaces/{id}"),
            offset: 0,
            detail: "the directory of a workspace in the list is missing, or was begun anew".to_owned(),
        }));
        for identity in index.known {
            let timeline = Timeline::read(self.disk(), &timeline_name(&identity.id))?;
            let pending = Pending::read(self.disk(), &identity.id)?;
            census.damage.extend(timeline.damage().iter().cloned().chain(pending.damage));
            let named = pending.intents.iter().flat_map(|intent| [intent.target.manifest, intent.safety.manifest]);
            census.intended.extend(named);
            census.workspaces.push((identity.id.clone(), identity.path(), timeline));
        }
        // Nobody knows whose they are, and what they name stays.
        for name in self.set_aside() {
            census
                .aside
                .extend(Timeline::read(self.disk(), &name)?.snapshots().iter().map(|snapshot| snapshot.manifest));
        }
        Ok(census)
    }

    /// The ids of workspaces that have a timeline or the spare of one, listed or not.
    pub(crate) fn histories(&self) -> Vec<String> {
        let mut ids = self.with_any(&["timeline", "timeline.spare"]);
        let spares = self.disk().list(spare::DIRECTORY).unwrap_or_default();
        ids.extend(spares.into_iter().map(|(id, _)| id));
        ids.sort();
        ids.dedup();
        ids
    }

    /// The snapshot of that exact id of which nobody knows whose it is.
    pub(crate) fn set_aside_snapshot(&self, id: &str) -> Result<Option<Snapshot>> {
        for name in self.set_aside() {
            if let Some(snapshot) = Timeline::read(self.disk(), &name)?.get(id) {
                return Ok(Some(snapshot.clone()));
            }
        }
        Ok(None)
    }

    /// Gives up such snapshots; returns those that there were.
    pub(crate) fn delete_set_aside(&self, ids: &[String]) -> Result<Vec<Snapshot>> {
        let mut deleted = Vec::new();
        for name in self.set_aside() {
            let mut timeline = Timeline::read(self.disk(), &name)?;
            let gone: Vec<Snapshot> = ids.iter().filter_map(|id| timeline.get(id).cloned()).collect();
            if !gone.is_empty() {
                let ids = gone.iter().map(|snapshot| snapshot.id.clone()).collect();
                timeline.apply(Record::Delete { ids, why: Why::Asked, at: self.options.clock.now() });
                timeline.rewrite(self.disk(), &name)?;
                given_up::note(self.disk(), &gone.iter().map(|one| one.manifest).collect::<Vec<_>>(), &[]);
                deleted.extend(gone);
            }
        }
        Ok(deleted)
    }

    /// What is wrong with timelines, intents and the list of workspaces.
    pub fn ailments(&self) -> Result<Vec<TimelineDamage>> {
        Ok(self.census()?.damage)
    }

    /// The timelines that a repair has set aside.
    fn set_aside(&self) -> Vec<String> {
        self.with_any(&["timeline.aside"]).iter().map(|id| aside_name(id)).collect()
    }

    fn with_any(&self, files: &[&str]) -> Vec<String> {
        let found = std::fs::read_dir(self.path().join("workspaces")).into_iter().flatten().flatten();
        let has_any = |dir: &Path| files.iter().any(|file| dir.join(file).is_file());
        let with = found.filter(|entry| has_any(&entry.path()));
        with.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Refuses to go on as if a directory were unknown while the list of workspaces is not whole.
    pub(crate) fn check_list(&self) -> Result<()> {
        let histories = self.histories();
        let index = Index::read(self.disk())?;
        let detail = match (index.damage.first(), unlisted(&histories, &index).next()) {
            (Some(damage), _) => damage.detail.clone(),
            (None, Some(id)) => format!("{id} has a history and is not in it"),
            (None, None) if index.exists || self.store().stored_bytes()? == 0 => return Ok(()),
            (None, None) => "it is missing, and the store is not empty".to_owned(),
        };
        Err(Error::Store(belay_store::Error::Corrupt { name: "workspaces/index".to_owned(), detail }))
    }

    /// The manifests that must stay; an error while that cannot be known.
    pub(crate) fn roots_without(&self, gone: &HashSet<Hash>) -> belay_store::Result<Vec<Hash>> {
        let census = self.census().map_err(|error| match error {
            Error::Store(error) => error,
            Error::Disk { operation, name, source } => belay_store::Error::Disk { operation, name, source },
            other => belay_store::Error::Invalid(other.to_string()),
        })?;
        match census.damage.first() {
            Some(damage) => {
                Err(belay_store::Error::Corrupt { name: damage.file.clone(), detail: damage.detail.clone() })
            }
            None => Ok(census.roots().into_iter().filter(|manifest| !gone.contains(manifest)).collect()),
        }
    }

    pub(crate) fn collect(&self, options: &GcOptions<'_>) -> Result<GcReport> {
        let options = GcOptions { remove_copy: &crate::backend::remove, ..*options };
        let collected = gc(self.store(), &mut || self.roots_without(&HashSet::new()), &options);
        let report = collected.map_err(|error| self.unfreeable(error))?;
        if !options.dry_run {
            given_up::settle(self.disk(), |key| self.store().contains(key).unwrap_or(true));
        }
        Ok(report)
    }

    /// Says which snapshots keep everything from being freed, if it is theirs what could not be read.
    fn unfreeable(&self, error: belay_store::Error) -> Error {
        let is_it = |damage: &belay_store::Damage| match &error {
            belay_store::Error::Missing(key) => damage.objects.contains(key),
            belay_store::Error::Corrupt { name, .. } => damage.file == *name,
            _ => false,
        };
        if !is_damage(&error) {
            return error.into();
        }
        let Ok(health) = self.verify(false, Work { progress: &Quiet, stop: &AtomicBool::new(false) }) else {
            return error.into();
        };
        let hit = health.affected.iter().filter(|one| is_it(&health.store.damage[one.damage]));
        let mut snapshots: Vec<(PathBuf, String)> =
            hit.map(|one| (PathBuf::clone(&one.workspace), one.snapshot.id.clone())).collect();
        let mut seen = HashSet::new();
        snapshots.retain(|one| seen.insert(one.clone()));
        match snapshots.is_empty() {
            true => error.into(),
            false => Error::Unfreeable { snapshots, source: error },
        }
    }

    /// Frees what can be freed without waiting; nothing is said if the store is damaged or busy.
    pub(crate) fn collect_quietly(&self) -> Option<u64> {
        let options = GcOptions { wait: false, ..GcOptions::default() };
        self.collect(&options).ok().map(|report| report.freed_bytes)
    }

    /// Bytes that would be freed if these snapshots were deleted.
    pub(crate) fn freed_without(&self, snapshots: &[Snapshot]) -> Result<u64> {
        if snapshots.is_empty() {
            return Ok(0);
        }
        let ids: HashSet<&str> = snapshots.iter().map(|snapshot| snapshot.id.as_str()).collect();
        let census = self.census()?;
        let all = census.workspaces.iter().flat_map(|(_, _, timeline)| timeline.snapshots());
        // Two snapshots may have the same content; it goes only with the last of them.
        let kept: HashSet<Hash> = all.filter(|s| !ids.contains(s.id.as_str())).map(|s| s.manifest).collect();
        let gone =
            snapshots.iter().map(|snapshot| snapshot.manifest).filter(|manifest| !kept.contains(manifest)).collect();
        let options = GcOptions { dry_run: true, ..GcOptions::default() };
        match gc(self.store(), &mut || self.roots_without(&gone), &options) {
            Ok(report) => Ok(report.freed_bytes),
            // Damage that stays keeps everything from being freed; to give something up is no less possible for it.
            Err(error) if is_damage(&error) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// How much disk is used; `each` also weighs every snapshot.
    pub fn du(&self, each: bool) -> Result<Du> {
        let census = self.census()?;
        let manifests = |timeline: &Timeline| timeline.snapshots().iter().map(|s| s.manifest).collect::<Vec<_>>();
        let groups: Vec<Vec<Hash>> = census.workspaces.iter().map(|(_, _, timeline)| manifests(timeline)).collect();
        let weights = weigh(self.store(), &groups)?;
        let singles: Vec<Vec<Hash>> = groups.iter().flatten().map(|manifest| vec![*manifest]).collect();
        let mut each_weight = if each { weigh(self.store(), &singles)? } else { Vec::new() }.into_iter();
        let mut heavy = Vec::new();
        for group in groups.iter().filter(|_| each) {
            // The newest first: a path is known by the name that it has now.
            let newest_first: Vec<Hash> = group.iter().rev().copied().collect();
            heavy.push(heaviest(self.store(), &newest_first, HEAVY_PATHS_MAX)?);
        }
        let mut heavy = heavy.into_iter();
        let row = |((id, path, timeline), weight): ((String, PathBuf, Timeline), belay_store::Weight)| DuRow {
            id,
            path,
            paths: heavy.next().unwrap_or_default(),
            snapshots: timeline
                .snapshots()
                .iter()
                .cloned()
                .zip(each_weight.by_ref().map(|w| w.exclusive_bytes))
                .collect(),
            exclusive_bytes: weight.exclusive_bytes,
        };
        let mut workspaces: Vec<DuRow> = census.workspaces.into_iter().zip(weights).map(row).collect();
        workspaces.sort_by_key(|row| std::cmp::Reverse(row.exclusive_bytes));
        Ok(Du { usage: self.store().usage()?, workspaces })
    }

    /// Frees what no snapshot needs.
    pub fn gc(&self, dry_run: bool) -> Result<Collected> {
        self.gc_telling(dry_run, &Quiet)
    }

    /// The same, with somebody who is told how far it is.
    pub fn gc_telling(&self, dry_run: bool, progress: &dyn Progress) -> Result<Collected> {
        let report = self.collect(&GcOptions { dry_run, progress, ..GcOptions::default() })?;
        let census = self.census()?;
        Ok(Collected { report, snapshots: census.workspaces.iter().map(|(_, _, t)| t.snapshots().len()).sum() })
    }

    /// Checks the store, and with `deep` reads every byte of it.
    pub fn verify(&self, deep: bool, work: Work<'_>) -> Result<Health> {
        let census = self.census()?;
        let options = VerifyOptions { deep, progress: work.progress };
        let store = verify(self.store(), &census.roots(), &options)?;
        // One block may be needed by as many paths of as many snapshots as there are.
        type Holder = (Arc<PathBuf>, Arc<Snapshot>);
        let mut holders: HashMap<Hash, Vec<Holder>> = HashMap::new();
        for (_, workspace, timeline) in census.workspaces.iter().filter(|_| !store.damage.is_empty()) {
            let workspace = Arc::new(workspace.clone());
            for snapshot in timeline.snapshots() {
                let holder = (Arc::clone(&workspace), Arc::new(snapshot.clone()));
                holders.entry(snapshot.manifest).or_default().push(holder);
            }
        }
        let mut affected = Vec::new();
        for (damage, one) in store.damage.iter().enumerate() {
            for (manifest, path) in &one.affects {
                let hit = holders.get(manifest).into_iter().flatten().cloned();
                affected.extend(hit.map(|(workspace, snapshot)| {
                    let path = path.clone();
                    Affected { damage, workspace, snapshot, path }
                }));
            }
        }
        let snapshots = census.workspaces.iter().map(|(_, _, timeline)| timeline.snapshots().len()).sum();
        Ok(Health { store, affected, timelines: census.damage, snapshots })
    }
}

fn is_damage(error: &belay_store::Error) -> bool {
    matches!(error, belay_store::Error::Missing(_) | belay_store::Error::Corrupt { .. })
}

/// Where a timeline goes of which nobody knows whose it is.
pub(crate) fn aside_name(workspace: &str) -> String {
    format!("workspaces/{workspace}/timeline.aside")
}

/// The histories whose workspace the list lacks.
pub(crate) fn unlisted<'a>(histories: &'a [String], index: &'a Index) -> impl Iterator<Item = &'a String> {
    histories.iter().filter(|id| index.known.iter().all(|identity| identity.id != **id))
}
