//! Objects come back as they went in, once, whoever writes and whatever moves.

use super::*;
use crate::disk::RealDisk;
use crate::gc::{GcOptions, gc};

fn store(dir: &tempfile::TempDir) -> Store {
    Store::open(Arc::new(RealDisk::open(dir.path()).unwrap()), Algorithm::Blake3).unwrap()
}

fn put_all(store: &Store, objects: &[Vec<u8>]) -> Vec<Hash> {
    let batch = store.begin().unwrap();
    let mut worker = batch.worker();
    let keys = objects.iter().map(|bytes| worker.put(ObjectKind::Content, bytes).unwrap().0).collect();
    worker.done().unwrap();
    batch.finish().unwrap();
    keys
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn small_large_and_empty_objects_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let objects: Vec<_> = [0, 1, 100, 70_000, 600_000, 3 << 20].iter().map(|len| noise(*len as u64, *len)).collect();
    let keys = put_all(&store, &objects);
    for (key, bytes) in keys.iter().zip(&objects) {
        assert_eq!(&store.read(key).unwrap(), bytes);
    }
    let again = self::store(&dir);
    assert_eq!(&again.read(&keys[3]).unwrap(), &objects[3]);
}

#[test]
fn an_object_that_is_read_alone_is_the_same_wherever_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let objects: Vec<_> = (0..40u64).map(|seed| noise(seed, 300).repeat(40)).collect();
    let keys = put_all(&store(&dir), &objects);
    let store = store(&dir);
    assert_eq!(store.packs().unwrap()[0].block_count, 1);
    for (at, (key, bytes)) in keys.iter().zip(&objects).enumerate() {
        // The second time the whole block is kept, and the third time it comes from there.
        assert!(&store.read_alone(key).unwrap() == bytes, "object {at}");
        assert_eq!(store.blocks.lock().unwrap().blocks.len(), usize::from(at > 0));
    }
    assert!(matches!(store.read_alone(&Hash([1; 32])), Err(Error::Missing(_))));
}

#[test]
fn an_object_that_is_read_alone_is_the_same_in_whatever_order() {
    let small: Vec<_> = (0..10u64).map(|seed| noise(seed, 300).repeat(40)).collect();
    let packed: Vec<_> = (20..60u64).map(|seed| noise(seed, 300).repeat(40)).collect();
    let as_it_is: Vec<_> = (60..70u64).map(|seed| noise(seed, 60_000)).collect();
    for (objects, kept_after) in [(small, [1, 1, 1]), (packed, [0, 0, 1]), (as_it_is, [0, 0, 0])] {
        let dir = tempfile::tempdir().unwrap();
        let keys = put_all(&store(&dir), &objects);
        let store = store(&dir);
        assert_eq!(store.packs().unwrap()[0].block_count, 1);
        for (at, (key, bytes)) in keys.iter().zip(&objects).rev().enumerate() {
            assert!(&store.read_alone(key).unwrap() == bytes, "object {at} from the end");
            let kept = store.blocks.lock().unwrap().blocks.len();
            assert_eq!(kept, kept_after[at.min(2)], "blocks that are kept after object {at} from the end");
        }
    }
}

#[test]
fn the_same_bytes_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    put_all(&store, &[noise(1, 50_000), noise(1, 50_000)]);
    let before = store.usage().unwrap();
    assert_eq!(before.objects, 1);
    put_all(&store, &[noise(1, 50_000)]);
    assert_eq!(store.usage().unwrap(), before);
}

#[test]
fn another_handle_finds_what_was_stored_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (store(&dir), store(&dir));
    put_all(&one, &[noise(1, 10)]);
    put_all(&two, &[noise(2, 10)]);
    assert_eq!(one.read(&Algorithm::Blake3.hash(&noise(2, 10))).unwrap(), noise(2, 10));
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(store(&dir));
    std::fs::write(dir.path().join("store/format"), "belay store\nformat 6\nhash blake3\n").unwrap();
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let refused = Store::open(disk, Algorithm::Blake3).err().unwrap();
    assert!(matches!(refused, Error::TooNew { found: 6, supported: 5 }), "{refused}");
}

