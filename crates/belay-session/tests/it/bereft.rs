//! Whole directories of belay's home are gone: everything that is left anywhere comes back to where it belongs.

use std::fs;
use std::path::Path;

use belay_session::{Error, Goal, Home, Mended, RepairReport, Snapshot, SnapshotRequest};

use crate::bed::{Bed, options, request, work};
use crate::budget::noise;
use crate::health::spare_of;

fn take(bed: &Bed, dir: &Path, label: Option<&str>) -> Snapshot {
    let request = SnapshotRequest { label: label.map(str::to_owned), ..SnapshotRequest::default() };
    bed.open_at(dir).snapshot(&request, work()).unwrap().snapshot
}

fn lose_dir(bed: &Bed, name: &str) {
    fs::remove_dir_all(bed.ws.home().join(name)).unwrap();
}

/// Repairs until nothing is wrong, which it must be at once.
fn repair(bed: &Bed) -> RepairReport {
    let health = bed.home.verify(false, work()).unwrap();
    assert!(!health.is_sound(), "the loss is told");
    let report = bed.home.repair(&health).unwrap();
    let after = bed.home.verify(true, work()).unwrap();
    assert!(after.is_sound(), "{:?} {:?}", after.timelines, after.store.damage);
    bed.home.gc(false).unwrap();
    report
}

fn roll_back(bed: &Bed, dir: &Path, to: &str) {
    bed.open_at(dir).rewind(&request(Goal::To(Some(to.to_owned())), &[]), work(), &mut |_| {}).unwrap();
}

/// Two workspaces with histories that nothing in them tells apart.
fn two_alike(bed: &Bed) -> Vec<Snapshot> {
    bed.ws.file("one/a", noise(1, 50_000)).file("two/a", noise(2, 50_000));
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let first = [take(bed, &one, Some("good")), take(bed, &two, Some("good"))];
    bed.ws.file("one/a", "1").file("two/a", "2");
    first.into_iter().chain([take(bed, &one, None), take(bed, &two, None)]).collect()
}

#[test]
fn histories_come_back_to_their_workspaces_when_all_of_them_are_gone() {
    for how in ["removed", "emptied"] {
        let bed = Bed::new();
        let all = two_alike(&bed);
        lose_dir(&bed, "workspaces");
        if how == "emptied" {
            fs::create_dir(bed.ws.home().join("workspaces")).unwrap();
        }
        let bed = bed.reopened();
        let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
        assert!(bed.home.gc(false).is_err() && bed.home.find(&one, &bed.sources).is_err(), "{how}");
        let report = repair(&bed);
        assert_eq!((report.records_restored, report.unclaimed.len(), report.records_dropped), (4, 0, 0), "{how}");
        assert_eq!(bed.open_at(&one).timeline().unwrap().snapshots(), [all[0].clone(), all[2].clone()], "{how}");
        assert_eq!(bed.open_at(&two).timeline().unwrap().snapshots(), [all[1].clone(), all[3].clone()], "{how}");
        for (dir, seed) in [(&one, 1), (&two, 2)] {
            roll_back(&bed, dir, "good");
            assert_eq!(fs::read(dir.join("a")).unwrap(), noise(seed, 50_000), "{how}");
            bed.open_at(dir).rewind(&request(Goal::Undo, &[]), work(), &mut |_| {}).unwrap();
        }
    }
}

#[test]
fn a_workspace_that_an_earlier_belay_knew_is_known_again_after_its_next_snapshot() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let first = bed.snap();
    lose_dir(&bed, "identities");
    bed.ws.file("a", "2");
    let second = bed.snap();
    lose_dir(&bed, "workspaces");
    let bed = bed.reopened();
    repair(&bed);
    assert_eq!(bed.open().timeline().unwrap().snapshots(), [first, second]);
}

