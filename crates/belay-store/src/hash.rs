//! Names of objects: the hash of their bytes.

mod sha256;

use std::fmt;

use self::sha256::Sha256;

/// A 32-byte hash that names content, a tree node or a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash in 64 hexadecimal characters.
    pub fn to_hex(self) -> String {
        self.to_string()
    }

    /// Reads 64 hexadecimal characters.
    pub fn from_hex(text: &str) -> Option<Hash> {
        let text = text.as_bytes();
        if text.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let (high, low) = (DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]);
            if high | low > 15 {
                return None;
            }
            *byte = high << 4 | low;
        }
        Some(Hash(bytes))
    }
}

/// The value of each hexadecimal digit, and 255 for every other byte.
static DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        digits[digit as usize] = value;
        digits[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    digits
};

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The hash function of a store, chosen when it is created and never changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// BLAKE3, the default.
    #[default]
    Blake3,
    /// SHA-256, for content hashes that `sha256sum` confirms.
    Sha256,
}

impl Algorithm {
    /// The name under which the store's format file records the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "blake3",
            Algorithm::Sha256 => "sha256",
        }
    }

    /// The algorithm of that name.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        [Algorithm::Blake3, Algorithm::Sha256].into_iter().find(|a| a.name() == name)
    }

    /// Hashes bytes at once.
    pub fn hash(self, bytes: &[u8]) -> Hash {
        match self {
            Algorithm::Blake3 => Hash(*blake3::hash(bytes).as_bytes()),
            Algorithm::Sha256 => {
                use sha2::Digest;
                Hash(sha2::Sha256::digest(bytes).into())
            }
        }
    }

    /// Hashes several messages: sooner than one after the other.
    pub(crate) fn hash_all(self, messages: &[&[u8]]) -> Vec<Hash> {
        match self {
            Algorithm::Blake3 => messages.iter().map(|bytes| self.hash(bytes)).collect(),
            Algorithm::Sha256 => sha256::hash_all(messages),
        }
    }

    /// Starts hashing a stream.
    pub fn hasher(self) -> Hasher {
        match self {
            Algorithm::Blake3 => Hasher(State::Blake3(Box::default())),
            Algorithm::Sha256 => Hasher(State::Sha256(Box::default())),
        }
    }
}

/// A hash in the making.
pub struct Hasher(State);

enum State {
    Blake3(Box<blake3::Hasher>),
    Sha256(Box<Sha256>),
}

impl Hasher {
    /// Takes in more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Blake3(hasher) => {
                hasher.update(bytes);
            }
            State::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Takes in more bytes, and returns the hash of these alone: sooner than one after the other.
    pub fn update_and_hash(&mut self, bytes: &[u8]) -> Hash {
        match &mut self.0 {
            State::Blake3(hasher) => {
                hasher.update(bytes);
                Algorithm::Blake3.hash(bytes)
            }
            State::Sha256(hasher) => {
                let mut alone = Sha256::default();
                hasher.update_both(&mut alone, bytes);
                alone.finish()
            }
        }
    }

    /// The hash of all that was taken in.
    pub fn finish(self) -> Hash {
        match self.0 {
            State::Blake3(hasher) => Hash(*hasher.finalize().as_bytes()),
            State::Sha256(hasher) => hasher.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_is_what_sha256sum_prints() {
        assert_eq!(
            Algorithm::Sha256.hash(b"abc").to_hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn hex_round_trips_and_refuses_other_text() {
        let hash = Algorithm::Blake3.hash(b"x");
        assert_eq!(Hash::from_hex(&hash.to_hex()), Some(hash));
        assert_eq!(Hash::from_hex("zz"), None);
        assert_eq!(Hash::from_hex(&"g".repeat(64)), None);
    }

    #[test]
    fn streamed_and_whole_hashes_agree() {
        for algorithm in [Algorithm::Blake3, Algorithm::Sha256] {
            let mut hasher = algorithm.hasher();
            hasher.update(b"ab");
            assert_eq!(hasher.update_and_hash(b"c"), algorithm.hash(b"c"));
            assert_eq!(hasher.finish(), algorithm.hash(b"abc"));
        }
    }
}
