//! A progress bar for work that passes a second; before that, and without a terminal, it only counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use belay_session::Step;
use belay_session::store::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::quantity;

const PATIENCE: Duration = Duration::from_secs(1);

/// Nobody reads faster, and the work is not there to draw.
const EVERY: Duration = Duration::from_millis(50);

/// When so much of the work is done, or it went on for so long, the time that is left can be told.
const ENOUGH_PART: u64 = 50;
const ENOUGH_TIME: Duration = Duration::from_secs(5);

/// The bar's own unit, because files and bytes are both part of the way.
const WHOLE: u64 = 1000;

/// Counts entries and bytes, and shows them when the work takes long.
pub(crate) struct Meter {
    visible: bool,
    noun: &'static str,
    entries: Count,
    bytes: Count,
    is_guess: AtomicBool,
    phase: Mutex<Phase>,
}

/// How much of something is done, and how much there is; zero if that is not known.
#[derive(Default)]
struct Count {
    done: AtomicU64,
    expected: AtomicU64,
}

impl Count {
    fn reset(&self, expected: u64) {
        self.done.store(0, Relaxed);
        self.expected.store(expected, Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.expected.load(Relaxed))
    }
}

/// The part of the work that is going on.
struct Phase {
    verb: &'static str,
    /// When it began, and when what is counted did.
    began: Instant,
    counting_since: Instant,
    drawn: Instant,
    bar: Option<ProgressBar>,
}

impl Phase {
    fn new(verb: &'static str) -> Phase {
        let now = Instant::now();
        Phase { verb, began: now, counting_since: now, drawn: now, bar: None }
    }
}

impl Meter {
    pub(super) fn new(verb: &'static str, visible: bool) -> Meter {
        Meter {
            visible,
            noun: "file",
            entries: Count::default(),
            bytes: Count::default(),
            is_guess: AtomicBool::new(false),
            phase: Mutex::new(Phase::new(verb)),
        }
    }

    /// A meter whose entries are called something else than files.
    pub(crate) fn counting(mut self, noun: &'static str) -> Meter {
        self.noun = noun;
        self
    }

    /// Begins the next part of the work; the bar of the last one is gone, so that a line can be said.
    pub(crate) fn phase(&self, verb: &'static str) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = phase.bar.take() {
            bar.finish_and_clear();
        }
        *phase = Phase::new(verb);
        self.entries.reset(0);
        self.bytes.reset(0);
    }

    /// Does work that counts nothing; if it takes long, whoever waits sees for how long.
    pub(crate) fn beside<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.visible {
            return work();
        }
        std::thread::scope(|scope| {
            let (working, ended) = channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    self.show_time();
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    fn show_time(&self) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = phase.began.elapsed();
        if elapsed >= PATIENCE {
            let verb = phase.verb;
            let bar = phase.bar.get_or_insert_with(|| new_bar(verb));
            bar.set_style(style(false));
            bar.set_message(format!("for {} s", elapsed.as_secs()));
            bar.tick();
        }
    }

    /// Takes in how much further somebody else is.
    pub(crate) fn take(&self, step: Step) {
        if let Some((entries, bytes)) = step.whole {
            self.guess(entries, bytes);
        }
        self.advance(step.entries, step.bytes);
    }

    fn show(&self) {
        // A thread that finds another one drawing has nothing to add.
        let Ok(mut phase) = self.phase.try_lock() else { return };
        if phase.began.elapsed() < PATIENCE || phase.drawn.elapsed() < EVERY {
            return;
        }
        phase.drawn = Instant::now();
        let (verb, elapsed) = (phase.verb, phase.counting_since.elapsed());
        let parts = [self.counted(), self.pace(elapsed)];
        let message = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        let bar = phase.bar.get_or_insert_with(|| new_bar(verb));
        let part = self.part();
        bar.set_style(style(part.is_some()));
        bar.set_length(WHOLE);
        bar.set_position(part.unwrap_or(0));
        bar.set_message(message);
        bar.tick();
    }

    /// How much of the way is behind, in thousandths, if the whole is known.
    fn part(&self) -> Option<u64> {
        let known = [self.entries.read(), self.bytes.read()].into_iter().filter(|(_, expected)| *expected > 0);
        known.map(|(done, expected)| done.min(expected) * WHOLE / expected).min()
    }

    fn counted(&self) -> String {
        let (entries, expected) = self.entries.read();
        if entries == 0 && expected == 0 && self.bytes.read().1 > 0 {
            String::new()
        } else if expected >= entries && expected > 0 {
            format!("{} of {}{}", quantity::grouped(entries), self.about(), quantity::count(expected, self.noun))
        } else {
            quantity::count(entries, self.noun)
        }
    }

    fn about(&self) -> &'static str {
        if self.is_guess.load(Relaxed) { "~" } else { "" }
    }

    /// Bytes, rate, and the time left where the whole is known.
    fn pace(&self, elapsed: Duration) -> String {
        // The bar appears when a second has passed, so its own idea of the rate would begin with a leap.
        let a_second = |done: u64| done as f64 / elapsed.as_secs_f64().max(0.001);
        let (entries, bytes) = (self.entries.read(), self.bytes.read());
        let rate = match bytes {
            (0, 0) => format!("{}/s", quantity::count(a_second(entries.0) as u64, self.noun)),
            (done, _) => format!("{} · {}/s", quantity::size(done), quantity::size(a_second(done) as u64)),
        };
        // What takes longer decides: a restore has many files to remove when its last byte is written.
        let mut left: Option<f64> = None;
        for (done, expected) in [entries, bytes].into_iter().filter(|(_, expected)| *expected > 0) {
            // Of the first few nobody can tell how long the rest takes.
            if done == 0 || done * ENOUGH_PART < expected && elapsed < ENOUGH_TIME {
                return rate;
            }
            let seconds = expected.saturating_sub(done) as f64 / a_second(done);
            left = Some(left.unwrap_or(0.0).max(seconds));
        }
        let Some(seconds) = left.map(|seconds| seconds.ceil() as u64) else { return rate };
        let minutes = if seconds >= 60 { format!("{} min ", seconds / 60) } else { String::new() };
        format!("{rate} · {}{minutes}{} s left", self.about(), seconds % 60)
    }
}

