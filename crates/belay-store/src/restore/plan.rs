//! Descends two trees side by side, only where they differ, and writes down what leads from one to the other.

use std::sync::Arc;

use belay_sys::FileType;

use super::claims::Claims;
use super::difference::{difference, is_privileged};
use super::{Left, LeftReason, Plan, Shut, Site, links};
use crate::diff::{Scope, What};
use crate::error::Result;
use crate::filter::Rules;
use crate::manifest::{Links, Manifest};
use crate::tree::{Entry, Kind, Meta, Node, Opaque, View};

/// Works out how to get from the present (captured, or previewed) to the target.
pub fn plan(
    present: View<'_>,
    now: &Manifest,
    now_links: &Links,
    target: &Manifest,
    scope: &Scope,
    as_root: bool,
) -> Result<Plan> {
    let view = View::stored(present.store());
    let claims = Claims::of(view, target)?;
    let target_links = target.links(present.store())?;
    let spared = scope.spared().clone().with_names_of(&[&now_links.groups, &target_links.groups]);
    let scope = &scope.clone().sparing(spared);
    let mut draft = Draft {
        present,
        view,
        claims,
        scope,
        as_root,
        roots: (&now.root, &target.root),
        plan: Plan::default(),
        path: Vec::new(),
        frames: Vec::new(),
        opened: 0,
    };
    draft.descend()?;
    links::plan_links(&mut draft, now_links, &target_links)?;
    let mut plan = draft.plan;
    plan.bytes = plan.steps.iter().map(|step| step.bytes()).sum();
    plan.sites.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(plan)
}

/// A plan in the making.
pub(super) struct Draft<'a> {
    pub(super) present: View<'a>,
    pub(super) view: View<'a>,
    claims: Claims<'a>,
    pub(super) scope: &'a Scope,
    pub(super) as_root: bool,
    /// The present's root and the target's.
    pub(super) roots: (&'a Entry, &'a Entry),
    pub(super) plan: Plan,
    /// The path that is being looked at.
    path: Vec<u8>,
    /// The directories above it; a stack of our own, because a hostile tree is deeper than the thread's.
    frames: Vec<Frame>,
    /// How many directories were descended.
    opened: usize,
}

/// A directory is descended once, so keeping it for later would only take memory.
const NODES_KEPT_MAX: usize = 256;

