//! Erasing a path from all history, with proof.

use std::collections::{BTreeSet, HashMap};

use belay_store::{Forgotten, GcOptions, Hash, Manifest};

use crate::error::Result;
use crate::record::{Record, Rewritten, Snapshot};
use crate::workspace::Workspace;

/// What forgetting would touch.
#[derive(Clone, Debug, Default)]
pub struct Forget {
    /// The paths beneath the workspace.
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
}

impl Workspace<'_> {
    /// Which snapshots hold the paths.
    pub fn plan_forget(&self, paths: &[Vec<u8>]) -> Result<Forget> {
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
        Ok(Forget { paths: paths.to_vec(), snapshots })
    }

    /// Rewrites those snapshots without the paths, and frees what only they needed.
    pub fn forget(&self, plan: &Forget) -> Result<ForgetReport> {
        let store = self.home.store();
        let batch = store.begin()?;
        let mut worker = batch.worker();
        let mut done: HashMap<Hash, Forgotten> = HashMap::new();
        for snapshot in &plan.snapshots {
            if !done.contains_key(&snapshot.manifest)
                && let Some(forgotten) = belay_store::forget(store, &mut worker, &snapshot.manifest, &plan.paths)?
            {
                done.insert(snapshot.manifest, forgotten);
            }
        }
        worker.done()?;
        let (_, guard) = batch.finish()?;
        let now = self.home.options.clock.now();
        let mut ids: BTreeSet<String> = BTreeSet::new();
        let timeline = self.publish(|timeline| {
            let mut rewritten = Vec::new();
            for snapshot in timeline.snapshots() {
                let Some(new) = done.get(&snapshot.manifest) else { continue };
                let counts = Manifest::read(store, &new.key)?.counts;
                ids.insert(snapshot.id.clone());
                rewritten.push(Rewritten {
                    id: snapshot.id.clone(),
                    root: new.identity,
                    manifest: new.key,
                    files: counts.files,
                    bytes: counts.bytes,
                });
            }
            Ok(if rewritten.is_empty() {
                Vec::new()
            } else {
                vec![Record::Forget { rewritten, at: timeline.instant(now) }]
            })
        })?;
        drop(guard);
        // Every pack that holds a byte of it is written anew, however little that is.
        let collected = self.home.collect(&GcOptions { dry_run: false, waste_percent_min: 0, wait: true })?;
        let objects: BTreeSet<Hash> = done.values().flat_map(|forgotten| forgotten.objects.iter().copied()).collect();
        let mut report = ForgetReport { freed_bytes: collected.freed_bytes, ..ForgetReport::default() };
        for object in objects {
            if store.contains(&object)? { report.shared.push(object) } else { report.gone.push(object) }
        }
        report.rewritten = timeline.snapshots().iter().filter(|snapshot| ids.contains(&snapshot.id)).cloned().collect();
        Ok(report)
    }
}
