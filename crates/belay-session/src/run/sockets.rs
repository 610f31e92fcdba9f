//! Who listens at a path of this machine: for a command without a network each of them would be a way out of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use belay_jail::follow;

/// Every socket that has a name in the filesystem, one to a line, with the name after seven other words.
const SOCKETS: &str = "/proc/net/unix";
const WORDS_BEFORE: usize = 7;

/// The sockets that somebody has open, without links; a relative name is taken for one in this directory, since nobody
/// tells where its owner was.
pub(super) fn open_sockets(around: &Path) -> BTreeSet<PathBuf> {
    let text = std::fs::read(SOCKETS).unwrap_or_default();
    let named = text.split(|byte| *byte == b'\n').skip(1).filter_map(name_in);
    let real = named.filter_map(|name| follow(&around.join(OsStr::from_bytes(name))).ok());
    let sockets = real.filter(|real| real.found.as_ref().is_some_and(|found| found.file_type().is_socket()));
    sockets.map(|real| real.path).collect()
}

/// The name in a line; one without a place in the filesystem begins with `@`.
fn name_in(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..WORDS_BEFORE {
        rest = rest.trim_ascii_start();
        rest = &rest[rest.iter().position(|byte| *byte == b' ')?..];
    }
    Some(&rest[1..]).filter(|name| !name.is_empty() && !name.starts_with(b"@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_whatever_follows_the_number() {
        let line = |rest: &str| format!("ffff0000: 00000002 00000000 00010000 0001 01    12{rest}").into_bytes();
        assert_eq!(name_in(&line(" /run/a b")), Some(&b"/run/a b"[..]));
        assert_eq!(name_in(&line(" s")), Some(&b"s"[..]));
        assert_eq!(name_in(&line(" @abstract")), None);
        assert_eq!(name_in(&line("")), None);
    }

    #[test]
    fn only_sockets_that_somebody_has_open_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        let open = std::os::unix::net::UnixListener::bind(at.join("open")).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at.join("left")).unwrap());
        let found = open_sockets(&at);
        assert!(found.contains(&at.join("open")) && !found.contains(&at.join("left")), "{found:?}");
        drop(open);
    }
}
