//! Differences counted: a line for each path, with as many signs as lines changed, and a sum.

use std::io::Write;
use std::ops::Range;

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

enum Weight {
    Lines { added: u64, removed: u64 },
    Note(String),
}

/// Writes the table and the sum of what changed.
pub(crate) fn write(out: &mut dyn Write, comparison: &Comparison<'_>, changes: &Changes) -> Result<()> {
    let weights = weigh_all(comparison, changes)?;
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
    let paths = count(weights.len() as u64, "path");
    let (insertions, deletions) = (count(added, "line"), count(removed, "line"));
    Ok(writeln!(out, "{paths} changed, {insertions} added, {deletions} removed")?)
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

/// Weighs them, by two threads if they are few, because the time goes into unpacking what each one held.
fn weigh_all(comparison: &Comparison<'_>, changes: &Changes) -> Result<Vec<Weight>> {
    // What the trees were compared by is not needed to read files.
    comparison.workspace.home().store().forget_kept();
    let all = |part: Range<usize>| part.map(|at| weigh(comparison, &changes.get(at))).collect::<Result<Vec<_>>>();
    let (first, second) = (0..changes.len() / 2, changes.len() / 2..changes.len());
    if first.is_empty() {
        return all(second);
    }
    if changes.len() > FEW {
        return all(0..changes.len());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| all(second));
        let mut weights = all(first)?;
        weights.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(weights)
    })
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
