//! The diff agrees with a comparison path by path, and reads no more than it must.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::hash::Algorithm;
use crate::manifest::Links;
use crate::planted::{Garden, Leaf, Plants, Thing, files};
use crate::tree::Opaque;

fn changes_in(garden: &Garden, before: &Plants, after: &Plants, scope: &Scope) -> Vec<Change> {
    let ((_, before), (_, after)) = (garden.plant(before), garden.plant(after));
    let view = View::stored(&garden.store);
    let sides = Sides { before: view, before_root: &before.root, after: view, after_root: &after.root };
    let mut changes = Vec::new();
    diff(&sides, scope, &mut |change| {
        changes.push(change);
        Ok(())
    })
    .unwrap();
    changes
}

fn changes(before: &Plants, after: &Plants) -> Vec<Change> {
    changes_in(&Garden::new(), before, after, &Scope::default())
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| std::str::from_utf8(&change.path).unwrap()).collect()
}

#[test]
fn content_comes_goes_and_changes() {
    let before = files(&[("a", "1"), ("b", "2"), ("d/x", "3"), ("same/f", "4")]);
    let after = files(&[("a", "1"), ("b", "9"), ("c", "2"), ("same/f", "4")]);
    let changes = changes(&before, &after);
    assert_eq!(paths(&changes), ["b", "c", "d", "d/x"]);
    assert!(changes[0].what().content && changes[1].what().added);
    assert!(changes[2].what().removed && changes[3].what().removed);
}

#[test]
fn metadata_is_told_apart_and_times_are_not_a_change() {
    let leaf = |meta: Meta| Leaf { meta, thing: Thing::File(b"x".to_vec()) };
    let plain = Meta { mode: 0o644, ..Meta::default() };
    let later = Meta { mtime: belay_sys::Time { sec: 9, nsec: 9 }, ..plain.clone() };
    let cases = [
        (Meta { mode: 0o755, ..plain.clone() }, What { mode: true, ..What::default() }),
        (Meta { uid: 7, ..plain.clone() }, What { owner: true, ..What::default() }),
        (Meta { gid: 7, ..plain.clone() }, What { owner: true, ..What::default() }),
        (
            Meta { xattrs: vec![(b"user.a".to_vec(), vec![])], ..plain.clone() },
            What { xattrs: true, ..What::default() },
        ),
    ];
    let before = Plants::from([(b"d/f".to_vec(), leaf(plain))]);
    for (meta, what) in cases {
        let changes = changes(&before, &Plants::from([(b"d/f".to_vec(), leaf(meta))]));
        assert_eq!(changes.iter().map(Change::what).collect::<Vec<_>>(), [what]);
    }
    assert_eq!(changes(&before, &Plants::from([(b"d/f".to_vec(), leaf(later))])), []);
}

#[test]
fn a_retyped_directory_loses_what_it_held() {
    let before = files(&[("a/b/c", "1")]);
    let after = Plants::from([(b"a".to_vec(), Thing::Symlink(b"b".to_vec()).into())]);
    let forth = changes(&before, &after);
    assert_eq!(paths(&forth), ["a", "a/b", "a/b/c"]);
    assert!(forth[0].what().retyped && !forth[0].what().content && forth[2].what().removed);
    let back = changes(&after, &before);
    assert_eq!(paths(&back), ["a", "a/b", "a/b/c"]);
    assert!(back[0].what().retyped && back[2].what().added);
}