/// A directory that is being descended.
struct Frame {
    passage: Passage,
    now: Option<Arc<Node>>,
    target: Option<Arc<Node>>,
    at: (usize, usize),
    path_len: usize,
    /// What the directory is like, if it exists, and what it is like in the target.
    metas: Option<(Meta, Option<Meta>)>,
    /// How many steps and sites there were before it, its own step included.
    mark: (usize, usize),
    /// Something beneath it is left, so it cannot go.
    holds: bool,
    touched: bool,
    rules: Option<Arc<Rules>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Passage {
    /// It is a directory on both sides, or its own fate is decided elsewhere.
    Compare,
    /// It is made with all that is in it.
    Add,
    /// It is outside the scope and made only if something in it is.
    AddIfNeeded,
    /// It is emptied and removed.
    Remove,
    /// It is emptied and something else takes its place.
    Retype,
}

impl Draft<'_> {
    fn descend(&mut self) -> Result<()> {
        let (now, target) = self.roots;
        if self.scope.contains(b"") && !self.scope.spared().contains(b"") {
            self.compare(now, target)?;
        } else {
            self.open(Passage::Compare, Some(now), Some(target))?;
        }
        while let Some(frame) = self.frames.last_mut() {
            let Some((now_at, target_at)) = frame.next() else {
                self.close();
                continue;
            };
            // Held here, so that an entry can be looked at while the frames change.
            let nodes = (frame.now.clone(), frame.target.clone());
            let now = now_at.and_then(|at| nodes.0.as_ref()?.entries.get(at));
            let target = target_at.and_then(|at| nodes.1.as_ref()?.entries.get(at));
            let name = now.or(target).map(|entry| entry.name.as_slice()).unwrap_or_default();
            self.path.truncate(frame.path_len);
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name);
            self.visit(now, target)?;
        }
        Ok(())
    }

    fn visit(&mut self, now: Option<&Entry>, target: Option<&Entry>) -> Result<()> {
        if !self.scope.contains(&self.path) {
            return if self.scope.may_contain(&self.path) { self.pass(now, target) } else { Ok(()) };
        }
        if self.scope.spared().contains(&self.path) {
            return self.spare(now, target);
        }
        match (now, target) {
            (Some(now), Some(target)) if now.is_opaque() && target.is_opaque() => self.hold(),
            (None, Some(target)) if target.is_opaque() => self.leave(match reason_of(target) {
                LeftReason::NotCaptured => LeftReason::Missed,
                _ => LeftReason::NotHeld,
            }),
            (Some(now), Some(target)) if target.is_opaque() => {
                self.change_mode_only(now, target);
                self.leave_and_hold(reason_of(target));
            }
            (Some(now), None) if now.is_opaque() => {
                if !self.claims.missed(&self.path) && self.claimed(now)? {
                    self.note_shut(now);
                    self.note_around(now);
                }
                self.leave_and_hold(LeftReason::NotClaimed);
            }
            (Some(now), Some(target)) if now.is_opaque() => {
                match now.kind.file_type() == target.kind.file_type() {
                    true => self.change_mode_only(now, target),
                    false => self.note_shut(now),
                }
                self.leave_and_hold(LeftReason::InTheWay);
            }
            (None, Some(target)) => return self.add(target),
            (Some(now), None) => return self.remove(now),
            (Some(now), Some(target)) => return self.compare(now, target),
            (None, None) => {}
        }
        Ok(())
    }

    /// Goes through a directory that is outside the scope, on the way to what is inside.
    fn pass(&mut self, now: Option<&Entry>, target: Option<&Entry>) -> Result<()> {
        match (now, target) {
            (_, Some(target)) if target.is_opaque() => {}
            (Some(now), target) if is_dir(now) => {
                self.open(Passage::Compare, Some(now), target.filter(|target| is_dir(target)))?;
            }
            (None, Some(target)) if is_dir(target) => {
                self.push(None, Some(target), What { added: true, ..What::default() });
                self.open(Passage::AddIfNeeded, None, Some(target))?;
            }
            (Some(_), Some(target)) if is_dir(target) => self.leave(LeftReason::InTheWay),
            _ => {}
        }
        Ok(())
    }

    /// Leaves what is to stay as it is, and goes through a directory of it to what is not.
    fn spare(&mut self, now: Option<&Entry>, target: Option<&Entry>) -> Result<()> {
        let is_entered = self.scope.spared().opens_within(&self.path);
        match (now, target) {
            (Some(now), target) if is_entered && is_dir(now) => {
                self.hold();
                self.open(Passage::Compare, Some(now), target.filter(|target| is_dir(target)))
            }
            (Some(_), _) => {
                self.leave_and_hold(LeftReason::Spared);
                Ok(())
            }
            (None, _) => {
                self.leave(LeftReason::Spared);
                Ok(())
            }
        }
    }

    fn add(&mut self, target: &Entry) -> Result<()> {
        if self.forbidden(target) {
            self.leave(LeftReason::NotPermitted);
            return Ok(());
        }
        if matches!(target.kind, Kind::File { .. }) && is_git_lock(&self.path) {
            self.leave(LeftReason::GitLock);
            return Ok(());
        }
        if target.meta.xattrs_unread {
            self.leave(LeftReason::NotCaptured);
        }
        self.push(None, Some(target), What { added: true, ..What::default() });
        if is_dir(target) {
            self.open(Passage::Add, None, Some(target))?;
        }
        Ok(())
    }

    fn remove(&mut self, now: &Entry) -> Result<()> {
        if self.claims.missed(&self.path) {
            self.leave_and_hold(LeftReason::NotCaptured);
            return Ok(());
        }
        if !self.claimed(now)? {
            self.leave_and_hold(LeftReason::NotClaimed);
            return Ok(());
        }
        // Its attributes are in no snapshot, and would be lost with it.
        if now.meta.xattrs_unread {
            self.leave_and_hold(LeftReason::InTheWay);
            return Ok(());
        }
        self.push(Some(now), None, What { removed: true, ..What::default() });
        if is_dir(now) {
            self.open(Passage::Remove, Some(now), None)?;
        }
        Ok(())
    }

    fn compare(&mut self, now: &Entry, target: &Entry) -> Result<()> {
        let what = difference(now, target, self.as_root);
        let differs = what != What::default();
        if (what.retyped || what.content) && self.forbidden(target) {
            self.leave_and_hold(LeftReason::NotPermitted);
            return Ok(());
        }
        if now.meta.xattrs_unread && (what.retyped || what.content || differs && is_privileged(target)) {
            self.leave_and_hold(LeftReason::InTheWay);
            return Ok(());
        }
        // Those that are there are all that is known of them.
        let kept = (target.meta.xattrs_unread && !what.retyped).then(|| {
            let meta = Meta { xattrs: now.meta.xattrs.clone(), xattrs_unread: false, ..target.meta.clone() };
            Entry { meta, ..target.clone() }
        });
        let target = kept.as_ref().unwrap_or(target);
        if differs {
            self.push(Some(now), Some(target), what);
        }
        match (&now.kind, &target.kind) {
            (Kind::Dir { node: old, .. }, Kind::Dir { node: new, .. }) => {
                if old != new {
                    self.open(Passage::Compare, Some(now), Some(target))?;
                }
                if differs {
                    self.own_step(now, target, old != new);
                }
                Ok(())
            }
            (Kind::Dir { .. }, _) => self.open(Passage::Retype, Some(now), None),
            (_, Kind::Dir { .. }) => self.open(Passage::Add, None, Some(target)),
            _ => Ok(()),
        }
    }

    /// Plans to give back the mode of what its owner cannot read, or could not read when the target was made.
    ///
    /// The mode is all that is known of it, and so all that is changed; the next capture can read the rest.
    fn change_mode_only(&mut self, now: &Entry, target: &Entry) {
        let alike = now.kind.file_type() == target.kind.file_type() && now.meta.mode != target.meta.mode;
        if !self.as_root && alike && (is_shut(now) || is_shut(target)) && is_known(now) && is_known(target) {
            self.push(Some(now), Some(target), What { mode: true, opaque: true, ..What::default() });
        }
    }

    /// Notes what could go once it is opened, because then it can be captured.
    fn note_shut(&mut self, now: &Entry) {
        let is_own = now.meta.uid == belay_sys::user_id();
        let Some((before, _)) = self.frames.last().and_then(|frame| frame.metas.clone()) else { return };
        if !self.as_root && is_own && is_shut(now) && is_known(now) && super::opened(now) != now.meta.mode {
            let place = Site { path: super::split(&self.path).0.to_vec(), before, after: None };
            self.plan.shut.push(Shut { path: self.path.clone(), now: now.clone(), place });
        }
    }

    /// Notes a directory that can be listed and not entered, because of something in it that nobody could look at.
    fn note_around(&mut self, now: &Entry) {
        let [.., above, around] = &self.frames[..] else { return };
        let (Some((meta, _)), Some((before, _))) = (around.metas.clone(), above.metas.clone()) else { return };
        let path = &self.path[..around.path_len];
        let is_own = meta.uid == belay_sys::user_id() && meta.mode & 0o100 == 0;
        let is_noted = self.plan.shut.last().is_some_and(|last| last.path == path);
        if self.as_root || !is_own || is_noted || !is_unreadable(now) || now.meta != Meta::default() {
            return;
        }
        let kind = Kind::Opaque { reason: Opaque::Unreadable, file_type: FileType::Dir };
        let place = Site { path: super::split(path).0.to_vec(), before, after: None };
        let shut = Shut { path: path.to_vec(), now: Entry { name: Vec::new(), kind, meta }, place };
        self.plan.shut.push(shut);
    }

    /// A directory that changes itself is a site, whether it is descended or not.
    fn own_step(&mut self, now: &Entry, target: &Entry, descended: bool) {
        match self.frames.last_mut() {
            Some(frame) if descended => frame.touched = true,
            _ => self.plan.sites.push(Site {
                path: self.path.clone(),
                before: now.meta.clone(),
                after: Some(target.meta.clone()),
            }),
        }
    }

    /// Whether only root may make such a thing.
    fn forbidden(&self, target: &Entry) -> bool {
        !self.as_root && matches!(target.kind, Kind::CharDevice(_) | Kind::BlockDevice(_))
    }

    fn claimed(&mut self, now: &Entry) -> Result<bool> {
        // What is entered only for something forced in it is doubtful under any name, which `is_doubtful` knows.
        if !self.claims.is_doubtful(&now.name, is_dir(now)) {
            return Ok(true);
        }
        let rules = self.rules()?;
        Ok(self.claims.takes(&rules, &self.path, is_dir(now)))
    }

    /// The rules inside the directory that is being descended, worked out where they are first needed.
    fn rules(&mut self) -> Result<Arc<Rules>> {
        let known = self.frames.iter().rposition(|frame| frame.rules.is_some()).map_or(0, |at| at + 1);
        let mut parent = known.checked_sub(1).and_then(|at| self.frames[at].rules.clone());
        for frame in &mut self.frames[known..] {
            let node = frame.target.as_deref();
            let rules = match &parent {
                None => self.claims.root(node)?,
                Some(parent) => self.claims.inside(parent, &self.path[..frame.path_len], node)?,
            };
            frame.rules = Some(Arc::clone(&rules));
            parent = Some(rules);
        }
        Ok(parent.expect("a path is judged inside a directory"))
    }

    fn push(&mut self, before: Option<&Entry>, after: Option<&Entry>, what: What) {
        // The directory's own metadata is changed in itself, everything else in the directory that holds it.
        let in_itself = before.is_some_and(is_dir) && after.is_some_and(is_dir);
        self.plan.steps.push(&self.path, before, after, what);
        if let Some(frame) = self.frames.last_mut()
            && !in_itself
        {
            frame.touched = true;
        }
    }

    fn leave(&mut self, reason: LeftReason) {
        self.plan.left.push(Left { path: self.path.clone(), reason });
    }

    fn hold(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.holds = true;
        }
    }

    fn leave_and_hold(&mut self, reason: LeftReason) {
        self.leave(reason);
        self.hold();
    }

    fn open(&mut self, passage: Passage, now: Option<&Entry>, target: Option<&Entry>) -> Result<()> {
        let key = |entry: Option<&Entry>| match entry.map(|entry| &entry.kind) {
            Some(Kind::Dir { node, .. }) => Some(*node),
            _ => None,
        };
        let (old, new) = (key(now), key(target));
        self.opened += 1;
        if self.opened.is_multiple_of(NODES_KEPT_MAX) {
            self.view.store().forget_nodes();
        }
        self.frames.push(Frame {
            passage,
            now: old.map(|key| self.present.node(&key)).transpose()?,
            target: new.map(|key| self.view.node(&key)).transpose()?,
            at: (0, 0),
            path_len: self.path.len(),
            metas: now.map(|now| (now.meta.clone(), target.map(|target| target.meta.clone()))),
            mark: (self.plan.steps.len(), self.plan.sites.len()),
            holds: false,
            touched: false,
            rules: None,
        });
        Ok(())
    }

    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.path.truncate(frame.path_len);
        let (steps, sites) = frame.mark;
        match frame.passage {
            Passage::Remove if frame.holds => *self.plan.steps.what_mut(steps - 1) = What::default(),
            Passage::Retype if frame.holds => {
                self.plan.steps.truncate(steps - 1);
                self.plan.sites.truncate(sites);
                self.leave(LeftReason::InTheWay);
                return self.hold();
            }
            Passage::AddIfNeeded if self.plan.steps.len() == steps => self.plan.steps.truncate(steps - 1),
            _ => {}
        }
        if frame.holds && frame.passage == Passage::Remove {
            self.hold();
        }
        if let Some((before, after)) = frame.metas
            && frame.touched
        {
            self.plan.sites.push(Site { path: self.path.clone(), before, after });
        }
        if self.frames.is_empty() {
            self.plan.steps.drop_idle();
        }
    }
}

