//! Three versions of one entry become one: property by property, and a file's text line by line.

use similar::{DiffableStr, TextMerge};

use super::{Clash, Trees};
use crate::error::Result;
use crate::hash::Hash;
use crate::restore::is_privileged;
use crate::tree::{Content, Entry, Kind, Meta};

/// Larger files are not merged; it is the size up to which one object holds a file.
const MERGED_BYTES_MAX: u64 = 4 << 20;

/// The one text that has both ways of changing `base`; none where they meet, or where one of the three is no text.
pub fn merge_lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    match () {
        () if base == theirs || ours == theirs => return Some(ours.to_vec()),
        () if base == ours => return Some(theirs.to_vec()),
        () if [base, ours, theirs].iter().any(|bytes| bytes.contains(&0)) => return None,
        () => {}
    }
    let merge = TextMerge::from_lines(base, ours, theirs);
    if merge.is_conflicted() {
        return None;
    }
    let mut out = Vec::with_capacity(ours.len());
    for region in merge.regions() {
        let lines = match region.resolution() {
            similar::MergeResolution::Theirs => region.theirs_range().map(|at| merge.theirs_line(at)).collect(),
            _ => region.ours_range().map(|at| merge.ours_line(at)).collect::<Vec<_>>(),
        };
        lines.into_iter().flatten().for_each(|line| out.extend_from_slice(line.as_bytes()));
    }
    Some(out)
}

/// An entry of all three trees, as merged, and its bytes if the store does not have them.
pub(super) struct Whole {
    pub(super) entry: Entry,
    pub(super) bytes: Option<Vec<u8>>,
}

/// Merges an entry that all three trees have, and that no two of them have alike.
///
/// What runs with the rights of another has the content that somebody gave those rights to, or it is not merged.
pub(super) fn merge_entry(
    trees: &Trees<'_>,
    path: &[u8],
    versions: [&Entry; 3],
) -> Result<std::result::Result<Whole, Clash>> {
    let merged = merge_properties(trees, path, versions)?;
    let is_told_apart = |whole: &Whole| is_privileged(&whole.entry) && !versions.iter().any(|one| grants(one, whole));
    Ok(merged.and_then(|whole| if is_told_apart(&whole) { Err(Clash::BothChanged) } else { Ok(whole) }))
}

/// Whether a version has this content and these rights together.
fn grants(version: &Entry, whole: &Whole) -> bool {
    let rights = |entry: &Entry| {
        let capability = entry.meta.xattrs.iter().find(|(key, _)| key == b"security.capability").cloned();
        (entry.meta.mode & 0o6000, entry.meta.uid, entry.meta.gid, capability)
    };
    same_content(&version.kind, &whole.entry.kind) && rights(version) == rights(&whole.entry)
}

fn merge_properties(
    trees: &Trees<'_>,
    path: &[u8],
    [base, ours, theirs]: [&Entry; 3],
) -> Result<std::result::Result<Whole, Clash>> {
    let Some(meta) = merge_meta(&base.meta, &ours.meta, &theirs.meta) else { return Ok(Err(Clash::BothChanged)) };
    let whole = |kind: Kind, bytes| Whole { entry: Entry { name: ours.name.clone(), meta, kind }, bytes };
    if same_content(&base.kind, &theirs.kind) || same_content(&ours.kind, &theirs.kind) {
        return Ok(Ok(whole(ours.kind.clone(), None)));
    }
    if same_content(&base.kind, &ours.kind) {
        return Ok(Ok(whole(theirs.kind.clone(), None)));
    }
    let (Kind::File { size: a, .. }, Kind::File { size: b, .. }, Kind::File { size: c, .. }) =
        (&base.kind, &ours.kind, &theirs.kind)
    else {
        return Ok(Err(Clash::BothChanged));
    };
    if [a, b, c].iter().any(|size| **size > MERGED_BYTES_MAX) {
        return Ok(Err(Clash::NotText));
    }
    let bytes = [trees.base.bytes(base)?, (trees.read)(path, ours)?, trees.theirs.bytes(theirs)?];
    if bytes.iter().any(|bytes| bytes.contains(&0)) {
        return Ok(Err(Clash::NotText));
    }
    match merge_lines(&bytes[0], &bytes[1], &bytes[2]) {
        Some(merged) if merged.len() as u64 <= MERGED_BYTES_MAX => {
            let hash: Hash = trees.ours.view.store().algorithm().hash(&merged);
            let kind = Kind::File { size: merged.len() as u64, content: Content::Whole(hash) };
            Ok(Ok(whole(kind, Some(merged))))
        }
        _ => Ok(Err(Clash::BothChanged)),
    }
}

fn same_content(a: &Kind, b: &Kind) -> bool {
    match (a, b) {
        (Kind::File { size: a, content: x }, Kind::File { size: b, content: y }) => {
            a == b && x.identity() == y.identity()
        }
        (Kind::Dir { .. }, Kind::Dir { .. }) => true,
        (a, b) => a == b,
    }
}

