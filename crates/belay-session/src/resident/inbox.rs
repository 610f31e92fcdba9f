//! What agents told and was answered before it is written down: `workspaces/<id>/inbox`.
//!
//! Each word is in there before it is answered, and is marked when it is in the record. So a helper that is killed loses
//! nothing that it had answered: the next hook or helper takes it up. It is not synced; what a machine that goes down takes
//! with it is said by [`Workspace::broken_off`].

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use belay_store::{Disk, DiskWrite, LockMode};
use serde::{Deserialize, Serialize};

use super::lock_name;
use crate::agent::AgentWord;
use crate::error::{Error, Result, chain};
use crate::workspace::{Work, Workspace};

/// A longer file is begun anew as soon as nothing waits in it.
const BYTES_MAX: usize = 1 << 18;

/// So long somebody who looks waits for a helper that writes; a helper that is stopped writes nothing.
const SETTLE_MAX: Duration = Duration::from_millis(500);
const SETTLE_STEP: Duration = Duration::from_millis(5);

/// A line of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Told(u64, AgentWord),
    Done(u64),
}

/// What is answered and not yet written down.
pub(super) struct Inbox<'d> {
    disk: &'d dyn Disk,
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<Box<dyn DiskWrite>>,
    bytes: usize,
    next: u64,
    waiting: u64,
}

impl<'d> Inbox<'d> {
    /// An empty one.
    pub(super) fn new(disk: &'d dyn Disk, workspace: &str) -> Inbox<'d> {
        Inbox { disk, name: format!("workspaces/{workspace}/{NAME}"), state: Mutex::default() }
    }

    /// Keeps a word, which may be answered then; its number.
    pub(super) fn keep(&self, word: &AgentWord) -> io::Result<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next += 1;
        let number = state.next;
        self.add(&mut state, &Line::Told(number, word.clone()))?;
        state.waiting += 1;
        Ok(number)
    }

    /// Learns that a word is in the record.
    pub(super) fn done(&self, number: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        // A mark that cannot be made lets the word be told again, and it is known again then.
        let _ = self.add(&mut state, &Line::Done(number));
        if state.waiting == 0 && state.bytes > BYTES_MAX {
            state.file = None;
        }
    }

    /// Removes it if nothing waits in it.
    pub(super) fn close(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting == 0 {
            // One that stays says of everything that it is done.
            let _ = self.disk.remove(&self.name);
        }
    }

    fn add(&self, state: &mut State, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).expect("it is plain data with text keys");
        text.push(b'\n');
        let file = match &mut state.file {
            Some(file) => file,
            none => {
                state.bytes = 0;
                none.insert(self.disk.append(&self.name, 0)?)
            }
        };
        state.bytes += text.len();
        file.write(&text)
    }
}

const NAME: &str = "inbox";

impl Workspace<'_> {
    /// Writes down what a helper that is gone had answered, unless another one is there that does.
    pub(crate) fn take_up(&self, work: Work<'_>) -> Result<()> {
        let name = self.file(NAME);
        if !is_there(self.home.disk(), &name)? {
            return Ok(());
        }
        let lock = lock_name(&self.id);
        let held = self.home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        if held.is_some() { self.take_up_held(work) } else { Ok(()) }
    }

    /// The same for whoever holds the helper's lock.
    pub(super) fn take_up_held(&self, work: Work<'_>) -> Result<()> {
        let name = self.file(NAME);
        for word in waiting(self.home.disk(), &name)? {
            if let Err(error) = self.hear_again(&word, work) {
                self.miss(&chain(&error))?;
            }
        }
        match self.home.disk().remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::disk("remove", &name)(error)),
            _ => Ok(()),
        }
    }

    /// Waits a moment for what was answered and is just being written down, so that whoever looks finds it.
    pub fn settle(&self) -> Result<()> {
        let until = Instant::now() + SETTLE_MAX;
        while !waiting(self.home.disk(), &self.file(NAME))?.is_empty() && self.left_behind()? == 0 {
            if Instant::now() >= until {
                break;
            }
            std::thread::sleep(SETTLE_STEP);
        }
        Ok(())
    }

    /// How many words were answered by a helper that is gone and wait to be written down.
    pub fn left_behind(&self) -> Result<usize> {
        let name = self.file(NAME);
        let left = waiting(self.home.disk(), &name)?.len();
        if left == 0 {
            return Ok(0);
        }
        let lock = lock_name(&self.id);
        let free = self.home.disk().lock(&lock, LockMode::Shared, false).map_err(Error::disk("lock", &lock))?;
        Ok(if free.is_some() { left } else { 0 })
    }
}

fn is_there(disk: &dyn Disk, name: &str) -> Result<bool> {
    match disk.open(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // What is no file holds nothing that was told, and makes room for one.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let _ = disk.remove(name);
            Ok(false)
        }
        Err(error) => Err(Error::disk("read", name)(error)),
    }
}

/// Words without a mark, in their order; a line that was cut off had not been answered.
fn waiting(disk: &dyn Disk, name: &str) -> Result<Vec<AgentWord>> {
    let bytes = match disk.read(name) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
            return Ok(Vec::new());
        }
        other => other.map_err(Error::disk("read", name))?,
    };
    let mut words = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()) {
        match line {
            Line::Told(number, word) => drop(words.insert(number, word)),
            Line::Done(number) => drop(words.remove(&number)),
        }
    }
    Ok(words.into_values().collect())
}
