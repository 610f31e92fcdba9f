//! The chain: every event commits to the one before it, and the head commits to all.
//!
//! An event's *leaf* is the hash of a nonce and its JSON form; its *link* is the hash of the link before and the
//! leaf. The nonce keeps a leaf from being guessed, so that an event's body may be left out of an export and
//! the rest still be checked. Nonces are derived from a secret of the run, which never leaves the record.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::key::{Key, PublicKey, from_hex, to_hex};

const LEAF: &[u8] = b"belay leaf 1\0";
const LINK: &[u8] = b"belay link 1\0";

/// The hash of an event and everything before it.
pub(crate) type Link = [u8; 32];

/// The link before the first event.
pub(crate) const ORIGIN: Link = [0; 32];

/// The nonce of the event of that number.
pub(crate) fn nonce(secret: &[u8; 32], seq: u64) -> [u8; 32] {
    *blake3::keyed_hash(secret, &seq.to_le_bytes()).as_bytes()
}

/// What an event contributes to the chain.
pub(crate) fn leaf(nonce: &[u8; 32], body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(LEAF).update(nonce).update(body);
    *hasher.finalize().as_bytes()
}

/// The link after `before` by that leaf.
pub(crate) fn link(before: &Link, leaf: &[u8; 32]) -> Link {
    let mut bytes = [0; LINK.len() + 64];
    bytes[..LINK.len()].copy_from_slice(LINK);
    bytes[LINK.len()..LINK.len() + 32].copy_from_slice(before);
    bytes[LINK.len() + 32..].copy_from_slice(leaf);
    *blake3::hash(&bytes).as_bytes()
}

/// How long the chain is and where it ends, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The run's identifier.
    pub run: String,
    /// How many events there are.
    pub count: u64,
    /// The last event's link, in hexadecimal.
    pub link: String,
    /// Whether the run has ended, so that nothing may follow.
    pub closed: bool,
    /// The key that signed, in hexadecimal.
    pub public_key: String,
    /// The signature over all of this, in hexadecimal.
    pub signature: String,
}

impl Head {
    pub(crate) fn sign(key: &Key, run: &str, count: u64, link: &Link, closed: bool) -> Head {
        let public_key = key.public().to_string();
        let signature = String::new();
        let head = Head { run: run.to_owned(), count, link: to_hex(link), closed, public_key, signature };
        let signature = to_hex(&key.sign(head.message().as_bytes()));
        Head { signature, ..head }
    }

    /// The key that this says it was signed with.
    pub fn key(&self) -> Result<PublicKey> {
        PublicKey::from_hex(&self.public_key)
    }

    /// Whether the signature belongs to this head and its key.
    pub fn is_signed(&self) -> bool {
        let signature = from_hex::<64>(&self.signature);
        signature
            .is_some_and(|signature| self.key().is_ok_and(|key| key.verifies(self.message().as_bytes(), &signature)))
    }

    fn message(&self) -> String {
        let state = if self.closed { "closed" } else { "open" };
        format!("belay head 1\nrun {}\ncount {}\nlink {}\n{state}\n", self.run, self.count, self.link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_head_is_signed() {
        let key = Key::from_bytes(&[7; 32]);
        let head = Head::sign(&key, "run_a", 3, &[1; 32], true);
        assert!(head.is_signed());
        let other = Key::from_bytes(&[8; 32]).public().to_string();
        let forged = [
            Head { run: "run_b".into(), ..head.clone() },
            Head { count: 2, ..head.clone() },
            Head { link: to_hex(&[2; 32]), ..head.clone() },
            Head { closed: false, ..head.clone() },
            Head { public_key: other, ..head.clone() },
            Head { signature: to_hex(&[0; 64]), ..head.clone() },
        ];
        assert!(forged.iter().all(|head| !head.is_signed()));
    }
}
