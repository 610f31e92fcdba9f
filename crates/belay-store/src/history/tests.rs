//! Forgotten bytes are gone, and everything else is as it was.

use super::*;
use crate::gc::{GcOptions, gc};
use crate::planted::{Garden, Leaf, Plants, Thing, files};
use crate::tree::Meta;

fn forget_in(garden: &Garden, snapshot: &Hash, paths: &[&str]) -> Option<Forgotten> {
    let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let batch = garden.store.begin().unwrap();
    let mut worker = batch.worker();
    let forgotten = forget(&garden.store, &mut worker, snapshot, &paths).unwrap();
    worker.done().unwrap();
    batch.finish().unwrap();
    forgotten
}

fn found(garden: &Garden, snapshot: &Hash) -> Vec<String> {
    let mut paths = Vec::new();
    let mut each = |path: &[u8], _: &Entry| {
        paths.push(String::from_utf8(path.to_vec()).unwrap());
        Ok(())
    };
    find_path(&garden.store, snapshot, &|_| true, &mut each).unwrap();
    paths
}

fn collect(garden: &Garden, roots: &[Hash]) {
    let options = GcOptions { waste_percent_min: 0, ..GcOptions::default() };
    gc(&garden.store, &mut || Ok(roots.to_vec()), &options).unwrap();
}

#[test]
fn paths_are_found_in_order_and_with_their_entries() {
    let garden = Garden::new();
    let mut plants = files(&[("b/x.rs", "12"), ("a.rs", "1"), ("b-/y", "")]);
    plants.insert(b"b/lost".to_vec(), Thing::Opaque(Opaque::Hung).into());
    let (key, _) = garden.plant(&plants);
    assert_eq!(found(&garden, &key), ["a.rs", "b", "b/x.rs", "b-", "b-/y"]);
    let mut sizes = Vec::new();
    let mut each = |_: &[u8], entry: &Entry| {
        sizes.push(entry.kind.clone());
        Ok(())
    };
    find_path(&garden.store, &key, &|path| path.ends_with(b"x.rs"), &mut each).unwrap();
    assert!(matches!(sizes[..], [Kind::File { size: 2, .. }]));
}

#[test]
fn forgotten_bytes_are_gone_after_gc_and_the_rest_is_not() {
    let garden = Garden::new();
    let mut plants = files(&[("d/secret", "hush"), ("d/kept", "k"), ("twin", "hush2"), ("d/sub/twin", "hush2")]);
    let chunks = vec![b"part one".to_vec(), b"part two".to_vec()];
    plants.insert(b"d/big".to_vec(), Thing::Chunked(chunks).into());
    let (old, manifest) = garden.plant(&plants);
    let forgotten = forget_in(&garden, &old, &["d/secret", "d/big", "d/sub", "nowhere/x"]).unwrap();
    assert_eq!(forgotten.objects.len(), 1 + 3 + 1);
    assert_eq!(found(&garden, &forgotten.key), ["d", "d/kept", "twin"]);
    let new = Manifest::read(&garden.store, &forgotten.key).unwrap();
    assert_eq!(new.identity, forgotten.identity);
    assert_ne!(new.identity, manifest.identity);
    assert_eq!((new.counts.files, new.counts.bytes), (2, 6));

    collect(&garden, &[forgotten.key]);
    let twin = garden.store.algorithm().hash(b"hush2");
    for object in &forgotten.objects {
        assert_eq!(garden.store.contains(object).unwrap(), *object == twin, "only the twin is still needed");
    }
    assert!(!garden.store.contains(&old).unwrap());
    assert_eq!(garden.store.read(&garden.store.algorithm().hash(b"k")).unwrap(), b"k");
}

