//! Who passes by a watch: where the kernel names the process that changed a file, its command is looked up and recorded.
//!
//! A process that is gone before it is looked up stays without a command. Only so many are remembered; a pid that is used again by
//! somebody else is told apart by when that one started.

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;

use belay_event::{Actor, Event, Exec, Raw, What};

use super::tree;

/// Processes that are remembered; editors are few, and a build by hand is no more than this at once.
const KNOWN_MAX: usize = 4096;

/// The processes that were seen to change something.
#[derive(Default)]
pub(super) struct Passers {
    known: HashMap<u32, (u64, u64)>,
    commands: u64,
}

impl Passers {
    /// The events with the commands of those who changed something, each command before its first change.
    pub(super) fn name(&mut self, events: Vec<Event>) -> Vec<Event> {
        let mut named = Vec::with_capacity(events.len());
        for mut event in events {
            if let What::File(change) = &mut event.what
                && let Some(Actor { pid: Some(pid), command: None, .. }) = change.by
                && let Some((number, exec)) = self.number(pid)
            {
                change.by = Some(Actor { pid: Some(pid), command: Some(number), exact: true });
                named.extend(exec.map(|exec| Event::new(event.at, What::Exec(exec))));
            }
            named.push(event);
        }
        named
    }

    /// The number of a process's command, and the command if it is new.
    fn number(&mut self, pid: u32) -> Option<(u64, Option<Exec>)> {
        let Some(started) = belay_sys::start_ticks(pid) else {
            // It ended since; if it was known, it was the one.
            return self.known.get(&pid).map(|(_, number)| (*number, None));
        };
        if let Some((_, number)) = self.known.get(&pid).filter(|(then, _)| *then == started) {
            return Some((*number, None));
        }
        let exec = look_up(pid, self.commands + 1)?;
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.commands += 1;
        self.known.insert(pid, (started, self.commands));
        Some((self.commands, Some(exec)))
    }
}

fn look_up(pid: u32, command: u64) -> Option<Exec> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|line| !line.is_empty())?;
    let words = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0);
    let link = |name: &str| {
        let target = std::fs::read_link(format!("/proc/{pid}/{name}"));
        Raw::from(target.map(|target| target.into_os_string().into_vec()).unwrap_or_default())
    };
    let uid = std::fs::metadata(format!("/proc/{pid}")).map(|meta| std::os::unix::fs::MetadataExt::uid(&meta)).ok()?;
    Some(Exec {
        command,
        parent: None,
        pid,
        ppid: tree::parent_of(pid).unwrap_or(0),
        uid,
        argv: words.map(Raw::from).collect(),
        exe: link("exe"),
        cwd: link("cwd"),
        cut: false,
    })
}

#[cfg(test)]
mod tests {
    use belay_event::{Action, At, FileChange};

    use super::*;

    fn change(pid: Option<u32>) -> Event {
        let by = Some(Actor { pid, command: None, exact: true });
        let change = FileChange { action: Action::Modified, path: "a".into(), to: None, dir: false, size: None, by };
        Event::new(At::from_unix_nanos(1), What::File(change))
    }

    #[test]
    fn each_process_is_one_command_and_those_who_are_gone_are_nobody() {
        let mut passers = Passers::default();
        let own = std::process::id();
        let events = passers.name(vec![change(Some(own)), change(Some(own)), change(None), change(Some(u32::MAX))]);
        let commands: Vec<Option<u64>> = events
            .iter()
            .map(|event| match &event.what {
                What::File(change) => change.by.and_then(|by| by.command),
                What::Exec(exec) => Some(exec.command + 100),
                _ => None,
            })
            .collect();
        assert_eq!(commands, [Some(101), Some(1), Some(1), None, None]);
        let What::Exec(exec) = &events[0].what else { panic!("{events:?}") };
        assert!(exec.pid == own && !exec.argv.is_empty() && !exec.exe.bytes().is_empty());
    }
}
