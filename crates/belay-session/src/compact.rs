//! Making one snapshot of several: the newest state stays, under one name and in one slot.
//!
//! A snapshot is complete by itself, so the newest of them already says what was deleted on the way. One record lists the
//! new snapshot and takes the others out, so that no crash can leave neither.

use belay_store::{GapKind, Manifest, View};

use crate::error::{Error, Result};
use crate::pools::place;
use crate::record::{Kind, Origin, Pool, Record, Snapshot, Why};
use crate::timeline::Timeline;
use crate::workspace::Workspace;

impl Workspace<'_> {
    /// Lists the newest of the snapshots with these ids as a manual snapshot, and deletes them; all must be in a pool.
    pub fn compact(&self, ids: &[String], label: Option<String>) -> Result<Snapshot> {
        let needed = self.terms()?.needed;
        if ids.iter().any(|id| needed.contains(id)) {
            return Err(Error::RollbackBusy);
        }
        let now = self.home.options.clock.now();
        let timeline = self.publish(|timeline| {
            let newest = newest_of(timeline, ids)?.clone();
            self.check_nothing_goes(&newest, ids.iter().filter_map(|id| timeline.get(id)))?;
            let mut rest = timeline.clone();
            rest.apply(Record::Delete { ids: ids.to_vec(), why: Why::Asked, at: timeline.instant(now) });
            if let Some(label) = &label {
                rest.check_label(label)?;
            }
            let slot = place(&rest, Some(Pool::Manual), self.settings.pools())?.slot;
            Ok(vec![Record::Snapshot(Box::new(Snapshot {
                id: self.free_id(timeline),
                number: timeline.next_number(),
                kind: Kind::Manual,
                origin: Origin::Manual,
                label: label.clone().or(newest.label.clone()),
                pool: Some(Pool::Manual),
                slot,
                parent: timeline.latest().map(|latest| latest.id.clone()),
                created_at: timeline.instant(now),
                size_delta: 0,
                replaces: ids.to_vec(),
                ..newest
            }))])
        })?;
        self.home.collect_quietly();
        Ok(timeline.latest().expect("a snapshot was just published").clone())
    }

    /// Refuses to give up what only an older one holds: a path that the newest lacks by a gap was not deleted.
    fn check_nothing_goes<'t>(&self, newest: &Snapshot, all: impl Iterator<Item = &'t Snapshot>) -> Result<()> {
        let store = self.home.store();
        let gaps = Manifest::read(store, &newest.manifest)?.coverage(store)?.gaps;
        let older = all.filter(|snapshot| snapshot.id != newest.id && !gaps.is_empty());
        for snapshot in older {
            let manifest = Manifest::read(store, &snapshot.manifest)?;
            let view = View::stored(store);
            for gap in gaps.iter().filter(|gap| gap.kind != GapKind::Attributes) {
                if view.lookup(&manifest.root, &gap.path)?.is_some() {
                    let path = gap.path.escape_ascii().to_string();
                    return Err(Error::OnlyCopy { path, snapshot: snapshot.id.clone() });
                }
            }
        }
        Ok(())
    }
}

fn newest_of<'t>(timeline: &'t Timeline, ids: &[String]) -> Result<&'t Snapshot> {
    let mut newest: Option<&Snapshot> = None;
    for id in ids {
        let unknown = || Error::UnknownSnapshot { name: id.clone(), nearest: Vec::new() };
        let snapshot = timeline.get(id).ok_or_else(unknown)?;
        if snapshot.pool.is_none() {
            return Err(Error::NotInPool { snapshot: id.clone() });
        }
        newest = newest.filter(|newest| newest.number > snapshot.number).or(Some(snapshot));
    }
    newest.ok_or(Error::NoSnapshots)
}
