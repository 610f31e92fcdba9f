//! Throws damaged bytes at every decoder: none may panic, and what is accepted has this one encoding.
//!
//! The bytes are mutations of valid ones, so that they get far; `BELAY_FUZZ_SECONDS` makes it last longer.

#![cfg(test)]

use std::io;
use std::sync::Arc;

use belay_sys::{FileType, Time};
use belay_testkit::fuzz;

use crate::disk::{Disk, DiskFile, DiskWrite, Lock, LockMode, RealDisk};
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash};
use crate::manifest::{Counts, Coverage, Gap, GapKind, Links, Manifest};
use crate::native::{CopyPlace, Frame, NativeCopy, Pointer};
use crate::objects::{ObjectKind, Store};
use crate::pack::Pack;
use crate::statcache::{Cache, DirStat, EntryStat, Linked, Record, RecordBuilder, Update};
use crate::tree::{Content, Entry, Kind, Meta, Node, Opaque, Pages, Segment};

fn key(text: &str) -> Hash {
    Algorithm::Blake3.hash(text.as_bytes())
}

fn node() -> Node {
    let meta = |mode| Meta {
        mode,
        uid: 1000,
        gid: 100_000,
        mtime: Time { sec: -5, nsec: 999_999_999 },
        immutable: false,
        append_only: false,
        xattrs: vec![(b"user.a".to_vec(), b"value".to_vec())],
        xattrs_unread: false,
    };
    let entry = |name: &[u8], kind| Entry { name: name.to_vec(), meta: meta(0o4755), kind };
    let chunked = Content::Chunked { hash: key("c"), list: key("l") };
    let unread = Meta { xattrs: Vec::new(), xattrs_unread: true, ..meta(0o600) };
    let mut entries = vec![
        Entry { meta: unread, ..entry(b"unread", Kind::Fifo) },
        entry(b"a", Kind::File { size: 3, content: Content::Whole(key("a")) }),
        entry(b"big", Kind::File { size: 1 << 40, content: chunked }),
        entry(b"d\n\xff", Kind::Dir { node: key("d"), identity: key("i"), files: 7, bytes: 1 << 50 }),
        entry(b"link", Kind::Symlink(b"../x".to_vec())),
        entry(b"pipe", Kind::Fifo),
        entry(b"left", Kind::Opaque { file_type: FileType::Dir, reason: Opaque::Mount }),
    ];
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Node { entries }
}

#[test]
fn nodes() {
    let seeds = [node().encode(), Node { entries: Vec::new() }.encode()];
    fuzz("nodes", &seeds, |bytes| {
        if let Ok(node) = Node::decode(bytes) {
            assert_eq!(node.encode(), bytes, "one node has two encodings");
            node.identity(Algorithm::Blake3);
            node.totals();
        }
    });
}

#[test]
fn lists_of_pages() {
    let name = |number: u32| format!("file-{number}").into_bytes();
    let entries = (10_000..10_400).map(|number| Entry { name: name(number), meta: Meta::default(), kind: Kind::Fifo });
    let mut list = Vec::new();
    let large = Node { entries: entries.collect() };
    large
        .store(&mut |bytes| {
            list = bytes.to_vec();
            Ok(Algorithm::Blake3.hash(bytes))
        })
        .unwrap();
    fuzz("lists of pages", &[list], |bytes| {
        if let Ok(pages) = Pages::decode(bytes) {
            assert_eq!(pages.encode(), bytes, "one list has two encodings");
            assert_eq!(pages.apart(&pages), (Vec::new(), Vec::new()));
        }
        let _ = Node::references(bytes, &mut |_| Ok(()));
    });
}

#[test]
fn segment_lists() {
    let segments = [
        Segment::Data { len: 1 << 20, key: key("1") },
        Segment::Hole { len: 4096 },
        Segment::Data { len: 9, key: key("2") },
    ];
    let size = (1 << 20) + 4096 + 9;
    fuzz("segment lists", &[Segment::encode_list(&segments)], |bytes| {
        for size in [size, 0, u64::MAX] {
            if let Ok(segments) = Segment::decode_list(bytes, size) {
                assert_eq!(Segment::encode_list(&segments), bytes, "one list has two encodings");
            }
        }
    });
}

