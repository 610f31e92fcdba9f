//! Paths that no mount can hold: what is not there and must not be made, and links that must stay what they are.
//!
//! Invariants: when the run has ended each of them is as it was before; nothing is deleted, what stood there is beside it
//! under another name; whatever the command did to the directories around, they are as it left them.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use belay_event::{Degraded, What};
use belay_store::{Edit, Entry, Kind as EntryKind, Manifest, View};
use belay_sys::{Dir, FileType, Root};
use serde::{Deserialize, Serialize};

use super::record::RunRecord;
use super::repository::{Insides, ORDERS};
use super::supervisor::Supervisor;
use crate::error::{Result, chain_of};
use crate::record::{PathText, Snapshot};
use crate::workspace::Workspace;

/// So often it is told.
const TOLD_MAX: usize = 100;
/// So many names are tried for what is put aside.
const NAMES_MAX: u32 = 16;

/// A path of the workspace, as it was before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unheld {
    /// The path, on which no link was.
    pub(crate) path: PathText,
    /// The text of the link that was there; without one nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<PathText>,
    /// If the directory of a repository was there, what was in it: nothing else is to be in it when the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) insides: Option<Insides>,
}

impl Unheld {
    /// A path at which nothing was.
    pub(super) fn absent(path: PathText) -> Unheld {
        Unheld { path, link: None, insides: None }
    }

    /// A link, with its text.
    pub(super) fn link(path: PathText, text: PathText) -> Unheld {
        Unheld { path, link: Some(text), insides: None }
    }

    /// The directory of a repository.
    pub(super) fn repository(path: PathText, insides: Insides) -> Unheld {
        Unheld { path, link: None, insides: Some(insides) }
    }

    /// Puts right whatever can be told to be wrong while the run goes on, or once it has ended; what was done.
    pub(super) fn put_all_right(all: &[Unheld], root: &Root, run: &str, has_ended: bool) -> Vec<String> {
        let mut done = Vec::new();
        for unheld in all {
            let made = match &unheld.insides {
                None => vec![unheld.clone()],
                // Git makes and removes all kinds of things while it works.
                Some(_) if !has_ended => Vec::new(),
                Some(insides) => {
                    let made = unheld.made_inside(insides, root, run).unwrap_or_default();
                    made.into_iter().chain(unheld.entered_since(root)).collect()
                }
            };
            for unheld in made {
                done.extend(unheld.put_right(root, run).unwrap_or_else(|error| {
                    let (path, why) = (String::from_utf8_lossy(unheld.path.bytes()), belay_sys::plain(error));
                    Some(format!("{path} leads git to other settings, and cannot be put aside: {why}"))
                }));
            }
        }
        done
    }

    /// What has git go into a repository by itself since the run, and execute something there; of the workspace as a handle
    /// shows it.
    pub(crate) fn entered_since(&self, root: &Root) -> Vec<Unheld> {
        let Some(insides) = &self.insides else { return Vec::new() };
        let files = PathBuf::from(format!("/proc/self/fd/{}", root.as_fd().as_raw_fd()));
        let mut opened = Opened::default();
        // One that cannot be listed is opened as long as it is looked at.
        if let Ok(Some(dir)) = opened.reach(root, self.path.bytes()) {
            let _ = opened.enter(&dir, |_| root.dir(self.path.bytes()));
        }
        let entered = insides.entered_since(&files, self.path.bytes());
        opened.close();
        entered.into_iter().map(|path| Unheld::absent(PathText::from(&path[..]))).collect()
    }

    /// What is in the directory of a repository and was not there, nor is written by git's own work.
    fn made_inside(&self, insides: &Insides, root: &Root, run: &str) -> io::Result<Vec<Unheld>> {
        let mut opened = Opened::default();
        let made = self.made_inside_of(insides, root, run, &mut opened);
        opened.close();
        made
    }

