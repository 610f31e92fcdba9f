//! Interactive programs in a real terminal: tmux types keys and reads the screen.

use std::process::Command;

use belay_testkit::skip;

use crate::running::{records, until};
use crate::world::World;

/// A terminal with a shell in the workspace.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn open(world: &World) -> Option<Terminal> {
        Terminal::open_at(world, "tmux")
    }

    fn open_at(world: &World, name: &str) -> Option<Terminal> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("no tmux");
            return None;
        }
        let socket = world.workspace.base().join(name).display().to_string();
        let terminal = Terminal { socket };
        let home = world.workspace.home().display().to_string();
        let started = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-e",
            &format!("BELAY_HOME={home}"),
            "-e",
            "PS1=ready> ",
            "-e",
            "HISTFILE=",
            "-c",
            &world.workspace.path().display().to_string(),
            "bash",
            "--norc",
            "--noprofile",
        ]);
        assert!(started, "tmux does not start");
        terminal.shows("ready>");
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").args(["-S", &self.socket]).args(arguments);
        command.output().is_ok_and(|output| output.status.success())
    }

    fn keys(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys"];
        arguments.extend(keys);
        assert!(self.tmux(&arguments));
    }

    fn line(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-l", text]));
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        let output = Command::new("tmux").env_remove("TMUX").args(["-S", &self.socket, "capture-pane", "-p"]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !self.screen().contains(text) {
            assert!(std::time::Instant::now() < deadline, "{text:?} is not shown:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

const BELAY: &str = env!("CARGO_BIN_EXE_belay");

#[test]
fn a_shell_has_job_control_and_the_terminal_comes_back_as_it_was() {
    for engine in ["none", "auto"] {
        use_a_shell(engine);
    }
}

fn use_a_shell(engine: &str) {
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!(
        "stty -a | md5sum > before; {BELAY} run --isolation {engine} -q -- env PS1='in''side> ' bash --norc --noprofile"
    ));
    terminal.shows("inside>");
    terminal.line("sh -c 'echo begun-$((1+1)); exec sleep 300'");
    terminal.shows("begun-2");
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    let times = |text: &str| terminal.screen().matches(text).count();
    let before = times("exec sleep 300");
    terminal.line("fg");
    // A key that comes earlier is taken by the shell, with whatever was typed.
    until("the shell says what goes on", || times("exec sleep 300") > before);
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.keys(&["C-c"]);
    until("the prompt is back", || terminal.screen().trim_end().ends_with("inside>"));
    terminal.line("echo code $?; jobs; echo in-$((40+2))");
    terminal.shows("code 130");
    terminal.shows("in-42");
    terminal.line("exit 3");
    until("it ended", || records(&world)[0]["state"] == "ended");
    terminal.line("echo outer $?; stty -a | md5sum | cmp - before && echo same-mode");
    terminal.shows("outer 3");
    terminal.shows("same-mode");
}

#[test]
fn an_editor_fills_the_screen_and_follows_its_size() {
    for engine in ["none", "auto"] {
        use_an_editor(engine);
    }
}

fn use_an_editor(engine: &str) {
    let world = World::new();
    world.workspace.file("text", "first line\n");
    if Command::new("vim").arg("--version").output().is_err() {
        return skip("no vim");
    }
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!("{BELAY} run --isolation {engine} -q -- vim -u NONE -N text"));
    terminal.shows("first line");
    assert!(terminal.tmux(&["resize-window", "-x", "100", "-y", "40"]));
    // The new size reaches the editor in its own time.
    until("the editor is told its size", || {
        terminal.line(":put =&lines . 'x' . &columns");
        std::thread::sleep(std::time::Duration::from_millis(200));
        terminal.screen().contains("40x100")
    });
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    terminal.line("fg");
    terminal.shows("40x100");
    terminal.line(":wq");
    until("it ended", || records(&world)[0]["state"] == "ended");
    terminal.line("echo code $?");
    terminal.shows("code 0");
    assert!(world.read("text").contains("40x100"));
}

#[test]
fn keys_stop_the_command_and_the_shell_comes_back() {
    for engine in ["none", "auto"] {
        stop_by_keys(&format!("{BELAY} run --isolation {engine} -q -- cat"), true);
        // Without a terminal of its own the command is stopped by what the shell sends to its job.
        stop_by_keys(&format!("sleep 300 | {BELAY} run --isolation {engine} -q -- sleep 300 | cat"), false);
    }
}

fn stop_by_keys(line: &str, is_typed_at: bool) {
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!("stty -a | md5sum > ../before; {line}"));
    until("it runs", || records(&world).first().is_some_and(|run| run["state"] == "running"));
    let command = records(&world)[0]["child"]["pid"].as_u64().expect("it has a process");
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
        // The second is how one looks that is traced.
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't']))
    };
    for round in 0..2 {
        if is_typed_at {
            terminal.line(&format!("ab{round}"));
            terminal.shows(&format!("ab{round}\nab{round}"));
        }
        terminal.keys(&["C-z"]);
        terminal.shows("Stopped");
        until("the command is stopped", is_stopped);
        terminal
            .line(&format!("clear; echo outer-$((4{round}+1)); stty -a | md5sum | cmp - ../before && echo same-mode"));
        terminal.shows(&format!("outer-4{}", round + 1));
        terminal.shows("same-mode");
        terminal.line("clear; fg");
        until("the command goes on", || !is_stopped());
    }
    terminal.keys(&["C-c"]);
    until("it ended", || records(&world)[0]["state"] == "ended");
    assert_eq!(records(&world)[0]["ended"]["signal"], 2, "{}", records(&world)[0]["ended"]);
}

