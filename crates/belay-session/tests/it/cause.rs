//! Taking back one command or one turn, and keeping what came later.

use std::sync::atomic::Ordering;

use belay_event::Action;
use belay_session::store::{Clash, Conflict, Faults};
use belay_session::{Error, Goal, Kind, RevertRequest, Reverted, RewindKind, StepName};

use belay_testkit::assert_same_world;

use crate::bed::{Bed, work};
use crate::past::Past;
use crate::recover::BUT_TIMES;

fn command(number: u64) -> RevertRequest {
    RevertRequest { step: StepName::Command { run: None, number }, mtime: None }
}

fn from(name: &str) -> RevertRequest {
    RevertRequest { step: StepName::From(name.into()), mtime: None }
}

fn revert(bed: &Bed, request: &RevertRequest) -> Reverted {
    bed.open().revert(request, work(), &mut |_| {}).unwrap()
}

fn conflicts(found: &[Conflict]) -> Vec<(String, Clash, Option<String>)> {
    let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
    found.iter().map(|one| (text(&one.path), one.clash, one.beside.as_ref().map(text))).collect()
}

const LINES: &str = "1\n2\n3\n4\n5\n";

#[test]
fn a_command_is_taken_back_and_later_lines_stay() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    bed.ws.file("doomed", "x");
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "sed -i s/1/X/ a");
    past.write(Some(bad), "a", "X\n2\n3\n4\n5\n");
    past.write(Some(bad), "made", "m");
    past.remove(Some(bad), "doomed");
    past.exit(bad);
    past.snap(Kind::Auto, Some(bad));
    past.run("sed -i s/5/five/ a", &[("a", "X\n2\n3\n4\nfive\n"), ("later", "l")]);
    let before = bed.ws.walk();
    let plan = bed.open().plan_revert(&command(bad), work()).unwrap();
    let planned: Vec<&[u8]> = plan.changes.iter().map(|change| change.path.as_slice()).collect();
    assert_eq!(planned, [&b"a"[..], b"doomed", b"made"]);
    assert_same_world(&before, &bed.ws.walk(), belay_testkit::Ignore::default());
    let reverted = revert(&bed, &command(bad));
    assert_eq!(conflicts(&reverted.conflicts), []);
    assert_eq!(bed.text("a"), "1\n2\n3\n4\nfive\n");
    assert_eq!((bed.text("doomed").as_str(), bed.text("later").as_str()), ("x", "l"));
    assert!(!bed.ws.join("made").exists());
    let outcome = reverted.outcome.unwrap();
    assert_eq!((outcome.kind, outcome.changed, outcome.left), (RewindKind::Revert, 3, vec![]));
    assert!(reverted.step.what.contains("sed -i s/1/X/ a"));
    let again = revert(&bed, &command(bad));
    assert!(again.outcome.is_none() && again.conflicts.is_empty());
}

#[test]
fn undo_takes_it_back_and_redo_does_it_again() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    let bad = past.run("sed", &[("a", "X\n2\n3\n4\n5\n")]);
    past.snap(Kind::Auto, Some(bad));
    past.run("sed", &[("a", "X\n2\n3\n4\nfive\n")]);
    revert(&bed, &command(bad));
    bed.ws.file("unrelated", "typed since");
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!(bed.text("a"), "X\n2\n3\n4\nfive\n");
    assert_eq!(bed.text("unrelated"), "typed since");
    bed.rewind(Goal::Redo).unwrap();
    assert_eq!(bed.text("a"), "1\n2\n3\n4\nfive\n");
}

#[test]
fn a_conflict_keeps_both_versions() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    let bad = past.run("sed", &[("a", "X\n2\n3\n4\n5\n")]);
    past.snap(Kind::Auto, Some(bad));
    past.run("sed", &[("a", "Y\n2\n3\n4\n5\n")]);
    let reverted = revert(&bed, &command(bad));
    let beside = format!("a.before-command-{bad}");
    assert_eq!(conflicts(&reverted.conflicts), [("a".into(), Clash::BothChanged, Some(beside.clone()))]);
    assert_eq!((bed.text("a").as_str(), bed.text(&beside).as_str()), ("Y\n2\n3\n4\n5\n", LINES));
    bed.rewind(Goal::Undo).unwrap();
    assert!(!bed.ws.join(&beside).exists());
}

