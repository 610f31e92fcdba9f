//! belay-testkit.
