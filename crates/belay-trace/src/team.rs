//! Work that makes more work, done by some threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many do work that somebody waits for: a machine on which a run begins has other things to do too.
pub(crate) const HASTE: usize = 2;

/// What is still to be done.
pub(crate) struct Team<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    busy: usize,
}

/// Does `first` and whatever it leads to; each thread has something of its own, which is returned.
pub(crate) fn do_all<T: Send, S: Send + Default>(
    threads: usize,
    first: T,
    work: impl Fn(&Team<T>, &mut S, T) + Sync,
) -> Vec<S> {
    let team = Team { state: Mutex::new(State { waiting: vec![first], busy: 0 }), changed: Condvar::new() };
    let member = || {
        let mut own = S::default();
        while let Some(item) = team.take() {
            work(&team, &mut own, item);
            team.done();
        }
        own
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(member)).collect();
        let mine = member();
        let theirs = others.into_iter().map(|other| other.join().expect("the work does not panic"));
        theirs.chain([mine]).collect()
    })
}

impl<T> Team<T> {
    /// Adds work.
    pub(crate) fn add(&self, item: T) {
        self.lock().waiting.push(item);
        self.changed.notify_one();
    }

    fn take(&self) -> Option<T> {
        let nothing = |state: &mut State<T>| state.waiting.is_empty() && state.busy > 0;
        let state = self.changed.wait_while(self.lock(), nothing);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let item = state.waiting.pop()?;
        state.busy += 1;
        Some(item)
    }

    fn done(&self) {
        let mut state = self.lock();
        state.busy -= 1;
        if state.busy == 0 && state.waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{HASTE, do_all};

    #[test]
    fn everything_is_done_once() {
        let parts = do_all(HASTE, 1_u64, |team, done: &mut Vec<u64>, number| {
            done.push(number);
            for next in [2 * number, 2 * number + 1] {
                if next < 5000 {
                    team.add(next);
                }
            }
        });
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (1..5000).collect::<Vec<_>>());
    }
}
