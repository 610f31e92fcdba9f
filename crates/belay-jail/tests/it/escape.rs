//! The escape list: every way out that we know of, with the answer that the kernel must give.
//!
//! Each is tried by a program that believes to be an ordinary user and by one that believes to be root, and where root
//! starts it by one that is somebody else.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use belay_jail::{Access, Identity, Network};

use crate::world::{World, has_namespaces};

/// Worlds for each identity; none, said aloud, where there are no namespaces.
fn worlds() -> Vec<World> {
    if !has_namespaces() {
        return Vec::new();
    }
    let own = [1000, 0].into_iter().map(|id| world_of(id, Network::None));
    own.chain(world_of_other(Network::None)).collect()
}

/// A world whose home and workspace are somebody else's, as who the program runs; only root can have that.
fn world_of_other(network: Network) -> Option<World> {
    let user = belay_testkit::OrdinaryUser::find().filter(|_| belay_testkit::is_root())?;
    let mut world = World::new();
    world.policy.identity = Identity::Other { uid: user.uid(), gid: user.gid(), groups: Vec::new() };
    world.policy.network = network;
    give(&world, &["home", "workspace"]);
    Some(world)
}

/// Gives trees to whoever the program is, if that is not whoever made them.
fn give(world: &World, paths: &[&str]) {
    if !is_other(world) {
        return;
    }
    let (uid, gid) = world.policy.identity.numbers();
    let paths = paths.iter().map(|path| world.path(path));
    let mut chown = std::process::Command::new("chown");
    assert!(chown.args(["-R", &format!("{uid}:{gid}")]).args(paths).status().unwrap().success());
}

fn is_other(world: &World) -> bool {
    matches!(world.policy.identity, Identity::Other { .. })
}

fn world_of(id: u32, network: Network) -> World {
    let mut world = World::new();
    world.policy.identity = Identity::Own { uid: id, gid: id };
    world.policy.network = network;
    world
}

/// A system call by its number and arguments, as Python, and the error it must get.
#[track_caller]
fn refused(cases: &[(&str, libc::c_long, &str, &str)]) {
    for world in worlds() {
        for (what, number, arguments, error) in cases {
            let got = world.error_of(&format!("call({number}{arguments})"));
            assert_eq!(got, *error, "{what} as {:?}", world.policy.identity);
        }
    }
}

#[test]
fn mounting_is_refused() {
    refused(&[
        ("mount", libc::SYS_mount, ", b'none', b'/tmp', b'tmpfs', 0, 0", "EPERM"),
        ("remount", libc::SYS_mount, ", 0, b'/usr', 0, 32 | 4096, 0", "EPERM"),
        ("umount", libc::SYS_umount2, ", b'/proc', 2", "EPERM"),
        ("pivot_root", libc::SYS_pivot_root, ", b'/tmp', b'/tmp'", "EPERM"),
        ("chroot", libc::SYS_chroot, ", b'/tmp'", "EPERM"),
        ("open_tree", libc::SYS_open_tree, ", -100, b'/', 1", "EPERM"),
        ("move_mount", libc::SYS_move_mount, ", -100, b'/usr', -100, b'/tmp', 0", "EPERM"),
        ("fsopen", libc::SYS_fsopen, ", b'tmpfs', 0", "EPERM"),
        ("mount_setattr", libc::SYS_mount_setattr, ", -100, b'/usr', 0, 0, 0", "EPERM"),
        ("open_tree_attr", 467, ", -100, b'/usr', 1, 0, 0", "EPERM"),
    ]);
}

#[test]
fn new_namespaces_are_refused() {
    let clone = format!(", {}, 0, 0, 0, 0", libc::CLONE_NEWUSER | libc::SIGCHLD);
    refused(&[
        ("unshare", libc::SYS_unshare, ", 0x10000000", "EPERM"),
        ("unshare nothing", libc::SYS_unshare, ", 0", "EPERM"),
        ("setns", libc::SYS_setns, ", 0, 0", "EPERM"),
        ("clone", libc::SYS_clone, &clone, "EPERM"),
        ("clone3", libc::SYS_clone3, ", 0, 0", "ENOSYS"),
    ]);
}

