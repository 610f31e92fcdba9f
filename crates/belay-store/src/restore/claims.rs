//! What a snapshot lays claim to: a path that it does not hold may be removed only if it would have held it.
//!
//! The judgement is the snapshot's own: its filter, and the ignore files as they are in its tree. Where it depended on
//! evidence that is not known any more, the evidence is taken to have been there, which leaves more alone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::filter::{AssumeAll, Judge, Rules, Verdict};
use crate::manifest::{GapKind, Manifest};
use crate::tree::{Kind, Node, View};

/// A larger ignore file is not believed by the filter either.
const IGNORE_FILE_BYTES_MAX: u64 = 1 << 20;

/// A snapshot's own judgement about paths that it does not hold.
pub(super) struct Claims<'a> {
    view: View<'a>,
    judge: Judge,
    /// Paths that were seen and then missed, so that their absence proves nothing.
    missed: HashSet<Vec<u8>>,
}

impl<'a> Claims<'a> {
    pub(super) fn of(view: View<'a>, target: &Manifest) -> Result<Claims<'a>> {
        let judge = target.filter(view.store())?.judge()?;
        let gaps = target.coverage(view.store())?.gaps;
        let missed = gaps
            .into_iter()
            .filter(|gap| !gap.kind.is_wanted() && gap.kind != GapKind::Attributes)
            .map(|gap| gap.path)
            .collect();
        Ok(Claims { view, judge, missed })
    }

    /// Whether the snapshot knew of the path, or of a directory above it, and failed to capture it.
    pub(super) fn missed(&self, path: &[u8]) -> bool {
        !self.missed.is_empty() && super::links::with_parents(path).any(|one| self.missed.contains(one))
    }

    /// Whether a path of that name needs to be judged at all.
    pub(super) fn is_doubtful(&self, name: &[u8], is_dir: bool) -> bool {
        self.judge.is_candidate(name, is_dir)
    }

    /// Whether the snapshot would have taken the path.
    pub(super) fn takes(&self, rules: &Rules, path: &[u8], is_dir: bool) -> bool {
        !matches!(self.decide(rules, path, is_dir), Verdict::Leave(_))
    }

    /// The rules inside the workspace's root.
    pub(super) fn root(&self, node: Option<&Node>) -> Result<Arc<Rules>> {
        self.enter(&self.judge.rules(), b"", node)
    }

    /// The rules inside a directory of which the target has `node`.
    pub(super) fn inside(&self, parent: &Arc<Rules>, dir: &[u8], node: Option<&Node>) -> Result<Arc<Rules>> {
        match self.decide(parent, dir, true) {
            Verdict::Through(reason) => self.enter(&self.judge.through(parent, dir, reason), dir, node),
            // A directory that the target holds was taken, whatever the evidence says today.
            Verdict::Take | Verdict::Leave(_) => self.enter(parent, dir, node),
        }
    }

    fn decide(&self, rules: &Rules, path: &[u8], is_dir: bool) -> Verdict {
        let (_, name) = super::split(path);
        if self.is_doubtful(name, is_dir) {
            self.judge.decide(rules, path, name, is_dir, &AssumeAll)
        } else {
            Verdict::Take
        }
    }

    fn enter(&self, rules: &Arc<Rules>, dir: &[u8], node: Option<&Node>) -> Result<Arc<Rules>> {
        let texts = node.map(|node| self.ignore_texts(node)).transpose()?.unwrap_or_default();
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        Ok(self.judge.enter(rules, dir, &texts))
    }

    /// The directory's own ignore file and, in a repository, the one that is not shared; the former prevails.
    fn ignore_texts(&self, node: &Node) -> Result<Vec<Vec<u8>>> {
        let own = node.get(b".gitignore").cloned();
        let exclude = match node.get(b".git") {
            Some(git) => self.view.lookup(git, b"info/exclude")?,
            None => None,
        };
        let files = own.into_iter().chain(exclude).filter_map(|entry| match entry.kind {
            Kind::File { size, content } if size <= IGNORE_FILE_BYTES_MAX => Some((size, content)),
            _ => None,
        });
        files.map(|(size, content)| self.view.bytes(size, &content)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Left, LeftReason, plan};
    use super::*;
    use crate::diff::Scope;
    use crate::manifest::{Coverage, Gap, Links};
    use crate::planted::{Garden, files};

    #[test]
    fn what_was_seen_and_then_missed_is_not_taken_for_new() {
        let garden = Garden::new();
        let gap = |path: &[u8], kind| Gap { path: path.to_vec(), kind, detail: String::new() };
        let gaps = vec![gap(b"dir", GapKind::OverLimit), gap(b"saved", GapKind::Vanished)];
        let (_, target) = garden.plant_with(&files(&[("dir/a", "1")]), &Links::default(), &Coverage { gaps });
        let (_, now) = garden.plant(&files(&[("dir/a", "1"), ("dir/b/c", "2"), ("new", "3"), ("saved", "4")]));
        let view = View::stored(&garden.store);
        let plan = plan(view, &now, &Links::default(), &target, &Scope::default(), false).unwrap();
        let left = |path: &[u8]| Left { path: path.to_vec(), reason: LeftReason::NotCaptured };
        assert_eq!(plan.left, [left(b"dir/b"), left(b"saved")]);
        assert_eq!(plan.steps.paths().collect::<Vec<_>>(), [b"new"]);
    }
}
