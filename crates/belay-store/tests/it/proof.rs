//! Captures on any disk, and reads a snapshot in full to hold it against what was captured.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, CaptureOptions, Captured, Disk, Filter, Hash, Kind, Limits, Manifest, Quiet, Result, Root, Source,
    Store, View, capture,
};

/// Every path of a snapshot with what is stored of it; files with their bytes.
pub(crate) type Held = BTreeMap<Vec<u8>, (String, Vec<u8>)>;

pub(crate) fn open(disk: &(impl Disk + Clone + 'static)) -> Result<Store> {
    Store::open(Arc::new(disk.clone()), Algorithm::Blake3)
}

pub(crate) fn capture_everything(store: &Store, workspace: &Path, source: Source<'_>) -> Result<Captured> {
    let stop = AtomicBool::new(false);
    let (root, filter) = (Root::open(workspace).unwrap(), Filter::everything());
    let options = CaptureOptions {
        root: &root,
        filter: &filter,
        cache: "cache",
        is_live: &|key: &Hash| store.contains(key).unwrap_or(false),
        keep: None,
        source,
        limits: Limits::default(),
        cross_mounts: false,
        own_prefixes: &[],
        clock: &belay_sys::now,
        progress: &Quiet,
        stop: &stop,
    };
    capture(store, &options)
}

/// Reads everything that a snapshot needs.
pub(crate) fn read_all(store: &Store, key: &Hash) -> Result<Held> {
    let manifest = Manifest::read(store, key)?;
    let _ = (manifest.filter(store)?, manifest.coverage(store)?, manifest.links(store)?);
    let view = View::stored(store);
    let mut held = Held::new();
    let mut pending = vec![(Vec::new(), manifest.root_node())];
    while let Some((path, node)) = pending.pop() {
        for entry in &view.node(&node)?.entries {
            let path = [path.as_slice(), b"/", &entry.name].concat();
            let bytes = match &entry.kind {
                Kind::File { size, content } => view.bytes(*size, content)?,
                Kind::Dir { node, .. } => {
                    pending.push((path.clone(), *node));
                    Vec::new()
                }
                _ => Vec::new(),
            };
            held.insert(path, (format!("{:?} {:?}", entry.kind, entry.meta), bytes));
        }
    }
    Ok(held)
}

/// Names of unfinished files that a store left behind.
pub(crate) fn leftovers(disk: &dyn Disk) -> Vec<String> {
    let everywhere = ["", "store", "store/packs"].into_iter().flat_map(|dir| disk.list(dir).unwrap());
    everywhere.map(|(name, _)| name).filter(|name| name.contains("tmp")).collect()
}
