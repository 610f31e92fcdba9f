//! Rollback, undo, redo and restore.

use std::os::unix::fs::PermissionsExt;

use belay_session::store::{LeftReason, MtimePolicy};
use belay_session::{Error, Goal, Kind, RewindKind, SnapshotRequest, Stage};
use belay_testkit::{Ignore, RogueAgent, assert_same_world, small_project};

use crate::bed::{Bed, request, work};

#[test]
fn a_wrecked_project_comes_back_and_the_wreck_too() {
    let bed = Bed::new();
    small_project(bed.ws.path());
    let good = bed.snap_all();
    let before = bed.ws.walk();
    RogueAgent::wreck(bed.ws.path());
    let wreck = bed.ws.walk();
    let outcome = bed.rollback(&good);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert!(outcome.left.is_empty(), "{:?}", outcome.left);
    let safety = outcome.safety.unwrap();
    assert_eq!((safety.kind, outcome.kind), (Kind::Safety, RewindKind::Rollback));
    bed.rewind(Goal::Undo).unwrap();
    assert_same_world(&wreck, &bed.ws.walk(), Ignore::default());
    bed.rewind(Goal::Redo).unwrap();
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn a_second_rollback_does_nothing_and_leaves_no_trace() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let good = bed.snap();
    bed.ws.file("a", "2");
    bed.rollback(&good);
    let (ids, ctime) = (bed.ids(), std::fs::metadata(bed.ws.join("a")).unwrap());
    let outcome = bed.rollback(&good);
    assert_eq!((outcome.changed, outcome.safety), (0, None));
    assert_eq!(bed.ids(), ids);
    use std::os::unix::fs::MetadataExt;
    let after = std::fs::metadata(bed.ws.join("a")).unwrap();
    assert_eq!((after.ctime(), after.ctime_nsec()), (ctime.ctime(), ctime.ctime_nsec()));
}

#[test]
fn undo_goes_back_step_by_step_and_redo_forward() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let one = bed.snap();
    bed.ws.file("a", "2");
    let two = bed.snap();
    bed.ws.file("a", "3");
    bed.rollback(&two);
    bed.rollback(&one);
    let mut seen = vec![bed.text("a")];
    for goal in [Goal::Undo, Goal::Undo, Goal::Redo, Goal::Redo, Goal::Undo] {
        bed.rewind(goal).unwrap();
        seen.push(bed.text("a"));
    }
    assert_eq!(seen, ["1", "2", "3", "2", "1", "2"]);
    bed.rewind(Goal::Undo).unwrap();
    assert!(matches!(bed.rewind(Goal::Undo), Err(Error::NothingTo("undo"))));
    assert_eq!(bed.text("a"), "3");
    let kinds: Vec<_> = bed.open().timeline().unwrap().rewinds().iter().map(|rewind| rewind.kind.name()).collect();
    assert_eq!(kinds, ["rollback", "rollback", "undo", "undo", "redo", "redo", "undo", "undo"]);
}

#[test]
fn what_came_after_the_rollback_is_not_lost_by_undoing_it() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let one = bed.snap();
    bed.ws.file("a", "2");
    bed.rollback(&one);
    bed.ws.file("new", "work of an hour");
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!((bed.text("a").as_str(), bed.text("new").as_str()), ("2", "<entity not found>"));
    bed.rewind(Goal::Redo).unwrap();
    assert_eq!((bed.text("a").as_str(), bed.text("new").as_str()), ("1", "work of an hour"));
}

#[test]
fn without_a_name_it_is_the_run_and_else_the_latest_that_is_no_safety_snapshot() {
    let bed = Bed::new();
    assert!(matches!(bed.rewind(Goal::To(None)), Err(Error::NoSnapshots)));
    assert!(matches!(bed.rewind(Goal::Undo), Err(Error::NothingTo("undo"))));
    bed.ws.file("a", "good");
    bed.snap();
    bed.ws.file("a", "wreck");
    bed.rewind(Goal::To(None)).unwrap();
    bed.ws.file("a", "wreck again");
    bed.rewind(Goal::To(None)).unwrap();
    assert_eq!(bed.text("a"), "good");
    bed.ws.file("a", "before the run");
    bed.take(&SnapshotRequest { kind: Kind::PreRun, ..SnapshotRequest::default() }).unwrap();
    bed.ws.file("a", "during the run");
    bed.snap();
    bed.rewind(Goal::To(None)).unwrap();
    assert_eq!(bed.text("a"), "before the run");
}

