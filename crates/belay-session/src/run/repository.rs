//! Where git takes settings and programs from, beyond `.git/config` and `.git/hooks`: whoever protects those means these too.
//!
//! What is there can only be read; what is not there must not be made, and a link on the way must stay the link that it
//! is, which no mount can see to: those are looked at while the run goes on and when it ends ([`Unheld`]).
//!
//! Invariants: nothing is protected that no rule on `.git/config` or `.git/hooks` asks for; nothing of the repository is
//! believed but where it says that more of it lies, and only what of that is in the workspace is protected; what cannot be
//! looked through is protected as a whole, and where there is more than can be looked at nothing is run. Where git's
//! settings are protected, whatever its own work does not write is, in every directory of a repository. A repository that
//! is not there yet is the command's own: git may make one anywhere, add worktrees and clone submodules.

mod insides;
mod programs;

pub(crate) use insides::{Insides, ORDERS};

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use belay_jail::{Access, Followed, Grant, Policy, follow};

use super::unheld::Unheld;
use crate::error::{Error, Result};
use crate::git::{SETTINGS_BYTES_MAX, settings};
use crate::record::PathText;

/// A file that holds a path is no longer than this.
const LINE_BYTES_MAX: u64 = 1 << 12;
/// Submodules, and directories on the way to them; with more all of them can only be read.
const MODULES_MAX: usize = 1_000;
const DEPTH_MAX: usize = 8;
/// Repositories and files of settings that are looked at, each of which may lead to others.
const SETTINGS_MAX: usize = 10_000;
/// Paths that are protected, and those that are looked at while the run goes on.
const GRANTS_MAX: usize = 10_000;
const UNHELD_MAX: usize = 4_000;
/// Entries of a directory of hooks that are looked at; git knows some thirty.
const HOOKS_MAX: usize = 256;

/// What else is protected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// What is there.
    pub(crate) grants: Vec<Grant>,
    /// What no mount can hold.
    pub(crate) unheld: Vec<Unheld>,
}

/// Where git's settings lie that are no repository's: a person's and the machine's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own<'a> {
    /// What `~` stands for.
    pub(crate) home: &'a Path,
    /// The files.
    pub(crate) files: &'a [PathBuf],
}

impl Ways {
    /// Those of the repositories in a workspace.
    pub(crate) fn of(policy: &Policy, workspace: &Path, own: Own<'_>) -> Result<Ways> {
        let git = workspace.join(".git");
        let is_kept = |name: &str| {
            let decides = policy.decides(&git.join(name));
            decides.is_some_and(|grant| matches!(grant.access, Access::Read | Access::Hidden))
        };
        let (hooks, config) = (is_kept("hooks"), is_kept("config"));
        if !hooks && !config {
            return Ok(Ways::default());
        }
        let mut search = Search {
            workspace,
            home: own.home,
            hooks,
            config,
            ways: Ways::default(),
            protected: HashSet::new(),
            seen: HashSet::new(),
            worktrees: Vec::new(),
            is_full: false,
        };
        search.worktree(workspace);
        if config {
            own.files.iter().for_each(|file| search.keep(file));
            // A relative name in there means another file in each of them.
            for worktree in search.worktrees.clone() {
                own.files.iter().for_each(|file| search.settings(file, &worktree));
            }
        }
        if search.is_full {
            let why =
                "there are more repositories, worktrees and settings of git in the workspace than can be protected";
            return Err(Error::Confinement { why: why.to_owned() });
        }
        let mut ways = search.ways;
        // What the policy says of a path itself counts.
        let is_named = |path: &Path| policy.grants.iter().any(|grant| grant.path == path);
        ways.grants.retain(|grant| !is_named(&grant.path));
        let is_opened = |path: &Path| {
            policy
                .grants
                .iter()
                .any(|grant| grant.path == path && matches!(grant.access, Access::Write | Access::Private))
        };
        ways.unheld.retain(|unheld| !is_opened(&workspace.join(OsStr::from_bytes(unheld.path.bytes()))));
        Ok(ways)
    }
}

