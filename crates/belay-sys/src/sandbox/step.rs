//! One thing that a process does to itself before it becomes a program.
//!
//! Invariants: running a step allocates nothing; a path of the new root is reached from the new root's handle and no
//! link is followed on the way, so that a tree that is bound into it cannot lead a later mount elsewhere.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::kernel;

/// What one may do on a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Nothing can be written.
    pub read_only: bool,
    /// Nothing can be executed.
    pub no_exec: bool,
    /// Device files work; they do not elsewhere.
    pub devices: bool,
}

/// An instruction of a filter of system calls, laid out as the kernel wants it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// How far to jump if true.
    pub if_true: u8,
    /// How far to jump if false.
    pub if_false: u8,
    /// The operand.
    pub operand: u32,
}

/// One step. Paths of the new root have no leading slash; paths of the old one are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes to a file of the old root, as into `/proc/self/uid_map`.
    Write {
        /// The file.
        path: CString,
        /// The bytes, in one write.
        bytes: Vec<u8>,
    },
    /// Becomes another user for good, with every privilege that there is until [`Step::DropCapabilities`].
    Become {
        /// The user's number.
        uid: u32,
        /// The group's number.
        gid: u32,
        /// The numbers of all further groups.
        groups: Vec<u32>,
    },
    /// Gives the machine a name.
    HostName(Vec<u8>),
    /// Starts the loopback interface.
    Loopback,
    /// Makes an empty root over the present one, which stays reachable by its paths until [`Step::EnterRoot`].
    NewRoot,
    /// Makes a directory in the new root; one that is there is as good.
    Directory {
        /// Where.
        path: CString,
        /// Its mode.
        mode: u32,
    },
    /// Makes a file in the new root.
    File {
        /// Where.
        path: CString,
        /// Its mode.
        mode: u32,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// Makes a symbolic link in the new root.
    Link {
        /// Where.
        path: CString,
        /// Its text.
        target: CString,
    },
    /// Shows a tree of the old root, and what is mounted in it, at a path of the new one.
    Bind {
        /// The tree or file.
        from: CString,
        /// Where, which must be there.
        to: CString,
        /// What one may do there.
        attributes: Attributes,
    },
    /// Shows something of the new root at another path of it.
    BindWithin {
        /// What.
        from: CString,
        /// Where, which must be there.
        to: CString,
        /// What one may do there.
        attributes: Attributes,
    },
    /// Takes the present root, of namespaces that were entered, for the new one.
    OpenRoot,
    /// Shows something of the new root at another path of it, unless something is mounted there or nothing is there.
    Cover {
        /// What.
        from: CString,
        /// Where.
        to: CString,
        /// What one may do there.
        attributes: Attributes,
    },
    /// Mounts a filesystem at a path of the new root.
    Mount {
        /// Its type.
        kind: CString,
        /// Its options; one without a value is a flag.
        options: Vec<(CString, Option<CString>)>,
        /// Where.
        to: CString,
        /// What one may do there.
        attributes: Attributes,
    },
    /// Makes the mount at a path of the new root read-only, but not those beneath it; the empty path is the root.
    Seal(CString),
    /// Takes the mount at a path of the new root away; whoever uses it keeps it.
    Detach(CString),
    /// Removes an empty directory or a file of the new root.
    Remove(CString),
    /// Leaves the old root for good.
    EnterRoot,
    /// Changes the working directory, after [`Step::EnterRoot`].
    ChangeDirectory(CString),
    /// Limits a resource.
    Limit {
        /// Which, see [`Limited`].
        resource: Limited,
        /// How much, for good.
        maximum: u64,
    },
    /// Gives up every capability for good.
    DropCapabilities,
    /// Nothing executed from here on can gain privileges.
    NoNewPrivileges,
    /// Allows some access beneath a path of the present root in the recipe's Landlock ruleset.
    Allow {
        /// The path, absolute; one that is not there is left out.
        path: CString,
        /// The kernel's bits for what is allowed.
        access: u64,
    },
    /// Allows the files that are the standard streams to be opened by their names, for what they are open for already.
    AllowStreams {
        /// The kernel's bits for reading.
        read: u64,
        /// The kernel's bits for writing.
        write: u64,
        /// The kernel's bits for a terminal or another device.
        device: u64,
    },
    /// Puts the process under the recipe's Landlock ruleset.
    Restrict,
    /// Adds a filter of system calls.
    Filter(Vec<Instruction>),
    /// Adds a filter of which somebody is told, or another one where somebody else is told already; the last step.
    Notify {
        /// The filter.
        program: Vec<Instruction>,
        /// The other one.
        otherwise: Vec<Instruction>,
    },
}