#[test]
fn the_kernels_least_guarded_sides_are_refused() {
    refused(&[
        ("bpf", libc::SYS_bpf, ", 0, 0, 0", "EPERM"),
        ("userfaultfd", libc::SYS_userfaultfd, ", 1", "EPERM"),
        ("perf_event_open", libc::SYS_perf_event_open, ", 0, 0, -1, -1, 0", "EPERM"),
        ("io_uring_setup", libc::SYS_io_uring_setup, ", 1, 0", "ENOSYS"),
        ("io_uring_enter", libc::SYS_io_uring_enter, ", 0, 1, 0, 0, 0, 0", "ENOSYS"),
        ("io_uring_register", libc::SYS_io_uring_register, ", 0, 0, 0, 0", "ENOSYS"),
        ("keyctl", libc::SYS_keyctl, ", 0, -3, 0", "EPERM"),
        ("add_key", libc::SYS_add_key, ", b'user', b'k', b'v', 1, -3", "EPERM"),
        ("request_key", libc::SYS_request_key, ", b'user', b'k', 0, -3", "EPERM"),
        ("kexec_load", libc::SYS_kexec_load, ", 0, 0, 0, 0", "EPERM"),
        ("init_module", libc::SYS_init_module, ", 0, 0, 0", "EPERM"),
        ("reboot", libc::SYS_reboot, ", 0, 0, 0, 0", "EPERM"),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, ", -100, 0, 0", "EPERM"),
        ("settimeofday", libc::SYS_settimeofday, ", 0, 0", "EPERM"),
        ("sethostname", libc::SYS_sethostname, ", b'x', 1", "EPERM"),
        ("socket AF_VSOCK", libc::SYS_socket, ", 40, 1, 0", "EPERM"),
        ("socket AF_ALG", libc::SYS_socket, ", 38, 5, 0", "EPERM"),
        ("socket AF_PACKET", libc::SYS_socket, ", 17, 3, 0", "EPERM"),
        ("socket AF_BLUETOOTH", libc::SYS_socket, ", 31, 5, 0", "EPERM"),
        ("socket AF_X25", libc::SYS_socket, ", 9, 5, 0", "EPERM"),
        ("socket AF_KEY", libc::SYS_socket, ", 15, 3, 2", "EPERM"),
        ("socket AF_XDP", libc::SYS_socket, ", 44, 3, 0", "EPERM"),
        ("socket AF_TIPC", libc::SYS_socket, ", 30, 5, 0", "EPERM"),
        ("socket AF_UNIX", libc::SYS_socket, ", 1, 1, 0", "none"),
        ("socket AF_INET", libc::SYS_socket, ", 2, 1, 0", "none"),
        ("socket AF_INET6", libc::SYS_socket, ", 10, 1, 0", "none"),
        ("socket AF_NETLINK", libc::SYS_socket, ", 16, 3, 0", "none"),
    ]);
}

