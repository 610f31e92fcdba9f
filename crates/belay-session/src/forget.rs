//! Erasing a path from all history, with proof.

mod records;
pub(crate) mod unfinished;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use belay_store::{Forgotten, GcOptions, Hash, Manifest, Worker};
use jiff::Timestamp;

use crate::error::Result;
use crate::home::Home;
use crate::identity::Index;
use crate::record::{Record, Rewritten, Snapshot};
use crate::timeline::Timeline;
use crate::workspace::{Workspace, publish, timeline_name};

use self::unfinished::{Meant, Unfinished};
pub use records::{ErasedRecords, NamedInRun};

/// What forgetting would touch.
#[derive(Clone, Debug, Default)]
pub struct Forget {
    /// The paths beneath the workspace.
    pub paths: Vec<Vec<u8>>,
    /// The snapshots that hold one of them.
    pub snapshots: Vec<Snapshot>,
    /// What other workspaces hold of the same content, if that is to go, too.
    pub elsewhere: Vec<Elsewhere>,
    /// Runs whose records name one of them.
    pub runs: Vec<NamedInRun>,
}

impl Forget {
    /// Whether neither a snapshot holds nor a run names any of the paths.
    pub fn is_empty(&self) -> bool {
        self.snapshots.is_empty() && self.runs.is_empty()
    }

    /// The workspaces with their paths, the own one first.
    fn scopes<'a>(&'a self, own: &'a str) -> Vec<(&'a str, &'a [Vec<u8>])> {
        let others = self.elsewhere.iter().map(|other| (other.workspace.as_str(), other.paths.as_slice()));
        std::iter::once((own, self.paths.as_slice())).chain(others).collect()
    }
}

/// What another workspace holds of the content that is to be forgotten.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The workspace's id.
    pub workspace: String,
    /// Where it is, or was.
    pub directory: PathBuf,
    /// The paths beneath it.
    pub paths: Vec<Vec<u8>>,
    /// The snapshots that hold one of them.
    pub snapshots: Vec<Snapshot>,
}

/// What forgetting did.
#[derive(Clone, Debug, Default)]
pub struct ForgetReport {
    /// The snapshots that were rewritten, as they are now.
    pub rewritten: Vec<Snapshot>,
    /// Objects that the paths had and that are gone from the store; looking for each found nothing.
    pub gone: Vec<Hash>,
    /// Objects that the paths had and that something else still needs (another path, another workspace).
    pub shared: Vec<Hash>,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// What became of what runs and timelines say of the paths.
    pub records: ErasedRecords,
}

impl Workspace<'_> {
    /// Which snapshots hold the paths, and which runs name them.
    pub fn plan_forget(&self, paths: &[Vec<u8>]) -> Result<Forget> {
        let mut plan = self.plan_in_snapshots(paths)?;
        plan.runs = records::named_in_runs(self.home, &plan.scopes(&self.id))?;
        Ok(plan)
    }

    fn plan_in_snapshots(&self, paths: &[Vec<u8>]) -> Result<Forget> {
        let mut snapshots = Vec::new();
        let mut known: HashMap<Hash, bool> = HashMap::new();
        for snapshot in self.timeline()?.snapshots() {
            let holds = match known.get(&snapshot.manifest) {
                Some(holds) => *holds,
                None => {
                    let tree = self.tree(snapshot)?;
                    let found = paths.iter().map(|path| self.entry(&tree, path)).collect::<Result<Vec<_>>>()?;
                    found.iter().flatten().any(|entry| !entry.is_opaque())
                }
            };
            known.insert(snapshot.manifest, holds);
            if holds {
                snapshots.push(snapshot.clone());
            }
        }
        Ok(Forget { paths: paths.to_vec(), snapshots, ..Forget::default() })
    }

    /// Which snapshots hold the paths, and which other paths of any workspace ever held the same content.
    pub fn plan_forget_everywhere(&self, paths: &[Vec<u8>]) -> Result<Forget> {
        let mut plan = self.plan_in_snapshots(paths)?;
        let manifests: BTreeSet<Hash> = plan.snapshots.iter().map(|snapshot| snapshot.manifest).collect();
        let mut objects = BTreeSet::new();
        for manifest in &manifests {
            objects.extend(belay_store::content(self.home.store(), manifest, paths)?);
        }
        for identity in &Index::read(self.home.disk())?.known {
            let timeline = Timeline::read(self.home.disk(), &timeline_name(&identity.id))?;
            let (found, snapshots) = holders(self.home, &timeline, &objects)?;
            if identity.id == self.id {
                plan.paths.extend(found.into_iter().filter(|path| !is_beneath_any(path, paths)));
                plan.snapshots = merged(plan.snapshots, snapshots);
            } else if !found.is_empty() {
                let (workspace, directory) = (identity.id.clone(), identity.path());
                plan.elsewhere.push(Elsewhere { workspace, directory, paths: found, snapshots });
            }
        }
        plan.runs = records::named_in_runs(self.home, &plan.scopes(&self.id))?;
        Ok(plan)
    }

    /// Rewrites those snapshots without the paths, frees what only they needed, and erases what runs say of the paths;
    /// with `consoles` also what the terminals of those runs showed.
    ///
    /// Whoever dies in it leaves a record, and [`Home::finish_forgetting`] goes on from there.
    pub fn forget(&self, plan: &Forget, consoles: bool) -> Result<ForgetReport> {
        // While a timeline is damaged nothing can be freed, and then nothing would be forgotten.
        self.home.roots_without(&HashSet::new())?;
        let _held = unfinished::lock(self.home.disk(), true)?;
        let options = &self.home.options;
        let unfinished = Unfinished {
            operation: options.ids.next("op_", 10),
            begun_at: options.clock.now(),
            scopes: plan.scopes(&self.id).into_iter().map(Meant::new).collect(),
            consoles,
            objects: Vec::new(),
        };
        let held_by = std::iter::once(&plan.snapshots).chain(plan.elsewhere.iter().map(|other| &other.snapshots));
        carry_out(self.home, unfinished, &held_by.cloned().collect::<Vec<_>>())
    }
}

