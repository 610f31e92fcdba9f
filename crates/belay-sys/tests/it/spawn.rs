//! A held program: nothing runs before it is released, and it is born as a shell would bear it.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use belay_sys::{Exit, Held, Launch, Turn, hold, open_pty, reap_children, signal_group};

/// Holds a command with its output in a pipe.
fn held(argv: &[&str], dir: &std::path::Path, terminal: Option<&OwnedFd>) -> (Held, File) {
    let argv: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
    let env = [b"PATH=/usr/bin:/bin".to_vec(), b"MARK=seen".to_vec()];
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let (read, write) = std::io::pipe().unwrap();
    let cwd = File::open(dir).unwrap();
    let write = OwnedFd::from(write);
    let input = terminal.map_or(null.as_fd(), |terminal| terminal.as_fd());
    let stdio = [input, write.as_fd(), null.as_fd()];
    let launch = Launch { argv: &argv, env: &env, cwd: cwd.as_fd(), stdio, tracer: None, group: None };
    (hold(&launch).unwrap(), File::from(OwnedFd::from(read)))
}

fn exit_of(pid: u32) -> Exit {
    loop {
        if let Some((_, exit)) = reap_children().into_iter().find(|(reaped, _)| *reaped == pid) {
            return exit;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn nothing_is_executed_before_the_release() {
    let dir = tempfile::tempdir().unwrap();
    let (held, mut output) = held(&["sh", "-c", "echo $MARK; pwd; : > made; exit 7"], dir.path(), None);
    assert!(!held.process().wait(Some(Duration::from_millis(50))).unwrap());
    assert!(!dir.path().join("made").exists());
    let process = held.release().unwrap();
    assert!(process.wait(Some(Duration::from_secs(20))).unwrap());
    assert_eq!(exit_of(process.pid()), Exit::Code(7));
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("seen\n{}\n", dir.path().display()));
    assert!(dir.path().join("made").exists());
}

#[test]
fn a_program_that_cannot_be_executed_is_told_as_the_kernel_tells_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("text"), "no program").unwrap();
    let refused = |argv: &[&str]| held(argv, dir.path(), None).0.release().unwrap_err().kind();
    assert_eq!(refused(&["no-such-program"]), ErrorKind::NotFound);
    assert_eq!(refused(&["./text"]), ErrorKind::PermissionDenied);
}

#[test]
fn a_text_without_an_interpreter_goes_to_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("script"), "echo shell $1\n").unwrap();
    std::fs::set_permissions(dir.path().join("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (held, mut output) = held(&["./script", "one"], dir.path(), None);
    held.release().unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, "shell one\n");
}

#[test]
fn a_held_program_whose_holder_lets_go_ends_unexecuted() {
    let dir = tempfile::tempdir().unwrap();
    let (held, _output) = held(&["sh", "-c", ": > made"], dir.path(), None);
    let pid = held.process().pid();
    drop(held);
    assert_eq!(exit_of(pid), Exit::Code(125));
    assert!(!dir.path().join("made").exists());
}

#[test]
fn a_terminal_that_is_given_has_its_size_and_is_typed_at() {
    let dir = tempfile::tempdir().unwrap();
    let mut pty = open_pty(belay_sys::Size { rows: 11, columns: 33 }).unwrap();
    let (held, mut output) = held(&["sh", "-c", "stty size; read word; echo $word"], dir.path(), Some(&pty.slave));
    held.release().unwrap();
    pty.master.write_all(b"typed\n").unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, "11 33\ntyped\n");
}

#[test]
fn a_program_leads_a_group_that_keys_can_stop() {
    const SIGTSTP: i32 = 20;
    const SIGCONT: i32 = 18;
    let dir = tempfile::tempdir().unwrap();
    let (held, _output) = held(&["sleep", "300"], dir.path(), None);
    let process = held.release().unwrap();
    for _ in 0..2 {
        // A group whose parent is in another session would not be stopped by this signal.
        signal_group(process.pid(), SIGTSTP).unwrap();
        assert_eq!(process.wait_for_turn().unwrap(), Turn::Stopped);
        signal_group(process.pid(), SIGCONT).unwrap();
    }
    process.signal(9).unwrap();
    assert_eq!(process.wait_for_turn().unwrap(), Turn::Ended);
    assert_eq!(exit_of(process.pid()), Exit::Signal(9));
    assert_eq!(process.wait_for_turn().unwrap(), Turn::Ended);
}
