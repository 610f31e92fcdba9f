//! A disk in memory that can lose its power: what was not synced is then kept, cut, zeroed or lost, as a seed says.
//!
//! Names change one at a time, and a rename is atomic; names that changed since the last sync of their directory may
//! each be as before or as after, whatever their order was.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use belay_store::{Disk, DiskFile, DiskWrite, Lock, LockMode};

/// How the machine ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// The process died; the kernel writes out everything it was given.
    Death,
    /// The power went; the seed decides over what was not synced.
    PowerLoss(u64),
}

#[derive(Clone, Default)]
pub(crate) struct Twin {
    state: Arc<Mutex<State>>,
    locks: Arc<Locks>,
    /// A real directory, for what does not pass through the disk.
    place: Option<PathBuf>,
}

#[derive(Default)]
struct Locks {
    held: Mutex<HashMap<String, (usize, bool)>>,
    released: Condvar,
}

#[derive(Clone, Default)]
struct State {
    names: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    pending: Vec<Rename>,
    files: HashMap<u64, Bytes>,
    next: u64,
    operations: u64,
    /// The operation that does not happen any more; zero means that there is none.
    last: u64,
}

#[derive(Clone, Default)]
struct Bytes {
    all: Vec<u8>,
    synced: usize,
}

/// A change of names in one directory that nobody synced yet.
#[derive(Clone)]
struct Rename {
    gone: Option<String>,
    new: Option<(String, u64)>,
}

impl Rename {
    fn is_in(&self, dir: &str) -> bool {
        let names = self.gone.iter().chain(self.new.as_ref().map(|(name, _)| name));
        names.into_iter().any(|name| dir_of(name) == dir)
    }

    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        if let Some(gone) = &self.gone {
            names.remove(gone);
        }
        if let Some((name, id)) = &self.new {
            names.insert(name.clone(), *id);
        }
    }
}

fn dir_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn off() -> io::Error {
    io::Error::other("the machine is off")
}

impl Twin {
    /// A disk beside a real directory, whose content is always durable.
    #[allow(dead_code, reason = "the session's tests use it")]
    pub(crate) fn beside(place: &Path) -> Twin {
        Twin { place: Some(place.to_path_buf()), ..Twin::default() }
    }

    /// Lets the machine end before its `operation`-th change of the disk, counted from now.
    pub(crate) fn end_at(&self, operation: u64) {
        let mut state = self.state.lock().unwrap();
        (state.operations, state.last) = (0, operation);
    }

    /// How many changes were asked for since [`Twin::end_at`].
    pub(crate) fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    /// The disk as the next process finds it.
    pub(crate) fn after(&self, end: End) -> Twin {
        let state = self.state.lock().unwrap();
        let (mut names, mut files) = (state.names.clone(), state.files.clone());
        if let End::PowerLoss(seed) = end {
            let mut dice = Dice(seed);
            names = state.durable.clone();
            for rename in state.pending.iter().filter(|_| dice.roll(2) == 0) {
                rename.apply(&mut names);
            }
            let mut ids: Vec<u64> = files.keys().copied().collect();
            ids.sort_unstable();
            ids.iter().for_each(|id| files.get_mut(id).unwrap().lose(&mut dice));
        }
        files.values_mut().for_each(|bytes| bytes.synced = bytes.all.len());
        let (durable, pending) = (names.clone(), Vec::new());
        let state = State { names, durable, pending, files, next: state.next, operations: 0, last: 0 };
        Twin { state: Arc::new(Mutex::new(state)), locks: Arc::default(), place: self.place.clone() }
    }

    /// The disk as another process finds it, with everything that is not yet durable.
    pub(crate) fn without_the_process(&self) -> Twin {
        let state = self.state.lock().unwrap();
        let state = State { operations: 0, last: 0, ..state.clone() };
        Twin { state: Arc::new(Mutex::new(state)), locks: Arc::default(), place: self.place.clone() }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock().unwrap();
        state.operations += 1;
        state.check()?;
        change(&mut state)
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        if self.last > 0 && self.operations >= self.last { Err(off()) } else { Ok(()) }
    }

    fn rename(&mut self, rename: Rename) {
        rename.apply(&mut self.names);
        self.pending.push(rename);
    }