/// What is found, and what was looked at.
struct Search<'a> {
    workspace: &'a Path,
    home: &'a Path,
    hooks: bool,
    config: bool,
    ways: Ways,
    protected: HashSet<PathBuf>,
    /// What was looked at, for which directory of files.
    seen: HashSet<(PathBuf, PathBuf)>,
    /// The directories of files that were found.
    worktrees: Vec<PathBuf>,
    /// Whether there was more than can be looked at.
    is_full: bool,
}

impl Search<'_> {
    /// Whether this is to be looked at, because nobody did.
    fn is_new(&mut self, path: &Path, worktree: &Path) -> bool {
        self.is_full |= self.seen.len() > SETTINGS_MAX;
        !self.is_full && self.seen.insert((path.to_owned(), worktree.to_owned()))
    }

    /// The repository that a directory of files belongs to.
    fn worktree(&mut self, worktree: &Path) {
        let git = worktree.join(".git");
        if !worktree.starts_with(self.workspace) || !self.is_new(worktree, Path::new("/")) {
            return;
        }
        self.worktrees.push(worktree.to_owned());
        let Some(Followed { path: place, found, links }) = followed(&git) else { return };
        // What leads to another directory could be made to lead to any.
        self.keep_links(&links);
        match found {
            Some(found) if found.is_dir() => self.repository(&place, worktree),
            Some(_) => {
                self.keep(&place);
                if let Some(led) = self.led_by(&place, b"gitdir:") {
                    self.repository(&led, worktree);
                }
            }
            None if is_bare(worktree) => {
                // One that is made would be found first.
                self.keep(&git);
                self.repository(worktree, worktree);
            }
            // Whoever calls git here means the one around it.
            None if self.config && worktree == self.workspace && lies_in_another(worktree) => {
                self.note(Unheld::repository(PathText::from(&b".git"[..]), Insides::of_none()));
            }
            None => {}
        }
        // Older submodules have their repositories in their own directories.
        let modules = text_of(&worktree.join(".gitmodules"), SETTINGS_BYTES_MAX).filter(|_| self.config);
        for (_, key, value) in modules.and_then(|text| settings(&text).ok()).unwrap_or_default() {
            let path = worktree.join(OsStr::from_bytes(&value));
            if key == "path" && is_plain(&path) {
                self.worktree(&path);
            }
        }
    }

    /// The directory of a repository, if it is in the workspace, and those that belong to it.
    fn repository(&mut self, place: &Path, worktree: &Path) {
        let is_inside = place.starts_with(self.workspace) && (place != self.workspace || is_bare(place));
        if !is_inside || !place.is_dir() || !self.is_new(place, worktree) {
            return;
        }
        if self.config {
            self.settings(&place.join("config"), worktree);
            self.settings(&place.join("config.worktree"), worktree);
        }
        if let Some(common) = self.led_by(&place.join("commondir"), b"") {
            self.repository(&common, worktree);
        }
        if self.is_new(place, Path::new("")) {
            self.insides(place, worktree);
        }
    }

    /// What is in the directory of a repository, and what git goes into from the files that were found with it first.
    fn insides(&mut self, place: &Path, worktree: &Path) {
        if self.hooks {
            self.keep(&place.join("hooks"));
            self.keep_linked(&place.join("hooks"));
        }
        if self.config {
            for name in ["config", "config.worktree", "commondir"] {
                self.keep(&place.join(name));
            }
            // Where files lie beside it, nobody could tell which names are git's.
            if place != self.workspace {
                self.keep_names(place, worktree);
            }
        }
        match modules_in(&place.join("modules")) {
            Some(found) => found.iter().for_each(|module| self.module(module)),
            None => self.protect(place.join("modules")),
        }
        let worktrees = fs::read_dir(place.join("worktrees")).ok().filter(|_| self.config);
        for other in worktrees.into_iter().flatten().flatten().map(|entry| entry.path()) {
            if self.is_full {
                return;
            }
            self.keep(&other.join("gitdir"));
            let git = self.led_by(&other.join("gitdir"), b"");
            let worktree = git.as_deref().and_then(Path::parent);
            self.repository(&other, worktree.unwrap_or(self.workspace));
            if let Some(worktree) = worktree {
                self.worktree(worktree);
            }
        }
    }

    /// Has everything in it stay as it is that git's own work does not write.
    fn keep_names(&mut self, place: &Path, worktree: &Path) {
        let Some(inside) = self.inside(place) else { return };
        let entered = insides::entered_by(place);
        let entered: Vec<PathBuf> =
            entered.into_iter().filter(|path| worktree.join(path).join(".git").exists()).collect();
        entered.iter().for_each(|path| self.worktree(&worktree.join(path)));
        let files =
            worktree.strip_prefix(self.workspace).ok().map(|files| PathText::from(files.as_os_str().as_bytes()));
        let Some(insides) = Insides::of(place, (worktree, files), &entered) else { return self.is_full = true };
        insides.names().for_each(|name| self.keep(&place.join(OsStr::from_bytes(name))));
        self.note(Unheld::repository(inside, insides));
    }

    /// The repository of a submodule, and the file in its own files that leads there.
    fn module(&mut self, module: &Path) {
        let text = text_of(&module.join("config"), SETTINGS_BYTES_MAX).unwrap_or_default();
        let all = settings(&text).unwrap_or_default();
        let named = all.iter().rev().find(|(section, key, _)| section == "core" && key == "worktree");
        let worktree = named.and_then(|(.., value)| followed(&module.join(OsStr::from_bytes(value))));
        if let Some(followed) = &worktree {
            self.keep_links(&followed.links);
        }
        let worktree = worktree.map(|followed| followed.path);
        self.repository(module, worktree.as_deref().unwrap_or(self.workspace));
        if let Some(worktree) = worktree.filter(|_| self.config) {
            self.worktree(&worktree);
        }
    }

    /// The path that a file names, without links; those on the way stay as they are.
    fn led_by(&mut self, file: &Path, prefix: &[u8]) -> Option<PathBuf> {
        let text = text_of(file, LINE_BYTES_MAX)?;
        let named = text.strip_prefix(prefix)?.trim_ascii();
        let Followed { path, links, .. } = followed(&file.parent()?.join(OsStr::from_bytes(named)))?;
        self.keep_links(&links);
        Some(path)
    }

    /// What a file of settings leads to: others that it includes, and programs.
    fn settings(&mut self, file: &Path, worktree: &Path) {
        let Some(Followed { path: file, .. }) = followed(file) else { return };
        if !self.is_new(&file, worktree) {
            return;
        }
        let text = text_of(&file, SETTINGS_BYTES_MAX).unwrap_or_default();
        for (section, key, value) in settings(&text).unwrap_or_default() {
            if key == "path" && (section == "include" || section.starts_with("includeif")) {
                let Some(included) = self.named(&value, file.parent().unwrap_or(Path::new("/"))) else { continue };
                self.keep(&included);
                self.settings(&included, worktree);
            } else if (section == "core" && key == "hookspath") || (section == "init" && key == "templatedir") {
                // One that is the workspace itself would close all of it.
                let Some(hooks) = self.named(&value, worktree).and_then(|hooks| followed(&hooks)) else { continue };
                if !self.workspace.starts_with(&hooks.path) {
                    self.keep_followed(&hooks);
                    self.keep_linked(&hooks.path);
                    self.keep_linked(&hooks.path.join("hooks"));
                }
            } else {
                for word in programs::named_by(&section, &key, &value) {
                    let Some(program) = self.named(&word.path, worktree).and_then(|path| followed(&path)) else {
                        continue;
                    };
                    let is_program = |found: &fs::Metadata| found.is_file() && word.counts_with(found);
                    if program.found.as_ref().map_or(word.may_be_made, is_program) {
                        self.keep_followed(&program);
                    }
                }
            }
        }
    }

    /// A path as settings name it.
    fn named(&self, value: &[u8], around: &Path) -> Option<PathBuf> {
        if value.is_empty() || value.contains(&0) {
            return None;
        }
        let end = value.iter().position(|byte| *byte == b'/').unwrap_or(value.len());
        let home = match value[..end].strip_prefix(b"~") {
            None => return Some(around.join(OsStr::from_bytes(value))),
            Some(b"") => self.home.to_owned(),
            Some(user) => home_of(user)?,
        };
        Some(home.join(OsStr::from_bytes(without_slashes(&value[end..]))))
    }

    /// Has the files stay as they are that links in a directory of hooks lead to.
    fn keep_linked(&mut self, hooks: &Path) {
        for entry in fs::read_dir(hooks).into_iter().flatten().flatten().take(HOOKS_MAX) {
            if entry.file_type().is_ok_and(|found| found.is_symlink()) {
                self.keep(&entry.path());
            }
        }
    }

    /// Has a path stay as it is.
    fn keep(&mut self, path: &Path) {
        if let Some(followed) = followed(path) {
            self.keep_followed(&followed);
        }
    }

    fn keep_followed(&mut self, followed: &Followed) {
        self.keep_links(&followed.links);
        match self.inside(&followed.path) {
            Some(_) if followed.found.is_some() => self.protect(followed.path.clone()),
            Some(inside) => self.note(Unheld::absent(inside)),
            None => {}
        }
    }

    fn keep_links(&mut self, links: &[(PathBuf, PathBuf)]) {
        for (link, text) in links {
            if let Some(path) = self.inside(link) {
                self.note(Unheld::link(path, PathText::from(text.as_os_str().as_bytes())));
            }
        }
    }

    fn note(&mut self, unheld: Unheld) {
        if self.ways.unheld.contains(&unheld) {
            return;
        }
        self.is_full |= self.ways.unheld.len() >= UNHELD_MAX;
        self.ways.unheld.push(unheld);
    }

    fn protect(&mut self, path: PathBuf) {
        if self.protected.insert(path.clone()) {
            self.is_full |= self.protected.len() > GRANTS_MAX;
            self.ways.grants.push(Grant::new(path, Access::Read));
        }
    }

    /// A path beneath the workspace, without what leads there.
    fn inside(&self, path: &Path) -> Option<PathText> {
        let inside = path.strip_prefix(self.workspace).ok().filter(|inside| is_plain(inside))?;
        Some(inside.as_os_str().as_bytes()).filter(|inside| !inside.is_empty()).map(PathText::from)
    }
}

