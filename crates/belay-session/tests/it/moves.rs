//! Taking back a step when it or somebody later moved what it touched.

use belay_event::Action;
use belay_session::store::{Clash, Conflict};
use belay_session::{Goal, Kind, RevertRequest, Reverted, StepName};
use belay_testkit::{Ignore, assert_same_world};

use crate::bed::{Bed, work};
use crate::past::Past;
use crate::recover::BUT_TIMES;

const LINES: &str = "1\n2\n3\n4\n5\n";
const FIRST: &str = "X\n2\n3\n4\n5\n";
const BOTH: &str = "X\n2\n3\n4\nfive\n";
const LAST: &str = "1\n2\n3\n4\nfive\n";

fn command(number: u64) -> RevertRequest {
    RevertRequest { step: StepName::Command { run: None, number }, mtime: None }
}

/// Takes the command back, and sees that it was planned so and that it can be taken back itself.
fn revert(bed: &Bed, number: u64) -> Reverted {
    let before = bed.ws.walk();
    let plan = bed.open().plan_revert(&command(number), work()).unwrap();
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    let planned: Vec<_> = plan.changes.iter().map(|change| change.path.clone()).collect();
    let reverted = bed.open().revert(&command(number), work(), &mut |_| {}).unwrap();
    assert_eq!(plan.conflicts, reverted.conflicts);
    let after = bed.ws.walk();
    assert_eq!(planned.is_empty(), reverted.outcome.is_none());
    if reverted.outcome.is_some() {
        bed.rewind(Goal::Undo).unwrap();
        assert_same_world(&before, &bed.ws.walk(), BUT_TIMES);
        bed.rewind(Goal::Redo).unwrap();
        assert_same_world(&after, &bed.ws.walk(), BUT_TIMES);
    }
    reverted
}

fn paths(found: &[Conflict]) -> Vec<(String, Clash)> {
    found.iter().map(|one| (String::from_utf8(one.path.clone()).unwrap(), one.clash)).collect()
}

fn rename(past: &mut Past<'_>, from: &str, to: &str) -> u64 {
    let command = past.exec(Some(1), &format!("mv {from} {to}"));
    past.rename(command, from, to);
    past.exit(command);
    command
}

/// With and without a snapshot after each command: the record alone must do.
fn both(act: impl Fn(&Bed, &mut Past<'_>, &dyn Fn(&Past<'_>))) {
    for snaps in [true, false] {
        let bed = Bed::new();
        bed.ws.file("a", LINES).file("d/x", LINES).file("d/y", "y").file("other", "o");
        let mut past = Past::new(&bed);
        let snap = move |past: &Past<'_>| {
            if snaps {
                past.snap(Kind::Auto, None);
            }
        };
        act(&bed, &mut past, &snap);
    }
}

#[test]
fn an_edit_is_taken_back_in_the_file_that_was_moved_since() {
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("a", FIRST)]);
        snap(past);
        rename(past, "a", "b");
        snap(past);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!(bed.text("b"), LINES);
        assert!(!bed.ws.join("a").exists());
        let again = bed.open().revert(&command(edit), work(), &mut |_| {}).unwrap();
        assert!(again.outcome.is_none() && again.conflicts.is_empty());
    });
}

#[test]
fn moves_are_followed_one_after_the_other_and_later_lines_stay() {
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("a", FIRST)]);
        snap(past);
        rename(past, "a", "b");
        snap(past);
        rename(past, "b", "c");
        snap(past);
        past.mkdir(1, "deep");
        rename(past, "c", "deep/c");
        past.snap(Kind::Auto, None);
        past.run("sed", &[("deep/c", BOTH)]);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!(bed.text("deep/c"), LAST);
        assert!(["a", "b", "c"].iter().all(|name| !bed.ws.join(name).exists()));
    });
}