#[test]
fn two_commands_between_the_same_snapshots_are_told_apart_by_path_or_not_at_all() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    bed.ws.file("b", "b");
    let mut past = Past::new(&bed);
    let first = past.run("one", &[("a", "X\n2\n3\n4\n5\n"), ("b", "B")]);
    past.run("two", &[("a", "X\n2\n3\n4\nY\n"), ("c", "c")]);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(first));
    assert_eq!(conflicts(&reverted.conflicts)[0].1, Clash::Doubtful);
    assert_eq!((bed.text("a").as_str(), bed.text("b").as_str()), ("X\n2\n3\n4\nY\n", "b"));
    assert_eq!(bed.text("c"), "c");
}

#[test]
fn what_another_command_put_into_a_new_directory_while_a_snapshot_was_taken_stays() {
    let bed = Bed::new();
    let mut past = Past::new(&bed);
    let made = past.exec(Some(1), "mkdir new");
    past.mkdir(made, "new");
    past.exit(made);
    past.slow_snap(|| {
        past.write(Some(1), "new/x", "kept");
        bed.ws.file("new/late", "kept");
    });
    // The kernel told of it when the snapshot was done.
    past.change(Some(1), Action::Created, "new/late");
    past.exit(1);
    revert(&bed, &command(made));
    assert_eq!((bed.text("new/x").as_str(), bed.text("new/late").as_str()), ("kept", "kept"));
}

#[test]
fn what_a_command_removed_comes_back_in_its_place_although_another_had_changed_it() {
    let bed = Bed::new();
    bed.ws.file("d/a", LINES);
    bed.ws.file("d/b", "b");
    let mut past = Past::new(&bed);
    let edit = past.run("edit", &[("d/a", "X\n2\n3\n4\n5\n")]);
    let gone = past.exec(Some(1), "rm d/a d/b");
    past.remove(Some(gone), "d/a");
    past.remove(Some(gone), "d/b");
    past.exit(gone);
    past.snap(Kind::Auto, Some(gone));
    let reverted = revert(&bed, &command(gone));
    assert_eq!(conflicts(&reverted.conflicts), [("d/a".into(), Clash::Doubtful, Some("d/a".into()))]);
    assert_eq!((bed.text("d/a").as_str(), bed.text("d/b").as_str()), (LINES, "b"));
    bed.rewind(Goal::Undo).unwrap();
    assert!(!bed.ws.join("d/a").exists());
    // What was removed later stays removed when an earlier command is taken back.
    revert(&bed, &command(edit));
    assert!(!bed.ws.join("d/a").exists() && bed.ws.join(format!("d/a.before-command-{edit}")).exists());
}

#[test]
fn what_a_command_started_belongs_to_it_and_somebody_else_does_not() {
    let bed = Bed::new();
    bed.ws.file("mine", "1");
    bed.ws.file("human", "1");
    let mut past = Past::new(&bed);
    let shell = past.exec(Some(1), "sh -c x");
    let child = past.exec(Some(shell), "tee");
    past.write(Some(child), "mine", "2");
    past.write(None, "human", "2");
    past.exit(child);
    past.exit(shell);
    // Nothing was captured since: the present is what the command left.
    revert(&bed, &command(shell));
    assert_eq!((bed.text("mine").as_str(), bed.text("human").as_str()), ("1", "2"));
}

#[test]
fn a_turn_is_taken_back_up_to_the_next() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    past.turn(1, "make it better");
    past.run("sed", &[("a", "X\n2\n3\n4\n5\n"), ("one", "1")]);
    past.turn(2, "and now five");
    past.run("sed", &[("a", "X\n2\n3\n4\nfive\n"), ("two", "2")]);
    past.write(None, "human", "typed");
    revert(&bed, &from("@turn-1"));
    assert_eq!(bed.text("a"), "1\n2\n3\n4\nfive\n");
    assert!(!bed.ws.join("one").exists() && bed.ws.join("two").exists());
    revert(&bed, &from("@turn-2"));
    assert_eq!(bed.text("a"), LINES);
    assert!(!bed.ws.join("two").exists());
    assert_eq!(bed.text("human"), "typed");
}

