//! Tests of how workspaces are recognised.

use super::*;

fn place(path: &str, inode: u64, born: Option<i64>) -> Place {
    let born = born.map(|second| Timestamp::from_second(second).unwrap());
    Place { path: path.into(), device: 1, inode, born }
}

fn known(path: &str, inode: u64, born: Option<i64>) -> Identity {
    Identity::new(format!("ws_{inode}"), &place(path, inode, born), Timestamp::UNIX_EPOCH)
}

fn arrival(known: &[Identity], here: &Place, now_there: &[Place]) -> Option<(String, Arrival)> {
    let look = |path: &Path| now_there.iter().find(|place| place.path == path).cloned();
    recognise(known, here, &look).map(|(identity, arrival)| (identity.id.clone(), arrival))
}

#[test]
fn an_unmoved_workspace_is_known_and_a_strange_directory_is_not() {
    let all = [known("/a", 1, Some(5))];
    assert_eq!(arrival(&all, &place("/a", 1, Some(5)), &[]), Some(("ws_1".into(), Arrival::Known)));
    assert_eq!(arrival(&all, &place("/b", 2, Some(6)), &[]), None);
}

#[test]
fn a_moved_workspace_keeps_its_history() {
    let all = [known("/a", 1, Some(5))];
    let moved = Some(("ws_1".into(), Arrival::Moved { from: "/a".into() }));
    let here = place("/b", 1, Some(5));
    assert_eq!(arrival(&all, &here, &[]), moved);
    assert_eq!(arrival(&all, &here, &[place("/a", 7, Some(9))]), moved, "a new directory took the old path");
}

#[test]
fn a_reused_inode_is_no_move() {
    let all = [known("/a", 1, Some(5))];
    assert_eq!(arrival(&all, &place("/b", 1, Some(8)), &[]), None, "another birth");
    let without_birth = [known("/a", 1, None)];
    assert_eq!(arrival(&without_birth, &place("/b", 1, None), &[place("/a", 7, None)]), None);
}

#[test]
fn a_second_path_to_the_same_directory_is_no_move() {
    let all = [known("/a", 1, Some(5))];
    let seen = arrival(&all, &place("/bind", 1, Some(5)), &[place("/a", 1, Some(5))]);
    assert_eq!(seen, Some(("ws_1".into(), Arrival::Known)));
}

#[test]
fn a_cloned_again_directory_is_offered_the_history_of_its_path() {
    let all = [known("/a", 1, Some(5))];
    assert_eq!(arrival(&all, &place("/a", 2, Some(9)), &[]), Some(("ws_1".into(), Arrival::Replaced)));
    let renumbered = Place { device: 9, ..place("/a", 1, Some(5)) };
    assert_eq!(arrival(&all, &renumbered, &[]), Some(("ws_1".into(), Arrival::Known)));
}

#[test]
fn two_directories_that_changed_places_keep_their_own_history() {
    let all = [known("/a", 1, Some(5)), known("/b", 2, Some(6))];
    let now = [place("/a", 2, Some(6)), place("/b", 1, Some(5))];
    assert_eq!(arrival(&all, &now[0], &now), Some(("ws_2".into(), Arrival::Moved { from: "/b".into() })));
    assert_eq!(arrival(&all, &now[1], &now), Some(("ws_1".into(), Arrival::Moved { from: "/a".into() })));
}

#[test]
fn the_index_remembers_the_last_word_on_each_workspace() {
    let dir = tempfile::tempdir().unwrap();
    let disk = belay_store::RealDisk::open(dir.path()).unwrap();
    let record = |identity: Identity| Index::update(&disk, |_| Some(identity)).unwrap();
    assert!(!Index::read(&disk).unwrap().exists);
    record(known("/a", 1, None));
    record(known("/b", 2, Some(3)));
    record(known("/a", 1, None).at(&place("/c", 1, None)));
    let index = Index::read(&disk).unwrap();
    let paths: Vec<_> = index.known.iter().map(|identity| (identity.id.as_str(), identity.path())).collect();
    assert_eq!(paths, [("ws_2", "/b".into()), ("ws_1", "/c".into())]);
}
