//! Writes a snapshot as a pax archive, parents before children, in the order of names.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::Ordering;

use belay_store::{Entry, Hash, Kind, Links, Manifest, Meta, Segment, Store, View};
use tar::{EntryType, Header};

use super::{Note, acl};
use crate::error::{Error, Result};
use crate::workspace::Work;

const BLOCK: usize = 512;
/// What fits into the fields of a header.
const SIZE_MAX: u64 = 0o77_777_777_777;
const ID_MAX: u64 = 0o7_777_777;
const NAME_MAX: usize = 100;

/// What takes an archive's bytes, and is told where the objects in it begin.
pub(crate) trait Sink: Write {
    /// The next bytes are an object.
    fn object(&mut self, _key: &Hash, _len: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that does not care where objects begin.
struct Plain<'a>(&'a mut dyn Write);

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sink for Plain<'_> {}

/// The bytes of a file's object, given the file's path, and where in the file it begins and how long it is.
pub(crate) type ReadObject<'a> = dyn Fn(&[u8], &Hash, (u64, u64)) -> belay_store::Result<Vec<u8>> + 'a;

/// Writes the snapshot; returns how many entries it has.
pub(crate) fn write(store: &Store, manifest: &Manifest, out: &mut dyn Write, work: Work<'_>) -> Result<u64> {
    write_from(store, manifest, &mut Plain(out), &|_, key, _| store.read(key), work)
}

/// Writes the snapshot with content that `read` gives.
pub(crate) fn write_from(
    store: &Store,
    manifest: &Manifest,
    out: &mut dyn Sink,
    read: &ReadObject<'_>,
    work: Work<'_>,
) -> Result<u64> {
    let links = leaders(&manifest.links(store)?);
    let note = note(store, manifest, &links)?;
    let mut writer = Writer { view: View::stored(store), out, read, work, links, written: HashMap::new() };
    writer.global(&note.text())?;
    let count = writer.tree(&manifest.root)?;
    // An archive ends with two empty blocks.
    writer.out.write_all(&[0; 2 * BLOCK]).map_err(Error::Output)?;
    Ok(count)
}

/// What tar has no place for, found by a walk of its own because it comes first.
fn note(store: &Store, manifest: &Manifest, groups: &HashMap<Vec<u8>, usize>) -> Result<Note> {
    let root = (store.algorithm(), manifest.identity);
    let (filter, coverage) = (manifest.filter(store)?, manifest.coverage(store)?);
    let (sockets, links, flags) = (Vec::new(), Vec::new(), Vec::new());
    let mut note = Note { root, filter, coverage, sockets, links, flags };
    let mut firsts: HashMap<usize, Vec<u8>> = HashMap::new();
    walk(View::stored(store), &manifest.root, &mut |path, entry| {
        if entry.kind == Kind::Socket {
            match groups.get(path).and_then(|group| firsts.get(group)) {
                Some(first) => note.links.push((path.to_vec(), first.clone())),
                None => note.sockets.push((path.to_vec(), entry.meta.clone())),
            }
            if let Some(group) = groups.get(path) {
                firsts.entry(*group).or_insert_with(|| path.to_vec());
            }
        }
        if entry.meta.immutable || entry.meta.append_only {
            note.flags.push((path.to_vec(), entry.meta.immutable, entry.meta.append_only));
        }
        Ok(())
    })?;
    Ok(note)
}

/// Calls `each` with every captured entry, parents before children.
fn walk(view: View<'_>, root: &Entry, each: &mut dyn FnMut(&[u8], &Entry) -> Result<()>) -> Result<()> {
    let mut stack = vec![(Vec::new(), root.clone())];
    while let Some((path, entry)) = stack.pop() {
        each(&path, &entry)?;
        let Kind::Dir { node, .. } = &entry.kind else { continue };
        let node = view.node(node)?;
        for inner in node.entries.iter().rev().filter(|inner| !inner.is_opaque()) {
            let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
            stack.push(([&path, slash, &inner.name].concat(), inner.clone()));
        }
    }
    Ok(())
}

/// Each path that has other names, with the number of its group.
fn leaders(links: &Links) -> HashMap<Vec<u8>, usize> {
    let numbered = links.groups.iter().enumerate();
    numbered.flat_map(|(number, group)| group.iter().map(move |path| (path.clone(), number))).collect()
}

struct Writer<'a> {
    view: View<'a>,
    out: &'a mut dyn Sink,
    read: &'a ReadObject<'a>,
    work: Work<'a>,
    /// The group of each path that has other names.
    links: HashMap<Vec<u8>, usize>,
    /// The first name that each group was written by.
    written: HashMap<usize, Vec<u8>>,
}

