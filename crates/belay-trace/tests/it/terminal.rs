//! Job control on a real terminal.

use belay_trace::Engine;

use crate::world::{World, python};

/// A shell in a terminal: stop a program with a key, list it, bring it back, interrupt it.
pub(crate) fn job_control(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |_| {});
    let program = r#"
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.environ["PS1"] = "ready> "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = b""
def expect(text, seconds=15):
    global seen
    end = time.time() + seconds
    while text not in seen:
        if time.time() > end or not select.select([terminal], [], [], max(0, end - time.time()))[0]:
            print("missing", text, "in", seen, file=sys.stderr); os._exit(1)
        seen += os.read(terminal, 4096)
    seen = seen[seen.index(text) + len(text):]
def type(keys): os.write(terminal, keys)
expect(b"ready> "); type(b"sleep 100\n"); expect(b"sleep 100"); time.sleep(.5)
type(b"\x1a"); expect(b"Stopped"); expect(b"ready> ")
type(b"jobs\n"); expect(b"Stopped"); expect(b"ready> ")
type(b"fg\n"); expect(b"sleep 100"); time.sleep(.5)
type(b"\x1a"); expect(b"Stopped"); expect(b"ready> ")
type(b"bg\n"); expect(b"ready> "); type(b"jobs\n"); expect(b"Running"); expect(b"ready> ")
type(b"fg\n"); expect(b"sleep 100"); time.sleep(.5)
type(b"\x03"); expect(b"ready> ")
type(b"echo code $?\n"); expect(b"code 130"); expect(b"ready> ")
type(b"sh -c 'kill -STOP $$; echo woken'\n"); expect(b"Stopped"); expect(b"ready> ")
type(b"fg\n"); expect(b"woken"); expect(b"ready> ")
type(b"cat | cat\n"); expect(b"cat | cat"); type(b"hello\n"); expect(b"hello"); type(b"\x04"); expect(b"ready> ")
type(b"exit 4\n")
_, status = os.waitpid(pid, 0)
os._exit(0 if os.waitstatus_to_exitcode(status) == 4 else 2)
"#;
    let status = world.run(&[python, "-c", program]);
    assert!(status.success(), "{status:?}");
    let story = world.end();
    story.assert_whole();
    let [sleep] = story.named("sleep")[..] else { panic!("{:?}", story.execs()) };
    assert_eq!(story.ends()[&sleep.command], belay_event::Ended::Signal(2));
    assert_eq!(story.named("cat").len(), 2);
}
