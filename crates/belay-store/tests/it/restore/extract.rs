//! A snapshot written somewhere else.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use belay_store::{Applied, Error, Faults, Manifest, Scope, extract};
use belay_testkit::{Ignore, assert_same_world, walk};

use super::bed::{Bed, PREFIX};
use super::crash::stride;
use super::laws::build;

#[test]
fn a_whole_snapshot_is_written_with_every_property() {
    let bed = Bed::new();
    build(&bed);
    let (before, target) = (bed.ws.walk(), bed.snap());
    let to = bed.ws.outside().join("new/place");
    let applied = extract(&bed.store, &target, &Scope::default(), &to, &bed.options(None)).unwrap();
    assert_eq!(applied.left, []);
    assert_same_world(&before, &walk(&to), Ignore::default());
}

#[test]
fn a_part_is_written_where_it_was_and_nothing_else() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    let to = bed.ws.outside().join("part");
    std::fs::create_dir(&to).unwrap();
    let scope = Scope::new(vec![b"src".to_vec(), b"docs/a/b/c/d".to_vec()]);
    extract(&bed.store, &target, &scope, &to, &bed.options(None)).unwrap();
    let paths: Vec<String> = walk(&to).keys().map(|path| belay_testkit::show(path)).collect();
    assert_eq!(
        paths,
        ["", "docs", "docs/a", "docs/a/b", "docs/a/b/c", "docs/a/b/c/d", "src", "src/lib.rs", "src/main.rs"]
    );
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let bed = Bed::new();
    bed.ws.file("a", "a");
    let target = bed.snap();
    let to = bed.ws.outside().join("full");
    std::fs::create_dir(&to).unwrap();
    std::fs::write(to.join("mine"), "mine").unwrap();
    let before = walk(&to);
    let error = extract(&bed.store, &target, &Scope::default(), &to, &bed.options(None)).unwrap_err();
    assert!(matches!(error, belay_store::Error::Disk { .. }), "{error}");
    assert_same_world(&before, &walk(&to), Ignore::NOTHING);
}

#[test]
fn nothing_stays_where_an_extract_failed() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    super::faults::damage_packs(&bed);
    let to = bed.ws.outside().join("new");
    let store = super::faults::reopen(&bed);
    assert!(extract(&store, &target, &Scope::default(), &to, &bed.options(None)).is_err());
    assert!(!to.exists());
}

#[test]
fn what_a_killed_extract_left_is_removed_by_the_next_one() {
    let bed = Bed::new();
    build(&bed);
    let (before, target) = (bed.ws.walk(), bed.snap());
    fn extract_to(bed: &Bed, target: &Manifest, to: &Path, faults: Option<&Faults>) -> Result<Applied, Error> {
        extract(&bed.store, target, &Scope::default(), to, &bed.options(faults))
    }
    let (mut at, mut begun, mut halves) = (1, 0, 0);
    loop {
        let to = bed.ws.outside().join(format!("to-{at}"));
        std::fs::create_dir(&to).unwrap();
        let faults = Faults { after: AtomicU64::new(at), ..Faults::default() };
        match extract_to(&bed, &target, &to, Some(&faults)) {
            Ok(_) => break,
            Err(Error::Interrupted) => {}
            Err(error) => panic!("change {at}: {error}"),
        }
        let left = walk(&to);
        let is_in_place = |path: &Vec<u8>| !path.is_empty() && !path.starts_with(PREFIX);
        if left.keys().any(is_in_place) {
            // From here on nobody can tell what somebody else has put there.
            assert!(extract_to(&bed, &target, &to, None).is_err(), "change {at}");
            assert_same_world(&left, &walk(&to), Ignore::NOTHING);
            halves += 1;
        } else {
            assert_eq!(extract_to(&bed, &target, &to, None).unwrap().left, [], "change {at}");
            assert_same_world(&before, &walk(&to), Ignore::default());
            begun += 1;
        }
        at += stride();
    }
    assert!(begun > 0 && begun > halves, "{begun} were killed while they staged, {halves} later");
}

#[test]
fn what_another_extract_is_writing_is_left_alone() {
    let bed = Bed::new();
    bed.ws.file("a", "a");
    let target = bed.snap();
    let to = bed.ws.outside().join("busy");
    let staged = to.join(std::str::from_utf8(PREFIX).unwrap().to_owned() + "0");
    std::fs::create_dir(&to).unwrap();
    std::fs::write(&staged, "theirs").unwrap();
    let theirs = std::fs::File::open(&to).unwrap();
    theirs.lock().unwrap();
    let before = walk(&to);
    assert!(extract(&bed.store, &target, &Scope::default(), &to, &bed.options(None)).is_err());
    assert_same_world(&before, &walk(&to), Ignore::NOTHING);
    theirs.unlock().unwrap();
    extract(&bed.store, &target, &Scope::default(), &to, &bed.options(None)).unwrap();
    assert!(to.join("a").exists() && !staged.exists());
}
