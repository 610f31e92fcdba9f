//! Where namespaces are forbidden, rules on paths and the filter are in force alone, and it is said.
//!
//! Each test runs itself again where nobody may make a user namespace: in one whose limit is zero.

use std::io::Write;
use std::process::{Command, Stdio};

use belay_jail::{Identity, Layer, hold};

use crate::world::{World, has_namespaces};

const FORBIDDEN: &str = "BELAY_TEST_NO_NAMESPACES";

/// True where namespaces are forbidden; elsewhere runs the calling test again where they are.
#[track_caller]
fn forbidden(test: &str) -> bool {
    if std::env::var_os(FORBIDDEN).is_some() {
        return true;
    }
    if !has_namespaces() {
        return false;
    }
    if belay_sys::landlock_abi().is_none_or(|abi| abi < 6) {
        belay_testkit::skip("Landlock without scopes");
        return false;
    }
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" --exact \"$1\" --nocapture";
    let answer = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(FORBIDDEN, "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(answer.status.success(), "{}{}", text(&answer.stdout), text(&answer.stderr));
    assert!(text(&answer.stdout).contains("1 passed"), "{}", text(&answer.stdout));
    false
}

fn world() -> World {
    let mut world = World::new();
    world.policy.without_namespaces = true;
    world
}

#[test]
fn it_is_refused_unless_the_policy_can_do_without() {
    if !forbidden("rules_alone::it_is_refused_unless_the_policy_can_do_without") {
        return;
    }
    let mut world = world();
    let held = world.held(&["/bin/true"]);
    assert_eq!(held.layers(), [Layer::Landlock, Layer::Filter]);
    let said = held.degraded().join("\n");
    assert!(said.contains("namespaces cannot be had"), "{said}");
    assert!(said.contains("there is no loopback interface"), "{said}");
    assert!(said.contains("modes, owners, times and attributes"), "{said}");
    assert!(said.contains("whoever listens at a path can be talked to"), "{said}");
    assert!(said.contains(".env is visible"), "{said}");
    assert!(said.contains("hooks can be written"), "{said}");
    drop(held);
    world.policy.without_namespaces = false;
    let error = hold(&world.policy, world.launch(&["/bin/true"], None), |_| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "cannot make namespaces");
}

#[test]
fn rules_alone_keep_the_store_and_the_processes_safe() {
    if !forbidden("rules_alone::rules_alone_keep_the_store_and_the_processes_safe") {
        return;
    }
    let world = world();
    let before = world.outside();
    assert_eq!(world.says("echo new > made && cat code"), "workspace/code");
    let outside = std::process::id();
    for (attempt, error) in [
        ("open(ROOT + '/store/packs/one')", "EACCES"),
        ("open(ROOT + '/home/.ssh/key')", "EACCES"),
        ("open(ROOT + '/other/file', 'w')", "EACCES"),
        ("os.unlink(ROOT + '/other/file')", "EACCES"),
        ("os.rename('made', ROOT + '/other/made')", "EACCES"),
        ("os.link(ROOT + '/other/file', 'linked')", "EXDEV"),
        ("open('/etc/passwd', 'a')", "EACCES"),
        (&format!("os.kill({outside}, 0)"), "EPERM"),
        (&format!("open('/proc/{outside}/mem')"), "EACCES"),
        (&format!("os.listdir('/proc/{outside}/root/')"), "EACCES"),
    ] {
        assert_eq!(world.error_of(&format!("attempt(lambda: {attempt})")), error, "{attempt}");
    }
    assert_eq!(world.error_of(&format!("call({}, 16, {outside}, 0, 0)", libc::SYS_ptrace)), "EPERM");
    assert_eq!(world.error_of(&format!("call({}, 0x10000000)", libc::SYS_unshare)), "EPERM");
    for family in [2, 10, 16, 17] {
        assert_eq!(world.error_of(&format!("call({}, {family}, 1, 0)", libc::SYS_socket)), "EPERM", "no network");
    }
    assert_eq!(world.error_of(&format!("call({}, 1, 1, 0)", libc::SYS_socket)), "none");
    assert_eq!(world.outside(), before);
    // This is what is told; whoever closes it takes the sentence away.
    let _listener = std::os::unix::net::UnixListener::bind(world.path("other/socket")).unwrap();
    let lines = "attempt(lambda: socket.socket(socket.AF_UNIX).connect(ROOT + '/other/socket'))";
    assert_eq!(world.error_of(lines), "none");
}

/// The same where root still knows everybody, as whom it may start a program.
#[track_caller]
fn forbidden_to_root(test: &str) -> bool {
    if std::env::var_os(FORBIDDEN).is_some() {
        return true;
    }
    if !belay_testkit::is_root() || !has_namespaces() || belay_sys::landlock_abi().is_none_or(|abi| abi < 6) {
        belay_testkit::skip("not root, no namespaces, or Landlock without scopes");
        return false;
    }
    // Whoever is mapped once it runs has privileges only after another execution.
    let script = "read go && exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"' \"$@\"";
    let mut child = Command::new("unshare")
        .args(["--user", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FORBIDDEN, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let users = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).unwrap();
    let pid = child.id().to_string();
    while users(&pid) == users("self") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for map in ["uid_map", "gid_map"] {
        std::fs::write(format!("/proc/{pid}/{map}"), "0 0 4294967295").unwrap();
    }
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let answer = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(answer.status.success(), "{}{}", text(&answer.stdout), text(&answer.stderr));
    assert!(text(&answer.stdout).contains("1 passed"), "{}", text(&answer.stdout));
    false
}

#[test]
fn root_starts_somebody_else_by_rules_alone() {
    if !forbidden_to_root("rules_alone::root_starts_somebody_else_by_rules_alone") {
        return;
    }
    const SOMEBODY: u32 = 54_321;
    let mut world = world();
    world.policy.identity = Identity::Other { uid: SOMEBODY, gid: SOMEBODY, groups: Vec::new() };
    std::fs::set_permissions(world.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for path in ["workspace", "workspace/code"] {
        std::os::unix::fs::chown(world.path(path), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    let outside = std::process::id();
    assert_eq!(
        world.says("id -u; id -G; echo new > made; stat -c %u made"),
        format!("{SOMEBODY}\n{SOMEBODY}\n{SOMEBODY}")
    );
    let none = "0000000000000000";
    assert_eq!(
        world.says("grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status"),
        format!("CapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}")
    );
    for (attempt, error) in [
        ("open('.env')", "none"),
        ("open('.env', 'a')", "EACCES"),
        ("os.setresuid(0, 0, 0)", "EPERM"),
        ("os.chown('code', 0, 0)", "EPERM"),
        ("open(ROOT + '/store/packs/one')", "EACCES"),
        ("open(ROOT + '/other/file', 'w')", "EACCES"),
        (&format!("os.kill({outside}, 0)"), "EPERM"),
    ] {
        assert_eq!(world.error_of(&format!("attempt(lambda: {attempt})")), error, "{attempt}");
    }
}
