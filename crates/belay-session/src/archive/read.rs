//! Reads a tar archive that anybody may have made, entry by entry, into a tree.
//!
//! Nothing is unpacked into a directory: a path is a place in the tree that is being put together, so that no link can
//! lead anywhere. Whatever is not understood is an error, and so is a path that leaves the tree.

use std::io::{self, Read};
use std::sync::atomic::Ordering;

use belay_store::{Algorithm, Assembly, Gap, GapKind, Kind, Meta, Time};
use tar::{EntryType, Header};

use super::Note;
use super::acl::{self, Accounts};
use crate::workspace::Work;

const BLOCK: u64 = 512;
/// Extended headers hold names and attributes; what is larger is an attack.
const EXTENSION_BYTES_MAX: u64 = 64 << 20;
/// More attributes than any filesystem lists of one file.
const XATTRS_MAX: usize = 16 << 10;
/// What the kernel takes of the name and of the value of an attribute.
const XATTR_NAME_BYTES_MAX: usize = 255;
const XATTR_BYTES_MAX: usize = 64 << 10;
/// How much is told of an access control list that means nothing here.
const LIST_SHOWN_MAX: usize = 200;
/// The longest text of a link that a filesystem takes.
const LINK_BYTES_MAX: usize = 4095;
/// What may follow the end: tar fills its last record with zeroes.
const TRAILING_BYTES_MAX: u64 = 64 << 20;
/// The rights that a program has by itself, and what the kernel takes for them: their form, and how long each is.
const CAPABILITIES: &[u8] = b"security.capability";
const CAPABILITIES_FORMS: [(u32, usize); 2] = [(0x0200_0000, 20), (0x0300_0000, 24)];
/// In the form: they are in force without being asked for.
const CAPABILITIES_EFFECTIVE: u32 = 1;
/// Runs of data in a file with holes.
const RUNS_MAX: u64 = 1 << 20;

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It is damaged, hostile or of an unknown form.
    #[error("{0}")]
    Bad(String),
    /// Reading it failed.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The store failed, or refused what is in it.
    #[error("{0}")]
    Store(#[from] belay_store::Error),
}

type Result<T, E = Trouble> = std::result::Result<T, E>;

fn bad<T>(why: impl Into<String>) -> Result<T> {
    Err(Trouble::Bad(why.into()))
}

/// What an archive says beside its files.
#[derive(Default)]
pub(crate) struct Said {
    /// Belay's own note, if it has one.
    pub(crate) note: Option<Note>,
    /// Paths with something that has no place in a tree.
    pub(crate) gaps: Vec<Gap>,
}

/// Puts everything in the archive into the tree; returns what it says beside that.
pub(crate) fn read(from: &mut dyn Read, into: &mut Assembly<'_>, algorithm: Algorithm, work: Work<'_>) -> Result<Said> {
    let (said, extended, accounts) = (Said::default(), Extended::default(), Accounts::here());
    let mut reader = Reader { from, into, algorithm, said, extended, accounts };
    let mut empty = 0;
    let mut entries = 0;
    while empty < 2 {
        if work.stop.load(Ordering::Relaxed) {
            return Err(belay_store::Error::Interrupted.into());
        }
        let mut block = [0; BLOCK as usize];
        if !fill(reader.from, &mut block)? {
            break;
        }
        if block.iter().all(|byte| *byte == 0) {
            empty += 1;
            continue;
        }
        empty = 0;
        entries += 1;
        reader.entry(Header::from_byte_slice(&block))?;
        work.progress.advance(1, 0);
    }
    if entries == 0 {
        return bad("it is empty, or no tar archive");
    }
    // What follows the end is read too, so that a checksum at the very end is checked.
    if io::copy(&mut (&mut *reader.from).take(TRAILING_BYTES_MAX), &mut io::sink())? == TRAILING_BYTES_MAX {
        return bad("too much follows its end");
    }
    reader.finish()
}

struct Reader<'r, 'a, 'b> {
    from: &'r mut dyn Read,
    into: &'a mut Assembly<'b>,
    algorithm: Algorithm,
    said: Said,
    accounts: Accounts,
    /// What extended headers say about the next entry.
    extended: Extended,
}

