//! The objects of a repository: found in packs and as single files, added as single files, each named by its hash.
//!
//! - An object is believed only if it has the hash that it was asked for by.
//! - Everything lies beneath the handle of `objects`; other repositories that it borrows from are read only if the user said so.
//! - Nothing is mapped into memory: whoever shortens a file would end the process.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belay_store::{FileType, Root};
use belay_sys::{Dir, Time};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::id::{Format, GitId, Kind};
use super::pack::Pack;
use super::place::{failed, is_absent, read_file, unusable};
use crate::error::{Error, Result};

/// Git follows no more repositories that borrow from each other.
const BORROWED_DEPTH_MAX: usize = 5;
const ALTERNATES_BYTES_MAX: u64 = 1 << 20;
/// Up to so many new files are made durable one by one; beyond it the whole filesystem is.
const SYNCED_ALONE_MAX: usize = 64;

/// Hands the bytes of an object to a taker, piece by piece.
pub(crate) type Pour<'a> = dyn Fn(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<()> + 'a;

/// The objects of a repository.
pub(crate) struct Objects {
    root: Root,
    format: Format,
    packs: Vec<Pack>,
    /// The names of single files, by the directory they are in.
    loose: RefCell<HashMap<u8, HashSet<Vec<u8>>>>,
    /// Repositories that it borrows from.
    borrowed: Vec<Objects>,
    /// Whether it borrows from some that are not read.
    borrows: bool,
    written: RefCell<Vec<u8>>,
    is_many: RefCell<bool>,
}

impl Objects {
    pub(super) fn open(common: &Root, format: Format, alternates: bool) -> Result<Objects> {
        let root = common.subdir(b"objects").map_err(failed("open its objects"))?;
        Objects::beneath(root, format, alternates, 0)
    }

