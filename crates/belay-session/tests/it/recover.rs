//! A rollback that dies at any of its changes is finished by the next command, or taken back.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use belay_session::store::{Faults, LeftReason};
use belay_session::{Error, Goal, Snapshot, Work};
use belay_testkit::{Ignore, World, assert_same_world};

use crate::bed::{Bed, work};
use crate::budget::noise;

/// Only the directories whose content is swapped after the crash get their times back.
pub(crate) const BUT_TIMES: Ignore =
    Ignore { mtime: true, directory_mtime: true, ctime: true, inode: true, ..Ignore::NOTHING };

/// A workspace with a bit of everything, its snapshot, and what it became.
fn wrecked() -> (Bed, Snapshot, World, World) {
    wreck(Bed::new())
}

pub(crate) fn wreck(bed: Bed) -> (Bed, Snapshot, World, World) {
    bed.ws.file("edited", "1").file("removed", noise(9, 9000)).file("dir/in", "1").file("retyped", "1");
    bed.ws.symlink("link", "edited").file("gone/deep/file", "1").hard_link("twin", "edited");
    bed.ws.dir("closed").file("closed/x", "1").mode("closed", 0o555).file_mode("script", "1", 0o755);
    let good = bed.snap();
    let before = bed.ws.walk();
    bed.ws.mode("closed", 0o755).file("closed/x", "2").mode("closed", 0o555);
    bed.ws.file("edited", "2").remove("removed").remove("gone").remove("retyped").dir("retyped").file("retyped/y", "2");
    bed.ws.remove("link").symlink("link", "/etc").mode("script", 0o644).file("added/z", "2");
    let wreck = bed.ws.walk();
    (bed, good, before, wreck)
}

#[test]
fn a_death_at_any_change_is_finished_by_the_next_command() {
    let mut deaths = 0;
    for n in 1.. {
        let (bed, good, before, wreck) = wrecked();
        match bed.die_rolling_back(&good, n) {
            Ok(_) => break,
            Err(Error::Store(_)) => deaths += 1,
            Err(error) => panic!("{error}"),
        }
        let recovered = bed.open().recover(work()).unwrap();
        assert_eq!(recovered.len(), 1, "death at change {n}");
        assert_eq!((&recovered[0].failed, recovered[0].reversed), (&None, false), "death at change {n}");
        assert!(recovered[0].left.is_empty(), "death at change {n}: {:?}", recovered[0].left);
        assert_same_world(&before, &bed.ws.walk(), BUT_TIMES);
        assert!(bed.open().recover(work()).unwrap().is_empty());
        bed.rewind(Goal::Undo).unwrap();
        assert_same_world(&wreck, &bed.ws.walk(), BUT_TIMES);
    }
    assert!(deaths > 10, "the rollback has many changes: {deaths}");
}

#[test]
fn a_snapshot_finishes_it_first_and_says_so() {
    let (bed, good, _, _) = wrecked();
    assert!(bed.die_rolling_back(&good, 12).is_err());
    let taken = bed.take(&Default::default()).unwrap();
    assert_eq!((taken.recovered.len(), taken.snapshot.root), (1, good.root));
}

#[test]
fn what_somebody_did_after_the_crash_is_left() {
    for n in [3, 10, 16, 20] {
        let (bed, good, _, _) = wrecked();
        if bed.die_rolling_back(&good, n).is_ok() {
            continue;
        }
        bed.ws.remove("edited").file("edited", "after the crash").file("added/z", "after").file("added/more", "after");
        let recovered = bed.open().recover(work()).unwrap().remove(0);
        assert_eq!(recovered.failed, None);
        let texts = ["edited", "added/z", "added/more", "gone/deep/file"].map(|path| bed.text(path));
        assert_eq!(texts, ["after the crash", "after", "after", "1"], "death at change {n}");
        assert!(recovered.left.iter().any(|left| left.path == b"edited" && left.reason == LeftReason::ChangedSince));
    }
}

#[test]
fn when_the_target_is_damaged_the_rollback_is_taken_back() {
    let mut reversals = 0;
    for n in 1..60 {
        let (bed, good, _, wreck) = wrecked();
        if bed.die_rolling_back(&good, n).is_ok() {
            break;
        }
        // From here on the content of one file that the target has cannot be read.
        flip_a_bit_of(&bed, &noise(9, 9000));
        let home = bed.other_process(3);
        let workspace = home.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
        let recovered = workspace.recover(work()).unwrap().remove(0);
        assert_eq!(recovered.failed, None, "death at change {n}");
        if recovered.reversed {
            reversals += 1;
            assert_same_world(&wreck, &bed.ws.walk(), BUT_TIMES);
        }
    }
    assert!(reversals > 5, "{reversals}");
}

/// Flips a bit of that content wherever the store has it.
pub(crate) fn flip_a_bit_of(bed: &Bed, content: &[u8]) {
    let mut flipped = 0;
    for pack in std::fs::read_dir(bed.ws.home().join("store/packs")).unwrap() {
        let path = pack.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(16).position(|window| window == &content[1000..1016]) {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            flipped += 1;
        }
    }
    assert!(flipped > 0, "content that cannot be compressed is stored as it is");
}

