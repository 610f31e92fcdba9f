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
        let (verb, elapsed) = (phase.verb, phase.started.elapsed());
        let (bytes, expected) = (self.bytes.load(Relaxed), self.bytes_expected.load(Relaxed));
        let bar = phase.bar.get_or_insert_with(|| new_bar(verb, expected > 0));
        bar.set_length(expected.max(bytes));
        bar.set_position(bytes);
        bar.set_message(format!("{} · {}", self.counted(), pace(bytes, expected, elapsed)));
        bar.tick();
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

/// Bytes, rate, and the time left where the whole is known.
fn pace(bytes: u64, expected: u64, elapsed: Duration) -> String {
    // The bar appears when a second has passed, so its own idea of the rate would begin with a leap.
    let rate = bytes as f64 / elapsed.as_secs_f64().max(0.001);
    let so_far = format!("{} · {}/s", quantity::size(bytes), quantity::size(rate as u64));
    match expected.checked_sub(bytes) {
        Some(left) if expected > 0 && rate >= 1.0 => {
            let seconds = (left as f64 / rate).ceil() as u64;
            let minutes = if seconds >= 60 { format!("{} min ", seconds / 60) } else { String::new() };
            format!("{so_far} · {minutes}{} s left", seconds % 60)
        }
        _ => so_far,
    }
}

fn new_bar(verb: &'static str, whole_is_known: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let template = if whole_is_known { "{prefix} {wide_bar} {msg}" } else { "{spinner} {prefix} {msg}" };
    bar.set_style(ProgressStyle::with_template(template).expect("the templates are constants that parse"));
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

    #[test]
    fn the_time_left_is_told_only_when_it_can_be_known() {
        let second = Duration::from_secs(1);
        assert_eq!(pace(2_000_000, 0, 2 * second), "2.0 MB · 1.0 MB/s");
        assert_eq!(pace(2_000_000, 5_000_000, 2 * second), "2.0 MB · 1.0 MB/s · 3 s left");
        assert_eq!(pace(1_000_000, 100_000_000, second), "1.0 MB · 1.0 MB/s · 1 min 39 s left");
        assert_eq!(pace(0, 5_000_000, second), "0 B · 0 B/s");
    }
}
