//! Gives files and directories their owner, attributes, mode, time and flags, in the order in which each survives the next.
//!
//! What the user may not set is noted and does not stop the rest.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, fchown};

use belay_sys::{Dir, Stat, Time};

use super::LeftReason;
use super::difference::settable;
use super::hands::Hands;
use crate::diff::What;
use crate::tree::Meta;

/// What gets its metadata.
#[derive(Clone, Copy)]
pub(super) enum Thing<'a> {
    /// A regular file that is open.
    File { file: &'a File, dir: &'a Dir, name: &'a [u8] },
    /// A name in a directory.
    Name { dir: &'a Dir, name: &'a [u8] },
    /// A directory, by its own handle.
    Itself(&'a Dir),
}

impl Thing<'_> {
    fn stat(&self) -> io::Result<Stat> {
        match self {
            Thing::File { file, .. } => belay_sys::stat_file(file),
            Thing::Name { dir, name } => dir.stat(name),
            Thing::Itself(dir) => dir.stat_self(),
        }
    }

    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        match self {
            Thing::File { file, .. } => fchown(file, Some(uid), Some(gid)),
            Thing::Name { dir, name } => dir.set_owner(name, uid, gid),
            Thing::Itself(dir) => dir.set_self_owner(uid, gid),
        }
    }

    pub(super) fn set_mode(&self, mode: u32) -> io::Result<()> {
        match self {
            Thing::File { file, .. } => file.set_permissions(Permissions::from_mode(mode)),
            Thing::Name { dir, name } => dir.set_mode(name, mode),
            Thing::Itself(dir) => dir.set_self_mode(mode),
        }
    }

    pub(super) fn set_time(&self, mtime: Time) -> io::Result<()> {
        match self {
            Thing::File { file, .. } => belay_sys::set_file_mtime(file, mtime),
            Thing::Name { dir, name } => dir.set_times(name, mtime),
            Thing::Itself(dir) => dir.set_self_times(mtime),
        }
    }

    fn set_xattr(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        match self {
            Thing::File { dir, name, .. } | Thing::Name { dir, name } => dir.set_xattr(name, key, value),
            Thing::Itself(dir) => dir.set_self_xattr(key, value),
        }
    }

    fn remove_xattr(&self, key: &[u8]) -> io::Result<()> {
        match self {
            Thing::File { dir, name, .. } | Thing::Name { dir, name } => dir.remove_xattr(name, key),
            Thing::Itself(dir) => dir.remove_self_xattr(key),
        }
    }

    /// Sets the two flags that stand in the way of changes, and leaves the others.
    pub(super) fn set_flags(&self, immutable: bool, append_only: bool) -> io::Result<()> {
        match self {
            Thing::File { dir, name, .. } | Thing::Name { dir, name } => {
                let flags = dir.inode_flags(name)?;
                dir.set_inode_flags(name, belay_sys::InodeFlags { immutable, append_only, ..flags })
            }
            Thing::Itself(dir) => {
                let flags = dir.self_inode_flags()?;
                dir.set_self_inode_flags(belay_sys::InodeFlags { immutable, append_only, ..flags })
            }
        }
    }
}

/// Sets metadata through the hands of a restore and notes what was refused.
pub(super) struct Dresser<'a> {
    pub(super) hands: &'a Hands<'a>,
    pub(super) as_root: bool,
}

/// What a new thing is to be like.
pub(super) struct Wish<'a> {
    pub(super) meta: &'a Meta,
    /// The time to set, if not the present.
    pub(super) mtime: Option<Time>,
    /// It got an access control list from its directory, which it is not to have unless `meta` says so.
    pub(super) inherits: bool,
    pub(super) has_mode: bool,
}

