//! Where each watched directory is: watches as nodes of a tree, so that a move costs the same however much is beneath.

use std::collections::HashMap;

/// The watched directories of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: HashMap<i32, Node>,
    root: Option<i32>,
}

#[derive(Debug, Default)]
struct Node {
    /// Watch of the directory above and the name in it; none for the root.
    place: Option<(i32, Vec<u8>)>,
    children: HashMap<Vec<u8>, i32>,
}

/// What was known of a watch before it was placed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Nothing.
    New,
    /// That it is there.
    Same,
    /// That it was elsewhere.
    Moved(i32, Vec<u8>),
}

impl Tree {
    /// Makes a watch the root.
    pub(crate) fn set_root(&mut self, watch: i32) {
        self.nodes.entry(watch).or_default().place = None;
        self.root = Some(watch);
    }

    /// Puts a watch where it was found.
    pub(crate) fn place(&mut self, watch: i32, parent: i32, name: &[u8]) -> Placed {
        let known = self.nodes.contains_key(&watch);
        let before = self.nodes.entry(watch).or_default().place.replace((parent, name.to_vec()));
        if let Some(above) = self.nodes.get_mut(&parent) {
            above.children.insert(name.to_vec(), watch);
        }
        match before {
            Some((old, name_then)) if old == parent && name_then == name => Placed::Same,
            Some((old, name_then)) => {
                self.unlink(old, &name_then, watch);
                Placed::Moved(old, name_then)
            }
            None if known => Placed::Same,
            None => Placed::New,
        }
    }

    /// Puts many watches where they were found, in whatever order.
    pub(crate) fn place_all(&mut self, places: Vec<(i32, i32, Vec<u8>)>) {
        self.nodes.reserve(places.len());
        for (watch, _, _) in &places {
            self.nodes.entry(*watch).or_default();
        }
        for (watch, parent, name) in places {
            self.place(watch, parent, &name);
        }
    }

    /// The watch of a directory by its place.
    pub(crate) fn child(&self, parent: i32, name: &[u8]) -> Option<i32> {
        self.nodes.get(&parent)?.children.get(name).copied()
    }

    /// The path of an entry of a watched directory; an empty name is the directory itself. None for a stranger.
    pub(crate) fn path(&self, watch: i32, name: &[u8]) -> Option<Vec<u8>> {
        let mut parts: Vec<&[u8]> = Vec::new();
        if !name.is_empty() {
            parts.push(name);
        }
        let mut at = watch;
        // A tree that was moved into itself by a confusion of events must not hold us for ever.
        for _ in 0..=self.nodes.len() {
            match &self.nodes.get(&at)?.place {
                Some((parent, name)) => {
                    parts.push(name);
                    at = *parent;
                }
                None if Some(at) == self.root => {
                    parts.reverse();
                    return Some(parts.join(&b'/'));
                }
                None => return None,
            }
        }
        None
    }

    /// Forgets a watch and everything beneath it, and says which watches those were.
    pub(crate) fn remove(&mut self, watch: i32) -> Vec<i32> {
        if let Some((parent, name)) = self.nodes.get(&watch).and_then(|node| node.place.clone()) {
            self.unlink(parent, &name, watch);
        }
        let mut gone = vec![watch];
        let mut next = 0;
        while let Some(watch) = gone.get(next).copied() {
            next += 1;
            if let Some(node) = self.nodes.remove(&watch) {
                gone.extend(node.children.into_values());
            }
        }
        gone
    }

    /// Every watch.
    pub(crate) fn watches(&self) -> impl Iterator<Item = i32> {
        self.nodes.keys().copied()
    }

    /// Whether a watch is known.
    pub(crate) fn knows(&self, watch: i32) -> bool {
        self.nodes.contains_key(&watch)
    }

    /// Takes a name out of a directory, if it still stands for this watch.
    fn unlink(&mut self, parent: i32, name: &[u8], watch: i32) {
        if let Some(above) = self.nodes.get_mut(&parent)
            && above.children.get(name) == Some(&watch)
        {
            above.children.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, Tree};

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.set_root(1);
        assert_eq!(tree.place(2, 1, b"a"), Placed::New);
        assert_eq!(tree.place(3, 2, b"b"), Placed::New);
        tree
    }

    #[test]
    fn a_move_takes_everything_beneath_along() {
        let mut tree = tree();
        assert_eq!(tree.path(3, b"f"), Some(b"a/b/f".to_vec()));
        assert_eq!(tree.place(2, 1, b"z"), Placed::Moved(1, b"a".to_vec()));
        assert_eq!(tree.path(3, b"f"), Some(b"z/b/f".to_vec()));
        assert_eq!((tree.child(1, b"a"), tree.child(1, b"z")), (None, Some(2)));
        assert_eq!(tree.path(1, b""), Some(Vec::new()));
    }

    #[test]
    fn what_is_removed_is_a_stranger() {
        let mut tree = tree();
        assert_eq!(tree.remove(2), [2, 3]);
        assert_eq!(tree.path(3, b"f"), None);
        assert_eq!(tree.child(1, b"a"), None);
    }

    #[test]
    fn a_name_that_is_used_again_keeps_its_new_watch() {
        let mut tree = tree();
        assert_eq!(tree.place(4, 1, b"a"), Placed::New);
        tree.remove(2);
        assert_eq!(tree.child(1, b"a"), Some(4));
    }

    #[test]
    fn a_circle_ends() {
        let mut tree = tree();
        tree.place(2, 3, b"a");
        assert_eq!(tree.path(3, b"f"), None);
    }
}
