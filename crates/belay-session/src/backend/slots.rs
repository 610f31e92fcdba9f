//! The slots of a workspace as directories, for whoever walks them with `ls`: `workspaces/<id>/auto_snapshots/<slot>`.
//!
//! Each is a link to the copy that is in the slot now. Belay itself never follows one, so none of them can be wrong in a
//! way that matters, and one that cannot be made is missed by nobody else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::record::{Backend, Snapshot};
use crate::timeline::Timeline;
use crate::workspace::Workspace;

const NAME: &str = "auto_snapshots";

impl Workspace<'_> {
    /// Makes the slots lead to what is in them.
    pub(crate) fn show_slots(&self, timeline: &Timeline) {
        let Some(home) = self.home.disk().path() else { return };
        let dir = home.join(self.file(NAME));
        let lead = |snapshot: &Snapshot| {
            // From `workspaces/<id>/auto_snapshots` to belay's home.
            let to = Path::new("../../..").join(snapshot.native_ref.as_deref()?);
            Some((snapshot.slot?.to_string(), to))
        };
        let clones = timeline.snapshots().iter().filter(|snapshot| snapshot.backend == Backend::Clone);
        let wanted: BTreeMap<String, PathBuf> = clones.filter_map(lead).collect();
        if !wanted.is_empty() || dir.exists() {
            let _ = lead_all(&dir, wanted);
        }
    }
}

fn lead_all(dir: &Path, mut wanted: BTreeMap<String, PathBuf>) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let slot = entry.file_name().to_string_lossy().into_owned();
        match fs::read_link(entry.path()) {
            Ok(to) if wanted.get(&slot) == Some(&to) => drop(wanted.remove(&slot)),
            _ => fs::remove_file(entry.path())?,
        }
    }
    wanted.iter().try_for_each(|(slot, to)| symlink(to, dir.join(slot)))
}
