//! A cache that was saved is found again; one that was damaged, or changed meanwhile, is not believed.

use std::sync::Arc;

use belay_sys::{FileType, Time};

use super::*;
use crate::disk::RealDisk;

fn record(path: &str, ino: u64, names: &[&str]) -> Vec<u8> {
    builder(path, ino, names).build()
}

fn builder(path: &str, ino: u64, names: &[&str]) -> RecordBuilder {
    let time = Time { sec: 5, nsec: 7 };
    let entry = |name: &&str| EntryStat {
        name: name.as_bytes().to_vec(),
        file_type: FileType::File,
        ino: 9,
        size: 3,
        mtime: time,
        ctime: time,
        flags: 0,
    };
    RecordBuilder {
        path: path.as_bytes().to_vec(),
        dir: DirStat { dev: 1, ino, mtime: time, ctime: time },
        node: Hash([ino as u8; 32]),
        identity: Hash([2; 32]),
        totals: (1, 3),
        rules: 4,
        flags: 0,
        entries: names.iter().map(entry).collect(),
    }
}

fn disk() -> (tempfile::TempDir, Arc<dyn Disk>) {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    (dir, disk)
}

fn inode(cache: &Cache, path: &str) -> Option<u64> {
    cache.find(path.as_bytes()).map(|bytes| Record::parse(&bytes).unwrap().dir().ino)
}

fn many() -> Update {
    let records = (0..2000).map(|n| record(&format!("d{n}"), n, &["a", "b"])).collect();
    let linked = vec![Linked { dev: 1, ino: 2, path: b"d1/a".to_vec() }];
    Update::All { records, linked }
}

#[test]
fn every_record_is_found_from_disk_and_from_memory() {
    let (_dir, disk) = disk();
    save(disk.as_ref(), "c", &Hash([1; 32]), &many()).unwrap();
    for whole in [true, false] {
        let cache = Cache::open(disk.as_ref(), "c", whole).unwrap();
        assert_eq!(cache.describes, Hash([1; 32]));
        assert!((0..2000).all(|n| inode(&cache, &format!("d{n}")) == Some(n)));
        assert_eq!(inode(&cache, "d2000"), None);
        assert_eq!(cache.linked.len(), 1);
    }
    assert_eq!(Cache::open(disk.as_ref(), "c", true).unwrap().records().unwrap().len(), 2000);
}

#[test]
fn a_frame_overrides_and_removes() {
    let (_dir, disk) = disk();
    save(disk.as_ref(), "c", &Hash([1; 32]), &many()).unwrap();
    let update = Update::Some {
        from: Hash([1; 32]),
        seen: None,
        records: vec![record("d5", 77, &["z"]), record("new", 78, &[])],
        gone: vec![b"d6".to_vec()],
        linked: Some(Vec::new()),
    };
    save(disk.as_ref(), "c", &Hash([2; 32]), &update).unwrap();
    let cache = Cache::open(disk.as_ref(), "c", true).unwrap();
    assert_eq!(cache.describes, Hash([2; 32]));
    assert_eq!((inode(&cache, "d5"), inode(&cache, "new"), inode(&cache, "d6")), (Some(77), Some(78), None));
    assert_eq!(cache.records().unwrap().len(), 2000);
    assert!(cache.linked.is_empty());
}

/// The same record with only those entries that are not as they were.
fn only_changes(now: &mut RecordBuilder, old: &[EntryStat]) -> RecordBuilder {
    let new = now.entries.clone();
    let gone = old.iter().filter(|was| new.iter().all(|is| is.name != was.name));
    let mut entries: Vec<EntryStat> = new.iter().filter(|is| !old.contains(is)).cloned().collect();
    entries.extend(gone.map(|was| EntryStat::gone(was.name.clone())));
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let RecordBuilder { path, dir, node, identity, totals, rules, flags, .. } = now;
    let (path, dir, node, identity) = (path.clone(), *dir, *node, *identity);
    RecordBuilder { path, dir, node, identity, totals: *totals, rules: *rules, flags: *flags, entries }
}