#[test]
fn nobody_outside_is_made_to_wait_for_a_file() {
    // Whoever opens a file with a lease on it waits until its holder has given it up, or 45 seconds; belay does not wait,
    // and could not read it.
    for world in worlds() {
        for (request, error) in [("1024, 1", "EPERM"), ("1024, 0", "EPERM"), ("1040, 1", "EPERM"), ("1025, 0", "none")]
        {
            let lines = format!("f = open('leased', 'w'); call({}, f.fileno(), {request})", libc::SYS_fcntl);
            assert_eq!(world.error_of(&lines), error, "fcntl {request}");
        }
        let lines =
            format!("f = open('leased', 'r+'); call({}, f.fileno(), ctypes.c_ulong(0x700000400), 1)", libc::SYS_fcntl);
        assert_eq!(world.error_of(&lines), "EPERM", "the kernel looks at the lower half of the request only");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_second_numbering_of_calls_is_refused() {
    refused(&[
        ("getpid", 0x4000_0000 | libc::SYS_getpid, "", "ENOSYS"),
        ("mount", 0x4000_0000 | libc::SYS_mount, ", b'none', b'/tmp', b'tmpfs', 0, 0", "ENOSYS"),
    ]);
}

#[test]
fn nothing_can_be_typed_into_a_terminal() {
    for world in worlds() {
        let lines = "m, s = os.openpty(); call(16, s, 0x5412, b'x')";
        assert_eq!(world.error_of(lines), "EPERM");
        // The kernel looks at the lower half of the request only, so a filter must too.
        let lines = "m, s = os.openpty(); call(16, s, ctypes.c_ulong(0x100005412), b'x')";
        assert_eq!(world.error_of(lines), "EPERM");
    }
}

#[test]
fn processes_outside_cannot_be_named() {
    for world in worlds() {
        let outside = std::process::id();
        assert_eq!(world.error_of(&format!("attempt(lambda: os.kill({outside}, 0))")), "ESRCH");
        assert_eq!(world.error_of(&format!("call(101, 16, {outside}, 0, 0)")), "ESRCH", "ptrace");
        assert_eq!(world.error_of(&format!("call(434, {outside}, 0)")), "ESRCH", "pidfd_open");
        let numbers = world.says("ls /proc | grep -c '^[0-9]'");
        assert!(numbers.parse::<u32>().unwrap() < 6, "{numbers} processes are visible");
        assert_eq!(world.error_of("print(os.getppid())"), "0", "its parent is outside");
    }
}

#[test]
fn the_first_process_shows_nothing() {
    for world in worlds() {
        assert_eq!(world.error_of("call(101, 16, 1, 0, 0)"), "EPERM", "ptrace");
        // Whose files are whose is seen by the machine's root, but there are none.
        let descriptors = world.error_of("attempt(lambda: print(os.listdir('/proc/1/fd')))");
        assert!(["EACCES", "[]\nnone"].contains(&descriptors.as_str()), "{descriptors}");
        for path in ["mem", "environ", "maps", "root", "cwd"] {
            let open = match path {
                "root" | "cwd" => format!("os.readlink('/proc/1/{path}')"),
                _ => format!("open('/proc/1/{path}')"),
            };
            assert_eq!(world.error_of(&format!("attempt(lambda: {open})")), "EACCES", "{path}");
        }
        world.says("kill -9 1; kill -TERM 1; true");
    }
}

#[test]
fn proc_cannot_be_used_to_change_the_machine() {
    for world in worlds() {
        for path in ["sys/kernel/core_pattern", "sys/vm/drop_caches", "sysrq-trigger"] {
            let got = world.error_of(&format!("attempt(lambda: open('/proc/{path}', 'w'))"));
            assert!(["EROFS", "EACCES", "ENOENT"].contains(&got.as_str()), "{path}: {got}");
        }
        let got = world.error_of("attempt(lambda: open('/proc/kcore', 'rb').read(1))");
        assert!(["EACCES", "ENOENT"].contains(&got.as_str()), "{got}");
        let got = world.error_of("attempt(lambda: os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1'))");
        assert_ne!(got, "none");
        let got = world.error_of("attempt(lambda: os.stat('/proc/self/root/../../..' + ROOT + '/store'))");
        assert_eq!(got, "ENOENT");
    }
}

#[test]
fn the_store_and_the_rest_of_the_home_are_not_there() {
    for world in worlds() {
        for path in ["store", "store/packs/one", "home/.ssh/key", "other/file", "workspace/../store"] {
            let got = world.error_of(&format!("attempt(lambda: os.stat(ROOT + '/{path}'))"));
            assert_eq!(got, "ENOENT", "{path}");
        }
        assert_eq!(world.error_of("attempt(lambda: open('.env'))"), "EACCES", "hidden beneath a writable tree");
    }
}

#[test]
fn a_link_leads_no_further_than_the_jail() {
    for world in worlds() {
        let lines = "os.symlink(ROOT + '/store/packs/one', 'l'); attempt(lambda: open('l'))";
        assert_eq!(world.error_of(lines), "ENOENT");
        let lines = "os.symlink('../' * 30 + ROOT.lstrip('/') + '/other/file', 'm'); attempt(lambda: open('m', 'w'))";
        assert_eq!(world.error_of(lines), "ENOENT");
        assert_eq!(fs::read_to_string(world.path("other/file")).unwrap(), "other/file");
    }
}

#[test]
fn the_system_and_protected_parts_of_the_workspace_cannot_be_written() {
    for world in worlds() {
        let cases = [
            ("open('/usr/bin/env', 'r+')", "EROFS"),
            ("open('/etc/passwd', 'a')", "EROFS"),
            ("open('/usr/made', 'w')", "EROFS"),
            ("open('/made', 'w')", "EROFS"),
            ("open('.git/hooks/pre-commit', 'w')", "EROFS"),
            ("os.unlink('.git/hooks/pre-commit')", "EROFS"),
            ("os.rename('.git/hooks', '.git/hooks2')", "EBUSY"),
            ("os.rename('.git', '.git2')", "EBUSY"),
            ("os.chmod('/usr/bin/env', 0o777)", "EROFS"),
        ];
        for (attempt, error) in cases {
            let got = world.error_of(&format!("attempt(lambda: {attempt})"));
            // Landlock is asked before the mount for some of them, and says it in its own way.
            assert!(got == error || (error == "EROFS" && got == "EACCES"), "{attempt}: {got}");
        }
    }
}

#[test]
fn hard_links_cannot_be_made_across_and_old_ones_can_be_protected() {
    for mut world in worlds() {
        fs::hard_link(world.path("other/file"), world.path("workspace/linked")).unwrap();
        world.policy.grants.push(belay_jail::Grant::new(world.path("workspace/linked"), belay_jail::Access::Read));
        let got = world.error_of("attempt(lambda: open('linked', 'w'))");
        assert!(["EROFS", "EACCES"].contains(&got.as_str()), "{got}");
        let got = world.error_of("attempt(lambda: os.link('/usr/bin/env', 'env'))");
        assert!(["EXDEV", "EACCES", "EPERM"].contains(&got.as_str()), "{got}");
        let got = world.error_of("attempt(lambda: os.link('.git/hooks/pre-commit', 'hook'))");
        assert!(["EXDEV", "EACCES", "EPERM"].contains(&got.as_str()), "{got}");
        assert_eq!(fs::read_to_string(world.path("other/file")).unwrap(), "other/file");
    }
}

#[test]
fn a_hard_link_that_is_guarded_is_written_by_no_way() {
    for world in worlds() {
        fs::create_dir_all(world.path("workspace/deep/in")).unwrap();
        fs::hard_link(world.path("other/file"), world.path("workspace/deep/in/linked")).unwrap();
        fs::create_dir(world.path("workspace/whole")).unwrap();
        fs::hard_link(world.path("other/file"), world.path("workspace/whole/linked")).unwrap();
        fs::write(world.path("workspace/deep/in/plain"), "plain").unwrap();
        give(&world, &["workspace"]);
        let guarded = ["workspace/whole/linked", "workspace/deep/in/linked", "workspace/whole"]
            .map(|path| (world.path(path), Access::Read));
        let cases = [
            ("open('deep/in/linked', 'a')", "EROFS"),
            ("os.truncate('deep/in/linked', 0)", "EROFS"),
            ("os.chmod('deep/in/linked', 0o600)", "EROFS"),
            ("os.utime('deep/in/linked')", "EROFS"),
            ("os.setxattr('deep/in/linked', 'user.x', b'y')", "EROFS"),
            ("os.open('/proc/self/fd/%d' % os.open('deep/in/linked', os.O_RDONLY), os.O_WRONLY)", "EROFS"),
            ("os.unlink('deep/in/linked')", "EBUSY"),
            ("os.rename('deep/in/linked', 'deep/in/other')", "EBUSY"),
            ("os.rename('deep/in/plain', 'deep/in/linked')", "EBUSY"),
            ("os.link('deep/in/linked', 'deep/in/again')", "EXDEV"),
            ("os.rename('deep', 'moved')", "EBUSY"),
            ("os.rename('deep/in', 'deep/moved')", "EBUSY"),
            ("open('whole/linked', 'a')", "EROFS"),
            ("open('whole/new', 'w')", "EROFS"),
            ("os.unlink('whole/linked')", "EROFS"),
            ("os.chmod('whole', 0o700)", "EROFS"),
            ("os.rename('whole', 'moved')", "EBUSY"),
            ("open('deep/in/plain', 'a').write('!')", "none"),
            ("open('deep/new', 'w')", "none"),
        ];
        for (attempt, error) in cases {
            let code = format!("{}\nattempt(lambda: {attempt})", include_str!("before.py"));
            let out = tempfile::NamedTempFile::new().unwrap();
            let null = || fs::File::options().read(true).write(true).open("/dev/null").unwrap();
            let stdio = [null().into(), out.reopen().unwrap().into(), null().into()];
            let launch = world.launch(&["/usr/bin/python3", "-c", &code], Some(stdio));
            let mut held = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap();
            held.guard(&guarded).unwrap();
            held.release().unwrap().wait().unwrap();
            let got = fs::read_to_string(out.path()).unwrap();
            let got = got.trim();
            // Landlock is asked before the mount for some of them, and says it in its own way.
            assert!(got == error || (error == "EROFS" && got == "EACCES"), "{attempt}: {got}");
        }
        assert_eq!(fs::read_to_string(world.path("other/file")).unwrap(), "other/file");
    }
}

#[test]
fn privileges_cannot_be_gained() {
    for world in worlds() {
        let identity = world.policy.identity.numbers().0;
        assert_eq!(world.says("id -u; grep NoNewPrivs /proc/self/status"), format!("{identity}\nNoNewPrivs:\t1"));
        assert_eq!(
            world.says("grep CapEff /proc/self/status; grep CapBnd /proc/self/status"),
            "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000"
        );
        // Somebody else knows everybody by their numbers, and may become and give to nobody.
        let refused = if is_other(&world) { "EPERM" } else { "EINVAL" };
        assert_eq!(world.error_of("attempt(lambda: os.setuid(4242))"), refused, "not mapped");
        for attempt in ["os.setresuid(0, 0, 0)", "os.setresgid(0, 0, 0)", "os.setgroups([0])", "os.chown('code', 0, 0)"]
        {
            let got = world.error_of(&format!("attempt(lambda: {attempt})"));
            assert!(got == refused || got == "EPERM" || identity == 0, "{attempt}: {got}");
        }
        assert_eq!(world.error_of("attempt(lambda: os.setgroups([4242]))"), "EPERM");
        assert_eq!(world.error_of("attempt(lambda: os.mknod('node', 0o20666, os.makedev(1, 1)))"), "EPERM");
        assert_eq!(world.error_of("attempt(lambda: os.chown('code', 4242, 4242))"), refused, "not mapped");
        // A program that runs as its owner runs as whoever starts it.
        let su = world.shell("su root -c id < /dev/null");
        assert!(!su.status.success(), "{}", su.out);
    }
}

#[test]
fn a_file_that_runs_as_its_owner_runs_as_whoever_starts_it() {
    use std::os::unix::fs::PermissionsExt;
    if !belay_testkit::is_root() {
        belay_testkit::skip("only root can give a file away");
        return;
    }
    for world in worlds() {
        let own = world.path("workspace/id");
        fs::copy("/usr/bin/id", &own).unwrap();
        std::os::unix::fs::chown(&own, Some(1), Some(1)).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o6755)).unwrap();
        let (uid, gid) = world.policy.identity.numbers();
        assert_eq!(world.says("./id -u; ./id -g"), format!("{uid}\n{gid}"));
    }
}

