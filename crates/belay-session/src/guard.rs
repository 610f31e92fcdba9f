//! What a run keeps its command from, for whoever carries out what that command asks for.
//!
//! Invariants: what can only be read inside is not changed on request from inside, nor made, nor given another name; of what is
//! hidden inside nothing is told; the longest path decides, as in the jail; a run whose guard is not known has none that
//! could be relied on, so that nothing is carried out for it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_jail::Access;
use belay_store::{Disk, Spared};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::home::Home;
use crate::record::PathText;
use crate::run::{Reach, Unheld};

/// Paths of the workspace that a run reaches otherwise than all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    paths: Vec<(PathText, Reach)>,
    /// What must stay as it was before the run, and no mount sees to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unheld: Vec<Unheld>,
}

impl Guard {
    /// That of a jail with these grants, later ones before earlier ones for the same path.
    pub(crate) fn of<'p>(workspace: &Path, grants: impl Iterator<Item = (&'p Path, Access)>) -> Guard {
        let mut guard = Guard::default();
        grants.for_each(|(path, access)| guard.add(workspace, path, access));
        guard
    }

    fn add(&mut self, workspace: &Path, path: &Path, access: Access) {
        let Ok(path) = path.strip_prefix(workspace) else { return };
        let path = PathText::from(path.as_os_str().as_bytes());
        let reach = match access {
            Access::Write => Reach::Write,
            Access::Read | Access::Private => Reach::Read,
            // What is there outside is not what is seen inside.
            Access::Hidden | Access::Empty => Reach::Hide,
        };
        self.paths.retain(|(other, _)| *other != path);
        self.paths.push((path, reach));
    }

    /// The same with files that are guarded beyond what the grants say.
    pub(crate) fn and(mut self, workspace: &Path, files: &[(PathBuf, Access)]) -> Guard {
        // There may be many, and none of them is named by a grant.
        let relative = |(path, access): &(PathBuf, Access)| {
            let path = PathText::from(path.strip_prefix(workspace).ok()?.as_os_str().as_bytes());
            Some((path, if *access == Access::Hidden { Reach::Hide } else { Reach::Read }))
        };
        self.paths.extend(files.iter().filter_map(relative));
        self
    }

    /// The same with what no mount can hold.
    pub(crate) fn and_unheld(self, unheld: Vec<Unheld>) -> Guard {
        Guard { unheld, ..self }
    }

    /// What stays as it is, whatever is asked for.
    pub(crate) fn spared(&self) -> Spared {
        let paths = self.paths.iter().map(|(path, reach)| (path.bytes().to_vec(), *reach != Reach::Write));
        // Of a repository only what it must not have is put aside, whoever brought it back.
        let exact = self.unheld.iter().filter(|unheld| unheld.insides.is_none());
        Spared::new(paths.chain(exact.map(|unheld| (unheld.path.bytes().to_vec(), true))))
    }

    /// What nothing is told of.
    pub(crate) fn hidden(&self) -> Vec<Vec<u8>> {
        let hidden = self.paths.iter().filter(|(_, reach)| *reach == Reach::Hide);
        hidden.map(|(path, _)| path.bytes().to_vec()).collect()
    }

    /// Whether something is hidden.
    pub fn hides(&self) -> bool {
        self.paths.iter().any(|(_, reach)| *reach == Reach::Hide)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.unheld.is_empty()
    }

    /// Writes it down for those who answer the run, before its command can ask.
    pub(crate) fn save(&self, disk: &dyn Disk, run: &str) -> Result<()> {
        let name = file_name(run);
        let bytes = serde_json::to_vec(self).expect("a guard is plain data with text keys");
        let write = || disk.create(&name)?.write(&bytes);
        write().map_err(Error::disk("write", &name))
    }
}

impl Home {
    /// What a run keeps its command from.
    pub fn guard_of(&self, run: &str) -> Result<Guard> {
        let name = file_name(run);
        let path = self.path().join(&name);
        let bytes = std::fs::read(&path).map_err(Error::path("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::path("read", &path)(error.into()))
    }
}

fn file_name(run: &str) -> String {
    format!("runs/{run}/guard.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_spares_what_cannot_be_written_and_hides_what_cannot_be_read() {
        let at = Path::new("/w");
        let grants = [
            ("/w", Access::Write),
            ("/w/.git/hooks", Access::Read),
            ("/w/.env", Access::Hidden),
            ("/etc", Access::Read),
            ("/w/src", Access::Read),
            ("/w/src", Access::Write),
        ];
        let guard = Guard::of(at, grants.iter().map(|(path, access)| (Path::new(*path), *access)));
        let guard = guard.and(at, &[("/w/twin".into(), Access::Hidden), ("/w/out".into(), Access::Read)]);
        let spared = guard.spared();
        for (path, is_spared) in [
            ("a", false),
            (".git/hooks/x", true),
            (".git/x", false),
            (".env", true),
            ("src/a", false),
            ("twin", true),
            ("out", true),
        ] {
            assert_eq!(spared.contains(path.as_bytes()), is_spared, "{path}");
        }
        assert_eq!(guard.hidden(), [b".env".to_vec(), b"twin".to_vec()]);
        let text = serde_json::to_vec(&guard).unwrap();
        assert_eq!(serde_json::from_slice::<Guard>(&text).unwrap(), guard);
    }
}
