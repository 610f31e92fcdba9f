//! What the child of a sandbox does between `clone` and `execve`.
//!
//! Invariants: everything here runs in a copy of a program that may have had many threads, so it allocates nothing,
//! takes no lock and calls only the kernel; it never returns.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::step::{Place, Step};
use super::{Namespaces, Recipe, Stage, kernel, pointers, raw};

/// Everything that the child needs, made before it exists.
pub(super) struct Prepared<'a> {
    pub(super) namespaces: Namespaces,
    steps: &'a [Step],
    programs: &'a [CString],
    /// The arguments, after one place that is free.
    argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    stdio: Option<[RawFd; 3]>,
    ruleset: RawFd,
    foreground: bool,
    dies_with_parent: bool,
    tracer: Option<u32>,
    hand_over: Option<&'a CStr>,
    /// The users' and the mounts' namespace to enter.
    enter: Option<[RawFd; 2]>,
    control: RawFd,
    /// The parent's end, which the child must not keep open.
    parents: RawFd,
}

/// What the child tells its parent.
pub(super) enum Report {
    /// There are two processes now.
    Processes { first: i32, program: i32 },
    /// All steps are done.
    Held,
    /// Something did not work, and the child has ended.
    Failed { stage: Stage, errno: i32 },
}

impl Report {
    fn encode(&self) -> [i32; 3] {
        match *self {
            Report::Processes { first, program } => [0, first, program],
            Report::Held => [1, 0, 0],
            Report::Failed { stage: Stage::Namespaces, errno } => [2, 0, errno],
            Report::Failed { stage: Stage::Execute, errno } => [3, 0, errno],
            Report::Failed { stage: Stage::Step(number), errno } => {
                [4, i32::try_from(number).unwrap_or(i32::MAX), errno]
            }
        }
    }

    fn decode([kind, first, second]: [i32; 3]) -> Option<Report> {
        let failed = |stage| Some(Report::Failed { stage, errno: second });
        match kind {
            0 => Some(Report::Processes { first, program: second }),
            1 => Some(Report::Held),
            2 => failed(Stage::Namespaces),
            3 => failed(Stage::Execute),
            4 => failed(Stage::Step(usize::try_from(first).ok()?)),
            _ => None,
        }
    }

    /// The next report; none once nobody is left to report.
    pub(super) fn receive(control: &OwnedFd) -> (Option<Report>, Option<OwnedFd>) {
        let mut bytes = [0; 12];
        let (length, handed) = super::receive(control, &mut bytes);
        if length != bytes.len() {
            return (None, None);
        }
        let word = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (Report::decode([word(0), word(4), word(8)]), handed)
    }

    fn send(&self, control: RawFd) {
        let words = self.encode();
        // SAFETY: `words` is twelve bytes that live until the call returns.
        unsafe { libc::send(control, words.as_ptr().cast(), size_of_val(&words), libc::MSG_NOSIGNAL) };
    }
}

impl<'a> Prepared<'a> {
    pub(super) fn new(recipe: &'a Recipe, control: RawFd, parents: RawFd) -> Prepared<'a> {
        Prepared {
            namespaces: recipe.namespaces,
            steps: &recipe.steps,
            programs: &recipe.programs,
            argv: std::iter::once(std::ptr::null()).chain(pointers(&recipe.argv)).collect(),
            env: pointers(&recipe.env),
            stdio: recipe.stdio.as_ref().map(|fds| fds.each_ref().map(AsRawFd::as_raw_fd)),
            ruleset: raw(&recipe.ruleset),
            foreground: recipe.foreground,
            dies_with_parent: recipe.dies_with_parent,
            tracer: recipe.tracer,
            hand_over: recipe.hand_over.as_deref(),
            enter: recipe.enter.as_ref().map(|door| [door.users.as_raw_fd(), door.mounts.as_raw_fd()]),
            control,
            parents,
        }
    }

    /// The child's whole life: waits to be placed, makes the processes, and becomes the program.
    pub(super) fn live(&mut self) -> ! {
        kernel::close(self.parents);
        if !self.wait_for_go() {
            kernel::end(1);
        }
        if self.namespaces == Namespaces::None {
            if let Some(tracer) = self.tracer {
                crate::ptrace::allow_tracer(tracer);
            }
            self.become_program();
        }
        // The program is made a sibling, not a child: whoever started us waits for it, and not we.
        let processes = kernel::unshare_processes().and_then(|()| {
            let first = kernel::clone_sibling(|| self.reap_for_ever())?;
            let program = kernel::clone_sibling(|| self.begin_program())?;
            Ok((first, program))
        });
        match processes {
            Ok((first, program)) => Report::Processes { first, program }.send(self.control),
            Err(errno) => self.fail(Stage::Namespaces, errno),
        }
        kernel::end(0);
    }

    /// The first process of the namespaces: adopts and reaps orphans; when it ends, so does everything.
    fn reap_for_ever(&self) -> ! {
        kernel::hide_memory();
        if self.dies_with_parent {
            kernel::die_with_parent();
            // A parent that was gone before that sends no signal.
            if kernel::is_hung_up(self.control) {
                kernel::end(1);
            }
        }
        kernel::close_all();
        let _ = super::step::drop_capabilities();
        kernel::reap_for_ever()
    }

    /// The parent learns who we are before anything can fail.
    fn begin_program(&mut self) -> ! {
        if !self.wait_for_go() {
            kernel::end(1);
        }
        self.become_program()
    }

    fn become_program(&mut self) -> ! {
        if self.dies_with_parent {
            kernel::die_with_parent();
        }
        if let Err(errno) = kernel::take_streams(self.stdio, self.foreground) {
            self.fail(Stage::Execute, errno);
        }
        if let Err(errno) = self.enter.into_iter().flatten().try_for_each(kernel::enter_namespace) {
            self.fail(Stage::Namespaces, errno);
        }
        let mut place = Place { root: -1, ruleset: self.ruleset, listener: -1 };
        for (number, step) in self.steps.iter().enumerate() {
            if let Err(errno) = step.run(&mut place) {
                self.fail(Stage::Step(number), errno.raw_os_error());
            }
        }
        if self.dies_with_parent {
            // Whoever becomes somebody else is no longer killed with its parent. One that is gone by now gives no word to go.
            kernel::die_with_parent();
        }
        match self.hand_over {
            None if place.listener >= 0 => {
                kernel::send_with(self.control, &Report::Held.encode(), place.listener);
            }
            None => Report::Held.send(self.control),
            Some(path) => match place.open_directory(path) {
                Ok(directory) => kernel::send_with(self.control, &Report::Held.encode(), directory.as_raw_fd()),
                Err(errno) => self.fail(Stage::Execute, errno.raw_os_error()),
            },
        }
        if !self.wait_for_go() {
            kernel::end(1);
        }
        // Once more, by name: from beneath what was mounted there meanwhile one would see past it.
        let changes = self.steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::ChangeDirectory(_)));
        for (number, step) in changes {
            if let Err(errno) = step.run(&mut place) {
                self.fail(Stage::Step(number), errno.raw_os_error());
            }
        }
        kernel::default_signals();
        let errno = kernel::execute(self.programs, &mut self.argv, &self.env);
        self.fail(Stage::Execute, errno)
    }

    fn wait_for_go(&self) -> bool {
        kernel::receive_byte(self.control)
    }

    fn fail(&self, stage: Stage, errno: i32) -> ! {
        Report::Failed { stage, errno }.send(self.control);
        kernel::end(1)
    }
}
