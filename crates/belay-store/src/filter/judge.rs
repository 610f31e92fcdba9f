//! A compiled filter, asked once for each path that a walk meets, parents before children.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::pattern::{Patterns, Way};
use super::rules::{Rules, fingerprint};
use super::{Filter, Ignored, KEPT_BESIDE, Regenerable};
use crate::error::{Error, Result};
use crate::tree::Opaque;

/// The longest path that the kernel takes in one piece, less the name of an ignore file.
const IGNORE_DIR_BYTES_MAX: usize = 4096 - "/.gitignore".len();

/// Whether a path is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is captured.
    Take,
    /// The directory would be left for this reason, but something beneath it may be forced: it is captured, and what
    /// is in it is judged by the rules that [`Judge::through`] returns.
    Through(Opaque),
    /// It is left out for this reason.
    Leave(Opaque),
}

/// What lies around and inside a directory that may be regenerable.
pub trait Evidence {
    /// Whether something of that name is beside it.
    fn sibling(&self, name: &[u8]) -> bool;
    /// Whether something of that name is directly inside it.
    fn child(&self, name: &[u8]) -> bool;
    /// Whether the files beneath it hold more bytes.
    fn exceeds(&self, bytes: u64) -> bool;
    /// Whether a `.gitignore` directly inside it has a line that is a lone `*`, as tools write it into their caches.
    fn ignores_itself(&self) -> bool {
        false
    }
}

/// Evidence for everything: what might be regenerable is taken to be so.
pub struct AssumeAll;

impl Evidence for AssumeAll {
    fn sibling(&self, _name: &[u8]) -> bool {
        true
    }

    fn child(&self, _name: &[u8]) -> bool {
        true
    }

    fn exceeds(&self, _bytes: u64) -> bool {
        true
    }
}

/// A compiled filter.
pub struct Judge {
    gitignored: Ignored,
    regenerable: HashMap<Vec<u8>, Regenerable>,
    regenerable_bytes_min: u64,
    additional: Option<Patterns>,
    names: HashSet<Vec<u8>>,
    parts: Vec<Vec<u8>>,
    globs: Option<GlobSet>,
    forced: Option<Patterns>,
    ways: Vec<Way>,
    /// The workspace's path beneath the top of the repository that holds it.
    base: Vec<u8>,
    rules: Arc<Rules>,
}

impl Judge {
    pub(super) fn new(filter: &Filter) -> Result<Judge> {
        let (parts, names): (Vec<_>, Vec<_>) = filter
            .exclude_patterns
            .iter()
            .filter(|text| !text.is_empty())
            .cloned()
            .partition(|text| text.contains('/'));
        let regenerable = match filter.gitignored {
            Ignored::Regenerable => filter.regenerable.as_slice(),
            Ignored::Skip | Ignored::Capture => &[],
        };
        let (base, rules) = outer_rules(filter);
        Ok(Judge {
            gitignored: filter.gitignored,
            regenerable: regenerable.iter().map(|one| (one.name.clone().into_bytes(), one.clone())).collect(),
            regenerable_bytes_min: filter.regenerable_bytes_min,
            additional: some_patterns(&filter.additional)?,
            names: names.into_iter().map(String::into_bytes).collect(),
            parts: parts.into_iter().map(String::into_bytes).collect(),
            globs: some_globs(&filter.exclude_globs)?,
            forced: some_patterns(&filter.force_include)?,
            ways: filter.force_include.iter().map(|pattern| Way::new(pattern)).collect::<Result<_>>()?,
            base,
            rules,
        })
    }

    /// The rules for the workspace's root, before its own ignore files.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// The rules inside directory `dir`, of which `ignore` are the texts of the ignore files, if it has any: of its
    /// `.gitignore`, and after it of its `.git/info/exclude`.
    pub fn enter(&self, parent: &Arc<Rules>, dir: &[u8], ignore: &[&[u8]]) -> Arc<Rules> {
        // Git cannot read ignore files deeper than this, and a longer chain would make decisions slow.
        let too_deep = dir.len() > IGNORE_DIR_BYTES_MAX;
        if ignore.is_empty() || too_deep || self.gitignored == Ignored::Capture {
            return Arc::clone(parent);
        }
        parent.with_files(self.full(dir), ignore)
    }

    /// The rules inside directory `dir` after the verdict [`Verdict::Through`].
    pub fn through(&self, parent: &Arc<Rules>, dir: &[u8], reason: Opaque) -> Arc<Rules> {
        parent.with_through(self.full(dir), reason)
    }

    /// Whether everything is taken, so that nothing needs to be asked.
    pub fn is_trivial(&self) -> bool {
        let takes_ignored = match self.gitignored {
            Ignored::Capture => true,
            Ignored::Regenerable => self.regenerable.is_empty(),
            Ignored::Skip => false,
        };
        takes_ignored
            && self.additional.is_none()
            && self.names.is_empty()
            && self.parts.is_empty()
            && self.globs.is_none()
    }

