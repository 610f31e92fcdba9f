//! The root that a confined program sees, as a list of steps.
//!
//! Invariants: the bare root holds nothing but the way to what is granted, and is read-only in the end; a private copy
//! lies on a filesystem that only the jail has; nothing is created in a tree of the machine.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belay_sys::{Attributes, Maps, Step};

use crate::error::{Error, Result};
use crate::places::{self, Layout, Place};
use crate::policy::{Access, Identity, Kept, Limits, Network, Policy, Replaced, Shown};

/// The largest file that is copied for a program; larger ones are granted as they are or not at all.
const COPY_BYTES_MAX: u64 = 64 << 20;
/// Where private copies are made; taken away before the program starts.
const PRIVATE: &str = ".private";
/// What is shown instead of something hidden; it stays, so that what comes to be seen again can be hidden again.
const HIDDEN_FILE: &str = "dev/.hidden";
const HIDDEN_DIRECTORY: &str = "dev/.hidden-directory";
const READ_ONLY: Attributes = Attributes { read_only: true, no_exec: false, devices: false };
const WRITABLE: Attributes = Attributes { read_only: false, no_exec: false, devices: false };
/// Parts of `/proc` through which whoever owns the machine's files could change the machine; for root there are more.
const PROC_READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];
const PROC_HIDDEN: [&str; 6] = ["acpi", "kcore", "keys", "key-users", "scsi", "timer_list"];
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/ptmx", "pts/ptmx"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
];

/// Where a directory with its kept changes is mounted when nothing but it is wanted.
pub(crate) const MERGED: &str = "merged";

/// A root with nothing but a directory and its kept changes.
///
/// One that is only read has no scratch space: mounting a second time empties that, under the feet of a program.
pub(crate) fn merged(kept: &Kept, writable: bool) -> Result<Vec<Step>> {
    let mut composer = Composer { kept: vec![kept.clone()], ..Composer::default() };
    composer.steps.push(Step::NewRoot);
    composer.directory(MERGED, 0o755);
    match writable {
        true => composer.overlay(&kept.path, plain(MERGED))?,
        false => {
            let layers = [&kept.changes, &kept.path].map(|layer| escape_lower(layer.as_os_str().as_bytes()));
            composer.mount_overlay(vec![(plain("lowerdir"), Some(text_of(&layers.join(&b':'))?))], plain(MERGED));
        }
    }
    Ok(composer.steps)
}

/// The steps so far, and the directories that they made.
#[derive(Default)]
struct Composer {
    steps: Vec<Step>,
    made: BTreeSet<PathBuf>,
    sealed: Vec<CString>,
    copies: usize,
    kept: Vec<Kept>,
}

/// Whoever starts the jail, mapped to whom the program believes to be; or the program becomes somebody else.
///
/// Somebody else is known with everybody: until the root is composed the right to look past modes is needed, which a
/// namespace gives over those alone whom it knows, and a workspace may hold files of anybody.
pub(crate) fn identity(identity: &Identity) -> Result<(Vec<Step>, Option<Maps>)> {
    let (inside, outside) = match identity {
        Identity::Own { uid, gid } => ((uid, gid), (rustix::process::geteuid(), rustix::process::getegid())),
        Identity::Other { uid, gid, groups } => {
            let steps = vec![Step::Become { uid: *uid, gid: *gid, groups: groups.clone() }];
            return Ok((steps, Some(everybody()?)));
        }
    };
    let write = |path: &str, text: String| Step::Write { path: plain(path), bytes: text.into_bytes() };
    let steps = vec![
        write("/proc/self/setgroups", "deny".into()),
        write("/proc/self/uid_map", format!("{} {} 1", inside.0, outside.0.as_raw())),
        write("/proc/self/gid_map", format!("{} {} 1", inside.1, outside.1.as_raw())),
    ];
    Ok((steps, None))
}

/// Everybody by their own numbers.
pub(crate) fn everybody() -> Result<Maps> {
    Maps::everybody().map_err(|source| Error::Look { path: "/proc/self/uid_map".into(), source })
}

/// The machine's name and network.
pub(crate) fn machine(name: &str, network: Network) -> Vec<Step> {
    let mut steps = vec![Step::HostName(name.as_bytes().to_vec())];
    if network == Network::None {
        steps.push(Step::Loopback);
    }
    steps
}

