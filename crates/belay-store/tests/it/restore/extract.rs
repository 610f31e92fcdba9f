//! A snapshot written somewhere else.

use belay_store::{Scope, extract};
use belay_testkit::{Ignore, assert_same_world, walk};

use super::bed::Bed;
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