/// A resource that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Bytes of a core dump.
    CoreBytes,
    /// Processes and threads of this user.
    Processes,
    /// Open files of one process.
    OpenFiles,
    /// Bytes of a file.
    FileBytes,
    /// Seconds of processor time of one process.
    CpuSeconds,
    /// Bytes of address space of one process.
    AddressBytes,
}

/// What steps hand on to later steps.
pub(super) struct Place {
    /// The new root, or -1.
    pub(super) root: RawFd,
    /// The ruleset, or -1.
    pub(super) ruleset: RawFd,
    /// Where refused calls are told, or -1.
    pub(super) listener: RawFd,
}

type Done = Result<(), Errno>;

impl Step {
    pub(super) fn run(&self, place: &mut Place) -> Done {
        match self {
            Step::Write { path, bytes } => write_file(path, bytes),
            Step::Become { uid, gid, groups } => become_user(*uid, *gid, groups),
            Step::HostName(name) => rustix::system::sethostname(name),
            Step::Loopback => kernel::loopback_up(),
            Step::NewRoot => new_root(place),
            Step::Directory { path, mode } => make_directory(place, path, *mode),
            Step::File { path, mode, bytes } => make_file(place, path, *mode, bytes),
            Step::Link { path, target } => rustix::fs::symlinkat(target.as_c_str(), place.root()?, path.as_c_str()),
            Step::Bind { from, to, attributes } => bind(CWD, from, place, to, *attributes),
            Step::BindWithin { from, to, attributes } => bind(place.root()?, from, place, to, *attributes),
            Step::OpenRoot => open_root(place),
            Step::Cover { from, to, attributes } => match needs_cover(place, to)? {
                true => bind(place.root()?, from, place, to, *attributes),
                false => Ok(()),
            },
            Step::Mount { kind, options, to, attributes } => mount(place, kind, options, to, *attributes),
            Step::Seal(path) => seal(place, path),
            Step::Detach(path) => detach(place, path),
            Step::Remove(path) => remove(place, path),
            Step::EnterRoot => enter_root(place),
            Step::ChangeDirectory(path) => rustix::process::chdir(path.as_c_str()),
            Step::Limit { resource, maximum } => limit(*resource, *maximum),
            Step::DropCapabilities => drop_capabilities(),
            Step::NoNewPrivileges => rustix::thread::set_no_new_privs(true),
            Step::Allow { path, access } => allow(place, path, *access),
            Step::AllowStreams { read, write, device } => allow_streams(place, *read, *write, *device),
            Step::Restrict => kernel::landlock_restrict(place.ruleset),
            Step::Filter(program) => kernel::add_filter(program),
            Step::Notify { program, otherwise } => match kernel::add_told_filter(program) {
                Ok(listener) => {
                    place.listener = listener;
                    Ok(())
                }
                Err(_) => kernel::add_filter(otherwise),
            },
        }
    }
}