impl Writer<'_> {
    fn tree(&mut self, root: &Entry) -> Result<u64> {
        let mut count = 0;
        let view = self.view;
        walk(view, root, &mut |path, entry| {
            if self.work.stop.load(Ordering::Relaxed) {
                return Err(belay_store::Error::Interrupted.into());
            }
            count += 1;
            self.entry(path, entry)
        })?;
        Ok(count)
    }

    fn entry(&mut self, path: &[u8], entry: &Entry) -> Result<()> {
        let mut name = if path.is_empty() { b".".to_vec() } else { path.to_vec() };
        if matches!(entry.kind, Kind::Dir { .. }) {
            name.push(b'/');
        }
        // Tar knows no sockets; the note does, and what other names they have.
        if matches!(entry.kind, Kind::Socket | Kind::Opaque { .. }) {
            return Ok(());
        }
        if let Some(first) = self.links.get(path).and_then(|group| self.written.get(group)).cloned() {
            return self.header(&name, &entry.meta, EntryType::Link, 0, Extra { link: &first, ..Extra::default() });
        }
        if let Some(group) = self.links.get(path) {
            self.written.insert(*group, path.to_vec());
        }
        let plain = |kind| (kind, Extra::default());
        let (kind, extra) = match &entry.kind {
            Kind::File { size, content } => {
                return self.file((path, &name), entry, *size, &self.view.segments(*size, content)?);
            }
            Kind::Dir { .. } => plain(EntryType::Directory),
            Kind::Symlink(text) => (EntryType::Symlink, Extra { link: text, ..Extra::default() }),
            Kind::Fifo => plain(EntryType::Fifo),
            Kind::CharDevice(device) => (EntryType::Char, Extra { device: *device, ..Extra::default() }),
            Kind::BlockDevice(device) => (EntryType::Block, Extra { device: *device, ..Extra::default() }),
            Kind::Socket | Kind::Opaque { .. } => unreachable!("these are not in an archive"),
        };
        self.work.progress.advance(1, 0);
        self.header(&name, &entry.meta, kind, 0, extra)
    }

    fn file(&mut self, (path, name): (&[u8], &[u8]), entry: &Entry, size: u64, segments: &[Segment]) -> Result<()> {
        let is_sparse = segments.iter().any(|segment| matches!(segment, Segment::Hole { .. }));
        let map = if is_sparse { sparse_map(segments) } else { Vec::new() };
        let data: u64 = segments.iter().filter(|one| matches!(one, Segment::Data { .. })).map(Segment::len).sum();
        let stored = map.len() as u64 + data;
        let extra = Extra { sparse: is_sparse.then_some(size), ..Extra::default() };
        self.header(name, &entry.meta, EntryType::Regular, stored, extra)?;
        self.out.write_all(&map).map_err(Error::Output)?;
        let mut at = 0;
        for segment in segments {
            if let Segment::Data { key, len } = segment {
                let bytes = (self.read)(path, key, (at, *len))?;
                let bytes = checked(&bytes, *len, key)?;
                self.out.object(key, *len).and_then(|()| self.out.write_all(bytes)).map_err(Error::Output)?;
            }
            at += segment.len();
        }
        self.work.progress.advance(1, size);
        self.pad(stored)
    }

    fn header(&mut self, name: &[u8], meta: &Meta, kind: EntryType, size: u64, extra: Extra<'_>) -> Result<()> {
        let records = records(name, meta, size, &extra);
        if !records.is_empty() {
            self.block(
                EntryType::XHeader,
                b"./PaxHeaders/entry",
                records.len() as u64,
                &Meta::default(),
                &Extra::default(),
            )?;
            self.out.write_all(&records).map_err(Error::Output)?;
            self.pad(records.len() as u64)?;
        }
        self.block(kind, name, size, meta, &extra)
    }

    fn global(&mut self, comment: &str) -> Result<()> {
        let mut records = Vec::new();
        record(&mut records, b"comment", comment.as_bytes());
        self.block(
            EntryType::XGlobalHeader,
            b"./PaxHeaders/global",
            records.len() as u64,
            &Meta::default(),
            &Extra::default(),
        )?;
        self.out.write_all(&records).map_err(Error::Output)?;
        self.pad(records.len() as u64)
    }

    fn block(&mut self, kind: EntryType, name: &[u8], size: u64, meta: &Meta, extra: &Extra<'_>) -> Result<()> {
        let mut header = Header::new_ustar();
        fill(&mut header.as_old_mut().name, name);
        fill(&mut header.as_old_mut().linkname, extra.link);
        header.set_entry_type(kind);
        header.set_size(size.min(SIZE_MAX));
        header.set_mode(u32::from(meta.mode));
        header.set_uid(u64::from(meta.uid).min(ID_MAX));
        header.set_gid(u64::from(meta.gid).min(ID_MAX));
        header.set_mtime(u64::try_from(meta.mtime.sec).unwrap_or(0).min(SIZE_MAX));
        if extra.device != 0 {
            let (major, minor) = (rustix::fs::major(extra.device), rustix::fs::minor(extra.device));
            let set = header.set_device_major(major).and_then(|()| header.set_device_minor(minor));
            set.map_err(Error::Output)?;
        }
        header.set_cksum();
        self.out.write_all(header.as_bytes()).map_err(Error::Output)
    }

    fn pad(&mut self, size: u64) -> Result<()> {
        let over = (size % BLOCK as u64) as usize;
        if over == 0 {
            return Ok(());
        }
        self.out.write_all(&[0; BLOCK][over..]).map_err(Error::Output)
    }
}

