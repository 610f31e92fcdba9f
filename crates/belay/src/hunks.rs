//! The changes of a file as hunks that are taken or left one by one.
//!
//! A run is a stretch of lines that differs; a hunk is one run or several that lie close together. Whatever is decided about
//! the runs, every line that differs in none of them is as it was.

use std::io::{self, Write};
use std::ops::Range;
use std::time::Duration;

use belay_session::store::lines;
use similar::{DiffTag, TextDiff};

use crate::ui::escape::visible_line;
use crate::ui::style;

/// Lines that are shown around a change; runs that share them are one hunk.
const CONTEXT: usize = 3;
/// After this long a comparison settles for larger runs that are still right.
const PATIENCE: Duration = Duration::from_secs(2);

/// Both sides of a file, and where they differ.
pub(crate) struct Hunks {
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    runs: Vec<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    old: Range<usize>,
    new: Range<usize>,
}

/// What is to become of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays as it was.
    #[default]
    Left,
    /// It becomes new.
    Taken,
    /// It becomes this.
    Rewritten(Vec<u8>),
}

impl Hunks {
    /// Compares both sides.
    pub(crate) fn of(old: &[u8], new: &[u8]) -> Hunks {
        let (left, right) = (lines(old), lines(new));
        let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&left, &right);
        let mut runs: Vec<Run> = Vec::new();
        for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
            match runs.last_mut() {
                Some(run) if run.old.end == op.old_range().start && run.new.end == op.new_range().start => {
                    (run.old.end, run.new.end) = (op.old_range().end, op.new_range().end);
                }
                _ => runs.push(Run { old: op.old_range(), new: op.new_range() }),
            }
        }
        let owned = |lines: Vec<&[u8]>| lines.into_iter().map(<[u8]>::to_vec).collect();
        Hunks { runs, old: owned(left), new: owned(right) }
    }

    /// The hunks, each as the runs that it consists of.
    pub(crate) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, run) in self.runs.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if run.old.start - self.runs[at - 1].old.end <= 2 * CONTEXT => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// How many runs there are.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The file with some of its runs taken.
    pub(crate) fn with(&self, fates: &[Fate]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = 0;
        for (run, fate) in self.runs.iter().zip(fates) {
            self.old[at..run.old.start].iter().for_each(|line| out.extend_from_slice(line));
            match fate {
                Fate::Left => self.old[run.old.clone()].iter().for_each(|line| out.extend_from_slice(line)),
                Fate::Taken => self.new[run.new.clone()].iter().for_each(|line| out.extend_from_slice(line)),
                Fate::Rewritten(bytes) => out.extend_from_slice(bytes),
            }
            at = run.old.end;
        }
        self.old[at..].iter().for_each(|line| out.extend_from_slice(line));
        out
    }

    /// What a run would become.
    pub(crate) fn proposal(&self, run: usize) -> Vec<u8> {
        self.new[self.runs[run].new.clone()].concat()
    }

    /// The header of a hunk, as patches have it.
    pub(crate) fn header(&self, group: &Range<usize>) -> String {
        let (old, new) = self.reach(group);
        let side = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            len => format!("{},{len}", range.start + 1),
        };
        format!("@@ -{} +{} @@", side(&old), side(&new))
    }

    /// The lines of a hunk, each with its sign.
    pub(crate) fn lines(&self, group: &Range<usize>) -> Vec<(char, &[u8])> {
        let (old, _) = self.reach(group);
        let mut all = Vec::new();
        let mut at = old.start;
        for run in &self.runs[group.clone()] {
            all.extend(self.old[at..run.old.start].iter().map(|line| (' ', line.as_slice())));
            all.extend(self.old[run.old.clone()].iter().map(|line| ('-', line.as_slice())));
            all.extend(self.new[run.new.clone()].iter().map(|line| ('+', line.as_slice())));
            at = run.old.end;
        }
        all.extend(self.old[at..old.end].iter().map(|line| (' ', line.as_slice())));
        all
    }

    /// The lines on both sides that a hunk shows.
    fn reach(&self, group: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let (first, last) = (&self.runs[group.start], &self.runs[group.end - 1]);
        let before = first.old.start.min(CONTEXT);
        let after = (self.old.len() - last.old.end).min(CONTEXT);
        (first.old.start - before..last.old.end + after, first.new.start - before..last.new.end + after)
    }

    /// Writes a hunk for a person.
    pub(crate) fn write(&self, out: &mut dyn Write, group: &Range<usize>) -> io::Result<()> {
        let place = style::ID;
        writeln!(out, "{place}{}{place:#}", self.header(group))?;
        for (sign, line) in self.lines(group) {
            let style = match sign {
                '-' => style::BAD,
                '+' => style::GOOD,
                _ => anstyle::Style::new(),
            };
            let text = visible_line(line.strip_suffix(b"\n").unwrap_or(line));
            writeln!(out, "{style}{sign}{text}{style:#}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    const NEW: &[u8] = b"one\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\ntwelve";

    #[test]
    fn runs_that_lie_close_together_are_one_hunk() {
        let hunks = Hunks::of(OLD, NEW);
        assert_eq!((hunks.runs(), hunks.groups()), (3, vec![0..2, 2..3]));
        assert_eq!(hunks.header(&(0..2)), "@@ -1,7 +1,7 @@");
        assert_eq!(hunks.header(&(2..3)), "@@ -9,4 +9,4 @@");
        assert_eq!(hunks.lines(&(2..3))[3..], [('-', &b"12\n"[..]), ('+', &b"twelve"[..])]);
    }

    #[test]
    fn all_of_it_is_the_new_file_and_none_of_it_the_old() {
        let hunks = Hunks::of(OLD, NEW);
        assert_eq!(hunks.with(&[Fate::Left, Fate::Left, Fate::Left]), OLD);
        assert_eq!(hunks.with(&[Fate::Taken, Fate::Taken, Fate::Taken]), NEW);
        let some = hunks.with(&[Fate::Left, Fate::Taken, Fate::Rewritten(b"dozen\n".to_vec())]);
        assert_eq!(some, b"1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\ndozen\n");
        let made = Hunks::of(b"", b"a\nb\n");
        assert_eq!(made.groups(), std::slice::from_ref(&(0..1)));
        assert_eq!(made.header(&(0..1)), "@@ -0,0 +1,2 @@");
        assert_eq!(made.with(&[Fate::Taken]), b"a\nb\n");
    }
}
