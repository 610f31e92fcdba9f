//! A held program: nothing runs before it is released, and it is born as a shell would bear it.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use belay_sys::{Exit, Held, Launch, hold, open_pty, reap_children};

/// Holds a command with its output in a pipe.
fn held(argv: &[&str], dir: &std::path::Path, terminal: Option<&OwnedFd>) -> (Held, File) {
    let argv: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
    let env = [b"PATH=/usr/bin:/bin".to_vec(), b"MARK=seen".to_vec()];
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let (read, write) = std::io::pipe().unwrap();
    let cwd = File::open(dir).unwrap();
    let write = OwnedFd::from(write);
    let input = terminal.map_or(null.as_fd(), |terminal| terminal.as_fd());
    let launch = Launch {
        argv: &argv,
        env: &env,
        cwd: cwd.as_fd(),
        stdio: [input, write.as_fd(), null.as_fd()],
        terminal: terminal.is_some(),
        tracer: None,
    };
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
fn a_terminal_is_the_programs_own_and_has_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut pty = open_pty(belay_sys::Size { rows: 11, columns: 33 }).unwrap();
    let (held, mut output) =
        held(&["sh", "-c", "stty size; read word < /dev/tty; echo $word"], dir.path(), Some(&pty.slave));
    held.release().unwrap();
    pty.master.write_all(b"typed\n").unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, "11 33\ntyped\n");
}