#[test]
fn manifests_links_coverages_and_filters() {
    let root = Entry {
        name: Vec::new(),
        meta: Meta::default(),
        kind: Kind::Dir { node: key("n"), identity: key("i"), files: 1, bytes: 2 },
    };
    let links = Some(key("links"));
    let identity = Manifest::identity_of(Algorithm::Blake3, &root, links.as_ref());
    let counts = Counts { files: 1, bytes: 2, gaps: 3 };
    let manifest = Manifest { root, identity, links, filter: key("f"), coverage: key("c"), counts };
    fuzz("manifests", &[manifest.encode()], |bytes| {
        if let Ok(manifest) = Manifest::decode(bytes, Algorithm::Blake3) {
            assert_eq!(manifest.encode(), bytes, "one snapshot has two encodings");
        }
    });
    let links = Links { groups: vec![vec![b"a".to_vec(), b"b/c".to_vec()], vec![b"x".to_vec(), b"y".to_vec()]] };
    fuzz("links", &[links.encode()], |bytes| drop(Links::decode(bytes)));
    let gap = |path: &[u8], kind| Gap { path: path.to_vec(), kind, detail: "détail".into() };
    let coverage = Coverage { gaps: vec![gap(b"a", GapKind::Hung), gap(b"b", GapKind::Regenerable)] };
    fuzz("coverages", &[coverage.encode()], |bytes| drop(Coverage::decode(bytes)));
    let filters = [Filter::default().encode(), Filter::everything().encode()];
    fuzz("filters", &filters, |bytes| {
        if let Ok(filter) = Filter::decode(bytes) {
            drop(filter.judge());
        }
    });
}

#[test]
fn pointers_and_records_of_copies() {
    let frame = Frame { offset: 1 << 40, len: 9, raw_len: 1 << 30, gzip: false };
    let file = Pointer { copy: "copy_1".into(), path: b"a/\xff".to_vec(), frame: None, at: 1 << 33 };
    let part = Pointer { copy: "copy_2".into(), path: Vec::new(), frame: Some(frame), at: 7 };
    let packed = Pointer { frame: Some(Frame { gzip: true, ..frame }), ..part.clone() };
    fuzz("pointers", &[file.encode(), part.encode(), packed.encode()], |bytes| {
        if let Ok(pointer) = Pointer::decode(bytes) {
            assert_eq!(pointer.encode(), bytes, "one pointer has two encodings");
        }
    });
    let home = NativeCopy {
        id: "copy_1".into(),
        backend: "clone".into(),
        place: CopyPlace::Home("copies/copy_1/tree".into()),
        reference: "copy_1".into(),
        manifest: Some(key("m")),
        bytes: 1 << 40,
        order: 3,
        is_archive: false,
    };
    let place = CopyPlace::Outside("/some/\u{e9}/place".into());
    let outside = NativeCopy { place, manifest: None, is_archive: true, ..home.clone() };
    let body = |copy: &NativeCopy| copy.encode().split_last_chunk::<16>().expect("a check follows").0.to_vec();
    // Without a check that fits, nothing behind it would ever be read.
    let checked = |body: &[u8]| [body, &blake3::hash(body).as_bytes()[..16]].concat();
    fuzz("records of copies", &[body(&home), body(&outside)], |bytes| {
        if let Ok(copy) = NativeCopy::decode("copy_1", &checked(bytes)) {
            assert_eq!(copy.encode(), checked(bytes), "one record has two encodings");
        }
        assert!(NativeCopy::decode("copy_1", bytes).is_err(), "a record without a check is believed");
    });
}

