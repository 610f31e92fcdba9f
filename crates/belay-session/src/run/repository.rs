//! Where git takes settings and programs from, beyond `.git/config` and `.git/hooks`: whoever protects those means these too.
//!
//! Invariants: nothing is protected that no rule on `.git/config` or `.git/hooks` asks for; nothing of the repository is
//! believed but where it says that more of it lies, and only if that is in the workspace; what cannot be looked
//! through is protected as a whole.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use belay_event::Degraded;
use belay_jail::{Access, Grant, Policy};
use belay_sys::Root;

use super::supervisor::Supervisor;
use crate::error::chain_of;

/// A file that holds a path is no longer than this.
const LINE_BYTES_MAX: u64 = 1 << 12;
/// Submodules, and directories on the way to them; with more all of them can only be read.
const MODULES_MAX: usize = 1_000;
const DEPTH_MAX: usize = 8;
/// So often what the command made is kept under another name, and so often it is told.
const ASIDE_MAX: usize = 8;
const TOLD_MAX: usize = 100;

/// What else is protected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// What is there.
    pub(crate) grants: Vec<Grant>,
    /// What is not there, and would lead git elsewhere if somebody made it.
    pub(crate) unmade: Vec<PathBuf>,
}

impl Ways {
    /// Those of the repository in a workspace.
    pub(crate) fn of(policy: &Policy, workspace: &Path) -> Ways {
        let git = workspace.join(".git");
        let is_kept = |name: &str| {
            let decides = policy.decides(&git.join(name));
            decides.is_some_and(|grant| matches!(grant.access, Access::Read | Access::Hidden))
        };
        let (hooks, config) = (is_kept("hooks"), is_kept("config"));
        let mut ways = Ways::default();
        if !hooks && !config {
            return ways;
        }
        let mut places = vec![git.clone()];
        if is_file(&git) {
            // It leads to another directory, and could be made to lead to any.
            ways.protect(git.clone());
            places = lead(&git, workspace, b"gitdir:").into_iter().collect();
        }
        for place in places.clone() {
            places.extend(lead(&place.join("commondir"), workspace, b""));
            let modules = place.join("modules");
            match modules_in(&modules) {
                Some(found) => places.extend(found),
                None => ways.protect(modules),
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in &places {
            ways.protect_in(place, hooks, config);
        }
        // What the policy says of a path itself counts.
        ways.grants.retain(|grant| policy.grants.iter().all(|other| other.path != grant.path));
        ways
    }

    fn protect_in(&mut self, place: &Path, hooks: bool, config: bool) {
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        self.grants.extend(Some(place.join("hooks")).filter(|path| hooks && is_there(path)).map(read));
        if !config {
            return;
        }
        self.grants.extend(Some(place.join("config")).filter(is_there).map(read));
        for name in ["commondir", "config.worktree"] {
            match place.join(name) {
                path if is_there(&path) => self.protect(path),
                path if place.is_dir() => self.unmade.push(path),
                _ => {}
            }
        }
        for worktree in fs::read_dir(place.join("worktrees")).into_iter().flatten().flatten() {
            let names = ["commondir", "gitdir", "config.worktree"].map(|name| worktree.path().join(name));
            names.into_iter().filter(is_there).for_each(|path| self.protect(path));
        }
    }

    fn protect(&mut self, path: PathBuf) {
        self.grants.push(read(path));
    }
}

fn read(path: PathBuf) -> Grant {
    Grant::new(path, Access::Read)
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// The directory in the workspace that a file names, if it names one and no link is on the way.
fn lead(file: &Path, workspace: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let mut text = Vec::new();
    let opened = Some(file).filter(|file| is_file(file)).and_then(|file| fs::File::open(file).ok())?;
    opened.take(LINE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let named = file.parent()?.join(OsStr::from_bytes(text.strip_prefix(prefix)?.trim_ascii()));
    let mut place = PathBuf::new();
    for component in named.components() {
        match component {
            Component::ParentDir => drop(place.pop()),
            other => place.push(other),
        }
    }
    let inside = place.strip_prefix(workspace).ok().filter(|inside| !inside.as_os_str().is_empty())?;
    Root::open(workspace).ok()?.dir_path_only(inside.as_os_str().as_bytes()).ok()?;
    Some(place)
}

/// The repositories of submodules; none if there are too many to look at.
fn modules_in(modules: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![(modules.to_owned(), 0)];
    let mut looked = 0;
    while let Some((directory, depth)) = waiting.pop() {
        looked += 1;
        if looked > MODULES_MAX || depth > DEPTH_MAX {
            return None;
        }
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            // A module's name may have slashes in it, and a module has modules.
            match is_file(&path.join("HEAD")) {
                true => {
                    waiting.push((path.join("modules"), depth + 1));
                    found.push(path);
                }
                false => waiting.push((path, depth + 1)),
            }
        }
    }
    Some(found)
}

impl Supervisor<'_> {
    /// Puts aside what would lead git elsewhere, if the command made it: no mount can cover what is not there.
    pub(super) fn put_aside_made(&mut self) {
        let mut whys = Vec::new();
        for path in &self.unmade {
            if path.symlink_metadata().is_err() {
                continue;
            }
            let shown = path.display();
            whys.push(match aside(self.workspace.root(), self.workspace.path(), path, &self.record.id) {
                Ok(aside) => format!("{shown} leads git to other settings and must not be there: it is {aside} now"),
                Err(error) => {
                    format!("{shown} leads git to other settings, and cannot be put aside: {}", chain_of(&error))
                }
            });
        }
        let degraded = |why| belay_event::What::Degraded(Degraded { layer: "jail".into(), why });
        let room = TOLD_MAX.saturating_sub(self.put_aside);
        self.put_aside += whys.len();
        let events: Vec<_> = whys.into_iter().take(room).map(|why| self.event(degraded(why))).collect();
        if !events.is_empty() {
            self.happened(events);
        }
    }
}

/// Renames it in its directory, beneath the handle of the workspace.
fn aside(root: &Root, workspace: &Path, path: &Path, run: &str) -> std::io::Result<String> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(String::new()) };
    let above = above.strip_prefix(workspace).map_err(std::io::Error::other)?;
    let dir = root.dir_path_only(above.as_os_str().as_bytes())?;
    for nth in 1..=ASIDE_MAX {
        let count = if nth == 1 { String::new() } else { format!("-{nth}") };
        let to = format!("{}.{run}{count}", name.to_string_lossy());
        match dir.rename_new(name.as_bytes(), &dir, to.as_bytes()) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            renamed => return renamed.map(|()| to),
        }
    }
    dir.remove_file(name.as_bytes()).map(|()| "gone".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Ground, Profiles};

    fn ways(workspace: &Path, profile: &str) -> Ways {
        let profile = Profiles::default().get(profile).unwrap();
        let ground = Ground { workspace, home: Path::new("/home/ada"), belay: Path::new("/home/ada/belay") };
        let identity = belay_jail::Identity { uid: 1, gid: 1 };
        Ways::of(&profile.policy(&ground, identity), workspace)
    }

    fn names(workspace: &Path, paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
        let name = |path: PathBuf| path.strip_prefix(workspace).unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = paths.into_iter().map(name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn whatever_leads_git_to_other_settings_is_protected_with_its_settings() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        for path in [".git/hooks", ".git/modules/a/b/hooks", ".git/modules/a/b/modules/c/hooks", ".git/worktrees/w"] {
            fs::create_dir_all(at.join(path)).unwrap();
        }
        for path in
            [".git/config", ".git/modules/a/b/HEAD", ".git/modules/a/b/config", ".git/modules/a/b/modules/c/HEAD"]
        {
            fs::write(at.join(path), "x").unwrap();
        }
        for path in ["commondir", "gitdir", "HEAD"] {
            fs::write(at.join(".git/worktrees/w").join(path), "../..").unwrap();
        }
        let strict = ways(&at, "strict");
        let grants = strict.grants.into_iter().map(|grant| grant.path);
        let expected = [
            ".git/modules/a/b/config",
            ".git/modules/a/b/hooks",
            ".git/modules/a/b/modules/c/hooks",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/gitdir",
        ];
        assert_eq!(names(&at, grants), expected);
        let unmade = names(&at, strict.unmade);
        assert!(unmade.contains(&".git/commondir".to_owned()) && unmade.contains(&".git/config.worktree".to_owned()));
        // Where its settings can be written anyway, its hooks alone are meant.
        let usual = ways(&at, "default");
        let grants = usual.grants.into_iter().map(|grant| grant.path);
        assert_eq!(names(&at, grants), [".git/modules/a/b/hooks", ".git/modules/a/b/modules/c/hooks"]);
        assert_eq!(usual.unmade, Vec::<PathBuf>::new());
    }

    #[test]
    fn a_file_that_leads_to_a_repository_is_protected_and_so_is_that_one_in_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("real/hooks")).unwrap();
        fs::write(at.join("real/config"), "").unwrap();
        fs::write(at.join(".git"), "gitdir: real\n").unwrap();
        let grants = |profile: &str| names(&at, ways(&at, profile).grants.into_iter().map(|grant| grant.path));
        assert_eq!(grants("strict"), [".git", "real/config", "real/hooks"]);
        assert_eq!(grants("default"), [".git", "real/hooks"]);
        fs::write(at.join(".git"), "gitdir: /\n").unwrap();
        assert_eq!(grants("strict"), [".git"]);
    }
}
