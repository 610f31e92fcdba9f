//! Triggers under a fixed clock.

use belay_event::{Action, Actor, Lost, Raw, SnapshotTaken};
use proptest::prelude::*;

use super::words::tests::argv;
use super::*;
use crate::config::{Override, Sources};

/// A run whose first command is a shell, and whose time goes by as told.
struct Run {
    triggers: Triggers,
    now_ms: u64,
    commands: u64,
}

impl Run {
    fn new() -> Run {
        Run::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Run {
        let given = |(key, value): &(&str, &str)| Override {
            name: "test".into(),
            key: format!("snapshots.{key}"),
            value: (*value).into(),
        };
        let sources = Sources { flags: settings.iter().map(given).collect(), ..Sources::default() };
        let triggers = Triggers::new(&Settings::resolve(&sources).unwrap(), true, at(0));
        let mut run = Run { triggers, now_ms: 0, commands: 0 };
        assert_eq!(run.exec(None, "bash").1, []);
        run
    }

    fn see(&mut self, what: What) -> Vec<Ask> {
        self.triggers.observe(&Event::new(at(self.now_ms), what))
    }

    fn exec(&mut self, parent: Option<u64>, line: &str) -> (u64, Vec<Ask>) {
        self.commands += 1;
        let (command, pid) = (self.commands, self.commands as u32 + 100);
        (command, self.become_command(command, parent, pid, argv(line)))
    }

    fn become_command(&mut self, command: u64, parent: Option<u64>, pid: u32, argv: Vec<Raw>) -> Vec<Ask> {
        let (exe, cwd) = ("".into(), "/w".into());
        self.see(What::Exec(Exec { command, parent, pid, ppid: 1, uid: 0, argv, exe, cwd, cut: false }))
    }

    fn end(&mut self, command: u64, ended: Ended) -> Vec<Ask> {
        self.see(What::Exit(Exit { command, pid: command as u32 + 100, ended, duration_ns: 1 }))
    }

    fn write(&mut self, command: Option<u64>) -> Vec<Ask> {
        let by = Some(Actor { pid: Some(1), command, exact: true });
        let (action, path) = (Action::Modified, "x".into());
        self.see(What::File(FileChange { action, path, to: None, dir: false, size: None, by }))
    }

    /// A child of the shell that begins, perhaps writes, and ends.
    fn run(&mut self, line: &str, writes: bool, ended: Ended) -> Vec<Ask> {
        let (command, mut asks) = self.exec(Some(1), line);
        if writes {
            asks.extend(self.write(Some(command)));
        }
        asks.extend(self.end(command, ended));
        asks
    }

    fn wait(&mut self, ms: u64) -> Vec<Ask> {
        self.now_ms += ms;
        self.triggers.tick(at(self.now_ms), Activity::default())
    }
}

fn at(ms: u64) -> At {
    At::from_unix_nanos(1_700_000_000_000_000_000 + i128::from(ms) * 1_000_000)
}

fn kinds(asks: &[Ask]) -> Vec<Kind> {
    asks.iter().map(|ask| ask.kind).collect()
}

const OK: Ended = Ended::Code(0);

#[test]
fn a_run_begins_with_a_snapshot_unless_that_is_off() {
    assert_eq!(Run::new().triggers.before_run().unwrap().kind, Kind::PreRun);
    assert_eq!(Run::with(&[("triggers.disable_pre_run", "true")]).triggers.before_run(), None);
    assert_eq!(Run::with(&[("disabled", "true")]).triggers.before_run(), None);
}

#[test]
fn a_commit_that_succeeds_is_asked_for_two_seconds_later() {
    let mut run = Run::new();
    assert_eq!(run.run("git -C sub commit -m fix", false, OK), []);
    assert_eq!(run.triggers.next_tick(), Some(at(2000)));
    assert_eq!(run.wait(1999), []);
    let asks = run.wait(1);
    assert_eq!(asks, [Ask::new(Kind::Git, Some(2), "git -C sub commit -m fix")]);
    assert_eq!(run.wait(5000), []);
}

#[test]
fn failed_aborted_and_killed_commits_do_not_count() {
    for ended in [Ended::Code(1), Ended::Code(128), Ended::Signal(2), Ended::Signal(9)] {
        let mut run = Run::new();
        run.run("git commit", false, ended);
        assert_eq!(run.wait(10_000), [], "{ended:?}");
    }
}

#[test]
fn a_commit_in_a_subshell_or_behind_an_alias_counts_once() {
    let mut run = Run::new();
    let (shell, _) = run.exec(Some(1), "sh -c git-ci");
    let (alias, _) = run.exec(Some(shell), "git ci -m x");
    let (commit, _) = run.exec(Some(alias), "git commit -m x");
    for command in [commit, alias, shell] {
        run.end(command, OK);
    }
    let asks = run.wait(2000);
    assert_eq!((kinds(&asks), asks[0].command), (vec![Kind::Git], Some(commit)));
}

#[test]
fn a_storm_of_commits_is_one_snapshot_and_an_endless_one_is_not_waited_for() {
    let mut run = Run::new();
    let mut asked = 0;
    for _ in 0..20 {
        asked += run.run("git commit", false, OK).len() + run.wait(1000).len();
    }
    assert_eq!(asked, 0);
    assert_eq!(kinds(&run.wait(1000)), [Kind::Git]);
    for _ in 0..61 {
        asked += run.run("git commit", false, OK).len() + run.wait(1000).len();
    }
    assert_eq!(asked, 2);
}

#[test]
fn each_build_pattern_is_asked_for_when_it_completes_well_or_not() {
    for pattern in build::PATTERNS {
        let mut run = Run::new();
        assert_eq!(run.run(pattern, false, OK), [Ask::new(Kind::Build, Some(2), pattern)]);
        let mut run = Run::new();
        let why = format!("{pattern} (exit code 2)");
        assert_eq!(run.run(pattern, false, Ended::Code(2)), [Ask::new(Kind::Build, Some(2), why)]);
        let mut run = Run::with(&[("triggers.disable_builds", "true")]);
        assert_eq!(run.run(pattern, false, OK), []);
    }
}

#[test]
fn a_users_pattern_is_a_build() {
    let mut run = Run::with(&[("triggers.build_patterns", "just build, tox")]);
    assert_eq!(kinds(&run.run("tox -q", false, Ended::Signal(9))), [Kind::Build]);
    run.now_ms += 5000;
    assert_eq!(kinds(&run.run("just build", false, OK)), [Kind::Build]);
    assert_eq!(kinds(&run.run("just test", false, OK)), []);
}

#[test]
fn a_script_that_becomes_its_interpreter_fires_once() {
    let mut run = Run::new();
    let mut asks = Vec::new();
    run.commands += 3;
    asks.extend(run.become_command(2, Some(1), 102, argv("/usr/bin/env node /usr/bin/npm run build")));
    asks.extend(run.become_command(3, Some(1), 102, argv("node /usr/bin/npm run build")));
    asks.extend(run.end(2, Ended::Replaced(3)));
    let (shell, more) = run.exec(Some(3), "sh -c tsc");
    asks.extend(more);
    let (inner, more) = run.exec(Some(shell), "npm run compile");
    asks.extend(more);
    asks.extend(run.end(inner, OK));
    asks.extend(run.end(shell, OK));
    let last = run.end(3, OK);
    assert_eq!(asks, []);
    assert_eq!(last, [Ask::new(Kind::Build, Some(3), "node /usr/bin/npm run build")]);
}

#[test]
fn make_inside_make_is_one_build_and_builds_in_a_row_are_few() {
    let mut run = Run::new();
    let (outer, _) = run.exec(Some(1), "make");
    let (inner, _) = run.exec(Some(outer), "make -C sub all");
    assert_eq!(run.end(inner, OK), []);
    assert_eq!(kinds(&run.end(outer, OK)), [Kind::Build]);
    for _ in 0..10 {
        assert_eq!(run.run("make", false, OK), []);
    }
    assert_eq!(kinds(&run.wait(2000)), [Kind::Build]);
}

#[test]
fn idle_fires_once_until_something_happens() {
    let mut run = Run::new();
    assert_eq!(run.wait(29_999), []);
    assert_eq!(kinds(&run.wait(1)), [Kind::Idle]);
    assert_eq!(run.wait(100_000), []);
    run.run("ls", false, OK);
    assert_eq!(run.wait(29_999), []);
    assert_eq!(kinds(&run.wait(1)), [Kind::Idle]);
}

#[test]
fn a_busy_run_is_not_idle() {
    let busy = [
        Activity { cpu_percent: 5.0, io_bytes_per_second: 0 },
        Activity { cpu_percent: 0.0, io_bytes_per_second: 2 << 20 },
    ];
    for activity in busy {
        let mut run = Run::new();
        for second in 1..60 {
            assert_eq!(run.triggers.tick(at(second * 1000), activity), []);
        }
        run.now_ms = 59_000;
        assert_eq!(run.wait(29_000), []);
        assert_eq!(kinds(&run.wait(1000)), [Kind::Idle]);
    }
    let calm = Activity { cpu_percent: 4.9, io_bytes_per_second: 1000 };
    assert_eq!(kinds(&Run::new().triggers.tick(at(30_000), calm)), [Kind::Idle]);
}

#[test]
fn somebody_elses_edits_do_not_wake_a_run() {
    let mut run = Run::new();
    run.wait(20_000);
    run.write(None);
    assert_eq!(kinds(&run.wait(10_000)), [Kind::Idle]);
    let mut run = Run::with(&[("triggers.idle_threshold_seconds", "10"), ("triggers.disable_auto", "yes")]);
    assert_eq!(kinds(&run.wait(10_000)), [Kind::Idle]);
    assert_eq!(Run::with(&[("triggers.disable_idle", "true")]).wait(100_000), []);
}

#[test]
fn the_interval_passes_unnoticed_where_nothing_changed() {
    let mut run = Run::with(&[("triggers.disable_idle", "true")]);
    assert_eq!(run.wait(300_000), []);
    run.write(None);
    assert_eq!(run.wait(299_999), []);
    let asks = run.wait(1);
    assert!(asks.len() == 1 && asks[0].kind == Kind::Auto && asks[0].pooled);
    assert_eq!(run.wait(300_000), []);
    run.see(What::Lost(Lost { source: "file".into(), count: None }));
    assert_eq!(kinds(&run.wait(300_000)), [Kind::Auto]);
}

#[test]
fn a_ring_without_slots_takes_no_snapshots_by_the_interval() {
    let mut run = Run::with(&[("triggers.disable_idle", "true"), ("auto_max", "0")]);
    run.write(None);
    assert_eq!(run.wait(300_000), []);
}

#[test]
fn an_interval_of_nothing_is_off_and_blind_runs_are_always_looked_at() {
    let mut run = Run::with(&[("triggers.disable_idle", "true"), ("auto_interval", "0")]);
    run.write(None);
    assert_eq!(run.wait(10_000_000), []);
    assert_eq!(run.triggers.next_tick(), None);
    let settings = Settings::resolve(&Sources::default()).unwrap();
    let mut blind = Triggers::new(&settings, false, at(0));
    assert_eq!(kinds(&blind.tick(at(300_000), Activity::default())), [Kind::Idle, Kind::Auto]);
}

#[test]
fn what_is_held_is_asked_for_at_once_and_not_again_when_it_is_seen() {
    let mut run = Run::new();
    run.write(Some(1));
    let ask = run.triggers.held(102, Some(&argv("git reset --hard")));
    let wanted = Ask { before: true, held: Some(102), ..Ask::new(Kind::Auto, None, "before git reset --hard") };
    assert_eq!(ask, Some(wanted));
    assert_eq!(run.exec(Some(1), "git reset --hard"), (2, vec![]));
    run.now_ms += 5_000;
    run.write(Some(1));
    assert_eq!(kinds(&run.exec(Some(1), "git reset --hard").1), [Kind::Auto], "one that could not be held");
    assert_eq!(run.triggers.held(200, Some(&argv("git status"))), None);
    let mut off = Run::with(&[("triggers.disable_before_git", "true")]);
    assert_eq!(off.triggers.held(102, Some(&argv("git reset --hard"))), None);
}

#[test]
fn work_is_captured_before_git_destroys_it() {
    let mut run = Run::new();
    let (_, asks) = run.exec(Some(1), "git reset --hard");
    assert_eq!(asks, [Ask { before: true, ..Ask::new(Kind::Auto, Some(2), "before git reset --hard") }]);
    let (_, asks) = run.exec(Some(2), "git clean -fd");
    assert_eq!(asks, [], "git's own children are a part of it");
    assert_eq!(run.exec(Some(1), "git stash").1, [], "nothing changed since");
    run.now_ms += 200;
    run.write(Some(1));
    assert_eq!(run.exec(Some(1), "git checkout .").1.len(), 1);
    let mut off = Run::with(&[("triggers.disable_before_git", "true")]);
    assert_eq!(off.exec(Some(1), "git reset --hard").1, []);
}

#[test]
fn a_command_at_the_top_that_changed_files_is_followed_by_a_snapshot() {
    let mut run = Run::new();
    assert_eq!(run.run("ls", false, OK), []);
    assert_eq!(run.run("sed -i s/a/b/ x", true, OK), [Ask::new(Kind::Auto, Some(3), "after a command")]);
    run.now_ms += 100;
    assert_eq!(run.run("sed -i s/b/c/ x", true, Ended::Code(1)), []);
    assert_eq!(run.triggers.next_tick(), Some(at(500)));
    assert_eq!(run.wait(400), [Ask::new(Kind::Auto, Some(4), "after a command")]);
    let mut off = Run::with(&[("triggers.disable_commands", "true")]);
    assert_eq!(off.run("sed -i s/a/b/ x", true, OK), []);
}

#[test]
fn only_the_top_of_a_pipeline_of_children_is_followed() {
    let mut run = Run::new();
    let (shell, _) = run.exec(Some(1), "sh -c x");
    let (child, _) = run.exec(Some(shell), "cp a b");
    run.write(Some(child));
    assert_eq!(run.end(child, OK), []);
    assert_eq!(run.end(shell, OK), [Ask::new(Kind::Auto, Some(shell), "after a command")]);
    run.write(Some(1));
    assert_eq!(run.end(1, OK), [], "the final snapshot follows the first command");
}

#[test]
fn a_change_that_is_reported_late_is_followed_too() {
    let mut run = Run::new();
    let (command, _) = run.exec(Some(1), "cp a b");
    assert_eq!(run.end(command, OK), []);
    assert_eq!(kinds(&run.write(Some(command))), [Kind::Auto]);
}

#[test]
fn a_build_that_changed_files_is_captured_once() {
    let mut run = Run::new();
    assert_eq!(kinds(&run.run("cargo build", true, OK)), [Kind::Build]);
    assert_eq!(run.wait(1000), []);
}

#[test]
fn what_was_put_off_is_not_forgotten_at_the_end() {
    let mut run = Run::new();
    run.run("git commit", true, OK);
    run.run("touch x", true, OK);
    assert_eq!(kinds(&run.triggers.at_end()), [Kind::Git]);
    assert_eq!(run.triggers.at_end(), []);
}

#[test]
fn a_snapshot_that_failed_leaves_the_change_to_the_next() {
    let mut run = Run::with(&[("triggers.disable_idle", "true")]);
    run.write(None);
    assert_eq!(kinds(&run.wait(300_000)), [Kind::Auto]);
    let failed = SnapshotTaken {
        snapshot: None,
        kind: "auto".into(),
        origin: "auto".into(),
        name: None,
        slot: None,
        files: 0,
        stored_bytes: 0,
        took_us: 0,
        by_dirty_set: false,
        command: None,
        root: None,
        gaps: 0,
        meanwhile: 0,
        failed: Some("no space".into()),
    };
    run.see(What::Snapshot(failed));
    assert_eq!(kinds(&run.wait(300_000)), [Kind::Auto]);
}

proptest! {
    /// Whatever happens in whatever order, snapshots around commands stay apart and the family is empty at the end.
    #[test]
    fn nothing_asks_too_often(steps in proptest::collection::vec((0_usize..8, 0_u64..400), 1..200)) {
        let lines = ["ls", "git commit", "make", "sed -i x", "git reset --hard", "npm run build", "sh -c x", "git stash"];
        let mut run = Run::new();
        let mut asked = Vec::new();
        for (line, ms) in steps {
            let asks = run.run(lines[line], line == 3, OK);
            asked.extend(asks.into_iter().map(|ask| (run.now_ms, ask)));
            let asks = run.wait(ms);
            asked.extend(asks.into_iter().map(|ask| (run.now_ms, ask)));
        }
        asked.retain(|(_, ask)| ask.kind == Kind::Auto && !ask.before && !ask.pooled);
        for pair in asked.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= 500, "{:?}", pair);
        }
        run.end(1, OK);
        prop_assert_eq!(run.triggers.family.len(), 0);
    }
}