#[test]
fn a_record_of_what_changed_is_as_good_as_a_whole_one() {
    let (dir, disk) = disk();
    let names: Vec<String> = (100..400).map(|n| format!("n{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let whole = builder("big", 1, &names);
    save(disk.as_ref(), "c", &Hash([1; 32]), &Update::All { records: vec![whole.build()], linked: vec![] }).unwrap();
    let changes: [fn(&mut Vec<EntryStat>); 4] = [
        |entries| entries[7].size = 99,
        |entries| drop(entries.drain(7..10)),
        |entries| entries.insert(0, EntryStat { name: b"a".to_vec(), ..entries[20].clone() }),
        |entries| {
            entries.push(EntryStat { name: b"z".to_vec(), ..entries[20].clone() });
            entries[7].flags = flags::RACY;
            entries.insert(8, EntryStat { name: b"n106x".to_vec(), ..entries[30].clone() });
        },
    ];
    let mut now = whole;
    for (change, turn) in changes.into_iter().zip(1u8..) {
        let cache = Cache::open(disk.as_ref(), "c", false).unwrap();
        assert_eq!(cache.describes, Hash([turn; 32]));
        let before = cache.find(b"big").unwrap().into_owned();
        assert!(before == now.build(), "turn {turn}");
        let old = now.entries.clone();
        change(&mut now.entries);
        now.dir.ino += 1;
        let partial = only_changes(&mut now, &old).build_after(&before, names.len());
        assert!(Record::is_partial(&partial) && partial.len() < 600, "{} bytes", partial.len());
        let seen = Some((cache.end, cache.base_len));
        let update = Update::Some { from: cache.describes, seen, records: vec![partial], gone: vec![], linked: None };
        save(disk.as_ref(), "c", &Hash([turn + 1; 32]), &update).unwrap();
    }
    for whole in [true, false] {
        let cache = Cache::open(disk.as_ref(), "c", whole).unwrap();
        assert!(cache.find(b"big").unwrap() == now.build());
        assert!(cache.contains(b"big") && !cache.contains(b"bi"));
    }
    assert!(Cache::open(disk.as_ref(), "c", true).unwrap().records().unwrap() == [now.build()]);
    // What changes a record that is not there means that nothing is known.
    std::fs::remove_file(dir.path().join("c.base")).unwrap();
    save(disk.as_ref(), "c", &Hash([1; 32]), &Update::All { records: vec![], linked: vec![] }).unwrap();
    let mut other = builder("big", 2, &names);
    let orphan = only_changes(&mut other, &now.entries).build_after(&now.build(), names.len());
    let update = Update::Some { from: Hash([1; 32]), seen: None, records: vec![orphan], gone: vec![], linked: None };
    save(disk.as_ref(), "c", &Hash([2; 32]), &update).unwrap();
    assert!(Cache::open(disk.as_ref(), "c", true).is_none());
    assert!(Cache::open(disk.as_ref(), "c", false).unwrap().find(b"big").is_none());
}

#[test]
fn a_frame_made_from_another_state_is_not_appended() {
    let (_dir, disk) = disk();
    save(disk.as_ref(), "c", &Hash([1; 32]), &many()).unwrap();
    let update = |from| Update::Some {
        from: Hash([from; 32]),
        seen: None,
        records: vec![record("d5", 77, &[])],
        gone: vec![],
        linked: None,
    };
    save(disk.as_ref(), "c", &Hash([2; 32]), &update(1)).unwrap();
    save(disk.as_ref(), "c", &Hash([3; 32]), &update(1)).unwrap();
    assert_eq!(Cache::open(disk.as_ref(), "c", false).unwrap().describes, Hash([2; 32]));
}

#[test]
fn a_torn_frame_leaves_the_state_before_it_and_the_next_replaces_it() {
    let (dir, disk) = disk();
    save(disk.as_ref(), "c", &Hash([1; 32]), &many()).unwrap();
    let update = |from, ino| Update::Some {
        from: Hash([from; 32]),
        seen: None,
        records: vec![record("d5", ino, &[])],
        gone: vec![],
        linked: None,
    };
    save(disk.as_ref(), "c", &Hash([2; 32]), &update(1, 77)).unwrap();
    save(disk.as_ref(), "c", &Hash([3; 32]), &update(2, 78)).unwrap();
    let path = dir.path().join("c.delta");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let cache = Cache::open(disk.as_ref(), "c", false).unwrap();
    assert_eq!((cache.describes, inode(&cache, "d5")), (Hash([2; 32]), Some(77)));
    save(disk.as_ref(), "c", &Hash([4; 32]), &update(2, 79)).unwrap();
    let cache = Cache::open(disk.as_ref(), "c", false).unwrap();
    assert_eq!((cache.describes, inode(&cache, "d5")), (Hash([4; 32]), Some(79)));
}

#[test]
fn a_long_delta_becomes_a_new_base() {
    let (dir, disk) = disk();
    save(disk.as_ref(), "c", &Hash([0; 32]), &many()).unwrap();
    for n in 0..200u8 {
        let records = (0..20).map(|d| record(&format!("d{d}"), u64::from(n), &["some-longer-name"; 20])).collect();
        let update = Update::Some { from: Hash([n; 32]), seen: None, records, gone: vec![], linked: None };
        save(disk.as_ref(), "c", &Hash([n + 1; 32]), &update).unwrap();
    }
    assert!(std::fs::metadata(dir.path().join("c.delta")).unwrap().len() < 600 << 10);
    let cache = Cache::open(disk.as_ref(), "c", true).unwrap();
    assert_eq!((cache.describes, inode(&cache, "d3"), inode(&cache, "d30")), (Hash([200; 32]), Some(199), Some(30)));
}

#[test]
fn no_flipped_bit_is_believed() {
    let (dir, disk) = disk();
    let update = Update::All { records: vec![record("a", 1, &["x"]), record("b", 2, &[])], linked: Vec::new() };
    save(disk.as_ref(), "c", &Hash([1; 32]), &update).unwrap();
    let path = dir.path().join("c.base");
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[at / 8] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).unwrap();
        let Some(cache) = Cache::open(disk.as_ref(), "c", true) else { continue };
        for (path, ino) in [("a", 1), ("b", 2)] {
            let found = cache.find(path.as_bytes()).and_then(|bytes| Record::parse(&bytes).map(|r| r.dir().ino));
            assert!(found.is_none_or(|found| found == ino), "bit {at}");
        }
        for bytes in cache.records().unwrap_or_default() {
            let known =
                Record::parse(bytes).is_none_or(|r| [(&b"a"[..], 1), (b"b", 2)].contains(&(r.path, r.dir().ino)));
            assert!(known, "bit {at}");
        }
    }
}
