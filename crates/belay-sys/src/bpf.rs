//! Programs for the kernel: maps, types, the programs themselves and the tracepoints that they are attached to.
//!
//! Invariants: nothing is asked that the caller did not ask for, since each question to the kernel delays a run's start; what is
//! made lives as long as its descriptor.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;
const TRACEPOINT_OPEN: libc::c_long = 17;
const TYPES_LOAD: libc::c_long = 18;
const MAP_FREEZE: libc::c_long = 22;

const RAW_TRACEPOINT: u32 = 17;
const NAME_BYTES: usize = 16;

/// What a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShape {
    /// The kernel's number of its kind.
    pub kind: u32,
    /// The length of a key.
    pub key_bytes: u32,
    /// The length of a value.
    pub value_bytes: u32,
    /// How many entries, or how many bytes of a ring.
    pub entries_max: u32,
    /// The kernel's flags.
    pub flags: u32,
}

/// A program for a raw tracepoint.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its name, of which the kernel keeps fifteen bytes.
    pub name: &'a str,
    /// The instructions, eight bytes each.
    pub instructions: &'a [u8],
    /// Its licence.
    pub license: &'a CStr,
    /// The types of its functions, from [`load_types`].
    pub types: BorrowedFd<'a>,
    /// Which function begins at which instruction, and its type: two words each.
    pub functions: &'a [u8],
}

#[repr(C)]
#[derive(Default)]
struct CreateRequest {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries_max: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; NAME_BYTES],
}

#[repr(C)]
struct UpdateRequest {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct LoadRequest {
    kind: u32,
    instructions: u32,
    instructions_at: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    attach_type: u32,
    types: u32,
    function_bytes: u32,
    functions_at: u64,
    functions: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Default)]
struct TypesRequest {
    types: u64,
    log: u64,
    bytes: u32,
    log_bytes: u32,
    log_level: u32,
    unused: u32,
}

#[repr(C)]
struct TracepointRequest {
    name: u64,
    program: u32,
    unused: u32,
}

#[repr(C)]
struct FreezeRequest {
    map: u32,
}

/// The length of what the kernel is told of a function, in [`Program::functions`].
pub const FUNCTION_BYTES: usize = 8;
/// The length of an instruction.
pub const INSTRUCTION_BYTES: usize = 8;

/// Makes a map.
pub fn create_map(name: &str, shape: &MapShape) -> io::Result<OwnedFd> {
    let MapShape { kind, key_bytes, value_bytes, entries_max, flags } = *shape;
    let name = short(name);
    let request = CreateRequest { kind, key_bytes, value_bytes, entries_max, flags, name, ..CreateRequest::default() };
    // SAFETY: the request has no pointers.
    unsafe { make(MAP_CREATE, &request) }
}

/// Fills the only entry of an array, and lets nobody change it any more.
pub fn fill_and_freeze(map: BorrowedFd<'_>, shape: &MapShape, value: &[u8]) -> io::Result<()> {
    if shape.key_bytes != 4 || value.len() != shape.value_bytes as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let first = 0_u32;
    let map = map.as_raw_fd().unsigned_abs();
    let request =
        UpdateRequest { map, unused: 0, key: (&raw const first) as u64, value: value.as_ptr() as u64, flags: 0 };
    // SAFETY: key and value are as long as the map has them, and live until the call returns.
    unsafe { call(MAP_UPDATE, &request)? };
    // SAFETY: the request has no pointers.
    unsafe { call(MAP_FREEZE, &FreezeRequest { map })? };
    Ok(())
}

/// Gives the kernel a description of types.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let bytes = length(types)?;
    let request = TypesRequest { types: types.as_ptr() as u64, bytes, ..TypesRequest::default() };
    // SAFETY: the pointer leads to that many bytes, which live until the call returns.
    unsafe { make(TYPES_LOAD, &request) }
}

/// Gives the kernel a program, which it checks first.
pub fn load_program(program: &Program<'_>) -> io::Result<OwnedFd> {
    let request = LoadRequest {
        kind: RAW_TRACEPOINT,
        instructions: length(program.instructions)? / INSTRUCTION_BYTES as u32,
        instructions_at: program.instructions.as_ptr() as u64,
        license: program.license.as_ptr() as u64,
        name: short(program.name),
        types: program.types.as_raw_fd().unsigned_abs(),
        function_bytes: FUNCTION_BYTES as u32,
        functions_at: program.functions.as_ptr() as u64,
        functions: length(program.functions)? / FUNCTION_BYTES as u32,
        ..LoadRequest::default()
    };
    // SAFETY: each pointer leads to as many bytes as are told, the licence ends with a zero byte, and all of them live until
    // the call returns.
    unsafe { make(PROGRAM_LOAD, &request) }
}

/// Runs a program at a raw tracepoint, for as long as the descriptor is open.
pub fn attach_to_tracepoint(program: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd().unsigned_abs();
    let request = TracepointRequest { name: tracepoint.as_ptr() as u64, program, unused: 0 };
    // SAFETY: the name ends with a zero byte and lives until the call returns.
    unsafe { make(TRACEPOINT_OPEN, &request) }
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn short(name: &str) -> [u8; NAME_BYTES] {
    let mut short = [0; NAME_BYTES];
    short.iter_mut().zip(name.bytes().take(NAME_BYTES - 1)).for_each(|(to, from)| *to = from);
    short
}

/// SAFETY: as for [`call`], and the command answers with a descriptor.
unsafe fn make<T>(command: libc::c_long, request: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel just gave us this descriptor and nobody else knows of it.
    unsafe { Ok(OwnedFd::from_raw_fd(call(command, request)?)) }
}

/// SAFETY: `T` is the beginning of what the kernel expects with this command, and its pointers lead to what they say.
unsafe fn call<T>(command: libc::c_long, request: &T) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads as many bytes as it is told, and takes what is missing for zero.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(request), size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as libc::c_int) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    const ARRAY: u32 = 2;

    #[test]
    fn a_map_that_was_frozen_cannot_be_filled_again() {
        if !crate::is_root() {
            return belay_testkit::skip("BPF takes root");
        }
        let shape = MapShape { kind: ARRAY, key_bytes: 4, value_bytes: 8, entries_max: 1, flags: 0 };
        let map = create_map("a_name_that_is_too_long", &shape).unwrap();
        fill_and_freeze(map.as_fd(), &shape, &[7; 8]).unwrap();
        let again = fill_and_freeze(map.as_fd(), &shape, &[8; 8]).unwrap_err();
        assert_eq!(again.raw_os_error(), Some(libc::EPERM));
        let short = fill_and_freeze(map.as_fd(), &shape, &[8; 4]).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        if !crate::is_root() {
            return belay_testkit::skip("BPF takes root");
        }
        assert!(load_types(b"no types").is_err());
        let null = std::fs::File::open("/dev/null").unwrap();
        let program =
            Program { name: "nothing", instructions: &[0; 16], license: c"GPL", types: null.as_fd(), functions: &[] };
        assert!(load_program(&program).is_err());
        assert!(attach_to_tracepoint(null.as_fd(), c"sched_process_fork").is_err());
    }
}
