//! The machine ends before every single change of belay's own disk: what was said to be there is there.
//!
//! The workspace is a real one; only the store and the timeline lose what was not synced.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use belay_session::{Goal, Home, SnapshotRequest};
use belay_testkit::{Ignore, TempWorkspace, World, assert_same_world, diff_worlds};

use crate::bed::{Bed, options, work};
use crate::twin::{End, Twin};

const BUT_TIMES: Ignore = Ignore { mtime: true, directory_mtime: true, ctime: true, inode: true, ..Ignore::NOTHING };

fn ends() -> impl Iterator<Item = End> {
    let seeds = if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 30 } else { 2 };
    std::iter::once(End::Death).chain((0..seeds).map(End::PowerLoss))
}

fn on(disk: &Twin, ws: TempWorkspace, seconds: i64) -> Bed {
    let seconds = Arc::new(AtomicI64::new(seconds));
    let home = Home::on(Arc::new(disk.clone()), ws.home(), options(&seconds, seconds_seed(&seconds))).unwrap();
    Bed { ws, home, sources: Default::default(), seconds }
}

/// Later processes draw other ids.
fn seconds_seed(seconds: &AtomicI64) -> u64 {
    seconds.load(std::sync::atomic::Ordering::Relaxed) as u64
}

/// A workspace with three snapshots, changed since; its disk, the ids, and how it was at the second.
fn built() -> (TempWorkspace, Twin, Vec<String>, World) {
    let disk = Twin::default();
    let bed = on(&disk, TempWorkspace::new(), 1_768_900_000);
    bed.ws.file("a", "1\n").file("dir/b", "1\n".repeat(3000)).symlink("link", "a").hard_link("twin", "a");
    bed.snap();
    bed.ws.file("a", "2\n").file("dir/c", "2\n");
    bed.label("good");
    let good = bed.ws.walk();
    bed.ws.remove("dir/b").file("new/d", "3\n");
    bed.snap();
    let ids = bed.ids();
    bed.ws.file("a", "4\n").remove("link").file("dir/e", "4\n");
    (bed.ws, disk, ids, good)
}

/// Everything that was published is there and whole, and work goes on.
fn is_sound(bed: &Bed, ids: &[String], what: &str) {
    bed.open().recover(work()).unwrap_or_else(|error| panic!("{what}: recover: {error}"));
    let known = bed.ids();
    for id in ids {
        assert!(known.contains(id), "{what}: {id} is lost; there are {known:?}");
    }
    let health = bed.home.verify(true, work()).unwrap_or_else(|error| panic!("{what}: verify: {error}"));
    assert!(health.is_sound(), "{what}: {health:?}");
    let taken = bed.take(&SnapshotRequest::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    bed.home.gc(false).unwrap_or_else(|error| panic!("{what}: gc: {error}"));
    assert!(bed.home.verify(true, work()).unwrap().is_sound(), "{what}: after gc");
    assert!(bed.ids().contains(&taken.snapshot.id), "{what}");
}

/// Ends the machine at every change of the disk that `work` makes.
fn end_everywhere(action: impl Fn(&Bed) -> Vec<String>, gone: &[usize], then: impl Fn(&Bed, &World, &World, &str)) {
    for operation in 1.. {
        let mut done = false;
        for end in ends() {
            let (ws, disk, mut ids, good) = built();
            let wrecked = ws.walk();
            let bed = on(&disk, ws, 1_768_910_000);
            disk.end_at(operation);
            let made = action(&bed);
            done = disk.operations() < operation;
            let what = format!("{end:?} at change {operation}");
            gone.iter().rev().for_each(|at| drop(ids.remove(*at)));
            ids.extend(made);
            let bed = on(&disk.after(end), bed.ws, 1_768_920_000);
            is_sound(&bed, &ids, &what);
            then(&bed, &good, &wrecked, &what);
        }
        if done {
            assert!(operation > 3, "nothing was changed, so nothing was tested");
            return;
        }
    }
}

fn try_open(bed: &Bed) -> Option<belay_session::Workspace<'_>> {
    bed.home.find_or_create(bed.ws.path(), Default::default(), &bed.sources).ok()
}

#[test]
fn a_snapshot_that_was_printed_is_there() {
    let action = |bed: &Bed| {
        let taken = try_open(bed).and_then(|open| open.snapshot(&SnapshotRequest::default(), work()).ok());
        taken.map(|taken| taken.snapshot.id).into_iter().collect()
    };
    end_everywhere(action, &[], |bed, _, wrecked, what| {
        assert!(diff_worlds(wrecked, &bed.ws.walk(), Ignore::NOTHING).is_empty(), "{what}: the workspace was changed");
    });
}

#[test]
fn a_rollback_is_whole_or_not_begun_or_finished_by_the_next_command() {
    let action = |bed: &Bed| {
        let request = crate::bed::request(Goal::To(Some("good".into())), &[]);
        let _ = try_open(bed).map(|open| open.rewind(&request, work(), &mut |_| {}));
        Vec::new()
    };
    end_everywhere(action, &[], |bed, good, wrecked, what| {
        let now = bed.ws.walk();
        let differences = diff_worlds(good, &now, BUT_TIMES);
        let is_whole = differences.is_empty() || diff_worlds(wrecked, &now, BUT_TIMES).is_empty();
        assert!(is_whole, "{what}: neither before nor after: {differences:?}");
        bed.rewind(Goal::To(Some("good".into()))).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same_world(good, &bed.ws.walk(), BUT_TIMES);
    });
}

#[test]
fn a_deletion_takes_only_what_was_named() {
    let action = |bed: &Bed| {
        let first = bed.open().timeline().ok().and_then(|timeline| timeline.snapshots().first().cloned());
        let _ = first.map(|first| try_open(bed).map(|open| open.delete(&[first.id])));
        let _ = bed.home.gc(false);
        Vec::new()
    };
    end_everywhere(action, &[0], |_, _, _, _| {});
}
