//! Status, disk use, verification and repair.

use belay_session::store::GapKind;
use belay_session::{Error, Goal, SnapshotRequest};

use crate::bed::{Bed, work};
use crate::budget::noise;

#[test]
fn status_tells_what_changed_and_what_is_not_protected() {
    let bed = Bed::new();
    bed.ws
        .dir(".git")
        .file(".gitignore", "node_modules\n")
        .file("package.json", "{}")
        .file("node_modules/x/y", "12345");
    let status = bed.open().status(work()).unwrap();
    assert_eq!((status.snapshots, status.base.is_none(), status.changes.len()), (0, true, 0));
    let one = bed.snap();
    bed.ws.file("a", "1").remove("package.json");
    let status = bed.open().status(work()).unwrap();
    assert_eq!((status.snapshots, status.base.unwrap().id), (1, one.id));
    let changed: Vec<_> =
        status.changes.iter().map(|change| String::from_utf8_lossy(&change.path).into_owned()).collect();
    assert!(changed.contains(&"a".to_owned()) && changed.contains(&"package.json".to_owned()), "{changed:?}");
    bed.ws.file("package.json", "{}");
    let status = bed.open().status(work()).unwrap();
    let gap = &status.unprotected[0];
    assert_eq!(
        (gap.path.as_slice(), gap.reason, gap.bytes),
        (b"node_modules".as_slice(), GapKind::Regenerable, Some(5))
    );
    assert!(status.budget.used_bytes > 0 && status.budget.limit_bytes > 0 && !status.budget.is_over());
    assert_eq!(bed.ids().len(), 1, "status takes no snapshot");
}

#[test]
fn disk_use_is_told_by_workspace_and_by_snapshot() {
    let bed = Bed::new();
    bed.ws.file("big", noise(1, 300_000)).file("small", "1");
    bed.snap();
    bed.ws.remove("big").file("middle", noise(2, 100_000));
    bed.snap();
    let du = bed.home.du(true).unwrap();
    let row = &du.workspaces[0];
    let weights: Vec<u64> = row.snapshots.iter().map(|(_, bytes)| bytes / 50_000).collect();
    assert_eq!((weights, row.exclusive_bytes / 50_000, du.workspaces.len()), (vec![6, 2], 8, 1));
    assert!(bed.home.du(false).unwrap().workspaces[0].snapshots.is_empty());
}

#[test]
fn content_that_two_workspaces_share_is_stored_once_and_outlives_one() {
    let bed = Bed::new();
    bed.ws.file("one/data", noise(1, 300_000)).file("two/data", noise(1, 300_000)).file("two/own", noise(2, 50_000));
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let take = |dir| bed.open_at(dir).snapshot(&Default::default(), work()).unwrap().snapshot;
    let (first, second) = (take(&one), take(&two));
    assert!(second.size_delta < 100_000, "{}", second.size_delta);
    bed.open_at(&one).delete(&[first.id]).unwrap();
    bed.home.gc(false).unwrap();
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
    std::fs::remove_file(two.join("data")).unwrap();
    let request = crate::bed::request(Goal::To(Some(second.id)), &[]);
    bed.open_at(&two).rewind(&request, work(), &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(two.join("data")).unwrap(), noise(1, 300_000));
}

#[test]
fn nothing_is_freed_while_a_timeline_is_damaged_and_repair_brings_back_what_its_spare_has() {
    for is_spared in [true, false] {
        let bed = Bed::new();
        for n in 0..3 {
            bed.ws.file("a", n.to_string());
            bed.snap();
        }
        let path = bed.ws.home().join(format!("workspaces/{}/timeline", bed.open().id()));
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        if !is_spared {
            std::fs::remove_file(spare_of(&bed, bed.open().id())).unwrap();
        }
        assert_eq!(bed.open().timeline().unwrap().snapshots().len(), 2, "the others stay readable");
        assert!(bed.home.gc(false).is_err());
        let health = bed.home.verify(false, work()).unwrap();
        assert_eq!((health.is_sound(), health.timelines.len()), (false, 1));
        let report = bed.home.repair(&health).unwrap();
        let expected = if is_spared { (1, 0, 0) } else { (0, 1, 1) };
        assert_eq!((report.records_restored, report.records_dropped, report.snapshots_found), expected);
        assert_eq!(bed.ids().len(), 3, "what the store holds comes back in any case");
        assert!(bed.home.verify(true, work()).unwrap().is_sound());
        assert!(bed.home.gc(false).is_ok());
        assert_eq!(bed.snap().number, if is_spared { 4 } else { 5 });
    }
}

