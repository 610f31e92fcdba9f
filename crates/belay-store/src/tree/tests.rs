//! Nodes survive their encoding, and identities see exactly what they should.

use super::*;

fn file(name: &[u8], bytes: &[u8]) -> Entry {
    let content = Content::Whole(Algorithm::Blake3.hash(bytes));
    let meta = Meta { mode: 0o644, ..Meta::default() };
    Entry { name: name.to_vec(), meta, kind: Kind::File { size: bytes.len() as u64, content } }
}

fn one_of_each() -> Node {
    let hash = Algorithm::Blake3.hash(b"h");
    let kinds = [
        Kind::File { size: 7, content: Content::Chunked { hash, list: hash } },
        Kind::File { size: 9, content: Content::Sparse { list: hash } },
        Kind::Dir { node: hash, identity: hash, files: 3, bytes: 1 << 40 },
        Kind::Symlink(b"/etc/\xff".to_vec()),
        Kind::Fifo,
        Kind::Socket,
        Kind::CharDevice(0x103),
        Kind::BlockDevice(7),
        Kind::Opaque { file_type: FileType::Dir, reason: Opaque::Mount },
    ];
    let mut entries: Vec<Entry> = kinds
        .into_iter()
        .enumerate()
        .map(|(at, kind)| Entry { name: vec![b'a' + at as u8, 0xff], meta: Meta::default(), kind })
        .collect();
    entries[0].meta.xattrs = vec![(b"user.a".to_vec(), vec![0, 1]), (b"user.b".to_vec(), Vec::new())];
    entries[1].meta.immutable = true;
    entries.push(file(b"z", b"zz"));
    Node { entries }
}

#[test]
fn every_kind_round_trips() {
    let node = one_of_each();
    assert_eq!(Node::decode(&node.encode()).unwrap(), node);
}

#[test]
fn every_truncation_is_refused() {
    let bytes = one_of_each().encode();
    for end in 0..bytes.len() {
        assert!(Node::decode(&bytes[..end]).is_err(), "{end} bytes were accepted");
    }
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
        let node = Node { entries: vec![file(name, b"")] };
        assert!(Node::decode(&node.encode()).is_err(), "{name:?}");
    }
}

#[test]
fn unsorted_or_doubled_names_are_refused() {
    for names in [[b"b", b"a"], [b"a", b"a"]] {
        let node = Node { entries: names.iter().map(|name| file(*name, b"")).collect() };
        assert!(Node::decode(&node.encode()).is_err());
    }
}

#[test]
fn identity_ignores_times_owners_and_opaque_entries_and_nothing_else() {
    let node = one_of_each();
    let identity = node.identity(Algorithm::Blake3);
    let changed = |change: fn(&mut Node)| {
        let mut other = node.clone();
        change(&mut other);
        other.identity(Algorithm::Blake3) != identity
    };
    assert!(!changed(|n| n.entries[9].meta.mtime.sec = 5));
    assert!(!changed(|n| n.entries[9].meta.uid = 5));
    assert!(!changed(|n| drop(n.entries.remove(8))));
    assert!(changed(|n| n.entries[9].meta.mode = 0o600));
    assert!(changed(|n| n.entries[0].meta.xattrs[0].1[0] = 9));
    assert!(changed(|n| n.entries[3].kind = Kind::Symlink(b"x".to_vec())));
    assert!(changed(|n| drop(n.entries.remove(4))));
    assert!(changed(|n| n.entries[4].kind = Kind::Socket));
}

#[test]
fn chunking_does_not_change_identity() {
    let hash = Algorithm::Blake3.hash(b"content");
    let with = |content| {
        let kind = Kind::File { size: 7, content };
        Node { entries: vec![Entry { name: b"f".to_vec(), meta: Meta::default(), kind }] }
    };
    let whole = with(Content::Whole(hash)).identity(Algorithm::Blake3);
    let chunked = with(Content::Chunked { hash, list: Hash([1; 32]) }).identity(Algorithm::Blake3);
    assert_eq!(whole, chunked);
}

#[test]
fn segment_lists_must_cover_their_file() {
    let segments = [Segment::Data { key: Hash([3; 32]), len: 10 }, Segment::Hole { len: 4096 }];
    let bytes = Segment::encode_list(&segments);
    assert_eq!(Segment::decode_list(&bytes, 4106).unwrap(), segments);
    assert!(Segment::decode_list(&bytes, 4105).is_err());
}

#[test]
fn references_are_those_of_the_decoded_node() {
    let node = one_of_each();
    let (mut nodes, mut contents, mut lists) = (0, 0, 0);
    let count = |reference: Reference| {
        match reference {
            Reference::Node(_) => nodes += 1,
            Reference::Content(_) => contents += 1,
            Reference::Segments { size, .. } => lists += size,
        }
        Ok(())
    };
    let mut count = count;
    Node::references(&node.encode(), &mut count).unwrap();
    assert_eq!((nodes, contents, lists), (1, 1, 16));
    let bytes = node.encode();
    assert!((0..bytes.len()).all(|end| Node::references(&bytes[..end], &mut |_| Ok(())).is_err()));
}