#[test]
fn a_step_between_two_snapshots_needs_no_run() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let one = bed.snap();
    bed.ws.file("a", "X\n2\n3\n4\n5\n");
    bed.snap();
    bed.ws.file("a", "X\n2\n3\n4\nfive\n");
    revert(&bed, &from(&one.id));
    assert_eq!(bed.text("a"), "1\n2\n3\n4\nfive\n");
}

#[test]
fn a_death_at_any_change_is_finished_by_the_next_command() {
    let prepare = || {
        let bed = Bed::new();
        bed.ws.file("a", LINES).file("dir/gone", "g").file("b", LINES);
        let mut past = Past::new(&bed);
        let bad = past.exec(Some(1), "x");
        for (path, text) in [("a", "X\n2\n3\n4\n5\n"), ("b", "X\n"), ("made/deep", "m")] {
            past.write(Some(bad), path, text);
        }
        past.remove(Some(bad), "dir/gone");
        past.exit(bad);
        past.snap(Kind::Auto, Some(bad));
        past.run("y", &[("a", "X\n2\n3\n4\nfive\n"), ("b", "Y\n")]);
        drop(past);
        (bed, bad)
    };
    let (whole, bad) = prepare();
    revert(&whole, &command(bad));
    let wanted = whole.ws.walk();
    let mut deaths = 0;
    for n in 1.. {
        let (bed, bad) = prepare();
        let before = bed.ws.walk();
        let faults = Faults::default();
        faults.after.store(n, Ordering::Relaxed);
        match bed.open().revert_until(&command(bad), work(), &mut |_| {}, Some(&faults)) {
            Ok(_) => break,
            Err(Error::Store(_)) => deaths += 1,
            Err(error) => panic!("{error}"),
        }
        let recovered = bed.open().recover(work()).unwrap();
        assert_eq!((recovered.len(), &recovered[0].failed), (1, &None), "death at change {n}");
        assert_same_world(&wanted, &bed.ws.walk(), BUT_TIMES);
        bed.rewind(Goal::Undo).unwrap();
        assert_same_world(&before, &bed.ws.walk(), BUT_TIMES);
    }
    assert!(deaths > 5, "taking it back has many changes: {deaths}");
}

#[test]
fn what_cannot_be_taken_back_is_said_and_nothing_is_touched() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let error = |request: &RevertRequest| bed.open().revert(request, work(), &mut |_| {}).unwrap_err();
    assert!(matches!(error(&command(1)), Error::NoRun));
    let mut past = Past::new(&bed);
    let idle = past.run("ls", &[]);
    assert!(matches!(error(&command(9)), Error::UnknownCommand { number: 9, count: 2, .. }));
    assert!(matches!(error(&command(idle)), Error::NothingChanged { .. }));
    let busy = past.run("sed", &[("a", "2")]);
    let ids = bed.ids();
    bed.open().delete(&ids).unwrap();
    assert!(matches!(error(&command(busy)), Error::NoneBefore { .. }));
    assert_eq!(bed.text("a"), "2");
}

#[test]
fn what_came_and_went_between_two_snapshots_is_said_to_be_lost() {
    let bed = Bed::new();
    bed.ws.file("kept", "k");
    let mut past = Past::new(&bed);
    past.run("tee", &[("new", "n"), ("again", "1")]);
    let bad = past.exec(Some(1), "rm");
    for path in ["new", "kept", "again"] {
        past.remove(Some(bad), path);
    }
    past.write(Some(bad), "own", "o");
    past.remove(Some(bad), "own");
    past.exit(bad);
    past.run("tee", &[("again", "2")]);
    past.snap(Kind::Auto, Some(bad));
    let lost = ("new".into(), Clash::Unseen, None);
    let plan = bed.open().plan_revert(&command(bad), work()).unwrap();
    assert!(conflicts(&plan.conflicts).contains(&lost), "{:?}", plan.conflicts);
    let reverted = revert(&bed, &command(bad));
    let unseen = conflicts(&reverted.conflicts).into_iter().filter(|one| one.1 == Clash::Unseen);
    assert_eq!(unseen.collect::<Vec<_>>(), [lost]);
    assert_eq!(bed.text("kept"), "k");
}