/// Where somebody's home is.
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let users = fs::read("/etc/passwd").ok()?;
    let mut fields = users.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    let home = fields.find_map(|mut fields| (fields.next()? == user).then(|| fields.nth(4)).flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(home)))
}

fn without_slashes(path: &[u8]) -> &[u8] {
    let begin = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    &path[begin..]
}

/// Where a path leads; none if nobody can tell.
fn followed(path: &Path) -> Option<Followed> {
    follow(path).ok()
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|component| !matches!(component, Component::ParentDir))
}

/// What a file holds, if it is one and not larger than this.
fn text_of(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = fs::File::options().read(true).custom_flags(NONBLOCK).open(path).ok()?;
    let mut text = Vec::new();
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(bytes_max).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Whether a directory is what is elsewhere in a `.git`.
fn is_bare(directory: &Path) -> bool {
    let is_dir = |name: &str| directory.join(name).is_dir();
    directory.join("HEAD").symlink_metadata().is_ok() && is_dir("objects") && is_dir("refs")
}

/// Whether a directory lies in the files of a repository.
fn lies_in_another(directory: &Path) -> bool {
    directory.ancestors().skip(1).any(|above| above.join(".git").symlink_metadata().is_ok())
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
            match path.join("HEAD").symlink_metadata().is_ok_and(|found| found.is_file()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Ground, Profiles};

    fn ways(workspace: &Path, profile: &str) -> Ways {
        let profile = Profiles::default().get(profile).unwrap();
        let ground = Ground { workspace, home: Path::new("/home/ada"), belay: Path::new("/home/ada/belay") };
        let identity = belay_jail::Identity::Own { uid: 1, gid: 1 };
        let own = Own { home: &workspace.join("no home"), files: &[] };
        Ways::of(&profile.policy(&ground, identity), workspace, own).unwrap()
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
        let unmade: Vec<&[u8]> = strict.unheld.iter().map(|unheld| unheld.path.bytes()).collect();
        for path in
            [".git/commondir", ".git/config.worktree", ".git/worktrees/w/config.worktree", ".git/modules/a/b/commondir"]
        {
            assert!(unmade.contains(&path.as_bytes()), "{path}");
        }
        // Where its settings can be written anyway, its hooks alone are meant.
        let usual = ways(&at, "default");
        let grants = usual.grants.into_iter().map(|grant| grant.path);
        assert_eq!(names(&at, grants), [".git/modules/a/b/hooks", ".git/modules/a/b/modules/c/hooks"]);
        assert_eq!(usual.unheld, []);
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

    #[test]
    fn whatever_settings_name_in_the_workspace_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        for path in [".git/hooks", "conf", "tools", ".husky", "sub", "old/.git/hooks", ".git/modules/sub/hooks"] {
            fs::create_dir_all(at.join(path)).unwrap();
        }
        let config = "[core]\n\thooksPath = .husky\n\tfsmonitor = tools/watch\n\tsshCommand = ./tools/absent -v\n\
                      [include]\n\tpath = ../conf/one\n[includeIf \"gitdir:/x\"]\n\tpath = ../none/here\n\
                      [include]\n\tpath = ../linked\n[alias]\n\tx = \"!sh tools/run.sh\"\n\ty = log tools/data\n\
                      [remote \"o\"]\n\turl = ./tools/data\n[gitflow \"prefix\"]\n\tfeature = feature/\n";
        for (path, text) in [
            (".git/config", config),
            ("conf/one", "[include]\n\tpath = two\n"),
            ("conf/two", ""),
            ("real", ""),
            ("tools/watch", ""),
            ("tools/run.sh", ""),
            ("tools/data", ""),
            (".gitmodules", "[submodule \"old\"]\n\tpath = old\n"),
            ("old/.git/config", ""),
            ("sub/.git", "gitdir: ../.git/modules/sub\n"),
            (".git/modules/sub/HEAD", "x"),
            (".git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n"),
        ] {
            fs::write(at.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink("real", at.join("linked")).unwrap();
        let strict = ways(&at, "strict");
        let grants = names(&at, strict.grants.into_iter().map(|grant| grant.path));
        let expected = [
            ".git/modules/sub/config",
            ".git/modules/sub/hooks",
            ".husky",
            "conf/one",
            "conf/two",
            "old/.git/config",
            "old/.git/hooks",
            "real",
            "sub/.git",
            "tools/run.sh",
            "tools/watch",
        ];
        assert_eq!(grants, expected);
        let unheld = |path: &str| strict.unheld.iter().find(|unheld| unheld.path.bytes() == path.as_bytes());
        assert!(["tools/absent", "none/here"].iter().all(|path| unheld(path).is_some_and(|one| one.link.is_none())));
        assert_eq!(unheld("linked").unwrap().link, Some(PathText::from(&b"real"[..])));
        assert!(unheld("feature").is_none() && unheld("feature/").is_none());
        // A home whose settings are a link into the workspace.
        let profile = Profiles::default().get("strict").unwrap();
        let home = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(at.join("tools/data"), home.path().join(".gitconfig")).unwrap();
        let ground = Ground { workspace: &at, home: home.path(), belay: Path::new("/home/ada/belay") };
        let policy = profile.policy(&ground, belay_jail::Identity::Own { uid: 1, gid: 1 });
        let own = Own { home: home.path(), files: &[home.path().join(".gitconfig")] };
        let grants = Ways::of(&policy, &at, own).unwrap().grants;
        assert!(grants.iter().any(|grant| grant.path == at.join("tools/data")), "{grants:?}");
    }
}