    fn made_inside_of(
        &self,
        insides: &Insides,
        root: &Root,
        run: &str,
        opened: &mut Opened,
    ) -> io::Result<Vec<Unheld>> {
        let Some(dir) = opened.reach(root, self.path.bytes())?.filter(|_| !insides.is_of_none()) else {
            return Ok(Vec::new());
        };
        let mut made = Vec::new();
        let listed = opened.enter(&dir, |_| root.dir(self.path.bytes()))?;
        listed.list(&mut Vec::new(), &mut |name, _, _| {
            made.extend((!insides.allows(name) && !is_aside(name, run)).then(|| self.beneath(name)));
        })?;
        for name in ORDERS {
            let unheld = self.beneath(name.as_bytes());
            let path = unheld.path.bytes();
            let (above, last) = path.split_at(path.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
            let Some(dir) = opened.reach(root, above)? else { continue };
            let found = opened.enter(&dir, |dir| dir.stat(&last[1..]));
            let is_known = match found {
                Err(error) if is_absent(&error) => true,
                Err(error) => return Err(error),
                // A link, or whatever else git would read through, is none of git's own.
                Ok(found) if found.file_type != FileType::File => false,
                Ok(_) => dir.open_read(&last[1..]).is_ok_and(|file| insides.orders(name, file)),
            };
            made.extend((!is_known).then_some(unheld));
        }
        Ok(made)
    }

    fn beneath(&self, name: &[u8]) -> Unheld {
        Unheld::absent(PathText::from(&[self.path.bytes(), b"/", name].concat()[..]))
    }

    /// Puts aside what should not be there, and the link back that should; what was done, if something was.
    fn put_right(&self, root: &Root, run: &str) -> io::Result<Option<String>> {
        let mut opened = Opened::default();
        let done = self.put_right_in(root, run, &mut opened);
        opened.close();
        done
    }

    fn put_right_in(&self, root: &Root, run: &str, opened: &mut Opened) -> io::Result<Option<String>> {
        let mut dir = root.dir_path_only(b"")?;
        let mut names = self.path.bytes().split(|byte| *byte == b'/').peekable();
        let mut at: Vec<u8> = Vec::new();
        while let Some(name) = names.next() {
            let found = match opened.enter(&dir, |dir| dir.stat(name)) {
                Ok(found) => Some(found.file_type),
                Err(error) if is_absent(&error) => None,
                Err(error) => return Err(error),
            };
            let is_last = names.peek().is_none();
            let is_right = match (&self.link, found) {
                (Some(text), Some(FileType::Symlink)) if is_last => dir.read_link(name)? == text.bytes(),
                (Some(_), _) if is_last => false,
                (None, found) if is_last => found.is_none(),
                // It was a directory, or it was not there: nothing led elsewhere.
                (_, found) => found != Some(FileType::Symlink),
            };
            if !is_right {
                let aside = found.map(|_| opened.enter(&dir, |dir| aside(dir, name, run))).transpose()?;
                if let Some(text) = self.link.as_ref().filter(|_| is_last) {
                    opened.enter(&dir, |dir| dir.make_symlink(name, text.bytes()))?;
                }
                return Ok(Some(sentence([&at[..], name].concat(), aside, is_last && self.link.is_some())));
            }
            if is_last || found != Some(FileType::Dir) {
                return Ok(None);
            }
            at.extend_from_slice(name);
            at.push(b'/');
            dir = dir.subdir_path_only(name)?;
        }
        Ok(None)
    }
}

impl Unheld {
    /// The same for a tree that is in the store: what is to be edited in it, so that whoever takes it over is led nowhere.
    pub(crate) fn edits(&self, view: View<'_>, tree: &Manifest, before: &Manifest, run: &str) -> Result<Vec<Edit>> {
        if let Some(insides) = &self.insides {
            let mut edits = Vec::new();
            for made in self.made_in_tree(insides, view, tree, before, run)? {
                edits.extend(made.edits(view, tree, before, run)?);
            }
            return Ok(edits);
        }
        let path = self.path.bytes();
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let (at, is_last) = (&path[..end], end == path.len());
            let found = view.lookup(&tree.root, at)?;
            let is_right = match (&self.link, found.as_ref().map(|entry| &entry.kind)) {
                (Some(text), Some(EntryKind::Symlink(now))) if is_last => now == text.bytes(),
                (Some(_), _) if is_last => false,
                (None, found) if is_last => found.is_none(),
                (_, found) => !matches!(found, Some(EntryKind::Symlink(_))),
            };
            if is_right {
                continue;
            }
            let back = if is_last { view.lookup(&before.root, at)?.filter(|_| self.link.is_some()) } else { None };
            let mut edits = vec![Edit { path: at.to_vec(), before: found.clone(), after: back, bytes: None }];
            if let Some(found) = found {
                let aside = [at, b".", run.as_bytes()].concat();
                let name = aside.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
                let there = view.lookup(&tree.root, &aside)?;
                edits.push(Edit { path: aside, before: there, after: Some(Entry { name, ..found }), bytes: None });
            }
            return Ok(edits);
        }
        Ok(Vec::new())
    }

