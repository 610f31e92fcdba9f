//! As whom a comparison runs, and where: a fresh ext4 image with the workspaces, owned by that user.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::error::{Doing, Error, Result};
use crate::measure;
use crate::place::{Fs, Place};

/// About what a workload writes.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// As whom to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// Root, with BPF and fanotify.
    Root,
    /// A user without any capability.
    User,
}

impl Who {
    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Who::Root => "root",
            Who::User => "an ordinary user",
        }
    }
}

/// What a lane is made from.
pub(crate) struct Ground<'a> {
    /// Where the workspaces are.
    pub(crate) data: &'a Path,
    /// Where copies and images go, if not there.
    pub(crate) scratch: Option<&'a Path>,
    /// A release build of belay.
    pub(crate) belay: &'a Path,
}

/// A place with workspaces, belay's home and somebody who owns them.
pub(crate) struct Lane {
    pub(crate) who: Who,
    place: Place,
    ids: Option<(u32, u32)>,
    belay: PathBuf,
    data: PathBuf,
}

impl Lane {
    /// Makes the place, or says why it cannot be had.
    pub(crate) fn new(who: Who, ground: &Ground<'_>) -> Result<std::result::Result<Lane, String>> {
        let scratch = ground.scratch.unwrap_or(ground.data).to_owned();
        let place = match Place::new(Fs::Ext4, &scratch, WORKSPACE_BYTES)? {
            Ok(place) => place,
            Err(reason) => return Ok(Err(reason)),
        };
        let ids = match who {
            Who::Root => None,
            Who::User => Some(test_user()?),
        };
        let belay = ground.belay.canonicalize().doing("find", ground.belay)?;
        let lane = Lane { who, place, ids, belay, data: ground.data.to_owned() };
        std::fs::create_dir(lane.path("home")).doing("create", &lane.path("home"))?;
        // The user may have no way to where the build lies.
        let copy = lane.path("belay");
        std::fs::copy(&lane.belay, &copy).doing("copy to", &copy)?;
        let bench = std::env::current_exe().doing("find", Path::new("the bench program"))?;
        std::fs::copy(&bench, lane.path("bench")).doing("copy", &bench)?;
        lane.own(Path::new("."))?;
        Ok(Ok(lane))
    }

    /// A path of the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// The workspace of that name, copied here at its first use.
    pub(crate) fn workspace(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        if !path.exists() {
            let data = self.data.join(name);
            if !data.is_dir() {
                return Err(Error::NoWorkspace { path: data });
            }
            self.place.copy(&data, name)?;
            self.own(Path::new(name))?;
        }
        Ok(path)
    }

    /// Gives a path of the place to whoever this lane is.
    pub(crate) fn own(&self, name: &Path) -> Result<()> {
        let Some((uid, gid)) = self.ids else { return Ok(()) };
        let mut chown = Command::new("chown");
        chown.args(["-hR", &format!("{uid}:{gid}")]).arg(self.path("").join(name));
        measure::run(vec![chown]).map(drop)
    }

    /// A command as this user, with a home of its own.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self.ids {
            None => Command::new(program),
            Some((uid, gid)) => {
                let mut command = Command::new("setpriv");
                command.args([&format!("--reuid={uid}"), &format!("--regid={gid}"), "--clear-groups"]).arg(program);
                command
            }
        };
        let home = self.path("home");
        command.env("BELAY_HOME", home.join("belay")).env("TMPDIR", "/tmp").env("LC_ALL", "C.UTF-8");
        if self.ids.is_some() {
            command.env("HOME", &home);
        }
        command
    }

    /// belay on a workspace.
    pub(crate) fn belay(&self, workspace: &Path) -> Command {
        let mut command = self.command(self.path("belay"));
        command.arg("-C").arg(workspace);
        command
    }

    /// Waits until all is on the disk.
    pub(crate) fn settle(&self) -> Result<()> {
        self.place.settle()
    }
}

fn test_user() -> Result<(u32, u32)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/test-user");
    let said = measure::run(vec![Command::new(script)])?.stdout;
    let ids = said.trim().split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    ids.ok_or_else(|| Error::Output { program: script.to_owned(), text: said })
}