#[test]
fn a_directory_that_comes_back_counts_its_files() {
    let bed = Bed::new();
    bed.ws.file("src/a", "12345").file("src/deep/b", "123");
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "rm -rf src");
    for path in ["src/a", "src/deep/b"] {
        past.remove(Some(bad), path);
    }
    std::fs::remove_dir(bed.ws.join("src/deep")).unwrap();
    std::fs::remove_dir(bed.ws.join("src")).unwrap();
    past.change(Some(bad), Action::Deleted, "src/deep");
    past.change(Some(bad), Action::Deleted, "src");
    past.exit(bad);
    past.snap(Kind::Auto, Some(bad));
    let plan = bed.open().plan_revert(&command(bad), work()).unwrap();
    let top = plan.changes.iter().find(|change| change.path == b"src").unwrap();
    let kind = &top.after.as_ref().unwrap().kind;
    assert!(matches!(kind, belay_session::store::Kind::Dir { files: 2, bytes: 8, .. }), "{kind:?}");
}

#[test]
fn changes_that_nobody_could_be_given_are_named_with_a_way_to_take_them_back() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let mut past = Past::new(&bed);
    let idle = past.run("rm", &[]);
    let before = past.snap(Kind::Auto, None);
    past.unknown(Action::Deleted, "a");
    let error = bed.open().plan_revert(&command(idle), work()).unwrap_err();
    let Error::NothingChanged { unknown: 1, step: Some(step), .. } = error else { panic!("{error:?}") };
    assert_eq!(step, before.id);
}

#[test]
fn what_was_removed_while_nobody_else_was_there_is_the_commands() {
    let bed = Bed::new();
    bed.ws.file("d/a", "a").file("d/b", "b").file("e", "e");
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "rm -rf d e");
    past.remove(Some(bad), "d/a");
    past.vanish("d/b");
    past.rmdir(None, "d");
    past.vanish("e");
    past.exit(bad);
    past.snap(Kind::Auto, Some(bad));
    let reverted = revert(&bed, &command(bad));
    assert_eq!(conflicts(&reverted.conflicts), []);
    assert_eq!([bed.text("d/a"), bed.text("d/b"), bed.text("e")], ["a", "b", "e"]);
}

#[test]
fn what_vanished_while_others_were_there_comes_back_with_its_directory_or_is_named() {
    let bed = Bed::new();
    bed.ws.file("d/a", "a").file("d/b", "b").file("e/one", "1").file("e/two", "2").file("f", "f");
    let mut past = Past::new(&bed);
    let other = past.exec(Some(1), "make");
    let bad = past.exec(Some(1), "rm -rf d e");
    for path in ["d/a", "e/one"] {
        past.remove(Some(bad), path);
    }
    past.vanish("d/b");
    past.rmdir(Some(bad), "d");
    past.vanish("e/two");
    past.rmdir(None, "e");
    past.remove(Some(other), "f");
    past.exit(bad);
    past.exit(other);
    past.snap(Kind::Auto, Some(bad));
    let reverted = revert(&bed, &command(bad));
    assert_eq!([bed.text("d/a"), bed.text("d/b"), bed.text("e/one")], ["a", "b", "1"]);
    assert_eq!(conflicts(&reverted.conflicts), [("e/two".into(), Clash::Doubtful, None)]);
    assert!(!bed.ws.join("f").exists(), "somebody else is known to have removed it");
}

#[test]
fn what_vanished_while_a_command_ran_is_named_if_nothing_is_known_to_be_its_own() {
    let bed = Bed::new();
    bed.ws.file("d/a", "a").file("e", "e");
    let mut past = Past::new(&bed);
    let before = past.snap(Kind::Auto, None);
    past.exec(Some(1), "make");
    let bad = past.exec(Some(1), "rm -rf d e");
    past.vanish("d/a");
    past.rmdir(None, "d");
    past.vanish("e");
    past.exit(bad);
    let error = bed.open().plan_revert(&command(bad), work()).unwrap_err();
    let Error::NothingChanged { before: Some(found), removed, .. } = error else { panic!("{error:?}") };
    assert_eq!((found, removed), (before.id, vec![b"d".to_vec(), b"e".to_vec()]));
}

