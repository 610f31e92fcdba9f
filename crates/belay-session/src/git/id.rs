//! Names of git's objects: the hash of their kind, length and bytes, by the function that the repository uses.

use std::fmt;

use belay_store::{Algorithm, Hasher};

/// The hash function of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Sha1,
    Sha256,
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Commit => "commit",
            Kind::Tree => "tree",
            Kind::Blob => "blob",
            Kind::Tag => "tag",
        }
    }

    pub(crate) fn from_name(name: &[u8]) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }

    /// The header that is hashed and stored before an object's bytes.
    pub(crate) fn header(self, size: u64) -> Vec<u8> {
        format!("{} {size}\0", self.name()).into_bytes()
    }
}

/// The name of an object: 20 bytes, or 32 in a repository of SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GitId {
    bytes: [u8; 32],
    len: u8,
}

impl GitId {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<GitId> {
        if !matches!(bytes.len(), 20 | 32) {
            return None;
        }
        let mut id = GitId { bytes: [0; 32], len: bytes.len() as u8 };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// Reads the hexadecimal characters that such a repository writes.
    pub(crate) fn from_hex(format: Format, text: &[u8]) -> Option<GitId> {
        if text.len() != format.len() * 2 {
            return None;
        }
        let digit = |c: u8| (c as char).to_digit(16);
        let pairs = text.chunks_exact(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8));
        GitId::from_bytes(&pairs.collect::<Option<Vec<u8>>>()?)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// All of it, in hexadecimal characters.
    pub fn to_hex(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for GitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for GitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Bytes that were made so that others have the same SHA-1; git refuses them too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forged;

/// A name in the making.
pub(crate) enum Hashing {
    Sha1(Box<sha1dc::Hasher>),
    Sha256(Hasher),
}

impl Format {
    /// How long a name is in bytes.
    pub(crate) fn len(self) -> usize {
        match self {
            Format::Sha1 => 20,
            Format::Sha256 => 32,
        }
    }

    pub(crate) fn hashing(self) -> Hashing {
        match self {
            Format::Sha1 => Hashing::Sha1(Box::default()),
            Format::Sha256 => Hashing::Sha256(Algorithm::Sha256.hasher()),
        }
    }

    /// The name of an object.
    pub(crate) fn name(self, kind: Kind, bytes: &[u8]) -> Result<GitId, Forged> {
        let mut hashing = self.hashing();
        hashing.update(&kind.header(bytes.len() as u64));
        hashing.update(bytes);
        hashing.finish()
    }
}

impl Hashing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hashing::Sha1(hasher) => hasher.update(bytes),
            Hashing::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Result<GitId, Forged> {
        let id = match self {
            Hashing::Sha1(hasher) => GitId::from_bytes(hasher.finalize().map_err(|_| Forged)?.as_ref()),
            Hashing::Sha256(hasher) => GitId::from_bytes(&hasher.finish().0),
        };
        Ok(id.expect("both hashes have a length that a name may have"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_git_gives() {
        let sha1 = Format::Sha1.name(Kind::Blob, b"v1\n").unwrap();
        assert_eq!(sha1.to_hex(), "626799f0f85326a8c1fc522db584e86cdfccd51f");
        let sha256 = Format::Sha256.name(Kind::Tree, b"").unwrap();
        assert_eq!(sha256.to_hex(), "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321");
        assert_eq!(GitId::from_hex(Format::Sha1, sha1.to_hex().as_bytes()), Some(sha1));
        assert_eq!(GitId::from_hex(Format::Sha256, sha1.to_hex().as_bytes()), None);
        assert_eq!(GitId::from_hex(Format::Sha1, "é".repeat(20).as_bytes()), None);
    }
}
