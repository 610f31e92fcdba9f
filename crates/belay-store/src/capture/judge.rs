//! Asks the filter about what a walk meets, with evidence from the live directory.

use std::sync::Arc;

use belay_sys::{Dir, FileType, Root};

use super::hand::{Job, join, name_of, parent_of};
use crate::error::Result;
use crate::filter::{Evidence, Rules, Verdict, is_kept_beside};
use crate::tree::Opaque;

/// Ignore files larger than this are not read; they are no ignore files.
const IGNORE_BYTES_MAX: u64 = 1 << 20;

/// A directory as evidence about one of its subdirectories.
struct Live<'a> {
    root: &'a Root,
    dir: &'a Dir,
    path: &'a [u8],
}

impl Evidence for Live<'_> {
    fn sibling(&self, name: &[u8]) -> bool {
        self.dir.stat(name).is_ok()
    }

    fn child(&self, name: &[u8]) -> bool {
        self.root.dir_path_only(self.path).and_then(|dir| dir.stat(name)).is_ok()
    }

    fn exceeds(&self, bytes: u64) -> bool {
        let mut total = 0;
        let mut pending = vec![self.path.to_vec()];
        let mut names = Vec::new();
        while let Some(path) = pending.pop() {
            let Ok(dir) = self.root.dir(&path) else { continue };
            let mut files = Vec::new();
            let _ = dir.list(&mut names, &mut |name, file_type, _| match file_type {
                FileType::Dir => pending.push(join(&path, name)),
                _ => files.push(name.to_vec()),
            });
            total += files.iter().filter_map(|name| dir.stat(name).ok()).map(|stat| stat.size).sum::<u64>();
            if total > bytes {
                return true;
            }
        }
        false
    }

    fn ignores_itself(&self) -> bool {
        let text = self.root.dir_path_only(self.path).ok().and_then(|dir| read_ignore(&dir, b".gitignore"));
        text.is_some_and(|text| text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == b"*"))
    }
}

/// What the filter decided about an entry.
pub(super) enum Decision {
    Take {
        /// Rules for inside the entry, where they differ from those around it.
        rules: Option<Arc<Rules>>,
        /// It is taken only because a restore is about to change it.
        forced: bool,
    },
    Leave(Opaque),
}

const PLAIN: Decision = Decision::Take { rules: None, forced: false };

impl Job<'_> {
    pub(super) fn decide(
        &self,
        rules: &Arc<Rules>,
        dir: &Dir,
        path: &[u8],
        name: &[u8],
        is_dir: bool,
    ) -> Result<Decision> {
        if !self.judge.is_candidate(name, is_dir) {
            return Ok(PLAIN);
        }
        let evidence = Live { root: &self.root, dir, path };
        match self.judge.decide(rules, path, name, is_dir, &evidence) {
            Verdict::Take => Ok(PLAIN),
            Verdict::Through(reason) => {
                Ok(Decision::Take { rules: Some(self.judge.through(rules, path, reason)), forced: false })
            }
            Verdict::Leave(_) if !is_kept_beside(name, is_dir) && self.must_keep(path)? => {
                Ok(Decision::Take { rules: None, forced: true })
            }
            Verdict::Leave(reason) => Ok(Decision::Leave(reason)),
        }
    }

    /// The rules inside a directory, and whether it holds any of its own.
    pub(super) fn rules_inside(&self, outside: &Arc<Rules>, dir: &Dir, path: &[u8]) -> (Arc<Rules>, bool) {
        if self.judge.is_trivial() {
            return (Arc::clone(outside), false);
        }
        let own = read_ignore(dir, b".gitignore");
        // From the directory's own handle, which stays in its filesystem: one mounted at `.git` may not answer.
        let inside = dir.as_fd().try_clone_to_owned().map(Root::from_fd);
        let info = inside.and_then(|root| root.dir_path_only(b".git/info"));
        let exclude = info.ok().and_then(|dir| read_ignore(&dir, b"exclude"));
        let texts: Vec<&[u8]> = own.iter().chain(&exclude).map(Vec::as_slice).collect();
        (self.judge.enter(outside, path, &texts), !texts.is_empty())
    }

    /// The rules for a directory that is entered only for something forced in it, or those around it.
    pub(super) fn rules_through(&self, around: &Arc<Rules>, path: &[u8]) -> Arc<Rules> {
        let (place, name) = (parent_of(path), name_of(path));
        let decide = |dir: Dir| self.decide(around, &dir, path, name, true);
        match self.root.dir_path_only(place).ok().filter(|_| !path.is_empty()).map(decide) {
            Some(Ok(Decision::Take { rules: Some(rules), .. })) => rules,
            _ => Arc::clone(around),
        }
    }

    /// The rules inside the directory at `path`, read from the top.
    pub(super) fn rules_at(&self, path: &[u8]) -> Arc<Rules> {
        self.rules_down_to(path, &mut |_, _| {})
    }

    /// The same, and `each` is told the rules inside every directory on the way, the topmost first.
    pub(super) fn rules_down_to(&self, path: &[u8], each: &mut dyn FnMut(&[u8], &Rules)) -> Arc<Rules> {
        let mut rules = self.judge.rules();
        if self.judge.is_trivial() {
            return rules;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        let dirs = std::iter::once(0).chain(ends.filter(|end| *end > 0));
        for end in dirs {
            let above = &path[..end];
            rules = self.rules_through(&rules, above);
            if let Ok(dir) = self.root.dir_path_only(above) {
                rules = self.rules_inside(&rules, &dir, above).0;
            }
            each(above, &rules);
        }
        rules
    }
}

fn read_ignore(dir: &Dir, name: &[u8]) -> Option<Vec<u8>> {
    let stat = dir.stat(name).ok()?;
    if stat.file_type != FileType::File || stat.size > IGNORE_BYTES_MAX {
        return None;
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(dir.open_read(name).ok()?, IGNORE_BYTES_MAX), &mut text)
        .ok()?;
    Some(text)
}
