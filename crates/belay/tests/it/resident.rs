//! The resident helper, as agents' hooks use it: real processes, killed, stopped, outdated and moved away from.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use belay_testkit::{OrdinaryUser, TempWorkspace};
use serde_json::{Value, json};

use crate::jailed::has_namespaces;
use crate::mcp_client::Client;
use crate::running::{is_alive, until};
use crate::world::World;

/// A workspace with a home, and somebody who works in it.
pub(crate) struct Nest {
    pub(crate) world: TempWorkspace,
    pub(crate) home: PathBuf,
    pub(crate) program: PathBuf,
    user: Option<OrdinaryUser>,
}

impl Nest {
    pub(crate) fn new() -> Nest {
        let world = TempWorkspace::new();
        world.file("a.txt", "one\n").file("sub/deep/b.txt", "two\n");
        Nest { home: world.home().to_owned(), world, program: env!("CARGO_BIN_EXE_belay").into(), user: None }
    }

    /// The same for a user without privileges, who has to make do with inotify.
    pub(crate) fn of_user() -> Option<Nest> {
        let user = OrdinaryUser::find()?;
        let world = TempWorkspace::new_in(Path::new("/tmp"));
        let program = user.copy_of(Path::new(env!("CARGO_BIN_EXE_belay")), world.outside());
        std::fs::set_permissions(world.base(), PermissionsExt::from_mode(0o755)).expect("a mode");
        world.file("a.txt", "one\n").file("sub/deep/b.txt", "two\n");
        for path in ["", "a.txt", "sub", "sub/deep", "sub/deep/b.txt"] {
            user.own(&world.join(path));
        }
        [world.home(), world.outside()].into_iter().for_each(|path| user.own(path));
        Some(Nest { home: world.home().to_owned(), world, program, user: Some(user) })
    }

    /// A program as whoever works here.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            Some(user) => user.command(program, self.world.outside()),
            None => Command::new(program),
        };
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("BELAY_") || name.starts_with("XDG_") {
                command.env_remove(&*name);
            }
        }
        command.env("BELAY_HOME", &self.home).env("HOME", self.world.base()).env("TZ", "UTC");
        command.current_dir(self.world.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn belay(&self, words: &[&str]) -> Output {
        self.command(&self.program).args(words).output().expect("belay starts")
    }

    /// What belay prints.
    pub(crate) fn said(&self, words: &[&str]) -> String {
        let output = self.belay(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Begins to tell an event; its input ends at once.
    pub(crate) fn telling(&self, command: &mut Command, directory: &Path, event: &str, id: &str) -> Child {
        let said = json!({"session_id": "s", "cwd": directory, "hook_event_name": event, "tool_use_id": id,
            "tool_name": "Bash", "tool_input": {"command": id}, "prompt": id, "prompt_id": id});
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(said.to_string().as_bytes()).expect("belay reads");
        child
    }

    /// Tells an event, and waits until nobody has the hook's streams any more.
    pub(crate) fn tell(&self, event: &str, id: &str) {
        let mut command = self.command(&self.program);
        let child = self.telling(command.args(["hook", "claude"]), self.world.path(), event, id);
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len(), err.as_str()), (Some(0), 0, ""), "{event} {id}");
    }

    /// A shell's work, and then the event.
    pub(crate) fn do_and_tell(&self, script: &str, id: &str) {
        let status = self.command(Path::new("/bin/sh")).arg("-c").arg(script).status().expect("a shell starts");
        assert!(status.success(), "{script}");
        self.tell("PostToolUse", id);
    }

    /// The directory of sockets, and the name of the workspace's.
    pub(crate) fn socket(&self) -> (PathBuf, String) {
        let meta = self.world.path().metadata().expect("a workspace");
        (self.home.join("helpers"), format!("{:x}-{:x}", meta.dev(), meta.ino()))
    }

    pub(crate) fn connect(&self) -> Option<UnixStream> {
        let (place, name) = self.socket();
        let held = File::open(place).ok()?;
        UnixStream::connect(format!("/proc/self/fd/{}/{name}", held.as_raw_fd())).ok()
    }

    /// Sends a letter by hand; none if nobody answers.
    pub(crate) fn ask(&self, version: &str, want: Value) -> Option<Value> {
        let letter = json!({"version": version, "steering": "", "directory": self.world.path(), "want": want});
        let mut stream = self.connect()?;
        stream.write_all(&framed(&letter)).ok()?;
        unframed(&mut stream)
    }

    pub(crate) fn standing(&self) -> Option<Value> {
        self.ask("", json!("standing")).map(|told| told["standing"].clone())
    }

    /// Begins a conversation, and waits for the helper that it brings; returns its process.
    pub(crate) fn inhabit(&self) -> u32 {
        self.tell("UserPromptSubmit", "begin");
        until("a helper answers", || self.standing().is_some());
        self.pid()
    }

    /// Tells events until a helper stands: one that finds the place still taken by the dying leaves it to the next hook.
    pub(crate) fn repopulate(&self, id: &str) {
        let tries = std::cell::Cell::new(0);
        until("another one has its place", || {
            tries.set(tries.get() + 1);
            self.standing().is_some() || {
                self.tell("PostToolUse", &format!("{id} {}", tries.get()));
                std::thread::sleep(Duration::from_millis(200));
                self.standing().is_some()
            }
        });
    }

    pub(crate) fn pid(&self) -> u32 {
        let standing = self.standing().expect("a helper");
        u32::try_from(standing["pid"].as_u64().expect("a number")).expect("a process")
    }

    pub(crate) fn snapshots(&self) -> usize {
        let list: Value = serde_json::from_str(&self.said(&["--json", "snapshots"])).expect("JSON");
        list["snapshots"].as_array().expect("a list").len()
    }

    /// Insists that the newest snapshot is what is there, by a walk of its own.
    pub(crate) fn assert_captured(&self, after: &str) {
        assert_eq!(self.said(&["diff", "@latest", "--stat"]), "", "after {after}");
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        // A helper ends with its workspace; a test that failed leaves none behind either way.
        let _ = self.ask("", json!("leave"));
    }
}