#[test]
fn what_another_command_moved_into_a_directory_of_the_step_stays() {
    let bed = Bed::new();
    bed.ws.file("lib/f1", "precious").file("lib/deep/f2", "precious");
    let mut past = Past::new(&bed);
    let made = past.exec(Some(1), "mkdir src");
    past.mkdir(made, "src");
    past.write(Some(made), "src/own", "o");
    past.exit(made);
    let moved = past.exec(Some(1), "mv lib src/lib");
    past.rename(moved, "lib", "src/lib");
    past.exit(moved);
    past.snap(Kind::Auto, None);
    revert(&bed, &command(made));
    assert_eq!([bed.text("src/lib/f1"), bed.text("src/lib/deep/f2")], ["precious", "precious"]);
    assert!(!bed.ws.join("src/own").exists() && !bed.ws.join("lib").exists());
}

#[test]
fn nested_moves_of_two_commands_are_taken_back_one_by_one() {
    let prepare = || {
        let bed = Bed::new();
        bed.ws.file("lib/f", "f").file("pkg/p", "p").file("pkg/sub/s", "s");
        let mut past = Past::new(&bed);
        let first = past.exec(Some(1), "mv pkg src");
        past.rename(first, "pkg", "src");
        past.exit(first);
        let second = past.exec(Some(1), "mv lib src; mv src/sub away");
        past.rename(second, "lib", "src/lib");
        past.rename(second, "src/sub", "away");
        past.exit(second);
        past.snap(Kind::Auto, None);
        drop(past);
        (bed, first, second)
    };
    let (bed, first, _) = prepare();
    assert_eq!(conflicts(&revert(&bed, &command(first)).conflicts), []);
    assert_eq!([bed.text("pkg/p"), bed.text("src/lib/f"), bed.text("away/s")], ["p", "f", "s"]);
    assert!(!bed.ws.join("src/p").exists() && !bed.ws.join("lib").exists());
    assert!(!bed.ws.join("pkg/sub").exists(), "the other command moved it away");
    let (bed, _, second) = prepare();
    revert(&bed, &command(second));
    assert_eq!([bed.text("lib/f"), bed.text("src/p")], ["f", "p"]);
    assert!(!bed.ws.join("src/lib").exists());
    assert_eq!(bed.text("src/sub/s"), "s", "where the command found it, although no snapshot has it there");
    assert!(!bed.ws.join("away").exists());
}

#[test]
fn what_a_command_changed_in_a_directory_that_another_had_moved_is_taken_back() {
    let bed = Bed::new();
    bed.ws.file("old/x", "1");
    let mut past = Past::new(&bed);
    let moved = past.exec(Some(1), "mv old new");
    past.rename(moved, "old", "new");
    past.exit(moved);
    let edit = past.run("edit", &[("new/x", "2"), ("new/own", "o")]);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(edit));
    assert_eq!(conflicts(&reverted.conflicts), []);
    assert_eq!(bed.text("new/x"), "1");
    assert!(!bed.ws.join("new/own").exists());
}

#[test]
fn what_was_changed_while_a_snapshot_was_taken_is_not_taken_for_being_in_it() {
    let bed = Bed::new();
    bed.ws.file("a", "1\n2\n3\n4\n5\n").file("b", "1");
    let mut past = Past::new(&bed);
    let early = past.exec(Some(1), "sed -i s/1/B/ a");
    // The capture had gone by already when the command wrote.
    past.slow_snap(|| past.change(Some(early), Action::Modified, "a"));
    bed.ws.file("a", "B\n2\n3\n4\n5\n");
    past.exit(early);
    let late = past.run("sed -i s/5/C/ a", &[("a", "B\n2\n3\n4\nC\n"), ("b", "2")]);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(late));
    let beside = format!("a.before-command-{late}");
    assert_eq!(conflicts(&reverted.conflicts), [("a".into(), Clash::Doubtful, Some(beside))]);
    assert_eq!([bed.text("a"), bed.text("b")], ["B\n2\n3\n4\nC\n", "1"]);
}

#[test]
fn a_turn_leaves_what_somebody_outside_changed_while_its_snapshot_was_taken() {
    let bed = Bed::new();
    bed.ws.file("human", "1").file("a", "1");
    let mut past = Past::new(&bed);
    let turn = past.slow_snap(|| past.change(None, Action::Modified, "human"));
    bed.ws.file("human", "2");
    past.run("edit", &[("a", "2")]);
    past.snap(Kind::Auto, None);
    revert(&bed, &from(&turn.id));
    assert_eq!([bed.text("human"), bed.text("a")], ["2", "1"]);
}

