//! Differences as a unified patch that `git apply` reads; what git cannot say stands in lines that begin with `#`.

use std::io::{self, Write};
use std::time::Duration;

use belay_session::store::{Change, Entry, FileType, Kind, What};
use belay_session::{Tree, Workspace};
use similar::{ChangeTag, TextDiff};

use crate::error::Result;
use crate::ui::escape::{quoted_for_patch, visible_line};
use crate::ui::{quantity, style};
use crate::view::changes::{Line, metadata};
use crate::view::{relative, type_name};

pub(crate) mod stat;

/// Larger files are named with their sizes instead of being compared line by line.
const SHOWN_BYTES_MAX: u64 = 4 << 20;
/// After this long a comparison of two files settles for a longer patch that is still right.
const PATIENCE: Duration = Duration::from_secs(2);
/// As many characters of a name as git shows in a small repository.
const INDEX_CHARS: usize = 7;
/// As many bytes as git looks at to tell whether a file is binary.
const SNIFFED_BYTES: usize = 8000;

/// Two trees, and where their bytes come from.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'a> {
    pub(crate) workspace: &'a Workspace<'a>,
    pub(crate) before: &'a Tree,
    pub(crate) after: &'a Tree,
    /// Whether both versions of a file are named as git does, even where there is no repository.
    pub(crate) is_indexed: bool,
}

/// What there is to compare in a path.
pub(crate) enum Contents {
    /// Both sides as text; an absent side is empty.
    Text(Vec<u8>, Vec<u8>),
    /// At least one side is not text.
    Binary,
    /// At least one side is too large to show.
    Large,
    /// No bytes differ.
    None,
}

impl Comparison<'_> {
    /// The bytes on both sides of a change, if they are worth showing.
    pub(crate) fn contents(&self, change: &Change) -> Result<Contents> {
        let what = change.what();
        if !(what.content || what.added || what.removed) {
            return Ok(Contents::None);
        }
        let sides = [&change.before, &change.after];
        if sides.iter().all(|side| side.as_ref().is_none_or(|entry| size_of(entry).is_none())) {
            return Ok(Contents::None);
        }
        if sides.iter().any(|side| side.as_ref().and_then(size_of).is_some_and(|size| size > SHOWN_BYTES_MAX)) {
            return Ok(Contents::Large);
        }
        if is_git_object(&change.path) {
            return Ok(Contents::Binary);
        }
        // The newer side lies among what changed with it, the older one may lie deep in a large block.
        let new = self.bytes(self.after, &change.path, change.after.as_ref())?;
        if is_binary(&new) {
            return Ok(Contents::Binary);
        }
        let old = self.bytes(self.before, &change.path, change.before.as_ref())?;
        Ok(if is_binary(&old) { Contents::Binary } else { Contents::Text(old, new) })
    }

    fn bytes(&self, tree: &Tree, path: &[u8], entry: Option<&Entry>) -> Result<Vec<u8>> {
        match entry.map(|entry| (entry, &entry.kind)) {
            Some((entry, Kind::File { .. })) => Ok(self.workspace.read(tree, path, entry)?),
            Some((_, Kind::Symlink(target))) => Ok(target.clone()),
            _ => Ok(Vec::new()),
        }
    }
}

/// Whether it lies among the objects of a repository, which are compressed and by chance hold no NUL.
fn is_git_object(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    names.windows(2).any(|pair| pair == [&b".git"[..], b"objects"])
}

/// Whether the bytes are no text: a NUL among the first is git's rule, and what is neither UTF-8 nor free of control
/// characters would only be noise as lines.
fn is_binary(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    // A character that the end of what is looked at cuts in two is no fault.
    let is_utf8 = std::str::from_utf8(first).map_or_else(|error| error.error_len().is_none(), |_| true);
    let is_control = |byte: &u8| *byte < b' ' && !b"\t\n\x0b\x0c\r\x08\x1b".contains(byte);
    first.contains(&0) || (!is_utf8 && first.iter().any(is_control))
}

fn size_of(entry: &Entry) -> Option<u64> {
    match &entry.kind {
        Kind::File { size, .. } => Some(*size),
        Kind::Symlink(target) => Some(target.len() as u64),
        _ => None,
    }
}

/// A change of type is shown as git shows it: the old thing goes, the new one comes.
pub(crate) fn split_retyped(change: Change) -> Vec<Change> {
    if !change.what().retyped {
        return vec![change];
    }
    let Change { path, before, after, opaque } = change;
    vec![Change { path: path.clone(), before, after: None, opaque }, Change { path, before: None, after, opaque }]
}

/// Writes one change of a path; `raw` writes lines as they are, for a patch that is not read on a terminal.
pub(crate) fn write_change(
    out: &mut dyn Write,
    comparison: &Comparison<'_>,
    change: &Change,
    context: usize,
    raw: bool,
) -> Result<()> {
    write_remarks(out, change)?;
    let contents = comparison.contents(change)?;
    let what = change.what();
    let sides = (change.before.as_ref().filter(|e| is_in_git(e)), change.after.as_ref().filter(|e| is_in_git(e)));
    if sides == (None, None) || (!what.mode && matches!(contents, Contents::None)) {
        return Ok(());
    }
    let is_plain = comparison.before.is_from_git();
    write_header(out, change, what, is_plain)?;
    write_index(out, comparison, change, &contents)?;
    let (old, new) = names(change);
    match contents {
        Contents::Text(before, after) if before != after => {
            write_hunks(out, [&old, &new], &before, &after, context, raw)?
        }
        Contents::Text(..) | Contents::None => {}
        Contents::Binary => writeln!(out, "Binary files {old} and {new} differ")?,
        Contents::Large => writeln!(out, "Files {old} and {new} differ ({}, too large to show)", sizes(change))?,
    }
    Ok(())
}

