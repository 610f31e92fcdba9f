//! The slots of a workspace as directories, for whoever walks them with `ls`: `workspaces/<id>/auto_snapshots/<slot>`.
//!
//! Each holds a link to the copy that is in the slot now, and which snapshot that is: several may share a copy. Belay itself
//! never follows one, so none of them can be wrong in a way that matters, and one that cannot be made is missed by nobody else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::{METADATA, write_metadata};
use crate::record::{Backend, Snapshot};
use crate::timeline::Timeline;
use crate::workspace::Workspace;

const NAME: &str = "auto_snapshots";
const WORKSPACE: &str = "workspace";

impl Workspace<'_> {
    /// Makes the slots lead to what is in them.
    pub(crate) fn show_slots(&self, timeline: &Timeline) {
        let Some(home) = self.home.disk().path() else { return };
        let dir = home.join(self.file(NAME));
        let slot = |snapshot: &Snapshot| {
            // From `workspaces/<id>/auto_snapshots/<slot>` to belay's home.
            let copy = Path::new("../../../..").join(snapshot.native_ref.as_deref()?).join(WORKSPACE);
            Some((snapshot.slot?.to_string(), Slot { copy, metadata: self.metadata_of(snapshot) }))
        };
        let clones = timeline.snapshots().iter().filter(|snapshot| snapshot.backend == Backend::Clone);
        let wanted: BTreeMap<String, Slot> = clones.filter_map(slot).collect();
        if !wanted.is_empty() || dir.exists() {
            let _ = show_all(&dir, wanted);
        }
    }
}

/// What is to be seen in a slot.
struct Slot {
    copy: PathBuf,
    metadata: String,
}

impl Slot {
    fn is_at(&self, path: &Path) -> bool {
        fs::read_link(path.join(WORKSPACE)).is_ok_and(|to| to == self.copy)
            && fs::read_to_string(path.join(METADATA)).is_ok_and(|text| text == self.metadata)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(path)?;
        symlink(&self.copy, path.join(WORKSPACE))?;
        write_metadata(&path.join(METADATA), &self.metadata).map(drop)
    }
}

fn show_all(dir: &Path, mut wanted: BTreeMap<String, Slot>) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        match wanted.get(&name) {
            Some(slot) if slot.is_at(&entry.path()) => drop(wanted.remove(&name)),
            _ if entry.file_type()?.is_dir() => fs::remove_dir_all(entry.path())?,
            _ => fs::remove_file(entry.path())?,
        }
    }
    wanted.iter().try_for_each(|(name, slot)| slot.write(&dir.join(name)))
}