#[test]
fn an_older_store_is_read_as_it_is_and_raised_by_the_first_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store/format");
    let file = |number: u32| crate::tree::Entry {
        name: format!("file-{number:04}").into_bytes(),
        meta: crate::tree::Meta::default(),
        kind: crate::tree::Kind::Fifo,
    };
    // Format 1 stored every node as one object, however large.
    let node = Node { entries: (0..1000).map(file).collect() };
    let whole = put_all(&store(&dir), &[node.encode()])[0];
    let old = "belay store\nformat 1\nhash blake3\n";
    std::fs::write(&path, old).unwrap();
    let store = store(&dir);
    assert_eq!(*store.node(&whole).unwrap(), node);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    let options = crate::verify::VerifyOptions { deep: true, progress: &crate::capture::Quiet };
    let report = crate::verify::verify(&store, &[], &options).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);

    let batch = store.begin().unwrap();
    let mut worker = batch.worker();
    let paged = node.store(&mut |bytes| worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key)).unwrap();
    worker.done().unwrap();
    batch.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "belay store\nformat 2\nhash blake3\n");
    assert_ne!(paged, whole);
    let store = self::store(&dir);
    assert_eq!(store.node(&paged).unwrap(), store.node(&whole).unwrap());
}

#[test]
fn what_is_packed_in_haste_is_kept_from_those_who_would_not_understand_it_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let format = || std::fs::read_to_string(dir.path().join("store/format")).unwrap();
    let early = put_all(&store(&dir), &[noise(1, 300)])[0];
    assert_eq!(format(), "belay store\nformat 2\nhash blake3\n");
    // Said before there is anything to be misunderstood, also if nothing comes of it.
    drop(store(&dir).packing(Packing::Swift).begin().unwrap());
    assert_eq!(format(), "belay store\nformat 5\nhash blake3\n");
    let swift = put_all(&store(&dir).packing(Packing::Swift), &[noise(2, 300)])[0];
    let late = put_all(&store(&dir), &[noise(3, 300)])[0];
    store(&dir).maintain().unwrap();
    assert_eq!(format(), "belay store\nformat 5\nhash blake3\n");
    for (key, seed) in [(early, 1), (swift, 2), (late, 3)] {
        assert_eq!(store(&dir).read(&key).unwrap(), noise(seed, 300));
    }
}

#[test]
fn many_small_packs_become_few_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let keys: Vec<_> = (0..20).flat_map(|seed| put_all(&store, &[noise(seed, 2000)])).collect();
    assert_eq!(store.usage().unwrap().packs, 20);
    let reader = self::store(&dir);
    reader.read(&keys[0]).unwrap();
    store.maintain().unwrap();
    assert_eq!(store.usage().unwrap().packs, 1);
    for (seed, key) in keys.iter().enumerate() {
        assert_eq!(store.read(key).unwrap(), noise(seed as u64, 2000));
        assert_eq!(reader.read(key).unwrap(), noise(seed as u64, 2000), "the old packs are still open here");
    }
}

#[test]
fn what_a_killed_writer_left_goes_as_soon_as_nobody_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let keys = put_all(&store, &[noise(1, 5000)]);
    let left = dir.path().join("store/packs/tmp-1-0");
    std::fs::write(&left, [0; 100_000]).unwrap();
    let writing = store.begin().unwrap();
    store.maintain().unwrap();
    assert!(left.exists(), "it may be of whoever writes at this moment");
    drop(writing);
    store.maintain().unwrap();
    assert!(!left.exists());
    assert_eq!(store.read(&keys[0]).unwrap(), noise(1, 5000));
}

