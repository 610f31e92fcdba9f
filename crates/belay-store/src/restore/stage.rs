//! Prepares everything new under temporary names beside the live files, so that the swap is nothing but renames.
//!
//! Until all of it is there, verified and durable, the live files are as they were.

use std::collections::{HashMap, HashSet};
use std::io;

use belay_sys::{Dir, FileType, Root, Stat};

use super::content::Leaf;
use super::flush::{Flusher, flush_when_asked};
use super::layout::{Act, Layout};
use super::metadata::{Dresser, Thing, Wish, is_refusal};
use super::swap::is_as;
use super::{Applied, Left, LeftReason, Step, Work, split, tidy};
use crate::error::{Error, Result};

/// Directories that are kept open at a time by each thread.
const OPEN_DIRS_MAX: usize = 64;

/// Open directories by path.
pub(super) struct Handles<'a> {
    root: &'a Root,
    open: HashMap<Vec<u8>, Dir>,
}

impl<'a> Handles<'a> {
    pub(super) fn new(root: &'a Root) -> Handles<'a> {
        Handles { root, open: HashMap::new() }
    }

    pub(super) fn get(&mut self, path: &[u8]) -> io::Result<&Dir> {
        if !self.open.contains_key(path) {
            let (place, name) = split(path);
            if self.open.len() >= OPEN_DIRS_MAX {
                self.open.retain(|open, _| open == place);
            }
            // From the directory above it the way is short, however deep that lies.
            let dir = match self.open.get(place) {
                Some(above) if !path.is_empty() => above.subdir_path_only(name)?,
                _ => self.root.dir_path_only(path)?,
            };
            self.open.insert(path.to_vec(), dir);
        }
        Ok(&self.open[path])
    }
}

impl Work<'_> {
    pub(super) fn stage(&mut self, applied: &mut Applied) -> Result<()> {
        for site in 0..self.layout.spots.len() {
            self.prepare_site(site, applied)?;
        }
        self.make_dirs(applied)?;
        let durable = self.stage_leaves(applied)?;
        self.check_stop()?;
        if durable || self.layout.staged().next().is_none() {
            return Ok(());
        }
        self.root.sync_filesystem().map_err(Error::workspace("make durable", b""))
    }

    /// Stages all but the directories, which get their metadata once nothing in them changes any more; returns whether
    /// that is durable.
    fn stage_leaves(&mut self, applied: &mut Applied) -> Result<bool> {
        let (flusher, asked) = Flusher::new();
        let (root, is_much) = (self.root, Flusher::is_worth(self.layout.plan.bytes));
        std::thread::scope(|scope| {
            if is_much {
                scope.spawn(move || flush_when_asked(root, asked));
            }
            // The one that flushes ends with the last that can ask it.
            let flusher = flusher;
            let durable = self.write_contents(&flusher, applied)?;
            let copied = self.make_links(applied)?;
            self.finish_dirs(applied)?;
            Ok(durable && !copied)
        })
    }

