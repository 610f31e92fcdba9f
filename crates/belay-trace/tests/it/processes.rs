//! Cases about commands.

use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use belay_event::Ended;
use belay_trace::Engine;

use crate::world::{World, python};

/// Thousands of processes that live for a moment.
pub(crate) fn short_lives(engine: Engine) {
    const COUNT: usize = 2000;
    let mut world = World::new(engine, |_| {});
    let status = world.shell(&format!("i=0; while [ $i -lt {COUNT} ]; do /bin/true $i; i=$((i+1)); done; exit 3"));
    assert_eq!(status.code(), Some(3));
    let story = world.end();
    story.assert_whole();
    let numbers: Vec<_> = story.named("true").iter().map(|exec| exec.argv[1].lossy().into_owned()).collect();
    assert_eq!(numbers, (0..COUNT).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(story.ends()[&1], Ended::Code(3));
    assert!(story.named("true").iter().all(|exec| exec.parent == Some(1)));
}

/// Arguments of any bytes and of the greatest length.
pub(crate) fn any_arguments(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let long = "x".repeat(131_071);
    let odd = std::ffi::OsString::from_vec(b"\xff\xfe new\nline".to_vec());
    world.run(&["/bin/true".into(), long.clone().into(), odd.clone(), "".into()]);
    let directory = world.at("").canonicalize().unwrap();
    let story = world.end();
    story.assert_whole();
    let [exec] = story.execs()[..] else { panic!("{:?}", story.execs().len()) };
    let words: Vec<_> = exec.argv.iter().map(|word| word.bytes().to_vec()).collect();
    assert_eq!(words, [b"/bin/true".to_vec(), long.into_bytes(), odd.into_vec(), Vec::new()]);
    assert!(!exec.cut);
    assert!(exec.exe.lossy().ends_with("/true"), "{:?}", exec.exe);
    assert_eq!(std::path::Path::new(exec.cwd.lossy().as_ref()), directory);
    assert_eq!(exec.ppid, std::process::id());
}

/// Scripts, `posix_spawn`, `execveat`, a program that lies in memory alone, and an exec by a thread that is not the first.
pub(crate) fn every_kind_of_exec(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |root| {
        let script = root.join("script");
        std::fs::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    });
    let program = r#"
import os, subprocess, threading
subprocess.call(["./script", "by-subprocess"])
os.waitpid(os.posix_spawn("/bin/true", ["true", "by-spawn"], os.environ), 0)
pid = os.fork()
if pid == 0:
    os.execve(os.open("/bin/true", os.O_RDONLY), ["true", "by-handle"], os.environ)
os.waitpid(pid, 0)
memory = os.memfd_create("hidden")
os.write(memory, open("/bin/true", "rb").read())
pid = os.fork()
if pid == 0:
    os.execve(memory, ["true", "by-memory"], os.environ)
os.waitpid(pid, 0)
pid = os.fork()
if pid == 0:
    threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(4)]
    for thread in threads: thread.start()
    threading.Thread(target=lambda: os.execv("/bin/true", ["true", "by-thread"])).start()
    threading.Event().wait()
_, status = os.waitpid(pid, 0)
os._exit(os.waitstatus_to_exitcode(status))
"#;
    assert!(world.run(&[python, "-c", program]).success());
    let story = world.end();
    story.assert_whole();
    let by: Vec<_> = story.named("true").iter().map(|exec| exec.argv[1].lossy().into_owned()).collect();
    assert_eq!(by, ["by-spawn", "by-handle", "by-memory", "by-thread"]);
    // It has no place, and so no path; what it was called is all that one can be told.
    let memory = story.named("true")[2];
    assert!(memory.exe.lossy().starts_with("/memfd:hidden"), "{:?}", memory.exe);
    let script =
        story.execs().into_iter().find(|exec| exec.argv.iter().any(|word| word.lossy() == "./script")).unwrap();
    assert_eq!(script.argv.last().unwrap().lossy(), "by-subprocess");
    assert_eq!(story.ends()[&script.command], Ended::Code(7));
}

/// A process that its parents left behind is followed to its end.
pub(crate) fn double_forks(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    world.shell("(setsid sh -c 'sleep 0.2; /bin/true orphan; echo > done' &) & exit 0");
    let start = std::time::Instant::now();
    while !world.at("done").exists() && start.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
    let story = world.end();
    story.assert_whole();
    let [orphan] = story.named("/true")[..] else { panic!("{:?}", story.execs()) };
    assert_eq!(orphan.argv[1].lossy(), "orphan");
}