    /// The same as for the directory; what was begun is not to be another.
    fn made_in_tree(
        &self,
        insides: &Insides,
        view: View<'_>,
        tree: &Manifest,
        before: &Manifest,
        run: &str,
    ) -> Result<Vec<Unheld>> {
        let Some(EntryKind::Dir { node, .. }) = view.lookup(&tree.root, self.path.bytes())?.map(|entry| entry.kind)
        else {
            return Ok(Vec::new());
        };
        if insides.is_of_none() {
            return Ok(Vec::new());
        }
        let node = view.node(&node)?;
        let others = node.entries.iter().filter(|entry| !insides.allows(&entry.name) && !is_aside(&entry.name, run));
        let mut made: Vec<Unheld> = others.map(|entry| self.beneath(&entry.name)).collect();
        for name in ORDERS {
            let unheld = self.beneath(name.as_bytes());
            let now = view.lookup(&tree.root, unheld.path.bytes())?.map(|entry| entry.kind);
            let then = view.lookup(&before.root, unheld.path.bytes())?.map(|entry| entry.kind);
            made.extend((now.is_some() && now != then).then_some(unheld));
        }
        Ok(made)
    }

    /// What of a tree would lead git elsewhere, although the run had to leave it as it was.
    fn found_in(&self, view: View<'_>, tree: &Manifest, before: &Manifest, run: &str) -> Result<Vec<Vec<u8>>> {
        let mut edits = self.edits(view, tree, before, run)?;
        edits.retain(|edit| edit.before.is_some());
        Ok(edits.into_iter().map(|edit| edit.path).collect())
    }
}

impl Workspace<'_> {
    /// Paths of a snapshot that its run had to leave as they were, or not to make: whoever goes back to it has them again.
    pub fn leads_git(&self, snapshot: &Snapshot) -> Result<Vec<Vec<u8>>> {
        // One that somebody asked for meanwhile names no run.
        let is_of = |run: &RunRecord| {
            let at = snapshot.created_at;
            run.workspace == self.id() && run.created_at <= at && run.ended_at.is_none_or(|end| at <= end)
        };
        let record = match &snapshot.cause.run {
            Some(run) => self.home().run(run).ok(),
            None => self.home().runs()?.into_iter().find(is_of),
        };
        let Some(record) = record else { return Ok(Vec::new()) };
        let run = &record.id;
        let Ok(guard) = self.home().guard_of(run) else { return Ok(Vec::new()) };
        let timeline = self.timeline()?;
        let before = timeline.snapshots().iter().find(|before| Some(&before.id) == record.pre_run.as_ref());
        let Some(before) = before.filter(|_| !guard.unheld.is_empty()) else { return Ok(Vec::new()) };
        let (tree, before) = (self.whole_tree(snapshot)?, self.whole_tree(before)?);
        let view = View::stored(self.home().store());
        let mut found = Vec::new();
        for unheld in &guard.unheld {
            found.extend(unheld.found_in(view, tree.manifest(), before.manifest(), run)?);
        }
        Ok(found)
    }
}

fn sentence(path: Vec<u8>, aside: Option<String>, is_back: bool) -> String {
    let path = String::from_utf8_lossy(&path).into_owned();
    let leads = format!("{path} leads git to settings or programs");
    match (aside, is_back) {
        (Some(aside), true) => format!("{leads} and must not be another: what it became is {aside} now"),
        (None, true) => format!("{leads} and must not be removed: it is there again"),
        (Some(aside), false) => format!("{leads} and must not be made: it is {aside} now"),
        (None, false) => leads,
    }
}

/// Directories that had to be opened for us, with the modes that they had.
#[derive(Default)]
struct Opened(Vec<(Dir, u32)>);

impl Opened {
    /// A directory, if there is one, whatever the modes of those above it say.
    fn reach(&mut self, root: &Root, path: &[u8]) -> io::Result<Option<Dir>> {
        let mut dir = root.dir_path_only(b"")?;
        for name in path.split(|byte| *byte == b'/') {
            match self.enter(&dir, |dir| dir.stat(name)) {
                Ok(found) if found.file_type == FileType::Dir => dir = dir.subdir_path_only(name)?,
                Ok(_) => return Ok(None),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(dir))
    }

    /// Does something in a directory of ours, whatever its mode says.
    fn enter<T>(&mut self, dir: &Dir, act: impl Fn(&Dir) -> io::Result<T>) -> io::Result<T> {
        match act(dir) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let mode = dir.stat_self()?.mode & 0o7777;
                dir.set_self_mode(mode | 0o700)?;
                self.0.push((dir.try_clone()?, mode));
                act(dir)
            }
            done => done,
        }
    }

    fn close(self) {
        for (dir, mode) in self.0.into_iter().rev() {
            // It is open to its owner then, which harms nobody.
            let _ = dir.set_self_mode(mode);
        }
    }
}