#[test]
fn a_forgotten_path_is_opaque_so_that_no_rollback_deletes_the_live_one() {
    let garden = Garden::new();
    let mut meta = Meta { mode: 0o600, ..Meta::default() };
    meta.xattrs = vec![(b"user.note".to_vec(), b"hush".to_vec())];
    let plants = Plants::from([(b"d/f".to_vec(), Leaf { meta, thing: Thing::File(b"x".to_vec()) })]);
    let (old, _) = garden.plant(&plants);
    let forgotten = forget_in(&garden, &old, &["d/f"]).unwrap();
    let new = Manifest::read(&garden.store, &forgotten.key).unwrap();
    let entry = View::stored(&garden.store).lookup(&new.root, b"d/f").unwrap().unwrap();
    assert!(entry.is_opaque() && entry.meta.xattrs.is_empty());
    let gaps = new.coverage(&garden.store).unwrap().gaps;
    assert_eq!(
        gaps.iter().map(|gap| (gap.path.as_slice(), gap.kind)).collect::<Vec<_>>(),
        [(&b"d/f"[..], GapKind::Excluded)]
    );
    assert!(forget_in(&garden, &forgotten.key, &["d/f"]).is_none(), "it is not forgotten twice");
}

#[test]
fn links_and_coverage_no_longer_know_the_path() {
    let garden = Garden::new();
    let group = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>();
    let links = Links::normalised(vec![group(&["a", "d/b"]), group(&["c", "d/e", "f"])]);
    let gap = |path: &str, kind| Gap { path: path.as_bytes().to_vec(), kind, detail: String::new() };
    let coverage = Coverage { gaps: vec![gap("d/gone", GapKind::Vanished), gap("x", GapKind::Unreadable)] };
    let plants = files(&[("a", "1"), ("d/b", "1"), ("c", "2"), ("d/e", "2"), ("f", "2")]);
    let (old, _) = garden.plant_with(&plants, &links, &coverage);
    let forgotten = forget_in(&garden, &old, &["d/", "d/b"]).unwrap();
    let new = Manifest::read(&garden.store, &forgotten.key).unwrap();
    assert_eq!(new.links(&garden.store).unwrap().groups, [group(&["c", "f"])]);
    let paths: Vec<_> = new.coverage(&garden.store).unwrap().gaps.into_iter().map(|gap| gap.path).collect();
    assert_eq!(paths, group(&["d", "x"]));
    assert_eq!(new.counts.gaps, 1);
    assert_eq!(found(&garden, &forgotten.key), ["a", "c", "f"]);
    let last = forget_in(&garden, &forgotten.key, &["c"]).unwrap();
    assert_eq!(Manifest::read(&garden.store, &last.key).unwrap().links, None);
}

#[test]
fn what_is_not_there_is_left_alone_and_the_whole_is_refused() {
    let garden = Garden::new();
    let (old, _) = garden.plant(&files(&[("a", "1"), ("d/b", "1")]));
    assert!(forget_in(&garden, &old, &["b", "a/x", "d/b/c", "d/x"]).is_none());
    let batch = garden.store.begin().unwrap();
    let mut worker = batch.worker();
    assert!(forget(&garden.store, &mut worker, &old, &[b".".to_vec()]).is_err());
    assert!(forget(&garden.store, &mut worker, &old, &[]).is_err());
}

#[test]
fn the_result_does_not_depend_on_the_order_of_paths() {
    let garden = Garden::new();
    let (old, _) = garden.plant(&files(&[("a/b/c", "1"), ("a/d", "2"), ("e/f", "3")]));
    let one = forget_in(&garden, &old, &["a/b/c", "a/b", "e/f"]).unwrap();
    let two = forget_in(&garden, &old, &["e/f", "a/b", "a/b/c"]).unwrap();
    assert_eq!((one.key, one.objects), (two.key, two.objects));
    assert_eq!(found(&garden, &one.key), ["a", "a/d", "e"]);
}

#[test]
fn no_tree_is_too_deep() {
    let garden = Garden::new();
    let path = vec!["d"; 2000].join("/");
    let (old, _) = garden.plant(&files(&[(&path, "x")]));
    assert_eq!(found(&garden, &old).len(), 2000);
    let forgotten = forget_in(&garden, &old, &[&path]).unwrap();
    assert_eq!(found(&garden, &forgotten.key).len(), 1999);
}
