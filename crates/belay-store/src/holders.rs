//! Which content a path holds, and which paths of a snapshot hold that content.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::hash::Hash;
use crate::history::{content_of, find_path};
use crate::manifest::Manifest;
use crate::objects::Store;
use crate::tree::{Entry, View};

/// The objects that hold the bytes of the paths, and of everything beneath them, in a snapshot.
pub fn content(store: &Store, snapshot: &Hash, paths: &[Vec<u8>]) -> Result<BTreeSet<Hash>> {
    let root = Manifest::read(store, snapshot)?.root;
    let mut objects = BTreeSet::new();
    for path in paths {
        if let Some(entry) = View::stored(store).lookup(&root, path)? {
            content_of(store, &entry, &mut objects)?;
        }
    }
    let is_beneath = |path: &[u8]| paths.iter().any(|dir| path.starts_with(dir) && path.get(dir.len()) == Some(&b'/'));
    find_path(store, snapshot, &is_beneath, &mut |_, entry| content_of(store, entry, &mut objects))?;
    Ok(objects)
}

/// The files of a snapshot that need one of the objects, in the order of a walk.
pub fn holders(store: &Store, snapshot: &Hash, objects: &BTreeSet<Hash>) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let mut look = |path: &[u8], entry: &Entry| {
        let mut own = BTreeSet::new();
        content_of(store, entry, &mut own)?;
        if !own.is_disjoint(objects) {
            found.push(path.to_vec());
        }
        Ok(())
    };
    find_path(store, snapshot, &|_| true, &mut look)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Garden, files};

    #[test]
    fn content_is_found_wherever_it_lies() {
        let garden = Garden::new();
        let tree = files(&[("a/secret", "key"), ("b/deep/copy", "key"), ("a/other", "text"), ("empty", "")]);
        let (key, _) = garden.plant(&tree);
        let objects = content(&garden.store, &key, &[b"a/secret".to_vec()]).unwrap();
        assert_eq!(objects.len(), 1);
        let found = holders(&garden.store, &key, &objects).unwrap();
        assert_eq!(found, [b"a/secret".to_vec(), b"b/deep/copy".to_vec()]);
        assert_eq!(content(&garden.store, &key, &[b"a".to_vec()]).unwrap().len(), 2);
        assert!(
            holders(&garden.store, &key, &content(&garden.store, &key, &[b"empty".to_vec()]).unwrap())
                .unwrap()
                .is_empty()
        );
    }
}
