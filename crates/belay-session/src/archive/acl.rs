//! Access control lists, which `tar --acls` reads and writes in words, and the attributes in which the kernel keeps them.

use std::fs;

/// What the words that tar has for the two lists become.
pub(super) const LISTS: [(&[u8], &[u8]); 2] =
    [(b"SCHILY.acl.access", b"system.posix_acl_access"), (b"SCHILY.acl.default", b"system.posix_acl_default")];

const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;
const NOBODY: u32 = u32::MAX;
/// Whom an entry is about, in the order in which the kernel wants them.
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The users and groups that are known here, by whose names a list may call them.
#[derive(Default)]
pub(super) struct Accounts {
    users: String,
    groups: String,
}

impl Accounts {
    /// Those of this machine.
    pub(super) fn here() -> Accounts {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Accounts { users: text("/etc/passwd"), groups: text("/etc/group") }
    }

    fn id(&self, tag: u16, name: &str) -> Option<u32> {
        let text = if tag == USER { &self.users } else { &self.groups };
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        line.split(':').nth(2)?.parse().ok()
    }
}

/// A list as the kernel keeps it.
pub(super) struct List {
    /// The attribute's value.
    pub(super) value: Vec<u8>,
    /// The permissions of owner, group and others that go with it.
    pub(super) mode: u16,
    /// Whether those say all of it, so that the kernel keeps no attribute for a file.
    pub(super) is_mode_alone: bool,
}

/// Reads a list; none if it is none, or names somebody who is not known here.
pub(super) fn parse(text: &[u8], accounts: &Accounts) -> Option<List> {
    let text = std::str::from_utf8(text).ok()?.trim_end_matches('\0');
    let lines = text.split(['\n', ',']).map(|line| line.split('#').next().unwrap_or_default().trim());
    let entries = lines.filter(|line| !line.is_empty()).map(|line| entry(line, accounts));
    let mut entries: Vec<(u16, u32, u16)> = entries.collect::<Option<_>>()?;
    entries.sort_unstable();
    if entries.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        return None;
    }
    let of = |tag: u16| entries.iter().find(|entry| entry.0 == tag).map(|entry| entry.2);
    let (owner, group, other) = (of(OWNER)?, of(OWNING_GROUP)?, of(OTHER)?);
    let names_somebody = of(USER).is_some() || of(GROUP).is_some();
    if names_somebody && of(MASK).is_none() {
        return None;
    }
    let mut value = VERSION.to_le_bytes().to_vec();
    for (tag, id, rights) in &entries {
        value.extend_from_slice(&tag.to_le_bytes());
        value.extend_from_slice(&rights.to_le_bytes());
        value.extend_from_slice(&id.to_le_bytes());
    }
    let mode = owner << 6 | of(MASK).unwrap_or(group) << 3 | other;
    Some(List { value, mode, is_mode_alone: entries.len() == 3 })
}

/// A list in the words that tar takes, which calls everybody by number; none if the value is no list.
pub(super) fn words(value: &[u8]) -> Option<String> {
    let (version, entries) = value.split_at_checked(4)?;
    if version != VERSION.to_le_bytes() || entries.len() % ENTRY_BYTES != 0 {
        return None;
    }
    let word = |entry: &[u8]| {
        let (tag, rights) = (u16::from_le_bytes([entry[0], entry[1]]), u16::from_le_bytes([entry[2], entry[3]]));
        let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
        let kind = match tag {
            OWNER | USER => "user",
            OWNING_GROUP | GROUP => "group",
            MASK => "mask",
            OTHER => "other",
            _ => return None,
        };
        let name = if matches!(tag, USER | GROUP) { id.to_string() } else { String::new() };
        let right = |bit: u16, letter: char| if rights & bit != 0 { letter } else { '-' };
        Some(format!("{kind}:{name}:{}{}{}", right(4, 'r'), right(2, 'w'), right(1, 'x')))
    };
    let words: Vec<String> = entries.chunks_exact(ENTRY_BYTES).map(word).collect::<Option<_>>()?;
    Some(words.join(","))
}