#[test]
fn only_the_paths_that_are_meant_change_and_undo_knows_them() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("dir/b", "1").file("c", "1");
    let one = bed.snap();
    bed.ws.file("a", "2").file("dir/b", "2").file("dir/new", "2").file("c", "2");
    bed.rewind_part(Goal::To(Some(one.id.clone())), &["a", "dir"]).unwrap();
    let texts = |bed: &Bed| ["a", "dir/b", "dir/new", "c"].map(|path| bed.text(path));
    assert_eq!(texts(&bed), ["1", "1", "<entity not found>", "2"]);
    bed.ws.file("c", "3");
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!(texts(&bed), ["2", "2", "2", "3"]);
}

#[test]
fn restore_brings_files_back_and_refuses_what_the_snapshot_lacks() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("b", "1");
    let one = bed.snap();
    bed.ws.remove("a").file("b", "2").file("c", "2");
    let outcome = bed.rewind_part(Goal::Files(one.id.clone()), &["a"]).unwrap();
    assert_eq!((outcome.kind, outcome.changed), (RewindKind::Restore, 1));
    assert_eq!((bed.text("a").as_str(), bed.text("b").as_str()), ("1", "2"));
    let missing = bed.rewind_part(Goal::Files(one.id.clone()), &["c"]);
    assert!(matches!(missing, Err(Error::NotInSnapshot { .. })));
    let nowhere = bed.rewind_part(Goal::To(Some(one.id.clone())), &["zzz"]);
    assert!(matches!(nowhere, Err(Error::NotInSnapshot { .. })));
    bed.rewind_part(Goal::To(Some(one.id)), &["c"]).unwrap();
    assert_eq!(bed.text("c"), "<entity not found>", "a rollback of a path removes what was not there");
}

#[test]
fn what_the_snapshot_did_not_claim_is_never_touched() {
    let bed = Bed::new();
    bed.ws.dir(".git").file(".gitignore", "node_modules\n").file("package.json", "{}");
    bed.ws.file("node_modules/x", "1").file("src/a", "1");
    let one = bed.snap();
    bed.ws.file("node_modules/x", "2").file("node_modules/y", "2").file("src/a", "2").remove(".gitignore");
    bed.rollback(&one);
    let texts = ["node_modules/x", "node_modules/y", "src/a", ".gitignore"].map(|path| bed.text(path));
    assert_eq!(texts, ["2", "2", "1", "node_modules\n"]);
}

#[test]
fn what_the_target_has_is_captured_first_although_todays_filter_leaves_it_out() {
    let bed = Bed::new();
    bed.ws.dir(".git").file("package.json", "{}").file("node_modules/x", "precious");
    let one = bed.snap();
    bed.ws.file("node_modules/x", "precious too").file(".gitignore", "node_modules\n");
    bed.rollback(&one);
    assert_eq!(bed.text("node_modules/x"), "precious");
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!(bed.text("node_modules/x"), "precious too");
}

#[test]
fn the_plan_says_what_the_rollback_then_does() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("b", "1");
    let one = bed.snap();
    bed.ws.file("a", "2").remove("b").file("c", "2");
    let workspace = bed.open();
    let before = bed.ws.walk();
    let goal = Goal::To(Some(one.id.clone()));
    let plan = workspace.plan_rewind(&request(goal.clone(), &[]), work()).unwrap();
    let shown: Vec<_> = plan.plan.steps.paths().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    assert_eq!((shown, plan.target.id), (vec!["a".to_owned(), "b".into(), "c".into()], one.id));
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.ids().len(), 1, "a plan takes no snapshot");
    let mut stages = Vec::new();
    let outcome = workspace.rewind(&request(goal, &[]), work(), &mut |stage| {
        stages.push(match stage {
            Stage::Capturing => "capturing".to_owned(),
            Stage::Captured(safety) => format!("captured {:?}", safety.kind),
            Stage::Restoring(_) => "restoring".to_owned(),
            Stage::Restored => "restored".to_owned(),
        });
    });
    assert_eq!(outcome.unwrap().changed, 3);
    assert_eq!(stages, ["capturing", "captured Safety", "restoring", "restored"]);
}

