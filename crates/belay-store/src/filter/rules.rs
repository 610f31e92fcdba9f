//! The ignore files above a directory, as a chain that is compiled only where a decision needs it.

use std::sync::{Arc, OnceLock};

use super::pattern::Patterns;
use crate::tree::Opaque;

/// What the ignore files say inside a directory and beneath it.
pub struct Rules {
    parent: Option<Arc<Rules>>,
    /// The directory of the ignore files, from the top of the repository that holds the workspace.
    dir: Vec<u8>,
    /// Texts that are compiled when they are first asked; the first prevails.
    files: Vec<File>,
    /// The directory was entered only for what is forced beneath it; all else there is left for this reason.
    through: Option<Opaque>,
    dir_is_ignored: OnceLock<bool>,
    /// How long the workspace's own path is. Whoever snapshots a directory means it, whatever a repository above says
    /// about it, so only what follows is matched.
    floor: usize,
    fingerprint: u64,
}

struct File {
    text: Vec<u8>,
    patterns: OnceLock<Patterns>,
}

impl Rules {
    /// Rules without ignore files, for a workspace at `dir`, whose configuration hashes to `fingerprint`.
    pub(super) fn top(dir: Vec<u8>, fingerprint: u64) -> Rules {
        let floor = dir.len();
        let dir_is_ignored = OnceLock::from(false);
        Rules { parent: None, dir, files: Vec::new(), through: None, dir_is_ignored, floor, fingerprint }
    }

    /// These rules with the ignore files of `dir`, of which the first prevails.
    pub(super) fn with_files(self: &Arc<Self>, dir: Vec<u8>, texts: &[&[u8]]) -> Arc<Rules> {
        let parts: Vec<&[u8]> = std::iter::once(dir.as_slice()).chain(texts.iter().copied()).collect();
        let files = texts.iter().map(|text| File { text: text.to_vec(), patterns: OnceLock::new() }).collect();
        Arc::new(Rules {
            parent: Some(Arc::clone(self)),
            fingerprint: fingerprint(self.fingerprint, &parts),
            dir,
            files,
            through: self.through,
            dir_is_ignored: OnceLock::new(),
            floor: self.floor,
        })
    }

    /// These rules inside `dir`, where all that is not forced is left for `reason`.
    pub(super) fn with_through(self: &Arc<Self>, dir: Vec<u8>, reason: Opaque) -> Arc<Rules> {
        let parts: [&[u8]; 3] = [&dir, b"through", &[reason as u8]];
        Arc::new(Rules {
            parent: Some(Arc::clone(self)),
            fingerprint: fingerprint(self.fingerprint, &parts),
            dir,
            files: Vec::new(),
            through: Some(reason),
            dir_is_ignored: OnceLock::new(),
            floor: self.floor,
        })
    }

    /// Changes whenever a decision beneath could change.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn through(&self) -> Option<Opaque> {
        self.through
    }

    /// Whether git ignores `path`, by itself or because it ignores a directory above it inside the workspace.
    pub(super) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        if path[self.floor..].split(|byte| *byte == b'/').any(|name| name == b".git") {
            return false;
        }
        self.dir_is_ignored() || self.ignores_from_here(path, is_dir)
    }

    /// Whether git ignores the directory of these ignore files, so that they have no say.
    fn dir_is_ignored(&self) -> bool {
        let mut unknown = Vec::new();
        let mut here = self;
        // By iteration, because the chain may be as long as a hostile tree is deep.
        let mut answer = loop {
            match (here.dir_is_ignored.get(), &here.parent) {
                (Some(known), _) => break *known,
                (None, None) => break false,
                (None, Some(parent)) => {
                    unknown.push((here, parent));
                    here = parent;
                }
            }
        };
        for (rules, parent) in unknown.into_iter().rev() {
            answer = *rules.dir_is_ignored.get_or_init(|| answer || parent.ignores_from_here(&rules.dir, true));
        }
        answer
    }

    /// Whether git ignores `path` or a directory between this one and it.
    fn ignores_from_here(&self, path: &[u8], is_dir: bool) -> bool {
        let known = self.dir.len().max(self.floor);
        let slashes = path.iter().enumerate().skip(known + 1).filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| at).any(|at| self.last_word(&path[..at], true))
            || path.len() > known && self.last_word(path, is_dir)
    }

    /// What the deepest ignore file that has a say decides about this very path.
    fn last_word(&self, path: &[u8], is_dir: bool) -> bool {
        let mut here = Some(self);
        while let Some(rules) = here {
            if let Some(rest) = beneath(path, &rules.dir) {
                let verdict = rules.files.iter().find_map(|file| file.patterns().ignores(rest, is_dir));
                if let Some(verdict) = verdict {
                    return verdict;
                }
            }
            here = rules.parent.as_deref();
        }
        false
    }
}

impl File {
    fn patterns(&self) -> &Patterns {
        self.patterns.get_or_init(|| Patterns::lenient(&self.text))
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        // A chain as long as a hostile tree is deep must not be dropped by recursion.
        let mut next = self.parent.take();
        while let Some(parent) = next {
            next = Arc::into_inner(parent).and_then(|mut rules| rules.parent.take());
        }
    }
}

/// The part of `path` beneath `dir`.
fn beneath<'a>(path: &'a [u8], dir: &[u8]) -> Option<&'a [u8]> {
    match path.strip_prefix(dir)? {
        rest if dir.is_empty() || rest.is_empty() => Some(rest),
        rest => rest.strip_prefix(b"/"),
    }
}

/// A hash of what was there before and what is added, with the borders between the parts.
pub(super) fn fingerprint(before: u64, parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let bytes = hasher.finalize();
    u64::from_le_bytes(bytes.as_bytes()[..8].try_into().expect("a BLAKE3 hash has 32 bytes"))
}
