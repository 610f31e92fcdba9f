//! Two threads that share a numbered list of work.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Small enough that both threads end together, large enough that the counter is not contended.
const BATCH: usize = 64;

/// Does `each` for every number below `count` in two threads, each with a state made by `begin`, and returns the states.
pub(super) fn in_two<T: Send>(
    count: usize,
    begin: impl Fn(usize) -> io::Result<T> + Sync,
    each: impl Fn(&mut T, usize) -> io::Result<()> + Sync,
) -> io::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = |thread: usize| -> io::Result<T> {
        let mut state = begin(thread)?;
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if from >= count {
                return Ok(state);
            }
            for at in from..count.min(from + BATCH) {
                each(&mut state, at)?;
            }
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        let mine = work(0)?;
        let other = other.join().expect("a floor's thread does not panic")?;
        Ok(vec![mine, other])
    })
}
