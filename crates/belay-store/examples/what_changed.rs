//! Says what differs between two states of a directory, at a cost that follows the difference.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, CaptureOptions, Captured, Filter, Hash, Limits, Quiet, RealDisk, Root, Scope, Sides, Source, Store,
    Time, View, capture, diff,
};

fn snapshot(store: &Store, dir: &Path, before: Option<Hash>) -> Result<Captured, Box<dyn std::error::Error>> {
    let options = CaptureOptions {
        root: &Root::open(dir)?,
        filter: &Filter::everything(),
        cache: "cache",
        // The stat cache may be trusted as long as the snapshot that it describes is kept.
        is_live: &|key| Some(*key) == before,
        keep: None,
        source: Source::Walk,
        limits: Limits::default(),
        cross_mounts: false,
        own_prefixes: &[],
        clock: &|| Time { sec: 0, nsec: 0 },
        progress: &Quiet,
        stop: &AtomicBool::new(false),
    };
    let captured = capture(store, &options)?;
    captured.save_cache()?;
    Ok(captured)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let (project, home) = (place.path().join("project"), place.path().join("home"));
    fs::create_dir(&project)?;
    fs::write(project.join("a"), "1")?;
    fs::write(project.join("b"), "1")?;

    let store = Store::open(Arc::new(RealDisk::open(&home)?), Algorithm::Blake3)?;
    let first = snapshot(&store, &project, None)?;
    fs::write(project.join("a"), "2")?;
    fs::rename(project.join("b"), project.join("c"))?;
    let second = snapshot(&store, &project, Some(first.key))?;

    let view = View::stored(&store);
    let sides =
        Sides { before: view, before_root: &first.manifest.root, after: view, after_root: &second.manifest.root };
    let mut lines = Vec::new();
    diff(&sides, &Scope::default(), &mut |change| {
        let what = change.what();
        let word = if what.added {
            "added"
        } else if what.removed {
            "removed"
        } else {
            "changed"
        };
        lines.push(format!("{word} {}", String::from_utf8_lossy(&change.path)));
        Ok(())
    })?;
    assert_eq!(lines, ["changed a", "removed b", "added c"]);
    writeln!(std::io::stdout(), "{}", lines.join("\n"))?;
    Ok(())
}
