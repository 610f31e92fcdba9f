//! A moment, to the nanosecond, as RFC 3339 text in JSON.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A moment of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct At(Timestamp);

impl At {
    /// The moment of this many nanoseconds after 1970; the nearest that can be written if there is none.
    pub fn from_unix_nanos(nanos: i128) -> At {
        let clamped = nanos.clamp(Timestamp::MIN.as_nanosecond(), Timestamp::MAX.as_nanosecond());
        At(Timestamp::from_nanosecond(clamped).expect("the number was brought into range"))
    }

    /// Nanoseconds since 1970.
    pub fn unix_nanos(self) -> i128 {
        self.0.as_nanosecond()
    }

    /// The moment as a timestamp.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl From<Timestamp> for At {
    fn from(timestamp: Timestamp) -> At {
        At(timestamp)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}", self.0)
    }
}