fn is_in_git(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File { .. } | Kind::Symlink(_))
}

fn names(change: &Change) -> (String, String) {
    let name = |prefix, side: &Option<Entry>| match side {
        Some(_) => quoted_for_patch(prefix, &change.path),
        None => "/dev/null".to_owned(),
    };
    (name("a/", &change.before), name("b/", &change.after))
}

/// What git has no words for: directories, special files, owners, attributes.
fn write_remarks(out: &mut dyn Write, change: &Change) -> io::Result<()> {
    let (line, name) = (Line::from(change), relative(&change.path));
    let remark = match (&change.before, &change.after) {
        (None, Some(entry)) if !is_in_git(entry) => {
            let kind = type_name(entry.kind.file_type());
            format!("new {kind} with mode {:04o}{}", entry.meta.mode, files_in(entry))
        }
        (Some(entry), None) if !is_in_git(entry) => {
            format!("{} removed{}", type_name(entry.kind.file_type()), files_in(entry))
        }
        (Some(before), Some(after)) => {
            let git_says_mode = is_in_git(before) && is_in_git(after);
            let what = What { mode: line.what.mode && !git_says_mode, content: false, ..line.what };
            metadata(before, after, what).join(", ")
        }
        _ => String::new(),
    };
    let style = style::CAUTION;
    if remark.is_empty() { Ok(()) } else { writeln!(out, "{style}# {name}: {remark}{style:#}") }
}

/// How many files came or went with a directory that is named for all of them.
fn files_in(entry: &Entry) -> String {
    match entry.kind {
        Kind::Dir { files: files @ 1.., .. } => format!(", {}", quantity::count(files, "file")),
        _ => String::new(),
    }
}

/// Git's line about both versions, where one of them is git's or it is wanted anyway.
fn write_index(
    out: &mut dyn Write,
    comparison: &Comparison<'_>,
    change: &Change,
    contents: &Contents,
) -> io::Result<()> {
    let Contents::Text(old, new) = contents else { return Ok(()) };
    let name = |side: &Option<Entry>, bytes: &[u8]| match side {
        Some(_) => {
            let id = match comparison.is_indexed {
                true => comparison.before.git_name_anyway(bytes),
                false => comparison.before.git_name(bytes),
            };
            id.map(|id| id.to_hex()[..INDEX_CHARS].to_owned())
        }
        None => Some("0".repeat(INDEX_CHARS)),
    };
    let (Some(before), Some(after)) = (name(&change.before, old), name(&change.after, new)) else { return Ok(()) };
    let mode = match (&change.before, &change.after) {
        (Some(before), Some(after)) if git_mode(before, true) == git_mode(after, true) => {
            format!(" {}", git_mode(after, true))
        }
        _ => String::new(),
    };
    let style = style::HEADING;
    if old == new { Ok(()) } else { writeln!(out, "{style}index {before}..{after}{mode}{style:#}") }
}

fn write_header(out: &mut dyn Write, change: &Change, what: What, is_plain: bool) -> io::Result<()> {
    let style = style::HEADING;
    let (old, new) = (quoted_for_patch("a/", &change.path), quoted_for_patch("b/", &change.path));
    writeln!(out, "{style}diff --git {old} {new}{style:#}")?;
    match (&change.before, &change.after) {
        (None, Some(entry)) => writeln!(out, "{style}new file mode {}{style:#}", git_mode(entry, is_plain)),
        (Some(entry), None) => writeln!(out, "{style}deleted file mode {}{style:#}", git_mode(entry, is_plain)),
        (Some(before), Some(after)) if what.mode => {
            writeln!(out, "{style}old mode {}{style:#}", git_mode(before, is_plain))?;
            writeln!(out, "{style}new mode {}{style:#}", git_mode(after, is_plain))
        }
        _ => Ok(()),
    }
}

/// A mode in git's form; `is_plain` if only one that git itself knows will do.
fn git_mode(entry: &Entry, is_plain: bool) -> String {
    match entry.kind.file_type() {
        FileType::Symlink => "120000".to_owned(),
        _ if is_plain => (if entry.meta.mode & 0o100 != 0 { "100755" } else { "100644" }).to_owned(),
        _ => format!("10{:04o}", entry.meta.mode),
    }
}

fn sizes(change: &Change) -> String {
    let side = |entry: &Option<Entry>| entry.as_ref().and_then(size_of).map(quantity::size);
    match (side(&change.before), side(&change.after)) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (before, after) => before.or(after).unwrap_or_default(),
    }
}

fn write_hunks(
    out: &mut dyn Write,
    names: [&str; 2],
    before: &[u8],
    after: &[u8],
    context: usize,
    raw: bool,
) -> io::Result<()> {
    let (heading, place) = (style::HEADING, style::ID);
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    writeln!(out, "{heading}--- {}{heading:#}\n{heading}+++ {}{heading:#}", names[0], names[1])?;
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        writeln!(out, "{place}{}{place:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ("-", style::BAD),
                ChangeTag::Insert => ("+", style::GOOD),
                ChangeTag::Equal => (" ", anstyle::Style::new()),
            };
            let value: &[u8] = change.value();
            let line = value.strip_suffix(b"\n").unwrap_or(value);
            write!(out, "{style}{sign}")?;
            if raw {
                out.write_all(line)?
            } else {
                out.write_all(visible_line(line).as_bytes())?
            }
            writeln!(out, "{style:#}")?;
            if change.missing_newline() {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}