/// The root.
pub(crate) fn root(layout: &Layout, policy: &Policy, terminal: Option<&Path>) -> Result<Vec<Step>> {
    let mut composer = Composer { kept: policy.kept.clone(), ..Composer::default() };
    composer.steps.push(Step::NewRoot);
    composer.private(&policy.limits)?;
    composer.proc();
    composer.devices(terminal)?;
    for place in &layout.places {
        composer.place(place)?;
    }
    for (path, text) in &layout.links {
        composer.parents(path)?;
        composer.steps.push(Step::Link { path: relative(path)?, target: text_of(text.as_os_str().as_bytes())? });
    }
    for shown in &policy.shown {
        composer.shown(shown)?;
    }
    let is_granted = |path: &Path| policy.decides(path).is_some_and(|grant| grant.access == Access::Read);
    for replaced in policy.replaced.iter().filter(|one| is_granted(&one.path)) {
        composer.replaced(replaced)?;
    }
    composer.finish();
    Ok(composer.steps)
}

impl Composer {
    fn private(&mut self, limits: &Limits) -> Result<()> {
        let option = |key: &str, value: String| Ok((plain(key), Some(text_of(value.as_bytes())?)));
        let mut options = vec![option("mode", "0755".into())?];
        if let Some(bytes) = limits.private_bytes {
            options.push(option("size", bytes.to_string())?);
        }
        self.directory(PRIVATE, 0o755);
        self.steps.push(Step::Mount { kind: plain("tmpfs"), options, to: plain(PRIVATE), attributes: WRITABLE });
        self.directory("dev", 0o755);
        self.steps.push(Step::File { path: plain(HIDDEN_FILE), mode: 0, bytes: Vec::new() });
        self.directory(HIDDEN_DIRECTORY, 0);
        Ok(())
    }

    fn proc(&mut self) {
        self.directory("proc", 0o755);
        let attributes = Attributes { no_exec: true, ..WRITABLE };
        self.steps.push(Step::Mount { kind: plain("proc"), options: Vec::new(), to: plain("proc"), attributes });
        for part in parts_of_proc() {
            let path = plain(&format!("proc/{}", part.name));
            let attributes = Attributes { read_only: true, no_exec: true, devices: false };
            match part.hidden {
                true => self.mask(path, part.directory),
                false => self.steps.push(Step::BindWithin { from: path.clone(), to: path, attributes }),
            }
        }
    }

    fn devices(&mut self, terminal: Option<&Path>) -> Result<()> {
        let mut nodes: Vec<(PathBuf, &str)> = Vec::new();
        nodes.extend(DEVICES.iter().map(|name| (Path::new("/dev").join(name), *name)));
        nodes.extend(terminal.map(|terminal| (terminal.to_owned(), "console")));
        for (from, name) in nodes.iter().filter(|(from, _)| from.exists()) {
            let to = plain(&format!("dev/{name}"));
            self.steps.push(Step::File { path: to.clone(), mode: 0o666, bytes: Vec::new() });
            let attributes = Attributes { devices: true, no_exec: true, read_only: false };
            self.steps.push(Step::Bind { from: text_of(from.as_os_str().as_bytes())?, to, attributes });
        }
        self.directory("dev/pts", 0o755);
        let value = |text: &str| Some(plain(text));
        self.steps.push(Step::Mount {
            kind: plain("devpts"),
            options: vec![
                (plain("newinstance"), None),
                (plain("ptmxmode"), value("0666")),
                (plain("mode"), value("0620")),
            ],
            to: plain("dev/pts"),
            attributes: Attributes { devices: true, no_exec: true, read_only: false },
        });
        for (path, target) in DEVICE_LINKS {
            self.steps.push(Step::Link { path: plain(path), target: plain(target) });
        }
        self.directory("dev/shm", 0o755);
        self.empty(plain("dev/shm"), 0o1777);
        Ok(())
    }

    fn place(&mut self, place: &Place) -> Result<()> {
        let to = relative(&place.path)?;
        let from = text_of(place.path.as_os_str().as_bytes())?;
        if place.access == Access::Private && !place.directory {
            return self.copy(place, to);
        }
        self.target(place)?;
        match place.access {
            Access::Read => self.steps.push(Step::Bind { from, to, attributes: READ_ONLY }),
            Access::Write => self.steps.push(Step::Bind { from, to, attributes: WRITABLE }),
            Access::Private => self.overlay(&place.path, to)?,
            Access::Empty => self.empty(to, place.mode),
            Access::Hidden if place.has_inner => {
                self.empty(to.clone(), 0o755);
                self.sealed.push(to);
            }
            Access::Hidden => self.mask(to, place.directory),
        }
        Ok(())
    }

