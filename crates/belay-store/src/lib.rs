//! belay-store.
