//! belay-sys.