#[test]
fn a_run_that_keys_stopped_is_ended_and_attached_to_from_elsewhere() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    let Some(other) = Terminal::open_at(&world, "other") else { return };
    terminal.line(&format!("{BELAY} run -q -- cat"));
    until("it runs", || records(&world).first().is_some_and(|run| run["state"] == "running"));
    terminal.line("here");
    terminal.shows("here\nhere");
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    other.line(&format!("{BELAY} attach"));
    other.line("there");
    other.shows("there\nthere");
    other.keys(&["C-z"]);
    other.shows("Stopped");
    world.ok(&["stop"]);
    assert_eq!(records(&world)[0]["state"], "ended");
    terminal.line("fg; echo first-$((1+1))");
    terminal.shows("first-2");
}

#[test]
fn leaving_and_coming_back() {
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!("{BELAY} run -- env PS1='in''side> ' bash --norc --noprofile"));
    terminal.shows("inside>");
    terminal.keys(&["C-]", "C-]", "C-]"]);
    terminal.shows("goes on");
    assert_eq!(records(&world)[0]["state"], "running");
    terminal.line(&format!("clear; {BELAY} attach"));
    terminal.shows("inside>");
    terminal.line("echo back-$((1+1)); exit 5");
    terminal.shows("back-2");
    until("it ended", || records(&world)[0]["state"] == "ended");
    terminal.line("echo code $?");
    terminal.shows("code 5");
}

#[test]
fn the_end_of_the_terminal_is_not_the_end_of_the_run() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!("{BELAY} run -- sh -c 'echo > begun; sleep 2; echo > later; sleep 300'"));
    until("it began", || world.has("begun"));
    drop(terminal);
    until("it went on", || world.has("later"));
    assert_eq!(records(&world)[0]["state"], "running");
    world.ok(&["stop", "--now"]);
    assert_eq!(records(&world)[0]["state"], "ended");
}

/// The letter of a process's state, as `/proc` has it.
fn state_of(pid: u64) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or(' ')
}

/// A mask of signals from a process's status.
fn signals(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}: {status}"));
    u64::from_str_radix(line.trim(), 16).expect("a mask")
}

#[test]
fn a_run_that_keys_stopped_goes_on_when_its_terminal_closes() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    let script = "echo > begun; while test ! -e go; do sleep 0.05; done; echo > later; sleep 300";
    terminal.line(&format!("{BELAY} run -q -- sh -c '{script}'"));
    until("it began", || world.has("begun"));
    let command = records(&world)[0]["child"]["pid"].as_u64().expect("it has a process");
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    until("the command is stopped", || ['T', 't'].contains(&state_of(command)));
    world.workspace.file("go", "");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!world.has("later"), "it goes on although it is stopped");
    drop(terminal);
    until("it went on", || world.has("later"));
    assert_eq!(records(&world)[0]["state"], "running");
    world.ok(&["stop", "--now"]);
    assert_eq!(records(&world)[0]["state"], "ended");
}

