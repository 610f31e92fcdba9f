//! How snapshots, changes and entries look, as text and as JSON.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belay_session::store::{Change, Entry, FileType, Gap, GapKind, Kind, Left, LeftReason, Opaque, What};
use belay_session::{Snapshot, plain};
use serde_json::{Map, Value};

use crate::ui::escape::{printable, put_path};
use crate::ui::{Ui, quantity};

pub(crate) mod changes;
mod giving_up;
pub(crate) mod notable;
pub(crate) mod touch;

pub(crate) use giving_up::{say_unfreed, ways_to_give_up};

/// Paths that are named for one reason; the rest are counted.
pub(crate) const NAMED_MAX: usize = 5;

/// A path of the filesystem, escaped.
pub(crate) fn path(path: &Path) -> String {
    printable(path.as_os_str().as_bytes())
}

/// A path beneath a workspace, escaped; the workspace itself is a dot.
pub(crate) fn relative(path: &[u8]) -> String {
    if path.is_empty() { ".".to_owned() } else { printable(path) }
}

/// `snap_w5k9n3`, or `snap_b2m7t4 (before-refactor)`.
pub(crate) fn snapshot_name(snapshot: &Snapshot) -> String {
    match &snapshot.label {
        Some(label) => format!("{} ({})", snapshot.id, printable(label.as_bytes())),
        None => snapshot.id.clone(),
    }
}

/// A snapshot as its timeline records it, with what can be derived from that.
pub(crate) fn snapshot_json(snapshot: &Snapshot) -> Value {
    let mut value = serde_json::to_value(snapshot).expect("a snapshot has text keys only");
    if let Some(object) = value.as_object_mut() {
        object.insert("partial".to_owned(), snapshot.is_partial().into());
        if let Some(checkpoint) = snapshot.checkpoint() {
            object.insert("checkpoint".to_owned(), checkpoint.into());
        }
    }
    value
}

/// A list of snapshots as JSON.
pub(crate) fn snapshots_json(snapshots: &[Snapshot]) -> Value {
    snapshots.iter().map(snapshot_json).collect()
}

/// A list of snapshots by id, with their labels.
pub(crate) fn ids(snapshots: &[Snapshot]) -> String {
    snapshots.iter().map(snapshot_name).collect::<Vec<_>>().join(", ")
}

/// One letter for a change: added, deleted, of another type, content modified, or only metadata.
pub(crate) fn letter(what: What) -> char {
    match what {
        What { added: true, .. } => 'A',
        What { removed: true, .. } => 'D',
        What { retyped: true, .. } => 'T',
        What { content: true, .. } => 'M',
        _ => 'P',
    }
}

/// What a change consists of, in words that scripts can rely on.
pub(crate) fn words(what: What) -> Vec<&'static str> {
    let all = [
        (what.added, "added"),
        (what.removed, "removed"),
        (what.retyped, "type"),
        (what.content, "content"),
        (what.mode, "mode"),
        (what.xattrs, "xattrs"),
        (what.owner, "owner"),
        (what.links, "links"),
        (what.flags, "flags"),
        (what.opaque, "not-captured"),
    ];
    all.iter().filter(|(yes, _)| *yes).map(|(_, word)| *word).collect()
}

/// A change as JSON.
pub(crate) fn change_json(change: &Change) -> Value {
    let mut object = Map::new();
    put_path(&mut object, "path", &change.path);
    object.insert("change".to_owned(), words(change.what()).into());
    for (key, entry) in [("before", &change.before), ("after", &change.after)] {
        if let Some(entry) = entry {
            object.insert(key.to_owned(), entry_json(entry));
        }
    }
    object.into()
}

/// What an entry is, as JSON; its path is the caller's to say.
pub(crate) fn entry_json(entry: &Entry) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), type_name(entry.kind.file_type()).into());
    object.insert("mode".to_owned(), format!("{:04o}", entry.meta.mode).into());
    object.insert("uid".to_owned(), entry.meta.uid.into());
    object.insert("gid".to_owned(), entry.meta.gid.into());
    object.insert("mtime".to_owned(), mtime(entry).map(|time| time.to_string()).into());
    match &entry.kind {
        Kind::File { size, content } => {
            object.insert("size".to_owned(), (*size).into());
            object.insert("hash".to_owned(), content.identity().to_hex().into());
        }
        Kind::Dir { files, bytes, .. } => {
            object.insert("files".to_owned(), (*files).into());
            object.insert("bytes".to_owned(), (*bytes).into());
        }
        Kind::Symlink(target) => put_path(&mut object, "target", target),
        Kind::CharDevice(device) | Kind::BlockDevice(device) => {
            object.insert("device".to_owned(), (*device).into());
        }
        Kind::Opaque { reason, .. } => {
            object.insert("not_captured".to_owned(), opaque_name(*reason).into());
        }
        Kind::Fifo | Kind::Socket => {}
    }
    if !entry.meta.xattrs.is_empty() {
        let names = entry.meta.xattrs.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        object.insert("xattrs".to_owned(), names.collect::<Vec<_>>().into());
    }
    object.into()
}

