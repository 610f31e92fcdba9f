//! System calls that name paths: which argument names one, and what is wanted of it.
//!
//! Invariant: what is listed is observed and never refused because of being listed.

/// What a call wants of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wanted {
    /// To see, read or execute it.
    Read,
    /// To make, change or remove it.
    Write,
}

/// A call that names one path or two.
#[derive(Clone, Copy, Debug)]
pub struct PathCall {
    /// Its name.
    pub name: &'static str,
    /// Its number.
    pub number: i32,
    /// The paths.
    pub operands: &'static [Operand],
}

/// One path of a call.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Which argument is the directory that the path begins at; without it, that is the process's own.
    pub directory: Option<u8>,
    /// Which argument points to the path.
    pub path: u8,
    want: Want,
}

/// How one tells what is wanted.
#[derive(Clone, Copy, Debug)]
enum Want {
    Always(Wanted),
    /// By the flags for opening, in this argument.
    Flags(u8),
    /// By the flags that this argument points to.
    FlagsBehind(u8),
}

const READ: Want = Want::Always(Wanted::Read);
const WRITE: Want = Want::Always(Wanted::Write);

impl Operand {
    const fn new(directory: Option<u8>, path: u8, want: Want) -> Operand {
        Operand { directory, path, want }
    }

    /// What a call with these arguments wants; `behind` reads eight bytes of the caller's memory.
    pub fn wanted(&self, arguments: &[u64; 6], behind: impl Fn(u64) -> Option<u64>) -> Wanted {
        let argument = |at: u8| arguments[usize::from(at)];
        match self.want {
            Want::Always(wanted) => wanted,
            Want::Flags(at) => of_flags(argument(at)),
            Want::FlagsBehind(at) => behind(argument(at)).map_or(Wanted::Read, of_flags),
        }
    }
}

fn of_flags(flags: u64) -> Wanted {
    // Only the lower half counts, and a number that is not known here means nothing to us.
    let flags = flags as i32;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    if writes { Wanted::Write } else { Wanted::Read }
}

macro_rules! calls {
    ($($name:literal $number:ident [$(($directory:expr, $path:literal, $want:expr)),+],)*) => {
        &[$(PathCall {
            name: $name,
            number: libc::$number as i32,
            operands: &[$(Operand::new($directory, $path, $want)),+],
        }),*]
    };
}

/// Every call that is observed, in the numbering of this machine.
pub const PATH_CALLS: &[&[PathCall]] = &[COMMON, OLD];

const COMMON: &[PathCall] = calls! {
    "openat" SYS_openat [(Some(0), 1, Want::Flags(2))],
    "openat2" SYS_openat2 [(Some(0), 1, Want::FlagsBehind(2))],
    "mkdirat" SYS_mkdirat [(Some(0), 1, WRITE)],
    "mknodat" SYS_mknodat [(Some(0), 1, WRITE)],
    "unlinkat" SYS_unlinkat [(Some(0), 1, WRITE)],
    "renameat2" SYS_renameat2 [(Some(0), 1, WRITE), (Some(2), 3, WRITE)],
    "linkat" SYS_linkat [(Some(0), 1, READ), (Some(2), 3, WRITE)],
    "symlinkat" SYS_symlinkat [(Some(1), 2, WRITE)],
    "fchmodat" SYS_fchmodat [(Some(0), 1, WRITE)],
    "fchmodat2" SYS_fchmodat2 [(Some(0), 1, WRITE)],
    "fchownat" SYS_fchownat [(Some(0), 1, WRITE)],
    "utimensat" SYS_utimensat [(Some(0), 1, WRITE)],
    "truncate" SYS_truncate [(None, 0, WRITE)],
    "execve" SYS_execve [(None, 0, READ)],
    "execveat" SYS_execveat [(Some(0), 1, READ)],
    "chdir" SYS_chdir [(None, 0, READ)],
    "newfstatat" SYS_newfstatat [(Some(0), 1, READ)],
    "statx" SYS_statx [(Some(0), 1, READ)],
    "faccessat" SYS_faccessat [(Some(0), 1, READ)],
    "faccessat2" SYS_faccessat2 [(Some(0), 1, READ)],
    "readlinkat" SYS_readlinkat [(Some(0), 1, READ)],
};

/// Those of before there were calls that begin at a directory; newer machines have none of them.
#[cfg(target_arch = "x86_64")]
const OLD: &[PathCall] = calls! {
    "open" SYS_open [(None, 0, Want::Flags(1))],
    "creat" SYS_creat [(None, 0, WRITE)],
    "mkdir" SYS_mkdir [(None, 0, WRITE)],
    "rmdir" SYS_rmdir [(None, 0, WRITE)],
    "mknod" SYS_mknod [(None, 0, WRITE)],
    "unlink" SYS_unlink [(None, 0, WRITE)],
    "rename" SYS_rename [(None, 0, WRITE), (None, 1, WRITE)],
    "renameat" SYS_renameat [(Some(0), 1, WRITE), (Some(2), 3, WRITE)],
    "link" SYS_link [(None, 0, READ), (None, 1, WRITE)],
    "symlink" SYS_symlink [(None, 1, WRITE)],
    "chmod" SYS_chmod [(None, 0, WRITE)],
    "chown" SYS_chown [(None, 0, WRITE)],
    "lchown" SYS_lchown [(None, 0, WRITE)],
    "stat" SYS_stat [(None, 0, READ)],
    "lstat" SYS_lstat [(None, 0, READ)],
    "access" SYS_access [(None, 0, READ)],
    "readlink" SYS_readlink [(None, 0, READ)],
};
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[PathCall] = &[];

/// The call of that number, if it names paths.
pub fn path_call(number: i32) -> Option<&'static PathCall> {
    PATH_CALLS.iter().copied().flatten().find(|call| call.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_tell_what_is_wanted() {
        let open = path_call(libc::SYS_openat as i32).unwrap();
        let wanted = |flags: i32| open.operands[0].wanted(&[0, 0, flags as u64, 0, 0, 0], |_| None);
        assert_eq!(wanted(libc::O_RDONLY | libc::O_CLOEXEC), Wanted::Read);
        assert_eq!(wanted(libc::O_WRONLY), Wanted::Write);
        assert_eq!(wanted(libc::O_RDONLY | libc::O_CREAT), Wanted::Write);
        let newer = path_call(libc::SYS_openat2 as i32).unwrap();
        let behind = |at: u64| (at == 7).then_some(libc::O_RDWR as u64);
        assert_eq!(newer.operands[0].wanted(&[0, 0, 7, 0, 0, 0], behind), Wanted::Write);
        assert!(path_call(libc::SYS_read as i32).is_none());
    }

    #[test]
    fn a_number_is_listed_once() {
        let mut numbers: Vec<i32> = PATH_CALLS.iter().copied().flatten().map(|call| call.number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