fn new_bar(verb: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.set_prefix(verb);
    bar
}

fn style(whole_is_known: bool) -> ProgressStyle {
    let template = if whole_is_known { "{prefix} {wide_bar} {msg}" } else { "{spinner} {prefix} {msg}" };
    ProgressStyle::with_template(template).expect("the templates are constants that parse")
}

impl Progress for Meter {
    fn advance(&self, entries: u64, bytes: u64) {
        self.entries.done.fetch_add(entries, Relaxed);
        self.bytes.done.fetch_add(bytes, Relaxed);
        if self.visible {
            self.show();
        }
    }

    fn expect(&self, entries: u64, bytes: u64) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.counting_since = Instant::now();
        self.entries.reset(entries);
        self.bytes.reset(bytes);
        self.is_guess.store(false, Relaxed);
    }

    fn guess(&self, entries: u64, bytes: u64) {
        self.is_guess.store(true, Relaxed);
        self.entries.expected.store(entries, Relaxed);
        self.bytes.expected.store(bytes, Relaxed);
    }

    fn wants_guess(&self) -> bool {
        self.visible
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

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_count_names_the_whole_only_when_it_is_known() {
        let meter = Meter::new("Reading", false);
        meter.advance(1200, 10);
        assert_eq!(meter.counted(), "1,200 files");
        meter.guess(3000, 100);
        assert_eq!(meter.counted(), "1,200 of ~3,000 files");
        meter.expect(3000, 100);
        meter.advance(1, 10);
        assert_eq!(meter.counted(), "1 of 3,000 files");
        meter.show();
        assert!(meter.phase.lock().expect("not poisoned").bar.is_none(), "nothing is drawn before a second has passed");
        meter.phase("Writing");
        assert_eq!(meter.counted(), "0 files");
        assert_eq!(Meter::new("Marking", false).counting("object").counted(), "0 objects");
    }

    #[test]
    fn the_time_left_is_told_only_when_it_can_be_known() {
        let meter = Meter::new("Reading", false);
        meter.advance(2, 2_000_000);
        assert_eq!(meter.pace(2 * SECOND), "2.0 MB · 1.0 MB/s");
        meter.guess(5, 5_000_000);
        assert_eq!(meter.pace(2 * SECOND), "2.0 MB · 1.0 MB/s · ~3 s left");
        meter.expect(10, 100_000_000);
        assert_eq!(meter.pace(SECOND), "0 B · 0 B/s");
        meter.advance(1, 1_000_000);
        assert_eq!(meter.pace(SECOND), "1.0 MB · 1.0 MB/s", "too little is done to tell");
        assert_eq!(meter.part(), Some(10));
        meter.advance(1, 4_000_000);
        assert_eq!(meter.pace(SECOND), "5.0 MB · 5.0 MB/s · 19 s left");
    }

    #[test]
    fn what_takes_longer_decides() {
        let meter = Meter::new("Restoring", false);
        meter.expect(1000, 100);
        meter.advance(100, 100);
        assert_eq!(meter.pace(10 * SECOND), "100 B · 10 B/s · 1 min 30 s left");
        assert_eq!(meter.part(), Some(100));
        meter.expect(1000, 0);
        meter.advance(500, 0);
        assert_eq!(meter.pace(SECOND), "500 files/s · 1 s left");
    }
}