/// When the entry was last modified.
pub(crate) fn mtime(entry: &Entry) -> Option<jiff::Timestamp> {
    jiff::Timestamp::new(entry.meta.mtime.sec, entry.meta.mtime.nsec as i32).ok()
}

/// The name of a type of file.
pub(crate) fn type_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharDevice => "character device",
        FileType::BlockDevice => "block device",
        FileType::Unknown => "unknown",
    }
}

/// Why something that was seen is not in a snapshot.
pub(crate) fn opaque_name(reason: Opaque) -> &'static str {
    match reason {
        Opaque::Unreadable => "unreadable",
        Opaque::Hung => "hung",
        Opaque::Mount => "mount",
        Opaque::Regenerable => "regenerable",
        Opaque::GitIgnored => "git-ignored",
        Opaque::Excluded => "excluded",
        Opaque::OverLimit => "over-limit",
    }
}

/// What is wrong with a path that a snapshot lacks.
pub(crate) fn gap_name(kind: GapKind) -> &'static str {
    match kind {
        GapKind::Unreadable => "unreadable",
        GapKind::Hung => "hung",
        GapKind::Mount => "mount",
        GapKind::Regenerable => "regenerable",
        GapKind::GitIgnored => "git-ignored",
        GapKind::Excluded => "excluded",
        GapKind::OverLimit => "over-limit",
        GapKind::Vanished => "vanished",
        GapKind::Unstable => "unstable",
        GapKind::Attributes => "attributes",
    }
}

/// The reason for which a restore leaves a path, for scripts.
pub(crate) fn left_name(reason: LeftReason) -> &'static str {
    match reason {
        LeftReason::NotClaimed => "not-claimed",
        LeftReason::NotCaptured | LeftReason::Missed => "not-captured",
        LeftReason::NotHeld => "not-held",
        LeftReason::GitLock => "git-lock",
        LeftReason::InTheWay => "in-the-way",
        LeftReason::ChangedSince => "changed-since",
        LeftReason::NotPermitted => "not-permitted",
        LeftReason::Spared => "out-of-reach",
        LeftReason::Damaged => "damaged",
        LeftReason::Failed(_) => "failed",
    }
}

fn left_words(reason: LeftReason) -> String {
    match reason {
        LeftReason::NotClaimed => "the snapshot does not cover it".to_owned(),
        LeftReason::NotCaptured | LeftReason::Missed => "the snapshot could not capture it".to_owned(),
        LeftReason::NotHeld => "the snapshot does not hold it".to_owned(),
        LeftReason::GitLock => {
            "git was at work when the snapshot was taken, and would wait for this lock for ever".to_owned()
        }
        LeftReason::InTheWay => {
            "what it holds could not be captured first; if only its mode was put back, roll back once more".to_owned()
        }
        LeftReason::ChangedSince => "it changed in the meantime".to_owned(),
        LeftReason::NotPermitted => "not permitted".to_owned(),
        LeftReason::Spared => "this run is kept from it".to_owned(),
        LeftReason::Damaged => "what the store holds of it is damaged".to_owned(),
        LeftReason::Failed(errno) => plain(io::Error::from_raw_os_error(errno)),
    }
}

/// Whether a path that was left means that the restore is incomplete; what no snapshot claims is left on purpose, and so
/// is what whoever asks is kept from.
pub(crate) fn is_shortfall(left: &Left) -> bool {
    left.reason.is_shortfall()
}

/// A path that was left, as JSON.
pub(crate) fn left_json(left: &Left) -> Value {
    let mut object = Map::new();
    put_path(&mut object, "path", &left.path);
    object.insert("reason".to_owned(), left_name(left.reason).into());
    object.into()
}

/// Says which paths were left and why: a shortfall as a warning, the rest in passing.
pub(crate) fn say_left(ui: &Ui, left: &[Left]) {
    say_each(ui, left, |left| if is_absent(left) { "Not brought back" } else { "Left alone" });
}

/// Whether nothing is at a path that was left.
pub(crate) fn is_absent(left: &Left) -> bool {
    matches!(left.reason, LeftReason::Missed | LeftReason::NotHeld | LeftReason::GitLock)
}

