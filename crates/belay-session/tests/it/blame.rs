//! Who changed what: lines, files, and what somebody else did after a run.

use belay_event::Action;
use belay_session::store::What;
use belay_session::{ChangesOf, Goal, Kind, RewindKind};

use crate::bed::{Bed, request, work};
use crate::past::Past;

#[test]
fn each_line_knows_its_command_and_prompt() {
    let bed = Bed::new();
    bed.ws.file("a", "1\n2\n3\n");
    let mut past = Past::new(&bed);
    past.turn(1, "make the first one better");
    let one = past.run("sed -i one", &[("a", "one\n2\n3\n")]);
    past.snap(Kind::Auto, Some(one));
    let three = past.run("sed -i three", &[("a", "one\n2\nthree\n")]);
    let blame = bed.open().blame(b"a", work()).unwrap();
    let commands: Vec<Vec<Option<u64>>> = blame
        .lines
        .iter()
        .map(|line| blame.intervals[line.interval].touches.iter().map(|touch| touch.command).collect())
        .collect();
    assert_eq!(commands, [vec![Some(one)], vec![], vec![Some(three)]]);
    assert_eq!(blame.lines[2].text, b"three");
    let first = &blame.intervals[1].touches[0];
    assert_eq!(first.prompt.as_deref(), Some("make the first one better"));
    assert_eq!((first.run.as_str(), first.argv[1].lossy().as_ref()), (past.id.as_str(), "-i"));
    assert!(blame.intervals[2].until.is_none() && blame.intervals[0].after.is_none());
}

#[test]
fn several_suspects_are_all_named_and_belay_itself_too() {
    let bed = Bed::new();
    bed.ws.file("a", "1\n");
    let mut past = Past::new(&bed);
    let first = past.run("one", &[("a", "2\n")]);
    let second = past.run("two", &[("a", "3\n")]);
    past.write(None, "a", "4\n");
    let snapshot = past.snap(Kind::Auto, None);
    let blame = bed.open().blame(b"a", work()).unwrap();
    let touches = &blame.intervals[1].touches;
    assert_eq!(touches.iter().map(|touch| touch.command).collect::<Vec<_>>(), [Some(first), Some(second), None]);
    assert!(touches[2].outside && blame.intervals[1].rewound.is_none());
    bed.ws.file("a", "5\n");
    bed.rollback(&snapshot);
    let blame = bed.open().blame(b"a", work()).unwrap();
    let last = &blame.intervals[blame.lines[0].interval];
    assert_eq!(last.rewound, Some(RewindKind::Rollback));
    assert!(bed.open().blame(b"nowhere", work()).is_err());
}

#[test]
fn changes_are_told_newest_first_with_who_made_them() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.ws.file("b", "1");
    let mut past = Past::new(&bed);
    let first = past.run("one", &[("a", "22"), ("new", "n")]);
    let second = past.exec(Some(1), "rm b");
    past.remove(Some(second), "b");
    past.exit(second);
    let changed = bed.open().changed(&ChangesOf::Latest, work()).unwrap();
    let found: Vec<(&[u8], What, Option<u64>)> = changed
        .paths
        .iter()
        .map(|path| (path.change.path.as_slice(), path.change.what(), path.touches.last().unwrap().command))
        .collect();
    let what = |added, removed, content| What { added, removed, content, ..What::default() };
    let wanted = [
        (&b"b"[..], what(false, true, false), Some(second)),
        (b"new", what(true, false, false), Some(first)),
        (b"a", what(false, false, true), Some(first)),
    ];
    assert_eq!(found, wanted);
    let snapshot = past.snap(Kind::Auto, None);
    assert!(bed.open().changed(&ChangesOf::Named(snapshot.id), work()).unwrap().paths.is_empty());
}

#[test]
fn what_somebody_else_changed_last_is_shown_in_the_plan() {
    let bed = Bed::new();
    bed.ws.file("agent", "1");
    bed.ws.file("human", "1");
    let mut past = Past::new(&bed);
    past.run("one", &[("agent", "2"), ("human", "2")]);
    past.write(None, "human", "3");
    let plan = bed.open().plan_rewind(&request(Goal::To(Some("@pre-run".into())), &[]), work()).unwrap();
    let newer = bed.open().newer_edits(&plan).unwrap();
    assert_eq!(newer.iter().map(|edit| edit.path.as_slice()).collect::<Vec<_>>(), [b"human"]);
}

#[test]
fn a_command_of_another_run_is_no_stranger() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let mut one = Past::new(&bed);
    let other = Past::new(&bed);
    let writer = one.run("tee a", &[("a", "22")]);
    other.change(None, Action::Modified, "a");
    let changed = bed.open().changed(&ChangesOf::Latest, work()).unwrap();
    let found: Vec<_> = changed.paths[0].touches.iter().map(|touch| (touch.command, touch.outside)).collect();
    assert_eq!(found, [(Some(writer), false)]);
}

#[test]
fn what_belay_put_back_is_belays() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let mut past = Past::new(&bed);
    past.run("one", &[("a", "22"), ("b", "b")]);
    let middle = past.snap(Kind::Auto, None);
    past.run("two", &[("a", "333")]);
    bed.rollback(&middle);
    let changed = bed.open().changed(&ChangesOf::Named("@pre-run".into()), work()).unwrap();
    let rewound = |path: &[u8]| changed.paths.iter().find(|one| one.change.path == path).unwrap().rewound;
    assert_eq!((rewound(b"a"), rewound(b"b")), (Some(RewindKind::Rollback), None));
}

#[test]
fn a_line_that_came_while_a_snapshot_was_taken_has_its_command() {
    let bed = Bed::new();
    bed.ws.file("a", "1\n2\n");
    let mut past = Past::new(&bed);
    let edit = past.exec(Some(1), "sed -i s/1/B/ a");
    // The capture had gone by already when the command wrote.
    past.slow_snap(|| past.change(Some(edit), Action::Modified, "a"));
    bed.ws.file("a", "B\n2\n");
    past.exit(edit);
    past.snap(Kind::Auto, None);
    let blame = bed.open().blame(b"a", work()).unwrap();
    let touches = &blame.intervals[blame.lines[0].interval].touches;
    assert_eq!(touches.iter().map(|touch| touch.command).collect::<Vec<_>>(), [Some(edit)]);
}
