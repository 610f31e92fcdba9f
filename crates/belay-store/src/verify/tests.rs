//! No damage escapes, and what it affects is named.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::*;
use crate::capture::Quiet;
use crate::manifest::Manifest;
use crate::objects::ObjectKind;
use crate::planted::{Garden, Plants, Thing, files};
use crate::tree::{Content, Entry, Kind, Node, Opaque};

fn check(garden: &Garden, snapshots: &[Hash], deep: bool) -> VerifyReport {
    let store = Garden::open(&garden.dir);
    verify(&store, snapshots, &VerifyOptions { deep, progress: &Quiet }).unwrap()
}

fn packs(garden: &Garden) -> Vec<PathBuf> {
    let mut packs: Vec<PathBuf> =
        std::fs::read_dir(garden.dir.path().join("store/packs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    packs.sort();
    packs
}

fn flip(path: &PathBuf, byte: usize, bit: u8) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut one = [0];
    file.read_exact_at(&mut one, byte as u64).unwrap();
    file.write_all_at(&[one[0] ^ 1 << bit], byte as u64).unwrap();
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn place_of(pack: &PathBuf, bytes: &[u8]) -> usize {
    std::fs::read(pack).unwrap().windows(bytes.len()).position(|window| window == bytes).unwrap()
}

/// Two snapshots that share a large file, which has a block of its own.
fn two_with_a_large_file(garden: &Garden) -> (Hash, Hash) {
    let mut plants = files(&[("d/small", "s"), ("other/x", "x")]);
    plants.insert(b"d/large".to_vec(), Thing::File(noise(1, 400_000)).into());
    plants.insert(b"d/lost".to_vec(), Thing::Opaque(Opaque::Hung).into());
    let (one, _) = garden.plant(&plants);
    plants.extend(files(&[("other/x", "y")]));
    (one, garden.plant(&plants).0)
}

#[test]
fn a_good_store_has_no_damage() {
    let garden = Garden::new();
    let mut plants = files(&[("a", "1"), ("d/e/f", "2"), ("empty", "")]);
    plants.insert(b"chunked".to_vec(), Thing::Chunked(vec![noise(1, 1000), noise(2, 1000)]).into());
    let (key, _) = garden.plant(&plants);
    let shallow = check(&garden, &[key], false);
    assert_eq!((shallow.damage, shallow.bytes), (vec![], 0));
    let deep = check(&garden, &[key], true);
    assert_eq!(deep.damage, []);
    assert!(deep.bytes > 2000 && deep.objects == shallow.objects);
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let garden = Garden::new();
    let mut plants = files(&[("a", "some text"), ("d/e", "other text")]);
    plants.insert(b"d/chunked".to_vec(), Thing::Chunked(vec![noise(1, 200), noise(2, 200)]).into());
    let (key, _) = garden.plant(&plants);
    let mut all = packs(&garden);
    assert_eq!(all.len(), 1);
    all.push(garden.dir.path().join("store/format"));
    for file in all {
        for byte in 0..std::fs::metadata(&file).unwrap().len() as usize {
            flip(&file, byte, byte as u8 % 8);
            let disk = std::sync::Arc::new(crate::disk::RealDisk::open(garden.dir.path()).unwrap());
            if let Ok(store) = Store::open(disk, crate::hash::Algorithm::Blake3) {
                let report = verify(&store, &[key], &VerifyOptions { deep: true, progress: &Quiet }).unwrap();
                assert_ne!(report.damage, [], "byte {byte} of {}", file.display());
            }
            flip(&file, byte, byte as u8 % 8);
        }
    }
    assert_eq!(check(&garden, &[key], true).damage, []);
}

#[test]
fn a_truncated_or_missing_pack_is_found_without_reading_everything() {
    let garden = Garden::new();
    let (one, two) = two_with_a_large_file(&garden);
    for pack in packs(&garden) {
        let bytes = std::fs::read(&pack).unwrap();
        std::fs::write(&pack, &bytes[..bytes.len() - 1]).unwrap();
        let report = check(&garden, &[one, two], false);
        assert!(report.damage.iter().any(|one| pack.ends_with(one.file.rsplit('/').next().unwrap())), "{report:?}");
        std::fs::remove_file(&pack).unwrap();
        let report = check(&garden, &[one, two], false);
        assert!(report.damage.iter().any(|one| one.detail == "objects are missing" && one.affected > 0), "{report:?}");
        std::fs::write(&pack, bytes).unwrap();
    }
    assert_eq!(check(&garden, &[one, two], false).damage, []);
}

#[test]
fn damage_names_the_snapshots_and_paths_that_need_it() {
    let garden = Garden::new();
    let (one, two) = two_with_a_large_file(&garden);
    let large = noise(1, 400_000);
    let pack = packs(&garden).into_iter().find(|pack| std::fs::metadata(pack).unwrap().len() > 400_000).unwrap();
    flip(&pack, place_of(&pack, &large[..64]), 0);
    assert_eq!(check(&garden, &[one, two], false).damage, [], "a shallow check does not read content");
    let report = check(&garden, &[one, two], true);
    let [damage] = &report.damage[..] else { panic!("{report:?}") };
    assert!(pack.ends_with(damage.file.rsplit('/').next().unwrap()));
    assert_eq!(damage.affects, [(one, b"d/large".to_vec()), (two, b"d/large".to_vec())]);
    assert_eq!(damage.affected, 2);
    assert_eq!(damage.objects, [crate::hash::Algorithm::Blake3.hash(&large)]);
}

#[test]
fn a_lost_directory_affects_its_path_in_each_snapshot_and_not_the_rest() {
    let garden = Garden::new();
    let (key, manifest) = garden.plant(&files(&[("a/b/c", "1"), ("z", "2")]));
    let root = garden.store.node(&manifest.root_node()).unwrap();
    let mut broken = Node::clone(&root);
    let nowhere = crate::hash::Algorithm::Blake3.hash(b"nowhere");
    broken.entries[0].kind = Kind::Dir { node: nowhere, identity: nowhere, files: 1, bytes: 1 };
    let damaged = replant(&garden, &manifest, &broken);
    let report = check(&garden, &[key, damaged], false);
    let [damage] = &report.damage[..] else { panic!("{report:?}") };
    assert_eq!((&damage.affects[..], &damage.objects[..]), (&[(damaged, b"a".to_vec())][..], &[nowhere][..]));
}

#[test]
fn a_directory_that_is_described_wrongly_is_found() {
    let garden = Garden::new();
    let (_, manifest) = garden.plant(&files(&[("a/b", "1")]));
    let mut broken = Node::clone(&garden.store.node(&manifest.root_node()).unwrap());
    if let Kind::Dir { bytes, .. } = &mut broken.entries[0].kind {
        *bytes += 1;
    }
    let damaged = replant(&garden, &manifest, &broken);
    let report = check(&garden, &[damaged], false);
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert_eq!(report.damage[0].affects, [(damaged, b"a".to_vec())]);
}

#[test]
fn pieces_that_are_good_alone_and_wrong_together_are_found() {
    let garden = Garden::new();
    let chunked = Plants::from([(b"f".to_vec(), Thing::Chunked(vec![noise(1, 100), noise(2, 100)]).into())]);
    let (_, manifest) = garden.plant(&chunked);
    let mut broken = Node::clone(&garden.store.node(&manifest.root_node()).unwrap());
    if let Kind::File { content: Content::Chunked { hash, .. }, .. } = &mut broken.entries[0].kind {
        hash.0[0] ^= 1;
    }
    let damaged = replant(&garden, &manifest, &broken);
    assert_eq!(check(&garden, &[damaged], false).damage, []);
    assert_eq!(check(&garden, &[damaged], true).damage[0].affects, [(damaged, b"f".to_vec())]);
}

/// Publishes the snapshot with another node as its root, and everything above it made to fit.
fn replant(garden: &Garden, manifest: &Manifest, root: &Node) -> Hash {
    let batch = garden.store.begin().unwrap();
    let mut worker = batch.worker();
    let (node, _) = worker.put(ObjectKind::Tree, &root.encode()).unwrap();
    let algorithm = garden.store.algorithm();
    let (files, bytes) = root.totals();
    let kind = Kind::Dir { node, identity: root.identity(algorithm), files, bytes };
    let root = Entry { kind, ..manifest.root.clone() };
    let identity = Manifest::identity_of(algorithm, &root, None);
    let manifest = Manifest { root, identity, ..manifest.clone() };
    let (key, _) = worker.put(ObjectKind::Tree, &manifest.encode()).unwrap();
    worker.done().unwrap();
    batch.finish().unwrap();
    key
}

#[test]
fn repair_saves_what_is_good_and_keeps_the_rest_aside() {
    let garden = Garden::new();
    let (one, two) = two_with_a_large_file(&garden);
    let large = noise(1, 400_000);
    let pack = packs(&garden).into_iter().find(|pack| std::fs::metadata(pack).unwrap().len() > 400_000).unwrap();
    flip(&pack, place_of(&pack, &large[..64]), 0);
    let report = check(&garden, &[one, two], true);
    let store = Garden::open(&garden.dir);
    let repaired = repair(&store, &report, &[one, two], &[]).unwrap();
    assert_eq!((repaired.healed, &repaired.lost[..]), (0, &[store.algorithm().hash(&large)][..]));
    assert_eq!(repaired.set_aside.len(), 1);
    let after = check(&garden, &[one, two], true);
    assert_eq!(after.damage.len(), 1);
    assert_eq!(after.damage[0].detail, "objects are missing");
    assert_eq!(after.damage[0].affected, 2);
    assert_eq!(store.read(&store.algorithm().hash(b"s")).unwrap(), b"s");
}

#[test]
fn repair_finds_the_other_copy() {
    let (garden, twin) = (Garden::new(), Garden::new());
    let mut plants = files(&[("a", "1")]);
    plants.insert(b"large".to_vec(), Thing::File(noise(1, 400_000)).into());
    let (key, _) = garden.plant(&plants);
    plants.extend(files(&[("b", "2")]));
    twin.plant(&plants);
    let pack = packs(&garden).remove(0);
    for other in packs(&twin) {
        std::fs::copy(&other, pack.with_file_name(other.file_name().unwrap())).unwrap();
    }
    flip(&pack, place_of(&pack, &noise(1, 64)), 0);
    let report = check(&garden, &[key], true);
    let repaired = repair(&Garden::open(&garden.dir), &report, &[key], &[]).unwrap();
    assert_eq!((repaired.healed, repaired.lost.len(), repaired.set_aside.len()), (1, 0, 0));
    assert_eq!(check(&garden, &[key], true).damage, []);
    assert!(!pack.exists() && !pack.with_extension("damaged").exists());
}

#[test]
fn repair_heals_from_a_workspace_that_still_holds_the_bytes() {
    let (garden, workspace) = (Garden::new(), tempfile::tempdir().unwrap());
    let write = |path: &str, bytes: &[u8]| std::fs::write(workspace.path().join(path), bytes).unwrap();
    std::fs::create_dir(workspace.path().join("d")).unwrap();
    write("d/large", &noise(1, 400_000));
    write("d/chunked", &noise(2, 9 << 20));
    write("d/edited", b"before");
    let root = belay_sys::Root::open(workspace.path()).unwrap();
    let snapshot = snapshot_of(&garden, &root);
    write("d/edited", b"afterwards");
    let pack = packs(&garden).remove(0);
    // One bit in every two kibibytes hits every block, tables aside.
    for byte in (100..9 << 20).step_by(2048) {
        flip(&pack, byte, 0);
    }
    let report = check(&garden, &[snapshot], true);
    assert!(report.damage.iter().map(|one| one.objects.len()).sum::<usize>() > 3, "{report:?}");

    let store = Garden::open(&garden.dir);
    let repaired =
        repair(&store, &report, &[snapshot], &[Witness { root, snapshot, cache: CACHE.to_owned() }]).unwrap();
    assert!(repaired.healed >= 3, "{repaired:?}");
    let large = store.read(&store.algorithm().hash(&noise(1, 400_000))).unwrap();
    assert_eq!(large, noise(1, 400_000));
    let lost = check(&garden, &[snapshot], true);
    let paths: std::collections::BTreeSet<_> =
        lost.damage.iter().flat_map(|one| &one.affects).map(|(_, path)| path.as_slice()).collect();
    assert!(!paths.contains(&b"d/large"[..]) && !paths.contains(&b"d/chunked"[..]), "{lost:?}");
}

/// Loses every node of the store, as damage in the blocks of nodes would.
fn lose_nodes(garden: &Garden) {
    for name in packs(garden) {
        let disk = crate::disk::RealDisk::open(garden.dir.path()).unwrap();
        let short = format!("store/packs/{}", name.file_name().unwrap().to_str().unwrap());
        let pack = crate::pack::Pack::open(&disk, &short).unwrap();
        for block in pack.blocks().unwrap().into_iter().filter(|block| block.tree) {
            flip(&name, block.offset as usize + block.stored_len as usize / 2, 3);
        }
    }
}

#[test]
fn directories_are_put_together_again_although_the_workspace_changed() {
    let (garden, workspace) = (Garden::new(), tempfile::tempdir().unwrap());
    let write = |path: &str, text: &str| std::fs::write(workspace.path().join(path), text).unwrap();
    for dir in ["src/deep", "docs", "many"] {
        std::fs::create_dir_all(workspace.path().join(dir)).unwrap();
    }
    write("src/deep/edited", "as it was");
    write("src/deep/same", "same");
    write("docs/gone", "gone soon");
    (0..200).for_each(|number| write(&format!("many/file-{number}"), &format!("{number}")));
    let root = belay_sys::Root::open(workspace.path()).unwrap();
    let captured = capture_of(&garden, &root);
    captured.save_cache().unwrap();
    let snapshot = captured.key;
    drop(captured);
    lose_nodes(&garden);
    write("src/deep/edited", "as it is by now");
    write("src/new", "new");
    write("many/file-77", "seventy-seven");
    std::fs::remove_file(workspace.path().join("many/file-150")).unwrap();
    let store = Garden::open(&garden.dir);
    let report = verify(&store, &[snapshot], &VerifyOptions { deep: true, progress: &Quiet }).unwrap();
    assert_ne!(report.damage, []);
    let witness = Witness { root, snapshot, cache: CACHE.to_owned() };
    let repaired = repair(&store, &report, &[snapshot], &[witness]).unwrap();
    let after = check(&garden, &[snapshot], true);
    assert_eq!(after.damage, [], "{repaired:?}");
}

const CACHE: &str = "workspaces/test/cache";

fn snapshot_of(garden: &Garden, root: &belay_sys::Root) -> Hash {
    capture_of(garden, root).key
}

fn capture_of(garden: &Garden, root: &belay_sys::Root) -> crate::capture::Captured {
    let options = crate::capture::CaptureOptions {
        root,
        filter: &crate::filter::Filter::default(),
        cache: CACHE,
        is_live: &|_| false,
        keep: None,
        source: crate::capture::Source::Full,
        limits: crate::capture::Limits::default(),
        cross_mounts: false,
        own_prefixes: &[],
        clock: &|| belay_sys::Time { sec: 0, nsec: 0 },
        progress: &Quiet,
        stop: &std::sync::atomic::AtomicBool::new(false),
    };
    crate::capture::capture(&garden.store, &options).unwrap()
}