/// Files in memory, to read only.
#[derive(Clone, Default)]
struct Files(Vec<(&'static str, Arc<Vec<u8>>)>);

struct Memory(Arc<Vec<u8>>);

impl DiskFile for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = self.0.get(from..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

impl Disk for Files {
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let found = self.0.iter().find(|(known, _)| *known == name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Memory(Arc::clone(&found.1))))
    }

    fn list(&self, _dir: &str) -> io::Result<Vec<(String, u64)>> {
        Ok(Vec::new())
    }

    fn create(&self, _name: &str) -> io::Result<Box<dyn DiskWrite>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn append(&self, _name: &str, _len: u64) -> io::Result<Box<dyn DiskWrite>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_dir(&self, _dir: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn lock(&self, _name: &str, _mode: LockMode, _wait: bool) -> io::Result<Option<Lock>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }
}

/// The bytes of a small pack with blocks of each kind.
fn pack() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let store = Store::open(disk.clone(), Algorithm::Blake3).unwrap();
    let batch = store.begin().unwrap();
    let mut worker = batch.worker();
    let noise: Vec<u8> = (0..2000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (kind, bytes) in [(ObjectKind::Content, &noise[..]), (ObjectKind::Tree, b"tree"), (ObjectKind::Tree, &[7; 900])]
    {
        worker.put(kind, bytes).unwrap();
    }
    worker.done().unwrap();
    batch.finish().unwrap();
    let (name, _) = disk.list("store/packs").unwrap().pop().unwrap();
    disk.read(&format!("store/packs/{name}")).unwrap()
}

fn read_pack(bytes: &[u8]) -> crate::error::Result<()> {
    let pack = Pack::open(&Files(vec![("pack", Arc::new(bytes.to_vec()))]), "pack")?;
    drop(pack.check_tables());
    for (key, place) in pack.objects()? {
        drop(pack.find(&key));
        drop(pack.block(place.block).and_then(|block| pack.raw(&block)));
    }
    for block in pack.blocks()? {
        drop(pack.check_bounds(&block).and_then(|()| pack.raw(&block)));
    }
    Ok(())
}

#[test]
fn packs() {
    let whole = pack();
    read_pack(&whole).unwrap();
    // Most of a pack is blocks, which a hash covers; what is read unproven is at its end.
    let tail = whole.len() - 64 - 1028;
    fuzz("packs", std::slice::from_ref(&whole), |bytes| drop(read_pack(bytes)));
    fuzz("pack tables", &[whole[tail..].to_vec()], |bytes| drop(read_pack(&[&whole[..tail], bytes].concat())));
}

fn cache_files() -> (Vec<u8>, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(dir.path()).unwrap();
    let linked = |path: &[u8]| Linked { dev: 1, ino: 2, path: path.to_vec() };
    let all = Update::All { records: vec![record(b""), record(b"dir")], linked: vec![linked(b"a"), linked(b"b")] };
    crate::statcache::save(&disk, "cache", &key("one"), &all).unwrap();
    let some = Update::Some {
        from: key("one"),
        seen: None,
        records: vec![record(b"dir")],
        gone: vec![b"old".to_vec()],
        linked: Some(vec![linked(b"a"), linked(b"dir/x")]),
    };
    crate::statcache::save(&disk, "cache", &key("two"), &some).unwrap();
    (disk.read("cache.base").unwrap(), disk.read("cache.delta").unwrap())
}

fn record(path: &[u8]) -> Vec<u8> {
    let time = Time { sec: 5, nsec: 6 };
    let (file_type, ino, size, flags) = (FileType::File, 9, 10, 0);
    let entry = |name: &[u8]| EntryStat { name: name.to_vec(), file_type, ino, size, mtime: time, ctime: time, flags };
    RecordBuilder {
        path: path.to_vec(),
        dir: DirStat { dev: 1, ino: 2, mtime: time, ctime: time },
        node: key("n"),
        identity: key("i"),
        totals: (2, 3),
        rules: 4,
        flags: 0,
        entries: vec![entry(b"a"), entry(b"b")],
    }
    .build()
}

fn read_record(bytes: &[u8]) {
    if let Some(record) = Record::parse(bytes) {
        let _ = (record.dir(), record.node(), record.totals(), record.rules(), record.flags());
        record.entries().for_each(|entry| drop(entry.to_stat()));
    }
}

#[test]
fn stat_caches() {
    let (base, delta) = cache_files();
    let read = |base: &[u8], delta: &[u8]| {
        let files = Files(vec![("cache.base", Arc::new(base.to_vec())), ("cache.delta", Arc::new(delta.to_vec()))]);
        for whole in [false, true] {
            let Some(cache) = Cache::open(&files, "cache", whole) else { continue };
            cache.records().unwrap_or_default().into_iter().for_each(read_record);
            for path in [&b""[..], b"dir", b"none"] {
                cache.find(path).iter().for_each(|bytes| read_record(bytes));
            }
        }
    };
    fuzz("bases", std::slice::from_ref(&base), |bytes| read(bytes, &delta));
    fuzz("deltas", std::slice::from_ref(&delta), |bytes| read(&base, bytes));
    let bodies = [record(b"some/dir")[12..].to_vec()];
    fuzz("records", &bodies, |body| read_record(&crate::statcache::framed(body)));
    let frames = [delta[36..].to_vec()];
    fuzz("frames", &frames, |body| read(&base, &[&delta[..24], &crate::statcache::framed(body)[..]].concat()));
}
