//! Names that come close to one that does not exist.

use std::collections::VecDeque;

use belay_store::{Entry, Kind, View};

use crate::error::Result;
use crate::present::Tree;
use crate::workspace::Workspace;

const SHOWN_MAX: usize = 3;
/// How many directories are looked into for a name; whoever mistyped it waits meanwhile.
const DIRECTORIES_MAX: usize = 2_000;

impl Workspace<'_> {
    /// Paths of the tree that come close to one that is not in it.
    pub fn nearest_paths(&self, tree: &Tree, path: &[u8]) -> Result<Vec<Vec<u8>>> {
        nearest_paths(&tree.view(self.home.store()), &tree.manifest().root, path)
    }
}

/// Paths beneath `root` that come close to `path`: names like the first one that is missing, or else the last name elsewhere.
pub(crate) fn nearest_paths(view: &View<'_>, root: &Entry, path: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut here = root.clone();
    let mut above: Vec<u8> = Vec::new();
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let Kind::Dir { node, .. } = &here.kind else { break };
        let node = view.node(node)?;
        if let Some(entry) = node.get(name) {
            above = beneath(&above, name);
            here = entry.clone();
            continue;
        }
        let names = node.entries.iter().filter_map(|entry| std::str::from_utf8(&entry.name).ok());
        let close = nearest(&String::from_utf8_lossy(name), names);
        if !close.is_empty() {
            return Ok(close.iter().map(|close| beneath(&above, close.as_bytes())).collect());
        }
        break;
    }
    called(view, root, path.rsplit(|byte| *byte == b'/').next().unwrap_or_default())
}

/// Where in the tree something of that name is, the shortest way first.
fn called(view: &View<'_>, root: &Entry, name: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let mut ahead = VecDeque::from([(Vec::new(), root.clone())]);
    let mut looked = 0;
    while let Some((path, entry)) = ahead.pop_front().filter(|_| looked < DIRECTORIES_MAX && found.len() < SHOWN_MAX) {
        let Kind::Dir { node, .. } = &entry.kind else { continue };
        looked += 1;
        for entry in &view.node(node)?.entries {
            let path = beneath(&path, &entry.name);
            if *entry.name == *name {
                found.push(path.clone());
            }
            if matches!(entry.kind, Kind::Dir { .. }) {
                ahead.push_back((path, entry.clone()));
            }
        }
    }
    found.truncate(SHOWN_MAX);
    Ok(found)
}

fn beneath(above: &[u8], name: &[u8]) -> Vec<u8> {
    if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() }
}

/// The candidates that differ least from `name`, best first; none if all are far off.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let limit = (name.chars().count() / 3).clamp(1, 4);
    let name = &name.to_lowercase();
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (candidate.to_lowercase(), candidate))
        .map(|(small, candidate)| (distance(name, &small), is_part(name, &small), candidate))
        .filter(|(distance, is_part, _)| *distance <= limit || *is_part)
        .map(|(distance, _, candidate)| (distance, candidate))
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(SHOWN_MAX).map(|(_, candidate)| candidate.to_owned()).collect()
}

fn is_part(name: &str, candidate: &str) -> bool {
    name.len() >= 3 && candidate.contains(name)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one text the other.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut here = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            here[j] = replaced.min(above[j] + 1).min(here[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                here[j] = here[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, here);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits_and_swaps() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("snap_ab", "snap_ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_close_names_are_offered_best_first() {
        let names = ["before-refactor", "before-release", "zebra"];
        assert_eq!(nearest("before-refacto", names), ["before-refactor"]);
        assert_eq!(nearest("before", names), ["before-release", "before-refactor"]);
        assert_eq!(nearest("quite-another", names), Vec::<String>::new());
        assert_eq!(nearest("readme", ["README.md", "src"]), ["README.md"]);
    }
}
