//! Files of the workspace that have a name elsewhere too: what is written to them is written there.
//!
//! Invariants: only names that the snapshot before the run saw are known, so that a file whose other names lie in what
//! snapshots leave out counts as one with a name elsewhere; a file that can only be read in the jail is written by no
//! name of it, and how many are not kept so is told.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_event::Degraded;
use belay_sys::{FileType, Root};

/// So many names are made read-only; each is a mount, and looked at while the run goes on.
pub(super) const GUARDED_MAX: usize = 128;
/// So many files are looked at, which takes milliseconds.
const LOOKED_MAX: usize = 5_000;
/// Names in a sentence.
const NAMED_MAX: usize = 3;

/// A name of a file that has several: its device and number, and the path.
pub(crate) type Name = (u64, u64, Vec<u8>);

/// What is done about them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Names that can only be read.
    pub(super) guarded: Vec<PathBuf>,
    /// What is to be told.
    pub(super) told: Option<Degraded>,
}

impl Links {
    /// Those that lead out of the workspace, of which up to `guarded_max` are kept from being written.
    pub(super) fn leading_out(workspace: &Path, names: &[Name], guarded_max: usize) -> Links {
        if names.is_empty() {
            return Links { guarded: Vec::new(), told: pnpm(workspace) };
        }
        let mut files: BTreeMap<(u64, u64), Vec<&[u8]>> = BTreeMap::new();
        for (device, number, path) in names {
            files.entry((*device, *number)).or_default().push(path);
        }
        let unlooked = files.values().skip(LOOKED_MAX).map(Vec::len).sum::<usize>();
        // Without the workspace there is no run either.
        let Ok(root) = Root::open(workspace) else { return Links::default() };
        let leads_out = |names: &&Vec<&[u8]>| {
            let found = stat(&root, names[0]);
            found.is_some_and(|(kind, links)| kind == FileType::File && links > names.len() as u64)
        };
        let mut out: Vec<&[u8]> = files.values().take(LOOKED_MAX).filter(leads_out).flatten().copied().collect();
        out.sort_unstable();
        let guarded = out.iter().take(guarded_max).map(|path| place(workspace, path)).collect();
        let told = sentence(&out, guarded_max, unlooked).map(|why| Degraded { layer: "links".into(), why });
        Links { guarded, told: told.or_else(|| pnpm(workspace)) }
    }
}

fn place(workspace: &Path, path: &[u8]) -> PathBuf {
    workspace.join(std::ffi::OsStr::from_bytes(path))
}

fn stat(root: &Root, path: &[u8]) -> Option<(FileType, u64)> {
    let at = path.iter().rposition(|byte| *byte == b'/');
    let (directory, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let found = root.dir(directory).and_then(|directory| directory.stat(name)).ok()?;
    Some((found.file_type, u64::from(found.nlink)))
}

fn sentence(out: &[&[u8]], guarded_max: usize, unlooked: usize) -> Option<String> {
    let (guarded, open) = (out.len().min(guarded_max), out.len().saturating_sub(guarded_max) + unlooked);
    if guarded + open == 0 {
        return None;
    }
    if guarded == 0 {
        let names = format!("{open} names of files in the workspace");
        return Some(format!("{names} lead elsewhere too, and CAN BE WRITTEN: that changes files elsewhere"));
    }
    let names: Vec<String> =
        out.iter().take(NAMED_MAX).map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let more = if out.len() > NAMED_MAX { ", …" } else { "" };
    let kept = format!(
        "{guarded} {} in the workspace {} a name elsewhere too, and can only be read: {}{more}",
        if guarded == 1 { "file" } else { "files" },
        if guarded == 1 { "has" } else { "have" },
        names.join(", ")
    );
    Some(match open {
        0 => kept,
        open => format!("{kept}; {open} MORE CAN BE WRITTEN, and what is written to them changes files elsewhere"),
    })
}

/// The packages of pnpm are links to its store, in a directory that snapshots leave out.
fn pnpm(workspace: &Path) -> Option<Degraded> {
    let packages = Root::open(workspace).ok()?.dir(b"node_modules").ok()?;
    packages.stat(b".pnpm").ok()?;
    let why = "the packages in node_modules may be links to pnpm's store, which nobody looked at: what is written to \
               them can change that store";
    Some(Degraded { layer: "links".into(), why: why.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn names(root: &Path, paths: &[&str]) -> Vec<Name> {
        let name = |path: &&str| {
            let found = root.join(path).symlink_metadata().unwrap();
            (found.dev(), found.ino(), path.as_bytes().to_vec())
        };
        paths.iter().map(name).collect()
    }

    #[test]
    fn only_a_file_with_a_name_elsewhere_leads_out() {
        let directory = tempfile::tempdir().unwrap();
        let (outside, root) = (directory.path().join("outside"), directory.path().join("workspace"));
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(&outside, "x").unwrap();
        std::fs::write(root.join("twin"), "x").unwrap();
        std::fs::hard_link(root.join("twin"), root.join("sub/twin")).unwrap();
        std::fs::hard_link(&outside, root.join("sub/out")).unwrap();
        let links = Links::leading_out(&root, &names(&root, &["twin", "sub/twin", "sub/out"]), GUARDED_MAX);
        assert_eq!(links.guarded, [root.join("sub/out")]);
        let told = links.told.unwrap().why;
        assert_eq!(told, "1 file in the workspace has a name elsewhere too, and can only be read: sub/out");
        assert!(Links::leading_out(&root, &names(&root, &["twin", "sub/twin"]), GUARDED_MAX).told.is_none());
    }

    #[test]
    fn how_many_stay_open_is_told() {
        let many: Vec<Vec<u8>> = (0..GUARDED_MAX + 2).map(|number| format!("f{number:04}").into_bytes()).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        let told = sentence(&many, GUARDED_MAX, 0).unwrap();
        assert!(told.starts_with("128 files") && told.contains("2 MORE CAN BE WRITTEN"), "{told}");
        assert!(sentence(&many, 0, 0).unwrap().starts_with("130 names"));
    }
}