/// Each property as whoever changed it left it; none if both did, and not alike.
pub(super) fn merge_meta(base: &Meta, ours: &Meta, theirs: &Meta) -> Option<Meta> {
    Some(Meta {
        mode: *one_of(&base.mode, &ours.mode, &theirs.mode)?,
        uid: *one_of(&base.uid, &ours.uid, &theirs.uid)?,
        gid: *one_of(&base.gid, &ours.gid, &theirs.gid)?,
        mtime: ours.mtime,
        immutable: *one_of(&base.immutable, &ours.immutable, &theirs.immutable)?,
        append_only: *one_of(&base.append_only, &ours.append_only, &theirs.append_only)?,
        // What could not be read is not known to have changed.
        xattrs: match [base, ours, theirs].iter().any(|meta| meta.xattrs_unread) {
            true => ours.xattrs.clone(),
            false => one_of(&base.xattrs, &ours.xattrs, &theirs.xattrs)?.clone(),
        },
        xattrs_unread: ours.xattrs_unread,
    })
}

fn one_of<'a, T: PartialEq>(base: &'a T, ours: &'a T, theirs: &'a T) -> Option<&'a T> {
    match () {
        () if theirs == base || theirs == ours => Some(ours),
        () if ours == base => Some(theirs),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        merge_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn changes_apart_are_both_kept_and_changes_that_meet_are_not_guessed() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(merged(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merged(base, "a\nb\nc\nd\ne\nf\n", "b\nc\nd\ne\n").as_deref(), Some("b\nc\nd\ne\nf\n"));
        assert_eq!(merged(base, "a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n"), None);
        assert_eq!(merged(base, "a\nX\nc\nd\ne\n", "a\nc\nd\ne\n"), None);
        assert_eq!(merged("a\n", "a\nx\n", "a\ny\n"), None);
        assert_eq!(merged("a\nm\nb", "a\nm\nb\nc\n", "x\nm\nb"), Some("x\nm\nb\nc\n".into()));
        assert_eq!(merged("a\nb\n", "A\nb\n", "a\nB\n"), None, "neighbours meet, as for git");
    }

    #[test]
    fn what_is_no_text_is_not_merged_unless_one_side_is_as_it_was() {
        assert_eq!(merge_lines(b"a\n\0\nz\n", b"A\n\0\nz\n", b"a\n\0\nZ\n"), None);
        assert_eq!(merge_lines(b"\0", b"\0", b"x").as_deref(), Some(&b"x"[..]));
        assert_eq!(
            merge_lines(b"\xff\nb\nc\n", b"\xff\nb\nC\n", b"\xfe\nb\nc\n").as_deref(),
            Some(&b"\xfe\nb\nC\n"[..])
        );
    }

    #[test]
    fn properties_are_merged_one_by_one() {
        let base = Meta { mode: 0o644, ..Meta::default() };
        let ours = Meta { mode: 0o755, ..base.clone() };
        let theirs = Meta { xattrs: vec![(b"user.a".to_vec(), b"1".to_vec())], ..base.clone() };
        let both = merge_meta(&base, &ours, &theirs).unwrap();
        assert_eq!((both.mode, both.xattrs.len()), (0o755, 1));
        assert_eq!(merge_meta(&base, &ours, &Meta { mode: 0o600, ..base.clone() }), None);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0_u8..6, 0..12)
            .prop_map(|lines| lines.iter().flat_map(|line| [b'a' + line, b'\n']).collect())
    }

    /// Lines that no other text has, so that where they come from is plain.
    fn with_lines(base: &[u8], at: &[usize], mark: u8) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> = base.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for (nth, at) in at.iter().enumerate() {
            let line = vec![mark, b'0' + nth as u8, b'\n'];
            lines.insert(at % (lines.len() + 1), line);
        }
        lines.concat()
    }

    proptest! {
        #[test]
        fn a_side_that_did_nothing_changes_nothing(base in text(), other in text()) {
            prop_assert_eq!(merge_lines(&base, &other, &base), Some(other.clone()));
            prop_assert_eq!(merge_lines(&base, &base, &other), Some(other.clone()));
            prop_assert_eq!(merge_lines(&base, &other, &other), Some(other));
        }

        #[test]
        fn sides_may_be_swapped(base in text(), ours in text(), theirs in text()) {
            prop_assert_eq!(merge_lines(&base, &ours, &theirs), merge_lines(&base, &theirs, &ours));
        }

        #[test]
        fn no_new_line_of_either_side_is_lost(
            base in text(),
            at in proptest::collection::vec(any::<usize>(), 0..4),
            other_at in proptest::collection::vec(any::<usize>(), 0..4),
        ) {
            let (ours, theirs) = (with_lines(&base, &at, b'X'), with_lines(&base, &other_at, b'Y'));
            if let Some(merged) = merge_lines(&base, &ours, &theirs) {
                prop_assert_eq!(merged.len(), base.len() + 3 * (at.len() + other_at.len()));
                for line in ours.split_inclusive(|byte| *byte == b'\n').filter(|line| line[0] == b'X') {
                    prop_assert!(merged.windows(3).any(|window| window == line));
                }
                let again = merge_lines(&ours, &merged, &merged);
                prop_assert_eq!(again, Some(merged));
            }
        }

        #[test]
        fn changes_of_different_halves_are_always_merged(
            top in text(), new_top in text(), bottom in text(), new_bottom in text(),
        ) {
            let middle = b"one\ntwo\nthree\n";
            let of = |top: &[u8], bottom: &[u8]| [top, middle, bottom].concat();
            let merged = merge_lines(&of(&top, &bottom), &of(&new_top, &bottom), &of(&top, &new_bottom));
            prop_assert_eq!(merged, Some(of(&new_top, &new_bottom)));
        }
    }
}
