//! What keeps belay's home from being opened at all, and how a repair puts it right.

use std::fs;
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
    Packs {
        /// Where that is now which was in its place.
        aside: Option<PathBuf>,
    },
}

impl Home {
    /// Opens the directory for a repair, which puts right first what would keep it from being opened.
    pub fn open_mended(path: &Path, options: HomeOptions) -> Result<(Home, Vec<Mended>)> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(path).map_err(Error::path("open", path))?);
        let mut mended = Vec::new();
        if check_packs(disk.as_ref(), path).is_err() {
            mended.push(Mended::Packs { aside: make_packs(disk.as_ref(), &path.join(PACKS))? });
        }
        let format = mend_format(&disk)?;
        mended.extend(format.map(|(format, algorithm)| Mended::Format { format, algorithm }));
        Ok((Home::on(disk, path, options)?, mended))
    }
}

/// Refuses a home that had content and has no directory for it any more: what is stored anew would not be all.
pub(crate) fn check_packs(disk: &dyn Disk, home: &Path) -> Result<()> {
    if disk.has_dir(PACKS) {
        return Ok(());
    }
    let detail = match fs::symlink_metadata(home.join(PACKS)) {
        Ok(found) if found.is_symlink() => "it is a link that leads to no directory",
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

/// Makes the directory again; whatever is in its place is kept beside it.
fn make_packs(disk: &dyn Disk, packs: &Path) -> Result<Option<PathBuf>> {
    let found = fs::symlink_metadata(packs).ok();
    if found.as_ref().is_some_and(fs::Metadata::is_symlink) {
        // What it leads to may only be away for now, and another directory here would hide that.
        let nowhere = std::io::Error::new(std::io::ErrorKind::NotFound, "it is a link that leads to no directory");
        return Err(Error::disk("open", PACKS)(nowhere));
    }
    let mut asides = (0u32..).map(|number| packs.with_extension(format!("aside-{number}")));
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let aside = found.map(|_| asides.find(is_free).expect("there are more numbers than files"));
    if let Some(aside) = &aside {
        fs::rename(packs, aside).map_err(Error::disk("set aside", PACKS))?;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(packs).map_err(Error::disk("make", PACKS))?;
    disk.sync_dir("store").map_err(Error::disk("sync", "store"))?;
    Ok(aside)
}