/// The same for a snapshot that was written elsewhere, where nothing was before.
pub(crate) fn say_not_written(ui: &Ui, left: &[Left]) {
    say_each(ui, left, |_| "Not written");
}

fn say_each(ui: &Ui, left: &[Left], verb: impl Fn(&Left) -> &'static str) {
    let mut reasons: Vec<LeftReason> = Vec::new();
    for one in left {
        if !reasons.contains(&one.reason) {
            reasons.push(one.reason);
        }
    }
    for reason in reasons {
        let paths: Vec<&Left> = left.iter().filter(|left| left.reason == reason).collect();
        let names: Vec<&[u8]> = paths.iter().map(|left| &left.path[..]).collect();
        let (why, named) = (left_words(reason), some(&names, NAMED_MAX));
        match is_shortfall(paths[0]) {
            true => ui.warn(format_args!("left as it is ({why}): {named}")),
            false => ui.say(format_args!("{} ({why}): {named}", verb(paths[0]))),
        }
    }
}

/// The first of some paths, and how many more there are.
pub(crate) fn some(paths: &[&[u8]], max: usize) -> String {
    let named: Vec<String> = paths.iter().take(max).map(|path| relative(path)).collect();
    match paths.len().saturating_sub(max) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), quantity::grouped(more as u64)),
    }
}

/// Why something is not in a snapshot, in words.
pub(crate) fn opaque_words(reason: Opaque) -> &'static str {
    match reason {
        Opaque::Unreadable => "it cannot be read",
        Opaque::Hung => "it does not answer",
        Opaque::Mount => "another filesystem is mounted there",
        Opaque::Regenerable => "it can be made again, and snapshots leave it out",
        Opaque::GitIgnored | Opaque::Excluded => "the settings leave it out of snapshots",
        Opaque::OverLimit => "it is over the limits of a snapshot",
    }
}

/// Says what a snapshot lacks of what was written and is gone now, by reason.
pub(crate) fn warn_lacking(ui: &Ui, lacking: &[(Vec<u8>, Opaque)]) {
    for reason in Opaque::ALL {
        let paths: Vec<&[u8]> = lacking.iter().filter(|one| one.1 == reason).map(|one| &one.0[..]).collect();
        if !paths.is_empty() {
            ui.warn(format_args!("not in it, and gone ({}): {}", opaque_words(reason), some(&paths, NAMED_MAX)));
        }
    }
}

/// The same as JSON.
pub(crate) fn lacking_json(lacking: &[(Vec<u8>, Opaque)]) -> Value {
    let one = |(path, reason): &(Vec<u8>, Opaque)| {
        let mut object = Map::new();
        put_path(&mut object, "path", path);
        object.insert("reason".to_owned(), opaque_name(*reason).into());
        Value::from(object)
    };
    lacking.iter().map(one).collect()
}

/// A gap as a line: the path, what is wrong, and what the operating system said.
pub(crate) fn gap(gap: &Gap) -> String {
    let detail = if gap.detail.is_empty() { String::new() } else { format!(": {}", printable(gap.detail.as_bytes())) };
    format!("{} ({}{detail})", relative(&gap.path), gap_name(gap.kind))
}

/// How much an entry holds: a file's size, a directory's files.
pub(crate) fn amount(entry: &Entry) -> String {
    match &entry.kind {
        Kind::File { size, .. } => quantity::size(*size),
        Kind::Dir { files, .. } => quantity::count(*files, "file"),
        Kind::Symlink(_) => "link".to_owned(),
        Kind::Opaque { .. } => String::new(),
        other => type_name(other.file_type()).to_owned(),
    }
}

/// Type and permissions as `ls -l` writes them, `-rwxr-xr-x`.
pub(crate) fn mode_text(entry: &Entry) -> String {
    let mode = entry.meta.mode;
    let kind = match entry.kind.file_type() {
        FileType::Dir => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        FileType::CharDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::File => '-',
        FileType::Unknown => '?',
    };
    let mut text = String::from(kind);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use belay_session::store::Meta;

    use super::*;

    #[test]
    fn modes_read_as_in_ls() {
        let entry = |mode| Entry { name: Vec::new(), meta: Meta { mode, ..Meta::default() }, kind: Kind::Fifo };
        for (mode, text) in
            [(0o755, "prwxr-xr-x"), (0o4711, "prws--x--x"), (0o2640, "prw-r-S---"), (0o1777, "prwxrwxrwt")]
        {
            assert_eq!(mode_text(&entry(mode)), text);
        }
    }
}