    fn beneath(root: Root, format: Format, alternates: bool, depth: usize) -> Result<Objects> {
        let packs = Pack::all(&root, format)?;
        let text = read_file(&root, b"info/alternates", ALTERNATES_BYTES_MAX).map_err(failed("read its alternates"))?;
        let text = text.unwrap_or_default();
        let paths: Vec<&[u8]> = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
        let paths = paths.into_iter().filter(|path| !path.is_empty() && !path.starts_with(b"#"));
        let mut borrowed = Vec::new();
        let mut borrows = false;
        for path in paths {
            if !alternates || depth >= BORROWED_DEPTH_MAX {
                borrows = true;
                continue;
            }
            let here = belay_sys::path_of(root.as_fd()).map_err(failed("find its objects"))?;
            let other = Path::new(OsStr::from_bytes(&here)).join(OsStr::from_bytes(path));
            // Git passes over those that are gone, too.
            if let Ok(other) = Root::open(&other) {
                borrowed.push(Objects::beneath(other, format, alternates, depth + 1)?);
            }
        }
        let (loose, written, is_many) = Default::default();
        Ok(Objects { root, format, packs, loose, borrowed, borrows, written, is_many })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Whether the repository has the object itself; if it is a single file, its time says that it was needed again.
    pub(crate) fn has(&self, id: &GitId) -> Result<bool> {
        if self.is_loose(id)? {
            self.freshen(id);
            return Ok(true);
        }
        for pack in &self.packs {
            if pack.find(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_loose(&self, id: &GitId) -> Result<bool> {
        let (first, rest) = split(id);
        let mut loose = self.loose.borrow_mut();
        if let Some(names) = loose.get(&id.as_bytes()[0]) {
            return Ok(names.contains(rest.as_bytes()));
        }
        let mut names = HashSet::new();
        match self.root.dir(first.as_bytes()) {
            Err(error) if is_absent(&error) => {}
            dir => {
                let dir = dir.map_err(failed("list its objects"))?;
                let list = dir.list(&mut Vec::new(), &mut |name, _, _| {
                    names.insert(name.to_vec());
                });
                list.map_err(failed("list its objects"))?;
            }
        }
        let is_there = names.contains(rest.as_bytes());
        loose.insert(id.as_bytes()[0], names);
        Ok(is_there)
    }

    /// What is in use again must not look old to a prune that runs beside us; git does the same.
    fn freshen(&self, id: &GitId) {
        let (first, rest) = split(id);
        let now: Time = belay_sys::now();
        let _ = self.root.dir_path_only(first.as_bytes()).and_then(|dir| dir.set_times(rest.as_bytes(), now));
    }

    /// An object of at most `max` bytes, wherever it is.
    pub(crate) fn read(&self, id: &GitId, max: u64) -> Result<(Kind, Vec<u8>)> {
        let found = self.look(id, max)?;
        let (kind, bytes) = found.ok_or_else(|| {
            let why = match self.borrows() {
                true => "it is missing here; agents.alternates = true lets belay read the repositories that this one borrows from",
                false => "it is missing",
            };
            bad(id, why)
        })?;
        match self.format.name(kind, &bytes) {
            Ok(name) if name == *id => Ok((kind, bytes)),
            _ => Err(bad(id, "it is damaged: its hash is another")),
        }
    }

    fn borrows(&self) -> bool {
        self.borrows || self.borrowed.iter().any(Objects::borrows)
    }

    fn look(&self, id: &GitId, max: u64) -> Result<Option<(Kind, Vec<u8>)>> {
        if let Some(found) = self.read_loose(id, max)? {
            return Ok(Some(found));
        }
        for pack in &self.packs {
            if let Some(at) = pack.find(id)? {
                let base = |base: &GitId| self.look(base, max);
                return pack.read(at, max, &base).map(Some).map_err(|why| bad(id, why));
            }
        }
        for other in &self.borrowed {
            if let Some(found) = other.look(id, max)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read_loose(&self, id: &GitId, max: u64) -> Result<Option<(Kind, Vec<u8>)>> {
        if !self.is_loose(id)? {
            return Ok(None);
        }
        let (first, rest) = split(id);
        let open = || {
            let dir = self.root.dir_path_only(first.as_bytes())?;
            match dir.stat(rest.as_bytes())?.file_type {
                FileType::File => dir.open_read(rest.as_bytes()),
                _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
            }
        };
        let file = match open() {
            Err(error) if is_absent(&error) => return Ok(None),
            other => other.map_err(|error| bad(id, belay_sys::plain(error)))?,
        };
        parse_loose(file, max).map(Some).map_err(|why| bad(id, why))
    }

    /// Adds an object that is not there yet; `name` is its own, and `pour` yields its bytes.
    pub(crate) fn add(&self, name: &GitId, kind: Kind, size: u64, pour: &Pour<'_>) -> Result<()> {
        let (first, rest) = split(name);
        let top = self.root.dir(b"").map_err(failed("open its objects"))?;
        self.make_dir(&top, first.as_bytes()).map_err(failed("write an object"))?;
        let dir = self.root.dir(first.as_bytes()).map_err(failed("write an object"))?;
        let temporary = format!("tmp_obj_belay{:08x}", random());
        let mode = top.stat_self().map_or(0o444, |stat| stat.mode & 0o444);
        let file = dir.create_new(temporary.as_bytes(), mode | 0o200).map_err(failed("write an object"))?;
        let placed = self.fill(&file, name, kind, size, pour).and_then(|()| {
            dir.set_mode(temporary.as_bytes(), mode).map_err(failed("write an object"))?;
            dir.rename(temporary.as_bytes(), &dir, rest.as_bytes()).map_err(failed("write an object"))
        });
        if placed.is_err() {
            // Git's own prune removes such names, too.
            let _ = dir.remove_file(temporary.as_bytes());
            return placed;
        }
        self.loose.borrow_mut().entry(name.as_bytes()[0]).or_default().insert(rest.into_bytes());
        Ok(())
    }

    fn fill(&self, file: &File, name: &GitId, kind: Kind, size: u64, pour: &Pour<'_>) -> Result<()> {
        let mut hashing = self.format.hashing();
        let mut out = ZlibEncoder::new(io::BufWriter::new(file), Compression::fast());
        let header = kind.header(size);
        hashing.update(&header);
        out.write_all(&header).map_err(failed("write an object"))?;
        pour(&mut |bytes| {
            hashing.update(bytes);
            out.write_all(bytes)
        })?;
        let file = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.map_err(failed("write an object"))?;
        if hashing.finish().ok() != Some(*name) {
            return Err(bad(name, "its bytes changed while it was written"));
        }
        self.own_file(file).map_err(failed("write an object"))?;
        let mut written = self.written.borrow_mut();
        match written.len() < SYNCED_ALONE_MAX {
            true => file.sync_data().map_err(failed("write an object"))?,
            false => *self.is_many.borrow_mut() = true,
        }
        written.push(name.as_bytes()[0]);
        Ok(())
    }

    /// Makes everything durable that was added.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut written = self.written.borrow_mut();
        if self.is_many.replace(false) {
            written.clear();
            return self.root.sync_filesystem().map_err(failed("write its objects to the disk"));
        }
        let dirs: HashSet<u8> = written.drain(..).collect();
        for first in dirs {
            let dir = self.root.dir(format!("{first:02x}").as_bytes());
            dir.and_then(|dir| dir.sync()).map_err(failed("write its objects to the disk"))?;
        }
        self.root.dir(b"").and_then(|dir| dir.sync()).map_err(failed("write its objects to the disk"))
    }

    /// Makes a directory as its own are: the same mode, and the same owner if we are root.
    pub(super) fn make_dir(&self, dir: &Dir, name: &[u8]) -> io::Result<()> {
        match dir.make_dir(name, 0o777) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            other => other?,
        }
        let like = self.root.dir_path_only(b"")?.stat_self()?;
        if belay_sys::is_root() {
            dir.set_owner(name, like.uid, like.gid)?;
        }
        dir.set_mode(name, like.mode)
    }

    /// What root writes into somebody's repository is theirs.
    pub(super) fn own_file(&self, file: &File) -> io::Result<()> {
        if !belay_sys::is_root() {
            return Ok(());
        }
        let like = self.root.dir_path_only(b"")?.stat_self()?;
        let (user, group) = (rustix::fs::Uid::from_raw(like.uid), rustix::fs::Gid::from_raw(like.gid));
        Ok(rustix::fs::fchown(file, Some(user), Some(group))?)
    }
}

pub(super) fn bad(id: &GitId, why: impl Into<String>) -> Error {
    unusable(format!("object {id}: {}", why.into()))
}

fn split(id: &GitId) -> (String, String) {
    let hex = id.to_hex();
    (hex[..2].to_owned(), hex[2..].to_owned())
}

fn random() -> u32 {
    let mut bytes = [0; 4];
    // Without randomness the name is taken more often, and the write is refused.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u32::from_ne_bytes(bytes)
}

/// Reads a single file: header and bytes, compressed.
pub(super) fn parse_loose(from: impl Read, max: u64) -> Result<(Kind, Vec<u8>), String> {
    const HEADER_BYTES_MAX: usize = 32;
    let mut inflate = ZlibDecoder::new(from);
    let mut header = Vec::new();
    loop {
        let mut byte = [0];
        inflate.read_exact(&mut byte).map_err(belay_sys::plain)?;
        match byte[0] {
            0 => break,
            _ if header.len() >= HEADER_BYTES_MAX => return Err("its header is too long".into()),
            other => header.push(other),
        }
    }
    let mut words = header.splitn(2, |byte| *byte == b' ');
    let kind = words.next().and_then(Kind::from_name).ok_or("it is of an unknown kind")?;
    let size = words.next().and_then(|size| std::str::from_utf8(size).ok()?.parse::<u64>().ok());
    let size = size.filter(|size| *size <= max).ok_or("it is too large")?;
    exactly(inflate, size).map(|bytes| (kind, bytes))
}

/// So many bytes, and not one more.
pub(super) fn exactly(from: impl Read, size: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(size + 1).read_to_end(&mut bytes).map_err(belay_sys::plain)?;
    if bytes.len() as u64 == size { Ok(bytes) } else { Err("it is not as long as it says".into()) }
}
