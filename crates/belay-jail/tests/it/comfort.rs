//! What a confined program can do as if it were not confined.

use std::fs;

use crate::world::{World, has_namespaces};

#[test]
fn the_workspace_can_be_written_and_the_rest_is_not_there() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    assert_eq!(world.says("echo new > made && mv made code2 && cat code"), "workspace/code");
    assert_eq!(fs::read_to_string(world.path("workspace/code2")).unwrap(), "new\n");
    let visible = world.says("cd $ROOT && ls -A . home");
    assert_eq!(visible, ".:\nhome\nworkspace\n\nhome:\n.agent.json\n.config");
}

#[test]
fn private_copies_can_be_changed_and_leave_no_trace() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let before = world.outside();
    let script = "cd && cat .agent.json .config/agent/settings && echo lock > .agent.json.lock \
                  && echo new > .agent.json.tmp && mv .agent.json.tmp .agent.json \
                  && echo new > .config/agent/settings && rm .config/agent/settings && echo x > .config/agent/more \
                  && cat .agent.json && ls .config/agent";
    assert_eq!(world.says(script), "home/.agent.jsonhome/.config/agent/settingsnew\nmore");
    assert_eq!(world.outside(), before);
}

#[test]
fn temporary_files_and_devices_work_and_are_its_own() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let script = "echo a > /tmp/a && mktemp >/dev/null && echo b > /dev/null && head -c 4 /dev/urandom | wc -c \
                  && echo s > /dev/shm/s && ls /dev && hostname && test -c /dev/zero && echo done >> /dev/fd/1";
    let said = world.says(script);
    assert!(
        said.starts_with("4\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n"),
        "{said}"
    );
    assert!(said.ends_with("jail\ndone"), "{said}");
}

#[test]
fn the_status_of_the_program_is_the_status_of_the_jail() {
    if !has_namespaces() {
        return;
    }
    use std::os::unix::process::ExitStatusExt;
    let world = World::new();
    assert_eq!(world.shell("exit 7").status.code(), Some(7));
    assert_eq!(world.shell("kill -TERM $$").status.signal(), Some(15));
}

#[test]
fn orphans_are_adopted_and_end_with_the_program() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    // Seven generations of orphans, each of which must be reaped, and one that would sleep for ever.
    let script = "for i in 1 2 3 4 5 6 7; do (sleep 0 & ) ; done; (sleep 1000 &) ; sleep 0.2; \
                  cat /proc/[0-9]*/stat | cut -d' ' -f2,3,4 | sort";
    let said = world.says(script);
    assert!(said.contains("(sleep) S 1"), "{said}");
    assert!(!said.contains(" Z "), "{said}");
}

#[test]
fn its_own_terminals_and_loopback_work() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let pty = "m, s = os.openpty(); os.write(s, b'x'); print(os.ttyname(s), os.read(m, 1))";
    assert_eq!(world.error_of(pty), "/dev/pts/0 b'x'");
    let loopback =
        "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print('met')";
    assert_eq!(world.error_of(loopback), "met");
}
