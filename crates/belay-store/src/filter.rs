//! What a snapshot takes and what it leaves out, as data that is stored inside it.

use crate::error::Result;
use crate::tree::Opaque;

/// What to do with what git ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// Leave out only directories that can be made again.
    #[default]
    Regenerable,
    /// Leave out all of it.
    Skip,
    /// Leave out nothing.
    Capture,
}

/// The effective filter of a snapshot: configuration and outer ignore files, as they were then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What to do with what git ignores.
    pub gitignored: Ignored,
    /// Patterns in gitignore syntax, anchored at the workspace.
    pub additional: Vec<String>,
    /// Names of path components, or parts of paths if they contain a slash.
    pub exclude_patterns: Vec<String>,
    /// Globs matched against file names.
    pub exclude_globs: Vec<String>,
    /// Patterns that beat all exclusions.
    pub force_include: Vec<String>,
    /// Ignore files of the directories above the workspace, up to its repository's top: the workspace's
    /// path beneath that directory, and the file's text.
    pub outer: Vec<(String, String)>,
    /// Up to this size `build`, `dist` and their like are captured although git ignores them.
    pub regenerable_bytes_min: u64,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            gitignored: Ignored::default(),
            additional: Vec::new(),
            exclude_patterns: Vec::new(),
            exclude_globs: Vec::new(),
            force_include: Vec::new(),
            outer: Vec::new(),
            regenerable_bytes_min: 64 << 20,
        }
    }
}

impl Filter {
    pub(crate) fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }

    pub(crate) fn decode(_bytes: &[u8]) -> Result<Filter> {
        unimplemented!()
    }
}

/// A compiled filter.
pub struct Judge;

/// Whether a path is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is captured.
    Take,
    /// It is left out for this reason.
    Leave(Opaque),
}
