//! A progress bar for work that passes a second; before that, and without a terminal, it only counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use belay_session::store::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::quantity;

const PATIENCE: Duration = Duration::from_secs(1);

/// Counts entries and bytes, and shows them when the work takes long.
pub(crate) struct Meter {
    visible: bool,
    entries: AtomicU64,
    bytes: AtomicU64,
    entries_expected: AtomicU64,
    bytes_expected: AtomicU64,
    phase: Mutex<Phase>,
}

/// The part of the work that is going on.
struct Phase {
    verb: &'static str,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Meter {
    pub(super) fn new(verb: &'static str, visible: bool) -> Meter {
        Meter {
            visible,
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            entries_expected: AtomicU64::new(0),
            bytes_expected: AtomicU64::new(0),
            phase: Mutex::new(Phase { verb, started: Instant::now(), bar: None }),
        }
    }

    /// Begins the next part of the work; the bar of the last one is gone, so that a line can be said.
    pub(crate) fn phase(&self, verb: &'static str) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = phase.bar.take() {
            bar.finish_and_clear();
        }
        *phase = Phase { verb, started: Instant::now(), bar: None };
        for counter in [&self.entries, &self.bytes, &self.entries_expected, &self.bytes_expected] {
            counter.store(0, Relaxed);
        }
    }

    fn show(&self) {
        // A thread that finds another one drawing has nothing to add.
        let Ok(mut phase) = self.phase.try_lock() else { return };
        if phase.started.elapsed() < PATIENCE {
            return;
        }
        let verb = phase.verb;
        let bar = phase.bar.get_or_insert_with(|| new_bar(verb));
        let (bytes, expected) = (self.bytes.load(Relaxed), self.bytes_expected.load(Relaxed));
        if expected > 0 {
            bar.set_length(expected.max(bytes));
        }
        bar.set_position(bytes);
        bar.set_message(self.counted());
    }

    fn counted(&self) -> String {
        let (entries, expected) = (self.entries.load(Relaxed), self.entries_expected.load(Relaxed));
        if expected >= entries && expected > 0 {
            format!("{} of {}", quantity::grouped(entries), quantity::count(expected, "file"))
        } else {
            quantity::count(entries, "file")
        }
    }
}

fn new_bar(verb: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let template = "{prefix} {wide_bar} {msg} · {bytes} · {bytes_per_sec} · {eta} left";
    bar.set_style(ProgressStyle::with_template(template).expect("the template is a constant that parses"));
    bar.set_prefix(verb);
    bar
}

impl Progress for Meter {
    fn advance(&self, entries: u64, bytes: u64) {
        self.entries.fetch_add(entries, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if self.visible {
            self.show();
        }
    }

    fn expect(&self, entries: u64, bytes: u64) {
        self.entries_expected.store(entries, Relaxed);
        self.bytes_expected.store(bytes, Relaxed);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.phase("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_names_the_whole_only_when_it_is_known() {
        let meter = Meter::new("Reading", false);
        meter.advance(1200, 10);
        assert_eq!(meter.counted(), "1,200 files");
        meter.expect(3000, 100);
        assert_eq!(meter.counted(), "1,200 of 3,000 files");
        meter.show();
        assert!(meter.phase.lock().expect("not poisoned").bar.is_none(), "nothing is drawn before a second has passed");
        meter.phase("Writing");
        assert_eq!(meter.counted(), "0 files");
    }
}