#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    mtime: Option<Time>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Access control lists in words, by the attribute that each is.
    lists: Vec<(&'static [u8], Vec<u8>)>,
    /// The form of a file with holes, and its whole size.
    sparse: (Option<u64>, Option<u64>, Option<u64>),
    is_old_sparse: bool,
    /// How long the headers were.
    bytes: u64,
}

impl Reader<'_, '_, '_> {
    fn entry(&mut self, header: &Header) -> Result<()> {
        check_sum(header)?;
        let size = header.entry_size()?;
        match header.entry_type() {
            EntryType::XHeader => {
                let text = self.extension(size)?;
                // Several may come before one entry.
                self.extended.bytes += size;
                if self.extended.bytes > EXTENSION_BYTES_MAX {
                    return bad("the extended headers of an entry are larger than any name or attribute");
                }
                self.extended.take(&text)
            }
            EntryType::XGlobalHeader => self.global(size),
            EntryType::GNULongName => {
                self.extended.path = Some(until_nul(self.extension(size)?));
                Ok(())
            }
            EntryType::GNULongLink => {
                self.extended.link = Some(until_nul(self.extension(size)?));
                Ok(())
            }
            _ => {
                let extended = std::mem::take(&mut self.extended);
                self.member(header, extended)
            }
        }
    }

    /// One file, directory or link.
    fn member(&mut self, header: &Header, extended: Extended) -> Result<()> {
        let kind = header.entry_type();
        let given = extended.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
        let path = clean(&given)?;
        let mut meta = meta(header, &extended)?;
        self.lists(&path, &mut meta, &extended, kind);
        if meta.xattrs.iter().any(|(key, value)| !is_attribute(key, value)) {
            return bad(format!("{} has an attribute that no kernel takes", shown(&path)));
        }
        if meta.xattrs.iter().any(|(key, value)| key == CAPABILITIES && !is_capabilities(value)) {
            return bad(format!("{} has capabilities that no kernel takes", shown(&path)));
        }
        let size = extended.size.unwrap_or(header.entry_size()?);
        let is_dir = kind.is_dir() || kind == EntryType::Regular && given.ends_with(b"/");
        match kind {
            _ if is_dir => {
                self.into.put(&path, meta, Kind::empty_dir(self.algorithm))?;
                self.skip(size)
            }
            EntryType::Regular | EntryType::Continuous => self.file(&path, meta, size, &extended),
            EntryType::GNUSparse => self.old_sparse(&path, meta, header),
            EntryType::Link => {
                let to = link_text(header, &extended)?;
                self.into.link(&path, &clean(&to)?)?;
                self.skip(size)
            }
            EntryType::Symlink => {
                let text = link_text(header, &extended)?;
                if text.len() > LINK_BYTES_MAX {
                    return bad("a link in it is longer than any can be");
                }
                Ok(self.into.put(&path, Meta { mode: 0o777, ..meta }, Kind::Symlink(text))?)
            }
            EntryType::Fifo => Ok(self.into.put(&path, meta, Kind::Fifo)?),
            EntryType::Char | EntryType::Block => {
                let number = |value: io::Result<Option<u32>>| Ok::<_, Trouble>(value?.unwrap_or(0));
                let device = rustix::fs::makedev(number(header.device_major())?, number(header.device_minor())?);
                let is_char = kind == EntryType::Char;
                Ok(self.into.put(
                    &path,
                    meta,
                    if is_char { Kind::CharDevice(device) } else { Kind::BlockDevice(device) },
                )?)
            }
            other => bad(format!("it holds an entry of the unknown type {:?}", other.as_byte() as char)),
        }
    }

    /// Adds the access control lists that are there in words.
    fn lists(&mut self, path: &[u8], meta: &mut Meta, extended: &Extended, kind: EntryType) {
        for (name, text) in &extended.lists {
            // The same list in bytes says the same, and more exactly.
            if meta.xattrs.iter().any(|(key, _)| key == name) {
                continue;
            }
            let Some(list) = acl::parse(text, &self.accounts) else {
                let list: String = shown(text).chars().take(LIST_SHOWN_MAX).collect();
                let detail = format!("no access control list of this machine: {list}");
                self.said.gaps.push(Gap { path: path.to_vec(), kind: GapKind::Attributes, detail });
                continue;
            };
            let is_default = *name == acl::LISTS[1].1;
            if !is_default {
                meta.mode = meta.mode & 0o7000 | list.mode;
            }
            if is_default && kind.is_dir() || !is_default && !list.is_mode_alone {
                meta.xattrs.push((name.to_vec(), list.value));
            }
        }
        meta.xattrs.sort();
    }

    fn file(&mut self, path: &[u8], meta: Meta, size: u64, extended: &Extended) -> Result<()> {
        match extended.sparse {
            (None, None, None) if !extended.is_old_sparse => {
                let runs = if size == 0 { Vec::new() } else { vec![(0, size)] };
                self.data(path, meta, size, &runs, size)
            }
            (Some(1), Some(0), Some(whole)) => {
                let (runs, map_len) = self.sparse_map(size)?;
                let data: u64 = runs.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
                if data != size - map_len {
                    return bad("the map of a file with holes does not fit its data");
                }
                self.data(path, meta, whole, &runs, data)
            }
            _ => bad("a file with holes is stored in a form that belay does not read"),
        }
    }

    /// GNU's older form: up to four runs in the header, the rest in blocks that follow it.
    fn old_sparse(&mut self, path: &[u8], meta: Meta, header: &Header) -> Result<()> {
        let Some(gnu) = header.as_gnu() else { return bad("a file with holes has no GNU header") };
        let whole = gnu.real_size()?;
        let mut runs = Vec::new();
        let mut take = |one: &tar::GnuSparseHeader| -> Result<()> {
            if !one.is_empty() {
                runs.push((one.offset()?, one.length()?));
            }
            if runs.len() as u64 > RUNS_MAX { bad("a file has too many holes") } else { Ok(()) }
        };
        gnu.sparse.iter().try_for_each(&mut take)?;
        let mut more = gnu.is_extended();
        while more {
            let mut next = tar::GnuExtSparseHeader::new();
            self.from.read_exact(next.as_mut_bytes())?;
            next.sparse().iter().try_for_each(&mut take)?;
            more = next.is_extended();
        }
        self.data(path, meta, whole, &runs, header.entry_size()?)
    }

    /// Stores a file, of whose runs the archive holds `stored` bytes.
    fn data(&mut self, path: &[u8], meta: Meta, size: u64, runs: &[(u64, u64)], stored: u64) -> Result<()> {
        let runs: Vec<_> = runs.iter().copied().filter(|(_, len)| *len > 0).collect();
        let sum = runs.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
        if sum != stored {
            return bad("the runs of a file with holes are not what the archive holds");
        }
        let kind = self.into.file(size, &runs, &mut (&mut *self.from).take(stored))?;
        self.into.put(path, meta, kind)?;
        self.pad(stored)
    }

    /// The map of a file with holes: numbers on lines, in whole blocks; with its length.
    fn sparse_map(&mut self, size: u64) -> Result<(Vec<(u64, u64)>, u64)> {
        let mut len = 0;
        let mut block: Vec<u8> = Vec::new();
        let mut number = |from: &mut dyn Read| -> Result<u64> {
            let mut value: u64 = 0;
            loop {
                if block.is_empty() {
                    if len + BLOCK > size {
                        return bad("the map of a file with holes is cut off");
                    }
                    let mut next = [0; BLOCK as usize];
                    from.read_exact(&mut next)?;
                    len += BLOCK;
                    block = next.iter().rev().copied().collect();
                }
                match block.pop() {
                    Some(b'\n') => return Ok(value),
                    Some(digit @ b'0'..=b'9') => {
                        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
                        value = next.ok_or_else(|| Trouble::Bad("a number in it is too large".into()))?;
                    }
                    _ => return bad("the map of a file with holes is not readable"),
                }
            }
        };
        let count = number(self.from)?;
        if count > RUNS_MAX {
            return bad("a file has too many holes");
        }
        let mut runs = Vec::new();
        for _ in 0..count {
            runs.push((number(self.from)?, number(self.from)?));
        }
        Ok((runs, len))
    }

    fn global(&mut self, size: u64) -> Result<()> {
        let text = self.extension(size)?;
        records(&text, |key, value| {
            if key == b"comment" {
                let note = std::str::from_utf8(value).ok().and_then(Note::parse);
                if let Some((algorithm, _)) =
                    note.as_ref().map(|note| note.root).filter(|root| root.0 != self.algorithm)
                {
                    self.into.also(algorithm);
                }
                self.said.note = note.or(self.said.note.take());
            }
            Ok(())
        })
    }

    /// The bytes of an extended header.
    fn extension(&mut self, size: u64) -> Result<Vec<u8>> {
        if size > EXTENSION_BYTES_MAX {
            return bad("an extended header is larger than any name or attribute");
        }
        let mut bytes = Vec::new();
        (&mut *self.from).take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size {
            return bad("it is cut off");
        }
        self.pad(size)?;
        Ok(bytes)
    }

    /// Passes over what an entry has that should have nothing.
    fn skip(&mut self, size: u64) -> Result<()> {
        if size > 0 { bad("a directory or link in it has content") } else { Ok(()) }
    }

    fn pad(&mut self, size: u64) -> Result<()> {
        let over = size % BLOCK;
        if over > 0 {
            self.from.read_exact(&mut [0; BLOCK as usize][over as usize..])?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Said> {
        if let Some(note) = &self.said.note {
            for (path, meta) in &note.sockets {
                self.into.put(path, meta.clone(), Kind::Socket)?;
            }
            for (path, first) in &note.links {
                self.into.link(path, first)?;
            }
            for (path, immutable, append_only) in &note.flags {
                self.into.flag(path, *immutable, *append_only);
            }
        }
        Ok(self.said)
    }
}

impl Extended {
    fn take(&mut self, text: &[u8]) -> Result<()> {
        records(text, |key, value| {
            match key {
                b"path" if self.sparse.0.is_none() => self.path = Some(value.to_vec()),
                b"GNU.sparse.name" => self.path = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"size" => self.size = Some(number(value)?),
                b"uid" => self.uid = Some(number(value)?),
                b"gid" => self.gid = Some(number(value)?),
                b"mtime" => self.mtime = Some(time(value)?),
                b"GNU.sparse.major" => self.sparse.0 = Some(number(value)?),
                b"GNU.sparse.minor" => self.sparse.1 = Some(number(value)?),
                b"GNU.sparse.realsize" => self.sparse.2 = Some(number(value)?),
                b"GNU.sparse.map" | b"GNU.sparse.numblocks" | b"GNU.sparse.size" => self.is_old_sparse = true,
                _ => {
                    if let Some(name) = key.strip_prefix(b"SCHILY.xattr.") {
                        self.xattrs.push((unescaped(name), value.to_vec()));
                    } else if let Some((_, name)) = acl::LISTS.iter().find(|(word, _)| *word == key) {
                        self.lists.retain(|(known, _)| known != name);
                        self.lists.push((name, value.to_vec()));
                    }
                }
            }
            if self.xattrs.len() > XATTRS_MAX { bad("an entry in it has too many attributes") } else { Ok(()) }
        })
    }
}

fn meta(header: &Header, extended: &Extended) -> Result<Meta> {
    let id = |value: u64| u32::try_from(value).or_else(|_| bad("an owner in it is out of range"));
    let mut xattrs = extended.xattrs.clone();
    xattrs.sort();
    if xattrs.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return bad("an attribute in it comes twice");
    }
    Ok(Meta {
        mode: (header.mode()? & 0o7777) as u16,
        uid: id(extended.uid.unwrap_or(header.uid()?))?,
        gid: id(extended.gid.unwrap_or(header.gid()?))?,
        mtime: match extended.mtime {
            Some(mtime) => mtime,
            None => Time { sec: i64::try_from(header.mtime()?).unwrap_or(i64::MAX), nsec: 0 },
        },
        xattrs,
        ..Meta::default()
    })
}