fn framed(letter: &Value) -> Vec<u8> {
    let body = letter.to_string();
    let length = u32::try_from(body.len()).expect("short").to_le_bytes();
    [&[1], &length[..], body.as_bytes()].concat()
}

fn unframed(stream: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

pub(crate) fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, "--", &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} {pid}");
}

/// Processes that help in the workspace of this nest, or are about to.
pub(crate) fn helpers(nest: &Nest) -> Vec<u32> {
    let home = format!("BELAY_HOME={}", nest.home.display());
    let is_one = |pid: &u32| {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let has = |bytes: &[u8], word: &str| bytes.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
        has(&read("cmdline"), "reside") && has(&read("environ"), &home)
    };
    let all = std::fs::read_dir("/proc").expect("processes");
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_one).collect()
}

#[test]
fn the_first_hook_starts_one_helper_which_answers_the_next_and_ends_when_asked() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    let before = nest.standing().expect("a helper")["answered"].as_u64().expect("a number");
    nest.tell("PreToolUse", "t1");
    nest.do_and_tell("echo two >> a.txt", "t1");
    assert_eq!(nest.standing().expect("a helper")["answered"].as_u64(), Some(before + 3), "two hooks and a question");
    assert_eq!(nest.snapshots(), 2, "the turn, and what the tool changed");
    nest.assert_captured("a tool call");
    let (place, name) = nest.socket();
    let mode = |path: &Path| path.symlink_metadata().expect("it is there").mode() & 0o777;
    assert_eq!((mode(&place), mode(&place.join(name))), (0o700, 0o600));
    assert_eq!(helpers(&nest), [pid]);
    let doctor = nest.belay(&["doctor", "--json"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(&format!("process {pid} answers hooks")), "{doctor}");
    nest.said(&["stop", "--helper"]);
    until("it has ended", || !is_alive(pid));
    assert!(nest.connect().is_none());
    let none = nest.belay(&["stop", "--helper"]);
    assert_eq!(none.status.code(), Some(3), "{none:?}");
}

#[test]
fn what_was_written_a_moment_before_the_hook_is_in_its_snapshot() {
    seen_in_time(&Nest::new());
}

