//! A progress bar for work that passes a second; before that, and without a terminal, it only counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use belay_session::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::quantity;

const PATIENCE: Duration = Duration::from_secs(1);

/// Counts entries and bytes, and shows them when the work takes long.
pub(crate) struct Meter {
    verb: &'static str,
    visible: bool,
    started: Instant,
    entries: AtomicU64,
    bytes: AtomicU64,
    entries_expected: AtomicU64,
    bytes_expected: AtomicU64,
    bar: OnceLock<ProgressBar>,
}

impl Meter {
    pub(super) fn new(verb: &'static str, visible: bool) -> Meter {
        Meter {
            verb,
            visible,
            started: Instant::now(),
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            entries_expected: AtomicU64::new(0),
            bytes_expected: AtomicU64::new(0),
            bar: OnceLock::new(),
        }
    }

    /// How long the work has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn show(&self) {
        let bar = self.bar.get_or_init(|| new_bar(self.verb));
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
        if self.visible && self.started.elapsed() >= PATIENCE {
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
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
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
        assert!(meter.bar.get().is_none(), "nothing is drawn before a second has passed");
    }
}