impl Frame {
    /// The next pair of entries that are not the same.
    fn next(&mut self) -> Option<(Option<usize>, Option<usize>)> {
        let Frame { now, target, at, .. } = self;
        let now = now.as_ref().map_or(&[][..], |node| &node.entries);
        let target = target.as_ref().map_or(&[][..], |node| &node.entries);
        loop {
            let (old, new) = (now.get(at.0), target.get(at.1));
            let order = match (old, new) {
                (None, None) => return None,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.name.cmp(&new.name),
            };
            let (left, right) = (order.is_le(), order.is_ge());
            let pair = (left.then_some(at.0), right.then_some(at.1));
            *at = (at.0 + usize::from(left), at.1 + usize::from(right));
            if order.is_ne() || old != new {
                return Some(pair);
            }
        }
    }
}

fn is_unreadable(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Opaque { reason: Opaque::Unreadable, .. })
}

/// Whether its owner cannot read it.
fn is_shut(entry: &Entry) -> bool {
    match entry.kind {
        Kind::Opaque { reason, file_type } => {
            reason == Opaque::Unreadable && matches!(file_type, FileType::File | FileType::Dir)
        }
        _ => false,
    }
}

fn is_known(entry: &Entry) -> bool {
    entry.meta != Meta::default() && !is_privileged(entry)
}

