//! Every way in which the format file may be damaged, and what the store then proves.

use super::*;
use crate::disk::RealDisk;
use crate::manifest::Gap;
use crate::objects::{ObjectKind, Packing, Store};
use crate::planted::{Garden, files};

fn disk(dir: &tempfile::TempDir) -> Arc<dyn Disk> {
    Arc::new(RealDisk::open(dir.path()).unwrap())
}

fn put(dir: &tempfile::TempDir, algorithm: Algorithm, packing: Packing, objects: &[(ObjectKind, Vec<u8>)]) {
    let store = Store::open(disk(dir), algorithm).unwrap().packing(packing);
    let batch = store.begin().unwrap();
    let mut worker = batch.worker();
    for (kind, bytes) in objects {
        worker.put(*kind, bytes).unwrap();
    }
    worker.done().unwrap();
    batch.finish().unwrap();
}

/// The file as it may be found after its disk, or somebody, was at it.
fn damaged(text: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut all = vec![None, Some(Vec::new()), Some(vec![0; text.len()]), Some(b"\xff\xfe".to_vec())];
    all.extend((1..text.len()).map(|len| Some(text[..len].to_vec())));
    for at in 0..text.len() {
        let mut flipped = text.to_vec();
        flipped[at] ^= 0x80;
        all.push(Some(flipped));
    }
    all.push(Some([text, b"x"].concat()));
    all
}

#[test]
fn a_damaged_format_file_says_again_what_the_packs_prove() {
    let unread = Coverage { gaps: vec![Gap { path: b"a".to_vec(), kind: GapKind::Attributes, detail: String::new() }] };
    let tree = |bytes: Vec<u8>| vec![(ObjectKind::Tree, bytes), (ObjectKind::Content, b"text".to_vec())];
    let cases = [
        (Algorithm::Blake3, Packing::Small, tree(Filter::default().encode()), 2),
        (Algorithm::Sha256, Packing::Small, tree(Node::default().encode()), 2),
        (Algorithm::Sha256, Packing::Small, tree(unread.encode()), 4),
        (Algorithm::Sha256, Packing::Swift, tree(Filter::default().encode()), 5),
        (Algorithm::Blake3, Packing::Small, vec![(ObjectKind::Content, b"text alone".to_vec())], 2),
    ];
    for (algorithm, packing, objects, format) in cases {
        let dir = tempfile::tempdir().unwrap();
        put(&dir, algorithm, packing, &objects);
        let path = dir.path().join(FORMAT_FILE);
        let text = format_text(format, algorithm);
        std::fs::write(&path, &text).unwrap();
        assert_eq!(mend_format(&disk(&dir)).unwrap(), None, "nothing is wrong");
        for found in damaged(text.as_bytes()) {
            match &found {
                Some(found) => std::fs::write(&path, found).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let (other, what) = (Algorithm::Blake3, found.map(|found| String::from_utf8_lossy(&found).into_owned()));
            // A prefix without the last line's end still reads right, and is nothing to be refused for.
            let is_legible = what.as_deref().is_some_and(|what| what.starts_with(text.trim_end()));
            assert!(is_legible || Store::open(disk(&dir), other).is_err(), "{what:?}");
            assert_eq!(mend_format(&disk(&dir)).unwrap(), Some((format, algorithm)), "{what:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{what:?}");
            assert_eq!(Store::open(disk(&dir), other).unwrap().algorithm(), algorithm);
        }
    }
}

#[test]
fn a_newer_format_is_never_made_an_older_one() {
    for text in ["belay store\nformat 6\nhash blake3\n", "bxlay store\nformat 77\n", "\0\0\nformat 6\n\0"] {
        let garden = Garden::new();
        garden.plant(&files(&[("a", "1")]));
        let path = garden.dir.path().join(FORMAT_FILE);
        std::fs::write(&path, text).unwrap();
        assert!(matches!(mend_format(&disk(&garden.dir)), Err(Error::TooNew { .. })), "{text:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn what_proves_nothing_or_two_things_is_left_as_it_is() {
    let (record, other) = (Filter::default().encode(), Node::default().encode());
    let of = |algorithm, objects: &[(ObjectKind, Vec<u8>)]| {
        let dir = tempfile::tempdir().unwrap();
        put(&dir, algorithm, Packing::Small, objects);
        dir
    };
    let empty = tempfile::tempdir().unwrap();
    drop(Store::open(disk(&empty), Algorithm::Blake3).unwrap());
    // A newer belay's, of which the number is lost.
    let unknown = of(Algorithm::Blake3, &[(ObjectKind::Tree, record.clone()), (ObjectKind::Tree, b"\x09new".to_vec())]);
    let mixed = of(Algorithm::Blake3, &[(ObjectKind::Tree, record)]);
    let from = of(Algorithm::Sha256, &[(ObjectKind::Tree, other)]);
    for pack in std::fs::read_dir(from.path().join(PACKS)).unwrap() {
        let pack = pack.unwrap();
        std::fs::copy(pack.path(), mixed.path().join(PACKS).join(pack.file_name())).unwrap();
    }
    for dir in [empty, unknown, mixed] {
        let path = dir.path().join(FORMAT_FILE);
        std::fs::write(&path, "belay st").unwrap();
        let refused = mend_format(&disk(&dir)).unwrap_err();
        assert!(matches!(refused, Error::Unproven { .. }), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "belay st");
    }
}

#[test]
fn whoever_has_the_store_open_does_not_raise_a_format_that_is_damaged() {
    let garden = Garden::new();
    garden.plant(&files(&[("a", "1")]));
    let path = garden.dir.path().join(FORMAT_FILE);
    std::fs::write(&path, "belay st").unwrap();
    let open = garden.store.packing(Packing::Swift);
    assert!(open.begin().is_err(), "the number would not tell of what is added");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "belay st");
}