#[test]
fn no_history_is_begun_and_nothing_freed_where_the_list_and_all_spares_are_gone() {
    for knows_places in [true, false] {
        let bed = Bed::new();
        bed.ws.file("then", noise(1, 50_000));
        let first = bed.snap();
        for dir in ["workspaces", "spares"] {
            lose_dir(&bed, dir);
        }
        if !knows_places {
            lose_dir(&bed, "identities");
        }
        let bed = bed.reopened();
        assert!(bed.home.gc(false).is_err());
        assert!(bed.home.find_or_create(bed.ws.path(), Default::default(), &bed.sources).is_err());
        let report = repair(&bed);
        assert!(bed.home.store().contains(&first.manifest).unwrap());
        let found = match knows_places {
            true => bed.open().timeline().unwrap().snapshots()[0].clone(),
            false => report.unclaimed[0].clone(),
        };
        assert_eq!((report.snapshots_found, report.unclaimed.len()), if knows_places { (1, 0) } else { (0, 1) });
        assert_eq!(found.manifest, first.manifest);
        bed.ws.file("then", "now");
        bed.snap();
        roll_back(&bed, bed.ws.path(), &found.id);
        assert_eq!(fs::read(bed.ws.join("then")).unwrap(), noise(1, 50_000), "by its id in any case");
        bed.rewind(Goal::Undo).unwrap();
        assert_eq!(bed.text("then"), "now");
    }
}

#[test]
fn a_forgotten_workspace_does_not_come_back() {
    let bed = Bed::new();
    bed.ws.file("one/a", "1").file("two/b", "2");
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    take(&bed, &one, None);
    let kept = take(&bed, &two, None);
    let departed = bed.home.plan_departure(bed.open_at(&one).id()).unwrap();
    bed.home.forget_workspace(&departed).unwrap();
    lose_dir(&bed, "workspaces");
    let bed = bed.reopened();
    let report = repair(&bed);
    assert_eq!((report.records_restored, report.unclaimed.len()), (1, 0));
    assert_eq!(bed.home.workspaces().unwrap().len(), 1);
    assert_eq!(bed.open_at(&two).timeline().unwrap().snapshots(), [kept]);
}

#[test]
fn a_rollback_that_was_interrupted_is_finished_although_all_of_its_workspaces_directory_is_gone() {
    for lost in ["its directory", "all workspaces"] {
        let bed = Bed::new();
        bed.ws.file("a", "1").file("b", "1").file("c", "1");
        let good = bed.snap();
        bed.ws.file("a", "2").file("b", "2").file("c", "2");
        assert!(bed.die_rolling_back(&good, 3).is_err());
        let own = format!("workspaces/{}", bed.open().id());
        lose_dir(&bed, if lost == "its directory" { &own } else { "workspaces" });
        let bed = bed.reopened();
        let report = repair(&bed);
        assert_eq!(report.rollbacks_found, 1, "{lost}");
        let recovered = bed.open().recover(work()).unwrap();
        assert_eq!((recovered.len(), recovered[0].failed.as_deref()), (1, None), "{lost}");
        assert_eq!((bed.text("a"), bed.text("b"), bed.text("c")), ("1".into(), "1".into(), "1".into()), "{lost}");
        bed.rewind(Goal::Undo).unwrap();
        assert_eq!((bed.text("a"), bed.text("b"), bed.text("c")), ("2".into(), "2".into(), "2".into()), "{lost}");
        assert_eq!(fs::read_dir(bed.ws.home().join("intents")).unwrap().count(), 0, "{lost}: nothing is left of it");
    }
}

#[test]
fn a_rollback_that_ended_is_not_begun_again_by_a_repair() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let good = bed.snap();
    bed.ws.file("a", "2");
    bed.rollback(&good);
    bed.ws.file("a", "3");
    lose_dir(&bed, "workspaces");
    let bed = bed.reopened();
    assert_eq!(repair(&bed).rollbacks_found, 0);
    assert_eq!(bed.open().recover(work()).unwrap().len(), 0);
    assert_eq!(bed.text("a"), "3");
}

