//! Every kind of thing in the place of every other.

use belay_testkit::{Ignore, TempWorkspace, assert_same_world};

use super::bed::Bed;

const KINDS: [&str; 8] = ["nothing", "file", "empty-dir", "dir", "symlink", "symlink-to-dir", "fifo", "socket"];

fn make(ws: &TempWorkspace, kind: &str, path: &str) {
    match kind {
        "nothing" => ws,
        "file" => ws.file(path, "content\n"),
        "empty-dir" => ws.dir(path),
        "dir" => ws.file(format!("{path}/a"), "a").file(format!("{path}/b/c"), "c").symlink(format!("{path}/d"), "a"),
        "symlink" => ws.symlink(path, "nowhere"),
        "symlink-to-dir" => ws.symlink(path, "/"),
        "fifo" => ws.fifo(path),
        "socket" => ws.socket(path),
        other => unreachable!("{other}"),
    };
}

#[test]
fn every_kind_becomes_every_other_kind() {
    let bed = Bed::new();
    let places = || KINDS.iter().flat_map(|from| KINDS.iter().map(move |to| (*from, *to, format!("{from}-{to}"))));
    bed.ws.dir("p");
    places().for_each(|(from, _, name)| make(&bed.ws, from, &format!("p/{name}")));
    let (before, target) = (bed.ws.walk(), bed.snap());
    for (from, to, name) in places().filter(|(from, to, _)| from != to) {
        if from != "nothing" {
            bed.ws.remove(format!("p/{name}"));
        }
        make(&bed.ws, to, &format!("p/{name}"));
    }
    let after = bed.ws.walk();
    let safety = bed.snap();
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.rollback(&safety).left, []);
    assert_same_world(&after, &bed.ws.walk(), Ignore::default());
}
