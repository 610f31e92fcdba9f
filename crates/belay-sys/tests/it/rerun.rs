//! Runs a test of this binary again in another process: as another user, in another namespace, to be killed.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Tells a test that it runs inside the process that its first half started.
const MARK: &str = "BELAY_SYS_RERUN";

const NOBODY: u32 = 65534;

pub(crate) fn is_rerun() -> bool {
    std::env::var_os(MARK).is_some()
}

/// A command that runs the test `name` again; `wrapper` comes before it.
pub(crate) fn command(wrapper: &[&str], name: &str) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(PathBuf::from).chain([exe]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", name, "--nocapture", "--test-threads=1"]).env(MARK, "1");
    command
}

/// True for the process that should do the checking: an ordinary user. As root, runs it as one and answers false.
pub(crate) fn as_ordinary_user(name: &str) -> bool {
    if !belay_sys::is_root() {
        return true;
    }
    // The build directory may be closed to others.
    let reachable = TempDir::new().unwrap();
    std::fs::set_permissions(reachable.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let exe = this_program_in(reachable.path());
    let mut command = Command::new(&exe);
    command.args(["--exact", name, "--nocapture"]).env(MARK, "1").env("TMPDIR", reachable.path());
    run(command.current_dir("/").uid(NOBODY).gid(NOBODY));
    false
}

/// A copy of this program in a directory, to be executed from there.
///
/// A process of its own writes it: a file that this one has open for writing is also open in every child that another
/// thread forks at that moment, until it executes, and cannot be executed itself so long (ETXTBSY).
pub(crate) fn this_program_in(dir: &Path) -> PathBuf {
    let copy = dir.join("it");
    let copied = Command::new("cp").arg("--").arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap();
    assert!(copied.success(), "cp: {copied}");
    copy
}

/// Runs to the end and passes on a failure; a filter that matched nothing is one too.
pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{text}\n{errors}");
    assert!(!text.contains("\nrunning 0 tests"), "no such test: {command:?}");
}
