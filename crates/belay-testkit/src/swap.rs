//! A thread that exchanges two paths thousands of times a second, to catch whoever trusts a path twice.

use rustix::fs::{CWD, RenameFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Exchanges a path and its decoy until dropped, then leaves the path as it was at first.
#[derive(Debug)]
pub struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    /// Swaps the directory `victim` with a symbolic link to `target`, which waits at `decoy` between swaps.
    ///
    /// `decoy` must not exist and must be on the victim's filesystem; put it outside of the workspace.
    #[track_caller]
    pub fn with_symlink(victim: &Path, decoy: &Path, target: &Path) -> Swapper {
        std::os::unix::fs::symlink(target, decoy).unwrap_or_else(|error| panic!("link {}: {error}", decoy.display()));
        Swapper::start(victim, decoy)
    }

    /// Swaps two existing paths of one filesystem.
    #[track_caller]
    pub fn start(victim: &Path, decoy: &Path) -> Swapper {
        let stop = Arc::new(AtomicBool::new(false));
        let swaps = Arc::new(AtomicU64::new(0));
        let (victim, decoy) = (victim.to_owned(), decoy.to_owned());
        let thread = std::thread::spawn({
            let (stop, swaps) = (Arc::clone(&stop), Arc::clone(&swaps));
            move || swap_until(&stop, &swaps, &victim, &decoy)
        });
        Swapper { stop, swaps, thread: Some(thread) }
    }

    /// How many times the paths were exchanged.
    pub fn swaps(&self) -> u64 {
        self.swaps.load(Ordering::Relaxed)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the swapping thread failed, so the test proved nothing");
        }
    }
}

fn swap_until(stop: &AtomicBool, swaps: &AtomicU64, victim: &PathBuf, decoy: &PathBuf) {
    let mut away = false;
    let mut failures_in_a_row = 0;
    while away || !stop.load(Ordering::Relaxed) {
        match rustix::fs::renameat_with(CWD, victim, CWD, decoy, RenameFlags::EXCHANGE) {
            Ok(()) => {
                away = !away;
                failures_in_a_row = 0;
                swaps.fetch_add(1, Ordering::Relaxed);
            }
            // A restore may have taken the victim away for a moment.
            Err(error) => {
                failures_in_a_row += 1;
                if stop.load(Ordering::Relaxed) && failures_in_a_row > 100 {
                    break;
                }
                assert!(error == rustix::io::Errno::NOENT, "swap {}: {error}", victim.display());
            }
        }
        pause(swaps.load(Ordering::Relaxed));
    }
}

/// Holds each state for a varying moment, so that no fixed rhythm of the other side always misses it.
fn pause(turn: u64) {
    match turn % 4 {
        0 => std::thread::yield_now(),
        1 => {}
        rest => std::thread::sleep(Duration::from_micros(rest * 10)),
    }
}
