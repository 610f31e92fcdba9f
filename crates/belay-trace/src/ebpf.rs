//! Commands as the kernel tells them: the programs of `bpf/commands.bpf.c`, loaded and read.
//!
//! Invariants:
//! - nothing is assumed: whatever this machine lacks is an error that says what and what to do;
//! - records are read in the order in which the kernel reserved them, so a fork comes before its child's exec;
//! - what did not fit into the ring is counted and told once.

mod decode;
mod denials;
mod load;
mod types;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use aya::maps::{Array, HashMap, Map, MapData, RingBuf};
use aya::{Btf, Endianness};

use crate::error::{Error, Result};
use crate::options::Group;
use crate::table::Record;
use decode::Decoder;
use load::{Loaded, Plan};

pub use denials::{Denial, Denials, PathArgument};

/// Built by `cargo xtask bpf` from the source beside it.
static PROGRAMS: &[u8] = aya::include_bytes_aligned!("../bpf/commands.bpf.o");

const TRACEPOINTS: [(&str, &str); 3] =
    [("on_fork", "sched_process_fork"), ("on_exec", "sched_process_exec"), ("on_exit", "sched_process_exit")];

/// The structs in which the programs ask where a member lies, as `bpf/kernel.h` has them.
const STRUCTS: [&str; 9] =
    ["task_struct", "signal_struct", "mm_struct", "fs_struct", "linux_binprm", "file", "dentry", "vfsmount", "mount"];

/// The kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

const LOST: u32 = 0;
const ASLEEP: u32 = 1;

/// The inode that the kernel gives to the first pid namespace.
const INITIAL_PIDS: &str = "pid:[4026531836]";

/// The programs in the kernel, until dropped.
pub(crate) struct Commands {
    ring: RingBuf<MapData>,
    states: Array<MapData, u64>,
    followed: HashMap<MapData, u32, u32>,
    following: bool,
    decoder: Decoder,
    lost: u64,
    _attached: Vec<OwnedFd>,
}

impl Commands {
    /// Loads and attaches; nothing is told before [`Commands::follow`] or before a process is in the group.
    pub(crate) fn load(group: Option<Group>) -> Result<Commands> {
        check_machine()?;
        let following = group.is_none();
        let group = group.unwrap_or(Group { id: 0, level: 0 });
        let watched = [group.id, u64::from(group.level), u64::from(following)].map(u64::to_ne_bytes);
        let types = own_types(&STRUCTS)?;
        // The kernel makes room for all of them at once, and with a group nobody will be in it.
        let entries: &[_] = if following { &[] } else { &[("followed", 1)] };
        let constant = ("watched", watched.as_flattened());
        let plan = Plan { object: PROGRAMS, types: &types, constant, entries };
        let mut loaded = Loaded::new(&plan).map_err(unavailable)?;
        let ring = RingBuf::try_from(Map::RingBuf(map(&mut loaded, "records")?)).map_err(unavailable)?;
        let states = Array::try_from(Map::Array(map(&mut loaded, "states")?)).map_err(unavailable)?;
        let followed = HashMap::try_from(Map::HashMap(map(&mut loaded, "followed")?)).map_err(unavailable)?;
        let attach = |(name, tracepoint)| loaded.attach(name, tracepoint);
        let attached = TRACEPOINTS.into_iter().map(attach).collect::<std::result::Result<_, _>>();
        let _attached = attached.map_err(unavailable)?;
        Ok(Commands { ring, states, followed, following, decoder: Decoder::default(), lost: 0, _attached })
    }

    /// Follows this process and what it forks from now on; in a group it is followed anyway.
    pub(crate) fn follow(&mut self, pid: u32) -> Result<()> {
        if self.following {
            self.followed.insert(pid, 0, 0).map_err(unavailable)?;
        }
        Ok(())
    }

    /// Appends every record that is there.
    pub(crate) fn drain(&mut self, out: &mut Vec<Record>) {
        while let Some(item) = self.ring.next() {
            self.decoder.take(&item, out);
        }
    }

    /// How many records were lost since the last question.
    pub(crate) fn lost(&mut self) -> u64 {
        let total = self.states.get(&LOST, 0).unwrap_or(self.lost);
        let new = total.saturating_sub(self.lost);
        self.lost = total;
        new
    }

    /// Asks for a wake-up with the next record.
    pub(crate) fn wake_me(&mut self) {
        // Without it a record waits for the next look around, which comes anyway.
        let _ = self.states.set(ASLEEP, 1, 0);
    }
}

impl AsFd for Commands {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

/// The types that the programs name; all that there are if the kernel describes them in a way that we do not know.
fn own_types(structs: &[&str]) -> Result<Btf> {
    let failed = |source| Error::Kernel { what: "read the kernel's types", source };
    let file = File::open(TYPES).map_err(failed)?;
    let length = usize::try_from(file.metadata().map_err(failed)?.len()).unwrap_or(usize::MAX);
    match belay_sys::map_readonly(&file, 0, length) {
        Ok(all) => named_types(&all, structs),
        // Kernels before 6.16 copy it.
        Err(_) => named_types(&std::fs::read(TYPES).map_err(failed)?, structs),
    }
}

fn named_types(all: &[u8], structs: &[&str]) -> Result<Btf> {
    let part = types::cut_out(all, structs);
    Btf::parse(part.as_deref().unwrap_or(all), Endianness::default()).map_err(unavailable)
}

/// Whether the kernel lets us load the programs, as far as one can tell without trying.
pub(crate) fn check_machine() -> Result<()> {
    if !belay_sys::is_root() {
        return Err(lacking("it takes root, or CAP_BPF and CAP_PERFMON"));
    }
    if !Path::new(TYPES).exists() {
        return Err(lacking("this kernel was built without BTF (CONFIG_DEBUG_INFO_BTF)"));
    }
    // Both the programs and fanotify number processes as the first namespace does or as the reader does; only there
    // are these the same.
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if namespace != Path::new(INITIAL_PIDS) {
        return Err(lacking("belay runs inside a pid namespace; run it outside of the container"));
    }
    Ok(())
}

fn map(loaded: &mut Loaded, name: &str) -> Result<MapData> {
    let map = loaded.maps.remove(name).expect("the object was built from a source that has it");
    MapData::from_fd(map).map_err(unavailable)
}

fn lacking(why: &str) -> Error {
    Error::Unavailable { engine: "eBPF", why: why.to_owned() }
}

/// The innermost cause is what a person can act on; the verifier's log is not.
fn unavailable(error: impl std::error::Error) -> Error {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = belay_sys::plain(cause);
    let first = text.lines().next().unwrap_or_default();
    Error::Unavailable { engine: "eBPF", why: format!("the kernel refused the programs: {first}") }
}