#[test]
fn descriptors_that_were_passed_on_a_socket_lead_no_further() {
    // A directory of the machine that somebody hands in over a stream is the one thing no path rule stops; rules of
    // Landlock do, since what is beneath it is none of the jail's.
    for world in worlds() {
        if belay_sys::landlock_abi().is_none() {
            belay_testkit::skip("no Landlock");
            return;
        }
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let lines = "\
import array
s = socket.socket(fileno=os.dup(0))
_, data, _, _ = s.recvmsg(1, socket.CMSG_SPACE(4))
fd = array.array('i', data[0][2])[0]
attempt(lambda: os.open('other/file', os.O_RDONLY, dir_fd=fd))
attempt(lambda: os.open('other/file', os.O_WRONLY, dir_fd=fd))
attempt(lambda: os.unlink('other/file', dir_fd=fd))
";
        let out = tempfile::tempfile().unwrap();
        let null = fs::File::options().write(true).open("/dev/null").unwrap();
        let code = format!("{}\n{lines}", include_str!("before.py"));
        let stdio = [theirs.into(), out.try_clone().unwrap().into(), null.into()];
        let launch = world.launch(&["/usr/bin/python3", "-c", &code], Some(stdio));
        let mut running = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap().release().unwrap();
        let root = fs::File::open(world.path("")).unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut buffer = rustix::net::SendAncillaryBuffer::new(&mut space);
        let fds = [std::os::fd::AsFd::as_fd(&root)];
        assert!(buffer.push(rustix::net::SendAncillaryMessage::ScmRights(&fds)));
        let part = [std::io::IoSlice::new(b"x")];
        rustix::net::sendmsg(&ours, &part, &mut buffer, rustix::net::SendFlags::empty()).unwrap();
        assert!(running.wait().unwrap().success());
        use std::io::{Read, Seek};
        let (mut out, mut said) = (out, String::new());
        out.rewind().unwrap();
        out.read_to_string(&mut said).unwrap();
        assert_eq!(said, "EACCES\nEACCES\nEACCES\n");
        assert_eq!(fs::read_to_string(world.path("other/file")).unwrap(), "other/file");
    }
}

