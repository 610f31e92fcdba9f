//! Records of runs, through the crate's own doors.

mod events;
mod recording;
