//! Opens what a layer holds and its owner may not read, once nobody works in it any more.
//!
//! Invariants: only the layer is touched, never what lies beneath it; the mode that something had is noted before it is
//! changed, so that a snapshot of the layer can have it.

use std::collections::HashMap;

use belay_sys::{FileType, Root, Stat};

use super::Overlay;
use crate::error::{Error, Result};

/// Paths, and the modes that they had.
pub(crate) type Modes = Vec<(Vec<u8>, u16)>;

impl Overlay {
    /// Opens everything, after `note` was told of it, and returns it with what was opened before.
    pub(crate) fn open_up(&self, before: Modes, note: &mut dyn FnMut(&Modes) -> Result<()>) -> Result<Modes> {
        let mut modes = before;
        if belay_sys::is_root() {
            return Ok(modes);
        }
        let failed = |error| Error::path("read", &self.kept.changes)(error);
        let root = Root::open(&self.kept.changes).map_err(failed)?;
        let top = root.dir_path_only(b"").and_then(|top| top.stat_self()).map_err(failed)?;
        let mut linked = HashMap::new();
        let mut shut = if is_shut(&top) { vec![(Vec::new(), top)] } else { look(&root, vec![Vec::new()], &linked) };
        // A directory that was shut may hold others.
        while !shut.is_empty() {
            linked.extend(shut.iter().filter(|(_, stat)| stat.nlink > 1).map(|(_, stat)| (key(stat), stat.mode)));
            modes.extend(shut.iter().map(|(path, stat)| (path.clone(), stat.mode as u16)));
            note(&modes)?;
            let dirs = shut.into_iter().filter_map(|(path, stat)| {
                // What cannot be opened is not captured, which is told.
                open(&root, &path, &stat).ok()?;
                (stat.file_type == FileType::Dir).then_some(path)
            });
            shut = look(&root, dirs.collect(), &linked);
        }
        Ok(modes)
    }
}

impl Overlay {
    /// Gives everything that was opened its mode back.
    pub(crate) fn close(&self, modes: &Modes) -> Result<()> {
        let root = Root::open(&self.kept.changes).map_err(Error::path("read", &self.kept.changes))?;
        // What was opened last lies deepest, and could not be reached once what is around it is shut.
        for (path, mode) in modes.iter().rev() {
            match set_mode(&root, path, u32::from(*mode)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                done => done.map_err(Error::path("shut", &self.kept.changes))?,
            }
        }
        Ok(())
    }
}

fn is_shut(stat: &Stat) -> bool {
    let needed = match stat.file_type {
        FileType::Dir => 0o500,
        FileType::File => 0o400,
        _ => 0,
    };
    stat.uid == rustix::process::geteuid().as_raw() && stat.mode & needed != needed
}

fn key(stat: &Stat) -> (u64, u64) {
    (stat.dev, stat.ino)
}

/// Everything that is shut in these directories, and further names of what was.
fn look(root: &Root, dirs: Vec<Vec<u8>>, linked: &HashMap<(u64, u64), u32>) -> Vec<(Vec<u8>, Stat)> {
    let (mut waiting, mut shut, mut buffer) = (dirs, Vec::new(), Vec::new());
    while let Some(path) = waiting.pop() {
        let Ok(dir) = root.dir(&path) else { continue };
        let mut names = Vec::new();
        let _ = dir.list(&mut buffer, &mut |name, _, _| names.push(name.to_vec()));
        for name in names {
            let Ok(stat) = dir.stat(&name) else { continue };
            let path = if path.is_empty() { name } else { [&path[..], &name].join(&b'/') };
            let known = linked.get(&key(&stat)).filter(|_| stat.file_type == FileType::File);
            match known {
                Some(mode) => shut.push((path, Stat { mode: *mode, ..stat })),
                None if is_shut(&stat) => shut.push((path, stat)),
                None if stat.file_type == FileType::Dir => waiting.push(path),
                None => {}
            }
        }
    }
    shut
}

fn open(root: &Root, path: &[u8], stat: &Stat) -> std::io::Result<()> {
    let mode = stat.mode | if stat.file_type == FileType::Dir { 0o500 } else { 0o400 };
    set_mode(root, path, mode)
}

fn set_mode(root: &Root, path: &[u8], mode: u32) -> std::io::Result<()> {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => root.dir_path_only(&path[..at])?.set_mode(&path[at + 1..], mode),
        None if path.is_empty() => root.dir_path_only(b"")?.set_self_mode(mode),
        None => root.dir_path_only(b"")?.set_mode(path, mode),
    }
}