/// A forgetting that was interrupted, and is finished now.
#[derive(Clone, Debug)]
pub struct Finished {
    /// When it began.
    pub at: Timestamp,
    /// What was meant.
    pub forget: Forget,
    /// What it came to, with what was done before the interruption where that can still be told.
    pub report: ForgetReport,
}

impl Home {
    /// Finishes what [`Workspace::forget`] was kept from finishing; nothing is done while somebody else is at it.
    pub fn finish_forgetting(&self) -> Result<Vec<Finished>> {
        let disk = self.disk();
        if !unfinished::is_any(disk)? {
            return Ok(Vec::new());
        }
        let Some(_held) = unfinished::lock(disk, false)? else { return Ok(Vec::new()) };
        unfinished::sweep(disk)?;
        let mut finished = Vec::new();
        for unfinished in unfinished::read(disk)?.0 {
            let timeline = |meant: &Meant| Timeline::read(disk, &timeline_name(&meant.workspace));
            let snapshots = unfinished.scopes.iter().map(|meant| Ok(timeline(meant)?.snapshots().to_vec()));
            let snapshots = snapshots.collect::<Result<Vec<Vec<Snapshot>>>>()?;
            let (at, paths) = (unfinished.begun_at, unfinished.scopes.first().map(Meant::paths).unwrap_or_default());
            let report = carry_out(self, unfinished, &snapshots)?;
            finished.push(Finished { at, forget: Forget { paths, ..Forget::default() }, report });
        }
        Ok(finished)
    }
}