    fn shown(&mut self, shown: &Shown) -> Result<()> {
        self.parents(&shown.at)?;
        let to = relative(&shown.at)?;
        self.steps.push(Step::File { path: to.clone(), mode: 0o644, bytes: Vec::new() });
        let from = text_of(places::real(&shown.from)?.as_os_str().as_bytes())?;
        self.steps.push(Step::Bind { from, to, attributes: READ_ONLY });
        Ok(())
    }

    fn replaced(&mut self, replaced: &Replaced) -> Result<()> {
        if fs::symlink_metadata(&replaced.path).is_ok_and(|found| found.is_file()) {
            let from = self.fresh("replaced");
            self.steps.push(Step::File { path: from.clone(), mode: 0o644, bytes: replaced.bytes.clone() });
            self.steps.push(Step::BindWithin { from, to: relative(&replaced.path)?, attributes: READ_ONLY });
        }
        Ok(())
    }

    /// Makes something to mount on, where the tree beneath does not have it anyway.
    fn target(&mut self, place: &Place) -> Result<()> {
        let bare = matches!(place.beneath, None | Some(Access::Empty | Access::Hidden));
        if !bare || place.path == Path::new("/") {
            return Ok(());
        }
        self.parents(&place.path)?;
        let path = relative(&place.path)?;
        if place.directory {
            self.steps.push(Step::Directory { path, mode: 0o755 });
        } else {
            self.steps.push(Step::File { path, mode: 0o644, bytes: Vec::new() });
        }
        Ok(())
    }

    fn parents(&mut self, path: &Path) -> Result<()> {
        let mut parents: Vec<&Path> = path.ancestors().skip(1).filter(|path| path.parent().is_some()).collect();
        parents.reverse();
        for parent in parents {
            if self.made.insert(parent.to_owned()) {
                self.steps.push(Step::Directory { path: relative(parent)?, mode: 0o755 });
            }
        }
        Ok(())
    }

    /// A file's private copy: in a private directory an ordinary file, so that it can be replaced by renaming.
    fn copy(&mut self, place: &Place, to: CString) -> Result<()> {
        let look = |source| Error::Look { path: place.path.clone(), source };
        let bytes = fs::metadata(&place.path).map_err(look)?.len();
        if bytes > COPY_BYTES_MAX {
            return Err(Error::TooLarge { path: place.path.clone(), bytes });
        }
        let bytes = fs::read(&place.path).map_err(look)?;
        let mode = place.mode & 0o777;
        if matches!(place.beneath, Some(Access::Empty)) {
            self.parents(&place.path)?;
            self.steps.push(Step::File { path: to, mode, bytes });
            return Ok(());
        }
        self.target(place)?;
        let from = self.fresh("copy");
        self.steps.push(Step::File { path: from.clone(), mode, bytes });
        self.steps.push(Step::BindWithin { from, to, attributes: WRITABLE });
        Ok(())
    }

    fn overlay(&mut self, lower: &Path, to: CString) -> Result<()> {
        let (upper, work) = match self.kept.iter().find(|kept| kept.path == lower) {
            Some(kept) => (text_of(kept.changes.as_os_str().as_bytes())?, text_of(kept.work.as_os_str().as_bytes())?),
            None => (self.fresh_directory("upper"), self.fresh_directory("work")),
        };
        let layers = vec![
            (plain("lowerdir"), Some(text_of(&escape_lower(lower.as_os_str().as_bytes()))?)),
            (plain("upperdir"), Some(upper)),
            (plain("workdir"), Some(work)),
        ];
        self.mount_overlay(layers, to);
        Ok(())
    }

    fn mount_overlay(&mut self, layers: Vec<(CString, Option<CString>)>, to: CString) {
        let mut options = layers;
        // Without an index the changes can be looked at while a program makes more of them.
        options.extend([(plain("userxattr"), None), (plain("index"), Some(plain("off")))]);
        self.steps.push(Step::Mount { kind: plain("overlay"), options, to, attributes: WRITABLE });
    }

    fn empty(&mut self, to: CString, mode: u32) {
        let from = self.fresh("empty");
        self.steps.push(Step::Directory { path: from.clone(), mode });
        self.steps.push(Step::BindWithin { from, to, attributes: WRITABLE });
    }

