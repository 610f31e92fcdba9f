//! Changes of a tree in lines that a person can take in: whole directories count once, metadata is spelled out.

use std::borrow::Cow;

use belay_session::store::{Change, Entry, FileType, Kind, Step, What};

use super::notable::notable;
use super::{letter, relative, type_name};
use crate::ui::escape::printable;
use crate::ui::quantity::{count, size};
use crate::ui::style;

/// One path that differs, whether it comes from a comparison or from a plan.
#[derive(Clone)]
pub(crate) struct Line<'a> {
    /// The path beneath the workspace.
    pub(crate) path: Cow<'a, [u8]>,
    /// What was there.
    pub(crate) before: Option<Cow<'a, Entry>>,
    /// What is there now.
    pub(crate) after: Option<Cow<'a, Entry>>,
    /// In what they differ.
    pub(crate) what: What,
}

impl<'a> From<&'a Change> for Line<'a> {
    fn from(change: &'a Change) -> Line<'a> {
        let side = |entry: &'a Option<Entry>| entry.as_ref().map(Cow::Borrowed);
        Line {
            path: Cow::Borrowed(&change.path),
            before: side(&change.before),
            after: side(&change.after),
            what: change.what(),
        }
    }
}

impl From<Change> for Line<'_> {
    fn from(change: Change) -> Self {
        let what = change.what();
        let side = |entry: Option<Entry>| entry.map(Cow::Owned);
        Line { path: Cow::Owned(change.path), before: side(change.before), after: side(change.after), what }
    }
}

impl<'a> From<Step<'a>> for Line<'a> {
    fn from(step: Step<'a>) -> Line<'a> {
        let side = |entry: Option<Entry>| entry.map(Cow::Owned);
        Line { path: Cow::Borrowed(step.path), before: side(step.before), after: side(step.after), what: step.what }
    }
}

/// Drops everything beneath a directory that is new or gone as a whole; parents come before their children.
pub(crate) fn collapse<'a>(lines: impl Iterator<Item = Line<'a>>) -> impl Iterator<Item = Line<'a>> {
    let mut whole: Option<Vec<u8>> = None;
    lines.filter(move |line| {
        let inside = whole.as_ref().is_some_and(|dir| is_beneath(&line.path, dir));
        if !inside {
            whole = line.is_whole_directory().then(|| line.path.to_vec());
        }
        !inside
    })
}

/// Shows what is in each new directory, file by file; of one with more than `files_max` only what must not be missed.
pub(crate) fn unfold<'a>(lines: impl Iterator<Item = Line<'a>>, files_max: usize) -> Vec<Line<'a>> {
    let lines: Vec<Line<'a>> = lines.collect();
    let mut kept: Vec<Line<'a>> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if !line.is_whole_directory() {
            kept.push(line.clone());
            continue;
        }
        let beneath = lines[at..].iter().take_while(|inner| is_beneath(&inner.path, &line.path)).count();
        let inner = &lines[at..at + beneath];
        at += beneath;
        let is_new = !line.what.removed && inner.len() <= files_max && !inner.is_empty();
        if is_new {
            // A directory with something in it is shown by that.
            let is_shown = |(at, one): &(usize, &Line<'a>)| {
                !one.is_whole_directory() || inner.get(at + 1).is_none_or(|next| !is_beneath(&next.path, &one.path))
            };
            kept.extend(inner.iter().enumerate().filter(is_shown).map(|(_, one)| one.clone()));
        } else {
            kept.push(line.clone());
            kept.extend(inner.iter().filter(|one| one.is_notable()).cloned());
        }
    }
    kept
}

fn is_beneath(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.first() == Some(&b'/'))
}

