//! What the machine knows about a user: name, home and groups, from wherever its accounts are kept.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr;

/// A user who has an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub name: String,
    /// The user's own group.
    pub gid: u32,
    /// Every group of the user, the own one among them.
    pub groups: Vec<u32>,
    /// Where the home is said to be.
    pub home: PathBuf,
}

/// What is said of a user may be this long at most; whose is longer is taken for somebody without an account.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// As many groups as the kernel lets a process have.
const GROUPS_MAX: usize = 65_536;

/// The account of the user with that number, if there is one.
pub fn account(uid: u32) -> Option<Account> {
    let mut text: Vec<libc::c_char> = vec![0; 1024];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = ptr::null_mut();
        // SAFETY: the buffer is as long as we say, and `found` is either null or the entry that was filled in.
        let answer = unsafe { libc::getpwuid_r(uid, entry.as_mut_ptr(), text.as_mut_ptr(), text.len(), &mut found) };
        match answer {
            libc::ERANGE if text.len() < TEXT_BYTES_MAX => text.resize(text.len() * 4, 0),
            libc::EINTR => {}
            0 if !found.is_null() => {
                // SAFETY: the entry was filled in, and its texts lie in `text`, which lives and ends each with a zero.
                let (name, home, gid) = unsafe {
                    let entry = entry.assume_init();
                    (CStr::from_ptr(entry.pw_name).to_owned(), CStr::from_ptr(entry.pw_dir).to_owned(), entry.pw_gid)
                };
                let groups = groups_of(&name, gid);
                let home = PathBuf::from(OsString::from_vec(home.into_bytes()));
                return Some(Account { name: name.to_string_lossy().into_owned(), gid, groups, home });
            }
            _ => return None,
        }
    }
}

fn groups_of(name: &CString, gid: u32) -> Vec<u32> {
    let mut groups: Vec<libc::gid_t> = vec![0; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the list has as many places as `count` says, and the name ends with a zero.
        let answer = unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &mut count) };
        let wanted = usize::try_from(count).unwrap_or(0);
        if answer >= 0 {
            groups.truncate(wanted);
            return groups;
        }
        if groups.len() >= GROUPS_MAX {
            return vec![gid];
        }
        groups.resize(wanted.max(groups.len() * 2).min(GROUPS_MAX), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_an_account_and_nobody_knows_a_number_that_none_has() {
        let root = account(0).unwrap();
        assert_eq!((root.name.as_str(), root.gid), ("root", 0));
        assert!(root.groups.contains(&0), "{root:?}");
        assert_eq!(account(4_000_000_123), None);
    }
}
