//! Packs.
