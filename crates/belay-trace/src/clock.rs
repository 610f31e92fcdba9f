//! From the boot clock, by which tracers date what they see, to the wall clock of events.

use belay_event::At;

/// The distance between both clocks, taken once: a wall clock that is set during a run does not reorder its events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset: i128,
}

impl Clock {
    /// As both clocks stand now.
    pub(crate) fn start() -> Clock {
        let wall = belay_sys::now();
        let wall = i128::from(wall.sec) * 1_000_000_000 + i128::from(wall.nsec);
        Clock { offset: wall - i128::from(belay_sys::boot_nanos()) }
    }

    /// The moment of the wall clock that is so many nanoseconds after boot.
    pub(crate) fn wall(&self, boot: u64) -> At {
        At::from_unix_nanos(i128::from(boot) + self.offset)
    }

    #[cfg(test)]
    pub(crate) fn fixed(offset: i128) -> Clock {
        Clock { offset }
    }
}
