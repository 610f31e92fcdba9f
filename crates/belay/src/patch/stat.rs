//! Differences counted: a line for each path, with as many signs as lines changed, and a sum.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{Scope, ScopedJoinHandle};

use anstyle::Style;
use belay_session::store::{Change, Changes, Entry, FileType, Kind};
use similar::{ChangeTag, TextDiff};
use unicode_width::UnicodeWidthStr;

use super::{Comparison, Contents, PATIENCE, sizes};
use crate::error::Result;
use crate::ui::quantity::count;
use crate::ui::style;
use crate::view::changes::Line;

/// A longer name sticks out instead of pushing all numbers to the right.
const NAME_WIDTH_MAX: usize = 60;
/// Signs in the widest line.
const SIGNS_MAX: u64 = 40;

pub(crate) enum Weight {
    Lines { added: u64, removed: u64 },
    Note(String),
}

/// Writes the table and the sum of what changed: of `all` paths, as everywhere, though not each has a line of its own.
pub(crate) fn write(
    out: &mut dyn Write,
    comparison: &Comparison<'_>,
    changes: &Changes,
    weighed: Weighed,
    all: usize,
) -> Result<()> {
    let weights = weigh_all(comparison, changes, weighed)?;
    let widths = changes.iter().map(|change| Line::from(&change).name().width());
    let width = widths.filter(|width| *width <= NAME_WIDTH_MAX).max().unwrap_or(0);
    let most = weights.iter().map(Weight::lines).max().unwrap_or(0);
    for (change, weight) in changes.iter().zip(&weights) {
        write_row(out, &change, weight, width, most)?;
    }
    let (added, removed) = weights.iter().fold((0, 0), |(added, removed), weight| match weight {
        Weight::Lines { added: a, removed: r } => (added + a, removed + r),
        Weight::Note(_) => (added, removed),
    });
    let paths = count(all as u64, "path");
    let unnamed = match all.saturating_sub(weights.len()) {
        0 => String::new(),
        folded => format!(" ({folded} not listed: directories, or parts of a repository)"),
    };
    let (insertions, deletions) = (count(added, "line"), count(removed, "line"));
    Ok(writeln!(out, "{paths} changed{unnamed}, {insertions} added, {deletions} removed")?)
}

impl Weight {
    fn lines(&self) -> u64 {
        match self {
            Weight::Lines { added, removed } => added + removed,
            Weight::Note(_) => 0,
        }
    }
}

/// Of more paths than this none waits for a table on a screen, and a second thread's memory is more than it is worth.
const FEW: usize = 4096;
/// So many paths are weighed while others are still looked for.
const AHEAD_MAX: usize = 64;

/// Paths that were weighed before all were known.
#[derive(Default)]
pub(crate) struct Weighed(HashMap<Vec<u8>, Weight>);

/// Weighs the first paths while others are still looked for, because the time goes into unpacking what each one held.
pub(crate) struct Ahead<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    comparison: &'env Comparison<'env>,
    queue: &'env Queue,
    seen: usize,
    other: Option<ScopedJoinHandle<'scope, Weighed>>,
}

/// What is still to be weighed, and whether there may come more.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<(VecDeque<Change>, bool)>,
    bell: Condvar,
}

impl Queue {
    /// The next one; waits for it unless there will be none.
    fn next(&self) -> Option<Change> {
        let mut waiting = self.waiting.lock().expect("no holder panics");
        loop {
            match waiting.0.pop_front() {
                None if !waiting.1 => waiting = self.bell.wait(waiting).expect("no holder panics"),
                next => return next,
            }
        }
    }

    fn close(&self) {
        self.waiting.lock().expect("no holder panics").1 = true;
        self.bell.notify_all();
    }

    /// Weighs what there is; what cannot be read is left for whoever needs it to fail by.
    fn work(&self, comparison: &Comparison<'_>) -> Weighed {
        let mut weighed = Weighed::default();
        while let Some(change) = self.next() {
            if let Ok(weight) = weigh(comparison, &change) {
                weighed.0.insert(change.path, weight);
            }
        }
        weighed
    }
}

impl<'scope, 'env> Ahead<'scope, 'env> {
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        comparison: &'env Comparison<'env>,
        queue: &'env Queue,
    ) -> Ahead<'scope, 'env> {
        Ahead { scope, comparison, queue, seen: 0, other: None }
    }

    /// Takes one more path, unless there are many.
    pub(crate) fn see(&mut self, change: &Change) {
        self.seen += 1;
        if self.seen > AHEAD_MAX {
            return;
        }
        self.queue.waiting.lock().expect("no holder panics").0.push_back(change.clone());
        self.queue.bell.notify_one();
        let (queue, comparison) = (self.queue, self.comparison);
        self.other.get_or_insert_with(|| self.scope.spawn(move || queue.work(comparison)));
    }

    /// Lends a hand with what is left, and returns all that was weighed.
    pub(crate) fn finish(self) -> Weighed {
        self.queue.close();
        let Some(other) = self.other else { return Weighed::default() };
        let mut weighed = self.queue.work(self.comparison);
        weighed.0.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).0);
        weighed
    }
}