#[test]
fn root_leaves_no_file_that_runs_as_its_owner() {
    if !belay_testkit::is_root() {
        return;
    }
    for world in worlds() {
        for attempt in [
            "os.chmod('code', 0o4755)",
            "os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755)",
            "os.mknod('made', 0o104755)",
        ] {
            assert_eq!(world.error_of(&format!("attempt(lambda: {attempt})")), "EPERM", "{attempt}");
        }
        assert_eq!(world.error_of("call(437, -100, b'made', 0, 0)"), "ENOSYS", "openat2");
    }
}

#[test]
fn sockets_of_the_machine_cannot_be_reached() {
    if !has_namespaces() {
        return;
    }
    for network in [Network::None, Network::Shared] {
        let world = world_of(1000, network);
        let name = format!("belay-jail-test-{}-{network:?}", std::process::id());
        let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let _path = UnixListener::bind(world.path("other/socket")).unwrap();
        let connect = |address: &str| {
            let lines = format!("attempt(lambda: socket.socket(socket.AF_UNIX).connect({address}))");
            world.error_of(&lines)
        };
        assert_eq!(connect("ROOT + '/other/socket'"), "ENOENT");
        if network == Network::Shared && belay_sys::landlock_abi().is_none_or(|abi| abi < 6) {
            belay_testkit::skip("Landlock without scopes: abstract sockets of a shared network can be reached");
            continue;
        }
        let expected = if network == Network::None { "ECONNREFUSED" } else { "EPERM" };
        assert_eq!(connect(&format!("'\\0{name}'")), expected, "{network:?}");
    }
}