#[test]
fn what_others_put_into_a_directory_that_took_the_place_of_a_file_stays() {
    let bed = Bed::new();
    bed.ws.file("f", "orig");
    let mut past = Past::new(&bed);
    let retyped = past.exec(Some(1), "python");
    past.remove(Some(retyped), "f");
    past.mkdir(retyped, "f");
    past.write(Some(retyped), "f/in", "1");
    past.exit(retyped);
    past.run("cp keep f/later", &[("f/later", "precious")]);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(retyped));
    let beside = format!("f.before-command-{retyped}");
    assert_eq!(conflicts(&reverted.conflicts), [("f".into(), Clash::Doubtful, Some(beside.clone()))]);
    assert_eq!([bed.text("f/later"), bed.text(&beside)], ["precious", "orig"]);
}

fn inode(bed: &Bed, path: &str) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(bed.ws.join(path)).unwrap())
}

/// Writes into the file itself, whatever else it is called.
fn write_through(past: &Past<'_>, bed: &Bed, command: Option<u64>, path: &str, text: &str) {
    std::fs::write(bed.ws.join(path), text).unwrap();
    past.change(command, Action::Modified, path);
}

#[test]
fn all_names_of_a_file_go_back_together_and_it_stays_one_file() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    std::fs::hard_link(bed.ws.join("a"), bed.ws.join("b")).unwrap();
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "tee a");
    write_through(&past, &bed, Some(bad), "a", "X\n2\n3\n4\n5\n");
    past.exit(bad);
    past.snap(Kind::Auto, None);
    assert_eq!(conflicts(&revert(&bed, &command(bad)).conflicts), []);
    assert_eq!([bed.text("a"), bed.text("b")], [LINES, LINES]);
    assert_eq!(inode(&bed, "a"), inode(&bed, "b"));
    bed.rewind(Goal::Undo).unwrap();
    // What came later through the other name, and a name that came later, belong to it as well.
    let later = past.exec(Some(1), "tee b");
    write_through(&past, &bed, Some(later), "b", "X\n2\n3\n4\nfive\n");
    past.exit(later);
    std::fs::hard_link(bed.ws.join("a"), bed.ws.join("c")).unwrap();
    assert_eq!(conflicts(&revert(&bed, &command(bad)).conflicts), []);
    assert_eq!(["a", "b", "c"].map(|path| bed.text(path)), ["1\n2\n3\n4\nfive\n"; 3]);
    assert_eq!(["a", "b", "c"].map(|path| inode(&bed, path)), [inode(&bed, "a"); 3]);
}

#[test]
fn what_two_commands_did_to_one_file_by_different_names_is_not_told_apart() {
    let bed = Bed::new();
    bed.ws.file("a", "old");
    std::fs::hard_link(bed.ws.join("a"), bed.ws.join("b")).unwrap();
    let mut past = Past::new(&bed);
    let write = past.exec(Some(1), "tee a");
    write_through(&past, &bed, Some(write), "a", "new");
    past.exit(write);
    let mode = past.exec(Some(1), "chmod 600 b");
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(bed.ws.join("b"), closed).unwrap();
    past.change(Some(mode), Action::Modified, "b");
    past.exit(mode);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(mode));
    let clashes: Vec<_> = conflicts(&reverted.conflicts).into_iter().map(|(path, clash, _)| (path, clash)).collect();
    assert_eq!(clashes, [("a".into(), Clash::Doubtful), ("b".into(), Clash::Doubtful)]);
    assert_eq!([bed.text("a"), bed.text("b")], ["new", "new"]);
    assert_eq!(inode(&bed, "a"), inode(&bed, "b"));
}

#[test]
fn what_was_made_again_later_is_said_to_be() {
    let bed = Bed::new();
    bed.ws.file("d/f", "1");
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "rm d/f");
    past.remove(Some(bad), "d/f");
    past.exit(bad);
    past.snap(Kind::Auto, None);
    past.run("tee d/f", &[("d/f", "2")]);
    let beside = format!("d/f.before-command-{bad}");
    let reverted = revert(&bed, &command(bad));
    assert_eq!(conflicts(&reverted.conflicts), [("d/f".into(), Clash::MadeAgain, Some(beside.clone()))]);
    assert_eq!([bed.text("d/f"), bed.text(&beside)], ["2", "1"]);
}

