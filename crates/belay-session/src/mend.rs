//! What keeps belay's home from being opened at all, and how a repair puts it right.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_store::{Algorithm, Disk, RealDisk, mend_format};

use crate::error::{Error, Result};
use crate::home::{Home, HomeOptions};
use crate::spare;

const PACKS: &str = "store/packs";

/// Something that kept the home from being opened, and was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mended {
    /// The format file says again what the store proves.
    Format {
        /// The format.
        format: u32,
        /// The hash.
        algorithm: Algorithm,
    },
    /// The directory of packs was made again, without what was in it.
    Packs,
    /// Something that was in the place of a directory or of a file was given another name.
    Aside {
        /// What it was called, beneath the home.
        name: String,
        /// Where it is now.
        to: PathBuf,
    },
}

/// The directories in which files are reached; a file in the place of one keeps commands from working.
const DIRECTORIES: [&str; 8] =
    ["store", PACKS, "store/pointers", "store/copies", "workspaces", spare::DIRECTORY, "identities", "intents"];
/// Files of which there is one; a directory in the place of one does the same.
const FILES: [&str; 11] = [
    "store/format",
    "store/lock",
    "store/move.lock",
    "store/create.lock",
    "store/moved.lock",
    "workspaces/index",
    "workspaces/index.lock",
    "workspaces/granted",
    "given-up",
    "given-up.lock",
    "forgets.lock",
];
/// The same beneath each workspace's own.
const DIRECTORIES_OF_ONE: [&str; 3] = ["active", "agents", "auto_snapshots"];
const FILES_OF_ONE: [&str; 8] =
    ["timeline", "identity", "lock", "rollback.lock", "agents.lock", "cache.base", "cache.delta", "cache.lock"];

impl Home {
    /// Opens the directory for a repair, which puts right first what would keep it from being opened.
    pub fn open_mended(path: &Path, options: HomeOptions) -> Result<(Home, Vec<Mended>)> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(path).map_err(Error::path("open", path))?);
        let mut mended = Vec::new();
        for (name, is_dir) in places(path) {
            let to = set_aside(&path.join(&name), is_dir)?;
            mended.extend(to.map(|to| Mended::Aside { name, to }));
        }
        if check_packs(disk.as_ref(), path).is_err() {
            make_packs(disk.as_ref(), &path.join(PACKS))?;
            mended.push(Mended::Packs);
        }
        let format = mend_format(&disk)?;
        mended.extend(format.map(|(format, algorithm)| Mended::Format { format, algorithm }));
        Ok((Home::on(disk, path, options)?, mended))
    }
}

/// What there may be in the home, and whether it should be a directory.
fn places(home: &Path) -> Vec<(String, bool)> {
    let names_in = |dir: &str| {
        let found = fs::read_dir(home.join(dir)).into_iter().flatten().flatten();
        found.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| !name.contains('.')).collect()
    };
    let mut all: Vec<(String, bool)> = DIRECTORIES.map(|name| (name.to_owned(), true)).to_vec();
    all.extend(FILES.map(|name| (name.to_owned(), false)));
    for dir in [spare::DIRECTORY, "identities"] {
        let names: Vec<String> = names_in(dir);
        all.extend(names.iter().map(|name| (format!("{dir}/{name}"), false)));
    }
    for name in names_in("workspaces").iter().filter(|name| name.starts_with("ws_")) {
        let own = |inside: &str| format!("workspaces/{name}/{inside}");
        all.push((format!("workspaces/{name}"), true));
        all.extend(DIRECTORIES_OF_ONE.map(|inside| (own(inside), true)));
        all.extend(FILES_OF_ONE.map(|inside| (own(inside), false)));
    }
    all
}

/// Gives what is in the place of a directory, or of a file, another name beside it. A link in the place of a directory that
/// leads nowhere is refused.
fn set_aside(place: &Path, is_dir: bool) -> Result<Option<PathBuf>> {
    let Ok(found) = fs::symlink_metadata(place) else { return Ok(None) };
    if if is_dir { place.is_dir() } else { place.is_file() } {
        return Ok(None);
    }
    if is_dir && found.is_symlink() {
        return Err(Error::path("open", place)(leads_nowhere()));
    }
    // Not `with_extension`, which would call `index` and `index.lock` the same.
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let mut asides = (0u32..).map(|number| place.with_file_name(format!("{name}.aside-{number}")));
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let to = asides.find(is_free).expect("there are more numbers than files");
    fs::rename(place, &to).map_err(Error::path("set aside", place))?;
    Ok(Some(to))
}

/// What it leads to may only be away for now, and another directory in its place would hide that.
fn leads_nowhere() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        "it is a link to a directory that is not there; mount that, or remove the link",
    )
}

/// Refuses a home that had content and has no directory for it any more: what is stored anew would not be all.
pub(crate) fn check_packs(disk: &dyn Disk, home: &Path) -> Result<()> {
    if disk.has_dir(PACKS) {
        return Ok(());
    }
    let detail = match fs::symlink_metadata(home.join(PACKS)) {
        Ok(found) if found.is_symlink() => return Err(Error::disk("open", PACKS)(leads_nowhere())),
        Ok(_) => "it is not a directory",
        Err(_) if has_history(disk, home) => "the directory is missing, and snapshots need what was in it",
        // Nothing was stored yet; the first snapshot makes it.
        Err(_) => return Ok(()),
    };
    Err(belay_store::Error::Corrupt { name: PACKS.to_owned(), detail: detail.to_owned() }.into())
}

fn has_history(disk: &dyn Disk, home: &Path) -> bool {
    let mut workspaces = fs::read_dir(home.join("workspaces")).into_iter().flatten().flatten();
    workspaces.any(|entry| entry.path().join("timeline").is_file())
        || disk.list(spare::DIRECTORY).is_ok_and(|spares| !spares.is_empty())
}

fn make_packs(disk: &dyn Disk, packs: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(packs).map_err(Error::disk("make", PACKS))?;
    disk.sync_dir("store").map_err(Error::disk("sync", "store"))
}