    pub(super) fn dresser(&self) -> Dresser<'_> {
        Dresser { hands: self.hands, as_root: self.as_root }
    }

    /// Leaves a path after all.
    pub(super) fn give_up(&mut self, at: u32, reason: LeftReason, applied: &mut Applied) {
        self.layout.acts[at as usize] = Act::Leave;
        self.note(at, reason, applied);
    }

    /// Leaves a step, and all that is staged with it, because the directory in which that was done is gone.
    pub(super) fn give_up_whole(&mut self, at: u32, applied: &mut Applied) {
        let top = match self.layout.acts[at as usize] {
            Act::Inside { root } => root,
            _ => at,
        };
        if self.layout.is_staged(top) {
            self.discard(top);
            self.give_up(top, LeftReason::ChangedSince, applied);
        }
    }

    /// Notes that a path was left, or is not in every respect what it should be.
    pub(super) fn note(&self, at: u32, reason: LeftReason, applied: &mut Applied) {
        applied.left.push(Left { path: self.layout.path(at).to_vec(), reason });
    }

    fn prepare_site(&mut self, site: usize, applied: &mut Applied) -> Result<()> {
        let looked_at = |act: Act| matches!(act, Act::Stage { .. } | Act::InPlace);
        let children = self.layout.spots[site].children.clone();
        if !children.iter().any(|at| looked_at(self.layout.acts[*at as usize])) {
            return Ok(());
        }
        let path = &self.layout.plan.sites[site].path;
        let dir = match self.root.dir_path_only(path) {
            Ok(dir) => dir,
            Err(error) => {
                children.into_iter().for_each(|at| self.give_up(at, unreachable_reason(&error), applied));
                return Ok(());
            }
        };
        for at in &children {
            self.spare_outsiders(&dir, *at, applied);
        }
        if children.iter().any(|at| matches!(self.layout.acts[*at as usize], Act::Stage { .. })) {
            let found = match dir.stat_self().and_then(|stat| self.loosen(&dir, &stat).map(|()| stat)) {
                Err(error) if is_gone(&error) => {
                    children.into_iter().for_each(|at| self.give_up(at, LeftReason::ChangedSince, applied));
                    return Ok(());
                }
                result => result.map_err(Error::workspace("prepare", path))?,
            };
            let xattrs = dir.self_xattrs().unwrap_or_default();
            let spot = &mut self.layout.spots[site];
            spot.found = Some(found);
            spot.inherits = xattrs.iter().any(|(key, _)| key == b"system.posix_acl_default");
        }
        Ok(())
    }

    /// A file that also has names outside the workspace is not changed in place, because they would change with it.
    fn spare_outsiders(&mut self, dir: &Dir, at: u32, applied: &mut Applied) {
        let step = self.layout.step(at);
        if self.layout.acts[at as usize] != Act::InPlace || step.becomes_dir() {
            return;
        }
        let has_others = |stat: Stat| stat.file_type == FileType::File && stat.nlink > step.names;
        if !dir.stat(split(step.path).1).is_ok_and(has_others) {
            return;
        }
        // What nobody could read cannot be replaced by a copy of itself.
        match step.what.opaque || step.before.as_ref().is_some_and(|before| before.meta.xattrs_unread) {
            true => self.give_up(at, LeftReason::NotPermitted, applied),
            false => self.layout.stage_after_all(at),
        }
    }

    /// Makes a directory one in which names can be changed; what it was like is put back at the end.
    pub(super) fn loosen(&self, dir: &Dir, stat: &Stat) -> io::Result<()> {
        let result = match stat {
            _ if self.as_root && (stat.immutable || stat.append_only) => {
                self.hands.change(|| Thing::Itself(dir).set_flags(false, false))
            }
            _ if !self.as_root && stat.mode & 0o300 != 0o300 => {
                self.hands.change(|| dir.set_self_mode(stat.mode | 0o700))
            }
            _ => Ok(()),
        };
        // If it may not be done, each path in it will say so.
        result.or_else(|error| if is_refusal(&error) { Ok(()) } else { Err(error) })
    }

    fn make_dirs(&mut self, applied: &mut Applied) -> Result<()> {
        for level in levels(&self.layout) {
            let made = together(self.root, &level, |handles, at| {
                self.check_stop().map(|()| self.layout.is_staged(at).then(|| self.make_dir(handles, at)))
            });
            for (at, made) in made {
                match made? {
                    Some(Err(error)) if is_refusal(&error) && self.layout.is_top(at) => {
                        self.give_up(at, LeftReason::of(&error), applied);
                    }
                    Some(Err(error)) if is_gone(&error) => self.give_up_whole(at, applied),
                    Some(Err(error)) => return Err(Error::workspace("stage", self.layout.path(at))(error)),
                    Some(Ok(())) | None => {}
                }
            }
        }
        Ok(())
    }

    fn make_dir(&self, handles: &mut Handles<'_>, at: u32) -> io::Result<()> {
        let (place, name) = self.layout.staging_place(at, self.options.prefix);
        let dir = handles.get(&place)?;
        let inherits = self.inherits(at);
        let entry = self.layout.step(at).after;
        let mode = entry.and_then(|entry| self.dresser().birth_mode(&entry.meta, inherits)).unwrap_or_default();
        self.hands.change(|| dir.make_dir(&name, mode | 0o700))?;
        if inherits {
            self.dresser().strip(Thing::Itself(&dir.subdir_path_only(&name)?))?;
        }
        Ok(())
    }

    /// Whether what is staged for the step gets an access control list from the directory it is staged in.
    pub(super) fn inherits(&self, at: u32) -> bool {
        let place = split(self.layout.path(at)).0;
        matches!(self.layout.acts[at as usize], Act::Stage { .. }) && self.layout.spot_of(place).inherits
    }

    /// Makes the hard links; returns whether content had to be written instead of one.
    fn make_links(&mut self, applied: &mut Applied) -> Result<bool> {
        let linked = |at: &u32| self.layout.step(*at).link_to.is_some();
        let all: Vec<u32> = self.layout.staged().filter(linked).collect();
        if all.is_empty() {
            return Ok(false);
        }
        let mut copied = false;
        let anchors: HashSet<&[u8]> = all.iter().filter_map(|at| self.layout.step(*at).link_to).collect();
        let staged = self.layout.staged().map(|at| (self.layout.path(at), at));
        let staged: HashMap<&[u8], u32> = staged.filter(|(path, _)| anchors.contains(path)).collect();
        let is_damaged = |left: &&Left| left.reason == LeftReason::Damaged;
        let damaged: HashSet<Vec<u8>> = applied.left.iter().filter(is_damaged).map(|left| left.path.clone()).collect();
        let mut scribe = self.scribe()?;
        for at in all {
            let step = self.layout.step(at);
            let anchor = step.link_to.unwrap_or_default();
            if damaged.contains(anchor) {
                self.give_up(at, LeftReason::Damaged, applied);
                continue;
            }
            let source = staged.get(anchor).filter(|anchor| self.layout.is_staged(**anchor));
            let refused = match self.make_link(&mut scribe.handles, at, source.copied(), anchor) {
                Ok(refused) => refused,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(LeftReason::ChangedSince),
                // Where links cannot be made, the content is worth more than the link.
                Err(_) => match self.write_one(&mut scribe, at)? {
                    Leaf::GivenUp(reason) => Some(reason),
                    Leaf::Gone => Some(LeftReason::ChangedSince),
                    Leaf::Made { .. } => {
                        copied = true;
                        self.note(at, LeftReason::NotPermitted, applied);
                        None
                    }
                },
            };
            if let Some(reason) = refused {
                self.give_up(at, reason, applied);
            }
            self.options.progress.advance(1, 0);
        }
        Ok(copied)
    }

    fn make_link(
        &self,
        handles: &mut Handles<'_>,
        at: u32,
        source: Option<u32>,
        anchor: &[u8],
    ) -> io::Result<Option<LeftReason>> {
        let (from_dir, from_name) = match source {
            Some(source) => self.layout.staging_place(source, self.options.prefix),
            None => (split(anchor).0.to_vec(), split(anchor).1.to_vec()),
        };
        let from = self.root.dir_path_only(&from_dir)?;
        if source.is_none() {
            let expected = self.layout.plan.anchors.get(anchor);
            let stat = from.stat(&from_name)?;
            if !expected.is_some_and(|entry| is_as(&stat, entry)) {
                return Ok(Some(LeftReason::ChangedSince));
            }
        }
        let (place, name) = self.layout.staging_place(at, self.options.prefix);
        let to = handles.get(&place)?;
        self.hands.change(|| from.hard_link(&from_name, to, &name))?;
        Ok(None)
    }

    /// Gives staged directories their metadata, which may forbid to change what is in them, the deepest first.
    fn finish_dirs(&mut self, applied: &mut Applied) -> Result<()> {
        for level in levels(&self.layout).into_iter().rev() {
            let finished = together(self.root, &level, |handles, at| {
                self.layout.is_staged(at).then(|| self.finish_dir(handles, at, &self.layout.step(at)))
            });
            for (at, finished) in finished {
                let refused = match finished {
                    None => continue,
                    Some(Err(error)) if is_gone(&error) => {
                        self.give_up_whole(at, applied);
                        continue;
                    }
                    Some(result) => result.map_err(Error::workspace("stage", self.layout.path(at)))?,
                };
                if let Some(reason) = refused {
                    self.note(at, reason, applied);
                }
                self.options.progress.advance(1, 0);
            }
        }
        Ok(())
    }

    fn finish_dir(&self, handles: &mut Handles<'_>, at: u32, step: &Step<'_>) -> io::Result<Option<LeftReason>> {
        let (place, name) = self.layout.staging_place(at, self.options.prefix);
        let thing = Thing::Name { dir: handles.get(&place)?, name: &name };
        let meta = &step.after.as_ref().expect("a directory is made because the target has one").meta;
        let mtime = step.mtime(self.options.mtime);
        self.dresser().dress(thing, &Wish { meta, mtime, inherits: false, has_mode: true })
    }

    /// Takes away what was staged and leaves the live directories as they were found.
    pub(super) fn unstage(&self) {
        for at in 0..self.layout.acts.len() as u32 {
            if matches!(self.layout.acts[at as usize], Act::Stage { .. }) {
                self.discard(at);
            }
        }
        for (spot, site) in self.layout.spots.iter().zip(&self.layout.plan.sites).rev() {
            if let (Some(found), Ok(dir)) = (&spot.found, self.root.dir_path_only(&site.path)) {
                // There is nobody left to tell; what cannot be put back is found by the next capture.
                let _ = self.put_back(&dir, found);
            }
        }
    }

    /// Removes what was staged for a step.
    pub(super) fn discard(&self, at: u32) {
        let path = self.layout.staging_path(at, self.options.prefix);
        // What cannot be removed now is removed when the restore is tidied up.
        let _ = tidy::remove_tree(self.root, self.hands, &path);
    }

    /// Gives a directory the mode, flags and time that it was found with.
    pub(super) fn put_back(&self, dir: &Dir, found: &Stat) -> io::Result<()> {
        let thing = Thing::Itself(dir);
        let stat = dir.stat_self()?;
        if stat.mode != found.mode {
            self.hands.change(|| thing.set_mode(found.mode))?;
        }
        if stat.mtime != found.mtime {
            self.hands.change(|| thing.set_time(found.mtime))?;
        }
        if (stat.immutable, stat.append_only) != (found.immutable, found.append_only) {
            self.hands.change(|| thing.set_flags(found.immutable, found.append_only))?;
        }
        Ok(())
    }
}

