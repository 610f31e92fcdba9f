//! belay-session.
