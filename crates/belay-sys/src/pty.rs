//! Terminals: a pair of our own, and the mode and size of one that a person sits at.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// How many characters fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Default for Size {
    fn default() -> Size {
        Size { rows: 24, columns: 80 }
    }
}

/// A terminal of our own.
#[derive(Debug)]
pub struct Pty {
    /// Where we sit.
    pub master: File,
    /// Where the program sits.
    pub slave: OwnedFd,
}

/// Opens a terminal of that size.
pub fn open_pty(size: Size) -> io::Result<Pty> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    set_terminal_size(&master, size)?;
    Ok(Pty { master: File::from(master), slave })
}

/// Makes the terminal the one of our session, which we lead and which has none yet.
pub fn take_terminal(slave: impl AsFd) -> io::Result<()> {
    Ok(rustix::process::ioctl_tiocsctty(slave)?)
}

/// The size of a terminal; none if it is no terminal or does not know.
pub fn terminal_size(fd: impl AsFd) -> Option<Size> {
    let found = tcgetwinsize(fd).ok()?;
    (found.ws_row > 0 && found.ws_col > 0).then_some(Size { rows: found.ws_row, columns: found.ws_col })
}

/// Gives a terminal another size; whoever sits at it is told by the kernel.
pub fn set_terminal_size(fd: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(fd, size)?)
}

/// Whether this process is in the foreground of its terminal, so that it may read from it and change its mode.
pub fn is_foreground(terminal: impl AsFd) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Whether nobody is at the other end of a terminal any more.
pub fn is_hung_up(terminal: impl AsFd) -> bool {
    matches!(rustix::termios::tcgetattr(terminal), Err(rustix::io::Errno::IO))
}

/// The process group in the foreground of a terminal.
pub fn foreground_group(terminal: impl AsFd) -> Option<u32> {
    rustix::termios::tcgetpgrp(terminal).ok().map(|group| group.as_raw_nonzero().get().unsigned_abs())
}

/// A terminal that hands on every key as it is typed; dropping it puts the old mode back.
pub struct RawMode {
    terminal: OwnedFd,
    before: Termios,
}

impl RawMode {
    /// Switches the terminal; with `shared`, line ends of others who write to it stay what they are.
    pub fn enter(terminal: impl AsFd, shared: bool) -> io::Result<RawMode> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        if shared {
            raw.output_modes = before.output_modes;
        }
        tcsetattr(&terminal, OptionalActions::Drain, &raw)?;
        Ok(RawMode { terminal, before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}