    /// Whether a path that ends in `name` may be left out; if not, it is taken and need not be decided.
    pub fn is_candidate(&self, name: &[u8], is_dir: bool) -> bool {
        let any = self.gitignored == Ignored::Skip || self.additional.is_some() || !self.parts.is_empty();
        // Inside a directory that is entered only for what is forced in it, any name may be left.
        let any = any || self.forced.is_some() && !self.is_trivial();
        any || is_kept_beside(name, is_dir)
            || is_dir && self.regenerable.contains_key(name)
            || !is_dir && self.globs.is_some()
            || !self.names.is_empty() && self.names.contains(name)
    }

    /// Decides about `path`, which ends in `name` and whose directory was taken; `rules` are those inside that directory.
    pub fn decide(&self, rules: &Rules, path: &[u8], name: &[u8], is_dir: bool, evidence: &dyn Evidence) -> Verdict {
        if is_kept_beside(name, is_dir) {
            return Verdict::Leave(Opaque::Excluded);
        }
        if self.is_forced(path, is_dir) {
            return Verdict::Take;
        }
        let reason = rules.through().or_else(|| self.reason(rules, path, name, is_dir, evidence));
        match reason {
            None => Verdict::Take,
            Some(reason) if is_dir && self.ways.iter().any(|way| way.passes(path)) => Verdict::Through(reason),
            Some(reason) => Verdict::Leave(reason),
        }
    }

    fn reason(&self, rules: &Rules, path: &[u8], name: &[u8], is_dir: bool, evidence: &dyn Evidence) -> Option<Opaque> {
        let additional = self.additional.as_ref().and_then(|patterns| patterns.ignores(path, is_dir));
        if additional == Some(true) || self.is_excluded(path, name, is_dir) {
            return Some(Opaque::Excluded);
        }
        match self.gitignored {
            _ if additional == Some(false) => None,
            Ignored::Capture => None,
            Ignored::Skip => rules.ignores(&self.full(path), is_dir).then_some(Opaque::GitIgnored),
            Ignored::Regenerable => {
                let one = self.regenerable.get(name).filter(|_| is_dir)?;
                let ignored = rules.ignores(&self.full(path), is_dir) || evidence.ignores_itself();
                (ignored && one.is_proven(evidence, self.regenerable_bytes_min)).then_some(Opaque::Regenerable)
            }
        }
    }

    fn is_excluded(&self, path: &[u8], name: &[u8], is_dir: bool) -> bool {
        if self.names.contains(name) {
            return true;
        }
        if !is_dir && self.globs.as_ref().is_some_and(|globs| globs.is_match(OsStr::from_bytes(name))) {
            return true;
        }
        if self.parts.is_empty() {
            return false;
        }
        // With its slashes a directory matches `/dir` and `dir/` as its content does, so that the walk ends at it.
        let mut slashed = [b"/", path].concat();
        if is_dir {
            slashed.push(b'/');
        }
        self.parts.iter().any(|part| slashed.windows(part.len()).any(|window| window == part.as_slice()))
    }

    /// Whether the path or a directory above it is forced.
    fn is_forced(&self, path: &[u8], is_dir: bool) -> bool {
        let Some(forced) = &self.forced else { return false };
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
        forced
            .ignores(path, is_dir)
            .unwrap_or_else(|| above.filter_map(|dir| forced.ignores(dir, true)).next_back().unwrap_or(false))
    }

    fn full(&self, path: &[u8]) -> Vec<u8> {
        join(&self.base, path)
    }
}

/// Whether it holds the snapshots of a workspace beside it.
pub(crate) fn is_kept_beside(name: &[u8], is_dir: bool) -> bool {
    is_dir && name == KEPT_BESIDE.as_bytes()
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() || name.is_empty() { [dir, name].concat() } else { [dir, b"/", name].concat() }
}

/// The workspace's path beneath the outermost directory that has an ignore file, and the rules from there down to it.
fn outer_rules(filter: &Filter) -> (Vec<u8>, Arc<Rules>) {
    let base = filter.outer.iter().map(|(path, _)| path.as_bytes()).max_by_key(|path| path.len()).unwrap_or_default();
    let top = Rules::top(base.to_vec(), fingerprint(0, &[&filter.encode()]));
    let mut rules = Arc::new(top);
    let mut outer: Vec<&(String, String)> = filter.outer.iter().collect();
    outer.sort_by_key(|(path, _)| path.len());
    for group in outer.chunk_by(|a, b| a.0.len() == b.0.len()).rev() {
        let texts: Vec<&[u8]> = group.iter().map(|(_, text)| text.as_bytes()).collect();
        let path = group[0].0.as_bytes();
        let dir = base.strip_suffix(path).map(|dir| dir.strip_suffix(b"/").unwrap_or(dir));
        if let Some(dir) = dir {
            rules = rules.with_files(dir.to_vec(), &texts);
        }
    }
    (base.to_vec(), rules)
}

fn some_patterns(lines: &[String]) -> Result<Option<Patterns>> {
    if lines.is_empty() { Ok(None) } else { Patterns::strict(lines).map(Some) }
}

fn some_globs(globs: &[String]) -> Result<Option<GlobSet>> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let built = GlobBuilder::new(glob).backslash_escape(true).build();
        set.add(built.map_err(|error| Error::Pattern { pattern: glob.clone(), detail: error.kind().to_string() })?);
    }
    set.build().map(Some).map_err(|error| Error::Pattern { pattern: globs.join(" "), detail: error.to_string() })
}