/// `user:NAME:rwx`, which some end with the number that the name had; of `mask` and `other` some leave the name out.
fn entry(line: &str, accounts: &Accounts) -> Option<(u16, u32, u16)> {
    let words: Vec<&str> = line.split(':').map(str::trim).collect();
    let (kind, name, rights, number) = match words.as_slice() {
        [kind @ ("mask" | "m" | "other" | "o"), rights] => (*kind, "", *rights, None),
        [kind, name, rights] => (*kind, *name, *rights, None),
        [kind, name, rights, number] => (*kind, *name, *rights, Some(*number)),
        _ => return None,
    };
    let tag = match (kind, name.is_empty()) {
        ("user" | "u", true) => OWNER,
        ("user" | "u", false) => USER,
        ("group" | "g", true) => OWNING_GROUP,
        ("group" | "g", false) => GROUP,
        ("mask" | "m", true) => MASK,
        ("other" | "o", true) => OTHER,
        _ => return None,
    };
    let id = match number {
        Some(number) => number.parse().ok()?,
        None if name.is_empty() => NOBODY,
        None => name.parse().ok().or_else(|| accounts.id(tag, name))?,
    };
    let right = |letter: char| match letter {
        'r' => Some(4),
        'w' => Some(2),
        'x' => Some(1),
        '-' => Some(0),
        _ => None,
    };
    let rights = rights.chars().map(right).try_fold(0, |all, one| Some(all | one?))?;
    Some((tag, id, rights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(Vec<u8>, u16, bool)> {
        let accounts = Accounts { users: "root:x:0:0::/:\nann:x:1007:7::/:\n".into(), groups: "staff:x:50:\n".into() };
        parse(text.as_bytes(), &accounts).map(|list| (list.value, list.mode, list.is_mode_alone))
    }

    #[test]
    fn a_list_in_words_is_the_kernels_in_bytes() {
        let (value, mode, alone) =
            parsed("user::rw-\nuser:ann:r-x\t#effective:r--\ngroup::---\ngroup:staff:r--\nmask::r--\nother::---\n")
                .unwrap();
        assert_eq!((mode, alone), (0o640, false));
        let entries = [(1, 6, NOBODY), (2, 5, 1007), (4, 0, NOBODY), (8, 4, 50), (16, 4, NOBODY), (32, 0, NOBODY)];
        let bytes = entries.iter().flat_map(|(tag, rights, id): &(u16, u16, u32)| {
            [tag.to_le_bytes().to_vec(), rights.to_le_bytes().to_vec(), id.to_le_bytes().to_vec()].concat()
        });
        assert_eq!(value, [2, 0, 0, 0].into_iter().chain(bytes).collect::<Vec<u8>>());
        let by_number = parsed("user::rw-,user:1007:r-x,group::---,group:50:r--,mask::r--,other::---").unwrap();
        let with_both = parsed("user::rw-,user:gone:r-x:1007,group::---,group:x:r--:50,mask:r--,other:---").unwrap();
        assert_eq!((&by_number.0, &with_both.0), (&value, &value));
        let in_words = "user::rw-,user:1007:r-x,group::---,group:50:r--,mask::r--,other::---";
        assert_eq!(words(&value).as_deref(), Some(in_words));
        assert_eq!((words(&value[..value.len() - 1]), words(b"no list")), (None, None));
        assert_eq!(parsed("user::rwx,group::r-x,other::--x").map(|list| (list.1, list.2)), Some((0o751, true)));
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in [
            "",
            "user::rw-",
            "user::rw-,group::r--,other::r--,other::r--",
            "user::rw-,user:ann:r--,group::r--,other::r--",
            "user::rw-,user:nobody-here:r--,group::r--,mask::r--,other::r--",
            "user::rwz,group::r--,other::r--",
            "user::rw-,group::r--,other:ann:r--",
            "evil",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
