//! Large directories are cut alike wherever they are, and a change moves no border but its own.

use std::collections::{BTreeSet, HashMap};

use super::*;
use crate::hash::Algorithm;
use crate::tree::{Content, Kind, Meta};

fn large(count: u32) -> Node {
    let file = |number: u32| {
        let content = Content::Whole(Algorithm::Blake3.hash(&number.to_le_bytes()));
        let name = format!("module-{number:06}.js").into_bytes();
        Entry { name, meta: Meta { mode: 0o644, ..Meta::default() }, kind: Kind::File { size: 4, content } }
    };
    Node { entries: (0..count).map(file).collect() }
}

type Objects = HashMap<Hash, Vec<u8>>;

fn stored(node: &Node) -> (Hash, Objects) {
    let mut objects = Objects::new();
    let key = node.store(&mut |bytes| {
        let key = Algorithm::Blake3.hash(bytes);
        objects.insert(key, bytes.to_vec());
        Ok(key)
    });
    (key.unwrap(), objects)
}

fn loaded(key: &Hash, objects: &Objects) -> Result<Node> {
    let bytes = &objects[key];
    if !Pages::is_list(bytes) {
        return Node::decode(bytes);
    }
    let pages = Pages::decode(bytes)?;
    join(&pages.list.iter().collect::<Vec<_>>(), &mut |page| Ok(Arc::new(Node::decode(&objects[&page.key])?)))
}

#[test]
fn a_small_node_is_one_object_and_a_large_one_is_many() {
    for (count, is_paged) in [(0, false), (WHOLE_ENTRIES_MAX as u32, false), (2000, true)] {
        let node = large(count);
        let (key, objects) = stored(&node);
        assert_eq!(objects.len() > 10, is_paged, "{count} entries in {} objects", objects.len());
        assert_eq!(loaded(&key, &objects).unwrap(), node);
    }
}

#[test]
fn a_change_writes_one_page_and_the_list() {
    let node = large(5000);
    let (_, before) = stored(&node);
    let changes: [fn(&mut Node); 3] = [
        |node| node.entries[2500].meta.mode = 0o600,
        |node| drop(node.entries.remove(2501)),
        |node| {
            let mut entry = node.entries[2502].clone();
            entry.name.push(b'x');
            node.entries.insert(2503, entry);
        },
    ];
    for change in changes {
        let mut other = node.clone();
        change(&mut other);
        let (key, after) = stored(&other);
        let new: Vec<_> = after.keys().filter(|key| !before.contains_key(*key)).collect();
        // A name that begins a page came or went: then two pages become one, or one becomes two.
        assert!((2..=3).contains(&new.len()), "{} new objects", new.len());
        assert!(new.iter().map(|key| after[*key].len()).sum::<usize>() < 60_000);
        assert_eq!(loaded(&key, &after).unwrap(), other);
    }
}

#[test]
fn a_directory_is_stored_after_what_it_was_as_it_would_be_alone() {
    let mut state = 5u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let (key, objects) = stored(&large(700));
    let before = Pages::decode(&objects[&key]).unwrap();
    for round in 0..400 {
        let mut node = large(700);
        let mut changed = BTreeSet::new();
        for _ in 0..random(4) {
            // Borders are where a page may be taken for another.
            let borders: Vec<usize> = (0..node.entries.len()).filter(|at| begins(&node.entries[*at].name)).collect();
            let at = match random(5) {
                0 | 1 => random(node.entries.len()),
                2 | 3 => borders[random(borders.len())],
                _ => random(3),
            };
            let at = (at + random(3)).saturating_sub(1).min(node.entries.len() - 1);
            let mut entry = node.entries[at].clone();
            match random(3) {
                0 => node.entries[at].meta.mode ^= 0o111,
                1 => drop(node.entries.remove(at)),
                _ => {
                    match random(2) {
                        0 => entry.name.extend_from_slice(format!("-{round}-{}", random(1000)).as_bytes()),
                        _ => entry.name = format!("a-{}", random(100)).into_bytes(),
                    }
                    match node.find(&entry.name) {
                        Ok(found) => node.entries[found].meta.mode ^= 0o222,
                        Err(place) => node.entries.insert(place, entry.clone()),
                    }
                }
            }
            changed.insert(entry.name);
        }
        let (alone, objects) = stored(&node);
        let mut new = Vec::new();
        let after = node.store_after(Some((&before, &Vec::from_iter(changed))), &mut |bytes| {
            new.push(Algorithm::Blake3.hash(bytes));
            Ok(Algorithm::Blake3.hash(bytes))
        });
        let (key, pages) = after.unwrap();
        assert_eq!(key, alone, "round {round}");
        assert_eq!(*pages.unwrap(), Pages::decode(&objects[&alone]).unwrap());
        assert!(new.len() <= 1 + 2 * 3, "{} objects for three changes", new.len());
    }
}

#[test]
fn what_two_directories_do_not_share_holds_every_difference() {
    let (before, mut after) = (large(3000), large(3000));
    after.entries.remove(10);
    after.entries[1500].meta.mode = 0o777;
    after.entries.truncate(2990);
    let ((a, mut objects), (b, others)) = (stored(&before), stored(&after));
    objects.extend(others);
    let (a, b) = (Pages::decode(&objects[&a]).unwrap(), Pages::decode(&objects[&b]).unwrap());
    let (ours, theirs) = a.apart(&b);
    let names = |pages: &[&Page]| -> BTreeSet<(Vec<u8>, u16)> {
        let node = join(pages, &mut |page| Ok(Arc::new(Node::decode(&objects[&page.key])?))).unwrap();
        node.entries.into_iter().map(|entry| (entry.name, entry.meta.mode)).collect()
    };
    let (ours, theirs) = (names(&ours), names(&theirs));
    assert!(ours.len() < 1000, "{} entries are compared", ours.len());
    assert_eq!(ours.difference(&theirs).count(), 1 + 1 + 9);
    assert_eq!(theirs.difference(&ours).count(), 1);
}

#[test]
fn a_page_that_is_not_the_listed_one_is_refused() {
    let (key, mut objects) = stored(&large(2000));
    let pages = Pages::decode(&objects[&key]).unwrap();
    let other = objects[&pages.list[1].key].clone();
    objects.insert(pages.list[0].key, other);
    assert!(loaded(&key, &objects).is_err());
}

#[test]
fn lists_that_no_directory_has_are_refused() {
    let (key, objects) = stored(&large(2000));
    let good = Pages::decode(&objects[&key]).unwrap();
    let refused = |change: fn(&mut Vec<Page>)| {
        let mut list = good.list.clone();
        change(&mut list);
        Pages::decode(&Pages { list }.encode()).is_err()
    };
    assert!(refused(|list| list.truncate(1)));
    assert!(refused(|list| list.swap(1, 2)));
    assert!(refused(|list| list[2].first = b"..".to_vec()));
    assert!(refused(|list| list[2].count = 0));
    let bytes = good.encode();
    assert!((0..bytes.len()).all(|end| Pages::decode(&bytes[..end]).is_err()));
}