#[test]
fn without_a_network_there_is_no_way_out() {
    if !has_namespaces() {
        return;
    }
    let world = world_of(1000, Network::None);
    let lines = "attempt(lambda: socket.create_connection(('192.0.2.1', 80), 1))";
    assert_eq!(world.error_of(lines), "ENETUNREACH");
    let lines = "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))";
    assert_eq!(world.error_of(lines), "EPERM");
}

#[test]
fn shared_memory_and_messages_are_its_own() {
    for world in worlds() {
        assert_eq!(world.says("ls -A /dev/shm | wc -l; ipcs -m 2>/dev/null | grep -c 0x || true"), "0\n0");
        let cgroup = world.says("cat /proc/self/cgroup | head -1");
        assert!(cgroup.ends_with(":/") || cgroup.contains("/.."), "{cgroup}");
        assert!(!world.path("..").join("jail-was-here").exists());
    }
}

/// Tries every part of `/proc` that is about the machine; prints those that can be written, or read though others may not.
const PARTS_OF_PROC: &str = "
import stat
def tried(path, flags):
    try: os.close(os.open(path, flags | os.O_NONBLOCK)); return True
    except OSError: return False
for top in os.listdir('/proc'):
    if top[0].isdigit() or os.path.islink('/proc/' + top): continue
    for where, _, names in os.walk('/proc/' + top) if os.path.isdir('/proc/' + top) else [('/proc', [], [top])]:
        for name in names:
            path = os.path.join(where, name)
            try: mode = os.lstat(path).st_mode
            except OSError: continue
            if stat.S_ISREG(mode) and mode & 0o222 and tried(path, os.O_WRONLY): print('written', path)
            if where == '/proc' and not mode & 0o004 and tried(path, os.O_RDONLY): print('read', path)