/// Renames it in its directory.
fn aside(dir: &Dir, name: &[u8], run: &str) -> io::Result<String> {
    let shown = String::from_utf8_lossy(name);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for nth in 0..NAMES_MAX {
        // Names that nobody can have taken beforehand, but for the first.
        let to = match nth {
            0 => format!("{shown}.{run}"),
            _ => format!("{}.{run}-{}", if nth < NAMES_MAX / 2 { &shown } else { "aside" }, belay_sys::now().nsec),
        };
        match dir.rename_new(name, dir, to.as_bytes()) {
            Ok(()) => return Ok(to),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether it was put beside its place, where it leads nobody.
fn is_aside(name: &[u8], run: &str) -> bool {
    let mark = [b".", run.as_bytes()].concat();
    name.windows(mark.len()).any(|part| part == mark)
}

/// Whether nothing of that name is there, or something above it is no directory.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Supervisor<'_> {
    /// Puts aside what would lead git elsewhere, if the command made it: no mount can cover what is not there.
    pub(super) fn put_aside_made(&mut self) {
        // What is kept apart is seen to where it is brought in from.
        if !self.unheld.is_empty() && !self.record.confinement.ephemeral && !self.workspace.is_layered() {
            self.put_right_in(self.workspace.root(), false);
        }
    }

    /// The same when nobody works in the workspace any more, whatever shows it.
    pub(super) fn put_aside_at_the_end(&mut self) {
        if self.record.confinement.ephemeral && !self.workspace.is_layered() {
            return self.tell_of_made_apart();
        }
        let Some(layer) = self.workspace.layer().filter(|_| !self.unheld.is_empty()) else {
            return self.put_right_in(self.workspace.root(), true);
        };
        let is_changed = |unheld: &Unheld| {
            // What its index names lies anywhere.
            if unheld.insides.is_some() {
                return true;
            }
            let first = unheld.path.bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
            layer.kept().changes.join(OsStr::from_bytes(first)).symlink_metadata().is_ok()
        };
        if self.unheld.iter().any(is_changed) {
            match self.workspace.writable() {
                Ok(root) => self.put_right_in(&root, true),
                Err(error) => self.tell_of_unheld(vec![format!(
                    "nobody could look whether git is led to other settings: {}",
                    chain_of(&error)
                )]),
            }
        }
    }

    /// What lies in a layer comes to the workspace under another name, if somebody takes it over.
    fn tell_of_made_apart(&mut self) {
        let layer = self.workspace.home().layer_of(&self.record.id, self.workspace.path());
        let Ok(changes) = Root::open(&layer.kept().changes) else { return };
        let is_made = |unheld: &&Unheld| {
            if unheld.insides.is_some() {
                return false;
            }
            let path = unheld.path.bytes();
            let at = path.iter().rposition(|byte| *byte == b'/');
            let (above, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
            changes.dir_path_only(above).and_then(|above| above.stat(name)).is_ok()
        };
        let mut made: Vec<Unheld> = self.unheld.iter().filter(is_made).cloned().collect();
        if self.unheld.iter().any(|unheld| unheld.insides.is_some())
            && let Ok(whole) = layer.open()
        {
            made.extend(self.unheld.iter().flat_map(|unheld| unheld.entered_since(&whole)));
        }
        let sentence = |unheld: Unheld| {
            let (path, run) = (String::from_utf8_lossy(unheld.path.bytes()), &self.record.id);
            format!("{path} leads git to settings or programs: `belay review` has it as {path}.{run}")
        };
        let made = made.into_iter().map(sentence).collect();
        self.tell_of_unheld(made);
    }

    fn put_right_in(&mut self, root: &Root, has_ended: bool) {
        let whys = Unheld::put_all_right(&self.unheld, root, &self.record.id, has_ended);
        self.tell_of_unheld(whys);
    }

    fn tell_of_unheld(&mut self, whys: Vec<String>) {
        let degraded = |why| What::Degraded(Degraded { layer: "jail".into(), why });
        let room = TOLD_MAX.saturating_sub(self.put_aside);
        self.put_aside += whys.len();
        let events: Vec<_> = whys.into_iter().take(room).map(|why| self.event(degraded(why))).collect();
        if !events.is_empty() {
            self.happened(events);
        }
    }
}
