//! Puts what was staged into its place and takes away what has to go, one atomic change after another.
//!
//! Directories come after everything in them, so that a directory is empty when it is removed and its own metadata is
//! set last. Wherever this stops, a new plan made from what is there leads to the same end.

use std::io;

use belay_sys::{Dir, FileType, Stat};

use super::layout::{Act, temp_name};
use super::metadata::Thing;
use super::stage::unreachable_reason;
use super::{Applied, Left, LeftReason, MtimePolicy, Step, Work, durable, split};
use crate::error::{Error, Result};
use crate::tree::{Entry, Kind};

/// So many paths of one directory are worth more than one thread.
const MANY: usize = 64;

/// A disk that frees blocks as files go keeps whoever removes them waiting, so there are more than processors.
const THREADS: usize = 4;

/// Whether what is there is still what was captured.
pub(super) fn is_as(stat: &Stat, entry: &Entry) -> bool {
    let meta = &entry.meta;
    let same_kind = stat.file_type == entry.kind.file_type();
    let same_meta = || stat.mtime == meta.mtime && (stat.uid, stat.gid) == (meta.uid, meta.gid);
    let same_mode = || stat.mode == u32::from(meta.mode);
    same_kind
        && match &entry.kind {
            // What is in a directory is looked at path by path.
            Kind::Dir { .. } => true,
            Kind::File { size, .. } => stat.size == *size && same_meta() && same_mode(),
            Kind::Symlink(text) => stat.size == text.len() as u64 && same_meta(),
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => stat.rdev == *rdev && same_meta() && same_mode(),
            Kind::Fifo | Kind::Socket => same_meta() && same_mode(),
            // Only its mode is going to be changed, so only what is known of it counts.
            Kind::Opaque { .. } => same_meta() && same_mode(),
        }
}

/// How a change of one path ended.
enum Outcome {
    Done,
    /// It is done but for what was refused.
    Partly(LeftReason),
    Left(LeftReason),
}