impl Dresser<'_> {
    /// Gives a new thing all its metadata but the inode flags, which would keep it from being renamed.
    pub(super) fn dress(&self, thing: Thing<'_>, wish: &Wish<'_>) -> io::Result<Option<LeftReason>> {
        let mut refused = None;
        let meta = wish.meta;
        // Most are born as they should be, and asking costs less than setting.
        let born = thing.stat()?;
        let is_anothers = self.as_root && (born.uid, born.gid) != (meta.uid, meta.gid);
        if is_anothers {
            self.ask(&mut refused, || thing.set_owner(meta.uid, meta.gid))?;
        }
        if wish.inherits {
            self.strip(thing)?;
        }
        for (key, value) in settable(&meta.xattrs, self.as_root) {
            self.ask_attribute(&mut refused, || thing.set_xattr(key, value))?;
        }
        // A new owner or access control list changes the mode as well.
        let has_moved = is_anothers || wish.inherits || !meta.xattrs.is_empty();
        if wish.has_mode && (has_moved || born.mode != u32::from(meta.mode)) {
            self.hands.change(|| thing.set_mode(meta.mode.into()))?;
        }
        if let Some(mtime) = wish.mtime {
            self.hands.change(|| thing.set_time(mtime))?;
        }
        Ok(refused)
    }

    /// The mode to make a file or directory with, so that it need not be set afterwards; never more than it may have.
    pub(super) fn birth_mode(&self, meta: &Meta, inherits: bool) -> Option<u32> {
        let is_ours = !self.as_root || (meta.uid, meta.gid) == (0, 0);
        let is_plain = meta.mode & 0o7000 == 0 && meta.xattrs.is_empty() && !inherits;
        (is_ours && is_plain).then_some(meta.mode.into())
    }

    /// Takes away the access control lists that a new thing got from its directory.
    pub(super) fn strip(&self, thing: Thing<'_>) -> io::Result<()> {
        for key in [&b"system.posix_acl_default"[..], b"system.posix_acl_access"] {
            match self.hands.change(|| thing.remove_xattr(key)) {
                // Not a directory, or a file system that forgot its lists meanwhile.
                Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Changes what is there from one set of metadata to another.
    pub(super) fn alter(
        &self,
        thing: Thing<'_>,
        (before, after): (&Meta, &Meta),
        what: What,
        mtime: Option<Time>,
    ) -> io::Result<Option<LeftReason>> {
        let mut refused = None;
        if before.immutable || before.append_only {
            self.ask(&mut refused, || thing.set_flags(false, false))?;
        }
        if what.owner {
            self.ask(&mut refused, || thing.set_owner(after.uid, after.gid))?;
        }
        if what.xattrs {
            self.alter_xattrs(thing, before, after, &mut refused)?;
        }
        // A new owner or access control list changes the mode as well.
        if what.mode || what.owner || what.xattrs {
            self.ask(&mut refused, || thing.set_mode(after.mode.into()))?;
        }
        if let Some(mtime) = mtime {
            self.ask(&mut refused, || thing.set_time(mtime))?;
        }
        if after.immutable || after.append_only {
            self.ask(&mut refused, || thing.set_flags(after.immutable, after.append_only))?;
        }
        Ok(refused)
    }

    fn alter_xattrs(
        &self,
        thing: Thing<'_>,
        before: &Meta,
        after: &Meta,
        refused: &mut Option<LeftReason>,
    ) -> io::Result<()> {
        if !self.as_root && before.mode & 0o200 == 0 {
            self.ask(refused, || thing.set_mode(u32::from(before.mode) | 0o200))?;
        }
        for (key, _) in settable(&before.xattrs, self.as_root) {
            if after.xattrs.iter().all(|(other, _)| other != key) {
                self.ask(refused, || thing.remove_xattr(key))?;
            }
        }
        for pair in settable(&after.xattrs, self.as_root) {
            if !before.xattrs.contains(pair) {
                self.ask_attribute(refused, || thing.set_xattr(&pair.0, &pair.1))?;
            }
        }
        Ok(())
    }

    /// The same for an attribute, whose value a kernel may not take: an archive can say anything.
    fn ask_attribute(
        &self,
        refused: &mut Option<LeftReason>,
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        match self.hands.change(change) {
            Err(error) if is_refusal(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                *refused = Some(LeftReason::of(&error));
            }
            result => result?,
        }
        Ok(())
    }

    /// Makes a change that the user may not be allowed to make; a refusal is noted.
    fn ask(&self, refused: &mut Option<LeftReason>, change: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self.hands.change(change) {
            Err(error) if is_refusal(&error) => *refused = Some(LeftReason::of(&error)),
            result => result?,
        }
        Ok(())
    }
}

/// Whether the system said that this may not be done here, rather than that something is broken.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), PermissionDenied | Unsupported | ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_are_kept_to_the_nanosecond() {
        let file = tempfile::tempfile().unwrap();
        for time in [Time { sec: -1, nsec: 999_999_999 }, Time { sec: 0, nsec: 1 }, Time { sec: 1 << 33, nsec: 0 }] {
            belay_sys::set_file_mtime(&file, time).unwrap();
            assert_eq!(belay_sys::stat_file(&file).unwrap().mtime, time);
        }
    }
}