#[test]
fn what_nothing_refers_to_is_collected() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let keys = put_all(&store, &[noise(1, 200_000), noise(2, 10)]);
    let dry = GcOptions { dry_run: true, ..GcOptions::default() };
    assert_eq!(gc(&store, &mut || Ok(Vec::new()), &dry).unwrap().dead_objects, 2);
    assert!(store.contains(&keys[0]).unwrap());
    let report = gc(&store, &mut || Ok(Vec::new()), &GcOptions::default()).unwrap();
    assert!(report.freed_bytes > 200_000);
    assert!(!store.contains(&keys[0]).unwrap());
    assert_eq!(store.stored_bytes().unwrap(), 0);
}

#[test]
fn a_writer_holds_collection_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    put_all(&store, &[noise(1, 10)]);
    let batch = store.begin().unwrap();
    let other = self::store(&dir);
    let impatient = GcOptions { wait: false, ..GcOptions::default() };
    assert!(matches!(gc(&other, &mut || Ok(Vec::new()), &impatient), Err(Error::Busy)));
    drop(batch);
    gc(&other, &mut || Ok(Vec::new()), &impatient).unwrap();
}

#[test]
fn a_flipped_bit_is_never_read() {
    // In haste blocks have no check of their own, and what is in them has.
    for packing in [Packing::Small, Packing::Swift] {
        let dir = tempfile::tempdir().unwrap();
        let keys = put_all(&store(&dir).packing(packing), &[noise(1, 300), b"text ".repeat(60)]);
        let pack = std::fs::read_dir(dir.path().join("store/packs")).unwrap().next().unwrap().unwrap().path();
        let good = std::fs::read(&pack).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&pack, &bad).unwrap();
            let store = store(&dir);
            for (key, bytes) in keys.iter().zip([noise(1, 300), b"text ".repeat(60)]) {
                if let Ok(read) = store.read(key) {
                    assert_eq!(read, bytes, "{packing:?}: bit at {at}");
                }
            }
        }
    }
}

#[test]
fn what_waits_together_is_stored_once_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Arc::new(RealDisk::open(dir.path()).unwrap()), Algorithm::Sha256).unwrap();
    let store = store.packing(Packing::Swift);
    let objects: Vec<Vec<u8>> =
        [1, 2, 1, 3, 3, 4, 2, 5].iter().map(|seed| noise(*seed, 1000 * (*seed as usize) + 1)).collect();
    let batch = store.begin().unwrap();
    let mut worker = batch.worker();
    worker.put(ObjectKind::Content, &noise(4, 4001)).unwrap();
    let mut waiting = 0;
    for bytes in &objects {
        worker.room_behind(waiting, bytes.len()).copy_from_slice(bytes);
        waiting += bytes.len();
    }
    let keys = worker.put_behind(&objects.iter().map(Vec::len).collect::<Vec<_>>()).unwrap();
    worker.done().unwrap();
    assert_eq!(batch.new_content_bytes(), 1001 + 2001 + 3001 + 4001 + 5001);
    batch.finish().unwrap();
    for (key, bytes) in keys.iter().zip(&objects) {
        assert_eq!(*key, Algorithm::Sha256.hash(bytes));
        assert_eq!(store.read(key).unwrap(), *bytes);
    }
}

#[test]
fn files_are_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    put_all(&store(&dir), &[noise(1, 10)]);
    let mode = |path: &str| std::fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("store"), 0o700);
    assert_eq!(mode("store/packs"), 0o700);
    assert_eq!(mode("store/format"), 0o600);
}

#[test]
fn a_damaged_copy_gives_way_to_a_good_one() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let keys = put_all(&store(&one), &[noise(1, 5000)]);
    put_all(&store(&two), &[noise(1, 5000), noise(2, 5000), noise(3, 5000)]);
    let packs =
        |dir: &tempfile::TempDir| std::fs::read_dir(dir.path().join("store/packs")).unwrap().next().unwrap().unwrap();
    let other = packs(&two);
    let mut bytes = std::fs::read(other.path()).unwrap();
    bytes[40] ^= 1;
    std::fs::write(one.path().join("store/packs").join(other.file_name()), bytes).unwrap();
    assert_eq!(store(&one).read(&keys[0]).unwrap(), noise(1, 5000));
}
