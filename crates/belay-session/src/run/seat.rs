//! What happens at the run's terminal: who sits at it, how large it is, and keys that stop the command.

use std::time::Instant;

use belay_event::Rewound;

use super::TerminalSize;
use super::supervisor::Supervisor;

const SIGCONT: i32 = rustix::process::Signal::CONT.as_raw();
const SIGWINCH: i32 = rustix::process::Signal::WINCH.as_raw();

impl Supervisor<'_> {
    /// Somebody sits down at the terminal.
    pub(super) fn attached(&mut self, client: u64, size: TerminalSize) {
        self.resize(size);
        self.resume();
        self.control.show_terminal(client, &self.recent.bytes());
        self.tell_of_storm(client);
        // A program that fills the screen draws it anew for whoever comes.
        self.signal_foreground(SIGWINCH);
    }

    /// Somebody stops with the command, and takes nothing until they come back.
    pub(super) fn away(&mut self, client: u64) {
        self.control.look_away(client);
        self.away.push(client);
    }

    /// Somebody is gone; if nobody else would let the command go on, it does so as when a terminal closes.
    pub(super) fn gone(&mut self, client: u64) {
        let before = self.away.len();
        self.away.retain(|away| *away != client);
        if self.away.len() < before && self.away.is_empty() {
            self.resume();
        }
    }

    /// Somebody whom the command's stop sent to their own shell comes back.
    pub(super) fn back(&mut self, client: u64, size: TerminalSize) {
        self.away.retain(|away| *away != client);
        self.resize(size);
        self.control.show_terminal(client, &[]);
        self.resume();
        self.signal_foreground(SIGWINCH);
    }

    pub(super) fn resize(&self, size: TerminalSize) {
        let size = belay_sys::Size { rows: size.rows, columns: size.columns };
        if let Some(terminal) = self.terminal.as_ref().filter(|_| size.rows > 0 && size.columns > 0) {
            // A terminal that nobody sits at any more keeps its size.
            let _ = belay_sys::set_terminal_size(&**terminal, size);
        }
    }

    /// The command was stopped, as by Ctrl-Z; whoever sits at its terminal gets their own shell back.
    pub(super) fn stopped(&mut self, at: Instant) {
        // A rollback holds processes still by the same signal.
        if self.frozen_by.is_empty() && self.thawed_at.is_none_or(|thawed| at > thawed) && self.terminal.is_some() {
            self.is_suspended = true;
            self.control.tell_stopped();
        }
    }

    fn resume(&mut self) {
        if !std::mem::take(&mut self.is_suspended) {
            return;
        }
        if let Some(child) = &self.record.child {
            // A group that is gone needs no leave.
            let _ = belay_sys::signal_group(child.pid, SIGCONT);
        }
        self.signal_foreground(SIGCONT);
    }

    fn signal_foreground(&self, signal: i32) {
        let group = self.terminal.as_ref().and_then(|terminal| belay_sys::foreground_group(&**terminal));
        if let Some(group) = group {
            let _ = belay_sys::signal_group(group, signal);
        }
    }

    /// Tells whoever sits at the terminal that files changed under the program.
    pub(super) fn announce(&self, rewound: &Rewound) {
        if self.terminal.is_none() {
            return;
        }
        let (kind, to, changed) = (&rewound.kind, &rewound.to, rewound.changed);
        let line = format!("\r\nbelay: {kind} to {to}: {changed} paths changed under this program\r\n");
        self.control.broadcast(line.as_bytes());
    }
}
