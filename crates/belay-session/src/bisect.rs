//! Finding the first snapshot at which a command fails.
