//! Snapshots as tar archives: pax, so that plain `tar` unpacks them with attributes, holes and hard links.
//!
//! A comment in the archive's global header tells belay what tar has no place for: the root hash, the filter, what
//! the snapshot lacks, sockets and inode flags. Other programs pass over it.

mod acl;
mod note;
mod read;
mod write;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

pub(crate) use note::Note;
pub(crate) use read::{Said, Trouble, read};
pub(crate) use write::{Sink, write, write_from};

const ZSTD_LEVEL: i32 = 3;

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all: `.tar`.
    Plain,
    /// `.tar.gz` or `.tgz`.
    Gzip,
    /// `.tar.zst` or `.tzst`.
    Zstd,
}

impl Packing {
    /// What a file's name says; `None` if it is not that of an archive.
    pub fn of(path: &Path) -> Option<Packing> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let endings = [
            (".tar", Packing::Plain),
            (".tar.gz", Packing::Gzip),
            (".tgz", Packing::Gzip),
            (".tar.zst", Packing::Zstd),
            (".tzst", Packing::Zstd),
        ];
        endings
            .iter()
            .find(|(ending, _)| name.len() > ending.len() && name.ends_with(ending))
            .map(|(_, packing)| *packing)
    }

    /// What a file's first bytes say.
    fn of_bytes(bytes: &[u8]) -> Packing {
        match bytes {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            _ => Packing::Plain,
        }
    }

    /// Writes what `body` writes into the file, compressed.
    pub(crate) fn pack<T, E: From<io::Error>>(
        self,
        file: &File,
        body: impl FnOnce(&mut dyn Write) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let result = match self {
            Packing::Plain => body(&mut out)?,
            Packing::Gzip => {
                let mut gzip = flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
                let result = body(&mut gzip)?;
                gzip.finish()?;
                result
            }
            Packing::Zstd => {
                let mut zstd = zstd::stream::write::Encoder::new(&mut out, ZSTD_LEVEL)?;
                zstd.include_checksum(true)?;
                let result = body(&mut zstd)?;
                zstd.finish()?;
                result
            }
        };
        out.flush()?;
        Ok(result)
    }

    /// The bytes of an archive, whatever it is compressed with.
    pub(crate) fn unpack(file: File) -> io::Result<Box<dyn Read>> {
        let mut file = BufReader::with_capacity(1 << 20, file);
        let packing = Packing::of_bytes(io::BufRead::fill_buf(&mut file)?);
        Ok(match packing {
            Packing::Plain => Box::new(file),
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        })
    }
}
