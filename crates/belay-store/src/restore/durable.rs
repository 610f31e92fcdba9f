//! Makes a restore durable: file by file where they are few, else by flushing the filesystem once.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Up to so many files or directories are made durable one by one: a whole busy filesystem would take longer.
pub(super) const FEW: usize = 32;

/// Journals write out together what is asked for at the same moment, so waiting side by side costs one wait.
const WAITING_MAX: usize = 8;

/// Calls `sync` for each item, many at a time.
pub(super) fn together<T: Sync>(items: &[T], sync: impl Fn(&T) -> io::Result<()> + Sync) -> io::Result<()> {
    if let [one] = items {
        return sync(one);
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync(item)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..items.len().min(WAITING_MAX)).map(|_| scope.spawn(work)).collect();
        waiting.into_iter().try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_synced_once_and_an_error_is_told() {
        for count in [0, 1, 5, 100] {
            let items: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            let touch = |item: &AtomicUsize| {
                item.fetch_add(1, Ordering::SeqCst);
                Ok(())
            };
            together(&items, touch).unwrap();
            assert!(items.iter().all(|item| item.load(Ordering::SeqCst) == 1));
        }
        let fail = |item: &usize| if *item == 7 { Err(io::Error::other("broken")) } else { Ok(()) };
        assert!(together(&(0..20).collect::<Vec<usize>>(), fail).is_err());
    }
}