#[test]
fn what_a_step_made_goes_wherever_it_was_moved_unless_it_was_changed() {
    both(|bed, past, snap| {
        let made = past.exec(Some(1), "tee");
        past.write(Some(made), "x", "x");
        past.mkdir(made, "new");
        past.write(Some(made), "new/in", "n");
        past.exit(made);
        snap(past);
        rename(past, "x", "y");
        rename(past, "new", "newer");
        snap(past);
        assert_eq!(paths(&revert(bed, made).conflicts), []);
        assert!(["x", "y", "new", "newer"].iter().all(|name| !bed.ws.join(name).exists()));
    });
    both(|bed, past, _| {
        let made = past.run("tee", &[("x", "x")]);
        past.snap(Kind::Auto, None);
        rename(past, "x", "y");
        past.run("tee", &[("y", "changed")]);
        assert_eq!(paths(&revert(bed, made).conflicts), [("y".into(), Clash::MadeThenChanged)]);
        assert_eq!(bed.text("y"), "changed");
    });
}

#[test]
fn a_move_is_taken_back_with_what_was_done_to_the_file_since() {
    both(|bed, past, snap| {
        let moved = rename(past, "a", "b");
        snap(past);
        past.run("sed", &[("b", LAST)]);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert_eq!(bed.text("a"), LAST);
        assert!(!bed.ws.join("b").exists());
        let again = bed.open().revert(&command(moved), work(), &mut |_| {}).unwrap();
        assert!(again.outcome.is_none() && again.conflicts.is_empty());
    });
}

#[test]
fn a_directory_that_a_step_moved_goes_back_and_what_others_put_there_stays() {
    both(|bed, past, snap| {
        let moved = rename(past, "d", "e");
        snap(past);
        past.run("edit", &[("e/x", LAST), ("e/new", "n")]);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert_eq!([bed.text("d/x"), bed.text("d/y"), bed.text("e/new")], [LAST, "y", "n"]);
        assert!(!bed.ws.join("e/x").exists() && !bed.ws.join("d/new").exists());
    });
}

#[test]
fn what_a_step_did_in_a_directory_is_taken_back_where_that_is_now() {
    both(|bed, past, snap| {
        let step = past.exec(Some(1), "step");
        past.write(Some(step), "d/x", FIRST);
        past.remove(Some(step), "d/y");
        past.write(Some(step), "d/made", "m");
        past.exit(step);
        snap(past);
        rename(past, "d", "e");
        snap(past);
        assert_eq!(paths(&revert(bed, step).conflicts), []);
        assert_eq!([bed.text("e/x"), bed.text("e/y")], [LINES, "y"]);
        assert!(!bed.ws.join("e/made").exists() && !bed.ws.join("d").exists());
    });
}

#[test]
fn what_was_made_at_the_old_name_is_somebody_elses() {
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("a", FIRST)]);
        snap(past);
        rename(past, "a", "b");
        past.run("tee", &[("a", "something new")]);
        snap(past);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!([bed.text("a"), bed.text("b")], ["something new", LINES]);
    });
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("a", FIRST)]);
        snap(past);
        rename(past, "a", "b");
        rename(past, "other", "a");
        snap(past);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!([bed.text("a"), bed.text("b")], ["o", LINES]);
    });
}

#[test]
fn a_move_over_another_file_brings_both_back() {
    both(|bed, past, snap| {
        let moved = rename(past, "a", "other");
        snap(past);
        past.run("sed", &[("other", LAST)]);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert_eq!([bed.text("a"), bed.text("other")], [LAST, "o"]);
    });
}

#[test]
fn what_a_later_move_overwrote_is_named_and_its_version_of_before_is_kept() {
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("other", "changed")]);
        snap(past);
        rename(past, "a", "other");
        snap(past);
        assert_eq!(paths(&revert(bed, edit).conflicts), [("other".into(), Clash::RemovedLater)]);
        assert_eq!([bed.text("other"), bed.text(&format!("other.before-command-{edit}"))], [LINES, "o"]);
    });
}