impl Work<'_> {
    pub(super) fn swap(&mut self, applied: &mut Applied) -> Result<()> {
        let mut done = vec![false; self.layout.acts.len()];
        for site in (0..self.layout.spots.len()).rev() {
            self.swap_site(site, &mut done, applied);
            if self.hands.died() {
                return Err(Error::Interrupted);
            }
            if self.stops_half_way() {
                return Err(Error::HalfDone);
            }
        }
        applied.changed = self.count(&done, applied);
        if self.as_root {
            self.set_flags(&done, applied);
        }
        self.make_durable(&done).map_err(Error::workspace("make durable", b""))
    }

    fn swap_site(&mut self, site: usize, done: &mut [bool], applied: &mut Applied) {
        let spot = &self.layout.spots[site];
        let (own, children) = (spot.own, spot.children.clone());
        let active = |at: &u32| !matches!(self.layout.acts[*at as usize], Act::Leave | Act::Follow);
        let children: Vec<u32> = children.into_iter().filter(active).collect();
        if children.is_empty() && own.is_none() && spot.found.is_none() {
            return;
        }
        let opened = self.open_site(site);
        let (dir, found) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let reason = unreachable_reason(&error);
                children.into_iter().chain(own).for_each(|at| self.give_up(at, reason, applied));
                return;
            }
        };
        let outcomes = self.swap_children(&dir, &children);
        // The intent outlives this, and whoever finds it puts the directory in order.
        if outcomes.len() < children.len() {
            return;
        }
        let mut changed = false;
        for (at, outcome) in outcomes {
            done[at as usize] = !matches!(outcome, Outcome::Left(_));
            changed |= done[at as usize];
            self.settle(at, outcome, applied);
        }
        match (self.finish_site(site, &dir, &found, changed), own) {
            (Ok(outcome), Some(at)) => {
                done[at as usize] = !matches!(outcome, Outcome::Left(_));
                self.settle(at, outcome, applied);
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                let path = self.layout.plan.sites[site].path.clone();
                applied.left.push(Left { path, reason: LeftReason::of(&error) });
            }
        }
    }

    /// Changes what is directly in a directory, many at a time if there are many; not all if it is told to stop.
    fn swap_children(&self, dir: &Dir, children: &[u32]) -> Vec<(u32, Outcome)> {
        let swap = |at: &u32| {
            let outcome = || self.swap_child(dir, *at).unwrap_or_else(|error| Outcome::Left(LeftReason::of(&error)));
            (!self.stops_half_way()).then(|| (*at, outcome()))
        };
        if children.len() < MANY {
            return children.iter().map_while(swap).collect();
        }
        std::thread::scope(|scope| {
            let parts = children.chunks(children.len().div_ceil(THREADS));
            let threads: Vec<_> = parts.map(|part| scope.spawn(|| part.iter().map_while(swap).collect())).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().flat_map(join).collect()
        })
    }

    /// Opens a directory and makes it one in which names can be changed, unless that was done for staging.
    fn open_site(&self, site: usize) -> io::Result<(Dir, Stat)> {
        let dir = self.root.dir_path_only(&self.layout.plan.sites[site].path)?;
        let stat = dir.stat_self()?;
        match &self.layout.spots[site].found {
            Some(found) if (found.dev, found.ino) == (stat.dev, stat.ino) => Ok((dir, *found)),
            Some(_) => Err(io::ErrorKind::NotFound.into()),
            None => {
                self.loosen(&dir, &stat)?;
                Ok((dir, stat))
            }
        }
    }

    /// Records how a step ended, and takes away what was staged for it in vain.
    fn settle(&mut self, at: u32, outcome: Outcome, applied: &mut Applied) {
        match outcome {
            Outcome::Done => {}
            Outcome::Partly(reason) => self.note(at, reason, applied),
            Outcome::Left(reason) => {
                if matches!(self.layout.acts[at as usize], Act::Stage { .. }) {
                    self.discard(at);
                }
                self.give_up(at, reason, applied);
            }
        }
    }

    fn swap_child(&self, dir: &Dir, at: u32) -> io::Result<Outcome> {
        let step = self.layout.step(at);
        let name = split(step.path).1;
        let live = match dir.stat(name) {
            Ok(stat) => Some(stat),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // What is gone already cannot be lost; what is there must be what was captured.
        if live.is_some_and(|stat| !step.before.as_ref().is_some_and(|entry| is_as(&stat, entry))) {
            return Ok(Outcome::Left(LeftReason::ChangedSince));
        }
        let goes = live.is_some() && matches!(self.layout.acts[at as usize], Act::Remove | Act::Stage { .. });
        if let (true, Some(before)) = (goes, step.before.as_ref())
            && !self.holds(dir, name, before)?
        {
            return Ok(Outcome::Left(LeftReason::ChangedSince));
        }
        match (self.layout.acts[at as usize], live) {
            (Act::Remove, Some(live)) => {
                self.unlock(dir, name, &live)?;
                self.take_away(dir, name, &step)?;
                self.options.progress.advance(1, 0);
            }
            (Act::Stage { temp }, live) => {
                self.put_in_place(dir, &temp_name(self.options.prefix, temp), &step, live)?
            }
            (Act::InPlace, Some(_)) => return self.alter(dir, name, &step),
            (Act::InPlace, None) => return Ok(Outcome::Left(LeftReason::ChangedSince)),
            _ => {}
        }
        Ok(Outcome::Done)
    }

    fn take_away(&self, dir: &Dir, name: &[u8], step: &Step<'_>) -> io::Result<()> {
        if step.was_dir() {
            self.hands.change(|| dir.remove_dir(name))
        } else {
            self.hands.change(|| dir.remove_file(name))
        }
    }

    fn put_in_place(&self, dir: &Dir, temp: &[u8], step: &Step<'_>, live: Option<Stat>) -> io::Result<()> {
        let name = split(step.path).1;
        if let Some(live) = live {
            self.unlock(dir, name, &live)?;
            if !step.was_dir() && !step.becomes_dir() {
                self.hands.change(|| dir.rename(temp, dir, name))?;
                // A rename of one name of a file over another of its names does nothing at all.
                if step.link_to.is_some() && dir.stat(temp).is_ok() {
                    self.hands.change(|| dir.remove_file(temp))?;
                }
                return Ok(());
            }
            self.take_away(dir, name, step)?;
        }
        self.hands.change(|| match dir.rename_new(temp, dir, name) {
            // A file system that cannot rename without replacing.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                dir.rename(temp, dir, name)
            }
            result => result,
        })
    }

    /// Clears the flags that forbid to change or remove a file.
    fn unlock(&self, dir: &Dir, name: &[u8], live: &Stat) -> io::Result<()> {
        let locked = live.immutable || live.append_only;
        if !self.as_root || !locked || !matches!(live.file_type, FileType::File | FileType::Dir) {
            return Ok(());
        }
        self.hands.change(|| Thing::Name { dir, name }.set_flags(false, false))
    }

    fn alter(&self, dir: &Dir, name: &[u8], step: &Step<'_>) -> io::Result<Outcome> {
        let (Some(before), Some(after)) = (&step.before, &step.after) else { return Ok(Outcome::Done) };
        let exact = self.options.mtime == MtimePolicy::Exact && !step.what.opaque;
        let mtime = exact.then_some(after.meta.mtime);
        let refused = self.dresser().alter(Thing::Name { dir, name }, (&before.meta, &after.meta), step.what, mtime)?;
        self.options.progress.advance(1, 0);
        Ok(refused.map_or(Outcome::Done, Outcome::Partly))
    }

    /// Gives a directory its own metadata once nothing in it changes any more.
    fn finish_site(&self, site: usize, dir: &Dir, found: &Stat, changed: bool) -> io::Result<Outcome> {
        let own = self.layout.spots[site].own.map(|at| self.layout.step(at));
        let thing = Thing::Itself(dir);
        let after = self.layout.plan.sites[site].after.as_ref();
        let mtime = after.map(|meta| meta.mtime).filter(|_| self.options.mtime == MtimePolicy::Exact);
        let before = &self.layout.plan.sites[site].before;
        let as_captured = (found.mode, found.uid, found.gid) == (before.mode.into(), before.uid, before.gid);
        if let (Some(step), Some(after), true) = (own, after, as_captured) {
            let mut what = step.what;
            what.mode |= dir.stat_self()?.mode != after.mode.into();
            let refused = self.dresser().alter(thing, (before, after), what, mtime)?;
            return Ok(refused.map_or(Outcome::Done, Outcome::Partly));
        }
        let mtime = if changed { mtime } else { Some(found.mtime) };
        let stat = dir.stat_self()?;
        let wanted = Stat { mtime: mtime.unwrap_or(stat.mtime), ..*found };
        self.put_back(dir, &wanted)?;
        Ok(Outcome::Left(LeftReason::ChangedSince))
    }

    /// Sets the flags that would have kept staged files from being renamed, the deepest first.
    fn set_flags(&mut self, done: &[bool], applied: &mut Applied) {
        for at in (0..self.layout.acts.len() as u32).rev() {
            let step = self.layout.step(at);
            let Some(meta) = step.after.as_ref().map(|entry| &entry.meta) else { continue };
            if !(meta.immutable || meta.append_only) || !self.is_done(at, done) || !self.layout.is_staged(at) {
                continue;
            }
            let (place, name) = split(step.path);
            let set = self.root.dir_path_only(place).and_then(|dir| {
                self.hands.change(|| Thing::Name { dir: &dir, name }.set_flags(meta.immutable, meta.append_only))
            });
            if let Err(error) = set {
                self.note(at, LeftReason::of(&error), applied);
            }
        }
    }

    fn is_done(&self, at: u32, done: &[bool]) -> bool {
        match self.layout.acts[at as usize] {
            Act::Inside { root } => done[root as usize],
            _ => done[at as usize],
        }
    }

    fn count(&self, done: &[bool], applied: &Applied) -> u64 {
        let counts = |at: &u32| match self.layout.acts[*at as usize] {
            Act::Follow => applied.left.iter().all(|left| Some(left.path.as_slice()) != self.layout.step(*at).link_to),
            _ => self.is_done(*at, done),
        };
        (0..self.layout.acts.len() as u32).filter(counts).count() as u64
    }

    fn make_durable(&self, done: &[bool]) -> io::Result<()> {
        let sites = self.layout.plan.sites.iter().map(|site| site.path.as_slice());
        let in_place = |at: &usize| self.layout.acts[*at] == Act::InPlace && done[*at];
        let leaves = (0..done.len()).filter(in_place).map(|at| self.layout.path(at as u32));
        let all: Vec<&[u8]> = sites.chain(leaves).take(durable::FEW + 1).collect();
        if all.len() > durable::FEW {
            return self.root.sync_filesystem();
        }
        // What may not be opened to be made durable by itself is made so with all the rest.
        durable::together(&all, |path| self.sync_one(path)).or_else(|_| self.root.sync_filesystem())
    }

    /// Makes a file or directory durable; anything else is not opened for that.
    fn sync_one(&self, path: &[u8]) -> io::Result<()> {
        let (place, name) = split(path);
        let sync = || {
            if path.is_empty() {
                return self.root.dir(path)?.sync();
            }
            let dir = self.root.dir_path_only(place)?;
            match dir.stat(name)?.file_type {
                FileType::Dir => dir.subdir(name)?.sync(),
                FileType::File => dir.open_read(name)?.sync_all(),
                _ => Err(io::ErrorKind::Unsupported.into()),
            }
        };
        match sync() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}
