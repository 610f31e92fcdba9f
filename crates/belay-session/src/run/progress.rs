//! How far a snapshot of a run is, told to whoever waits for it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use belay_store::Progress;

use super::control::Control;
use super::wire::{Answer, Step};

/// Nobody reads faster.
const EVERY: Duration = Duration::from_millis(100);

/// Tells everybody who is connected.
pub(super) struct Telling {
    control: Control,
    /// Whether somebody may see when it ends.
    is_watched: bool,
    state: Mutex<State>,
}

struct State {
    /// What was not told yet.
    step: Step,
    told: Instant,
}

impl Telling {
    pub(super) fn new(control: Control, is_watched: bool) -> Telling {
        Telling { control, is_watched, state: Mutex::new(State { step: Step::default(), told: Instant::now() }) }
    }

    fn tell(&self, change: impl FnOnce(&mut Step)) {
        let mut state = self.state.lock().expect("no holder panics");
        change(&mut state.step);
        if state.told.elapsed() >= EVERY {
            state.told = Instant::now();
            let step = std::mem::take(&mut state.step);
            self.control.tell_all(&Answer::Progress(step));
        }
    }
}

impl Progress for Telling {
    fn advance(&self, entries: u64, bytes: u64) {
        self.tell(|step| {
            step.entries += entries;
            step.bytes += bytes;
        });
    }

    fn expect(&self, _entries: u64, _bytes: u64) {}

    fn guess(&self, entries: u64, bytes: u64) {
        self.tell(|step| step.whole = Some((entries, bytes)));
    }

    fn wants_guess(&self) -> bool {
        self.is_watched
    }
}
