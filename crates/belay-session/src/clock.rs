//! Time and chance as parameters, so that a test can fix both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Clock {
        Clock::new(Timestamp::now)
    }

    /// A clock that shows what this one shows now, and goes on evenly whatever this one is set to meanwhile.
    pub fn steady(&self) -> Clock {
        let (wall, boot) = (self.now(), belay_sys::boot_nanos());
        Clock::new(move || {
            let passed = belay_sys::boot_nanos().saturating_sub(boot);
            let passed = jiff::SignedDuration::from_nanos(i64::try_from(passed).unwrap_or(i64::MAX));
            wall.checked_add(passed).unwrap_or(wall)
        })
    }

    /// A clock that asks `now`.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Makes up identifiers.
#[derive(Clone)]
pub struct Ids(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Ids {
    /// Identifiers that cannot be foreseen.
    pub fn random() -> Ids {
        Ids(Arc::new(|| {
            let mut bytes = [0; 8];
            let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
            assert_eq!(filled, Ok(bytes.len()), "the kernel answers requests of up to 256 bytes in full");
            u64::from_le_bytes(bytes)
        }))
    }

    /// The same identifiers every time, for tests and transcripts.
    pub fn seeded(seed: u64) -> Ids {
        let state = AtomicU64::new(seed);
        Ids(Arc::new(move || {
            // SplitMix64: every call steps by the same odd constant, and the mix spreads it.
            let mut z = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    /// `prefix` followed by `len` base-36 characters.
    pub(crate) fn next(&self, prefix: &str, len: usize) -> String {
        let mut text = String::with_capacity(prefix.len() + len);
        text.push_str(prefix);
        let mut value = 0;
        for at in 0..len {
            // Twelve digits use 62 of the 64 bits, so that each is all but evenly spread.
            if at % 12 == 0 {
                value = (self.0)();
            }
            text.push(DIGITS[(value % 36) as usize] as char);
            value /= 36;
        }
        text
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_clock_is_not_set_with_the_other() {
        let hours = Arc::new(AtomicU64::new(9));
        let shown = Arc::clone(&hours);
        let hour = |hours: u64| Timestamp::from_second(hours as i64 * 3600).expect("hours of 1970 are moments");
        let clock = Clock::new(move || hour(shown.load(Ordering::Relaxed)));
        let steady = clock.steady();
        hours.store(2, Ordering::Relaxed);
        let first = steady.now();
        assert!(first >= hour(9) && steady.now() >= first && first < hour(10), "{first}");
    }

    #[test]
    fn identifiers_have_the_asked_length_and_alphabet() {
        for ids in [Ids::random(), Ids::seeded(1)] {
            let id = ids.next("snap_", 6);
            assert_eq!(id.len(), 11);
            assert!(id["snap_".len()..].bytes().all(|b| DIGITS.contains(&b)));
            assert_ne!(ids.next("", 20), ids.next("", 20));
        }
    }

    #[test]
    fn a_seed_gives_the_same_identifiers_again() {
        assert_eq!(Ids::seeded(7).next("", 10), Ids::seeded(7).next("", 10));
        assert_ne!(Ids::seeded(7).next("", 10), Ids::seeded(8).next("", 10));
    }
}
