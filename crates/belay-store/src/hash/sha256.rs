//! SHA-256 in the making, of one message or of two side by side.

use belay_sys::sha256_side_by_side;
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
        let bits = self.len.wrapping_mul(8);
        let zeros = (2 * BLOCK_BYTES - 9 - self.filled) % BLOCK_BYTES;
        let mut end = [0; 2 * BLOCK_BYTES];
        end[0] = 0x80;
        end[1 + zeros..][..8].copy_from_slice(&bits.to_be_bytes());
        self.update(&end[..9 + zeros]);
        let mut bytes = [0; 32];
        for (word, place) in self.state.iter().zip(bytes.chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Hash(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(bytes: &[u8]) -> Hash {
        use sha2::Digest;
        Hash(sha2::Sha256::digest(bytes).into())
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
