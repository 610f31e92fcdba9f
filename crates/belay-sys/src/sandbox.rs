//! A program that is held in namespaces of its own, after it has done to itself what a list of steps says.
//!
//! Invariants: between `clone` and `execve` nothing is allocated and no lock is taken, so that any thread of any
//! program may start one; a step that fails ends the child before it has executed anything; no descriptor but the
//! three standard streams reaches the program; the first process of the namespaces shows nobody its memory, which is
//! a copy of ours; a held child whose parent goes away ends.

#![allow(unsafe_code)]

mod child;
mod kernel;
mod maps;
mod refusal;
mod step;

use std::ffi::CString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::fd::AsFd;
use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};

use crate::pidfd::Process;

pub use kernel::landlock_abi;
pub use maps::Maps;
pub use refusal::{Memory, Refusals, Refused};
pub use step::{Attributes, Instruction, Limited, Step};

/// Which namespaces a program gets for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// None.
    #[default]
    None,
    /// Users, mounts, processes, messages, host name and control groups.
    AllButNetwork,
    /// The network too.
    All,
}

/// What to start, and what it does to itself before.
#[derive(Debug, Default)]
pub struct Recipe {
    /// The namespaces that it starts in.
    pub namespaces: Namespaces,
    /// What it does, in this order.
    pub steps: Vec<Step>,
    /// The Landlock ruleset of the steps that speak of one.
    pub ruleset: Option<OwnedFd>,
    /// Where the program may be, in the order in which they are tried, as the program will see them.
    pub programs: Vec<CString>,
    /// The arguments, the program's name first.
    pub argv: Vec<CString>,
    /// The environment, `NAME=value`.
    pub env: Vec<CString>,
    /// Standard input, output and error; ours if there are none.
    pub stdio: Option<[OwnedFd; 3]>,
    /// Whether it leads a process group of its own, in the foreground of our terminal if we have one.
    pub foreground: bool,
    /// Whether it is killed when the thread that starts it ends.
    pub dies_with_parent: bool,
    /// The process that will trace it, if that is not ours; in namespaces whoever starts it may anyway.
    pub tracer: Option<u32>,
    /// A directory, as it sees it after its steps, whose handle it gives to us.
    pub hand_over: Option<CString>,
    /// Whose numbers are known in its namespaces, which somebody with the right to it says before it takes a step; a
    /// step says it of whoever starts it otherwise.
    pub maps: Option<Maps>,
    /// Namespaces of another program that it enters before its steps, instead of making its own.
    pub enter: Option<Door>,
}

/// The users and mounts of a program's namespaces, which whoever made them can enter.
#[derive(Debug)]
pub struct Door {
    users: OwnedFd,
    mounts: OwnedFd,
}

/// Where a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Making the namespaces or their processes.
    Namespaces,
    /// The step with this number.
    Step(usize),
    /// Executing the program.
    Execute,
}

/// Why nothing was started.
#[derive(Debug)]
pub struct StartError {
    /// Where.
    pub stage: Stage,
    /// The kernel's answer.
    pub source: io::Error,
}

/// A program that has done all its steps and waits to be released.
#[derive(Debug)]
pub struct HeldProgram {
    control: OwnedFd,
    running: RunningProgram,
    handed_over: Option<OwnedFd>,
}

/// A program that was released.
#[derive(Debug)]
pub struct RunningProgram {
    pid: Pid,
    pidfd: OwnedFd,
    /// The first process of the namespaces and its handle, if there is one: everything in them dies with it.
    first: Option<(Pid, OwnedFd)>,
    status: Option<i32>,
}

const GO: [u8; 1] = [1];