#[test]
fn what_one_command_made_or_moved_and_another_moved_on_stays_and_is_listed() {
    let bed = Bed::new();
    bed.ws.file("a", "a").file("x", "x").file("d/in", "in");
    let mut past = Past::new(&bed);
    let first = past.exec(Some(1), "mv");
    past.rename(first, "a", "b");
    past.write(Some(first), "made", "m");
    past.rename(first, "d", "e");
    past.exit(first);
    let second = past.exec(Some(1), "mv");
    past.rename(second, "b", "c");
    past.rename(second, "made", "kept");
    past.rename(second, "e", "f");
    past.rename(second, "x", "y");
    past.exit(second);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, &command(second));
    assert_eq!(conflicts(&reverted.conflicts), [("kept".into(), Clash::MovedOn, None)]);
    assert_eq!(["b", "kept", "e/in", "x"].map(|path| bed.text(path)), ["a", "m", "in", "x"]);
    assert!(["c", "f", "y"].iter().all(|path| !bed.ws.join(path).exists()));
    bed.rewind(Goal::Undo).unwrap();
    // What it made goes wherever it is; what it moved was moved on.
    let reverted = revert(&bed, &command(first));
    let moved_on = |path: &str| (path.into(), Clash::MovedOn, None);
    assert_eq!(conflicts(&reverted.conflicts), [moved_on("c"), moved_on("f")]);
    assert_eq!(["c", "f/in"].map(|path| bed.text(path)), ["a", "in"]);
    assert!(["a", "d", "kept"].iter().all(|path| !bed.ws.join(path).exists()));
}

/// Writes a file that was last changed long ago.
fn old_file(bed: &Bed, path: &str, text: &str) {
    bed.ws.file(path, text);
    let file = std::fs::File::options().write(true).open(bed.ws.join(path)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
}

#[test]
fn a_snapshot_that_was_not_told_in_time_is_not_taken_for_what_the_command_left() {
    let bed = Bed::new();
    old_file(&bed, "edited", LINES);
    old_file(&bed, "saved", LINES);
    bed.ws.file("gone", "g");
    let mut past = Past::new(&bed);
    let bad = past.exec(Some(1), "bad");
    let snapshot = past.snap(Kind::Auto, None);
    bed.ws.file("edited", "X\n2\n3\n4\n5\n");
    std::fs::remove_file(bed.ws.join("gone")).unwrap();
    bed.ws.file("saved", "X\n2\n3\n4\n5\n");
    past.too_late_for(&snapshot, bad, Action::Modified, "edited", None);
    past.too_late_for(&snapshot, bad, Action::Created, "sedX", None);
    past.too_late_for(&snapshot, bad, Action::Renamed, "sedX", Some("saved"));
    past.too_late_for(&snapshot, bad, Action::Deleted, "gone", None);
    past.exit(bad);
    past.snap(Kind::Final, None);
    assert_eq!(conflicts(&revert(&bed, &command(bad)).conflicts), []);
    assert_eq!([bed.text("edited"), bed.text("saved"), bed.text("gone")], [LINES, LINES, "g"]);
}

#[test]
fn what_another_command_did_too_late_for_the_snapshot_before_is_not_taken_back() {
    let bed = Bed::new();
    for path in ["a", "b"] {
        old_file(&bed, path, LINES);
    }
    let mut past = Past::new(&bed);
    let good = past.exec(Some(1), "good");
    let snapshot = past.snap(Kind::Auto, None);
    for path in ["a", "b"] {
        bed.ws.file(path, "X\n2\n3\n4\n5\n");
    }
    past.too_late_for(&snapshot, good, Action::Modified, "a", None);
    past.too_late_for(&snapshot, good, Action::Created, "sedX", None);
    past.too_late_for(&snapshot, good, Action::Renamed, "sedX", Some("b"));
    past.exit(good);
    let both = "X\n2\n3\n4\nfive\n";
    let bad = past.run("bad", &[("a", both), ("b", both)]);
    past.snap(Kind::Final, None);
    let found = conflicts(&revert(&bed, &command(bad)).conflicts);
    assert_eq!(found.iter().map(|one| one.1).collect::<Vec<_>>(), [Clash::Doubtful; 2]);
    assert_eq!([bed.text("a"), bed.text("b")], [both, both]);
}