#[test]
fn a_flipped_bit_in_the_store_is_named_and_nothing_is_written_from_it() {
    let bed = Bed::new();
    bed.ws.file("b", "1");
    bed.snap();
    bed.ws.file("a", noise(1, 50_000));
    let one = bed.snap();
    bed.ws.file("a", "wreck").file("b", "2");
    crate::recover::flip_a_bit_of(&bed, &noise(1, 50_000));
    let bed = bed.reopened();
    let health = bed.home.verify(true, work()).unwrap();
    assert!(!health.is_sound());
    let hit = &health.affected[0];
    assert_eq!((hit.workspace.as_path(), &hit.snapshot.id, hit.path.as_slice()), (bed.ws.path(), &one.id, &b"a"[..]));
    assert!(matches!(bed.rewind(Goal::To(Some(one.id.clone()))), Err(Error::Damaged { .. })));
    assert_eq!((bed.text("a").as_str(), bed.text("b").as_str()), ("wreck", "2"), "all or nothing");
    bed.rewind_part(Goal::To(Some(one.id.clone())), &["b"]).unwrap();
    assert_eq!(bed.text("b"), "1");
    bed.ws.file("a", noise(1, 50_000));
    let report = bed.home.repair(&bed.home.verify(true, work()).unwrap()).unwrap();
    assert!(report.healed >= 1 && report.lost.is_empty(), "{report:?}");
    bed.ws.file("a", "wreck");
    bed.rollback(&one);
    assert_eq!(std::fs::read(bed.ws.join("a")).unwrap(), noise(1, 50_000));
}

#[test]
fn a_store_from_a_newer_belay_is_refused() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.snap();
    let format = bed.ws.home().join("store/format");
    let text = std::fs::read_to_string(&format).unwrap().replace("format 2", "format 99");
    std::fs::write(&format, text).unwrap();
    let again = belay_session::Home::open(bed.ws.home(), Default::default());
    assert!(matches!(again, Err(Error::Store(belay_session::store::Error::TooNew { found: 99, .. }))));
}

#[test]
fn a_history_is_never_freed_because_the_list_of_workspaces_lost_it() {
    for lost in ["", "torn"] {
        let bed = Bed::new();
        bed.ws.file("one/a", noise(1, 50_000)).file("two/a", "2");
        let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
        let take = |dir| bed.open_at(dir).snapshot(&Default::default(), work()).map(|taken| taken.snapshot);
        let (_, snapshot) = (take(&two).unwrap(), take(&one).unwrap());
        let index = bed.ws.home().join("workspaces/index");
        let whole = std::fs::read(&index).unwrap();
        let rest = if lost.is_empty() { &[] } else { &whole[..whole.len() - 30] };
        std::fs::write(&index, rest).unwrap();
        assert!(!bed.home.verify(false, work()).unwrap().is_sound());
        assert!(bed.home.gc(false).is_err());
        assert!(matches!(bed.home.find(&one, &bed.sources), Err(Error::Store(_))), "no second history is begun");
        bed.home.repair(&bed.home.verify(true, work()).unwrap()).unwrap();
        assert!(bed.home.verify(true, work()).unwrap().is_sound());
        bed.home.gc(false).unwrap();
        std::fs::remove_file(one.join("a")).unwrap();
        let request = crate::bed::request(Goal::To(Some(snapshot.id)), &[]);
        bed.open_at(&one).rewind(&request, work(), &mut |_| {}).unwrap();
        assert_eq!(std::fs::read(one.join("a")).unwrap(), noise(1, 50_000));
    }
}

#[test]
fn a_record_that_is_missing_at_the_end_is_damage_and_frees_nothing() {
    for cut_inside in [0, 7] {
        let bed = Bed::new();
        bed.ws.file("a", noise(1, 50_000));
        bed.snap();
        let path = bed.ws.home().join(format!("workspaces/{}/timeline", bed.open().id()));
        let first = std::fs::read(&path).unwrap().len();
        bed.ws.file("a", noise(2, 50_000));
        let missing = bed.snap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..first + cut_inside]).unwrap();
        let is_told = || {
            let health = bed.home.verify(false, work()).unwrap();
            assert!(!health.is_sound());
            assert_eq!(health.timelines[0].detail, "records are missing that it once had");
            assert!(bed.home.gc(false).is_err());
        };
        is_told();
        // Another snapshot does not make up for the one that is missing, however long the timeline gets.
        bed.ws.file("a", noise(3, 50_000));
        bed.snap();
        bed.snap();
        is_told();
        bed.home.repair(&bed.home.verify(true, work()).unwrap()).unwrap();
        assert!(bed.home.verify(true, work()).unwrap().is_sound());
        bed.home.gc(false).unwrap();
        bed.snap();
        assert!(bed.home.verify(true, work()).unwrap().is_sound());
        // The one that was missing is back in its place, and no number is there twice.
        let timeline = bed.open().timeline().unwrap();
        let numbers: Vec<u64> = timeline.snapshots().iter().map(|snapshot| snapshot.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert_eq!(timeline.snapshots()[1].id, missing.id);
    }
}