#[test]
fn old_times_come_back_only_with_the_build_outputs_of_their_time() {
    let bed = Bed::new();
    bed.ws.dir(".git").file(".gitignore", "node_modules\n").file("package.json", "{}").file("node_modules/x", "1");
    bed.ws.file("a", "1");
    let (usual, all) = (bed.snap(), bed.snap_all());
    let mtime = |snapshot: &belay_session::Snapshot| {
        bed.open().plan_rewind(&request(Goal::To(Some(snapshot.id.clone())), &[]), work()).unwrap().mtime
    };
    assert_eq!((mtime(&usual), mtime(&all)), (MtimePolicy::Fresh, MtimePolicy::Exact));
}

#[test]
fn unreadable_in_the_snapshot_means_untouched_later() {
    if belay_testkit::is_root() {
        return belay_testkit::skip("root reads everything");
    }
    let bed = Bed::new();
    bed.ws.file_mode("secret", "1", 0o000).file("a", "1");
    let one = bed.snap();
    assert_eq!(one.gaps, 1);
    bed.ws.mode("secret", 0o600).file("secret", "2").file("a", "2");
    let outcome = bed.rollback(&one);
    // Its mode is known and comes back; its bytes are not.
    bed.ws.mode("secret", 0o600);
    assert_eq!((bed.text("secret").as_str(), bed.text("a").as_str()), ("2", "1"));
    assert_eq!(outcome.left[0].reason, LeftReason::NotCaptured);
    // What is gone cannot be left alone.
    bed.ws.remove("secret");
    assert_eq!(bed.rollback(&one).left[0].reason, LeftReason::Missed);
}

#[test]
fn a_snapshot_can_be_extracted_elsewhere() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("dir/b", "2");
    let one = bed.snap();
    bed.ws.remove("a");
    let to = bed.ws.base().join("extracted");
    bed.open().extract(&one, &[], &to, work()).unwrap();
    assert_eq!(std::fs::read_to_string(to.join("dir/b")).unwrap(), "2");
    let part = bed.ws.base().join("part");
    bed.open().extract(&one, &[b"dir".to_vec()], &part, work()).unwrap();
    assert!(part.join("dir/b").exists() && !part.join("a").exists());
    assert!(bed.open().extract(&one, &[], &to, work()).is_err(), "the directory is not empty");
}

#[test]
fn two_rollbacks_of_one_workspace_do_not_mix() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let one = bed.snap();
    bed.ws.file("a", "2");
    let other = bed.other_process(9);
    let workspace = bed.open();
    workspace
        .rewind(&request(Goal::To(Some(one.id.clone())), &[]), work(), &mut |stage| {
            if matches!(stage, Stage::Restoring(_)) {
                let second = other.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
                let result = second.rewind(&request(Goal::Undo, &[]), work(), &mut |_| {});
                assert!(matches!(result, Err(Error::RollbackBusy)));
                assert!(second.recover(work()).unwrap().is_empty(), "nobody died");
            }
        })
        .unwrap();
    assert_eq!(bed.text("a"), "1");
}

/// A workspace in which a file and a directory were changed and then shut, and others made and shut, as an ordinary user
/// sees it.
fn shut_bed() -> Option<(Bed, belay_session::Snapshot)> {
    if belay_testkit::is_root() {
        belay_testkit::skip("root reads everything");
        return None;
    }
    let bed = Bed::new();
    bed.ws.file("f", "old\n").file("d/inner/g", "old\n").file("d/h", "old\n").file("same", "same\n").file("a", "1");
    let one = bed.snap();
    bed.ws.file("f", "new\n").file("d/inner/g", "new\n").file("d/h", "new\n").file("d/more", "new\n").file("a", "2");
    bed.ws.file("made/in/x", "new\n").file("only", "new\n");
    bed.ws.mode("f", 0).mode("d/inner/g", 0).mode("d/inner", 0).mode("d", 0).mode("same", 0);
    bed.ws.mode("made/in", 0o100).mode("made", 0).mode("only", 0o200);
    Some((bed, one))
}

