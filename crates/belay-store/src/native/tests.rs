//! Records and pointers are what was written or nothing, and a pointer counts only while its copy does.

use std::sync::Arc;

use super::*;
use crate::disk::RealDisk;
use crate::gc::{GcOptions, gc};
use crate::hash::Algorithm;
use crate::objects::ObjectKind;

fn store(dir: &tempfile::TempDir) -> Store {
    Store::open(Arc::new(RealDisk::open(dir.path()).unwrap()), Algorithm::Blake3).unwrap()
}

fn copy(id: &str) -> NativeCopy {
    NativeCopy {
        id: id.into(),
        backend: "clone".into(),
        place: CopyPlace::Home(format!("copies/{id}/workspace")),
        reference: format!("copies/{id}"),
        manifest: None,
        bytes: 7,
        order: 3,
        is_archive: false,
    }
}

/// A copy with one file, and a pointer to all of it.
fn keep(store: &Store, id: &str, bytes: &[u8]) -> Hash {
    let making = store.make_copy(copy(id)).unwrap();
    std::fs::create_dir_all(making.path()).unwrap();
    std::fs::write(making.path().join("file"), bytes).unwrap();
    let key = store.algorithm().hash(bytes);
    let batch = store.begin().unwrap();
    let pointer = Pointer { copy: id.into(), path: b"file".to_vec(), frame: None, at: 0 };
    batch.worker().point(&key, &pointer, bytes.len() as u32).unwrap();
    let pointers = batch.seal_pointers().unwrap();
    batch.finish().unwrap();
    making.finish(Hash([9; 32]), 7).unwrap();
    store.publish_pointers(pointers).unwrap();
    key
}

#[test]
fn records_and_pointers_come_back_and_a_changed_byte_is_noticed() {
    for place in [CopyPlace::Home("a/b".into()), CopyPlace::Outside("/x/\u{fc}".into())] {
        let copy = NativeCopy { place, manifest: Some(Hash([4; 32])), is_archive: true, ..copy("one") };
        let bytes = copy.encode();
        assert_eq!(NativeCopy::decode("one", &bytes).unwrap(), copy);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(NativeCopy::decode("one", &other).is_err(), "byte {at}");
            assert!(NativeCopy::decode("one", &bytes[..at]).is_err(), "cut at {at}");
        }
    }
    let frame = Frame { offset: 1 << 40, len: 5, raw_len: 9, gzip: true };
    for frame in [None, Some(frame), Some(Frame { gzip: false, ..frame })] {
        let path = if frame.is_none() { b"dir/\xff".to_vec() } else { Vec::new() };
        let pointer = Pointer { copy: "one".into(), path, frame, at: 1 << 33 };
        let bytes = pointer.encode();
        assert_eq!(Pointer::decode(&bytes).unwrap(), pointer);
        (0..bytes.len()).for_each(|at| assert!(Pointer::decode(&bytes[..at]).is_err(), "cut at {at}"));
    }
}

#[test]
fn an_object_is_there_for_as_long_as_its_copy_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let key = keep(&store, "one", b"content");
    assert_eq!(store.read(&key).unwrap(), b"content");
    assert!(store.contains(&key).unwrap());
    let other = self::store(&dir);
    assert_eq!(other.read(&key).unwrap(), b"content");
    // No snapshot has that manifest, so the copy goes, and whoever asks then must store the content anew.
    gc(&store, &mut || Ok(Vec::new()), &GcOptions::default()).unwrap();
    assert!(!dir.path().join("copies/one").exists());
    for store in [&store, &self::store(&dir)] {
        assert!(!store.contains(&key).unwrap());
        assert!(matches!(store.read(&key), Err(Error::Missing(_))));
    }
    assert!(other.read(&key).is_err());
    let batch = other.begin().unwrap();
    assert!(batch.worker().put_as(ObjectKind::Content, &key, b"content").unwrap(), "it is new again");
}

#[test]
fn nothing_goes_while_the_record_of_a_copy_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    keep(&store(&dir), "one", b"content");
    let record = dir.path().join("store/copies/one.copy");
    let bytes = std::fs::read(&record).unwrap();
    std::fs::write(&record, &bytes[..bytes.len() - 1]).unwrap();
    let store = store(&dir);
    store.maintain().unwrap();
    let refused = gc(&store, &mut || Ok(Vec::new()), &GcOptions::default()).unwrap_err();
    assert!(matches!(&refused, Error::Corrupt { name, .. } if name == "store/copies/one.copy"), "{refused}");
    assert!(dir.path().join("copies/one/workspace/file").exists());
    assert_eq!(std::fs::read_dir(dir.path().join("store/pointers")).unwrap().count(), 1);
}

#[test]
fn many_packs_of_pointers_become_one_and_void_ones_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let keys: Vec<Hash> = (0..20).map(|n| keep(&store, &format!("copy{n}"), &[n; 100])).collect();
    for n in 0..3 {
        std::fs::remove_file(dir.path().join(format!("store/copies/copy{n}.copy"))).unwrap();
    }
    store.maintain().unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("store/pointers")).unwrap().count(), 1);
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(store.read(key).is_ok(), n >= 3, "{n}");
    }
}

#[test]
fn a_link_inside_a_copy_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let key = keep(&store, "one", b"content");
    let file = dir.path().join("copies/one/workspace/file");
    std::fs::write(dir.path().join("elsewhere"), b"content").unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &file).unwrap();
    assert!(matches!(store.read(&key), Err(Error::Corrupt { .. })));
}
