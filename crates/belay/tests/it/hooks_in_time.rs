//! No hook waits longer than an agent does, whatever is in its way; what was not waited for is said and done all the same.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::resident::Nest;
use crate::running::until;

/// Agents give up after ten seconds at the earliest.
const ENOUGH: Duration = Duration::from_secs(9);

/// The directory of the nest's workspace beneath its home.
fn records(nest: &Nest) -> PathBuf {
    let workspaces = std::fs::read_dir(nest.home.join("workspaces")).expect("there is a workspace");
    let mut dirs = workspaces.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    dirs.next().expect("there is a workspace")
}

/// Tells an event; how long that took, and what the hook said.
fn timed(nest: &Nest, event: &str, id: &str) -> (Duration, String) {
    let begun = Instant::now();
    let mut command = nest.command(&nest.program);
    let child = nest.telling(command.args(["hook", "claude"]), nest.world.path(), event, id);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let said = [output.stdout, output.stderr].concat();
    (begun.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success()), "{}", path.display());
}

/// Somebody is being heard for long: the first hook waits as long as it may, the next hardly at all, both say so, and what
/// they told is done when it can be.
fn held_up(nest: &Nest) {
    let lock = File::open(records(nest).join("agents.lock")).expect("the lock of those who speak");
    lock.lock().expect("nobody else speaks");
    nest.world.file("a.txt", "changed before the tool is used\n");
    let (took, said) = timed(nest, "PreToolUse", "t1");
    assert!(took < ENOUGH && took > Duration::from_secs(4), "{took:?}: {said}");
    assert!(said.contains("a snapshot takes long") && said.contains("systemMessage"), "{said}");
    let line = nest.said(&["statusline"]);
    assert!(line.contains("missed a step") && line.contains("takes long"), "{line}");
    let (took, said) = timed(nest, "PreToolUse", "t2");
    assert!(took < Duration::from_secs(2), "once is enough: {took:?}");
    assert!(said.contains("a snapshot takes long"), "{said}");
    drop(lock);
    until("what was told is done", || !nest.said(&["statusline"]).contains("missed"));
    nest.assert_captured("the hook had given up");
}

#[test]
fn a_hook_without_a_helper_gives_up_in_time() {
    let nest = Nest::new();
    std::fs::create_dir_all(&nest.home).expect("a home");
    std::fs::write(nest.home.join("config.toml"), "agents.helper_idle_seconds = 0\n").expect("a file");
    nest.tell("UserPromptSubmit", "begin");
    held_up(&nest);
}

#[test]
fn a_hook_whose_helper_is_busy_gives_up_in_time() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    held_up(&nest);
    assert_eq!(nest.pid(), pid, "a helper that is alive is left to its work");
    let is_told = |log: &str| log.contains("Bash t1") && log.contains("Bash t2");
    until("both calls are in the log", || is_told(&nest.said(&["log"])));
}

#[test]
fn what_is_no_file_holds_no_hook_up_and_hides_nothing() {
    for name in ["inbox", "agents.lock", "missed", "hung"] {
        let nest = Nest::new();
        std::fs::create_dir_all(&nest.home).expect("a home");
        std::fs::write(nest.home.join("config.toml"), "agents.helper_idle_seconds = 0\n").expect("a file");
        nest.tell("UserPromptSubmit", "begin");
        let place = records(&nest).join(name);
        let _ = std::fs::remove_file(&place);
        mkfifo(&place);
        nest.world.file("a.txt", "two\n");
        let (took, said) = timed(&nest, "PostToolUse", "t1");
        assert!(took < ENOUGH, "{name}: {took:?}: {said}");
        if said.is_empty() {
            nest.assert_captured(name);
        } else {
            assert!(said.contains("not protected") && said.contains("it is not a plain file"), "{name}: {said}");
        }
        let begun = Instant::now();
        nest.said(&["statusline"]);
        assert!(begun.elapsed() < ENOUGH, "{name}");
    }
}

#[test]
fn hostile_things_where_helpers_listen_hold_no_hook_up() {
    let nest = Nest::new();
    nest.tell("UserPromptSubmit", "begin");
    until("a helper is there", || nest.standing().is_some());
    nest.said(&["stop", "--helper"]);
    let (place, name) = nest.socket();
    let socket = place.join(&name);
    let deeds: [(&str, &dyn Fn()); 4] = [
        ("a pipe", &|| mkfifo(&socket)),
        ("a file", &|| std::fs::write(&socket, "x").expect("a file")),
        ("a directory", &|| std::fs::create_dir(&socket).expect("a directory")),
        ("a link to itself", &|| std::os::unix::fs::symlink(&socket, &socket).expect("a link")),
    ];
    for (number, (what, deed)) in deeds.iter().enumerate() {
        let _ = std::fs::remove_file(&socket);
        deed();
        nest.world.file("a.txt", format!("{number}\n"));
        let (took, said) = timed(&nest, "PostToolUse", &format!("t{number}"));
        assert!(took < ENOUGH && said.is_empty(), "{what}: {took:?}: {said}");
        nest.assert_captured(what);
        let _ = nest.belay(&["stop", "--helper"]);
        let _ = std::fs::remove_dir(&socket);
    }
}

#[test]
fn an_agent_that_never_closes_what_it_says_is_answered_all_the_same() {
    let nest = Nest::new();
    nest.tell("UserPromptSubmit", "begin");
    nest.world.file("a.txt", "two\n");
    let spawn = || {
        let mut command = nest.command(&nest.program);
        command.args(["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let said =
        json!({"session_id": "s", "cwd": nest.world.path(), "hook_event_name": "PostToolUse", "tool_use_id": "t1"});
    let begun = Instant::now();
    let mut hook = spawn();
    let mut input = hook.stdin.take().expect("a pipe");
    input.write_all(said.to_string().as_bytes()).expect("belay reads");
    assert!(hook.wait().expect("it ends").success());
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    nest.assert_captured("the pipe stayed open");
    let begun = Instant::now();
    let mut silent = spawn();
    let input = silent.stdin.take().expect("a pipe");
    let output = silent.wait_with_output().expect("it ends");
    drop(input);
    assert!(output.status.success() && begun.elapsed() < ENOUGH, "{:?}", begun.elapsed());
    assert!(String::from_utf8_lossy(&output.stderr).contains("did not say JSON"), "{output:?}");
    let mut line = nest.command(&nest.program);
    let begun = Instant::now();
    let mut line = line.arg("statusline").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let _open = line.stdin.take();
    assert!(line.wait().expect("it ends").success() && begun.elapsed() < Duration::from_secs(4));
}
