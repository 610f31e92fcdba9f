//! A tree with some of its paths in other places, in memory: as it would be had they been moved by then.
//!
//! Nothing is written, and only the directories on the way to what moves are read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::Result;
use crate::hash::Hash;
use crate::manifest::{Counts, Manifest};
use crate::tree::{Entry, Kind, Meta, Node, View};

/// A tree whose paths are being moved.
pub struct Moving<'a> {
    view: View<'a>,
    root: Branch,
}

/// A tree after its paths were moved, and the nodes of it that no store has.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The tree.
    pub manifest: Manifest,
    /// The directories that something left or came to.
    pub nodes: HashMap<Hash, Arc<Node>>,
}

/// An entry, with what is in it once somebody looked.
#[derive(Clone, Debug)]
struct Branch {
    entry: Entry,
    inside: Option<BTreeMap<Vec<u8>, Branch>>,
    /// The tree has no such directory: something had to lie in one.
    is_made_up: bool,
}

/// Gives the properties of a directory that the tree does not have.
pub type Model<'a> = dyn Fn(&[u8]) -> Result<Option<Meta>> + 'a;

impl<'a> Moving<'a> {
    /// The tree as it is.
    pub fn new(view: View<'a>, root: &Entry) -> Moving<'a> {
        Moving { view, root: Branch::new(root.clone()) }
    }

    /// What is at the path, if it is no directory, or what the directory was before anything in it moved.
    pub fn entry(&mut self, path: &[u8]) -> Result<Option<&Entry>> {
        Ok(self.find(path)?.map(|branch| &branch.entry))
    }

    /// Moves what is at `from`, and says what was at `to`; none if there is nothing to move.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<Option<Option<Entry>>> {
        if !self.can_hold(to)? {
            return Ok(None);
        }
        let Some(branch) = self.take(from)? else { return Ok(None) };
        let ousted = self.take(to)?.map(|branch| branch.entry);
        self.put(to, branch)?;
        Ok(Some(ousted))
    }

    /// Puts an entry where nothing is.
    pub fn add(&mut self, path: &[u8], entry: Entry) -> Result<()> {
        if self.can_hold(path)? && self.find(path)?.is_none() {
            self.put(path, Branch::new(entry))?;
        }
        Ok(())
    }

    /// Takes away what is at the path.
    pub fn remove(&mut self, path: &[u8]) -> Result<()> {
        self.take(path).map(drop)
    }

    /// Moves what is at `from` as far as `mask` has it there too or `also` says so, and hands the moved paths to `each` by
    /// their old and new names; what else is in a directory stays where it is. `false` if something is at `to`, or in the
    /// way there.
    pub fn part(
        &mut self,
        from: &[u8],
        to: &[u8],
        mask: &mut Moving<'_>,
        also: &dyn Fn(&[u8]) -> bool,
        each: &mut dyn FnMut(Vec<u8>, Vec<u8>),
    ) -> Result<bool> {
        if !self.can_hold(to)? || self.find(to)?.is_some() {
            return Ok(false);
        }
        let mask_view = mask.view;
        let Some(other) = mask.find(from)? else { return Ok(true) };
        let Some(branch) = self.take(from)? else { return Ok(true) };
        let (stays, goes) = split(self.view, branch, mask_view, Some(other), from, also)?;
        if let Some(goes) = goes {
            name_all(self.view, &goes, from.to_vec(), to.to_vec(), each)?;
            self.put(to, goes)?;
        }
        if let Some(stays) = stays {
            self.put(from, stays)?;
        }
        Ok(true)
    }

    /// The tree as it is by now, with the properties of directories that it did not have before.
    pub fn finish(self, manifest: &Manifest, model: &Model<'_>) -> Result<Moved> {
        let mut nodes = HashMap::new();
        let root = self.root.grown(self.view, b"", model, &mut nodes)?;
        let identity = Manifest::identity_of(self.view.store().algorithm(), &root, manifest.links.as_ref());
        let counts = match root.kind {
            Kind::Dir { files, bytes, .. } => Counts { files, bytes, ..manifest.counts },
            _ => manifest.counts,
        };
        Ok(Moved { manifest: Manifest { root, identity, counts, ..manifest.clone() }, nodes })
    }