#[test]
fn what_the_step_moved_and_another_moved_on_stays_and_is_listed() {
    both(|bed, past, snap| {
        let moved = rename(past, "a", "b");
        snap(past);
        rename(past, "b", "c");
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), [("c".into(), Clash::MovedOn)]);
        assert_eq!(bed.text("c"), LINES);
        assert!(!bed.ws.join("a").exists() && !bed.ws.join("b").exists());
    });
    both(|bed, past, snap| {
        let moved = rename(past, "a", "b");
        snap(past);
        past.run("tee", &[("a", "taken")]);
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), [("b".into(), Clash::MovedOn)]);
        assert_eq!([bed.text("a"), bed.text("b")], ["taken", LINES]);
    });
}

#[test]
fn a_file_that_is_saved_by_way_of_another_is_the_same_file() {
    both(|bed, past, _| {
        let edit = past.run("sed", &[("a", FIRST)]);
        past.snap(Kind::Auto, None);
        // One writes beside and renames over; one keeps the old version under another name; one uses two commands.
        let sed = past.exec(Some(1), "sed -i");
        past.write(Some(sed), "sedX", BOTH);
        past.rename(sed, "sedX", "a");
        past.exit(sed);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!(bed.text("a"), LAST);
        bed.rewind(Goal::Undo).unwrap();
        let vim = past.exec(Some(1), "vim");
        past.rename(vim, "a", "a~");
        past.write(Some(vim), "a", BOTH);
        past.exit(vim);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!([bed.text("a"), bed.text("a~")], [LAST, BOTH]);
        bed.rewind(Goal::Undo).unwrap();
        past.run("sh", &[("tmp", "X\n2\n3\n4\nfive\nsix\n")]);
        rename(past, "tmp", "a");
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!(bed.text("a"), "1\n2\n3\n4\nfive\nsix\n");
    });
}

#[test]
fn a_move_that_was_taken_back_is_not_followed() {
    both(|bed, past, snap| {
        let edit = past.run("sed", &[("a", FIRST)]);
        snap(past);
        let moved = rename(past, "a", "b");
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert_eq!(bed.text("a"), FIRST);
        assert_eq!(paths(&revert(bed, edit).conflicts), []);
        assert_eq!(bed.text("a"), LINES);
        assert!(!bed.ws.join("b").exists());
    });
}

#[test]
fn where_no_move_was_recorded_nothing_is_guessed() {
    both(|bed, past, _| {
        let edit = past.run("sed", &[("a", FIRST)]);
        past.snap(Kind::Auto, None);
        std::fs::rename(bed.ws.join("a"), bed.ws.join("b")).unwrap();
        past.change(None, Action::Deleted, "a");
        past.change(None, Action::Created, "b");
        assert_eq!(paths(&revert(bed, edit).conflicts), [("a".into(), Clash::RemovedLater)]);
        assert_eq!(bed.text("b"), FIRST);
    });
}

#[test]
fn a_turn_is_followed_too() {
    let bed = Bed::new();
    bed.ws.file("a", LINES).file("d/x", "x");
    let mut past = Past::new(&bed);
    past.turn(1, "first");
    past.run("sed", &[("a", FIRST)]);
    rename(&mut past, "d", "e");
    past.turn(2, "second");
    rename(&mut past, "a", "b");
    past.run("edit", &[("e/x", "X")]);
    let request = RevertRequest { step: StepName::From("@turn-1".into()), mtime: None };
    let reverted = bed.open().revert(&request, work(), &mut |_| {}).unwrap();
    assert_eq!(paths(&reverted.conflicts), []);
    assert_eq!([bed.text("b"), bed.text("d/x")], [LINES, "X"]);
    assert!(!bed.ws.join("e").exists() && !bed.ws.join("a").exists());
}

