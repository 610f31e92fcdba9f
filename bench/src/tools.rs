//! The tools that are compared, as the commands that a user of each would type.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::census::{self, Usage};
use crate::error::{Doing, Error, Result};
use crate::measure::{self, Sample};
use crate::place::Fs;

/// A tool that captures a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    Belay,
    /// belay without `--all`: regenerable directories stay out.
    BelayDefault,
    Git,
    Restic,
    Borg,
    TarGz,
    TarZstd,
    Cp,
    Rsync,
    Reflink,
    Btrfs,
}

impl Tool {
    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Belay => "belay",
            Tool::BelayDefault => "belay (default filter)",
            Tool::Git => "git add -A + write-tree",
            Tool::Restic => "restic",
            Tool::Borg => "borg",
            Tool::TarGz => "tar.gz",
            Tool::TarZstd => "tar --zstd",
            Tool::Cp => "cp -a",
            Tool::Rsync => "rsync --link-dest",
            Tool::Reflink => "cp -a --reflink",
            Tool::Btrfs => "btrfs snapshot",
        }
    }

    /// Whether the filesystem lets the tool do its work.
    pub(crate) fn fits(self, fs: Fs) -> bool {
        match self {
            Tool::Reflink => fs.reflinks(),
            Tool::Btrfs => fs == Fs::Btrfs,
            _ => true,
        }
    }

    /// Whether it is belay in one of its forms.
    pub(crate) fn is_belay(self) -> bool {
        matches!(self, Tool::Belay | Tool::BelayDefault)
    }

    /// Whether a second capture starts from the first.
    pub(crate) fn is_incremental(self) -> bool {
        !matches!(self, Tool::TarGz | Tool::TarZstd | Tool::Cp | Tool::Reflink)
    }
}

/// One tool at work on one directory, with a repository of its own.
pub(crate) struct Lane {
    pub(crate) tool: Tool,
    pub(crate) work: PathBuf,
    home: PathBuf,
    belay: PathBuf,
    captures: u32,
}

impl Lane {
    /// A lane that keeps its repository in `home`.
    pub(crate) fn new(tool: Tool, work: &Path, home: PathBuf, belay: &Path) -> Self {
        Lane { tool, work: work.to_path_buf(), home, belay: belay.to_path_buf(), captures: 0 }
    }

    fn repo(&self) -> PathBuf {
        self.home.join("repo")
    }

