//! The commands that are running: who started whom, what each means, and which of them changed files.
//!
//! Only commands that still run are kept, so that a run of a million commands needs no more room than one of ten.

use std::collections::HashMap;

use belay_event::{Ended, Exec, Exit, FileChange};

/// What a command means to the triggers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    #[default]
    Plain,
    /// A commit, if it ends well.
    Commit(String),
    /// A build.
    Build(String),
    /// Something that can destroy work.
    Destroys(String),
}

/// A process of the run; it may be one command after another.
#[derive(Debug)]
struct Process {
    /// The commands that it was, the present one last.
    commands: Vec<u64>,
    /// The child of the run's first process that this one descends from, or is; none for the first.
    top: Option<u32>,
    role: Role,
    /// Whether a build is among its ancestors.
    in_build: bool,
    /// Whether something that can destroy work is among its ancestors.
    in_destruction: bool,
    /// Whether it changed files; for a child of the first process, whether anything beneath it did.
    changed: bool,
}

/// The processes that are running.
#[derive(Debug, Default)]
pub(super) struct Family {
    running: HashMap<u32, Process>,
    pids: HashMap<u64, u32>,
    has_begun: bool,
}

/// A command that ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) role: Role,
    /// Whether it was a child of the run's first command, and files changed beneath it.
    pub(super) changed_at_top: bool,
}

impl Family {
    /// Takes in a command that means `role` by itself; says what it means where it stands.
    pub(super) fn begin(&mut self, exec: &Exec, role: Role) -> &Role {
        if !self.running.contains_key(&exec.pid) {
            let process = self.child(exec);
            self.running.insert(exec.pid, process);
        }
        self.has_begun = true;
        self.pids.insert(exec.command, exec.pid);
        let process = self.running.get_mut(&exec.pid).expect("it was just put there");
        process.commands.push(exec.command);
        match role {
            // The script of mvn becomes java, and is a build for all that.
            Role::Plain => {}
            Role::Build(_) if process.in_build => {}
            Role::Destroys(_) if process.in_destruction => {}
            role => process.role = role,
        }
        &process.role
    }

    /// How many processes are running.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.running.len() + self.pids.len()
    }

    fn child(&self, exec: &Exec) -> Process {
        let parent = exec.parent.and_then(|parent| self.running.get(self.pids.get(&parent)?));
        let top = match parent {
            Some(parent) => parent.top.or(Some(exec.pid)),
            // A child whose parent is gone already stands for itself.
            None => self.has_begun.then_some(exec.pid),
        };
        Process {
            commands: Vec::new(),
            top,
            role: Role::Plain,
            in_build: parent.is_some_and(|parent| parent.in_build || matches!(parent.role, Role::Build(_))),
            in_destruction: parent
                .is_some_and(|parent| parent.in_destruction || matches!(parent.role, Role::Destroys(_))),
            changed: false,
        }
    }

    /// Notes who changed a file; says whose change comes after its end.
    pub(super) fn change(&mut self, change: &FileChange) -> Option<u64> {
        let Some(number) = change.by.and_then(|by| by.command) else {
            // Where the kernel does not name the process, any of them may have done it.
            if change.by.is_none_or(|by| by.pid.is_none()) {
                self.running.values_mut().for_each(|process| process.changed = true);
            }
            return None;
        };
        let Some(pid) = self.pids.get(&number) else { return Some(number) };
        let top = self.running.get(pid).and_then(|process| process.top).unwrap_or(*pid);
        match self.running.get_mut(&top) {
            Some(process) => process.changed = true,
            None => return Some(number),
        }
        None
    }

    /// Lets go of a command; nothing if its process goes on as another.
    pub(super) fn end(&mut self, exit: &Exit) -> Option<Gone> {
        let pid = *self.pids.get(&exit.command)?;
        if matches!(exit.ended, Ended::Replaced(_)) {
            return None;
        }
        let process = self.running.remove(&pid)?;
        for number in &process.commands {
            self.pids.remove(number);
        }
        Some(Gone { changed_at_top: process.changed && process.top == Some(pid), role: process.role })
    }
}

#[cfg(test)]
mod tests {
    use belay_event::{Action, Actor};

    use super::*;

    fn exec(command: u64, parent: Option<u64>, pid: u32) -> Exec {
        let (argv, exe, cwd) = (Vec::new(), "".into(), "".into());
        Exec { command, parent, pid, ppid: 0, uid: 0, argv, exe, cwd, cut: false }
    }

    fn exit(command: u64, ended: Ended) -> Exit {
        Exit { command, pid: 0, ended, duration_ns: 0 }
    }

    fn change(command: u64) -> FileChange {
        let by = Some(Actor { pid: Some(1), command: Some(command), exact: true });
        FileChange { action: Action::Modified, path: "x".into(), to: None, dir: false, size: None, by }
    }

    /// bash (1) runs sh (2), which runs sed (3).
    fn three() -> Family {
        let mut family = Family::default();
        family.begin(&exec(1, None, 10), Role::Plain);
        family.begin(&exec(2, Some(1), 20), Role::Plain);
        family.begin(&exec(3, Some(2), 30), Role::Plain);
        family
    }

    #[test]
    fn a_change_counts_for_the_child_of_the_first_command() {
        let mut family = three();
        assert_eq!(family.change(&change(3)), None);
        assert!(!family.end(&exit(3, Ended::Code(0))).unwrap().changed_at_top);
        assert!(family.end(&exit(2, Ended::Code(1))).unwrap().changed_at_top);
        assert!(!family.end(&exit(1, Ended::Code(0))).unwrap().changed_at_top);
        assert_eq!(family.len(), 0);
    }

    #[test]
    fn a_process_that_becomes_another_command_keeps_its_place() {
        let mut family = three();
        family.begin(&exec(4, Some(2), 20), Role::Plain);
        assert_eq!(family.end(&exit(2, Ended::Replaced(4))), None);
        family.change(&change(3));
        family.begin(&exec(5, Some(2), 50), Role::Plain);
        assert!(!family.end(&exit(5, Ended::Code(0))).unwrap().changed_at_top);
        assert!(family.end(&exit(4, Ended::Code(0))).unwrap().changed_at_top);
    }

    #[test]
    fn what_comes_after_the_end_is_said() {
        let mut family = three();
        family.end(&exit(3, Ended::Code(0)));
        assert_eq!(family.change(&change(3)), Some(3));
    }

    #[test]
    fn somebody_outside_the_run_is_nobody_here() {
        let mut family = three();
        let outside = Some(Actor { pid: Some(9), command: None, exact: true });
        family.change(&FileChange { by: outside, ..change(2) });
        assert!(!family.end(&exit(2, Ended::Code(0))).unwrap().changed_at_top);
        let mut family = three();
        family.change(&FileChange { by: None, ..change(2) });
        assert!(family.end(&exit(2, Ended::Code(0))).unwrap().changed_at_top);
    }

    #[test]
    fn a_build_inside_a_build_is_a_part_of_it() {
        let mut family = three();
        let build = || Role::Build("make".into());
        assert_eq!(*family.begin(&exec(4, Some(2), 40), build()), build());
        assert_eq!(*family.begin(&exec(5, Some(4), 50), build()), Role::Plain);
        assert_eq!(*family.begin(&exec(6, Some(5), 60), build()), Role::Plain);
        assert_eq!(*family.begin(&exec(7, Some(2), 70), build()), build());
    }
}
