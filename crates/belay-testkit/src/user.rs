//! Running things as an ordinary user when the tests run as root.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Whether the tests run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A user without privileges: `belaytest` when the tests run as root, otherwise whoever runs them.
#[derive(Clone, Copy, Debug)]
pub struct OrdinaryUser {
    uid: u32,
    gid: u32,
}

impl OrdinaryUser {
    /// Finds or makes the user; where that cannot be done, says so by [`crate::skip`].
    pub fn find() -> Option<OrdinaryUser> {
        if !is_root() {
            return Some(OrdinaryUser {
                uid: rustix::process::geteuid().as_raw(),
                gid: rustix::process::getegid().as_raw(),
            });
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-user");
        let user = Command::new(script)
            .output()
            .ok()
            .filter(|output| output.status.success())
            .and_then(|output| parse_ids(&output.stdout));
        if user.is_none() {
            crate::skip("no ordinary user: scripts/test-user failed");
        }
        user
    }

    /// The user's number.
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// The group's number.
    pub fn gid(self) -> u32 {
        self.gid
    }

    /// A command that runs as this user, with a home of its own at `home`.
    pub fn command(self, program: impl AsRef<OsStr>, home: &Path) -> Command {
        let mut command = if is_root() {
            // Not runuser: it forks, and a signal sent to it would not reach the program.
            let mut command = Command::new("setpriv");
            command
                .arg(format!("--reuid={}", self.uid))
                .arg(format!("--regid={}", self.gid))
                .args(["--clear-groups", "--no-new-privs"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command.env("HOME", home).env("TMPDIR", home).env("USER", "belaytest").current_dir(home);
        command
    }

    /// A temporary directory that belongs to this user alone.
    #[track_caller]
    pub fn directory(self) -> TempDir {
        let directory = tempfile::Builder::new()
            .prefix("belay-user-")
            .tempdir_in("/tmp")
            .unwrap_or_else(|error| panic!("make a directory in /tmp: {error}"));
        self.own(directory.path());
        directory
    }

    /// Gives a path to this user, not following links.
    #[track_caller]
    pub fn own(self, path: &Path) {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
            .unwrap_or_else(|error| panic!("give {} away: {error}", path.display()));
    }

    /// Copies a program to where this user can reach it, since a build directory may lie in root's home.
    #[track_caller]
    pub fn copy_of(self, program: &Path, into: &Path) -> PathBuf {
        let copy = into.join(program.file_name().expect("a program has a name"));
        // By another process: one that writes it here is open for writing in whatever another thread forks, too.
        let copied = Command::new("cp").arg("--").arg(program).arg(&copy).status();
        assert!(copied.is_ok_and(|status| status.success()), "copy {}", program.display());
        self.own(&copy);
        copy
    }
}

/// A command that runs as an ordinary user in `home`; none, said aloud, where there is no such user.
pub fn as_user(program: impl AsRef<OsStr>, home: &Path) -> Option<Command> {
    OrdinaryUser::find().map(|user| user.command(program, home))
}

fn parse_ids(line: &[u8]) -> Option<OrdinaryUser> {
    let (uid, gid) = str::from_utf8(line).ok()?.trim().split_once(':')?;
    Some(OrdinaryUser { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
}