#[test]
fn what_was_written_a_moment_before_the_hook_is_in_its_snapshot_for_an_ordinary_user() {
    let Some(nest) = Nest::of_user() else { return };
    seen_in_time(&nest);
}

/// Changes of every kind, each followed at once by a hook and compared with a walk that knows nothing of the helper.
fn seen_in_time(nest: &Nest) {
    nest.inhabit();
    let deeds = [
        "echo more >> a.txt",
        "printf abcd > same && touch -d @1000000000 same",
        "printf dcba > same && touch -d @1000000000 same",
        "mkdir -p n/deep/er && echo x > n/deep/er/f",
        "mv n m && echo y > m/deep/er/f",
        "mkdir -p flood && cd flood && for i in $(seq 400); do echo $i > $i; done",
        "cd flood && for i in $(seq 400); do mv $i r$i; done",
        "mv m/deep sub/ && echo z > sub/deep/er/f && rmdir m || { rm -r sub/deep; mv m/deep sub/; echo z > sub/deep/er/f; }",
        "ln -s nowhere link && chmod 600 a.txt",
        "ln a.txt twin && echo through the twin >> twin",
        "mkdir l && ln sub/deep/er/f l/twin && echo through a new directory >> l/twin",
        "echo back >> sub/deep/er/f",
        "rm -r flood && echo x > flood",
        "mkfifo pipe && truncate -s 100 a.txt",
        "mkdir t && mv t/../sub t/ && echo w > t/sub/new",
        "echo p > .gitignore && mkdir -p node_modules/p && echo '{}' > package.json && echo x > node_modules/p/x",
        "mkdir ../outside.d 2>/dev/null; echo o > came.new && mv came.new came",
        "rm -r t && mkdir -p t/sub && echo q > t/sub/new",
    ];
    for (number, deed) in deeds.iter().enumerate() {
        nest.do_and_tell(deed, &format!("t{number}"));
        nest.assert_captured(deed);
    }
    let answered = nest.standing().expect("it lives")["answered"].as_u64().expect("a number");
    assert!(answered > deeds.len() as u64, "the helper answered: {answered}");
}

#[test]
fn a_file_that_stays_mapped_is_seen_without_being_told_of() {
    let nest = Nest::new();
    nest.inhabit();
    let script = "import mmap,time\nf=open('mapped','r+b'); m=mmap.mmap(f.fileno(),4096); f.close()\n\
                  open('ready','w').close()\ni=0\nwhile True:\n i+=1; m[0:8]=b'%08d' % i; time.sleep(0.01)";
    nest.world.file("mapped", "x".repeat(4096));
    let mut python = nest.command(Path::new("python3"));
    let Ok(mut writer) = python.arg("-c").arg(script).spawn() else { return belay_testkit::skip("no python3") };
    until("it is mapped", || nest.world.join("ready").exists());
    nest.tell("PostToolUse", "m1");
    let before = nest.said(&["cat", "@latest", "mapped"]);
    // Whoever has it mapped is found out after a hook, and for no more than every two seconds.
    let is_seen = (0..40).any(|number| {
        std::thread::sleep(Duration::from_millis(250));
        nest.tell("PostToolUse", &format!("m2-{number}"));
        nest.said(&["cat", "@latest", "mapped"]) != before
    });
    writer.kill().expect("it runs");
    let _ = writer.wait();
    assert!(is_seen, "nobody was told of a change, and it was found");
}

#[test]
fn a_helper_that_is_killed_takes_no_hook_with_it() {
    let nest = Nest::new();
    let first = nest.inhabit();
    signal(first, "-KILL");
    nest.do_and_tell("echo meanwhile >> a.txt", "t1");
    nest.assert_captured("the helper died a moment before");
    nest.repopulate("again");
    let second = nest.pid();
    assert_ne!(first, second);
    signal(second, "-KILL");
    until("it is gone", || !is_alive(second));
    let (place, name) = nest.socket();
    assert!(place.join(name).exists(), "nobody cleaned up");
    nest.do_and_tell("echo alone >> a.txt", "t2");
    nest.assert_captured("nobody answered");
    nest.repopulate("once more");
    nest.do_and_tell("echo together >> a.txt", "t3");
    nest.assert_captured("the third one answered");
}