#[test]
fn without_its_packs_a_home_is_not_opened_but_by_a_repair_which_loses_nothing_that_could_be_had() {
    for how in ["removed", "a file"] {
        let bed = Bed::new();
        bed.ws.file("kept", noise(1, 50_000)).file("gone", "only the store had it");
        let old = bed.label("old");
        bed.ws.remove("gone");
        let now = bed.label("now");
        let packs = bed.ws.home().join("store/packs");
        lose_dir(&bed, "store/packs");
        if how == "a file" {
            fs::write(&packs, "somebody's").unwrap();
        }
        let refused = Home::open(bed.ws.home(), options(&bed.seconds, 3)).err().unwrap();
        let is_named = matches!(&refused, Error::Store(belay_session::store::Error::Corrupt { name, .. }) if name == "store/packs");
        assert!(is_named, "{how}: {refused}");
        let (home, mended) = Home::open_mended(bed.ws.home(), options(&bed.seconds, 3)).unwrap();
        assert_eq!(mended.len(), if how == "a file" { 2 } else { 1 }, "{how}: {mended:?}");
        let bed = Bed { home, ..bed };
        let health = bed.home.verify(true, work()).unwrap();
        let report = bed.home.repair(&health).unwrap();
        assert!(report.healed > 0 && !report.lost.is_empty(), "{how}: {report:?}");
        let after = bed.home.verify(true, work()).unwrap();
        let hit: Vec<&str> = after.affected.iter().map(|one| one.snapshot.id.as_str()).collect();
        assert!(hit.contains(&old.id.as_str()) && !hit.contains(&now.id.as_str()), "{how}: {hit:?}");
        fs::write(bed.ws.join("kept"), "wreck").unwrap();
        bed.rollback(&now);
        assert_eq!(fs::read(bed.ws.join("kept")).unwrap(), noise(1, 50_000), "{how}: a workspace still held it");
        // What cannot be healed keeps everything else from being freed until it is given up.
        let refused = bed.home.gc(false).unwrap_err();
        assert!(
            matches!(&refused, Error::Unfreeable { snapshots, .. } if snapshots[0].1 == old.id),
            "{how}: {refused}"
        );
        bed.open().delete(&[old.id]).unwrap();
        bed.home.gc(false).unwrap();
        assert!(bed.home.verify(true, work()).unwrap().is_sound(), "{how}");
    }
}

#[test]
fn a_new_home_whose_store_holds_nothing_yet_is_opened() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.open();
    let _ = fs::remove_dir_all(bed.ws.home().join("store/packs"));
    let bed = bed.reopened();
    bed.snap();
}

#[test]
fn packs_behind_a_link_that_leads_nowhere_are_waited_for() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let one = bed.snap();
    let (packs, away) = (bed.ws.home().join("store/packs"), bed.ws.outside().join("packs"));
    fs::rename(&packs, &away).unwrap();
    std::os::unix::fs::symlink(&away, &packs).unwrap();
    let bed = bed.reopened();
    fs::rename(&away, away.with_extension("unmounted")).unwrap();
    assert!(Home::open(bed.ws.home(), options(&bed.seconds, 3)).is_err());
    assert!(Home::open_mended(bed.ws.home(), options(&bed.seconds, 3)).is_err());
    assert!(fs::symlink_metadata(&packs).unwrap().is_symlink(), "it is left as it is");
    fs::rename(away.with_extension("unmounted"), &away).unwrap();
    bed.ws.file("a", "2");
    let bed = bed.reopened();
    bed.rollback(&one);
    assert_eq!(bed.text("a"), "1");
}

#[test]
fn snapshots_that_cannot_be_read_are_given_up_one_by_one() {
    let bed = Bed::new();
    let mut all = Vec::new();
    for n in 0..3 {
        bed.ws.file(format!("dir-{n}/a"), n.to_string());
        all.push(bed.snap());
    }
    let spare = spare_of(&bed, bed.open().id());
    // The newest is the only one that can be made anew.
    fs::remove_dir_all(bed.ws.join("dir-2")).unwrap();
    lose_dir(&bed, "store/packs");
    let bed = Bed { home: Home::open_mended(bed.ws.home(), options(&bed.seconds, 3)).unwrap().0, ..bed };
    for (at, snapshot) in all.iter().enumerate() {
        assert!(bed.home.gc(false).is_err(), "{at}");
        assert_eq!(bed.open().plan_delete(vec![snapshot.clone()]).unwrap().freed_bytes, 0, "{at}");
        let pruned = bed.open().delete(std::slice::from_ref(&snapshot.id)).unwrap();
        assert_eq!((pruned.deleted.len(), pruned.unfreed.is_some()), (1, at < 2), "{at}: and it is said");
    }
    bed.home.gc(false).unwrap();
    assert!(spare.is_file());
}

