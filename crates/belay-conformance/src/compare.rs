//! The difference of two observed worlds, one readable line for each property that differs.

use crate::walk::{Kind, Seen, World};

/// What a comparison overlooks; the default overlooks nothing that a snapshot must bring back.
#[derive(Clone, Copy, Debug)]
pub struct Ignore {
    /// Overlook mtimes of files, links and special files.
    pub mtime: bool,
    /// Overlook mtimes of directories.
    pub directory_mtime: bool,
    /// Overlook permission bits.
    pub mode: bool,
    /// Overlook user and group.
    pub owner: bool,
    /// Overlook extended attributes and ACLs.
    pub xattrs: bool,
    /// Overlook where the holes of sparse files are.
    pub holes: bool,
    /// Overlook which paths are hard links of one file.
    pub hard_links: bool,
    /// Overlook ctimes, which every restore of a path moves.
    pub ctime: bool,
    /// Overlook inode numbers, which a replaced file changes.
    pub inode: bool,
    /// Overlook the directory itself, the one under the empty name.
    pub top: bool,
}

impl Default for Ignore {
    fn default() -> Ignore {
        Ignore { ctime: true, inode: true, ..Ignore::NOTHING }
    }
}

impl Ignore {
    /// Overlooks nothing: equal worlds were not even touched.
    pub const NOTHING: Ignore = Ignore {
        mtime: false,
        directory_mtime: false,
        mode: false,
        owner: false,
        xattrs: false,
        holes: false,
        hard_links: false,
        ctime: false,
        inode: false,
        top: false,
    };

    /// Overlooks everything but which paths there are, of which type, and what is in them.
    pub const BUT_CONTENT: Ignore = Ignore {
        mtime: true,
        directory_mtime: true,
        mode: true,
        owner: true,
        xattrs: true,
        holes: true,
        hard_links: true,
        ctime: true,
        inode: true,
        top: true,
    };
}

/// Says how `after` differs from `before`; nothing when they are the same.
pub fn diff_worlds(before: &World, after: &World, ignore: Ignore) -> Vec<String> {
    let mut lines = Vec::new();
    let considered = |path: &[u8]| !(ignore.top && path.is_empty());
    for (path, old) in before.iter().filter(|(path, _)| considered(path)) {
        match after.get(path) {
            Some(new) => compare(&crate::show(path), old, new, ignore, &mut lines),
            None => lines.push(format!("{}: {:?} is missing", crate::show(path), old.kind)),
        }
    }
    for (path, new) in after.iter().filter(|(path, _)| considered(path)) {
        if !before.contains_key(path) {
            lines.push(format!("{}: {:?} is new", crate::show(path), new.kind));
        }
    }
    lines
}

fn compare(path: &str, old: &Seen, new: &Seen, ignore: Ignore, lines: &mut Vec<String>) {
    if old.kind != new.kind {
        lines.push(format!("{path}: {:?} became {:?}", old.kind, new.kind));
        return;
    }
    let directory = old.kind == Kind::Directory;
    let ignore_mtime = if directory { ignore.directory_mtime } else { ignore.mtime };
    let mut property = |name: &str, equal: bool, was: String, is: String| {
        if !equal {
            lines.push(format!("{path}: {name} was {was}, is {is}"));
        }
    };
    macro_rules! same {
        ($name:literal, $field:ident, $text:expr) => {
            property($name, old.$field == new.$field, $text(&old.$field), $text(&new.$field))
        };
    }
    if !ignore.mode {
        same!("mode", mode, |mode: &u32| format!("{mode:04o}"));
    }
    if !directory {
        same!("size", size, u64::to_string);
    }
    if old.content != new.content {
        property("content", false, head(old), head(new));
    }
    same!("link text", link, |link: &Option<Vec<u8>>| format!("{:?}", link.as_deref().map(crate::show)));
    same!("device", device, debug);
    same!("immutable", immutable, bool::to_string);
    same!("append-only", append_only, bool::to_string);
    same!("unreadable", unreadable, bool::to_string);
    if !ignore_mtime {
        same!("mtime", mtime, debug);
    }
    if !ignore.owner {
        same!("user", uid, u32::to_string);
        same!("group", gid, u32::to_string);
    }
    if !ignore.xattrs && old.xattrs != new.xattrs {
        property("xattrs", false, xattrs(old), xattrs(new));
    }
    if !ignore.holes {
        same!("data", data, debug);
    }
    if !ignore.hard_links {
        same!("hard link of", same_file_as, |path: &Option<Vec<u8>>| {
            format!("{:?}", path.as_deref().map(crate::show))
        });
    }
    if !ignore.ctime {
        same!("ctime", ctime, debug);
    }
    if !ignore.inode {
        same!("inode", inode, u64::to_string);
    }
}

fn debug<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}")
}

fn head(seen: &Seen) -> String {
    format!("\"{}\" ({} bytes)", crate::show(&seen.head), seen.size)
}

fn xattrs(seen: &Seen) -> String {
    let pairs: Vec<_> =
        seen.xattrs.iter().map(|(name, value)| format!("{}={}", crate::show(name), crate::show(value))).collect();
    format!("[{}]", pairs.join(", "))
}