fn is_dir(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Dir { .. })
}

/// Whether git makes such a file while it changes another, and never keeps one: no branch is called so.
///
/// Only where git itself writes: somebody's own files may lie anywhere else in its directory.
fn is_git_lock(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let Some(git) = names.iter().rposition(|name| *name == b".git").filter(|_| path.ends_with(b".lock")) else {
        return false;
    };
    let below = &names[git + 1..];
    let is_ref = |below: &[&[u8]]| below.len() == 1 || below.first().is_some_and(|name| *name == b"refs");
    const OF_MODULES: [&[u8]; 5] = [b"index.lock", b"HEAD.lock", b"config.lock", b"packed-refs.lock", b"shallow.lock"];
    match below {
        [b"objects", ..] => true,
        [b"worktrees", _, rest @ ..] => is_ref(rest),
        [b"modules", .., last] => OF_MODULES.contains(last) || below.contains(&b"refs".as_slice()),
        below => is_ref(below),
    }
}

/// Why what the target only saw is left as it is.
fn reason_of(target: &Entry) -> LeftReason {
    match target.kind {
        Kind::Opaque { reason: Opaque::Unreadable | Opaque::Hung | Opaque::OverLimit, .. } => LeftReason::NotCaptured,
        _ => LeftReason::NotClaimed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Garden, files};

    #[test]
    fn only_what_git_itself_locks_is_a_lock_of_gits() {
        let locks = [
            ".git/index.lock",
            "sub/.git/HEAD.lock",
            ".git/refs/heads/a/b.lock",
            ".git/worktrees/w/index.lock",
            ".git/modules/deep/name/index.lock",
            ".git/objects/info/commit-graph.lock",
        ];
        let others =
            ["Cargo.lock", ".git/wt/foo/Cargo.lock", ".git/index", "a.git/index.lock", ".git/modules/m/Cargo.lock"];
        assert!(locks.iter().all(|path| is_git_lock(path.as_bytes())));
        assert!(!others.iter().any(|path| is_git_lock(path.as_bytes())));
    }

    #[test]
    fn a_plan_takes_memory_for_its_steps_and_little_else() {
        const DIRS: usize = 2_000;
        const FILES: usize = 50;
        let garden = Garden::new();
        let paths: Vec<String> = (0..DIRS * FILES)
            .map(|at| format!("some/directory-{}/a-file-of-that-directory-{at}", at / FILES))
            .collect();
        let list: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "text")).collect();
        let (_, target) = garden.plant(&files(&list));
        let (_, now) = garden.plant(&files(&[("some/other", "text")]));
        let store = Garden::open(&garden.dir);
        let before = resident_bytes();
        let plan = plan(View::stored(&store), &now, &Links::default(), &target, &Scope::default(), false).unwrap();
        let each = (resident_bytes() - before) / plan.steps.len();
        assert_eq!(plan.steps.len(), DIRS * (FILES + 1) + 1);
        assert!(each < 110, "{each} bytes for each step");
    }

    fn resident_bytes() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
}
