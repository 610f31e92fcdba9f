//! Packs, as git keeps most objects: an index of names, and objects that may be written as changes of others.
//!
//! Anybody may have written them: lengths are checked against limits before anything is read, and nothing is read at once
//! that is not bounded.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use belay_store::{FileType, Root};
use belay_sys::Dir;
use flate2::read::ZlibDecoder;

use super::id::{Format, GitId, Kind};
use super::objects::exactly;
use super::place::{failed, is_absent, unusable};
use crate::error::Result;

const INDEX_START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT_BYTES: u64 = 256 * 4;
/// Git makes no longer chains of changes.
const CHAIN_MAX: usize = 4_096;
const READ_BYTES: usize = 4_096;

/// One pack and its index.
pub(super) struct Pack {
    index: File,
    pack: File,
    format: Format,
    /// How many names begin with each byte or a lower one.
    fanout: Vec<u32>,
}

/// Finds an object that another is a change of.
pub(super) type Base<'a> = dyn Fn(&GitId) -> Result<Option<(Kind, Vec<u8>)>> + 'a;

enum Form {
    Whole(Kind),
    ChangeAt(u64),
    ChangeOf(GitId),
}

impl Pack {
    /// Every pack of a repository.
    pub(super) fn all(objects: &Root, format: Format) -> Result<Vec<Pack>> {
        let dir = match objects.dir(b"pack") {
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            other => other.map_err(failed("list its packs"))?,
        };
        let mut names = Vec::new();
        dir.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec())).map_err(failed("list its packs"))?;
        let stems = names.iter().filter_map(|name| name.strip_suffix(b".idx"));
        let mut packs = Vec::new();
        for stem in stems {
            match Pack::open(&dir, stem, format) {
                // One that git replaces at this moment.
                Err(error) if is_absent(&error) => {}
                other => packs.push(other.map_err(|error| {
                    unusable(format!(
                        "pack {}: {}",
                        String::from_utf8_lossy(stem).escape_debug(),
                        belay_sys::plain(error)
                    ))
                })?),
            }
        }
        Ok(packs)
    }

    fn open(dir: &Dir, stem: &[u8], format: Format) -> io::Result<Pack> {
        let open = |ending: &[u8]| {
            let name = [stem, ending].concat();
            match dir.stat(&name)?.file_type {
                FileType::File => dir.open_read(&name),
                _ => Err(io::Error::other("it is not a regular file")),
            }
        };
        let (index, pack) = (open(b".idx")?, open(b".pack")?);
        let mut start = [0; 8 + FANOUT_BYTES as usize];
        index.read_exact_at(&mut start, 0)?;
        if start[..8] != INDEX_START {
            return Err(io::Error::other("its index is of another version than 2"));
        }
        let fanout: Vec<u32> =
            start[8..].chunks_exact(4).map(|four| u32::from_be_bytes(four.try_into().expect("four"))).collect();
        if !fanout.is_sorted() {
            return Err(io::Error::other("its index is damaged"));
        }
        Ok(Pack { index, pack, format, fanout })
    }

    fn count(&self) -> u64 {
        u64::from(self.fanout[255])
    }

    /// Where the object of that name begins.
    pub(super) fn find(&self, id: &GitId) -> Result<Option<u64>> {
        self.search(id).map_err(failed("read the index of a pack"))
    }

    fn search(&self, id: &GitId) -> io::Result<Option<u64>> {
        let len = self.format.len() as u64;
        let first = usize::from(id.as_bytes()[0]);
        let mut low = if first == 0 { 0 } else { u64::from(self.fanout[first - 1]) };
        let mut high = u64::from(self.fanout[first]);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut name = [0; 32];
            let name = &mut name[..self.format.len()];
            self.index.read_exact_at(name, 8 + FANOUT_BYTES + middle * len)?;
            match (*name).cmp(id.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle).map(Some),
            }
        }
        Ok(None)
    }

    fn offset(&self, at: u64) -> io::Result<u64> {
        let names_end = 8 + FANOUT_BYTES + self.count() * self.format.len() as u64;
        let offsets = names_end + self.count() * 4;
        let mut four = [0; 4];
        self.index.read_exact_at(&mut four, offsets + at * 4)?;
        let offset = u32::from_be_bytes(four);
        if offset & 0x8000_0000 == 0 {
            return Ok(u64::from(offset));
        }
        let mut eight = [0; 8];
        let large = offsets + self.count() * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        self.index.read_exact_at(&mut eight, large)?;
        Ok(u64::from_be_bytes(eight))
    }

    /// The object that begins there.
    pub(super) fn read(&self, at: u64, max: u64, base: &Base<'_>) -> Result<(Kind, Vec<u8>), String> {
        let mut changes = Vec::new();
        let mut held = 0;
        let mut at = at;
        let (kind, mut bytes) = loop {
            let (form, size, data) = self.header(at).map_err(|error| error.to_string())?;
            if size > max || changes.len() > CHAIN_MAX {
                return Err("it is too large".into());
            }
            let bytes = exactly(ZlibDecoder::new(self.from(data)), size)?;
            match form {
                Form::Whole(kind) => break (kind, bytes),
                Form::ChangeAt(back) => {
                    at = at.checked_sub(back).filter(|_| back > 0).ok_or("its base lies before its pack")?;
                    changes.push(bytes);
                }
                Form::ChangeOf(id) => {
                    changes.push(bytes);
                    match self.find(&id).map_err(|error| error.to_string())? {
                        Some(there) => at = there,
                        None => match base(&id).map_err(|error| error.to_string())? {
                            Some(found) => break found,
                            None => return Err(format!("{id}, of which it is a change, is missing")),
                        },
                    }
                }
            }
            held += changes.last().map_or(0, Vec::len) as u64;
            if held > max {
                return Err("it is too large".into());
            }
        };
        while let Some(change) = changes.pop() {
            bytes = apply(&bytes, &change, max).ok_or("a change in its pack does not fit")?;
        }
        Ok((kind, bytes))
    }

    /// What the object at an offset is, how long it is, and where its data begins.
    fn header(&self, at: u64) -> io::Result<(Form, u64, u64)> {
        let mut from = self.from(at);
        let first = byte(&mut from)?;
        let (mut size, mut shift, mut next) = (u64::from(first & 15), 4, first);
        while next & 0x80 != 0 {
            next = byte(&mut from)?;
            size |= u64::from(next & 0x7f).checked_shl(shift).filter(|_| shift < 60).ok_or_else(odd)?;
            shift += 7;
        }
        let form = match (first >> 4) & 7 {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => {
                let mut next = byte(&mut from)?;
                let mut back = u64::from(next & 0x7f);
                while next & 0x80 != 0 {
                    next = byte(&mut from)?;
                    back = back.checked_add(1).and_then(|back| back.checked_mul(128)).ok_or_else(odd)?;
                    back |= u64::from(next & 0x7f);
                }
                Form::ChangeAt(back)
            }
            7 => {
                let mut name = [0; 32];
                from.read_exact(&mut name[..self.format.len()])?;
                Form::ChangeOf(GitId::from_bytes(&name[..self.format.len()]).ok_or_else(odd)?)
            }
            _ => return Err(odd()),
        };
        Ok((form, size, from.at()))
    }

    fn from(&self, at: u64) -> Window<'_> {
        Window { file: &self.pack, next: at, bytes: Vec::new(), used: 0 }
    }
}

