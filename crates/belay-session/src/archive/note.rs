//! What an archive says to belay alone, as lines of text in a comment.

use belay_store::{Algorithm, Coverage, Filter, Hash, Meta, Time};

const FIRST_LINE: &str = "belay snapshot 1";

/// What tar has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The root hash, and by which function.
    pub(crate) root: (Algorithm, Hash),
    /// The filter of the snapshot.
    pub(crate) filter: Filter,
    /// What the snapshot lacks.
    pub(crate) coverage: Coverage,
    /// Sockets, of which only the existence counts.
    pub(crate) sockets: Vec<(Vec<u8>, Meta)>,
    /// Further names of sockets, each with the one that is among them.
    pub(crate) links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Paths that cannot be changed (`i`), or only grow (`a`).
    pub(crate) flags: Vec<(Vec<u8>, bool, bool)>,
}

impl Note {
    /// The note as text.
    pub(crate) fn text(&self) -> String {
        let mut lines = vec![
            FIRST_LINE.to_owned(),
            format!("root {} {}", self.root.0.name(), self.root.1.to_hex()),
            format!("filter {}", hex(&self.filter.encode())),
            format!("coverage {}", hex(&self.coverage.encode())),
        ];
        for (path, meta) in &self.sockets {
            let Meta { mode, uid, gid, mtime, .. } = meta;
            lines.push(format!("socket {mode} {uid} {gid} {} {} {}", mtime.sec, mtime.nsec, hex(path)));
        }
        for (path, first) in &self.links {
            lines.push(format!("link {} {}", hex(path), hex(first)));
        }
        for (path, immutable, append_only) in &self.flags {
            lines.push(format!("flags {} {} {}", u8::from(*immutable), u8::from(*append_only), hex(path)));
        }
        lines.join("\n")
    }

    /// Reads a note; `None` if the comment is somebody else's or does not hold together.
    pub(crate) fn parse(text: &str) -> Option<Note> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return None;
        }
        let (algorithm, root) = lines.next()?.strip_prefix("root ")?.split_once(' ')?;
        let root = (Algorithm::from_name(algorithm)?, Hash::from_hex(root)?);
        let filter = Filter::decode(&unhex(lines.next()?.strip_prefix("filter ")?)?).ok()?;
        let coverage = Coverage::decode(&unhex(lines.next()?.strip_prefix("coverage ")?)?).ok()?;
        let (sockets, links, flags) = (Vec::new(), Vec::new(), Vec::new());
        let mut note = Note { root, filter, coverage, sockets, links, flags };
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["socket", mode, uid, gid, sec, nsec, path] => {
                    let nsec = nsec.parse().ok().filter(|nsec| *nsec < 1_000_000_000)?;
                    let mtime = Time { sec: sec.parse().ok()?, nsec };
                    let mode = mode.parse().ok().filter(|mode| *mode <= 0o7777)?;
                    let meta = Meta { mode, uid: uid.parse().ok()?, gid: gid.parse().ok()?, mtime, ..Meta::default() };
                    note.sockets.push((unhex(path)?, meta));
                }
                ["link", path, first] => note.links.push((unhex(path)?, unhex(first)?)),
                ["flags", immutable, append_only, path] => {
                    note.flags.push((unhex(path)?, *immutable == "1", *append_only == "1"));
                }
                _ => return None,
            }
        }
        Some(note)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| (*c as char).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair.first()?)? * 16 + digit(pair.get(1)?)?) as u8);
    text.as_bytes().chunks(2).map(pair).collect()
}
