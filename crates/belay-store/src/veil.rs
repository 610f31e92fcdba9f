//! A tree without some of its paths, in memory: for whoever must not learn anything of them.
//!
//! Invariant: nothing that is told of the tree, its names, sizes, counts and hashes up to the root, depends on those paths.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::Result;
use crate::hash::Hash;
use crate::manifest::{Counts, Manifest};
use crate::tree::{Entry, Kind, Node, View};

/// A tree without some of its paths, and the nodes of it that no store has.
#[derive(Clone, Debug)]
pub struct Veiled {
    /// The tree.
    pub manifest: Manifest,
    /// The directories that held one of them.
    pub nodes: HashMap<Hash, Arc<Node>>,
}

/// The tree without these paths and what is beneath them.
pub fn veil(view: View<'_>, manifest: &Manifest, paths: &[Vec<u8>]) -> Result<Veiled> {
    let mut nodes = HashMap::new();
    let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
    let root = without(view, &manifest.root, &paths, &mut nodes)?;
    let identity = Manifest::identity_of(view.store().algorithm(), &root, manifest.links.as_ref());
    let counts = match root.kind {
        Kind::Dir { files, bytes, .. } => Counts { files, bytes, ..manifest.counts },
        _ => manifest.counts,
    };
    Ok(Veiled { manifest: Manifest { root, identity, counts, ..manifest.clone() }, nodes })
}

/// What is left of a directory; anything else stays.
fn without(view: View<'_>, entry: &Entry, paths: &[&[u8]], nodes: &mut HashMap<Hash, Arc<Node>>) -> Result<Entry> {
    let Kind::Dir { node: key, .. } = &entry.kind else { return Ok(entry.clone()) };
    let before = view.node(key)?;
    let mut node = Node::clone(&before);
    if paths.iter().any(|path| path.is_empty()) {
        node.entries.clear();
    }
    let mut below: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for path in paths {
        let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
        below.entry(&path[..end]).or_default().push(path.get(end + 1..).unwrap_or_default());
    }
    for (name, rests) in below {
        match node.find(name) {
            Ok(at) if rests.iter().any(|rest| rest.is_empty()) => drop(node.entries.remove(at)),
            Ok(at) => node.entries[at] = without(view, &node.entries[at], &rests, nodes)?,
            Err(_) => {}
        }
    }
    if node == *before {
        return Ok(entry.clone());
    }
    let algorithm = view.store().algorithm();
    let (files, bytes) = node.totals();
    let kind = Kind::Dir { node: algorithm.hash(&node.encode()), identity: node.identity(algorithm), files, bytes };
    if let Kind::Dir { node: key, .. } = kind {
        nodes.insert(key, Arc::new(node));
    }
    Ok(Entry { kind, ..entry.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Scope, Sides, diff};
    use crate::planted::{Garden, files};

    #[test]
    fn two_trees_that_differ_in_what_is_veiled_alone_are_told_to_be_the_same() {
        let garden = Garden::new();
        let (_, one) = garden.plant(&files(&[("a", "text"), (".env", "secret"), ("d/e/f", "x"), ("d/g", "y")]));
        let (_, other) = garden.plant(&files(&[("a", "text"), (".env", "another one"), ("d/e/h", "xx"), ("d/g", "y")]));
        let store = Garden::open(&garden.dir);
        let hidden = [b".env".to_vec(), b"d/e".to_vec(), b"gone/x".to_vec(), b"a/x".to_vec()];
        let veiled = [&one, &other].map(|manifest| veil(View::stored(&store), manifest, &hidden).unwrap());
        assert_ne!(one.identity, other.identity);
        assert_eq!(veiled[0].manifest.identity, veiled[1].manifest.identity);
        assert_eq!(veiled[0].manifest.counts.bytes, 5);
        let view = View::with_unwritten(&store, &veiled[0].nodes);
        assert!(view.lookup(&veiled[0].manifest.root, b"d/e").unwrap().is_none());
        assert!(view.lookup(&veiled[0].manifest.root, b"d/g").unwrap().is_some());
        let sides = Sides {
            before: view,
            before_root: &veiled[0].manifest.root,
            after: View::with_unwritten(&store, &veiled[1].nodes),
            after_root: &veiled[1].manifest.root,
        };
        let mut changes = 0;
        diff(&sides, &Scope::default(), &mut |_| {
            changes += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(changes, 0);
    }
}
