//! Slots: the ring of automatic snapshots and the named slots of manual ones.
