//! SHA-256 of two messages side by side, by the processor's own instructions.
//!
//! One message leaves these instructions idle half of the time, because each waits for the one before it. Two messages
//! that have nothing to do with each other take hardly longer than one.
#![allow(unsafe_code)]

/// A block of a message.
pub type Sha256Block = [u8; 64];

/// Takes as many blocks into each of two states as both have, and returns how many that was; none where the processor
/// has no instructions for it.
pub fn sha256_side_by_side(states: [&mut [u32; 8]; 2], blocks: [&[Sha256Block]; 2]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1") && is_x86_feature_detected!("ssse3") {
        let count = blocks[0].len().min(blocks[1].len());
        // SAFETY: the processor has the instructions.
        unsafe { x86::compress(states, blocks.map(|all| &all[..count])) };
        return count;
    }
    let _ = (states, blocks);
    0
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Sha256Block;

    const K: [u32; 64] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
        0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
        0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
        0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
        0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
        0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    ];

    /// The words of a state in the order in which the instructions want them.
    #[derive(Clone, Copy)]
    struct Lane {
        abef: __m128i,
        cdgh: __m128i,
    }

    #[target_feature(enable = "sha,sse4.1,ssse3")]
    pub(super) fn compress(states: [&mut [u32; 8]; 2], blocks: [&[Sha256Block]; 2]) {
        let mut lanes = [load(states[0]), load(states[1])];
        for (one, two) in blocks[0].iter().zip(blocks[1]) {
            let before = lanes;
            let mut words = [words_of(one), words_of(two)];
            for (group, (one, two)) in words[0].into_iter().zip(words[1]).enumerate() {
                rounds(group, &mut lanes, [one, two]);
            }
            for group in 4..16 {
                for words in &mut words {
                    words[group % 4] = next(words, group);
                }
                rounds(group, &mut lanes, [words[0][group % 4], words[1][group % 4]]);
            }
            for (lane, before) in lanes.iter_mut().zip(before) {
                lane.abef = _mm_add_epi32(lane.abef, before.abef);
                lane.cdgh = _mm_add_epi32(lane.cdgh, before.cdgh);
            }
        }
        for (state, lane) in states.into_iter().zip(lanes) {
            store(state, lane);
        }
    }

    /// Four rounds of each message.
    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn rounds(group: usize, lanes: &mut [Lane; 2], words: [__m128i; 2]) {
        let k = |at: usize| K[4 * group + at] as i32;
        let k = _mm_set_epi32(k(3), k(2), k(1), k(0));
        let words = [_mm_add_epi32(words[0], k), _mm_add_epi32(words[1], k)];
        for (lane, words) in lanes.iter_mut().zip(words) {
            lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, words);
        }
        for (lane, words) in lanes.iter_mut().zip(words) {
            lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, _mm_shuffle_epi32(words, 0x0e));
        }
    }

    /// The next four words of a message's schedule.
    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn next(words: &[__m128i; 4], group: usize) -> __m128i {
        let word = |back: usize| words[(group + back) % 4];
        let sum = _mm_add_epi32(_mm_sha256msg1_epu32(word(0), word(1)), _mm_alignr_epi8(word(3), word(2), 4));
        _mm_sha256msg2_epu32(sum, word(3))
    }

    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn words_of(block: &Sha256Block) -> [__m128i; 4] {
        let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        std::array::from_fn(|at| {
            // SAFETY: there are 64 bytes from the pointer on, of which 16 at each of four places are read.
            let words = unsafe { _mm_loadu_si128(block.as_ptr().add(16 * at).cast()) };
            _mm_shuffle_epi8(words, order)
        })
    }

    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn load(state: &[u32; 8]) -> Lane {
        let word = |at: usize| state[at] as i32;
        Lane {
            abef: _mm_set_epi32(word(0), word(1), word(4), word(5)),
            cdgh: _mm_set_epi32(word(2), word(3), word(6), word(7)),
        }
    }

    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn store(state: &mut [u32; 8], lane: Lane) {
        let Lane { abef, cdgh } = lane;
        *state = [
            _mm_extract_epi32(abef, 3),
            _mm_extract_epi32(abef, 2),
            _mm_extract_epi32(cdgh, 3),
            _mm_extract_epi32(cdgh, 2),
            _mm_extract_epi32(abef, 1),
            _mm_extract_epi32(abef, 0),
            _mm_extract_epi32(cdgh, 1),
            _mm_extract_epi32(cdgh, 0),
        ]
        .map(|word| word as u32);
    }
}