#[test]
fn many_hooks_at_once_end_with_one_helper() {
    let nest = Nest::new();
    let tell = |number: usize| {
        let mut command = nest.command(&nest.program);
        nest.telling(command.args(["hook", "claude"]), nest.world.path(), "PostToolUse", &format!("t{number}"))
    };
    nest.belay(&["snapshot", "-q"]);
    let hooks: Vec<Child> = (0..8).map(tell).collect();
    for hook in hooks {
        assert!(hook.wait_with_output().expect("it ends").status.success());
    }
    until("a helper answers", || nest.standing().is_some());
    let pid = nest.pid();
    until("the others are gone", || helpers(&nest) == [pid]);
}

#[test]
fn nothing_of_the_hook_is_kept_and_its_group_can_be_killed() {
    let nest = Nest::new();
    let mut shell = nest.command(Path::new("/bin/sh"));
    // A descriptor that the hook inherits would keep the pipe open if the helper had it.
    let script = format!("exec 7>&1 8>&2; '{}' hook claude; echo told; sleep 30", nest.program.display());
    shell.args(["-c", &script]).process_group(0);
    let child = nest.telling(&mut shell, nest.world.path(), "UserPromptSubmit", "p");
    until("a helper answers", || nest.standing().is_some());
    let pid = nest.pid();
    let group = child.id();
    let killed = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let (send, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let output = ended.recv_timeout(Duration::from_secs(30)).expect("nobody keeps the streams open");
    assert_eq!(String::from_utf8_lossy(&output.expect("it ended").stdout), "told\n");
    assert!(is_alive(pid), "the helper is in no group of the hook's");
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&environ).contains("CARGO"), "nor is the environment kept");
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors");
    let open = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    let standard = open.filter(|path| path == Path::new("/dev/null")).count();
    assert!(standard >= 3, "its own streams are nobody's");
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd"));
    assert_eq!(cwd.ok().as_deref(), Some(Path::new("/")), "it stands in nobody's way");
}

#[test]
fn a_helper_of_another_version_is_not_used_and_an_older_one_goes() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    let word = json!({"hear": {"agent": "claude", "session": "x", "key": null, "deed": {"other": "x"}}});
    let told = nest.ask("0.0.1", word.clone()).expect("an answer");
    assert!(told["yourself"].is_string() && is_alive(pid), "{told}");
    let told = nest.ask("99.0.0", word).expect("an answer");
    assert!(told["yourself"].is_string(), "{told}");
    until("it made room for the newer one", || !is_alive(pid));

    // One that a hook cannot use: it says so, and the hook does its work.
    let (place, name) = nest.socket();
    let _ = std::fs::remove_file(place.join(&name));
    let listener = UnixListener::bind(place.join(&name)).expect("a socket");
    let old = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a hook");
        let letter = unframed(&mut stream).expect("a letter");
        stream.write_all(&framed(&json!({"yourself": "I am old"}))).expect("it listens");
        letter
    });
    nest.do_and_tell("echo new >> a.txt", "t1");
    assert!(old.join().expect("it answered")["want"]["hear"].is_object());
    nest.assert_captured("an old helper refused");
    until("a helper of today has its place", || nest.standing().is_some());
}

#[test]
fn it_ends_with_its_workspace_its_store_and_its_patience() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    let moved = nest.world.outside().join("moved");
    std::fs::rename(nest.world.path(), &moved).expect("it moves");
    until("it left the moved workspace", || !is_alive(pid));
    std::fs::rename(&moved, nest.world.path()).expect("it moves back");

    nest.tell("PreToolUse", "t1");
    until("there is another", || nest.standing().is_some());
    let pid = nest.pid();
    std::fs::remove_dir_all(&nest.home).expect("the store is removed");
    until("it left the store that is gone", || !is_alive(pid));

    std::fs::create_dir_all(&nest.home).expect("a home");
    std::fs::write(nest.home.join("config.toml"), "agents.helper_idle_seconds = 1\n").expect("a file");
    let pid = nest.inhabit();
    until("it had nothing to do for a second", || !is_alive(pid));
    assert!(nest.connect().is_none());

    std::fs::write(nest.home.join("config.toml"), "agents.helper_idle_seconds = 0\n").expect("a file");
    nest.tell("UserPromptSubmit", "again");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(helpers(&nest), [0; 0], "none is wanted");
    std::fs::remove_file(nest.home.join("config.toml")).expect("a file");
    let pid = nest.inhabit();
    std::fs::remove_dir_all(nest.world.path()).expect("the workspace is removed");
    until("it left the workspace that is gone", || !is_alive(pid));
    std::fs::create_dir(nest.world.path()).expect("a workspace");
}