";

#[test]
fn root_changes_nothing_of_the_machine_through_proc_and_reads_no_more_of_it_than_others() {
    if !belay_testkit::is_root() {
        belay_testkit::skip("only root owns the machine's part of /proc");
        return;
    }
    for world in worlds() {
        assert_eq!(world.error_of(PARTS_OF_PROC), "");
    }
}

#[test]
fn a_stream_can_be_opened_again_only_for_what_it_is_open_for() {
    for world in worlds() {
        if belay_sys::landlock_abi().is_none() {
            belay_testkit::skip("no Landlock: streams can be opened again for anything");
            return;
        }
        let (input, output) = (world.path("other/input"), world.path("other/output"));
        fs::write(&input, "prompt").unwrap();
        fs::write(&output, "log ").unwrap();
        give(&world, &["other/input", "other/output"]);
        let lines = "echo pwned > /proc/self/fd/0; echo pwned > /dev/stdin; cat /dev/stdin; echo said > /dev/stderr; cat /proc/self/fd/1 > read";
        let open =
            |path: &std::path::Path, write: bool| fs::File::options().read(!write).append(write).open(path).unwrap();
        let stdio = [open(&input, false).into(), open(&output, true).into(), open(&output, true).into()];
        let launch = world.launch(&["/bin/sh", "-c", lines], Some(stdio));
        belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap().release().unwrap().wait().unwrap();
        assert_eq!(fs::read_to_string(&input).unwrap(), "prompt");
        assert!(fs::read_to_string(&output).unwrap().contains("said"), "a stream by its name");
        assert_eq!(
            fs::read_to_string(world.path("workspace/read")).unwrap(),
            "",
            "what is there already is not for it"
        );
    }
}

#[test]
fn a_directory_is_no_stream() {
    for world in worlds() {
        let null = || std::os::fd::OwnedFd::from(fs::File::open("/dev/null").unwrap());
        let launch = world.launch(&["/bin/true"], Some([fs::File::open("/").unwrap().into(), null(), null()]));
        let error = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("standard input is a directory"), "{error}");
    }
}

