//! A profile without a network has no way to those who listen outside, wherever they listen.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use crate::jailed::has_namespaces;
use crate::world::{Ran, World};

const CONNECT: &str = "import socket, sys\nfor name in sys.argv[1:]:\n    s = socket.socket(socket.AF_UNIX)\n    \
                       try: s.connect(name); print('reached')\n    except OSError: print('refused')";

fn connect(world: &mut World, flags: &[&str], names: &[&str]) -> Ran {
    world.belay(&[&["run", "-q"], flags, &["--", "/usr/bin/python3", "-c", CONNECT], names].concat())
}

/// Somebody who listens at a relative name, until it is dropped.
struct Listener(Child);

impl Listener {
    fn at(world: &World, name: &str) -> Listener {
        let code = "import socket, sys, time\ns = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n\
                    print('.', flush=True); time.sleep(600)";
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", code, name]).current_dir(world.workspace.path()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python starts");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("it listens");
        Listener(child)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

#[test]
fn whoever_has_no_network_reaches_nobody_who_listens_at_a_path() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("dir/code", "code");
    let beside = world.workspace.base().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let outside = beside.join("s");
    let _outside = UnixListener::bind(&outside).unwrap();
    let _inside = UnixListener::bind(world.workspace.join("dir/s")).unwrap();
    let _relative = Listener::at(&world, "dir/r");
    let (beside, outside) = (beside.to_str().unwrap(), outside.to_str().unwrap());
    let names = ["dir/s", "dir/r", outside];
    // A network is a network: there it is the machine's, and so are these.
    assert_eq!(connect(&mut world, &["--ro", beside], &names).stdout, "reached\n".repeat(3));
    for flags in [&["--ro", beside][..], &["--ro", beside, "--ephemeral"]] {
        let flags = [&["--profile", "strict"], flags].concat();
        let ran = connect(&mut world, &flags, &names);
        assert_eq!(ran.stdout, "refused\n".repeat(3), "{flags:?} {ran}");
    }
    // Whoever names it means it.
    let ran = connect(&mut world, &["--profile", "strict", "--rw", "dir/s"], &names[..2]);
    assert_eq!(ran.stdout, "reached\nrefused\n", "{ran}");
    let why = world.ok(&["why", "dir/s", "--profile", "strict"]);
    assert!(why.contains("hidden") && why.contains("somebody listens there"), "{why}");
}

#[test]
fn a_socket_at_which_nobody_listens_any_more_is_a_file_like_others() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    drop(UnixListener::bind(world.workspace.join("s")).unwrap());
    let code = "import os, socket\nos.unlink('s')\ns = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen()\n\
                socket.socket(socket.AF_UNIX).connect('s'); print('served')";
    let ran = world.belay(&["run", "-q", "--profile", "strict", "--", "/usr/bin/python3", "-c", code]);
    assert_eq!(ran.stdout, "served\n", "{ran}");
}