#[test]
fn a_rollback_that_was_stopped_leaves_everything_as_it_was() {
    let (bed, good, _, wreck) = wrecked();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let work = belay_session::Work { stop: &stop, ..work() };
    let request = crate::bed::request(Goal::To(Some(good.id)), &[]);
    let result = bed.open().rewind(&request, work, &mut |stage| {
        if matches!(stage, belay_session::Stage::Restoring(_)) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(result.is_err());
    assert_same_world(&wreck, &bed.ws.walk(), Ignore::default());
    assert!(bed.open().recover(crate::bed::work()).unwrap().is_empty(), "nothing is pending");
}

/// Tells to stop when so many entries were dealt with.
struct Impatient {
    left: AtomicI64,
    stop: AtomicBool,
}

impl Impatient {
    fn after(entries: i64) -> Impatient {
        Impatient { left: AtomicI64::new(entries), stop: AtomicBool::new(false) }
    }

    fn work(&self) -> Work<'_> {
        Work { progress: self, stop: &self.stop }
    }
}

impl belay_session::store::Progress for Impatient {
    fn advance(&self, entries: u64, _bytes: u64) {
        if self.left.fetch_sub(entries as i64, Ordering::SeqCst) <= entries as i64 {
            self.stop.store(true, Ordering::SeqCst);
        }
    }

    fn expect(&self, _entries: u64, _bytes: u64) {}
}

#[test]
fn one_that_is_told_to_stop_half_way_goes_on_with_the_next_command() {
    let bed = Bed::new();
    bed.ws.file("kept", "1");
    let good = bed.snap();
    let before = bed.ws.walk();
    for number in 0..600 {
        bed.ws.file(format!("new{}/{number}", number % 3), "2");
    }
    let wreck = bed.ws.walk();
    let files = || bed.ws.walk().len();
    let request = crate::bed::request(Goal::To(Some(good.id.clone())), &[]);
    let is_half = |error: &Error| matches!(error, Error::Store(belay_session::store::Error::HalfDone));
    let halt = Impatient::after(700);
    let result = bed.open().rewind(&request, halt.work(), &mut |_| {});
    assert!(result.as_ref().is_err_and(is_half), "{:?}", result.err());
    assert!(files() < wreck.len() && files() > before.len(), "{} paths", files());
    let waiting = bed.open().interrupted().unwrap();
    assert_eq!(waiting.iter().map(|one| &one.target).collect::<Vec<_>>(), [&good.id]);
    let mut stops = 0;
    loop {
        let seen = files();
        // It is looked at first, then goes on.
        let halt = Impatient::after(seen as i64 + 30);
        match bed.open().recover(halt.work()) {
            Err(error) if is_half(&error) => stops += 1,
            result => break assert_eq!(result.unwrap().len(), 1),
        }
        assert!(files() <= seen && bed.open().interrupted().unwrap().len() == 1);
        assert!(stops < 50, "it never ends");
    }
    assert!(stops > 0);
    assert_same_world(&before, &bed.ws.walk(), BUT_TIMES);
    assert!(bed.open().interrupted().unwrap().is_empty());
    bed.rewind(Goal::Undo).unwrap();
    assert_same_world(&wreck, &bed.ws.walk(), BUT_TIMES);
}

#[test]
fn what_is_foreign_keeps_its_directory_and_nothing_else() {
    let bed = Bed::new();
    bed.ws.file("kept", "1");
    let good = bed.snap();
    for number in 0..40 {
        bed.ws.file(format!("new/{number}"), "2");
    }
    assert!(bed.die_rolling_back(&good, 20).is_err());
    bed.ws.file("new/foreign", "after");
    let recovered = bed.open().recover(work()).unwrap().remove(0);
    assert_eq!(recovered.failed, None);
    let left: Vec<_> = recovered.left.iter().map(|left| left.path.as_slice()).collect();
    assert_eq!(left, [&b"new/foreign"[..]]);
    let names: Vec<_> = std::fs::read_dir(bed.ws.join("new")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["foreign"]);
}

#[test]
fn what_whoever_asked_was_kept_from_is_left_by_whoever_finishes_it() {
    let mut deaths = 0;
    for n in 1.. {
        let bed = Bed::new();
        bed.ws.file("a", "1").file("b", "1").file(".env", "old").hard_link("twin", ".env").file("kept/x", "old");
        let good = bed.snap();
        bed.ws.file("a", "2").file("b", "2").remove("twin").file(".env", "new").file("kept/x", "new").file("c", "2");
        let dir = bed.ws.home().join("runs/run_x");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("guard.json"), r#"{"paths":[[".env","hide"],["kept","read"]]}"#).unwrap();
        let workspace = bed.open();
        let guard = std::sync::Arc::new(workspace.home().guard_of("run_x").unwrap());
        let workspace = workspace.guarded_by(Some(guard));
        let faults = Faults::default();
        faults.after.store(n, Ordering::Relaxed);
        let request = crate::bed::request(Goal::To(Some(good.id.clone())), &[]);
        let died = workspace.rewind_until(&request, work(), &mut |_| {}, Some(&faults)).is_err();
        let recovered = bed.open().recover(work()).unwrap();
        assert_eq!(recovered.len(), usize::from(died), "death at change {n}");
        let texts = ["a", "b", ".env", "kept/x"].map(|path| bed.text(path));
        assert_eq!(texts, ["1", "1", "new", "new"], "death at change {n}");
        assert!(!bed.ws.join("twin").exists() && !bed.ws.join("c").exists(), "death at change {n}");
        if !died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 3, "the rollback has several changes: {deaths}");
}