/// Where a timeline is once more.
pub(crate) fn spare_of(bed: &Bed, workspace: &str) -> std::path::PathBuf {
    bed.ws.home().join("spares").join(workspace)
}

/// Loses a timeline in one of the ways in which files get lost.
pub(crate) fn lose(path: &std::path::Path, how: &str) {
    let len = std::fs::read(path).unwrap().len();
    match how {
        "removed" => std::fs::remove_file(path).unwrap(),
        "cut" => std::fs::write(path, "").unwrap(),
        "zeros" => std::fs::write(path, vec![0; len]).unwrap(),
        _ => std::fs::write(path, vec![b'x'; len]).unwrap(),
    }
}

#[test]
fn a_lost_timeline_is_refused_by_everything_and_comes_back_whole() {
    for how in ["removed", "cut", "zeros", "garbage"] {
        let bed = Bed::new();
        bed.ws.file("a", noise(1, 50_000));
        let first = bed.label("good");
        bed.ws.file("a", noise(2, 50_000));
        let second = bed.snap();
        let kept_open = bed.open();
        kept_open.timeline().unwrap();
        let path = bed.ws.home().join(format!("workspaces/{}/timeline", kept_open.id()));
        lose(&path, how);
        // Neither a new process nor one that has it open goes on as if there were nothing.
        for workspace in [&kept_open, &bed.open()] {
            assert!(matches!(workspace.timeline(), Err(Error::LostTimeline { .. })), "{how}");
            assert!(matches!(workspace.status(work()), Err(Error::LostTimeline { .. })), "{how}");
            let taken = workspace.snapshot(&SnapshotRequest::default(), work());
            assert!(matches!(taken, Err(Error::LostTimeline { .. })), "{how}");
        }
        let health = bed.home.verify(false, work()).unwrap();
        assert_eq!((health.is_sound(), health.timelines.len()), (false, 1), "{how}");
        assert!(bed.home.gc(false).is_err(), "{how}");
        let report = bed.home.repair(&health).unwrap();
        assert_eq!((report.records_restored, report.records_dropped), (2, 0), "{how}");
        assert!(bed.home.verify(true, work()).unwrap().is_sound() && bed.home.gc(false).is_ok(), "{how}");
        assert_eq!(bed.open().timeline().unwrap().snapshots(), [first, second], "{how}");
        bed.rewind(Goal::To(Some("good".into()))).unwrap();
        assert_eq!(std::fs::read(bed.ws.join("a")).unwrap(), noise(1, 50_000), "{how}");
    }
}

#[test]
fn what_only_the_store_has_of_a_lost_timeline_is_found_again() {
    let bed = Bed::new();
    bed.ws.file("one/a", noise(1, 50_000)).file("two/b", noise(2, 50_000));
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let take = |dir| bed.open_at(dir).snapshot(&Default::default(), work()).unwrap().snapshot;
    let (first, other) = (take(&one), take(&two));
    bed.ws.file("one/a", noise(3, 50_000));
    let second = take(&one);
    let dir = bed.ws.home().join("workspaces").join(bed.open_at(&one).id());
    lose(&dir.join("timeline"), "removed");
    std::fs::remove_file(spare_of(&bed, bed.open_at(&one).id())).unwrap();
    assert!(matches!(bed.open_at(&one).timeline(), Err(Error::LostTimeline { .. })));
    let report = bed.home.repair(&bed.home.verify(false, work()).unwrap()).unwrap();
    assert_eq!((report.records_restored, report.snapshots_found, report.records_dropped), (0, 2, 1));
    assert!(bed.home.verify(true, work()).unwrap().is_sound() && bed.home.gc(false).is_ok());
    let found = bed.open_at(&one).timeline().unwrap();
    let mut manifests: Vec<_> = found.snapshots().iter().map(|snapshot| snapshot.manifest).collect();
    let mut expected = [first.manifest, second.manifest];
    manifests.sort();
    expected.sort();
    assert_eq!(manifests, expected);
    assert_eq!(bed.open_at(&two).timeline().unwrap().snapshots(), [other]);
    std::fs::remove_file(one.join("a")).unwrap();
    let oldest = found.snapshots().iter().find(|snapshot| snapshot.manifest == first.manifest).unwrap();
    let request = crate::bed::request(Goal::To(Some(oldest.id.clone())), &[]);
    bed.open_at(&one).rewind(&request, work(), &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(one.join("a")).unwrap(), noise(1, 50_000));
}

