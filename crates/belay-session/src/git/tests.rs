//! Against real repositories.