#[test]
fn what_stops_the_command_does_not_stop_its_supervisor_and_the_command_does_not_inherit_that() {
    const TERMINAL_SIGNALS: [u64; 5] = [1, 3, 20, 21, 22];
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    let script = "cat /proc/self/status > status; echo > begun; exec sleep 300";
    terminal.line(&format!("{BELAY} run -q -- sh -c '{script}'"));
    until("it began", || world.has("begun"));
    let born = world.read("status");
    let record = records(&world)[0].clone();
    let (command, supervisor) = (record["child"]["pid"].as_u64(), record["supervisor"]["pid"].as_u64());
    let (command, supervisor) = (command.expect("it has a process"), supervisor.expect("it has a supervisor"));
    let watched = std::fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
    for signal in TERMINAL_SIGNALS {
        let has = |mask: u64| mask & 1 << (signal - 1) != 0;
        assert!(has(signals(&watched, "SigCgt:") | signals(&watched, "SigIgn:")), "{signal} ends the supervisor");
        assert!(!has(signals(&born, "SigIgn:") | signals(&born, "SigBlk:")), "{signal} does not reach the command");
    }
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    until("the command is stopped", || ['T', 't'].contains(&state_of(command)));
    for signal in TERMINAL_SIGNALS {
        let kill = Command::new("kill").args([format!("-{signal}"), supervisor.to_string()]).status().unwrap();
        assert!(kill.success());
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!['T', 't', 'Z', ' '].contains(&state_of(supervisor)), "the supervisor is stopped or gone");
    assert!(['T', 't'].contains(&state_of(command)), "the command goes on");
    terminal.line("clear; fg");
    until("the command goes on", || !['T', 't'].contains(&state_of(command)));
    terminal.keys(&["C-c"]);
    until("it ended", || records(&world)[0]["state"] == "ended");
    assert_eq!(records(&world)[0]["ended"]["signal"], 2);
}

#[test]
fn a_run_in_the_background_of_a_shell_goes_on() {
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!(
        "{BELAY} run -q -- sh -c 'sleep 1; echo out-$((1+2)); echo > done' & sleep 3; jobs; fg; echo mode-$?"
    ));
    until("it ended", || world.has("done"));
    terminal.shows("out-3");
    terminal.shows("mode-");
}

#[test]
fn the_other_end_of_a_pipe_writes_whole_lines() {
    let world = World::new();
    world.workspace.file("a", "a");
    let Some(terminal) = Terminal::open(&world) else { return };
    terminal.line(&format!("clear; {BELAY} run -q -- sh -c 'echo one; test -t 2 && echo two; sleep 1' | cat"));
    terminal.shows("one\ntwo\n");
    until("it ended", || records(&world)[0]["state"] == "ended");
    terminal.line(&format!("clear; echo key-$((1+1)) > f; cat f | {BELAY} run -q -- less f"));
    terminal.shows("key-2");
    terminal.keys(&["q"]);
    until("it ended", || records(&world).iter().filter(|run| run["state"] == "ended").count() == 2);
}

#[test]
fn hunks_are_chosen_by_keys() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let lines: String = (1..=20).map(|number| format!("{number}\n")).collect();
    let world = World::new();
    world.workspace.file("a", &lines).file("b", &lines).file("c", "c\n");
    let Some(terminal) = Terminal::open(&world) else { return };
    let script = "sed -i -e s/^1$/one/ -e s/^5$/five/ -e s/^20$/twenty/ a b; rm c; echo d > d";
    terminal.line(&format!("{BELAY} run --ephemeral -q -- sh -c '{script}'; clear; {BELAY} review"));
    terminal.shows("Apply this hunk to a [y,n,q,a,d,s,?]?");
    terminal.line("?");
    terminal.shows("split it into smaller hunks");
    terminal.line("s");
    terminal.shows("Apply this hunk to a [y,n,q,a,d,e,?]?");
    terminal.line("n");
    terminal.shows("+five");
    terminal.line("y");
    terminal.shows("+twenty");
    terminal.line("n");
    terminal.shows("Apply this hunk to b");
    terminal.line("a");
    terminal.shows("Apply this removal of c");
    terminal.line("y");
    terminal.shows("Apply this addition of d");
    terminal.line("q");
    terminal.shows("To undo: belay undo");
    assert_eq!(world.read("a"), lines.replace("\n5\n", "\nfive\n"));
    assert!(world.read("b").starts_with("one\n") && world.read("b").ends_with("twenty\n"));
    assert!(!world.has("c") && !world.has("d"));
}