#[test]
fn a_timeline_of_which_nothing_is_left_begins_anew_after_a_repair() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.snap();
    let dir = bed.ws.home().join("workspaces").join(bed.open().id());
    for file in [dir.join("timeline"), spare_of(&bed, bed.open().id())] {
        std::fs::remove_file(file).unwrap();
    }
    std::fs::remove_dir_all(bed.ws.home().join("store/packs")).unwrap();
    let bed = bed.reopened();
    let report = bed.home.repair(&bed.home.verify(false, work()).unwrap()).unwrap();
    assert_eq!((report.records_restored, report.snapshots_found, report.records_dropped), (0, 0, 1));
    bed.snap();
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
}

#[test]
fn a_spare_that_a_power_cut_shortened_says_less_and_nothing_wrong() {
    for keep in [0, 5, 700] {
        let bed = Bed::new();
        bed.ws.file("a", "1");
        bed.snap();
        bed.ws.file("a", "2");
        bed.snap();
        let dir = bed.ws.home().join("workspaces").join(bed.open().id());
        let (timeline, spare) = (dir.join("timeline"), spare_of(&bed, bed.open().id()));
        let whole = std::fs::read(&spare).unwrap();
        assert_eq!(whole, std::fs::read(&timeline).unwrap());
        for rest in
            [whole[..keep].to_vec(), [&whole[..keep], &[0; 300]].concat(), [&whole[..keep], &[b'x'; 300]].concat()]
        {
            std::fs::write(&spare, rest).unwrap();
            assert!(bed.home.verify(false, work()).unwrap().is_sound(), "{keep}");
            bed.snap();
            assert_eq!(std::fs::read(&spare).unwrap(), std::fs::read(&timeline).unwrap(), "{keep}");
        }
    }
}

#[test]
fn whoever_has_a_workspace_open_that_is_forgotten_leaves_no_history_behind() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let open = bed.open();
    open.snapshot(&SnapshotRequest::default(), work()).unwrap();
    let departed = bed.home.plan_departure(open.id()).unwrap();
    bed.home.forget_workspace(&departed).unwrap();
    assert!(matches!(open.snapshot(&SnapshotRequest::default(), work()), Err(Error::Forgotten(_))));
    assert!(bed.home.verify(false, work()).unwrap().is_sound());
    bed.snap();
}

#[test]
fn a_history_of_which_only_the_spare_is_left_is_not_freed_when_the_list_is_lost_too() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let snapshot = bed.snap();
    let workspaces = bed.ws.home().join("workspaces");
    std::fs::remove_file(workspaces.join(bed.open().id()).join("timeline")).unwrap();
    std::fs::write(workspaces.join("index"), "").unwrap();
    let bed = bed.reopened();
    assert!(bed.home.gc(false).is_err());
    bed.home.repair(&bed.home.verify(false, work()).unwrap()).unwrap();
    assert_eq!(bed.open().timeline().unwrap().snapshots(), [snapshot]);
}

#[test]
fn nothing_is_forgotten_in_part_while_another_timeline_is_damaged() {
    let bed = Bed::new();
    bed.ws.file("one/a", noise(1, 50_000)).file("two/b", noise(2, 50_000));
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let take = |dir| bed.open_at(dir).snapshot(&Default::default(), work()).unwrap().snapshot;
    let (own, _) = (take(&one), take(&two));
    lose(&bed.ws.home().join("workspaces").join(bed.open_at(&two).id()).join("timeline"), "removed");
    let workspace = bed.open_at(&one);
    let plan = workspace.plan_forget(&[b"a".to_vec()]).unwrap();
    assert!(workspace.forget(&plan, false).is_err());
    assert_eq!(bed.open_at(&one).timeline().unwrap().snapshots(), [own]);
}

#[test]
fn what_a_timeline_names_that_was_set_aside_is_not_freed() {
    let bed = Bed::new();
    bed.ws.file("a", noise(1, 50_000));
    let snapshot = bed.snap();
    let workspaces = bed.ws.home().join("workspaces");
    let dir = workspaces.join(bed.open().id());
    std::fs::remove_file(dir.join("identity")).unwrap();
    std::fs::remove_dir_all(bed.ws.home().join("identities")).unwrap();
    std::fs::write(workspaces.join("index"), "").unwrap();
    let bed = bed.reopened();
    bed.home.repair(&bed.home.verify(false, work()).unwrap()).unwrap();
    assert!(dir.join("timeline.aside").is_file());
    bed.home.gc(false).unwrap();
    assert!(bed.home.store().contains(&snapshot.manifest).unwrap());
}