/// The staged directories by their depth: those of one level do not depend on one another.
fn levels(layout: &Layout<'_>) -> Vec<Vec<u32>> {
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for at in layout.staged().filter(|at| layout.step(*at).becomes_dir()) {
        let depth = layout.path(at).iter().filter(|byte| **byte == b'/').count();
        levels.resize_with(levels.len().max(depth + 1), Vec::new);
        levels[depth].push(at);
    }
    levels
}

/// So many directories are worth a second thread.
const MANY_DIRS: usize = 64;

/// Does `each` for all of them, in two threads if there are many.
fn together<T: Send>(root: &Root, all: &[u32], each: impl Fn(&mut Handles<'_>, u32) -> T + Sync) -> Vec<(u32, T)> {
    let work = |part: &[u32]| {
        let mut handles = Handles::new(root);
        part.iter().map(|at| (*at, each(&mut handles, *at))).collect::<Vec<_>>()
    };
    if all.len() < MANY_DIRS {
        return work(all);
    }
    let (mine, others) = all.split_at(all.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(others));
        let mut done = work(mine);
        done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done
    })
}

/// Whether the directory in which something was to be done is not there any more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Why everything in a directory is left that cannot be opened.
pub(super) fn unreachable_reason(error: &io::Error) -> LeftReason {
    if is_refusal(error) { LeftReason::NotPermitted } else { LeftReason::ChangedSince }
}