#[test]
fn files_that_changed_places_go_back_to_theirs() {
    both(|bed, past, snap| {
        let swap = past.exec(Some(1), "swap");
        past.rename(swap, "a", "tmp");
        past.rename(swap, "other", "a");
        past.rename(swap, "tmp", "other");
        past.exit(swap);
        snap(past);
        past.run("sed", &[("other", LAST)]);
        assert_eq!(paths(&revert(bed, swap).conflicts), []);
        assert_eq!([bed.text("a"), bed.text("other")], [LAST, "o"]);
    });
}

#[test]
fn modes_links_and_empty_directories_go_back_as_they_are() {
    both(|bed, past, snap| {
        std::os::unix::fs::symlink("a", bed.ws.join("d/link")).unwrap();
        std::fs::create_dir(bed.ws.join("d/empty")).unwrap();
        past.snap(Kind::Auto, None);
        let moved = rename(past, "d", "e");
        snap(past);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(bed.ws.join("e/x"), mode).unwrap();
        past.change(Some(1), Action::Modified, "e/x");
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        let meta = std::fs::metadata(bed.ws.join("d/x")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o640);
        assert!(bed.ws.join("d/empty").is_dir() && bed.ws.join("d/link").is_symlink());
        assert!(!bed.ws.join("e").exists());
    });
}

#[test]
fn what_lay_in_a_directory_when_the_step_moved_it_goes_back_with_it() {
    both(|bed, past, snap| {
        past.run("tee", &[("d/early", "e")]);
        rename(past, "other", "d/other");
        snap(past);
        let moved = rename(past, "d", "e");
        snap(past);
        past.run("tee", &[("e/late", "l")]);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert_eq!(["d/early", "d/other", "d/x", "e/late"].map(|path| bed.text(path)), ["e", "o", LINES, "l"]);
        assert!(["e/early", "e/other", "e/x"].iter().all(|path| !bed.ws.join(path).exists()));
    });
}

#[test]
fn what_was_moved_by_the_step_and_removed_later_stays_removed() {
    both(|bed, past, snap| {
        let moved = past.exec(Some(1), "mv");
        past.rename(moved, "a", "d/a");
        past.rename(moved, "other", "another");
        past.exit(moved);
        snap(past);
        let gone = past.exec(Some(1), "rm");
        past.remove(Some(gone), "d/a");
        past.exit(gone);
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        assert!(!bed.ws.join("a").exists() && !bed.ws.join("d/a").exists());
        assert_eq!(bed.text("other"), "o");
    });
}

#[test]
fn a_file_that_goes_back_is_still_one_with_its_other_names() {
    both(|bed, past, snap| {
        std::fs::hard_link(bed.ws.join("a"), bed.ws.join("d/a")).unwrap();
        past.change(Some(1), Action::Created, "d/a");
        snap(past);
        let moved = rename(past, "a", "b");
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        let inode = |path: &str| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(bed.ws.join(path)).unwrap());
        assert_eq!(inode("a"), inode("d/a"));
    });
    both(|bed, past, snap| {
        let moved = rename(past, "a", "other");
        snap(past);
        std::fs::hard_link(bed.ws.join("other"), bed.ws.join("d/a")).unwrap();
        past.change(Some(1), Action::Created, "d/a");
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        let inode = |path: &str| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(bed.ws.join(path)).unwrap());
        assert_eq!((inode("a"), bed.text("other").as_str()), (inode("d/a"), "o"));
    });
}

#[test]
fn what_a_move_overwrote_and_no_snapshot_holds_is_said_to_be_lost() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    past.run("tee", &[("new", "n")]);
    let moved = rename(&mut past, "a", "new");
    past.snap(Kind::Auto, None);
    assert_eq!(paths(&revert(&bed, moved).conflicts), [("new".into(), Clash::Unseen)]);
    assert_eq!(bed.text("a"), LINES);
    assert!(!bed.ws.join("new").exists());
}