/// Weighs those that are not yet weighed, by two threads if they are few.
fn weigh_all(comparison: &Comparison<'_>, changes: &Changes, mut weighed: Weighed) -> Result<Vec<Weight>> {
    if changes.len() > AHEAD_MAX {
        // What the trees were compared by is not needed to read files.
        comparison.workspace.home().store().forget_kept();
    }
    let mut weights: Vec<Option<Weight>> = changes.iter().map(|change| weighed.0.remove(&change.path)).collect();
    let left: Vec<usize> = (0..weights.len()).filter(|at| weights[*at].is_none()).collect();
    let taken = AtomicUsize::new(0);
    // One begins at the front and the other at the back: neighbours lie in one block.
    let part = |from_back: bool| -> Result<Vec<(usize, Weight)>> {
        let mut mine = Vec::new();
        while taken.fetch_add(1, Ordering::Relaxed) < left.len() {
            let at = left[if from_back { left.len() - 1 - mine.len() } else { mine.len() }];
            mine.push((at, weigh(comparison, &changes.get(at))?));
        }
        Ok(mine)
    };
    let found = if left.len() < 2 || left.len() > FEW {
        part(false)?
    } else {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| part(true));
            let mut mine = part(false)?;
            mine.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            Ok::<_, crate::error::Failure>(mine)
        })?
    };
    found.into_iter().for_each(|(at, weight)| weights[at] = Some(weight));
    Ok(weights.into_iter().map(|weight| weight.expect("each was weighed")).collect())
}

fn weigh(comparison: &Comparison<'_>, change: &Change) -> Result<Weight> {
    Ok(match comparison.contents(change)? {
        Contents::Text(..) if is_link(change) => Weight::Note(String::new()),
        // Where all lines come or go there is nothing to compare.
        Contents::Text(before, after) if before.is_empty() != after.is_empty() => {
            Weight::Lines { added: lines(&after), removed: lines(&before) }
        }
        Contents::Text(before, after) if before != after => {
            let (before, after) = apart(&before, &after);
            let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
            let tally = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
            Weight::Lines { added: tally(ChangeTag::Insert), removed: tally(ChangeTag::Delete) }
        }
        Contents::Text(..) | Contents::None => Weight::Note(String::new()),
        Contents::Binary => Weight::Note(format!("binary, {}", sizes(change))),
        Contents::Large => Weight::Note(sizes(change)),
    })
}

/// Two texts without the lines that both begin with, and those that both end with: most of a file that was edited.
fn apart<'a>(before: &'a [u8], after: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let head = before[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (before, after) = (&before[head..], &after[head..]);
    let same = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    // The first of the lines at the end may be the rest of one that differs.
    let tail = before[before.len() - same..].iter().position(|byte| *byte == b'\n').map_or(0, |end| same - end - 1);
    (&before[..before.len() - tail], &after[..after.len() - tail])
}

fn lines(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

fn is_link(change: &Change) -> bool {
    let is_link = |entry: &Entry| entry.kind.file_type() == FileType::Symlink;
    [&change.before, &change.after].into_iter().flatten().any(is_link)
}

fn write_row(out: &mut dyn Write, change: &Change, weight: &Weight, width: usize, most: u64) -> Result<()> {
    let line = Line::from(change);
    let (name, what) = (line.name(), line.what);
    let padding = width.saturating_sub(name.width());
    write!(out, " {name}{:padding$} | ", "")?;
    let holds_files = |entry: &Entry| matches!(entry.kind, Kind::Dir { files: 1.., .. });
    let is_filled = [&change.before, &change.after].into_iter().flatten().any(holds_files);
    let mut notes = if (what.added || what.removed) && !is_filled { Vec::new() } else { line.notes() };
    match weight {
        Weight::Lines { added, removed } => {
            let scale = |lines: &u64| {
                let signs = if most <= SIGNS_MAX { *lines } else { (lines * SIGNS_MAX).div_ceil(most) };
                usize::try_from(signs).unwrap_or(0)
            };
            let (plus, minus) = ("+".repeat(scale(added)), "-".repeat(scale(removed)));
            let coloured =
                |style: Style, signs: String| if signs.is_empty() { signs } else { format!("{style}{signs}{style:#}") };
            write!(out, "{} {}{}", added + removed, coloured(style::GOOD, plus), coloured(style::BAD, minus))?;
        }
        Weight::Note(note) if !note.is_empty() => notes.insert(0, note.clone()),
        Weight::Note(_) => {}
    }
    if what.added || what.removed {
        notes.insert(0, if what.added { "new".to_owned() } else { "gone".to_owned() });
    }
    let separator = if notes.is_empty() || matches!(weight, Weight::Note(_)) { "" } else { " " };
    Ok(writeln!(out, "{separator}{}", notes.join(", "))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(before: &[u8], after: &[u8]) -> (usize, usize) {
        let diff = TextDiff::configure().diff_lines(before, after);
        let tally = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        (tally(ChangeTag::Insert), tally(ChangeTag::Delete))
    }

    #[test]
    fn what_both_begin_and_end_with_does_not_count() {
        let texts: [&[u8]; 12] = [
            b"",
            b"a",
            b"a\n",
            b"a\nb",
            b"a\nb\n",
            b"b\n",
            b"a\nx\nb\n",
            b"xa\nb\n",
            b"a\na\na\n",
            b"a\r\nb\n",
            b"\n\n",
            b"a\nb\na\nb\n",
        ];
        for (before, after) in texts.iter().flat_map(|before| texts.iter().map(move |after| (before, after))) {
            let (left, right) = apart(before, after);
            assert_eq!(counted(left, right), counted(before, after), "{before:?} {after:?}");
        }
        assert_eq!(apart(b"one\ntwo\nthree\n", b"one\n2\nthree\n"), (&b"two\n"[..], &b"2\n"[..]));
    }
}
