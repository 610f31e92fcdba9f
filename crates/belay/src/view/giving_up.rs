//! What to type for snapshots that cannot be healed, which keep everything else from being freed.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_session::{Pruned, shell_word};

use crate::ui::{Ui, escape};

/// So many snapshots are named in one command.
const NAMED_MAX: usize = 20;

/// For each workspace the command by which its snapshots are given up.
pub(crate) fn ways_to_give_up(snapshots: &[(PathBuf, String)]) -> Vec<String> {
    let mut all: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for (workspace, id) in snapshots {
        all.entry(workspace).or_default().push(id);
    }
    let way = |(workspace, ids): (&Path, Vec<&str>)| {
        let place = shell_word(workspace.as_os_str().as_bytes());
        let more = match ids.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" (and {more} more, which `belay verify --json` names)"),
        };
        // Without its directory a workspace can only be forgotten as a whole.
        match workspace.is_dir() {
            true => format!("`belay -C {place} snapshots delete {}`{more}", ids[..ids.len().min(NAMED_MAX)].join(" ")),
            false => format!("`belay workspaces rm {place}`"),
        }
    };
    all.into_iter().map(way).collect()
}

/// Says that nothing was freed although snapshots are gone, and where to learn what is in the way.
pub(crate) fn say_unfreed(ui: &Ui, pruned: &Pruned) {
    if let Some(why) = &pruned.unfreed {
        ui.warn(format_args!("nothing is freed yet: {}", escape::printable(why.as_bytes())));
        ui.hint("`belay gc` says what to do about it");
    }
}
