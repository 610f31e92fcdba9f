//! The stat cache.
