//! Trees and commits as git writes them: read from anybody, so that nothing in them is believed.

use super::id::{Format, GitId, Kind};

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Symlink,
    Tree,
    /// A commit of another repository, of which nothing is in this one.
    Gitlink,
}

impl Mode {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Mode::File => "100644",
            Mode::Executable => "100755",
            Mode::Symlink => "120000",
            Mode::Tree => "40000",
            Mode::Gitlink => "160000",
        }
    }

    fn from_text(text: &[u8]) -> Option<Mode> {
        let number = std::str::from_utf8(text).ok().and_then(|text| u32::from_str_radix(text, 8).ok())?;
        Some(match number & 0o170_000 {
            0o100_000 if number & 0o100 != 0 => Mode::Executable,
            0o100_000 => Mode::File,
            0o120_000 => Mode::Symlink,
            0o040_000 => Mode::Tree,
            0o160_000 => Mode::Gitlink,
            _ => return None,
        })
    }
}

/// One name in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) mode: Mode,
    pub(crate) id: GitId,
}

/// Writes a tree, in git's order: as if the names of directories ended with a slash.
pub(crate) fn encode_tree(mut entries: Vec<TreeEntry>) -> Vec<u8> {
    let key = |entry: &TreeEntry| {
        let slash: &[u8] = if entry.mode == Mode::Tree { b"/" } else { b"" };
        [&entry.name, slash].concat()
    };
    entries.sort_by_cached_key(key);
    let mut out = Vec::new();
    for entry in &entries {
        out.extend_from_slice(entry.mode.text().as_bytes());
        out.push(b' ');
        out.extend_from_slice(&entry.name);
        out.push(0);
        out.extend_from_slice(entry.id.as_bytes());
    }
    out
}

/// Reads a tree; `None` if it is none, or holds a name that leads elsewhere.
pub(crate) fn decode_tree(format: Format, mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let mode = Mode::from_text(&bytes[..space])?;
        let rest = &bytes[space + 1..];
        let nul = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = (&rest[..nul], &rest[nul + 1..]);
        if rest.len() < format.len() || is_astray(name) {
            return None;
        }
        let id = GitId::from_bytes(&rest[..format.len()])?;
        entries.push(TreeEntry { name: name.to_vec(), mode, id });
        bytes = &rest[format.len()..];
    }
    Some(entries)
}

fn is_astray(name: &[u8]) -> bool {
    matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || is_repository(name)
}

/// Whether some system that git runs on could take the name for `.git`; git lets no such name into a tree.
pub(crate) fn is_repository(name: &[u8]) -> bool {
    let first = name.split(|byte| matches!(byte, b'\\' | b':')).next().unwrap_or_default();
    let trimmed = first.trim_ascii_end();
    let end = trimmed.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |at| at + 1);
    let plain = &trimmed[..end];
    if [&b".git"[..], b"git~1"].iter().any(|git| plain.eq_ignore_ascii_case(git)) {
        return true;
    }
    // A Mac ignores these characters when it compares names.
    let ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    std::str::from_utf8(name).is_ok_and(|text| {
        !text.is_ascii() && text.chars().filter(|c| !ignored(c)).collect::<String>().eq_ignore_ascii_case(".git")
    })
}

/// A commit: when it was made, of what, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) tree: GitId,
    /// Seconds since 1970.
    pub(crate) at: i64,
    pub(crate) message: Vec<u8>,
    /// Headers of ours.
    pub(crate) extra: Vec<(String, String)>,
}

/// Who makes belay's commits; nobody's configuration is asked.
const AUTHOR: &str = "belay <belay@localhost>";

impl Commit {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree);
        for role in ["author", "committer"] {
            out.push_str(&format!("{role} {AUTHOR} {} +0000\n", self.at.max(0)));
        }
        self.extra.iter().for_each(|(name, value)| out.push_str(&format!("{name} {value}\n")));
        out.push('\n');
        let mut out = out.into_bytes();
        out.extend_from_slice(&self.message);
        out
    }

    pub(crate) fn decode(format: Format, bytes: &[u8]) -> Option<Commit> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
        let message = bytes.get(end + 2..).unwrap_or_default().to_vec();
        let mut lines = bytes[..end].split(|byte| *byte == b'\n');
        let tree = GitId::from_hex(format, lines.next()?.strip_prefix(b"tree ")?)?;
        let mut commit = Commit { tree, at: 0, message, extra: Vec::new() };
        for line in lines {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
            let (name, value) = (&line[..space], &line[space + 1..]);
            if name == b"committer" {
                commit.at = seconds(value).unwrap_or(0);
            } else if name.starts_with(b"belay-") {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                commit.extra.push((text(name), text(value)));
            }
        }
        Some(commit)
    }

    /// The value of one of our headers.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.extra.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The time in a line that names a person.
fn seconds(person: &[u8]) -> Option<i64> {
    let after = person.iter().rposition(|byte| *byte == b'>')?;
    let words = std::str::from_utf8(&person[after + 1..]).ok()?;
    words.split_ascii_whitespace().next()?.parse().ok()
}

/// What a tag points to.
pub(crate) fn decode_tag(format: Format, bytes: &[u8]) -> Option<(Kind, GitId)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let id = GitId::from_hex(format, lines.next()?.strip_prefix(b"object ")?)?;
    Some((Kind::from_name(lines.next()?.strip_prefix(b"type ")?)?, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_sorts_directories_as_git_does_and_comes_back() {
        let id = Format::Sha1.name(Kind::Blob, b"").unwrap();
        let entry = |name: &str, mode| TreeEntry { name: name.into(), mode, id };
        let entries = vec![entry("a", Mode::Tree), entry("a.b", Mode::File), entry("a0", Mode::Symlink)];
        let read = decode_tree(Format::Sha1, &encode_tree(entries)).unwrap();
        let names: Vec<_> = read.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        assert_eq!(names, ["a.b", "a", "a0"]);
        assert_eq!(decode_tree(Format::Sha1, b"100644 x\0short"), None);
    }

    #[test]
    fn no_name_leads_elsewhere_or_into_a_repository() {
        let id = Format::Sha1.name(Kind::Blob, b"").unwrap();
        for bad in ["", ".", "..", "a/b", ".git", ".GIT", ".git ", ".git.", ".git::$INDEX", "GIT~1", ".g\u{200c}it"] {
            let bytes = encode_tree(vec![TreeEntry { name: bad.into(), mode: Mode::File, id }]);
            assert_eq!(decode_tree(Format::Sha1, &bytes), None, "{bad:?}");
        }
        for good in [".gitignore", ".github", "git", "x.git", "..."] {
            assert!(!is_repository(good.as_bytes()), "{good}");
        }
    }

    #[test]
    fn a_commit_comes_back() {
        let tree = Format::Sha1.name(Kind::Tree, b"").unwrap();
        let extra = vec![("belay-filter".to_owned(), "00ff".to_owned())];
        let commit = Commit { tree, at: 1_700_000_000, message: b"why\n\nand how\n".to_vec(), extra };
        assert_eq!(Commit::decode(Format::Sha1, &commit.encode()), Some(commit));
    }
}
