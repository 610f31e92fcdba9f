//! The floors that read content: read alone, with BLAKE3, and with compression and one sequential write.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::known::KnownList;
use super::{Clock, Figure, threads};
use crate::error::{Doing, Result};

const BLOCK: usize = 256 * 1024;
const LEVEL: i32 = 1;

/// Reads every file once, and hashes it if asked.
pub(super) fn read(list: &KnownList, hash: bool) -> Result<Figure> {
    let start = Clock::start();
    let begin = |_| Ok((vec![0u8; BLOCK], blake3::Hasher::new()));
    threads::in_two(list.files.len(), begin, |(buffer, hasher), at| {
        let (file, mut left) = open(list, at)?;
        while left > 0 {
            let got = rustix::io::read(&file, &mut buffer[..])?;
            if got == 0 {
                break;
            }
            if hash {
                hasher.update(&buffer[..got]);
            }
            left = left.saturating_sub(got);
        }
        if hash {
            std::hint::black_box(hasher.finalize());
            hasher.reset();
        }
        Ok(())
    })
    .doing("read", &list.dir)?;
    Ok(start.figure(list.files.len(), list.bytes()))
}

fn open(list: &KnownList, at: usize) -> io::Result<(OwnedFd, usize)> {
    let entry = &list.entries[list.files[at]];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(&list.root, &entry.path, flags, Mode::empty())?;
    let size = entry.size.expect("only regular files are listed");
    Ok((file, usize::try_from(size).expect("a file fits the address space")))
}

/// One thread's pack: files go one after another into blocks, each block is compressed and appended.
struct Pack {
    block: Vec<u8>,
    filled: usize,
    squeezed: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
    hasher: blake3::Hasher,
    file: File,
    written: u64,
}

impl Pack {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Pack {
            block: vec![0; BLOCK],
            filled: 0,
            squeezed: vec![0; zstd::zstd_safe::compress_bound(BLOCK)],
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            hasher: blake3::Hasher::new(),
            file: File::create(path)?,
            written: 0,
        })
    }

    fn add(&mut self, file: &OwnedFd, mut left: usize) -> io::Result<()> {
        while left > 0 {
            let got = rustix::io::read(file, &mut self.block[self.filled..])?;
            if got == 0 {
                break;
            }
            self.hasher.update(&self.block[self.filled..self.filled + got]);
            self.filled += got;
            left = left.saturating_sub(got);
            if self.filled == BLOCK {
                self.flush()?;
            }
        }
        std::hint::black_box(self.hasher.finalize());
        self.hasher.reset();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let length = self.compressor.compress_to_buffer(&self.block[..self.filled], &mut self.squeezed[..])?;
        self.file.write_all(&self.squeezed[..length])?;
        self.written += length as u64;
        self.filled = 0;
        Ok(())
    }
}

/// Packs every file in one pass and waits until the packs are durable; the figure's bytes are those written.
pub(super) fn pack(list: &KnownList, scratch: &Path) -> Result<Figure> {
    let names = [scratch.join("pack-0"), scratch.join("pack-1")];
    let start = Clock::start();
    let begin = |thread: usize| Pack::create(&names[thread]);
    let mut packs = threads::in_two(list.files.len(), begin, |pack, at| {
        let (file, size) = open(list, at)?;
        pack.add(&file, size)
    })
    .doing("pack", &list.dir)?;
    for pack in &mut packs {
        pack.flush().doing("write a pack in", scratch)?;
        pack.file.sync_data().doing("sync a pack in", scratch)?;
    }
    let written = packs.iter().map(|pack| pack.written).sum();
    let figure = start.figure(list.files.len(), written);
    for name in &names {
        std::fs::remove_file(name).doing("remove", name)?;
    }
    Ok(figure)
}
