//! Where what agents told is written down, one after the other.
//!
//! Of what was answered before it was written down, nothing changed the files; if it cannot be written down after all,
//! the status line tells, as it does of every step that was missed.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use belay_store::Quiet;
use belay_sys::Bell;

use super::super::Told;
use super::super::inbox::Inbox;
use crate::agent::{AgentDeed, AgentWord};
use crate::error::chain;
use crate::eyes::Eyes;
use crate::run::write_text;
use crate::workspace::{Work, Workspace};

/// How long nobody is asked again for what it has mapped: that takes tens of milliseconds.
const MEMORY_REST: Duration = Duration::from_secs(2);
/// What takes longer than this nobody else is made to wait for.
const SLOW: Duration = Duration::from_secs(2);

/// Something to do.
pub(super) struct Job<'a> {
    workspace: Arc<Workspace<'a>>,
    /// What an agent told; none to look at the files.
    word: Option<AgentWord>,
    /// Whoever waits for it; nobody if it was answered already.
    asker: Option<UnixStream>,
    /// Whether it is known that nothing had changed when it was told.
    unchanged: bool,
    /// Its number in the inbox, if it is answered already.
    kept: Option<u64>,
}

impl<'a> Job<'a> {
    /// A look at the files that nobody asked for yet.
    pub(super) fn first_look(workspace: Arc<Workspace<'a>>) -> Job<'a> {
        Job { workspace, word: None, asker: None, unchanged: false, kept: None }
    }

    /// A word that is answered already, since nothing changed, and kept in the inbox under a number.
    pub(super) fn told(workspace: Arc<Workspace<'a>>, word: AgentWord, kept: u64) -> Job<'a> {
        Job { workspace, word: Some(word), asker: None, unchanged: true, kept: Some(kept) }
    }

    /// A word that somebody waits to be taken in.
    pub(super) fn asked(workspace: Arc<Workspace<'a>>, word: AgentWord, asker: UnixStream) -> Job<'a> {
        Job { workspace, word: Some(word), asker: Some(asker), unchanged: false, kept: None }
    }

    /// A word that nobody waits for any more.
    pub(super) fn late(workspace: Arc<Workspace<'a>>, word: AgentWord) -> Job<'a> {
        Job { workspace, word: Some(word), asker: None, unchanged: false, kept: None }
    }

    /// Whether it may change the timeline.
    fn takes(&self) -> bool {
        self.word.is_some() && !self.unchanged
    }

    fn carry_out(self, stop: &AtomicBool) {
        let work = Work { progress: &Quiet, stop };
        let Some(word) = &self.word else {
            // Whoever asks first looks again.
            let _ = self.workspace.present(work);
            return;
        };
        let heard = self.workspace.hear_after(word, self.unchanged, work);
        match (self.asker, heard) {
            (Some(mut asker), heard) => {
                let told = heard.map_or_else(|error| Told::Yourself(chain(&error)), |_| Told::Done);
                // Whoever is gone by now was told before, and finds that out if it asks again.
                let _ = write_text(&mut asker, &told);
            }
            (None, Err(error)) => drop(self.workspace.miss(&chain(&error))),
            (None, Ok(_)) => {}
        }
    }
}

/// Whether an agent's word needs no snapshot because the files are as in the latest.
pub(super) fn is_nothing_new(workspace: &Workspace<'_>, word: &AgentWord) -> bool {
    // The beginning and end of a turn are snapshots in any case.
    let is_step = !matches!(word.deed, AgentDeed::Prompt(_) | AgentDeed::TurnEnd);
    is_step && workspace.is_seen_unchanged().unwrap_or(false)
}

/// What there is to do, and who does it.
pub(super) struct Desk<'b> {
    stop: &'b AtomicBool,
    bell: &'b Bell,
    waiting: AtomicU64,
    /// Of those, how many change the timeline.
    taking: AtomicU64,
    /// When the one that is being carried out began.
    begun: Mutex<Option<Instant>>,
    /// Rings when nobody will come any more.
    closing: Bell,
    inbox: &'b Inbox<'b>,
}

impl<'b> Desk<'b> {
    pub(super) fn new(stop: &'b AtomicBool, bell: &'b Bell, inbox: &'b Inbox<'b>) -> io::Result<Desk<'b>> {
        let (waiting, taking) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Desk { stop, bell, waiting, taking, begun: Mutex::default(), closing: Bell::new()?, inbox })
    }

    /// Starts the threads that do it; they end with the last sender.
    pub(super) fn open<'s, 'a: 's>(&'s self, scope: &'s Scope<'s, '_>, eyes: Option<&'s Eyes>) -> Sender<Job<'a>> {
        let (jobs, todo) = channel();
        let (after, rests) = sync_channel(1);
        scope.spawn(move || self.work(&todo, &after));
        scope.spawn(move || {
            for () in rests {
                eyes.into_iter().for_each(Eyes::look_at_memory);
                // Whoever comes meanwhile is looked at after it.
                self.closing.wait(None, Some(MEMORY_REST));
            }
        });
        jobs
    }

    fn work(&self, todo: &Receiver<Job<'_>>, after: &SyncSender<()>) {
        for job in todo {
            let (takes, kept) = (job.takes(), job.kept);
            self.note_begun(Some(Instant::now()));
            job.carry_out(self.stop);
            self.note_begun(None);
            kept.into_iter().for_each(|kept| self.inbox.done(kept));
            self.taking.fetch_sub(u64::from(takes), Ordering::SeqCst);
            if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
                // One that waits already will do.
                let _ = after.try_send(());
                self.bell.ring();
            }
        }
        self.closing.ring();
    }

    /// Puts something on the pile.
    pub(super) fn take<'a>(&self, jobs: &Sender<Job<'a>>, job: Job<'a>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.taking.fetch_add(u64::from(job.takes()), Ordering::SeqCst);
        // The thread outlives the sender.
        let _ = jobs.send(job);
    }

    /// Whether something is left to do.
    pub(super) fn is_busy(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    fn note_begun(&self, at: Option<Instant>) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Whether what is being carried out takes longer than anybody should wait.
    pub(super) fn is_slow(&self) -> bool {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.is_some_and(|begun| begun.elapsed() > SLOW)
    }

    /// Whether something before it takes a snapshot that is not there yet.
    pub(super) fn is_taking(&self) -> bool {
        self.taking.load(Ordering::SeqCst) > 0
    }
}