/// Takes the paths out of these snapshots of each workspace, and everything that they held out of the store and the records.
///
/// The caller holds the lock. Everything is done in an order in which it can be done once more from the beginning.
fn carry_out(home: &Home, mut unfinished: Unfinished, snapshots: &[Vec<Snapshot>]) -> Result<ForgetReport> {
    let (store, disk) = (home.store(), home.disk());
    let batch = store.begin()?;
    let mut worker = batch.worker();
    let mut done = Vec::new();
    for (meant, snapshots) in unfinished.scopes.iter().zip(snapshots) {
        done.push(rewrite(home, &mut worker, snapshots, &meant.paths())?);
    }
    worker.done()?;
    let (_, guard) = batch.finish()?;
    let objects = done.iter().flat_map(HashMap::values).flat_map(|forgotten| forgotten.objects.iter().copied());
    let objects: BTreeSet<Hash> = objects.chain(unfinished.objects.iter().copied()).collect();
    unfinished.objects = objects.iter().copied().collect();
    unfinished.write(disk)?;
    let now = home.options.clock.now();
    let mut report = ForgetReport::default();
    for (meant, done) in unfinished.scopes.iter().zip(&done) {
        let mut ids = BTreeSet::new();
        let decide = |timeline: &Timeline| record(home, timeline, done, now, &mut ids);
        let timeline = publish(home, &meant.workspace, None, decide)?.timeline;
        let is_one = |snapshot: &&Snapshot| ids.contains(&snapshot.id);
        report.rewritten.extend(timeline.snapshots().iter().filter(is_one).cloned());
    }
    drop(guard);
    // Every pack that holds a byte of it is written anew, however little that is.
    report.freed_bytes = home.collect(&GcOptions { waste_percent_min: 0, ..GcOptions::default() })?.freed_bytes;
    for object in objects {
        if store.contains(&object)? { report.shared.push(object) } else { report.gone.push(object) }
    }
    // Last: while a snapshot still holds a path there is more to see of it than its name.
    let scopes: Vec<(&str, Vec<Vec<u8>>)> =
        unfinished.scopes.iter().map(|meant| (meant.workspace.as_str(), meant.paths())).collect();
    let scopes: Vec<(&str, &[Vec<u8>])> = scopes.iter().map(|(id, paths)| (*id, paths.as_slice())).collect();
    report.records = records::erase(home, &scopes, unfinished.consoles)?;
    // Before the search: it names the paths itself.
    unfinished.clear(disk)?;
    records::search(home, &scopes, &mut report.records)?;
    Ok(report)
}

/// What each manifest was rewritten to.
type Done = HashMap<Hash, Forgotten>;

fn rewrite(home: &Home, worker: &mut Worker<'_>, snapshots: &[Snapshot], paths: &[Vec<u8>]) -> Result<Done> {
    let mut done = Done::new();
    for snapshot in snapshots {
        if !done.contains_key(&snapshot.manifest)
            && let Some(forgotten) = belay_store::forget(home.store(), worker, &snapshot.manifest, paths)?
        {
            done.insert(snapshot.manifest, forgotten);
        }
    }
    Ok(done)
}

/// What a timeline has to say about it; `ids` gets the snapshots that it is about.
fn record(
    home: &Home,
    timeline: &Timeline,
    done: &Done,
    now: Timestamp,
    ids: &mut BTreeSet<String>,
) -> Result<Vec<Record>> {
    let mut rewritten = Vec::new();
    for snapshot in timeline.snapshots() {
        let Some(new) = done.get(&snapshot.manifest) else { continue };
        let counts = Manifest::read(home.store(), &new.key)?.counts;
        ids.insert(snapshot.id.clone());
        rewritten.push(Rewritten {
            id: snapshot.id.clone(),
            root: new.identity,
            manifest: new.key,
            files: counts.files,
            bytes: counts.bytes,
        });
    }
    let at = timeline.instant(now);
    Ok(if rewritten.is_empty() { Vec::new() } else { vec![Record::Forget { rewritten, at }] })
}

/// The paths that hold one of the objects in any snapshot, and those snapshots.
fn holders(home: &Home, timeline: &Timeline, objects: &BTreeSet<Hash>) -> Result<(Vec<Vec<u8>>, Vec<Snapshot>)> {
    let mut known: BTreeMap<Hash, bool> = BTreeMap::new();
    let (mut paths, mut snapshots) = (BTreeSet::new(), Vec::new());
    for snapshot in timeline.snapshots() {
        let holds = match known.get(&snapshot.manifest) {
            Some(holds) => *holds,
            None => {
                let found = belay_store::holders(home.store(), &snapshot.manifest, objects)?;
                let holds = !found.is_empty();
                paths.extend(found);
                holds
            }
        };
        known.insert(snapshot.manifest, holds);
        if holds {
            snapshots.push(snapshot.clone());
        }
    }
    Ok((paths.into_iter().collect(), snapshots))
}

fn is_beneath_any(path: &[u8], dirs: &[Vec<u8>]) -> bool {
    dirs.iter().any(|dir| path == dir || path.starts_with(dir) && path.get(dir.len()) == Some(&b'/'))
}

/// Both lists in the order of their numbers, each snapshot once.
fn merged(a: Vec<Snapshot>, b: Vec<Snapshot>) -> Vec<Snapshot> {
    let all: BTreeMap<u64, Snapshot> = a.into_iter().chain(b).map(|snapshot| (snapshot.number, snapshot)).collect();
    all.into_values().collect()
}
