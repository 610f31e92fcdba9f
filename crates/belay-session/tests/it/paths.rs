//! Paths through time: history, find, forget, and the trees themselves.

use belay_session::VersionState;
use belay_session::store::Scope;

use crate::bed::{Bed, work};

#[test]
fn a_path_has_a_history() {
    let bed = Bed::new();
    bed.ws.file("other", "0");
    bed.snap();
    bed.ws.file("a", "1");
    bed.snap();
    bed.ws.file("other", "1");
    bed.snap();
    bed.ws.file("a", "2");
    bed.snap();
    bed.ws.remove("a");
    bed.snap();
    bed.snap();
    bed.ws.file("a", "3");
    bed.snap();
    let versions = bed.open().history(b"a").unwrap();
    let seen: Vec<_> = versions.iter().map(|version| (version.snapshot.number, version.state)).collect();
    use VersionState::{Deleted, Modified, New, Unchanged};
    assert_eq!(seen, [(2, New), (3, Unchanged), (4, Modified), (5, Deleted), (7, New)]);
    assert!(bed.open().history(b"nowhere").unwrap().is_empty());
}

#[test]
fn paths_are_found_in_every_snapshot_that_holds_them() {
    let bed = Bed::new();
    bed.ws.file("src/main.rs", "1").file("notes.txt", "1");
    bed.snap();
    bed.ws.file("src/lib.rs", "1").file("src/main.rs", "2");
    bed.snap();
    bed.ws.remove("src");
    bed.snap();
    let find = |pattern: &str| {
        let found = bed.open().find_paths(pattern).unwrap();
        let line = |one: belay_session::Found<'_>| {
            let numbers: Vec<_> = one.snapshots().map(|snapshot| snapshot.number).collect();
            (String::from_utf8(one.path.to_vec()).unwrap(), numbers)
        };
        found.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(find("*.rs"), [("src/lib.rs".into(), vec![2]), ("src/main.rs".into(), vec![1, 2])]);
    assert_eq!(find("notes"), [("notes.txt".into(), vec![1, 2, 3])]);
    assert_eq!(find("src/m*"), [("src/main.rs".into(), vec![1, 2])]);
    assert!(find("nowhere").is_empty());
    bed.ws.file("src/main.rs", "3");
    bed.snap();
    bed.snap();
    assert_eq!(find("src/m*"), [("src/main.rs".into(), vec![1, 2, 4, 5])]);
    let workspace = bed.open();
    let mut found = workspace.find_paths("*.rs").unwrap();
    found.keep_only(&workspace.resolve("4").unwrap());
    let one = found.iter().next().unwrap();
    assert_eq!((found.iter().count(), one.path, one.snapshots().count()), (1, &b"src/main.rs"[..], 1));
    assert!(workspace.newest(one).unwrap().is_some());
}

#[test]
fn trees_can_be_listed_read_and_compared_with_the_present() {
    let bed = Bed::new();
    bed.ws.file("a", "old").file("dir/b", "b").symlink("link", "target");
    let one = bed.snap();
    bed.ws.file("a", "new text").file("c", "c");
    let workspace = bed.open();
    let (then, now) = (workspace.tree(&one).unwrap(), workspace.present(work()).unwrap());
    let names = |path: &[u8]| {
        let entries = workspace.list(&then, path).unwrap()?;
        Some(entries.iter().map(|entry| String::from_utf8(entry.name.clone()).unwrap()).collect::<Vec<_>>())
    };
    assert_eq!(names(b"").unwrap(), ["a", "dir", "link"]);
    assert_eq!(names(b"a").unwrap(), ["a"]);
    assert_eq!(names(b"zzz"), None);
    let changes = workspace.changes(&then, &now, &Scope::default()).unwrap();
    let paths: Vec<_> = changes.iter().map(|change| change.path.as_slice()).collect();
    assert_eq!(paths, [b"a".as_slice(), b"c"]);
    let read = |tree: &belay_session::Tree, path: &[u8]| {
        let entry = workspace.entry(tree, path).unwrap().unwrap();
        String::from_utf8(workspace.read(tree, path, &entry).unwrap()).unwrap()
    };
    assert_eq!((read(&then, b"a"), read(&now, b"a")), ("old".into(), "new text".into()));
    assert_eq!((read(&now, b"dir/b"), read(&then, b"link")), ("b".into(), "target".into()));
    let mut streamed = Vec::new();
    let entry = workspace.entry(&then, b"a").unwrap().unwrap();
    workspace
        .stream(&then, &entry, &mut |bytes| {
            streamed.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
    assert_eq!(streamed, b"old");
}

#[test]
fn a_forgotten_path_is_gone_from_all_history_and_from_the_disk() {
    let bed = Bed::new();
    let secret = "correct horse battery staple ".repeat(50);
    bed.ws.file("secret.key", &secret).file("a", "1").file("dir/also", &secret);
    let one = bed.snap();
    bed.ws.file("a", "2");
    bed.snap();
    bed.ws.remove("secret.key");
    let three = bed.snap();
    let workspace = bed.open();
    let plan = workspace.plan_forget(&[b"secret.key".to_vec()]).unwrap();
    assert_eq!(plan.snapshots.iter().map(|snapshot| snapshot.number).collect::<Vec<_>>(), [1, 2]);
    let report = workspace.forget(&plan, false).unwrap();
    assert_eq!(
        (report.rewritten.len(), report.gone.len(), report.shared.len()),
        (2, 0, 1),
        "dir/also has the same bytes"
    );
    let report = workspace.forget(&workspace.plan_forget(&[b"dir/also".to_vec()]).unwrap(), false).unwrap();
    assert_eq!((report.gone.len(), report.shared.len()), (1, 0));
    let timeline = workspace.timeline().unwrap();
    assert_eq!(timeline.snapshots().len(), 3);
    assert_ne!(timeline.snapshots()[0].root, one.root);
    assert_eq!(timeline.snapshots()[0].files, 1);
    assert_ne!(timeline.snapshots()[2].root, three.root);
    assert!(workspace.history(b"secret.key").unwrap().is_empty());
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
    bed.rewind(belay_session::Goal::To(Some("1".into()))).unwrap();
    assert_eq!(bed.text("a"), "1");
}