impl Place {
    fn root(&self) -> Result<BorrowedFd<'static>, Errno> {
        if self.root < 0 {
            return Err(Errno::BADF);
        }
        Ok(kernel::borrow_for_ever(self.root))
    }

    /// Opens a directory of the new root, or of the present one once that was entered.
    pub(super) fn open_directory(&self, path: &CStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match self.root() {
            Ok(root) => rustix::fs::openat(root, path, flags, Mode::empty()),
            Err(_) => rustix::fs::open(path, flags, Mode::empty()),
        }
    }

    /// Opens a path of the new root for use as a place, following no link.
    fn open(&self, path: &CStr) -> Result<OwnedFd, Errno> {
        if path.is_empty() {
            return rustix::io::fcntl_dupfd_cloexec(self.root()?, 3);
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(self.root()?, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
    }
}

impl Attributes {
    fn flags(self) -> MountAttrFlags {
        let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
        flags.set(MountAttrFlags::MOUNT_ATTR_RDONLY, self.read_only);
        flags.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, self.no_exec);
        flags.set(MountAttrFlags::MOUNT_ATTR_NODEV, !self.devices);
        flags
    }
}

fn write_file(path: &CStr, bytes: &[u8]) -> Done {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let written = rustix::io::write(&file, bytes)?;
    if written == bytes.len() { Ok(()) } else { Err(Errno::IO) }
}

fn become_user(uid: u32, gid: u32, groups: &[u32]) -> Done {
    kernel::become_user(uid, gid, groups)?;
    // Who becomes somebody else keeps what is permitted, and may use none of it until it says so.
    let kept = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { effective: kept.permitted, ..kept })
}

fn new_root(place: &mut Place) -> Done {
    // Nothing that is mounted here may reach the rest of the machine, nor the other way round.
    rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let root = new_filesystem(c"tmpfs", &[], Attributes { devices: true, ..Attributes::default() })?;
    rustix::fs::chmodat(&root, c".", Mode::from_raw_mode(0o755), AtFlags::empty())?;
    rustix::mount::move_mount(&root, c"", CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    place.root = root.as_raw_fd();
    // It stays open until the program is executed.
    std::mem::forget(root);
    Ok(())
}

fn open_root(place: &mut Place) -> Done {
    let root = rustix::fs::open(c"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    place.root = root.as_raw_fd();
    std::mem::forget(root);
    Ok(())
}

/// Whether something is at a path and belongs to the mount of the directory that it is in.
fn needs_cover(place: &Place, path: &CStr) -> Result<bool, Errno> {
    let found = match place.open(path) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
        Err(error) => return Err(error),
    };
    // A path holds at most this much, and nothing may be allocated here.
    let mut above = [0_u8; libc::PATH_MAX as usize];
    let bytes = path.to_bytes();
    let length = bytes.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    above.get_mut(..length).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(&bytes[..length]);
    let above = CStr::from_bytes_until_nul(&above).map_err(|_| Errno::NAMETOOLONG)?;
    let mount = |handle: &OwnedFd| {
        let wanted = rustix::fs::StatxFlags::MNT_ID;
        rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, wanted).map(|found| found.stx_mnt_id)
    };
    Ok(mount(&found)? == mount(&place.open(above)?)?)
}

fn make_directory(place: &Place, path: &CStr, mode: u32) -> Done {
    match rustix::fs::mkdirat(place.root()?, path, Mode::from_raw_mode(mode)) {
        Ok(()) => rustix::fs::chmodat(place.root()?, path, Mode::from_raw_mode(mode), AtFlags::empty()),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_file(place: &Place, path: &CStr, mode: u32, bytes: &[u8]) -> Done {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(place.root()?, path, flags, Mode::from_raw_mode(0o600))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))
}

fn bind(directory: BorrowedFd<'_>, from: &CStr, place: &Place, to: &CStr, attributes: Attributes) -> Done {
    // Whoever looked at the path found no link on it; one that is there now was put there by somebody else.
    let found = rustix::fs::openat2(
        directory,
        from,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(&found, c"", flags | OpenTreeFlags::AT_EMPTY_PATH)?;
    kernel::set_mount_attributes(tree.as_raw_fd(), u64::from(attributes.flags().bits()), true)?;
    attach(place, &tree, to)
}

fn attach(place: &Place, mount: &OwnedFd, to: &CStr) -> Done {
    let target = place.open(to)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, c"", &target, c"", flags)
}