    fn find(&self, name: &str) -> io::Result<u64> {
        self.check()?;
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make(&mut self, name: &str) -> u64 {
        self.next += 1;
        self.files.insert(self.next, Bytes::default());
        self.rename(Rename { gone: None, new: Some((name.to_string(), self.next)) });
        self.next
    }
}

impl Bytes {
    fn lose(&mut self, dice: &mut Dice) {
        let unsynced = self.all.len() - self.synced;
        if unsynced == 0 {
            return;
        }
        let keep = self.synced + dice.roll(unsynced as u64 + 1) as usize;
        match dice.roll(4) {
            0 => {}
            1 => self.all.truncate(self.synced),
            2 => self.all.truncate(keep),
            // The length arrived and the blocks did not.
            _ => self.all[keep..].fill(0),
        }
    }
}

/// A small generator of numbers, so that a seed tells a run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % sides
    }
}

struct Reader(Twin, u64);

impl DiskFile for Reader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.0.state.lock().unwrap();
        state.check()?;
        let bytes = state.files[&self.1].all.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.0.state.lock().unwrap();
        state.check()?;
        Ok(state.files[&self.1].all.len() as u64)
    }
}

struct Writer(Twin, u64);

impl DiskWrite for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        state.operations += 1;
        let outcome = state.check();
        let arrives = match outcome {
            Ok(()) => bytes.len(),
            // The write during which it ended got as far as it got.
            Err(_) if state.operations == state.last => bytes.len() / 2,
            Err(_) => 0,
        };
        state.files.get_mut(&self.1).expect("no file is forgotten").all.extend_from_slice(&bytes[..arrives]);
        outcome
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.change(|state| {
            let file = state.files.get_mut(&self.1).expect("no file is forgotten");
            file.synced = file.all.len();
            Ok(())
        })
    }
}

impl Disk for Twin {
    fn path(&self) -> Option<&Path> {
        self.place.as_deref()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let id = self.state.lock().unwrap().find(name)?;
        Ok(Box::new(Reader(self.clone(), id)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskWrite>> {
        let id = self.change(|state| {
            if state.names.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Ok(state.make(name))
        })?;
        Ok(Box::new(Writer(self.clone(), id)))
    }

    fn append(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskWrite>> {
        let id = self.change(|state| {
            let id = state.names.get(name).copied().unwrap_or_else(|| state.make(name));
            let file = state.files.get_mut(&id).expect("no file is forgotten");
            file.all.truncate(len as usize);
            file.synced = file.synced.min(len as usize);
            Ok(id)
        })?;
        Ok(Box::new(Writer(self.clone(), id)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(|state| {
            let id = state.find(from)?;
            state.rename(Rename { gone: Some(from.to_string()), new: Some((to.to_string(), id)) });
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|state| {
            state.find(name)?;
            state.rename(Rename { gone: Some(name.to_string()), new: None });
            Ok(())
        })
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, u64)>> {
        let state = self.state.lock().unwrap();
        state.check()?;
        let inside = state.names.iter().filter(|(name, _)| dir_of(name) == dir);
        let row = |(name, id): (&String, &u64)| {
            let last = name.rsplit('/').next().unwrap_or_default();
            (last.to_string(), state.files[id].all.len() as u64)
        };
        Ok(inside.map(row).collect())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.change(|state| {
            let (done, pending) = std::mem::take(&mut state.pending).into_iter().partition(|one| one.is_in(dir));
            state.pending = pending;
            let done: Vec<Rename> = done;
            done.iter().for_each(|rename| rename.apply(&mut state.durable));
            Ok(())
        })
    }

    fn lock(&self, name: &str, mode: LockMode, wait: bool) -> io::Result<Option<Lock>> {
        self.state.lock().unwrap().check()?;
        let mut held = self.locks.held.lock().unwrap();
        loop {
            let (shared, alone) = held.entry(name.to_string()).or_default();
            let free = !*alone && (mode == LockMode::Shared || *shared == 0);
            if free {
                if mode == LockMode::Shared {
                    *shared += 1
                } else {
                    *alone = true
                }
                return Ok(Some(Lock::new(Held(Arc::clone(&self.locks), name.to_string(), mode))));
            }
            if !wait {
                return Ok(None);
            }
            held = self.locks.released.wait(held).unwrap();
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

struct Held(Arc<Locks>, String, LockMode);

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.0.held.lock().unwrap();
        let (shared, alone) = held.get_mut(&self.1).expect("it was taken");
        if self.2 == LockMode::Shared {
            *shared -= 1
        } else {
            *alone = false
        }
        self.0.released.notify_all();
    }
}