/// What a shell does by `mv` and `cp`, each a command of its own.
fn copy(past: &mut Past<'_>, shell: u64, from: &str, to: &str, text: &str) -> u64 {
    let command = past.exec(Some(shell), &format!("cp {from} {to}"));
    past.write(Some(command), to, text);
    past.exit(command);
    command
}

#[test]
fn what_the_step_put_where_it_had_moved_something_away_is_never_lost() {
    both(|bed, past, snap| {
        let shell = past.exec(Some(1), "sh");
        let mover = past.exec(Some(shell), "mv a b");
        past.rename(mover, "a", "b");
        past.exit(mover);
        snap(past);
        copy(past, shell, "b", "a", LINES);
        let mover = past.exec(Some(shell), "mv d e");
        past.rename(mover, "d", "e");
        past.exit(mover);
        snap(past);
        let copier = past.exec(Some(shell), "cp -r e d");
        past.mkdir(copier, "d");
        past.write(Some(copier), "d/x", LINES);
        past.write(Some(copier), "d/y", "y");
        past.exit(copier);
        past.exit(shell);
        past.snap(Kind::Auto, None);
        // Somebody else is at work later, so that the step is not all that happened.
        rename(past, "other", "another");
        assert_eq!(paths(&revert(bed, shell).conflicts), []);
        assert_eq!(["a", "d/x", "d/y", "another"].map(|path| bed.text(path)), [LINES, LINES, "y", "o"]);
        assert!(!bed.ws.join("b").exists() && !bed.ws.join("e").exists());
    });
}

#[test]
fn a_move_whose_old_name_another_command_took_leaves_both() {
    both(|bed, past, snap| {
        let moved = rename(past, "a", "b");
        let directory = rename(past, "d", "e");
        snap(past);
        copy(past, 1, "b", "a", LINES);
        let copier = past.exec(Some(1), "cp -r e d");
        past.mkdir(copier, "d");
        past.write(Some(copier), "d/x", LINES);
        past.exit(copier);
        snap(past);
        assert_eq!(paths(&revert(bed, moved).conflicts), [("b".into(), Clash::MovedOn)]);
        assert_eq!(paths(&revert(bed, directory).conflicts), [("e".into(), Clash::MovedOn)]);
        assert_eq!(["a", "b", "d/x", "e/x", "e/y"].map(|path| bed.text(path)), [LINES, LINES, LINES, LINES, "y"]);
    });
}

#[test]
fn what_a_step_moved_and_brought_back_itself_stays() {
    both(|bed, past, snap| {
        let shell = past.exec(Some(1), "sh");
        let mover = past.exec(Some(shell), "git mv a basket");
        past.rename(mover, "a", "basket");
        past.rename(mover, "d", "e");
        past.exit(mover);
        snap(past);
        let reset = past.exec(Some(shell), "git reset --hard");
        past.remove(Some(reset), "basket");
        past.write(Some(reset), "a", LINES);
        past.mkdir(reset, "d");
        for (old, new, text) in [("e/x", "d/x", LINES), ("e/y", "d/y", "y")] {
            past.remove(Some(reset), old);
            past.write(Some(reset), new, text);
        }
        past.rmdir(Some(reset), "e");
        past.exit(reset);
        past.exit(shell);
        past.snap(Kind::Auto, None);
        rename(past, "other", "another");
        let before = bed.ws.walk();
        assert_eq!(paths(&revert(bed, shell).conflicts), []);
        assert_same_world(&before, &bed.ws.walk(), BUT_TIMES);
    });
}

