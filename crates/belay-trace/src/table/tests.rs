//! Commands are numbered, ended and found again, whatever processes do.

use belay_event::{Ended, Event, Raw, What};

use super::{Charge, Image, REMEMBER_NS, Record, Table};
use crate::clock::Clock;

const SECOND: u64 = 1_000_000_000;

struct World {
    table: Table,
    events: Vec<Event>,
}

fn world() -> World {
    let mut table = Table::new(Clock::fixed(0));
    table.adopt(100, 0);
    World { table, events: Vec::new() }
}

impl World {
    fn fork(&mut self, at: u64, parent: u32, child: u32) {
        self.table.learn(Record::Fork { at, parent, child }, &mut self.events);
    }

    fn exec(&mut self, at: u64, pid: u32, ppid: u32, name: &str) {
        let image = Image { pid, ppid, argv: vec![Raw::from(name)], ..Image::default() };
        self.table.learn(Record::Exec { at, image: Box::new(image) }, &mut self.events);
    }

    fn exit(&mut self, at: u64, pid: u32, code: i32) {
        self.table.learn(Record::Exit { at, pid, ended: Ended::Code(code) }, &mut self.events);
    }

    /// `name:number<parent` for a command that began, `!number=how@duration` for one that ended.
    fn story(&self) -> Vec<String> {
        let tell = |event: &Event| match &event.what {
            What::Exec(exec) => {
                format!("{}:{}<{}", exec.argv[0].lossy(), exec.command, exec.parent.unwrap_or(0))
            }
            What::Exit(exit) => format!("!{}={:?}@{}", exit.command, exit.ended, exit.duration_ns),
            other => format!("{other:?}"),
        };
        self.events.iter().map(tell).collect()
    }

    fn command(&self, pid: u32, since: u64, until: u64) -> Option<u64> {
        self.table.charge(pid, since, until).and_then(|charge| charge.command)
    }
}

#[test]
fn a_fork_belongs_to_its_parent_until_it_executes() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.fork(2, 100, 101);
    world.fork(3, 101, 102);
    assert_eq!(world.command(102, 3, 4), Some(1));
    world.exec(5, 102, 101, "make");
    world.exit(6, 101, 0);
    world.exit(9, 102, 2);
    world.exit(10, 100, 0);
    assert_eq!(world.story(), ["sh:1<0", "make:2<1", "!2=Code(2)@4", "!1=Code(0)@9"]);
}

#[test]
fn an_exec_in_the_same_process_replaces() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.exec(4, 100, 1, "env");
    world.exit(6, 100, 0);
    assert_eq!(world.story(), ["sh:1<0", "!1=Replaced(2)@3", "env:2<1", "!2=Code(0)@2"]);
    assert_eq!(world.command(100, 0, 3), Some(1));
    assert_eq!(world.command(100, 5, 5), Some(2));
    assert_eq!(world.table.charge(100, 2, 5), Some(Charge { command: Some(2), sure: false, until: 6 }));
}

#[test]
fn a_redirection_is_the_command_s_that_it_is_for() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.fork(2, 100, 101);
    world.exec(4, 101, 100, "sort");
    assert_eq!(world.table.charge(101, 1, 5), Some(Charge { command: Some(2), sure: true, until: u64::MAX }));
    assert_eq!(world.command(101, 1, 3), Some(1));
}

#[test]
fn a_pid_that_is_used_again_is_somebody_else() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.fork(2, 100, 101);
    world.exec(3, 101, 100, "first");
    world.exit(4, 101, 0);
    world.fork(6, 100, 101);
    world.exec(7, 101, 100, "second");
    assert_eq!(world.command(101, 3, 3), Some(2));
    assert_eq!(world.command(101, 8, 9), Some(3));
    assert_eq!(world.table.charge(55, 0, 9), None);
}

#[test]
fn a_lost_exit_does_not_confuse_the_next_process() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.fork(2, 100, 101);
    world.exec(3, 101, 100, "first");
    world.fork(5, 100, 101);
    world.exit(8, 101, 0);
    assert_eq!(world.story(), ["sh:1<0", "first:2<1"]);
    assert_eq!(world.command(101, 6, 7), Some(1));
}

#[test]
fn an_exit_that_is_told_twice_counts_once() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.exit(2, 100, 3);
    world.exit(2, 100, 3);
    assert_eq!(world.story(), ["sh:1<0", "!1=Code(3)@1"]);
    assert!(!world.table.lives(100));
}

#[test]
fn a_lost_fork_still_has_a_parent() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    world.exec(4, 107, 100, "ls");
    assert_eq!(world.story(), ["sh:1<0", "ls:2<1"]);
}

#[test]
fn the_dead_are_forgotten_after_a_while() {
    let mut world = world();
    world.exec(1, 100, 1, "sh");
    for round in 0..100_000u64 {
        let (at, pid) = (round * SECOND / 5_000 + 2, 1000 + (round % 30_000) as u32);
        world.fork(at, 100, pid);
        world.exec(at + 1, pid, 100, "true");
        world.exit(at + 2, pid, 0);
        world.table.forget(at);
        world.events.clear();
    }
    let kept = REMEMBER_NS / SECOND * 5_000;
    assert!(world.table.len() as u64 <= 2 * kept + 100, "{} spans are remembered", world.table.len());
    world.table.forget(100 * SECOND);
    assert_eq!(world.table.len(), 1);
    assert_eq!(world.command(100, 90 * SECOND, 91 * SECOND), Some(1));
}

#[test]
fn executions_that_were_seen_in_turn_tell_apart_what_a_process_was() {
    let mut world = world();
    world.exec(10, 100, 1, "bash");
    world.exec(20, 100, 1, "rm");
    let charge =
        |turn, all| world.table.charge_in_turn(100, 12..=30, turn, all).map(|charge| (charge.command, charge.sure));
    assert_eq!(charge(0, (1, false)), Some((Some(1), true)));
    assert_eq!(charge(1, (1, false)), Some((Some(2), true)));
    // The first of two was before that time.
    assert_eq!(charge(1, (2, true)), Some((Some(1), true)));
    assert_eq!(charge(2, (2, true)), Some((Some(2), true)));
    assert_eq!(charge(1, (2, false)), None);
    assert_eq!(charge(0, (0, false)), None);
    assert_eq!(charge(0, (2, true)), None);
}
