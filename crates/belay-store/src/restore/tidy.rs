//! Removes what a restore that was interrupted left behind under its temporary names.

use std::io;
use std::sync::atomic::Ordering;

use belay_sys::{Dir, FileType, Root, Stat};

use super::hands::Hands;
use super::metadata::Thing;
use super::{ApplyOptions, Plan, Site, check_prefix, join, split};
use crate::error::{Error, Result};

/// Removes the temporary files that an interrupted restore left behind, in the directories its plan names, and gives
/// those directories back the modes that it loosened; returns how many names were removed.
pub fn tidy_up(root: &Root, plan: &Plan, options: &ApplyOptions<'_>) -> Result<u64> {
    check_prefix(options.prefix)?;
    let hands = Hands::watched(options);
    let mut removed = 0;
    for site in &plan.sites {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        // A directory that is gone, or that cannot be entered any more, holds nothing of ours that could be reached.
        if let Ok(dir) = root.dir(&site.path) {
            removed += match tidy_site(root, &hands, &dir, site, options.prefix) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(Error::Interrupted),
                tidied => tidied.map_err(Error::workspace("tidy up", &site.path))?,
            };
        }
    }
    Ok(removed)
}

fn tidy_site(root: &Root, hands: &Hands<'_>, dir: &Dir, site: &Site, prefix: &[u8]) -> io::Result<u64> {
    let mut names = Vec::new();
    dir.list(&mut Vec::new(), &mut |name, _, _| {
        if name.starts_with(prefix) {
            names.push(name.to_vec());
        }
    })?;
    if !names.is_empty() {
        open_up(hands, dir, &dir.stat_self()?)?;
    }
    for name in &names {
        remove_tree(root, hands, &join(&site.path, name))?;
    }
    close_again(hands, dir, site)?;
    Ok(names.len() as u64)
}

/// Gives a directory back what a restore took from it for the time of its work.
fn close_again(hands: &Hands<'_>, dir: &Dir, site: &Site) -> io::Result<()> {
    let stat = dir.stat_self()?;
    let mode = u32::from(site.before.mode);
    if belay_sys::is_root() {
        let (immutable, append_only) = (site.before.immutable, site.before.append_only);
        if (immutable && !stat.immutable) || (append_only && !stat.append_only) {
            return hands.change(|| Thing::Itself(dir).set_flags(immutable, append_only));
        }
    } else if stat.mode != mode && stat.mode == mode | 0o700 {
        return hands.change(|| dir.set_self_mode(mode));
    }
    Ok(())
}

/// Makes a directory one whose names can be listed and removed.
fn open_up(hands: &Hands<'_>, dir: &Dir, stat: &Stat) -> io::Result<()> {
    if belay_sys::is_root() {
        if stat.immutable || stat.append_only {
            hands.change(|| Thing::Itself(dir).set_flags(false, false))?;
        }
    } else if stat.mode & 0o700 != 0o700 {
        hands.change(|| dir.set_self_mode(stat.mode | 0o700))?;
    }
    Ok(())
}

/// Removes what is at the path and all beneath it; nothing there is no error. Never follows a symlink.
pub(super) fn remove_tree(root: &Root, hands: &Hands<'_>, path: &[u8]) -> io::Result<()> {
    let (place, name) = split(path);
    let above = root.dir_path_only(place)?;
    let stat = match above.stat(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    };
    if stat.file_type != FileType::Dir {
        return remove_leaf(hands, &above, name, &stat);
    }
    // By path and not by recursion: a staged tree may be deeper than the stack and the table of open files allow.
    let mut dirs = vec![path.to_vec()];
    let mut at = 0;
    while at < dirs.len() {
        let inner = empty_dir(root, hands, &dirs[at])?;
        dirs.extend(inner);
        at += 1;
    }
    for path in dirs.iter().rev() {
        let (place, name) = split(path);
        let above = root.dir_path_only(place)?;
        hands.change(|| above.remove_dir(name))?;
    }
    Ok(())
}

/// Removes everything in a directory but other directories, whose paths it returns.
fn empty_dir(root: &Root, hands: &Hands<'_>, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let handle = root.dir_path_only(path)?;
    open_up(hands, &handle, &handle.stat_self()?)?;
    let dir = root.dir(path)?;
    let mut names = Vec::new();
    dir.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec()))?;
    let mut dirs = Vec::new();
    for name in names {
        let stat = dir.stat(&name)?;
        if stat.file_type == FileType::Dir {
            dirs.push(join(path, &name));
        } else {
            remove_leaf(hands, &dir, &name, &stat)?;
        }
    }
    Ok(dirs)
}

fn remove_leaf(hands: &Hands<'_>, dir: &Dir, name: &[u8], stat: &Stat) -> io::Result<()> {
    if (stat.immutable || stat.append_only) && stat.file_type == FileType::File && belay_sys::is_root() {
        hands.change(|| Thing::Name { dir, name }.set_flags(false, false))?;
    }
    hands.change(|| dir.remove_file(name))
}
