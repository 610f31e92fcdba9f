//! Names of snapshots, through the workspace.

use belay_session::Error;

use crate::bed::Bed;

#[test]
fn a_snapshot_is_found_by_label_number_and_time() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let first = bed.label("before-refactor");
    bed.ws.file("a", "2");
    let second = bed.snap();
    let workspace = bed.open();
    let id = |name: &str| workspace.resolve(name).map(|snapshot| snapshot.id);
    assert_eq!(id("before-refactor").unwrap(), first.id);
    assert_eq!(id("2").unwrap(), second.id);
    assert_eq!(id(&first.created_at.to_string()).unwrap(), first.id);
    assert_eq!(id("0s ago").unwrap(), second.id);
    assert!(
        matches!(id("before-refactr"), Err(Error::UnknownSnapshot { nearest, .. }) if nearest == ["before-refactor"])
    );
}
