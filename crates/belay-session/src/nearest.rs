//! Names that come close to one that does not exist.
