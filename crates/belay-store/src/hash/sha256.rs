//! SHA-256 in the making, of one message or of two side by side.

use belay_sys::{Sha256Block, sha256_side_by_side};
use sha2::block_api::compress256;

use super::Hash;

const BLOCK_BYTES: usize = 64;
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// A message of which some was taken in.
pub(super) struct Sha256 {
    state: [u32; 8],
    /// What is no whole block yet.
    rest: [u8; BLOCK_BYTES],
    filled: usize,
    len: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Sha256 { state: START, rest: [0; BLOCK_BYTES], filled: 0, len: 0 }
    }
}

impl Sha256 {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let (blocks, rest) = self.fill(bytes).as_chunks();
        compress256(&mut self.state, blocks);
        self.keep(rest);
    }

    /// Takes the same bytes into two messages, in hardly more time than into one.
    pub(super) fn update_both(&mut self, other: &mut Sha256, bytes: &[u8]) {
        let (own, own_rest) = self.fill(bytes).as_chunks();
        let (others, others_rest) = other.fill(bytes).as_chunks();
        let done = sha256_side_by_side([&mut self.state, &mut other.state], [own, others]);
        compress256(&mut self.state, &own[done..]);
        compress256(&mut other.state, &others[done..]);
        self.keep(own_rest);
        other.keep(others_rest);
    }

    pub(super) fn finish(mut self) -> Hash {
        let (end, blocks) = ending(&self.rest[..self.filled], self.len);
        compress256(&mut self.state, &end[..blocks]);
        hash_of(&self.state)
    }

    /// Completes the block that was begun, and returns what is left of the bytes.
    fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        self.len += bytes.len() as u64;
        if self.filled == 0 {
            return bytes;
        }
        let (head, tail) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
        self.rest[self.filled..][..head.len()].copy_from_slice(head);
        self.filled += head.len();
        if self.filled == BLOCK_BYTES {
            compress256(&mut self.state, &[self.rest]);
            self.filled = 0;
        }
        tail
    }

    fn keep(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.rest[..rest.len()].copy_from_slice(rest);
            self.filled = rest.len();
        }
    }
}

/// The last blocks of a message of that length, and how many there are: what is no whole block, and the padding.
fn ending(rest: &[u8], len: u64) -> ([Sha256Block; 2], usize) {
    let mut end = [[0; BLOCK_BYTES]; 2];
    let blocks = 1 + usize::from(rest.len() + 9 > BLOCK_BYTES);
    end[0][..rest.len()].copy_from_slice(rest);
    end[0][rest.len()] = 0x80;
    end[blocks - 1][BLOCK_BYTES - 8..].copy_from_slice(&len.wrapping_mul(8).to_be_bytes());
    (end, blocks)
}

fn hash_of(state: &[u32; 8]) -> Hash {
    let mut bytes = [0; 32];
    for (word, place) in state.iter().zip(bytes.chunks_exact_mut(4)) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    Hash(bytes)
}

/// Hashes messages, two at a time: when one ends the next begins beside the other.
pub(super) fn hash_all(messages: &[&[u8]]) -> Vec<Hash> {
    let mut hashes = vec![Hash([0; 32]); messages.len()];
    let mut next = messages.iter().enumerate().map(|(number, message)| Lane::begin(number, message));
    let mut lanes = [next.next(), next.next()];
    while let [Some(one), Some(two)] = &mut lanes {
        let ((first, first_blocks), (second, second_blocks)) = (one.parts(), two.parts());
        let count = sha256_side_by_side([first, second], [first_blocks, second_blocks]);
        if count == 0 {
            break;
        }
        for lane in &mut lanes {
            if let Some(done) = lane.as_mut().and_then(|lane| lane.advance(count)) {
                hashes[done.0] = done.1;
                *lane = next.next();
            }
        }
    }
    for mut lane in lanes.into_iter().flatten().chain(next) {
        compress256(&mut lane.state, lane.blocks);
        compress256(&mut lane.state, &lane.end[lane.ended..lane.ends]);
        hashes[lane.number] = hash_of(&lane.state);
    }
    hashes
}

/// One of several messages, and how far it is.
struct Lane<'m> {
    number: usize,
    state: [u32; 8],
    /// Whole blocks that are still to come.
    blocks: &'m [Sha256Block],
    end: [Sha256Block; 2],
    ends: usize,
    ended: usize,
}

impl<'m> Lane<'m> {
    fn begin(number: usize, message: &'m [u8]) -> Lane<'m> {
        let (blocks, rest) = message.as_chunks();
        let (end, ends) = ending(rest, message.len() as u64);
        Lane { number, state: START, blocks, end, ends, ended: 0 }
    }

    fn parts(&mut self) -> (&mut [u32; 8], &[Sha256Block]) {
        let blocks = if self.blocks.is_empty() { &self.end[self.ended..self.ends] } else { self.blocks };
        (&mut self.state, blocks)
    }

    /// So many blocks were taken in; the message's number and hash if that was all.
    fn advance(&mut self, count: usize) -> Option<(usize, Hash)> {
        if self.blocks.is_empty() {
            self.ended += count;
        } else {
            self.blocks = &self.blocks[count..];
        }
        (self.blocks.is_empty() && self.ended == self.ends).then(|| (self.number, hash_of(&self.state)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(bytes: &[u8]) -> Hash {
        use sha2::Digest;
        Hash(sha2::Sha256::digest(bytes).into())
    }

    #[test]
    fn many_messages_at_once_are_what_each_is_alone() {
        let bytes: Vec<u8> = (0..5000_u32).map(|n| (n * 11 + n / 256) as u8).collect();
        let lens = (0..300).chain([4096, 0, 5000, 1, 63, 64, 65, 119, 120, 4999]);
        let messages: Vec<&[u8]> = lens.map(|len| &bytes[(bytes.len() - len).min(len % 7)..][..len]).collect();
        for count in [0, 1, 2, 3, messages.len()] {
            let alone: Vec<Hash> = messages[..count].iter().map(|message| reference(message)).collect();
            assert_eq!(hash_all(&messages[..count]), alone, "{count}");
        }
    }

    #[test]
    fn messages_of_every_length_and_cut_are_what_they_are_elsewhere() {
        let bytes: Vec<u8> = (0..1000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for len in 0..300 {
            let mut one = Sha256::default();
            one.update(&bytes[..len]);
            assert_eq!(one.finish(), reference(&bytes[..len]), "{len}");
        }
        for cut in 0..200 {
            let (mut whole, mut piece) = (Sha256::default(), Sha256::default());
            whole.update(&bytes[..cut]);
            whole.update_both(&mut piece, &bytes[cut..900]);
            whole.update(&bytes[900..]);
            assert_eq!((whole.finish(), piece.finish()), (reference(&bytes), reference(&bytes[cut..900])), "{cut}");
        }
    }
}
