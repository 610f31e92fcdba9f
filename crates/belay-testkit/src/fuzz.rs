//! Damaged bytes for decoders: mutations of valid ones, so that they get far, from seeds, so that they come again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Numbers from a seed, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    /// A few changes of the kind that disks and enemies make.
    fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.roll(seeds.len())].clone();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len());
            let to = at + self.roll(bytes.len() - at.min(bytes.len()) + 1);
            match self.roll(8) {
                0..3 if !bytes.is_empty() => bytes[at] ^= 1 << self.roll(8),
                3 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][self.roll(6)],
                4 => bytes.truncate(at),
                5 => drop(bytes.drain(at..to)),
                6 => bytes.splice(at..at, vec![0xff; self.roll(12)]).for_each(drop),
                _ => {
                    let other = &seeds[self.roll(seeds.len())];
                    let from = self.roll(other.len());
                    let part = other[from..from + self.roll(other.len() - from + 1)].to_vec();
                    bytes.splice(at..to, part).for_each(drop);
                }
            }
        }
        bytes
    }
}

/// Feeds mutations of `seeds` to `decode` until the time is up; the seeds themselves are fed first.
#[track_caller]
pub fn fuzz(name: &str, seeds: &[Vec<u8>], decode: impl Fn(&[u8])) {
    let end = Instant::now() + Duration::from_secs_f64(crate::fuzz_seconds());
    let mut dice = Dice(name.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte)));
    seeds.iter().for_each(|seed| decode(seed));
    let mut fed = 0;
    while Instant::now() < end || fed < 2000 {
        let bytes = if fed % 50 == 0 {
            (0..dice.roll(300)).map(|_| dice.roll(256) as u8).collect()
        } else {
            dice.mutate(seeds)
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| decode(&bytes)));
        assert!(outcome.is_ok(), "{name} panics on {bytes:?}");
        fed += 1;
    }
    let peak = peak_kilobytes();
    assert!(peak < 1 << 20, "{name} took {peak} kB of memory");
}

/// The most memory that this process ever had.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
