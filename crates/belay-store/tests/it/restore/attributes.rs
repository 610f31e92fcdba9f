//! Extended attributes that nobody can list: what has them is captured but for these, said, and neither replaced nor removed.

use std::path::Path;

use belay_store::{GapKind, LeftReason};
use belay_testkit::TempWorkspace;

use super::bed::{Bed, left};

/// A workspace in which a list of attributes may be longer than any answer of the kernel, if there is such a filesystem.
fn bed() -> Option<Bed> {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        belay_testkit::skip("there is no /dev/shm");
        return None;
    }
    Some(Bed::of(TempWorkspace::new_in(memory)))
}

/// Gives a path more names of attributes than can be listed; false if this filesystem does not let it.
fn burden(bed: &Bed, name: &str) -> bool {
    let dir = bed.root.dir(b"").unwrap();
    let burdened =
        (0..300).all(|number| dir.set_xattr(name.as_bytes(), format!("user.{number:0240}").as_bytes(), b"").is_ok());
    let stat = dir.stat(name.as_bytes()).unwrap();
    let is_unreadable = burdened && dir.xattrs(name.as_bytes(), stat.file_type).is_err();
    if !is_unreadable {
        belay_testkit::skip("attributes cannot be made unreadable here");
    }
    is_unreadable
}

fn relieve(bed: &Bed, name: &str) {
    let dir = bed.root.dir(b"").unwrap();
    for number in 0..300 {
        dir.remove_xattr(name.as_bytes(), format!("user.{number:0240}").as_bytes()).unwrap();
    }
}

fn user_xattrs(bed: &Bed, name: &str) -> usize {
    let dir = bed.root.dir(b"").unwrap();
    let stat = dir.stat(name.as_bytes()).unwrap();
    dir.xattrs(name.as_bytes(), stat.file_type).unwrap().len()
}

#[test]
fn what_cannot_be_listed_is_said_and_its_bearer_stays() {
    let Some(bed) = bed() else { return };
    bed.ws.file("plain", "1").file("dir/inside", "1");
    let before = bed.snap();
    bed.ws.file("plain", "2").file("new", "new").file("dir/inside", "2").dir("newdir");
    if !["plain", "new", "dir", "newdir"].iter().all(|name| burden(&bed, name)) {
        return;
    }
    let now = bed.snap();
    let gaps = now.coverage(&bed.store).unwrap().gaps;
    let seen: Vec<_> = gaps.iter().map(|gap| (gap.path.as_slice(), gap.kind)).collect();
    let all: [&[u8]; 4] = [b"dir", b"new", b"newdir", b"plain"];
    assert_eq!(seen, all.map(|path| (path, GapKind::Attributes)));
    assert_eq!((now.counts.gaps, before.counts.gaps), (4, 0));
    let plan = bed.plan(&now, &before);
    assert_eq!(plan.left, ["new", "newdir", "plain"].map(|path| left(path, LeftReason::InTheWay)));
    assert_eq!(bed.apply(&plan).unwrap().left, []);
    let texts = (bed.text("plain"), bed.text("new"), bed.text("dir/inside"));
    assert_eq!(texts, ("2".into(), "new".into(), "1".into()));
    assert!(bed.root.dir(b"").unwrap().xattrs(b"plain", belay_store::FileType::File).is_err(), "they are still there");
    relieve(&bed, "plain");
    assert!(bed.snap().coverage(&bed.store).unwrap().gaps.iter().all(|gap| gap.path != b"plain"));
}

#[test]
fn a_snapshot_that_could_not_read_them_takes_none_away() {
    let Some(bed) = bed() else { return };
    bed.ws.file("same", "1").file("edited", "1").file("gone", "1");
    if !["same", "edited", "gone"].iter().all(|name| burden(&bed, name)) {
        return;
    }
    let target = bed.snap();
    let dir = bed.root.dir(b"").unwrap();
    for name in ["same", "edited"] {
        relieve(&bed, name);
        dir.set_xattr(name.as_bytes(), b"user.kept", b"value").unwrap();
    }
    bed.ws.file("edited", "2").remove("gone");
    let now = bed.snap();
    let plan = bed.plan(&now, &target);
    assert_eq!(plan.left, [left("gone", LeftReason::NotCaptured)]);
    assert_eq!(plan.steps.paths().collect::<Vec<_>>(), [&b"edited"[..], b"gone"]);
    assert_eq!(bed.apply(&plan).unwrap().left, []);
    assert_eq!((bed.text("edited"), bed.text("gone")), ("1".into(), "1".into()));
    assert_eq!((user_xattrs(&bed, "same"), user_xattrs(&bed, "edited")), (1, 1));
    bed.nothing_to_do(&target);
}
