//! In what two entries differ, as far as the user can do anything about it.

use crate::diff::What;
use crate::tree::{Entry, Kind};

/// How `target` differs from `now`; times never count, and owners and inode flags only for root.
pub(super) fn difference(now: &Entry, target: &Entry, as_root: bool) -> What {
    if now.kind.file_type() != target.kind.file_type() {
        return What { retyped: true, ..What::default() };
    }
    let (old, new) = (&now.meta, &target.meta);
    What {
        content: !same_content(&now.kind, &target.kind),
        // A symlink's permission bits mean nothing and cannot be set.
        mode: old.mode != new.mode && !matches!(target.kind, Kind::Symlink(_)),
        xattrs: !(old.xattrs_unread
            || new.xattrs_unread
            || settable(&old.xattrs, as_root).eq(settable(&new.xattrs, as_root))),
        owner: as_root && (old.uid, old.gid) != (new.uid, new.gid),
        flags: as_root && (old.immutable, old.append_only) != (new.immutable, new.append_only),
        ..What::default()
    }
}

fn same_content(now: &Kind, target: &Kind) -> bool {
    match (now, target) {
        (Kind::File { size: a, content: x }, Kind::File { size: b, content: y }) => {
            a == b && (*a == 0 || x.identity() == y.identity())
        }
        (Kind::Dir { .. }, Kind::Dir { .. }) => true,
        (a, b) => a == b,
    }
}

/// The attributes that may be set: root's own kinds are for root alone.
pub(super) fn settable(xattrs: &[(Vec<u8>, Vec<u8>)], as_root: bool) -> impl Iterator<Item = &(Vec<u8>, Vec<u8>)> {
    let private = |key: &[u8]| key.starts_with(b"trusted.") || key.starts_with(b"security.");
    xattrs.iter().filter(move |(key, _)| as_root || !private(key))
}

/// Whether the file would hand its content the rights of another, so that only checked content may have it.
pub fn is_privileged(entry: &Entry) -> bool {
    let executes_as_another = entry.meta.mode & 0o6000 != 0;
    executes_as_another || entry.meta.xattrs.iter().any(|(key, _)| key == b"security.capability")
}

/// Whether `now` is what a restore that was interrupted between `before` and `after` may leave: each property is as on
/// one side or the other. What is in a directory does not count.
///
/// One property of one path changes at once, but not all properties of it: only what is replaced changes as a whole.
pub fn is_between(now: &Entry, before: &Entry, after: &Entry) -> bool {
    let sides = [before, after];
    let (mode, xattrs) = (now.meta.mode, &now.meta.xattrs);
    let kind = |side: &&Entry| {
        now.kind.file_type() == side.kind.file_type() && (side.is_opaque() || same_content(&now.kind, &side.kind))
    };
    // Attributes are set while the owner may write, and the group's bits follow an access control list.
    let spare = if before.meta.xattrs == after.meta.xattrs { 0 } else { 0o270 };
    let value = |list: &[(Vec<u8>, Vec<u8>)], key: &[u8]| list.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    let all = [xattrs, &before.meta.xattrs, &after.meta.xattrs].into_iter().flatten();
    sides.iter().any(kind)
        && sides.iter().any(|side| (side.meta.mode ^ mode) & !spare == 0)
        && (now.meta.xattrs_unread
            || sides.iter().any(|side| side.meta.xattrs_unread)
            || all.map(|(key, _)| key).all(|key| {
                let here = value(xattrs, key);
                sides.iter().any(|side| value(&side.meta.xattrs, key) == here)
            }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Meta;

    fn fifo(mode: u16, uid: u32, xattrs: &[(&[u8], &[u8])]) -> Entry {
        let xattrs = xattrs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        Entry { name: b"x".to_vec(), meta: Meta { mode, uid, xattrs, ..Meta::default() }, kind: Kind::Fifo }
    }

    #[test]
    fn owners_and_private_attributes_count_only_for_root() {
        let now = fifo(0o600, 1, &[(b"trusted.x", b"1"), (b"user.x", b"1")]);
        let target = fifo(0o600, 2, &[(b"user.x", b"1")]);
        assert_eq!(difference(&now, &target, false), What::default());
        assert_eq!(difference(&now, &target, true), What { owner: true, xattrs: true, ..What::default() });
    }

    #[test]
    fn a_symlink_has_no_mode_of_its_own() {
        let link = |mode| Entry { kind: Kind::Symlink(b"t".to_vec()), ..fifo(mode, 0, &[]) };
        assert_eq!(difference(&link(0o777), &link(0o755), true), What::default());
        assert!(difference(&fifo(0o777, 0, &[]), &fifo(0o755, 0, &[]), false).mode);
    }

    #[test]
    fn between_two_states_each_property_is_of_one_of_them() {
        let a: &[(&[u8], &[u8])] = &[(b"user.x", b"1")];
        let b: &[(&[u8], &[u8])] = &[(b"user.x", b"2"), (b"user.y", b"3")];
        let (before, after) = (fifo(0o400, 0, a), fifo(0o644, 0, b));
        for now in [&before, &after, &fifo(0o600, 0, a), &fifo(0o600, 0, &[(b"user.x", b"1"), (b"user.y", b"3")])] {
            assert!(is_between(now, &before, &after), "{now:?}");
        }
        for now in [fifo(0o401, 0, a), fifo(0o644, 0, &[(b"user.x", b"4")]), fifo(0o644, 0, &[(b"user.z", b"")])] {
            assert!(!is_between(&now, &before, &after), "{now:?}");
        }
        let link = Entry { kind: Kind::Symlink(b"t".to_vec()), ..before.clone() };
        assert!(!is_between(&link, &before, &after));
        assert!(!is_between(&fifo(0o600, 0, &[]), &fifo(0o400, 0, &[]), &fifo(0o644, 0, &[])));
    }

    #[test]
    fn another_type_is_nothing_but_another_type() {
        let link = Entry { kind: Kind::Symlink(b"t".to_vec()), ..fifo(0o777, 0, &[]) };
        assert_eq!(difference(&fifo(0o600, 1, &[]), &link, true), What { retyped: true, ..What::default() });
    }
}