fn link_text(header: &Header, extended: &Extended) -> Result<Vec<u8>> {
    let text = extended.link.clone().or_else(|| header.link_name_bytes().map(|name| name.into_owned()));
    match text.filter(|text| !text.is_empty() && !text.contains(&0)) {
        Some(text) => Ok(text),
        None => bad("a link in it leads nowhere"),
    }
}

/// Whether the kernel could have it: a name in some namespace, neither it nor the value too long.
fn is_attribute(name: &[u8], value: &[u8]) -> bool {
    let dot = name.iter().position(|byte| *byte == b'.');
    let is_in_namespace = dot.is_some_and(|dot| dot > 0 && dot + 1 < name.len());
    is_in_namespace && !name.contains(&0) && name.len() <= XATTR_NAME_BYTES_MAX && value.len() <= XATTR_BYTES_MAX
}

fn is_capabilities(value: &[u8]) -> bool {
    let form = value.first_chunk().map(|form| u32::from_le_bytes(*form) & !CAPABILITIES_EFFECTIVE);
    form.is_some_and(|form| CAPABILITIES_FORMS.contains(&(form, value.len())))
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

/// A path without `./`, doubled and closing slashes; one that begins at the root or climbs is refused.
fn clean(path: &[u8]) -> Result<Vec<u8>> {
    if path.starts_with(b"/") {
        return bad(format!("{} is an absolute path", shown(path)));
    }
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    if names.contains(&&b".."[..]) {
        return bad(format!("{} leads out of it", shown(path)));
    }
    Ok(names.join(&b'/'))
}

/// Calls `each` with key and value of every record of an extended header.
fn records(mut text: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    while !text.is_empty() {
        let split = || -> Option<(&[u8], &[u8], &[u8])> {
            let space = text.iter().position(|byte| *byte == b' ')?;
            let len = number(&text[..space]).ok()?;
            let record = text.get(space + 1..usize::try_from(len).ok()?)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            Some((&record[..equals], &record[equals + 1..], &text[len as usize..]))
        };
        let Some((key, value, rest)) = split() else { return bad("an extended header is not readable") };
        each(key, value)?;
        text = rest;
    }
    Ok(())
}

fn number(text: &[u8]) -> Result<u64> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    parsed.map_or_else(|| bad("a number in it is not readable"), Ok)
}