    /// Throws the repository away and makes an empty one.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.discard()?;
        fs::create_dir_all(&self.home).doing("create", &self.home)?;
        self.captures = 0;
        let init = match self.tool {
            Tool::Git => self.bare_git(["init", "-q", "--bare"]),
            Tool::Restic => self.restic(["init", "-q"]),
            Tool::Borg => self.borg(["init", "-e", "none"]),
            _ => {
                let repo = self.repo();
                return fs::create_dir(&repo).doing("create", &repo);
            }
        };
        measure::run(vec![init]).map(drop)
    }

    /// Throws the repository away.
    pub(crate) fn discard(&self) -> Result<()> {
        if self.tool == Tool::Btrfs && self.repo().exists() {
            for snapshot in fs::read_dir(self.repo()).doing("list", &self.repo())? {
                let mut delete = Command::new("btrfs");
                delete.args(["-q", "subvolume", "delete"]).arg(snapshot.doing("list", &self.repo())?.path());
                measure::run(vec![delete])?;
            }
        }
        match fs::remove_dir_all(&self.home) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).doing("remove", &self.home),
            _ => Ok(()),
        }
    }

    /// Whether the repository holds a capture.
    pub(crate) fn has_captured(&self) -> bool {
        self.captures > 0
    }

    /// What the repository costs on disk; unknown where blocks are shared with the workspace.
    pub(crate) fn usage(&self) -> Result<Option<Usage>> {
        match self.tool {
            Tool::Reflink | Tool::Btrfs => Ok(None),
            _ => census::usage(&self.repo()).map(Some),
        }
    }

    /// Captures the work directory and returns what it cost.
    pub(crate) fn capture(&mut self) -> Result<Sample> {
        let at = self.captures.to_string();
        let to = self.repo().join(&at);
        let steps = match self.tool {
            Tool::Belay => vec![self.belay(["snapshot", "--all"])],
            Tool::BelayDefault => vec![self.belay(["snapshot"])],
            Tool::Git => vec![self.git(["add", "-A", "-f"]), self.git(["write-tree"])],
            Tool::Restic => vec![self.restic(["backup", "--json", "--quiet", "."])],
            Tool::Borg => vec![self.borg(["create", &format!("::{at}"), "."])],
            Tool::TarGz => vec![self.tar("-czf", &to)],
            Tool::TarZstd => vec![self.tar("--zstd", &to)],
            Tool::Cp => vec![self.copy("--reflink=never", &to)],
            Tool::Reflink => vec![self.copy("--reflink=always", &to)],
            Tool::Rsync => vec![self.rsync(&to)],
            Tool::Btrfs => vec![self.subvolume_snapshot(&to)],
        };
        self.captures += 1;
        measure::run(steps)
    }

    /// Captures and returns the name by which the tool knows the result.
    pub(crate) fn capture_named(&mut self) -> Result<String> {
        let sample = self.capture()?;
        let found = match self.tool {
            Tool::Restic => {
                sample.stdout.split('"').skip_while(|word| *word != "snapshot_id").nth(2).map(str::to_owned)
            }
            _ => sample.stdout.split_whitespace().next().map(str::to_owned),
        };
        found.ok_or_else(|| Error::Output { program: self.tool.name().to_owned(), text: sample.stdout })
    }

    /// belay on this lane's workspace and store.
    pub(crate) fn belay<const N: usize>(&self, args: [&str; N]) -> Command {
        self.belay_words(&args)
    }

    /// The same with a list of arguments.
    pub(crate) fn belay_words(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.belay);
        command.arg("-C").arg(&self.work).args(args).env("BELAY_HOME", self.repo());
        // L is larger than what one snapshot may add by default.
        command.env("BELAY_SNAPSHOTS__MAX_BYTES", "64GiB");
        command
    }

    /// git with everything of the work directory in this lane's repository.
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = self.bare_git(["-c", "core.bare=false", "-c", "gc.auto=0"]);
        command.arg("--work-tree").arg(&self.work).args(args).current_dir(&self.work);
        command
    }

    fn bare_git<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = Command::new("git");
        isolate_git(&mut command);
        command.arg("--git-dir").arg(self.repo()).args(args);
        command
    }

    /// restic on this lane's repository, started in the work directory.
    pub(crate) fn restic<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = Command::new("restic");
        command
            .args(args)
            .current_dir(&self.work)
            .env("RESTIC_REPOSITORY", self.repo())
            .env("RESTIC_CACHE_DIR", self.home.join("cache"))
            .env("RESTIC_PASSWORD", "bench");
        command
    }

    /// borg on this lane's repository, started in the work directory.
    pub(crate) fn borg<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = Command::new("borg");
        command
            .args(args)
            .current_dir(&self.work)
            .env("BORG_REPO", self.repo())
            .env("BORG_BASE_DIR", self.home.join("base"))
            .env("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes");
        command
    }

    fn tar(&self, how: &str, to: &Path) -> Command {
        let mut command = Command::new("tar");
        match how {
            "--zstd" => command.args([how, "-cf"]),
            _ => command.arg(how),
        };
        command.arg(to).arg("-C").arg(&self.work).arg(".");
        command
    }

    fn copy(&self, reflink: &str, to: &Path) -> Command {
        let mut command = Command::new("cp");
        command.args(["-a", reflink]).arg(&self.work).arg(to);
        command
    }

    fn rsync(&self, to: &Path) -> Command {
        let mut command = Command::new("rsync");
        command.arg("-a");
        if let Some(before) = self.captures.checked_sub(1) {
            let mut link = OsStr::new("--link-dest=").to_owned();
            link.push(self.repo().join(before.to_string()));
            command.arg(link);
        }
        command.arg(self.work.join("")).arg(to.join(""));
        command
    }

    fn subvolume_snapshot(&self, to: &Path) -> Command {
        let mut command = Command::new("btrfs");
        command.args(["-q", "subvolume", "snapshot", "-r"]).arg(&self.work).arg(to);
        command
    }
}

/// Whether git may write its refreshed index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    Optional,
    None,
}

/// `git status` in the workspace's own repository, which need not look into ignored directories.
pub(crate) fn own_git_status(work: &Path, locks: Locks) -> Command {
    let mut command = Command::new("git");
    isolate_git(&mut command);
    if locks == Locks::None {
        command.arg("--no-optional-locks");
    }
    command.args(["status", "--porcelain"]).current_dir(work);
    command
}

fn isolate_git(command: &mut Command) {
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
}
