//! Calls that name a path and fail in a jail, as the kernel tells them: the program of `bpf/denials.bpf.c`.
//!
//! Invariants:
//! - nothing is judged here: what fails in the jail is told, whoever asked for it and for whatever reason it failed;
//! - a path that is not there is told only outside of the places that are seen;
//! - nobody waits and nobody is woken: what is there is taken when somebody looks.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use aya::maps::{Array, HashMap, Map, MapData, RingBuf};
use belay_event::At;

use super::decode::{path, u32_at, u64_at};
use super::load::{Loaded, Plan};
use super::{check_machine, map, own_types, unavailable};
use crate::clock::Clock;
use crate::error::Result;

/// Built by `cargo xtask bpf` from the source beside it.
static PROGRAMS: &[u8] = aya::include_bytes_aligned!("../../bpf/denials.bpf.o");

/// The structs in which the program asks where a member lies.
const STRUCTS: [&str; 13] = [
    "task_struct",
    "fs_struct",
    "file",
    "dentry",
    "vfsmount",
    "mount",
    "nsproxy",
    "mnt_namespace",
    "ns_common",
    "super_block",
    "files_struct",
    "fdtable",
    "qstr",
];

/// Where the saved registers keep a call's number and its six arguments.
#[cfg(target_arch = "x86_64")]
const REGISTERS: [u64; 7] = [120, 112, 104, 96, 56, 72, 64];
/// The first argument is saved apart, since its register takes the answer.
#[cfg(target_arch = "aarch64")]
const REGISTERS: [u64; 7] = [280, 272, 8, 16, 24, 32, 40];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: [u64; 7] = [0; 7];

const NAMESPACE: u32 = 0;
const LOST: u32 = 1;
/// Of more places the outermost are enough: what is told too much is judged later.
const PLACES_MAX: usize = 1024;
const CALLS_MAX: i32 = 512;
const HEAD_BYTES: usize = 40;
const DATA_AT: usize = HEAD_BYTES + 8 * 6;

/// One path of a call: which argument is the directory that it begins at, if one is, and which is the path.
pub type PathArgument = (Option<u8>, u8);

/// A call that named a path and failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// When.
    pub at: At,
    /// Its process.
    pub pid: u32,
    /// The parent of that.
    pub ppid: u32,
    /// What it was told, as the kernel numbers it.
    pub errno: i32,
    /// The call's number.
    pub number: i32,
    /// Which of the call's paths.
    pub operand: usize,
    /// The call's arguments.
    pub arguments: [u64; 6],
    /// The path as it was given.
    pub path: Vec<u8>,
    /// The directory that it begins at, if it is relative.
    pub base: Option<Vec<u8>>,
}

/// The program in the kernel, until dropped.
pub struct Denials {
    ring: RingBuf<MapData>,
    states: Array<MapData, u64>,
    places: HashMap<MapData, u64, u32>,
    clock: Clock,
    _attached: OwnedFd,
}

impl std::fmt::Debug for Denials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Denials").finish_non_exhaustive()
    }
}

impl Denials {
    /// Whether they can be seen here, as far as one can tell without trying.
    pub fn is_possible() -> bool {
        check_machine().is_ok() && REGISTERS[0] != 0
    }