/// What only some entries have.
#[derive(Clone, Copy, Default)]
struct Extra<'a> {
    link: &'a [u8],
    device: u64,
    /// The whole size of a file with holes.
    sparse: Option<u64>,
}

/// The extended records of an entry: what its header has no room for.
fn records(name: &[u8], meta: &Meta, size: u64, extra: &Extra<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(whole) = extra.sparse {
        record(&mut out, b"GNU.sparse.major", b"1");
        record(&mut out, b"GNU.sparse.minor", b"0");
        record(&mut out, b"GNU.sparse.name", name);
        record(&mut out, b"GNU.sparse.realsize", whole.to_string().as_bytes());
    }
    if name.len() > NAME_MAX {
        record(&mut out, b"path", name);
    }
    if extra.link.len() > NAME_MAX {
        record(&mut out, b"linkpath", extra.link);
    }
    for (key, value, max) in
        [("size", size, SIZE_MAX), ("uid", meta.uid.into(), ID_MAX), ("gid", meta.gid.into(), ID_MAX)]
    {
        if value > max {
            record(&mut out, key.as_bytes(), value.to_string().as_bytes());
        }
    }
    let mtime = meta.mtime;
    if mtime.nsec != 0 || u64::try_from(mtime.sec).is_ok_and(|sec| sec > SIZE_MAX) || mtime.sec < 0 {
        record(&mut out, b"mtime", decimal(mtime.sec, mtime.nsec).as_bytes());
    }
    for (key, value) in &meta.xattrs {
        record(&mut out, &[b"SCHILY.xattr.", escaped(key).as_slice()].concat(), value);
        // In words, too: by these `tar --acls` sets a list, and does not look at the attribute.
        let list = acl::LISTS.iter().find(|(_, attribute)| *attribute == key.as_slice());
        if let Some(((word, _), list)) = list.zip(acl::words(value)) {
            record(&mut out, word, list.as_bytes());
        }
    }
    out
}

/// Appends one record: its length in decimal, which counts itself, and `key=value`.
fn record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    out.extend_from_slice(len.to_string().as_bytes());
    out.push(b' ');
    out.extend_from_slice(key);
    out.push(b'=');
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Seconds with a fraction; before 1970 the fraction counts back from the second, as tar reads it.
fn decimal(sec: i64, nsec: u32) -> String {
    match (sec, nsec) {
        (sec @ ..0, 1..) => {
            let whole = sec + 1;
            format!("-{}.{:09}", whole.unsigned_abs(), 1_000_000_000 - nsec)
        }
        _ => format!("{sec}.{nsec:09}"),
    }
}

/// The name of an attribute, in which `=` would end the key.
fn escaped(name: &[u8]) -> Vec<u8> {
    let one = |byte: &u8| match byte {
        b'=' => b"%3D".to_vec(),
        b'%' => b"%25".to_vec(),
        other => vec![*other],
    };
    name.iter().flat_map(one).collect()
}

/// Where the data of a file with holes is, in GNU's form 1.0: numbers on lines, in whole blocks.
fn sparse_map(segments: &[Segment]) -> Vec<u8> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut at = 0;
    for segment in segments {
        if let Segment::Data { len, .. } = segment {
            match runs.last_mut() {
                Some((offset, so_far)) if *offset + *so_far == at => *so_far += len,
                _ => runs.push((at, *len)),
            }
        }
        at += segment.len();
    }
    // A hole at the end needs an empty run that says where the file ends.
    if runs.last().is_none_or(|(offset, len)| offset + len < at) {
        runs.push((at, 0));
    }
    let mut map = format!("{}\n", runs.len());
    runs.iter().for_each(|(offset, len)| map.push_str(&format!("{offset}\n{len}\n")));
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK), 0);
    map
}

fn fill(field: &mut [u8], bytes: &[u8]) {
    let len = bytes.len().min(field.len());
    field[..len].copy_from_slice(&bytes[..len]);
}

fn checked<'a>(bytes: &'a [u8], len: u64, key: &Hash) -> Result<&'a [u8]> {
    if bytes.len() as u64 == len {
        return Ok(bytes);
    }
    Err(Error::Output(io::Error::other(format!("object {key} is not as long as its file says"))))
}