fn mount(
    place: &Place,
    kind: &CStr,
    options: &[(CString, Option<CString>)],
    to: &CStr,
    attributes: Attributes,
) -> Done {
    // An overlay names its upper directory by a path, which lies in the new root.
    rustix::process::fchdir(place.root()?)?;
    let mount = new_filesystem(kind, options, attributes)?;
    rustix::process::chdir(c"/")?;
    attach(place, &mount, to)
}

fn new_filesystem(
    kind: &CStr,
    options: &[(CString, Option<CString>)],
    attributes: Attributes,
) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        match value {
            Some(value) => rustix::mount::fsconfig_set_string(&context, key.as_c_str(), value.as_c_str())?,
            None => rustix::mount::fsconfig_set_flag(&context, key.as_c_str())?,
        }
    }
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes.flags())
}

fn seal(place: &Place, path: &CStr) -> Done {
    let mount = place.open(path)?;
    kernel::set_mount_attributes(mount.as_raw_fd(), u64::from(MountAttrFlags::MOUNT_ATTR_RDONLY.bits()), false)
}

fn detach(place: &Place, path: &CStr) -> Done {
    // There is no call that takes a mount away by its handle; nothing but us has been in this root yet.
    rustix::process::fchdir(place.root()?)?;
    rustix::mount::unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?;
    rustix::process::chdir(c"/")
}

fn remove(place: &Place, path: &CStr) -> Done {
    match rustix::fs::unlinkat(place.root()?, path, AtFlags::empty()) {
        Err(Errno::ISDIR) => rustix::fs::unlinkat(place.root()?, path, AtFlags::REMOVEDIR),
        answer => answer,
    }
}

fn enter_root(place: &mut Place) -> Done {
    rustix::process::fchdir(place.root()?)?;
    // The old root ends up on top of the new one, from where it is taken away.
    rustix::process::pivot_root(c".", c".")?;
    rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")?;
    kernel::close(place.root);
    place.root = -1;
    Ok(())
}

fn limit(resource: Limited, maximum: u64) -> Done {
    let resource = match resource {
        Limited::CoreBytes => Resource::Core,
        Limited::Processes => Resource::Nproc,
        Limited::OpenFiles => Resource::Nofile,
        Limited::FileBytes => Resource::Fsize,
        Limited::CpuSeconds => Resource::Cpu,
        Limited::AddressBytes => Resource::As,
    };
    // A lower limit than ours stays; raising one is not ours to do.
    let before = rustix::process::getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(maximum, |limit| limit.min(maximum)));
    let wanted = Rlimit { current: least(before.current), maximum: least(before.maximum) };
    rustix::process::setrlimit(resource, wanted)
}

/// Gives up every capability and whatever could bring one back.
pub(super) fn drop_capabilities() -> Done {
    kernel::drop_bounding_set();
    // A kernel without ambient capabilities has none to clear.
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

fn allow(place: &Place, path: &CStr, access: u64) -> Done {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(handle) => kernel::landlock_allow(place.ruleset, handle.as_raw_fd(), access),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

fn allow_streams(place: &Place, read: u64, write: u64, device: u64) -> Done {
    for stream in 0..=2 {
        let stream = kernel::borrow_for_ever(stream);
        let (Ok(found), Ok(flags)) = (rustix::fs::fstat(stream), rustix::fs::fcntl_getfl(stream)) else { continue };
        let access = match (FileType::from_raw_mode(found.st_mode), flags & OFlags::RWMODE) {
            (FileType::CharacterDevice, _) => device,
            // A rule on a directory would be one for all that is beneath it.
            (FileType::Directory, _) => continue,
            (_, OFlags::RDONLY) => read,
            (_, OFlags::WRONLY) => write,
            _ => read | write,
        };
        match kernel::landlock_allow(place.ruleset, stream.as_raw_fd(), access) {
            // A pipe or a socket needs no rule.
            Ok(()) | Err(Errno::BADFD | Errno::INVAL | Errno::BADF) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