    /// Loads and attaches; nothing is told before [`Denials::watch`].
    pub fn load<'a>(calls: impl IntoIterator<Item = (i32, &'a [PathArgument])>) -> Result<Denials> {
        check_machine()?;
        if REGISTERS[0] == 0 {
            return Err(super::lacking("nobody knows how this machine's calls are made"));
        }
        let types = own_types(&STRUCTS)?;
        let registers = REGISTERS.map(u64::to_ne_bytes);
        let constant = ("registers", registers.as_flattened());
        let plan = Plan { object: PROGRAMS, types: &types, constant, entries: &[] };
        let mut loaded = Loaded::new(&plan).map_err(unavailable)?;
        let ring = RingBuf::try_from(Map::RingBuf(map(&mut loaded, "denials")?)).map_err(unavailable)?;
        let states = Array::try_from(Map::Array(map(&mut loaded, "states")?)).map_err(unavailable)?;
        let places = HashMap::try_from(Map::HashMap(map(&mut loaded, "places")?)).map_err(unavailable)?;
        let known = Map::Array(map(&mut loaded, "calls")?);
        let mut known: Array<MapData, u32> = Array::try_from(known).map_err(unavailable)?;
        for (number, arguments) in calls {
            if let Some(index) = u32::try_from(number).ok().filter(|_| number < CALLS_MAX) {
                known.set(index, packed(arguments), 0).map_err(unavailable)?;
            }
        }
        let _attached = loaded.attach("on_return", "sys_exit").map_err(unavailable)?;
        Ok(Denials { ring, states, places, clock: Clock::start(), _attached })
    }

    /// Tells of the mount namespace of this process from now on; `places` are its paths, and whether the machine's own
    /// files are seen there.
    pub fn watch<'a>(&mut self, pid: u32, places: impl IntoIterator<Item = (&'a Path, bool)>) -> Result<()> {
        for (place, is_seen) in places.into_iter().take(PLACES_MAX) {
            self.places.insert(hash(place.as_os_str().as_bytes()), u32::from(is_seen), 0).map_err(unavailable)?;
        }
        let name = std::fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap_or_default();
        let number = name.to_str().and_then(|name| name.strip_prefix("mnt:[")?.strip_suffix(']')?.parse().ok());
        let number: u64 = number.ok_or_else(|| super::lacking("the jail's namespace has no number"))?;
        self.states.set(NAMESPACE, number, 0).map_err(unavailable)
    }

    /// Appends everything that was told since the last time.
    pub fn drain(&mut self, out: &mut Vec<Denial>) {
        while let Some(item) = self.ring.next() {
            out.extend(read(&item, &self.clock));
        }
    }

    /// How many could not be told.
    pub fn lost(&self) -> u64 {
        self.states.get(&LOST, 0).unwrap_or(0)
    }
}

/// The arguments of both paths in one word, as the program reads it.
fn packed(arguments: &[PathArgument]) -> u32 {
    let one = |(directory, path): &PathArgument| {
        u32::from(directory.map_or(0, |directory| directory + 1)) | u32::from(path + 1) << 8
    };
    arguments.iter().take(2).enumerate().map(|(at, argument)| one(argument) << (16 * at)).sum()
}

/// FNV-1a, as the program computes it.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn read(item: &[u8], clock: &Clock) -> Option<Denial> {
    let word = |at: usize| u32_at(item, at);
    let (path_bytes, base_bytes) = (word(28)? as usize, word(32)? as usize);
    let data = item.get(DATA_AT..)?;
    let given = data.get(..path_bytes)?;
    let base = data.get(path_bytes..path_bytes.checked_add(base_bytes)?)?;
    let given = given.strip_suffix(&[0]).unwrap_or(given);
    let mut arguments = [0; 6];
    for (at, argument) in arguments.iter_mut().enumerate() {
        *argument = u64_at(item, HEAD_BYTES + 8 * at)?;
    }
    Some(Denial {
        at: clock.wall(u64_at(item, 0)?),
        pid: word(8)?,
        ppid: word(12)?,
        errno: word(16)?.cast_signed().checked_neg()?,
        number: word(20)?.cast_signed(),
        operand: word(24)? as usize,
        arguments,
        path: given.to_vec(),
        base: (!given.starts_with(b"/")).then(|| path(base)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_paths_of_a_call_fit_into_one_word() {
        assert_eq!(packed(&[(None, 0)]), 0x0100);
        assert_eq!(packed(&[(Some(0), 1), (Some(2), 3)]), 0x0403_0201);
    }

    #[test]
    fn nonsense_is_no_denial() {
        let clock = Clock::fixed(0);
        assert_eq!(read(&[], &clock), None);
        let mut item = vec![0; DATA_AT];
        item[28] = 200;
        assert_eq!(read(&item, &clock), None);
    }

    #[test]
    fn a_relative_path_comes_with_where_it_begins() {
        let mut item = vec![0; DATA_AT];
        item[16..20].copy_from_slice(&(-13i32).to_ne_bytes());
        item[28] = 4;
        item[32] = 8;
        item.extend_from_slice(b"key\0ssh\0etc\0");
        let denial = read(&item, &Clock::fixed(0)).unwrap();
        assert_eq!((denial.errno, denial.path, denial.base), (13, b"key".to_vec(), Some(b"/etc/ssh".to_vec())));
    }
}
