//! Which snapshot a name means.