impl Line<'_> {
    /// Whether a directory came or went with all that is in it.
    pub(crate) fn is_whole_directory(&self) -> bool {
        let is_whole = self.what.added || self.what.removed || self.what.retyped;
        is_whole
            && [&self.before, &self.after].into_iter().flatten().any(|entry| entry.kind.file_type() == FileType::Dir)
    }

    /// Whether it comes and somebody runs or believes it who did not review it.
    pub(crate) fn is_notable(&self) -> bool {
        self.who_uses().is_some()
    }

    fn who_uses(&self) -> Option<&'static str> {
        let is_file = self.after.as_ref().is_some_and(|entry| entry.kind.file_type() != FileType::Dir);
        notable(&self.path).filter(|_| is_file)
    }

    /// The line of a plan, with a mark if somebody runs or believes what comes.
    pub(crate) fn marked_plan(&self) -> String {
        let bad = style::BAD;
        match self.who_uses() {
            Some(who) => format!("{}  {bad}! {who}{bad:#}", self.plan()),
            None => self.plan(),
        }
    }

    /// The path, with a slash behind a directory.
    pub(crate) fn name(&self) -> String {
        let is_dir =
            self.after.as_ref().or(self.before.as_ref()).is_some_and(|entry| entry.kind.file_type() == FileType::Dir);
        let slash = if is_dir && !self.path.is_empty() { "/" } else { "" };
        format!("{}{slash}", relative(&self.path))
    }

    /// What differs besides bytes, and how much a whole directory holds.
    pub(crate) fn notes(&self) -> Vec<String> {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => metadata(before, after, self.what),
            (None, Some(entry)) | (Some(entry), None) => contents(entry).into_iter().collect(),
            (None, None) => Vec::new(),
        }
    }

    /// One letter for the change.
    pub(crate) fn letter(&self) -> char {
        letter(self.what)
    }

    /// The colour of that letter.
    pub(crate) fn style(&self) -> anstyle::Style {
        match self.letter() {
            'A' => style::GOOD,
            'D' => style::BAD,
            _ => style::CAUTION,
        }
    }

    /// The line as `belay status` prints it.
    pub(crate) fn status(&self) -> String {
        let (letter, style) = (self.letter(), self.style());
        format!("{style}{letter}{style:#} {}{}", self.name(), bracketed(&self.notes()))
    }

    /// The line as a plan prints it: what will be done.
    pub(crate) fn plan(&self) -> String {
        let (sign, style) = match self.what {
            What { added: true, .. } => ('+', style::GOOD),
            What { removed: true, .. } => ('-', style::BAD),
            _ => ('~', style::CAUTION),
        };
        let mut notes = self.notes();
        let is_file = self.after.as_ref().is_some_and(|entry| entry.kind.file_type() == FileType::File);
        // A mode beside it must not hide that it holds something else.
        if self.what.content && is_file && !notes.is_empty() {
            notes.insert(0, "content".to_owned());
        }
        format!("{style}{sign}{style:#} {}{}", self.name(), bracketed(&notes))
    }
}

fn bracketed(notes: &[String]) -> String {
    let dim = style::DIM;
    if notes.is_empty() { String::new() } else { format!(" {dim}({}){dim:#}", notes.join(", ")) }
}

fn contents(entry: &Entry) -> Option<String> {
    match &entry.kind {
        Kind::Dir { files, bytes, .. } => Some(format!("{}, {}", count(*files, "file"), size(*bytes))),
        Kind::Symlink(target) => Some(format!("→ {}", printable(target))),
        Kind::File { .. } | Kind::Opaque { .. } => None,
        other => Some(type_name(other.file_type()).to_owned()),
    }
}

/// In what two entries differ besides bytes.
pub(crate) fn metadata(before: &Entry, after: &Entry, what: What) -> Vec<String> {
    let mut notes = Vec::new();
    if what.retyped {
        notes.push(format!("{} → {}", type_name(before.kind.file_type()), type_name(after.kind.file_type())));
    } else if let (true, Kind::Symlink(old), Kind::Symlink(new)) = (what.content, &before.kind, &after.kind) {
        notes.push(format!("link {} → {}", printable(old), printable(new)));
    }
    if what.mode {
        notes.push(format!("mode {:04o} → {:04o}", before.meta.mode, after.meta.mode));
    }
    if what.owner {
        let owner = |entry: &Entry| format!("{}:{}", entry.meta.uid, entry.meta.gid);
        notes.push(format!("owner {} → {}", owner(before), owner(after)));
    }
    if what.xattrs {
        notes.push(format!("attributes {}", changed_xattrs(before, after).join(" ")));
    }
    if what.links {
        notes.push("hard links".to_owned());
    }
    if what.flags {
        notes.push("inode flags".to_owned());
    }
    notes
}

fn changed_xattrs(before: &Entry, after: &Entry) -> Vec<String> {
    let (old, new) = (&before.meta.xattrs, &after.meta.xattrs);
    let gone = old.iter().filter(|(name, _)| !new.iter().any(|(other, _)| other == name));
    let come = new.iter().filter(|(name, _)| !old.iter().any(|(other, _)| other == name));
    let other = new.iter().filter(|(name, value)| old.iter().any(|(n, v)| n == name && v != value));
    let signed = |sign: char, name: &[u8]| format!("{sign}{}", printable(name));
    gone.map(|(name, _)| signed('-', name))
        .chain(come.map(|(name, _)| signed('+', name)))
        .chain(other.map(|(name, _)| signed('~', name)))
        .collect()
}