#[test]
fn the_users_own_processes_outside_stay_out_of_reach_and_cannot_reach_in() {
    let Some(world) = has_namespaces().then(|| world_of_other(Network::Shared)).flatten() else { return };
    let user = belay_testkit::OrdinaryUser::find().unwrap();
    let mut outside = user.command("sleep", std::path::Path::new("/tmp")).arg("1000").spawn().unwrap();
    let pid = outside.id();
    // Every process of that user which can be named is signalled, and the one outside by its number.
    let lines = format!(
        "import signal\n\
         signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         attempt(lambda: os.kill({pid}, 9))\n\
         try: os.kill(-1, signal.SIGTERM)\n\
         except OSError: pass\n\
         call(101, 16, {pid}, 0, 0)\n\
         attempt(lambda: open('/proc/{pid}/environ'))\n\
         attempt(lambda: os.stat('/run/user/{}'))\n\
         attempt(lambda: os.listdir('/var/spool/cron'))",
        user.uid()
    );
    assert_eq!(world.error_of(&lines), "ESRCH\nESRCH\nENOENT\nENOENT\nENOENT");
    assert!(outside.try_wait().unwrap().is_none(), "it lives on");
    outside.kill().unwrap();
    outside.wait().unwrap();

    // The jail is root's: that user sees neither into it, nor enters it, nor reads the first process.
    let mut held = world.held(&["/bin/sleep", "1000"]).release().unwrap();
    let pid = held.pid();
    let script = format!("cat /proc/{pid}/environ; ls /proc/{pid}/root/; nsenter -t {pid} -m -U true");
    let tried = user.command("sh", std::path::Path::new("/tmp")).args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&tried.stdout), "", "{}", String::from_utf8_lossy(&tried.stderr));
    assert!(!tried.status.success());
    held.kill().unwrap();
    held.wait().unwrap();
}

#[test]
fn nothing_of_roots_can_be_had_by_whoever_is_somebody_else() {
    use std::os::unix::fs::PermissionsExt;
    let Some(world) = has_namespaces().then(|| world_of_other(Network::None)).flatten() else { return };
    for (name, mode) in [("of-root", 0o644), ("secret", 0o600), ("script", 0o4755)] {
        fs::write(world.path("workspace").join(name), "roots").unwrap();
        fs::set_permissions(world.path("workspace").join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(world.path("workspace/closed")).unwrap();
    fs::write(world.path("workspace/closed/file"), "roots").unwrap();
    fs::set_permissions(world.path("workspace/closed"), fs::Permissions::from_mode(0o700)).unwrap();
    for (attempt, error) in [
        ("open('of-root', 'a')", "EACCES"),
        ("open('secret')", "EACCES"),
        ("os.chmod('of-root', 0o666)", "EPERM"),
        ("os.utime('of-root', (0, 0))", "EPERM"),
        ("os.truncate('of-root', 0)", "EACCES"),
        ("os.setxattr('of-root', 'user.x', b'y')", "EACCES"),
        ("os.listdir('closed')", "EACCES"),
        ("open('closed/file')", "EACCES"),
        ("os.link('secret', 'linked')", "EPERM"),
        ("os.chown('code', 0, -1)", "EPERM"),
        ("open('/proc/1/environ')", "EACCES"),
        ("os.kill(1, 9)", "EPERM"),
        ("open('code', 'a').write('!')", "none"),
    ] {
        assert_eq!(world.error_of(&format!("attempt(lambda: {attempt})")), error, "{attempt}");
    }
    assert_eq!(fs::read_to_string(world.path("workspace/of-root")).unwrap(), "roots");
}

#[test]
fn somebody_else_ends_with_whoever_started_it() {
    use std::io::BufRead;
    const STARTER: &str = "BELAY_TEST_STARTER";
    if std::env::var_os(STARTER).is_some() {
        let world = world_of_other(Network::None).unwrap();
        let mut launch = world.launch(&["/bin/sleep", "1000"], None);
        launch.dies_with_parent = true;
        let running = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap().release().unwrap();
        println!("pid {}", running.pid());
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    if !belay_testkit::is_root() || !has_namespaces() {
        return;
    }
    let mut starter = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "escape::somebody_else_ends_with_whoever_started_it", "--nocapture"])
        .env(STARTER, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(starter.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid: u32 = lines.find_map(|line| line.strip_prefix("pid ")?.parse().ok()).unwrap();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    starter.kill().unwrap();
    starter.wait().unwrap();
    let is_gone = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let began = std::time::Instant::now();
    while !is_gone() {
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