    fn mask(&mut self, to: CString, directory: bool) {
        let from = plain(if directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE });
        self.steps.push(Step::BindWithin { from, to, attributes: READ_ONLY });
    }

    fn directory(&mut self, path: &str, mode: u32) {
        self.made.insert(Path::new("/").join(path));
        self.steps.push(Step::Directory { path: plain(path), mode });
    }

    fn fresh_directory(&mut self, what: &str) -> CString {
        let path = self.fresh(what);
        self.steps.push(Step::Directory { path: path.clone(), mode: 0o755 });
        path
    }

    fn fresh(&mut self, what: &str) -> CString {
        self.copies += 1;
        plain(&format!("{PRIVATE}/{what}-{}", self.copies))
    }

    fn finish(&mut self) {
        self.steps.push(Step::Detach(plain(PRIVATE)));
        self.steps.push(Step::Remove(plain(PRIVATE)));
        let sealed = std::mem::take(&mut self.sealed);
        self.steps.extend(sealed.into_iter().map(Step::Seal));
        self.steps.push(Step::Seal(plain("")));
        self.steps.push(Step::EnterRoot);
    }
}

/// A part of `/proc` that is about the machine and not about a process.
struct PartOfProc {
    name: String,
    directory: bool,
    hidden: bool,
}

/// The parts that cannot be left as they are.
///
/// Root stays the owner of all of them, whom the kernel lets write without asking for a capability: of what nobody else
/// may read nothing is left, and the rest can only be read.
fn parts_of_proc() -> Vec<PartOfProc> {
    let is_root = belay_sys::is_root();
    let part = |name: String| {
        let found = fs::symlink_metadata(Path::new("/proc").join(&name)).ok().filter(|found| !found.is_symlink())?;
        let (mode, directory) = (found.mode(), found.is_dir());
        let hidden = PROC_HIDDEN.contains(&name.as_str()) || (is_root && mode & 0o004 == 0);
        let changes = PROC_READ_ONLY.contains(&name.as_str()) || (is_root && (directory || mode & 0o222 != 0));
        (hidden || changes).then_some(PartOfProc { name, directory, hidden })
    };
    let names: Vec<String> = match is_root {
        true => {
            let names = fs::read_dir("/proc").into_iter().flatten().flatten();
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            names.filter(|name| !name.starts_with(|first: char| first.is_ascii_digit())).collect()
        }
        false => PROC_READ_ONLY.into_iter().chain(PROC_HIDDEN).map(str::to_owned).collect(),
    };
    names.into_iter().filter_map(part).collect()
}

/// The step that lays a place over the tree beneath it once more, if somebody outside took it away there.
///
/// The kernel takes a mount away from every namespace in which its place is removed or another file renamed to it.
pub(crate) fn cover(place: &Place) -> Result<Option<Step>> {
    let to = relative(&place.path)?;
    let (from, attributes) = match (place.access, place.beneath) {
        (_, None | Some(Access::Empty | Access::Hidden)) => return Ok(None),
        (Access::Read, _) => (to.clone(), READ_ONLY),
        (Access::Write, _) => (to.clone(), WRITABLE),
        (Access::Hidden, _) => (plain(if place.directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE }), READ_ONLY),
        (Access::Private | Access::Empty, _) => return Ok(None),
    };
    Ok(Some(Step::Cover { from, to, attributes }))
}

/// The step that makes a file of a writable tree read-only.
pub(crate) fn read_only(path: &Path) -> Result<Step> {
    let to = relative(path)?;
    Ok(Step::Cover { from: to.clone(), to, attributes: READ_ONLY })
}

/// The step that hides a file of a tree.
pub(crate) fn hidden(path: &Path) -> Result<Step> {
    Ok(Step::Cover { from: plain(HIDDEN_FILE), to: relative(path)?, attributes: READ_ONLY })
}

/// The step that keeps a directory of a writable tree in its place, writable as before.
pub(crate) fn writable_again(path: &Path) -> Result<Step> {
    let to = relative(path)?;
    Ok(Step::Cover { from: to.clone(), to, attributes: WRITABLE })
}

/// An overlay's lower directories are separated by colons.
fn escape_lower(path: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| if b":\\".contains(byte) { vec![b'\\', *byte] } else { vec![*byte] };
    path.iter().flat_map(escape).collect()
}

fn relative(path: &Path) -> Result<CString> {
    let bytes = path.as_os_str().as_bytes();
    text_of(bytes.strip_prefix(b"/").unwrap_or(bytes))
}

/// A text for the kernel.
pub(crate) fn text_of(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::ZeroByte { what: "a path or an argument" })
}

/// A text of ours for the kernel.
pub(crate) fn plain(text: &str) -> CString {
    CString::new(text).expect("our own texts hold no zero byte")
}