/// Seconds with a fraction, which before 1970 counts back.
fn time(text: &[u8]) -> Result<Time> {
    let parse = || -> Option<Time> {
        let text = std::str::from_utf8(text).ok()?;
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let sec = whole.parse::<i64>().ok()?.checked_mul(sign)?;
        if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
        let nsec: u32 = padded.parse().ok()?;
        Some(if sign < 0 && nsec > 0 { Time { sec: sec - 1, nsec: 1_000_000_000 - nsec } } else { Time { sec, nsec } })
    };
    parse().map_or_else(|| bad("a time in it is not readable"), Ok)
}

fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let (byte, next) = match rest {
            [b'%', b'3', b'D', next @ ..] => (b'=', next),
            [b'%', b'2', b'5', next @ ..] => (b'%', next),
            _ => (*first, after),
        };
        out.push(byte);
        rest = next;
    }
    out
}

fn until_nul(bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes[..end].to_vec()
}

fn check_sum(header: &Header) -> Result<()> {
    let bytes = header.as_bytes();
    let sum: u32 =
        bytes.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) }).sum();
    match header.cksum() {
        Ok(said) if said == sum => Ok(()),
        _ => bad("a header in it is damaged, or it is no tar archive"),
    }
}

/// Fills the block; false if nothing is left.
fn fill(from: &mut dyn Read, block: &mut [u8]) -> Result<bool> {
    let mut filled = 0;
    while filled < block.len() {
        match from.read(&mut block[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return bad("it is cut off"),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}