/// Starts a child, lets `place` put it where it belongs (a control group) by its number, and holds it.
pub fn hold_sandboxed(recipe: &Recipe, place: impl FnOnce(u32) -> io::Result<()>) -> Result<HeldProgram, StartError> {
    let early = |source: io::Error| StartError { stage: Stage::Namespaces, source };
    let kind = (AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let (ours, theirs) = rustix::net::socketpair(kind.0, kind.1, kind.2, None).map_err(|e| early(e.into()))?;
    let mut prepared = child::Prepared::new(recipe, theirs.as_raw_fd(), ours.as_raw_fd());
    let child = kernel::clone_child(&mut prepared).map_err(early)?;
    drop(theirs);
    let pid = Pid::from_raw(child).ok_or_else(|| early(io::Error::from(io::ErrorKind::InvalidData)))?;
    let held = place(pid.as_raw_nonzero().get().unsigned_abs())
        .and_then(|()| recipe.maps.as_ref().map_or(Ok(()), |maps| maps.write(pid)))
        .map_err(early)
        .and_then(|()| send_go(&ours).map_err(early))
        .and_then(|()| receive_held(&ours, pid));
    if recipe.namespaces != Namespaces::None || held.is_err() {
        // What made the others has ended or will, since the socket's other end is closed by our return.
        if held.is_err() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        let _ = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
    }
    let (program, first, handed_over) = held?;
    let running = RunningProgram::open(program, first).map_err(early)?;
    Ok(HeldProgram { control: ours, running, handed_over })
}

fn send_go(control: &OwnedFd) -> io::Result<()> {
    retry_on_intr(|| rustix::net::send(control, &GO, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Waits until the program is held; its number, that of the first process, and what it hands over.
fn receive_held(control: &OwnedFd, child: Pid) -> Result<(Pid, Option<Pid>, Option<OwnedFd>), StartError> {
    let mut pids = (child, None);
    loop {
        let (report, handed_over) = child::Report::receive(control);
        match report {
            Some(child::Report::Processes { first, program }) => {
                let pid = |raw| Pid::from_raw(raw).expect("the kernel numbers processes from 1");
                pids = (pid(program), Some(pid(first)));
                // If nobody is there to hear it, the next report says so.
                let _ = send_go(control);
            }
            Some(child::Report::Held) => return Ok((pids.0, pids.1, handed_over)),
            Some(child::Report::Failed { stage, errno }) => {
                abandon(pids.1, pids.0);
                return Err(StartError { stage, source: io::Error::from_raw_os_error(errno) });
            }
            None => {
                abandon(pids.1, pids.0);
                let source = io::Error::other("the child ended before it was held");
                return Err(StartError { stage: Stage::Namespaces, source });
            }
        }
    }
}

/// Reaps what a failed start left; the program is dead or dying, and the first process is told to.
fn abandon(first: Option<Pid>, program: Pid) {
    let Some(first) = first else { return };
    let _ = rustix::process::kill_process(first, Signal::KILL);
    for pid in [program, first] {
        let _ = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
    }
}

impl HeldProgram {
    /// The program's number, as we see it.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Every process of the sandbox so far, for whoever puts them into a control group.
    pub fn pids(&self) -> Vec<u32> {
        let first = self.running.first.iter().map(|(pid, _)| *pid);
        first.chain([self.running.pid]).map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// The way into its namespaces, for as long as the handle lives.
    pub fn door(&self) -> io::Result<Door> {
        let open = |name: &str| std::fs::File::open(format!("/proc/{}/ns/{name}", self.pid())).map(OwnedFd::from);
        Ok(Door { users: open("user")?, mounts: open("mnt")? })
    }

    /// Where its refused calls arrive, if a step asked for that; whoever drops it leaves them to an error of the kernel's.
    pub fn take_refusals(&mut self) -> Option<Refusals> {
        self.handed_over.take().map(Refusals::new)
    }

    /// The directory that it was asked to hand over; it stays usable when the program has ended.
    pub fn take_handed_over(&mut self) -> Option<OwnedFd> {
        self.handed_over.take()
    }

    /// Lets the program execute; if it cannot, everything that was started has ended.
    pub fn release(mut self) -> Result<RunningProgram, StartError> {
        let failed = |source| StartError { stage: Stage::Execute, source };
        send_go(&self.control).map_err(failed)?;
        match child::Report::receive(&self.control).0 {
            // A successful execve closed the other end.
            None => Ok(self.running),
            Some(child::Report::Failed { stage, errno }) => {
                let _ = self.running.wait();
                Err(StartError { stage, source: io::Error::from_raw_os_error(errno) })
            }
            Some(_) => Err(failed(io::Error::from(io::ErrorKind::InvalidData))),
        }
    }
}

impl RunningProgram {
    fn open(pid: Pid, first: Option<Pid>) -> io::Result<RunningProgram> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let first = match first {
            Some(first) => Some((first, pidfd_open(first, PidfdFlags::empty())?)),
            None => None,
        };
        Ok(RunningProgram { pid, pidfd, first, status: None })
    }

    /// The program's number, as we see it.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// A handle that is readable once the program has ended.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.pidfd, signal)?)
    }

    /// Kills the program and, if it has namespaces of its own, everything in them.
    pub fn kill(&self) -> io::Result<()> {
        let target = self.first.as_ref().map_or(&self.pidfd, |(_, handle)| handle);
        match pidfd_send_signal(target, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the program's end and its wait status; whatever it left in its namespaces is killed.
    pub fn wait(&mut self) -> io::Result<i32> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let ended = retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()))?;
        let status = ended.map_or(0, |(_, status)| status.as_raw());
        self.status = Some(status);
        self.end_first();
        Ok(status)
    }

    /// Leaves the program, and the first process of its namespaces, to somebody who reaps and ends both of them.
    pub fn leave(mut self) -> io::Result<(Process, Option<Process>)> {
        let program = Process::open(self.pid())?;
        let first = self.first.as_ref().map(|(pid, _)| Process::open(pid.as_raw_nonzero().get().unsigned_abs()));
        let first = first.transpose()?;
        // From here on there is nothing that dropping would end.
        self.status = Some(0);
        Ok((program, first))
    }

    fn end_first(&mut self) {
        if let Some((first, handle)) = self.first.take() {
            // It is our child and not yet reaped, so both can only fail where there is nothing left to do.
            let _ = pidfd_send_signal(handle.as_fd(), Signal::KILL);
            let _ = retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
        }
    }
}

impl Drop for RunningProgram {
    /// A sandbox that nobody holds any more ends.
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
            let _ = self.wait();
        }
    }
}

/// The addresses of strings, with the null that ends them.
fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn raw(fd: &Option<OwnedFd>) -> RawFd {
    fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
}

/// Receives a message and the descriptor that came with it; an empty one means that nobody is left to send.
fn receive(control: &OwnedFd, buffer: &mut [u8]) -> (usize, Option<OwnedFd>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    loop {
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut *buffer)];
        match rustix::net::recvmsg(control, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => {
                let handed = ancillary.drain().find_map(|one| match one {
                    RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
                    _ => None,
                });
                return (message.bytes, handed);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return (0, None),
        }
    }
}