#[test]
fn what_is_in_the_place_of_a_directory_or_a_file_is_set_aside_and_everything_is_as_it_was() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let all = vec![bed.label("good"), bed.label("better")];
    let own = format!("workspaces/{}", bed.open().id());
    let bed = bed.reopened();
    let id = bed.open().id().to_owned();
    let directories =
        ["workspaces", "spares", "identities", "intents", &own, &format!("{own}/active"), "store/pointers"];
    let files = ["timeline", "identity", "lock", "cache.base", "cache.delta"].map(|name| format!("{own}/{name}"));
    let others = ["workspaces/index", "workspaces/index.lock", "store/lock", "store/format"].map(str::to_owned);
    let copies = [format!("spares/{id}"), format!("identities/{id}")];
    let files = files.into_iter().chain(others).chain(copies).map(|name| (name, false));
    for (name, is_dir) in directories.iter().map(|name| (name.to_string(), true)).chain(files) {
        let place = bed.ws.home().join(&name);
        let _ = fs::remove_dir_all(&place);
        let _ = fs::remove_file(&place);
        if is_dir {
            fs::write(&place, "somebody's").unwrap();
        } else {
            fs::create_dir(&place).unwrap();
        }
        let (home, mended) = Home::open_mended(bed.ws.home(), options(&bed.seconds, 7)).unwrap();
        assert!(matches!(&mended[0], Mended::Aside { name: found, .. } if *found == name), "{name}: {mended:?}");
        let health = home.verify(false, work()).unwrap();
        home.repair(&health).unwrap();
        assert!(home.verify(true, work()).unwrap().is_sound(), "{name}");
        let workspace = home.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
        assert_eq!(workspace.timeline().unwrap().snapshots(), all, "{name}");
        let aside = place.with_file_name(format!("{}.aside-0", place.file_name().unwrap().display()));
        assert!(aside.exists(), "{name}: it is kept");
        let _ = fs::remove_file(&aside).or_else(|_| fs::remove_dir(&aside));
    }
}

#[test]
fn what_lies_apart_keeps_nobody_from_working_where_it_cannot_be_written() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    for name in ["identities", "intents", "spares"] {
        let _ = fs::remove_dir_all(bed.ws.home().join(name));
        fs::write(bed.ws.home().join(name), "").unwrap();
    }
    let good = bed.snap();
    bed.ws.file("a", "2");
    bed.rollback(&good);
    assert_eq!(bed.text("a"), "1");
    let departed = bed.home.plan_departure(bed.open().id()).unwrap();
    bed.home.forget_workspace(&departed).unwrap();
    bed.snap();
}

#[test]
fn without_its_packs_what_a_native_copy_holds_is_still_had() {
    let bed = Bed::new().with(&[("snapshots.backend", "clone")]);
    bed.ws.file("d/kept", noise(1, 50_000)).file("d/gone", "only the copy has it").dir("empty");
    let old = bed.label("old");
    assert!(old.native_ref.is_some());
    bed.ws.remove("d/gone").file("d/kept", "new");
    bed.label("now");
    lose_dir(&bed, "store/packs");
    let bed = Bed { home: Home::open_mended(bed.ws.home(), options(&bed.seconds, 3)).unwrap().0, ..bed };
    bed.home.repair(&bed.home.verify(true, work()).unwrap()).unwrap();
    let after = bed.home.verify(true, work()).unwrap();
    assert!(after.is_sound(), "{:?}", after.store.damage);
    bed.rollback(&old);
    assert_eq!(
        (bed.text("d/gone"), fs::read(bed.ws.join("d/kept")).unwrap()),
        ("only the copy has it".into(), noise(1, 50_000))
    );
}
