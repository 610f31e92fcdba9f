//! What a commit does not hold of a tree, and why.

use belay_store::{Coverage, Gap, GapKind};

use super::id::GitId;

/// Something that a commit does not hold, or not all of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInGit {
    /// The path.
    pub path: Vec<u8>,
    /// Why not.
    pub why: WhyNotInGit,
}

/// Why git does not hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WhyNotInGit {
    /// The snapshot itself lacks it.
    NotCaptured,
    /// A file over the limit on the size of a snapshot.
    TooLarge,
    /// Its bytes are made so that others have the same SHA-1.
    Forged,
    /// Git allows no such name.
    Name,
    /// It lies too deep.
    TooDeep,
    /// A repository inside, of which no commit is known.
    Repository,
    /// A pipe, socket or device.
    Special,
    /// A directory with nothing in it.
    EmptyDir,
    /// Git ignores it.
    Ignored,
    /// It can be made again, and so the snapshot did not take it.
    Regenerable,
    /// Permissions other than those that git knows: only whether it may be executed is kept.
    Mode,
    /// Extended attributes or an ACL, which are not kept.
    Attributes,
}

impl WhyNotInGit {
    /// Whether the path itself is missing although git would have taken it.
    pub fn is_loss(self) -> bool {
        use WhyNotInGit::*;
        matches!(self, NotCaptured | TooLarge | Forged | Name | TooDeep | Repository)
    }
}

/// What was laid out.
pub(crate) struct Laid {
    pub(crate) tree: GitId,
    pub(crate) files: u64,
    pub(crate) left: Vec<NotInGit>,
}

impl Laid {
    /// What its restore must not take for new, because it was there and is not in it.
    pub(crate) fn coverage(&self) -> Coverage {
        let lost = self.left.iter().filter(|left| left.why.is_loss() || left.why == WhyNotInGit::Regenerable);
        let gap = |left: &NotInGit| Gap { path: left.path.clone(), kind: GapKind::OverLimit, detail: String::new() };
        Coverage { gaps: lost.map(gap).collect() }
    }
}