#[test]
fn the_same_bytes_in_pieces_are_the_same() {
    let before = files(&[("a", "onetwo")]);
    let chunks = Thing::Chunked(vec![b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(changes(&before, &Plants::from([(b"a".to_vec(), chunks.into())])), []);
}

#[test]
fn nothing_is_claimed_about_what_was_not_captured() {
    let opaque = |path: &str| Plants::from([(path.as_bytes().to_vec(), Thing::Opaque(Opaque::Mount).into())]);
    let other = Plants::from([(b"x".to_vec(), Thing::Opaque(Opaque::Hung).into())]);
    assert_eq!(changes(&opaque("x"), &other), []);
    assert_eq!(changes(&opaque("x"), &Plants::new()), []);
    let changes = changes(&files(&[("x/y", "1")]), &opaque("x"));
    assert_eq!(paths(&changes), ["x", "x/y"]);
    let unknown = What { opaque: true, ..What::default() };
    assert!(changes.iter().all(|change| change.what() == unknown && change.after.is_none()));
}

#[test]
fn a_scope_means_whole_names() {
    let before = files(&[("a/b/c", "1"), ("ab", "1"), ("a/bc", "1"), ("z", "1")]);
    let scope = Scope::new(vec![b"a//b/".to_vec(), b"./z".to_vec()]);
    let changes = changes_in(&Garden::new(), &before, &Plants::new(), &scope);
    assert_eq!(paths(&changes), ["a/b", "a/b/c", "z"]);
    assert!(Scope::new(vec![b"a".to_vec(), b".".to_vec()]).is_everything());
    assert!(scope.may_contain(b"a") && !scope.contains(b"a") && !scope.may_contain(b"ab") && scope.may_contain(b""));
}

#[test]
fn equal_subtrees_are_not_read() {
    let garden = Garden::new();
    let nowhere = Algorithm::Blake3.hash(b"no such node");
    let unread = Entry {
        name: b"unread".to_vec(),
        meta: Meta::default(),
        kind: Kind::Dir { node: nowhere, identity: nowhere, files: 1, bytes: 1 },
    };
    let side = |extra: &str| {
        let name = extra.as_bytes().to_vec();
        let node = Node { entries: vec![Entry { name, meta: Meta::default(), kind: Kind::Fifo }, unread.clone()] };
        let key = Algorithm::Blake3.hash(&node.encode());
        let kind = Kind::Dir { node: key, identity: key, files: 1, bytes: 1 };
        (HashMap::from([(key, Arc::new(node))]), Entry { name: Vec::new(), meta: Meta::default(), kind })
    };
    let ((old, old_root), (new, new_root)) = (side("a"), side("b"));
    let sides = Sides {
        before: View::with_unwritten(&garden.store, &old),
        before_root: &old_root,
        after: View::with_unwritten(&garden.store, &new),
        after_root: &new_root,
    };
    let mut seen = Vec::new();
    let mut each = |change: Change| {
        seen.push(change.path);
        Ok(())
    };
    diff(&sides, &Scope::default(), &mut each).unwrap();
    assert_eq!(seen, [b"a".to_vec(), b"b".to_vec()]);
}

#[test]
fn no_tree_is_too_deep() {
    let path = vec!["d"; 5000].join("/");
    let changes = changes(&Plants::new(), &files(&[(&path, "x")]));
    assert_eq!(changes.len(), 5000);
    assert_eq!(changes[4999].path, path.into_bytes());
}

#[test]
fn the_receiver_can_stop() {
    let garden = Garden::new();
    let ((_, before), (_, after)) = (garden.plant(&Plants::new()), garden.plant(&files(&[("a", ""), ("b", "")])));
    let view = View::stored(&garden.store);
    let sides = Sides { before: view, before_root: &before.root, after: view, after_root: &after.root };
    let mut calls = 0;
    let result = diff(&sides, &Scope::default(), &mut |_| {
        calls += 1;
        Err(crate::error::Error::Interrupted)
    });
    assert!(result.is_err() && calls == 1);
}

#[test]
fn paths_with_other_partners_are_relinked() {
    let links = |groups: &[&[&str]]| {
        let group = |paths: &&[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        Links::normalised(groups.iter().map(group).collect())
    };
    let before = links(&[&["a", "b"], &["c", "d", "e"], &["x", "y"]]);
    let after = links(&[&["c", "d"], &["n", "m"], &["y", "x"]]);
    let expected: Vec<Vec<u8>> = ["a", "b", "c", "d", "e", "m", "n"].map(|path| path.as_bytes().to_vec()).into();
    assert_eq!(relinked(&before, &after), expected);
    assert!(relinked(&before, &before).is_empty());
}

#[test]
fn renames_are_found_by_content() {
    let before = files(&[("dir/a", "1"), ("dir/b", "2"), ("x/one", "3"), ("y/two", "3"), ("empty", "")]);
    let after = files(&[("dir2/a", "1"), ("dir2/b", "2"), ("z/two", "3"), ("empty2", "")]);
    let changes = changes(&before, &after);
    let mut pairs: Vec<_> = renames(&changes)
        .into_iter()
        .map(|pair| (changes[pair.from].path.clone(), changes[pair.to].path.clone()))
        .collect();
    pairs.sort();
    let expected = [("dir", "dir2"), ("y", "z")].map(|(a, b)| (a.as_bytes().to_vec(), b.as_bytes().to_vec()));
    assert_eq!(pairs, expected);
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let thing = prop_oneof![
        3 => (0..3u8).prop_map(|byte| Thing::File(vec![byte; usize::from(byte)])),
        1 => Just(Thing::Dir),
        1 => (0..2u8).prop_map(|byte| Thing::Symlink(vec![b'l', byte + b'0'])),
        1 => Just(Thing::Opaque(Opaque::Mount)),
    ];
    (thing, 0..2u16, 0..2u32, 0..2i64).prop_map(|(thing, mode, uid, sec)| {
        let mtime = belay_sys::Time { sec, nsec: 0 };
        Leaf { meta: Meta { mode: 0o644 + mode, uid, mtime, ..Meta::default() }, thing }
    })
}

/// A tree in which only directories have something beneath them.
fn plants() -> impl Strategy<Value = Plants> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "b-", "c"]), 1..4);
    prop::collection::btree_map(path.prop_map(|names| names.join("/").into_bytes()), leaf(), 0..12).prop_map(|all| {
        let leaves: BTreeSet<Vec<u8>> =
            all.iter().filter(|(_, leaf)| leaf.thing != Thing::Dir).map(|(path, _)| path.clone()).collect();
        let blocked =
            |path: &[u8]| path.iter().enumerate().any(|(at, byte)| *byte == b'/' && leaves.contains(&path[..at]));
        let mut kept: Plants = all.into_iter().filter(|(path, _)| !blocked(path)).collect();
        for path in kept.keys().cloned().collect::<Vec<_>>() {
            for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                kept.entry(path[..at].to_vec()).or_insert_with(|| Thing::Dir.into());
            }
        }
        kept
    })
}