/// Codes, signals, and one command that becomes another.
pub(crate) fn every_kind_of_end(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let status = world.shell(
        "sh -c 'exit 9'; sh -c 'kill -TERM $$'; sh -c 'kill -KILL $$'; sh -c 'trap \"exit 5\" USR1; kill -USR1 $$'; \
         exec sh -c 'kill -HUP $$'",
    );
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(1));
    let story = world.end();
    story.assert_whole();
    let ends: Vec<_> = story.ends().into_values().collect();
    let [first, rest @ ..] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(*first, Ended::Replaced(6));
    assert_eq!(rest, [Ended::Code(9), Ended::Signal(15), Ended::Signal(9), Ended::Code(5), Ended::Signal(1)]);
}

/// Processes that are stopped and continued, and threads by the hundred.
pub(crate) fn stops_and_threads(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |_| {});
    let program = r#"
import os, signal, subprocess, threading
child = subprocess.Popen(["sleep", "60"])
for _ in range(20):
    os.kill(child.pid, signal.SIGSTOP)
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP, status
    os.kill(child.pid, signal.SIGCONT)
    _, status = os.waitpid(child.pid, os.WCONTINUED)
    assert os.WIFCONTINUED(status), status
child.terminate()
assert child.wait() == -signal.SIGTERM
hits = []
signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))
for _ in range(200):
    os.kill(os.getpid(), signal.SIGUSR1)
assert len(hits) == 200, hits
threads = [threading.Thread(target=lambda: subprocess.call(["/bin/true"])) for _ in range(100)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"#;
    assert!(world.run(&[python, "-c", program]).success());
    let story = world.end();
    story.assert_whole();
    assert_eq!(story.named("true").len(), 100);
}

/// Hundreds of processes that fork at the same time.
pub(crate) fn a_bounded_fork_bomb(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let script = "b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; /bin/true; wait; }; b 7; wait";
    assert!(world.shell(script).success());
    let story = world.end();
    story.assert_whole();
    assert_eq!(story.named("true").len(), 255);
}

/// A parallel make, checked against what its recipes wrote down themselves.
pub(crate) fn a_parallel_make(engine: Engine) {
    if Command::new("make").arg("--version").output().is_err() {
        return belay_testkit::skip("no make");
    }
    let mut world = World::new(engine, |root| {
        let targets: Vec<_> = (0..200).map(|number| format!("t{number}")).collect();
        let text = format!("all: {0}\n{0}:\n\t/bin/true $@; touch $@\n", targets.join(" "));
        std::fs::write(root.join("Makefile"), text).unwrap();
    });
    assert!(world.run(&["make", "-s", "-j4"]).success());
    let story = world.end();
    story.assert_whole();
    assert_eq!(story.named("true").len(), 200);
    assert_eq!(story.named("touch").len(), 200);
    let made: std::collections::BTreeSet<_> = story.paths(belay_event::Action::Created).into_iter().collect();
    assert_eq!(made.len(), 200);
}

/// What other processes do in the meantime is not the run's.
pub(crate) fn nothing_foreign(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let mut child = world.start(&["/bin/sh", "-c", "sleep 0.3; /bin/true mine"]);
    while child.try_wait().unwrap().is_none() {
        Command::new("/bin/true").arg("foreign").status().unwrap();
    }
    let story = world.end();
    story.assert_whole();
    let [mine] = story.named("true")[..] else { panic!("{:?}", story.execs()) };
    assert_eq!(mine.argv[1].lossy(), "mine");
}

/// Whoever runs the tests need not have told git a name.
const ADA: &str = "export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org; \
                   export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org;";

/// A rebase of many commits, checked against what git itself wrote down: its every command and its every child.
pub(crate) fn a_rebase(engine: Engine) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut world = World::new(engine, |root| {
        belay_testkit::repository(root);
        let script = "git checkout -qb main 2>/dev/null; git commit -q --allow-empty -m base; git checkout -qb side; \
                      for i in $(seq 40); do echo $i > f$i; git add f$i; git commit -qm $i; done; \
                      git checkout -q main; git commit -q --allow-empty -m more; git checkout -q side";
        let made = Command::new("sh").args(["-c", &format!("{ADA} {script}")]).current_dir(root).status().unwrap();
        assert!(made.success());
    });
    let script =
        format!("{ADA} GIT_TRACE2_EVENT={} git rebase -q --exec 'git status -s' main >/dev/null", log.path().display());
    assert!(world.shell(&script).success());
    let story = world.end();
    story.assert_whole();
    let log = std::fs::read_to_string(log.path()).unwrap();
    let started = log.lines().filter(|line| line.contains(r#""event":"start""#)).count();
    assert!(started > 40, "git said little:\n{log}");
    let seen = story.execs().iter().filter(|exec| exec.exe.lossy().ends_with("/git")).count();
    assert_eq!(seen, started);
    let children = log.lines().filter(|line| line.contains(r#""event":"child_start""#)).count();
    assert!(story.totals.execs as usize > children);
}
