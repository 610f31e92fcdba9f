//! The few settings of a repository that say how its files are to be read; none of those that run something.

/// Larger configurations are not read by git in a sane time either.
pub(crate) const BYTES_MAX: u64 = 1 << 20;

use super::id::Format;

/// How a repository is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) format: Format,
    /// Where a repository that lies elsewhere says that its files are.
    pub(super) worktree: Option<Vec<u8>>,
}

/// Extensions that change nothing about how objects and refs are read and written.
const HARMLESS: [&str; 6] =
    ["noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees"];

/// Reads a configuration; an error says what in it belay does not know.
pub(super) fn layout(text: &[u8]) -> Result<Layout, String> {
    let mut layout = Layout { format: Format::Sha1, worktree: None };
    for (section, key, value) in settings(text)? {
        let shown = String::from_utf8_lossy(&value).escape_debug().to_string();
        match (section.as_str(), key.as_str()) {
            ("core", "repositoryformatversion") if !matches!(value.as_slice(), b"0" | b"1") => {
                return Err(format!("it is of version {shown}"));
            }
            ("core", "worktree") => layout.worktree = Some(value),
            ("extensions", "objectformat") => {
                layout.format = match value.to_ascii_lowercase().as_slice() {
                    b"sha1" => Format::Sha1,
                    b"sha256" => Format::Sha256,
                    _ => return Err(format!("its objects are named by {shown}")),
                }
            }
            ("extensions", "refstorage") if !value.eq_ignore_ascii_case(b"files") => {
                return Err(format!("its refs are kept as {shown}, and belay knows only files"));
            }
            ("extensions", "refstorage") => {}
            ("extensions", other) if !HARMLESS.contains(&other) => {
                return Err(format!("it has the extension {}", other.escape_debug()));
            }
            _ => {}
        }
    }
    Ok(layout)
}

/// The ignore file that a user's own configuration names for all repositories.
pub fn excludes_file(text: &[u8]) -> Option<String> {
    let mut all = settings(text).ok()?.into_iter().rev();
    let (.., path) = all.find(|(section, key, _)| section == "core" && key == "excludesfile")?;
    String::from_utf8(path).ok()
}

/// Section, key and value of each line; a section with a subsection has a name that no section has.
pub(crate) fn settings(text: &[u8]) -> Result<Vec<(String, String, Vec<u8>)>, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut found = Vec::new();
    let mut section = String::new();
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let mut line = line.trim_ascii();
        if let Some(rest) = line.strip_prefix(b"[") {
            let end = rest.iter().position(|byte| *byte == b']').ok_or("a section of its config has no end")?;
            section = lower(&rest[..end]);
            line = rest[end + 1..].trim_ascii_start();
        }
        if line.is_empty() || line.starts_with(b"#") || line.starts_with(b";") {
            continue;
        }
        let (key, first) = match line.iter().position(|byte| *byte == b'=') {
            Some(at) => (&line[..at], line[at + 1..].to_vec()),
            None => (line, b"true".to_vec()),
        };
        let mut raw = first;
        while raw.ends_with(b"\\") && !raw.ends_with(b"\\\\") {
            raw.pop();
            raw.extend_from_slice(lines.next().unwrap_or_default());
        }
        found.push((section.clone(), lower(key.trim_ascii()), plain(raw.trim_ascii())));
    }
    Ok(found)
}

fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().to_ascii_lowercase()
}

/// A value without quotes, escapes and comments.
fn plain(raw: &[u8]) -> Vec<u8> {
    let (mut out, mut quoted, mut kept) = (Vec::new(), false, 0);
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' => match bytes.next() {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(other) => out.push(other),
                None => {}
            },
            b'#' | b';' if !quoted => break,
            other => out.push(other),
        }
        if quoted || !byte.is_ascii_whitespace() {
            kept = out.len();
        }
    }
    out.truncate(kept);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_the_layout_is_taken() {
        let text = b"[core]\n\trepositoryformatversion = 1\n\tfsmonitor = /bin/evil ; x\n\tworktree = \"../a b\" # y\n\
                     [Extensions] objectFormat = SHA256\n[filter \"core\"]\n\tworktree = /elsewhere\n[include]\n\tpath = /x\n";
        let layout = layout(text).unwrap();
        assert_eq!(layout, Layout { format: Format::Sha256, worktree: Some(b"../a b".to_vec()) });
    }

    #[test]
    fn what_belay_does_not_know_is_refused() {
        for text in [
            "[core]\nrepositoryformatversion = 2\n",
            "[extensions]\nrefStorage = reftable\n",
            "[extensions]\nobjectFormat = md5\n",
            "[extensions]\ncompatObjectFormat = sha1\n",
            "[core\n",
        ] {
            assert!(layout(text.as_bytes()).is_err(), "{text}");
        }
        assert!(layout(b"").is_ok() && layout(b"[extensions]\nworktreeConfig\nrefstorage = files\n").is_ok());
    }
}