#[test]
fn what_was_changed_and_then_shut_comes_back_in_one_rollback_and_so_does_the_undo() {
    let Some((bed, one)) = shut_bed() else { return };
    let outcome = bed.rollback(&one);
    assert_eq!(outcome.left, []);
    for (path, text) in [("f", "old\n"), ("d/inner/g", "old\n"), ("d/h", "old\n"), ("same", "same\n"), ("a", "1")] {
        assert_eq!(bed.text(path), text, "{path}");
    }
    for gone in ["d/more", "made", "only"] {
        assert!(!bed.ws.join(gone).exists(), "{gone}");
    }
    let again = bed.rollback(&one);
    assert_eq!((again.changed, again.safety), (0, None), "nothing is left to do");
    bed.open().rewind(&request(Goal::Undo, &[]), work(), &mut |_| {}).unwrap();
    let mode = |path: &str| std::fs::symlink_metadata(bed.ws.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("f"), mode("d"), mode("same")), (0, 0, 0));
    assert_eq!((mode("made"), mode("only")), (0, 0o200));
    bed.ws.mode("made", 0o700).mode("only", 0o600);
    assert_eq!(mode("made/in"), 0o100);
    bed.ws.mode("made/in", 0o700);
    assert_eq!((bed.text("made/in/x").as_str(), bed.text("only").as_str()), ("new\n", "new\n"));
    bed.ws.mode("d", 0o700).mode("f", 0o600);
    assert_eq!((mode("d/inner"), bed.text("f").as_str()), (0, "new\n"));
    bed.ws.mode("d/inner", 0o700);
    assert_eq!(mode("d/inner/g"), 0);
    bed.ws.mode("d/inner/g", 0o600);
    assert_eq!((bed.text("d/inner/g").as_str(), bed.text("d/more").as_str()), ("new\n", "new\n"));
}

#[test]
fn what_was_shut_is_not_lost_wherever_the_rollback_that_opens_it_dies() {
    let mut died = 0;
    for after in 1..200 {
        let Some((bed, one)) = shut_bed() else { return };
        let faults = belay_session::store::Faults::default();
        faults.after.store(after, std::sync::atomic::Ordering::Relaxed);
        let goal = request(Goal::To(Some(one.id.clone())), &[]);
        if bed.open().rewind_until(&goal, work(), &mut |_| {}, Some(&faults)).is_ok() {
            break;
        }
        died += 1;
        bed.open().recover(work()).unwrap();
        // Whatever is there now: one more rollback reaches the target, and every new text is in some snapshot.
        bed.rollback(&one);
        assert_eq!((bed.text("f").as_str(), bed.text("d/inner/g").as_str()), ("old\n", "old\n"), "{after}");
        let kept = |path: &str| {
            let workspace = bed.open();
            let timeline = workspace.timeline().unwrap();
            timeline.snapshots().iter().any(|snapshot| {
                let to = bed.ws.base().join(format!("out-{after}-{}", snapshot.id));
                let paths = [path.as_bytes().to_vec()];
                let is_out = workspace.extract(snapshot, &paths, &to, work()).is_ok();
                let ways = std::path::Path::new(path).ancestors().collect::<Vec<_>>();
                for way in ways.iter().rev().filter(|way| !way.as_os_str().is_empty()) {
                    let _ = std::fs::set_permissions(to.join(way), std::fs::Permissions::from_mode(0o700));
                }
                is_out && std::fs::read(to.join(path)).is_ok_and(|text| text == b"new\n")
            })
        };
        for path in ["f", "only", "made/in/x"] {
            assert!(kept(path), "the new text of {path} is lost, after {after} changes");
        }
        assert!(!bed.ws.join("made").exists() && !bed.ws.join("only").exists(), "{after}");
    }
    assert!(died > 10 || belay_testkit::is_root(), "only {died} deaths");
}