#[test]
fn what_steers_a_hook_steers_its_helper_too() {
    let nest = Nest::new();
    nest.world.file(".gitignore", "*.log\n").file("x.log", "1\n");
    nest.inhabit();
    std::fs::write(nest.home.join("config.toml"), "[snapshots.exclude]\nadditional = [\"*.tmp\"]\n").expect("a file");
    nest.do_and_tell("echo 1 > kept; echo 1 > left.tmp", "t1");
    let held = |name: &str| nest.said(&["ls", "@latest"]).lines().any(|line| line == name);
    assert!(held("kept") && held("x.log") && !held("left.tmp"), "the file counts");
    let mut command = nest.command(&nest.program);
    command.args(["hook", "claude"]).env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "skip");
    nest.world.file("kept", "2\n");
    let hook = nest.telling(&mut command, nest.world.path(), "PostToolUse", "t2");
    assert!(hook.wait_with_output().expect("it ends").status.success());
    assert!(held("kept") && !held("x.log"), "the variable counts");
}

#[test]
fn a_helper_does_not_answer_for_a_workspace_inside_its_own() {
    let nest = Nest::new();
    nest.inhabit();
    let inner = nest.world.join("sub");
    let inner_name = inner.to_str().expect("text");
    nest.said(&["-C", inner_name, "snapshot", "-q", "--here"]);
    std::fs::write(inner.join("new"), "x").expect("a file");
    let mut command = nest.command(&nest.program);
    let hook = nest.telling(command.args(["hook", "claude"]), &inner, "PostToolUse", "t1");
    assert!(hook.wait_with_output().expect("it ends").status.success());
    assert!(nest.said(&["-C", inner_name, "ls", "@latest"]).contains("new"));
    std::fs::remove_dir_all(&inner).expect("its own helper ends with it");
}

#[test]
fn a_home_whose_path_no_address_holds_has_a_helper_too() {
    let mut nest = Nest::new();
    nest.home = nest.home.join("x".repeat(100)).join("y".repeat(100));
    nest.inhabit();
    nest.do_and_tell("echo two >> a.txt", "t1");
    nest.assert_captured("a long way");
    assert!(nest.standing().expect("a helper")["answered"].as_u64() >= Some(2));
}

#[test]
fn inside_a_jail_no_helper_is_started() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let script =
        "echo '{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"x\"}' | belay hook claude";
    let ran = world.belay(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!world.workspace.home().join("helpers").exists());
}

#[test]
fn the_tools_of_an_agent_see_what_changed_a_moment_before() {
    let nest = Nest::new();
    let mut server = nest.command(&nest.program);
    server.arg("mcp");
    let (mut client, _) = Client::greet(server, "2025-06-18");
    client.ok("snapshots_create", json!({"name": "first"}));
    // By then its eyes are open; if they are not, the same is found by a walk.
    std::thread::sleep(Duration::from_millis(500));
    for number in 0..8 {
        nest.world.file(format!("new/{number}/file"), format!("{number}\n")).file("a.txt", format!("{number:04}\n"));
        client.ok("snapshots_create", json!({"name": format!("n{number}")}));
        nest.assert_captured("snapshots_create");
        nest.world.remove(format!("new/{number}/file"));
        let (text, _) = client.ok("snapshots_changes", json!({}));
        assert!(text.contains(&format!("new/{number}/file")), "{text}");
    }
    assert!(client.end().1);
}