    fn find(&mut self, path: &[u8]) -> Result<Option<&mut Branch>> {
        let mut here = &mut self.root;
        for name in names(path) {
            let Some(inside) = here.open(self.view)? else { return Ok(None) };
            match inside.get_mut(name) {
                Some(branch) => here = branch,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// Whether everything above the path is a directory, or nothing.
    fn can_hold(&mut self, path: &[u8]) -> Result<bool> {
        let mut here = &mut self.root;
        for name in names(parent(path)) {
            let Some(inside) = here.open(self.view)? else { return Ok(false) };
            match inside.get_mut(name) {
                Some(branch) => here = branch,
                None => return Ok(true),
            }
        }
        Ok(here.open(self.view)?.is_some())
    }

    fn take(&mut self, path: &[u8]) -> Result<Option<Branch>> {
        let (view, name) = (self.view, last(path));
        let Some(dir) = self.find(parent(path))? else { return Ok(None) };
        Ok(dir.open(view)?.and_then(|inside| inside.remove(name)))
    }

    fn put(&mut self, path: &[u8], mut branch: Branch) -> Result<()> {
        let mut here = &mut self.root;
        for name in names(parent(path)) {
            let algorithm = self.view.store().algorithm();
            let Some(inside) = here.open(self.view)? else { return Ok(()) };
            here = inside.entry(name.to_vec()).or_insert_with(|| {
                let entry = Entry { name: name.to_vec(), meta: Meta::default(), kind: Kind::empty_dir(algorithm) };
                Branch { entry, inside: Some(BTreeMap::new()), is_made_up: true }
            });
        }
        branch.entry.name = last(path).to_vec();
        if let Some(inside) = here.open(self.view)? {
            inside.insert(branch.entry.name.clone(), branch);
        }
        Ok(())
    }
}

impl Branch {
    fn new(entry: Entry) -> Branch {
        Branch { entry, inside: None, is_made_up: false }
    }

    fn open(&mut self, view: View<'_>) -> Result<Option<&mut BTreeMap<Vec<u8>, Branch>>> {
        let Kind::Dir { node, .. } = &self.entry.kind else { return Ok(None) };
        if self.inside.is_none() {
            let node = view.node(node)?;
            let inside = node.entries.iter().map(|entry| (entry.name.clone(), Branch::new(entry.clone())));
            self.inside = Some(inside.collect());
        }
        Ok(self.inside.as_mut())
    }

    fn grown(
        self,
        view: View<'_>,
        path: &[u8],
        model: &Model<'_>,
        nodes: &mut HashMap<Hash, Arc<Node>>,
    ) -> Result<Entry> {
        let mut entry = self.entry;
        let Some(inside) = self.inside else { return Ok(entry) };
        let mut entries = Vec::with_capacity(inside.len());
        for (name, branch) in inside {
            let path = if path.is_empty() { name } else { [path, b"/", &name].concat() };
            entries.push(branch.grown(view, &path, model, nodes)?);
        }
        if self.is_made_up {
            entry.meta = model(path)?.unwrap_or(Meta { mode: 0o755, ..entry.meta });
        } else if let Kind::Dir { node, .. } = &entry.kind
            && view.node(node)?.entries == entries
        {
            return Ok(entry);
        }
        let node = Node { entries };
        let algorithm = view.store().algorithm();
        let (key, (files, bytes)) = (algorithm.hash(&node.encode()), node.totals());
        entry.kind = Kind::Dir { node: key, identity: node.identity(algorithm), files, bytes };
        nodes.insert(key, Arc::new(node));
        Ok(entry)
    }
}

/// What stays of a branch and what goes: as far as the mask has the same, and of the same type, or it goes as well.
fn split(
    view: View<'_>,
    mut branch: Branch,
    mask_view: View<'_>,
    mask: Option<&mut Branch>,
    path: &[u8],
    also: &dyn Fn(&[u8]) -> bool,
) -> Result<(Option<Branch>, Option<Branch>)> {
    let is_other = |mask: &Branch| branch.entry.kind.file_type() != mask.entry.kind.file_type();
    // Nobody knows what is in that which was not captured.
    if branch.entry.is_opaque() || mask.as_deref().is_some_and(is_other) {
        return Ok((Some(branch), None));
    }
    let is_same = |mask: &Branch| mask.inside.is_none() && branch.entry.kind == mask.entry.kind;
    let is_whole = branch.inside.is_none() && mask.as_deref().is_some_and(is_same);
    if is_whole || branch.open(view)?.is_none() {
        return Ok((None, Some(branch)));
    }
    let (mut stay, mut go) = (BTreeMap::new(), BTreeMap::new());
    let mut others = match mask {
        Some(mask) => mask.open(mask_view)?,
        None => None,
    };
    for (name, inner) in branch.inside.take().unwrap_or_default() {
        let path = [path, b"/", &name].concat();
        let other = others.as_mut().and_then(|others| others.get_mut(&name));
        let (stays, goes) = match other.is_some() || also(&path) {
            // Half of a repository is none.
            true if name == b".git" => (None, Some(inner)),
            true => split(view, inner, mask_view, other, &path, also)?,
            false => (Some(inner), None),
        };
        stay.extend(stays.map(|branch| (name.clone(), branch)));
        go.extend(goes.map(|branch| (name, branch)));
    }
    let stays = (!stay.is_empty()).then(|| Branch { inside: Some(stay), ..branch.clone() });
    Ok((stays, Some(Branch { inside: Some(go), ..branch })))
}

fn name_all(
    view: View<'_>,
    branch: &Branch,
    from: Vec<u8>,
    to: Vec<u8>,
    each: &mut dyn FnMut(Vec<u8>, Vec<u8>),
) -> Result<()> {
    let below = |name: &[u8]| ([&from[..], b"/", name].concat(), [&to[..], b"/", name].concat());
    match (&branch.inside, &branch.entry.kind) {
        (Some(inside), _) => {
            for (name, inner) in inside {
                let (from, to) = below(name);
                name_all(view, inner, from, to, each)?;
            }
        }
        (None, Kind::Dir { node, .. }) => {
            for entry in &view.node(node)?.entries {
                let (from, to) = below(&entry.name);
                name_all(view, &Branch::new(entry.clone()), from, to, each)?;
            }
        }
        (None, _) => {}
    }
    each(from, to);
    Ok(())
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Garden, files};

    fn paths(view: View<'_>, root: &Entry, above: &str, found: &mut Vec<String>) {
        let Kind::Dir { node, .. } = &root.kind else { return };
        for entry in &view.node(node).unwrap().entries {
            let path = format!("{above}{}", String::from_utf8_lossy(&entry.name));
            match entry.kind {
                Kind::Dir { .. } => paths(view, entry, &format!("{path}/"), found),
                _ => found.push(path),
            }
        }
    }

    fn after(garden: &Garden, manifest: &Manifest, act: impl FnOnce(&mut Moving<'_>)) -> Vec<String> {
        let mut moving = Moving::new(View::stored(&garden.store), &manifest.root);
        act(&mut moving);
        let moved = moving.finish(manifest, &|_| Ok(None)).unwrap();
        let mut found = Vec::new();
        paths(View::with_unwritten(&garden.store, &moved.nodes), &moved.manifest.root, "", &mut found);
        found
    }

    #[test]
    fn files_and_directories_move_with_what_is_in_them() {
        let garden = Garden::new();
        let (_, tree) = garden.plant(&files(&[("a", "1"), ("d/e/f", "2"), ("d/g", "3"), ("z", "4")]));
        let found = after(&garden, &tree, |moving| {
            assert_eq!(moving.rename(b"a", b"new/b").unwrap(), Some(None));
            assert_eq!(moving.rename(b"d/e", b"e").unwrap(), Some(None));
            assert_eq!(moving.rename(b"missing", b"m").unwrap(), None);
            assert_eq!(moving.rename(b"d/g", b"z/under").unwrap(), None, "a file holds nothing");
            assert!(moving.rename(b"d/g", b"z").unwrap().unwrap().is_some(), "something was there");
        });
        assert_eq!(found, ["e/f", "new/b", "z"]);
        let back = after(&garden, &tree, |moving| {
            moving.rename(b"d", b"x").unwrap();
            moving.rename(b"x", b"d").unwrap();
        });
        assert_eq!(back, ["a", "d/e/f", "d/g", "z"]);
    }

    #[test]
    fn only_what_the_mask_has_goes() {
        let garden = Garden::new();
        let (_, mask) = garden.plant(&files(&[("d/e/f", "2"), ("d/g", "3")]));
        let (_, tree) =
            garden.plant(&files(&[("d/e/also", ""), ("d/e/f", "changed"), ("d/e/new", "n"), ("d/g", "3"), ("t", "")]));
        let mut other = Moving::new(View::stored(&garden.store), &mask.root);
        let mut pairs = Vec::new();
        let found = after(&garden, &tree, |moving| {
            assert!(!moving.part(b"d", b"t", &mut other, &|_| false, &mut |_, _| {}).unwrap(), "something is there");
            let also = |path: &[u8]| path == b"d/e/also";
            assert!(moving.part(b"d", b"s/d", &mut other, &also, &mut |from, to| pairs.push((from, to))).unwrap());
        });
        assert_eq!(found, ["d/e/new", "s/d/e/also", "s/d/e/f", "s/d/g", "t"]);
        assert!(pairs.contains(&(b"d/e/f".to_vec(), b"s/d/e/f".to_vec())));
        assert!(!pairs.iter().any(|(from, _)| from == b"d/e/new"));
    }
}