/// What a comparison path by path says: captured before, captured after, and whether one side is unknown.
fn expected(before: &Plants, after: &Plants) -> Vec<(Vec<u8>, bool, bool, bool)> {
    let captured =
        |plants: &Plants, path: &[u8]| plants.get(path).filter(|leaf| !matches!(leaf.thing, Thing::Opaque(_))).cloned();
    let hidden = |plants: &Plants, path: &[u8]| {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| matches!(plants.get(&path[..end]), Some(Leaf { thing: Thing::Opaque(_), .. })))
    };
    let mut all: Vec<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    all.sort_by_key(|path| path.split(|byte| *byte == b'/').collect::<Vec<_>>());
    all.dedup();
    let timeless =
        |leaf: Option<Leaf>| leaf.map(|leaf| Leaf { meta: Meta { mtime: Meta::default().mtime, ..leaf.meta }, ..leaf });
    all.into_iter()
        .filter_map(|path| {
            let (old, new) = (timeless(captured(before, path)), timeless(captured(after, path)));
            let unknown = hidden(before, path) || hidden(after, path);
            (old != new).then(|| (path.clone(), old.is_some(), new.is_some(), unknown))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_comparison_path_by_path(before in plants(), after in plants()) {
        let garden = Garden::new();
        let found = changes_in(&garden, &before, &after, &Scope::default());
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.path.clone(), one.before.is_some(), one.after.is_some(), one.opaque))
            .collect();
        prop_assert_eq!(&told, &expected(&before, &after));
        let scope = Scope::new(vec![b"a/b".to_vec(), b"b-".to_vec()]);
        let scoped = changes_in(&garden, &before, &after, &scope);
        let cut: Vec<_> = found.into_iter().filter(|one| scope.contains(&one.path)).collect();
        prop_assert_eq!(scoped, cut);
    }
}
