//! The copy of the backend `archive`: one tar file that plain `tar` unpacks, written in parts that are unpacked each by itself.
//!
//! Both zstd and gzip let packed parts follow each other in one file, so the archive is an ordinary one; and an object that
//! lies in a single part is read without unpacking the rest. Files that the capture has to read are set aside first and
//! read from there, by the capture and by the archive alike, so that a file that changes meanwhile cannot make it lie.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use belay_store::{Completed, Copier, Error, Frame, Hash, Located, Manifest, Result, Root, Slot, Store};

use crate::archive::{Sink, write_from};
use crate::workspace::Work;

/// A part is closed when it has grown to this.
const FRAME_BYTES: usize = 1 << 20;
const ZSTD_LEVEL: i32 = 3;
/// Where files are set aside, beside the archive.
const ASIDE: &str = "aside";

/// An archive in the making.
pub(super) struct Archive<'a> {
    path: PathBuf,
    gzip: bool,
    aside: Slot,
    work: Work<'a>,
}

impl<'a> Archive<'a> {
    /// An archive at a path whose directory is its own and is made.
    pub(super) fn create(path: &Path, gzip: bool, work: Work<'a>) -> io::Result<Archive<'a>> {
        let aside = Slot::create(&path.with_file_name(ASIDE), None)?;
        Ok(Archive { path: path.to_path_buf(), gzip, aside, work })
    }

    fn write(&self, store: &Store, manifest: &Manifest) -> crate::error::Result<Completed> {
        let failed = |error| crate::error::Error::path("write", &self.path)(error);
        let aside = Root::open(&self.path.with_file_name(ASIDE)).map_err(failed)?;
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path).map_err(failed)?;
        let mut frames = Frames {
            file,
            gzip: self.gzip,
            raw: Vec::new(),
            offset: 0,
            open: Vec::new(),
            awaited: 0,
            closed: Vec::new(),
        };
        let read = |path: &[u8], key: &Hash, part: (u64, u64)| read_aside(store, &aside, path, key, part);
        write_from(store, manifest, &mut frames, &read, self.work)?;
        let (bytes, objects) = frames.finish().map_err(failed)?;
        fs::remove_dir_all(self.path.with_file_name(ASIDE)).map_err(failed)?;
        // Its own directory, the one of all copies, and belay's home, in which that one may be new.
        for above in self.path.ancestors().skip(1).take(3) {
            File::open(above).and_then(|dir| dir.sync_all()).map_err(failed)?;
        }
        Ok(Completed { bytes, objects })
    }
}

impl Copier for Archive<'_> {
    fn hold(&self, path: &[u8], file: &File) -> Result<Option<File>> {
        self.aside.hold(path, file)
    }

    fn tells_late(&self) -> bool {
        true
    }

    fn complete(&self, store: &Store, manifest: &Manifest) -> Result<Completed> {
        self.write(store, manifest).map_err(|error| match error {
            crate::error::Error::Store(error) => error,
            crate::error::Error::Output(source) | crate::error::Error::Path { source, .. } => {
                Error::Disk { operation: "write", name: self.path.display().to_string(), source }
            }
            other => Error::Invalid(crate::error::chain(&other)),
        })
    }
}

/// An object of the store, else of a file that was set aside.
fn read_aside(store: &Store, aside: &Root, path: &[u8], key: &Hash, (at, len): (u64, u64)) -> Result<Vec<u8>> {
    if store.contains(key)? {
        return store.read(key);
    }
    let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(end) => (&path[..end], &path[end + 1..]),
        None => (&b""[..], path),
    };
    let mut bytes = vec![0; usize::try_from(len).map_err(|_| Error::Missing(*key))?];
    let held = aside.dir_path_only(dir).and_then(|dir| dir.open_read(name));
    let read = held.and_then(|file| file.read_exact_at(&mut bytes, at));
    let failed = |source| Error::Workspace { operation: "read", path: path.to_vec(), source };
    read.map_err(failed)?;
    // Nobody else writes there; what differs all the same must not become a snapshot.
    if store.algorithm().hash(&bytes) != *key {
        return Err(failed(io::Error::other("it changed after it was set aside")));
    }
    Ok(bytes)
}

/// A file of packed parts, none of which ends inside an object.
struct Frames {
    file: File,
    gzip: bool,
    /// The part that is being filled.
    raw: Vec<u8>,
    /// Where it will begin.
    offset: u64,
    /// What is in it: where, and how long.
    open: Vec<(Hash, u32, u32)>,
    /// Bytes of the last object that are still to come.
    awaited: u64,
    closed: Vec<Located>,
}

impl Frames {
    fn close(&mut self) -> io::Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        let packed = match self.gzip {
            true => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                gzip.write_all(&self.raw)?;
                gzip.finish()?
            }
            false => {
                let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                zstd.include_checksum(true)?;
                zstd.write_all(&self.raw)?;
                zstd.finish()?
            }
        };
        self.file.write_all(&packed)?;
        let (len, raw_len) = (packed.len() as u32, self.raw.len() as u32);
        let frame = Frame { offset: self.offset, len, raw_len, gzip: self.gzip };
        let located = |(key, at, len): (Hash, u32, u32)| Located {
            key,
            len,
            path: Vec::new(),
            frame: Some(frame),
            at: at.into(),
        };
        self.closed.extend(self.open.drain(..).map(located));
        self.offset += u64::from(len);
        self.raw.clear();
        Ok(())
    }

    /// Makes everything durable; returns how long the file is and what is where in it.
    fn finish(mut self) -> io::Result<(u64, Vec<Located>)> {
        self.close()?;
        self.file.sync_all()?;
        Ok((self.offset, self.closed))
    }
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.awaited == 0 && self.raw.len() >= FRAME_BYTES {
            self.close()?;
        }
        self.raw.extend_from_slice(bytes);
        self.awaited = self.awaited.saturating_sub(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Frames {
    fn object(&mut self, key: &Hash, len: u64) -> io::Result<()> {
        if self.raw.len() >= FRAME_BYTES {
            self.close()?;
        }
        let too_long = |_| io::Error::other("an object is too long");
        self.open.push((*key, self.raw.len() as u32, u32::try_from(len).map_err(too_long)?));
        self.awaited = len;
        Ok(())
    }
}