#[test]
fn nothing_in_a_repository_is_followed_and_no_lock_of_git_comes_back() {
    both(|bed, past, snap| {
        bed.ws.file(".git/HEAD", "ref: refs/heads/main").file(".git/index", "old").file(".git/refs/heads/main", "1");
        bed.ws.file(".git/index.lock", "new");
        past.change(Some(1), Action::Created, ".git/index.lock");
        past.snap(Kind::Auto, None);
        let commit = past.exec(Some(1), "git commit");
        past.rename(commit, ".git/index.lock", ".git/index");
        past.write(Some(commit), ".git/HEAD.lock", "");
        past.remove(Some(commit), ".git/HEAD.lock");
        past.write(Some(commit), ".git/refs/heads/main", "2");
        past.exit(commit);
        snap(past);
        rename(past, "a", "b");
        assert_eq!(paths(&revert(bed, commit).conflicts), []);
        let git = [".git/index", ".git/refs/heads/main"];
        assert_eq!(git.map(|path| bed.text(path)), ["old", "1"]);
        assert!(!bed.ws.join(".git/index.lock").exists() && bed.ws.join("b").exists());
        bed.rewind(Goal::Undo).unwrap();
        past.run("git commit", &[(".git/refs/heads/main", "3")]);
        assert_eq!(paths(&revert(bed, commit).conflicts), [(".git".into(), Clash::Repository)]);
        assert_eq!(git.map(|path| bed.text(path)), ["new", "3"]);
    });
}

#[test]
fn a_lock_of_git_that_came_and_went_is_no_loss() {
    both(|bed, past, snap| {
        bed.ws.file(".git/HEAD", "ref: refs/heads/main").file(".git/refs/heads/main", "1");
        past.snap(Kind::Auto, None);
        past.run("git", &[(".git/HEAD.lock", "")]);
        let step = past.exec(Some(1), "rm");
        past.remove(Some(step), ".git/HEAD.lock");
        past.remove(Some(step), "other");
        past.exit(step);
        snap(past);
        assert_eq!(paths(&revert(bed, step).conflicts), []);
        assert_eq!(bed.text("other"), "o");
    });
}

#[test]
fn a_repository_in_a_directory_that_goes_back_is_not_torn_apart() {
    both(|bed, past, snap| {
        bed.ws.file("d/.git/HEAD", "ref: refs/heads/main").file("d/.git/refs/heads/main", "1");
        past.snap(Kind::Auto, None);
        let moved = rename(past, "d", "e");
        snap(past);
        past.run("git commit", &[("e/.git/objects/new", "2"), ("e/.git/refs/heads/main", "2")]);
        assert_eq!(paths(&revert(bed, moved).conflicts), []);
        let git = ["d/.git/HEAD", "d/.git/objects/new", "d/.git/refs/heads/main"];
        assert_eq!(git.map(|path| bed.text(path)), ["ref: refs/heads/main", "2", "2"]);
        assert!(!bed.ws.join("e").exists());
    });
}

#[test]
fn what_is_as_it_was_before_the_step_began_stays_although_a_snapshot_in_between_lacks_it() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    let shell = past.exec(Some(1), "sh");
    std::fs::rename(bed.ws.join("a"), bed.ws.join("b")).unwrap();
    past.change(None, Action::Deleted, "a");
    past.change(None, Action::Created, "b");
    past.snap(Kind::Auto, None);
    copy(&mut past, shell, "b", "a", LINES);
    past.exit(shell);
    past.snap(Kind::Auto, None);
    assert_eq!(paths(&revert(&bed, shell).conflicts), [("a".into(), Clash::Doubtful)]);
    assert_eq!([bed.text("a"), bed.text("b")], [LINES, LINES]);
}

#[test]
fn whoever_had_a_hand_in_what_stays_is_named() {
    let bed = Bed::new();
    bed.ws.file("a", LINES);
    let mut past = Past::new(&bed);
    let first = past.run("sed", &[("a", FIRST)]);
    let second = past.run("tee a", &[("a", BOTH)]);
    past.snap(Kind::Auto, None);
    let reverted = revert(&bed, first);
    assert_eq!(paths(&reverted.conflicts), [("a".into(), Clash::Doubtful)]);
    assert_eq!(reverted.known.rivals[&b"a".to_vec()], format!("#{second} tee a"));
}