fn odd() -> io::Error {
    io::Error::other("it is of an unknown form")
}

fn byte(from: &mut impl Read) -> io::Result<u8> {
    let mut one = [0];
    from.read_exact(&mut one)?;
    Ok(one[0])
}

/// A file read from some offset on, without moving its cursor.
struct Window<'a> {
    file: &'a File,
    next: u64,
    bytes: Vec<u8>,
    used: usize,
}

impl Window<'_> {
    /// Where the next byte comes from.
    fn at(&self) -> u64 {
        self.next - (self.bytes.len() - self.used) as u64
    }
}

impl Read for Window<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.bytes.len() {
            self.bytes.resize(READ_BYTES, 0);
            let read = self.file.read_at(&mut self.bytes, self.next);
            let len = *read.as_ref().unwrap_or(&0);
            self.bytes.truncate(len);
            (self.used, self.next) = (0, self.next + len as u64);
            read?;
        }
        let len = out.len().min(self.bytes.len() - self.used);
        out[..len].copy_from_slice(&self.bytes[self.used..self.used + len]);
        self.used += len;
        Ok(len)
    }
}

/// Applies a change to what it is a change of; `None` if it does not fit.
pub(super) fn apply(base: &[u8], change: &[u8], max: u64) -> Option<Vec<u8>> {
    let mut from = change.iter().copied();
    let length = |from: &mut dyn Iterator<Item = u8>| -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let next = from.next()?;
            if shift > 56 {
                return None;
            }
            value |= u64::from(next & 0x7f) << shift;
            shift += 7;
            if next & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    if length(&mut from)? != base.len() as u64 {
        return None;
    }
    let size = length(&mut from).filter(|size| *size <= max)?;
    let mut out: Vec<u8> = Vec::new();
    while let Some(code) = from.next() {
        if code & 0x80 == 0 {
            // Zero is reserved.
            let inserted = from.by_ref().take(usize::from(code));
            let before = out.len();
            out.extend(inserted);
            if code == 0 || out.len() - before != usize::from(code) {
                return None;
            }
        } else {
            let mut number = |bits: u8, count: u8| -> Option<usize> {
                let mut value = 0;
                for at in 0..count {
                    if bits & 1 << at != 0 {
                        value |= usize::from(from.next()?) << (8 * at);
                    }
                }
                Some(value)
            };
            let offset = number(code & 15, 4)?;
            let len = match number((code >> 4) & 7, 3)? {
                0 => 0x10000,
                len => len,
            };
            out.extend_from_slice(base.get(offset..offset.checked_add(len)?)?);
        }
        if out.len() as u64 > size {
            return None;
        }
    }
    (out.len() as u64 == size).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::apply;

    #[test]
    fn a_change_copies_and_inserts_and_nothing_else() {
        let base = b"hello world";
        let change = [11, 8, 0x91, 6, 5, 3, b'!', b'!', b'!'];
        assert_eq!(apply(base, &change, 100).unwrap(), b"world!!!");
        assert_eq!(apply(base, &change, 7), None, "too large");
        assert_eq!(apply(b"hello", &change, 100), None, "another base");
        assert_eq!(apply(base, &[11, 5, 0x91, 7, 5], 100), None, "beyond the base");
        assert_eq!(apply(base, &[11, 2, 0, 1], 100), None, "reserved");
        assert_eq!(apply(base, &[11], 100), None, "cut off");
    }
}
