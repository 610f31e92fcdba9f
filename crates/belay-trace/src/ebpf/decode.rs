//! From the bytes in the ring to records.
//!
//! Invariants: long argument lists come in parts, which belong to the last exec of the same process; whatever else that
//! process does next ends them. Bytes that make no sense are no record.

use std::collections::HashMap;

use belay_event::{Ended, Raw};

use crate::table::{Image, Record};

const FORK: u32 = 1;
const EXEC: u32 = 2;
const ARGUMENTS: u32 = 3;
const EXIT: u32 = 4;

const HEADER_BYTES: usize = 16;
const EXEC_BYTES: usize = HEADER_BYTES + 24;

/// Remembers execs whose arguments are still coming.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    partial: HashMap<u32, Partial>,
}

#[derive(Debug)]
struct Partial {
    at: u64,
    image: Image,
    arguments: Vec<u8>,
    total: usize,
}

impl Decoder {
    /// Reads one item of the ring.
    pub(super) fn take(&mut self, item: &[u8], out: &mut Vec<Record>) {
        let (Some(kind), Some(pid), Some(at)) = (u32_at(item, 0), u32_at(item, 4), u64_at(item, 8)) else { return };
        if kind == ARGUMENTS {
            self.more(pid, item, out);
            return;
        }
        self.finish(pid, out);
        match kind {
            FORK => out.extend(u32_at(item, 16).map(|child| Record::Fork { at, parent: pid, child })),
            EXIT => out.extend(u32_at(item, 16).map(|status| Record::Exit { at, pid, ended: ended(status) })),
            EXEC => {
                if let Some(partial) = exec(pid, at, item) {
                    let complete = partial.arguments.len() >= partial.total;
                    self.partial.insert(pid, partial);
                    if complete {
                        self.finish(pid, out);
                    }
                }
            }
            _ => {}
        }
    }

    fn more(&mut self, pid: u32, item: &[u8], out: &mut Vec<Record>) {
        let Some(partial) = self.partial.get_mut(&pid) else { return };
        let part = u32_at(item, 16).and_then(|length| item.get(24..24 + length as usize)).unwrap_or_default();
        partial.arguments.extend_from_slice(part);
        // An empty part could not be read, and those after it would not be in their place.
        if part.is_empty() || partial.arguments.len() >= partial.total {
            self.finish(pid, out);
        }
    }

    fn finish(&mut self, pid: u32, out: &mut Vec<Record>) {
        let Some(Partial { at, mut image, arguments, total }) = self.partial.remove(&pid) else { return };
        image.cut = arguments.len() < total;
        image.argv = words(&arguments);
        out.push(Record::Exec { at, image: Box::new(image) });
    }
}

fn exec(pid: u32, at: u64, item: &[u8]) -> Option<Partial> {
    let field = |index: usize| u32_at(item, HEADER_BYTES + 4 * index);
    let (cwd, exe, inline) = (field(2)? as usize, field(3)? as usize, field(4)? as usize);
    let data = item.get(EXEC_BYTES..)?;
    let image = Image {
        pid,
        ppid: field(0)?,
        uid: field(1)?,
        cwd: Raw::from(path(data.get(..cwd)?)),
        exe: Raw::from(path(data.get(cwd..cwd + exe)?)),
        ..Image::default()
    };
    let arguments = data.get(cwd + exe..cwd + exe + inline)?.to_vec();
    Some(Partial { at, image, arguments, total: field(5)? as usize })
}

/// Names from the innermost to the outermost, each with its zero byte, as a path.
pub(super) fn path(names: &[u8]) -> Vec<u8> {
    let names = names.strip_suffix(&[0]).unwrap_or(names);
    if names.is_empty() {
        return b"/".to_vec();
    }
    let mut path = Vec::with_capacity(names.len() + 1);
    for name in names.rsplit(|byte| *byte == 0) {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    path
}

/// Arguments that each end with a zero byte; the last may be cut.
fn words(arguments: &[u8]) -> Vec<Raw> {
    if arguments.is_empty() {
        return Vec::new();
    }
    let arguments = arguments.strip_suffix(&[0]).unwrap_or(arguments);
    arguments.split(|byte| *byte == 0).map(Raw::from).collect()
}

/// As `wait` encodes it.
fn ended(status: u32) -> Ended {
    match status & 0x7f {
        0 => Ended::Code((status >> 8 & 0xff) as i32),
        signal => Ended::Signal(signal as i32),
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: u32, pid: u32, fields: &[u32], data: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_ne_bytes(), pid.to_ne_bytes()].concat();
        bytes.extend_from_slice(&7u64.to_ne_bytes());
        bytes.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        bytes.extend_from_slice(data);
        bytes
    }

    fn read(items: &[Vec<u8>]) -> Vec<Record> {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        for item in items {
            decoder.take(item, &mut out);
        }
        out
    }

    #[test]
    fn arguments_in_parts_are_one_list() {
        let exec = item(EXEC, 5, &[4, 1000, 8, 8, 4, 7], b"src\0a b\0env\0bin\0x\0yy");
        let other = item(FORK, 9, &[10, 0], &[]);
        let more = item(ARGUMENTS, 5, &[3, 0], b"\0z\0");
        let image = Image {
            pid: 5,
            ppid: 4,
            uid: 1000,
            argv: ["x", "yy", "z"].map(Raw::from).to_vec(),
            exe: Raw::from("/bin/env"),
            cwd: Raw::from("/a b/src"),
            cut: false,
        };
        let fork = Record::Fork { at: 7, parent: 9, child: 10 };
        assert_eq!(read(&[exec, other, more]), [fork, Record::Exec { at: 7, image: Box::new(image) }]);
    }

    #[test]
    fn a_list_that_is_broken_off_says_so() {
        let exec = item(EXEC, 5, &[4, 0, 0, 0, 2, 100], b"x\0");
        let records = read(&[exec, item(EXIT, 5, &[256, 0], &[])]);
        let Record::Exec { image, .. } = &records[0] else { panic!("{records:?}") };
        assert!(image.cut);
        assert_eq!(image.cwd, Raw::from("/"));
        assert_eq!(records[1], Record::Exit { at: 7, pid: 5, ended: Ended::Code(1) });
    }

    #[test]
    fn an_empty_argument_is_an_argument() {
        assert_eq!(words(b"a\0\0b\0\0"), ["a", "", "b", ""].map(Raw::from));
        assert_eq!(words(b"\0"), [Raw::from("")]);
        assert_eq!(words(b""), Vec::new());
    }

    #[test]
    fn a_signal_is_no_exit_code() {
        assert_eq!(ended(0x89), Ended::Signal(9));
        assert_eq!(ended(3 << 8), Ended::Code(3));
    }

    #[test]
    fn nonsense_is_no_record() {
        assert_eq!(read(&[Vec::new(), vec![1; 9], item(EXEC, 1, &[1], &[]), item(77, 1, &[], &[])]), Vec::new());
        assert_eq!(read(&[item(EXEC, 1, &[1, 1, 9_999, 1, 1, 1], b"short")]), Vec::new());
    }
}
