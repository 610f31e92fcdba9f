//! Which lines of a text were there before.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The lines of a text with their ends.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// For each line of `after`, the line of `before` that it is, if it is one.
pub fn kept_lines(before: &[u8], after: &[u8]) -> Vec<Option<usize>> {
    let (before, after) = (lines(before), lines(after));
    let mut kept = vec![None; after.len()];
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            (0..len).for_each(|at| kept[new_index + at] = Some(old_index + at));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_again_and_new_ones_are_new() {
        assert_eq!(kept_lines(b"a\nb\nc\n", b"x\na\nc\n"), [None, Some(0), Some(2)]);
        assert_eq!(kept_lines(b"", b"a"), [None]);
        assert_eq!(kept_lines(b"a\n", b""), [] as [Option<usize>; 0]);
        assert_eq!(kept_lines(b"a", b"a\n"), [None]);
        assert_eq!(lines(b"a\n\nb"), [&b"a\n"[..], b"\n", b"b"]);
    }
}
