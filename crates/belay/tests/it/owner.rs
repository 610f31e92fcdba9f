//! Root in a workspace that is somebody else's: the command is who owns it, and belay says so.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use belay_testkit::OrdinaryUser;

use crate::jailed::has_namespaces;
use crate::running::records;
use crate::world::{Ran, World};

/// Somebody's workspace, in which root works.
struct Guest {
    user: OrdinaryUser,
    world: World,
}

impl Guest {
    fn new() -> Option<Guest> {
        if !belay_testkit::is_root() {
            belay_testkit::skip("only root works in the workspaces of others");
            return None;
        }
        if !has_namespaces() {
            return None;
        }
        let (user, world) = (OrdinaryUser::find()?, World::new());
        // Nobody but the owner comes in, and what is around it is root's alone.
        std::fs::set_permissions(world.workspace.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
        user.own(world.workspace.path());
        let guest = Guest { user, world };
        guest.file("code", "mine");
        Some(guest)
    }

    fn file(&self, path: &str, text: &str) {
        self.world.workspace.file(path, text);
        let mut place = self.world.workspace.join(path);
        while place != self.world.workspace.path() {
            self.user.own(&place);
            place.pop();
        }
    }

    fn owner(&self, path: &str) -> (u32, u32) {
        let found = self.world.workspace.join(path).symlink_metadata().expect("a path");
        (found.uid(), found.gid())
    }

    fn own(&self) -> (u32, u32) {
        (self.user.uid(), self.user.gid())
    }

    fn run(&mut self, flags: &[&str], script: &str) -> Ran {
        self.world.belay(&[&["run"], flags, &["--", "sh", "-c", script]].concat())
    }
}

#[test]
fn what_is_made_there_belongs_to_the_owner_and_belay_says_as_whom() {
    let Some(mut guest) = Guest::new() else { return };
    let script = "set -e; echo two > made; mkdir -p dir/in; echo x > dir/in/file; ln -s made link; echo more >> code; \
                  id -u; id -g; id -un; chmod 600 made; mktemp > /dev/null; echo said > /dev/stderr; touch /dev/shm/x";
    let ran = guest.run(&["--isolation", "jail"], script);
    assert_eq!(ran.code, 0, "{ran}");
    let (uid, gid) = guest.own();
    assert_eq!(ran.stdout, format!("{uid}\n{gid}\nbelaytest\n"), "{ran}");
    for path in ["made", "dir", "dir/in", "dir/in/file", "link", "code"] {
        assert_eq!(guest.owner(path), (uid, gid), "{path}");
    }
    assert_eq!(guest.world.read("code"), "minemore\n");
    assert!(ran.stderr.contains("said"), "a stream has a name: {ran}");
    assert!(ran.stderr.contains("in a jail (profile default) as belaytest, whose workspace it is"), "{ran}");
    assert!(ran.stderr.contains("belaytest has no home here"), "{ran}");
    let run = records(&guest.world).remove(0);
    assert_eq!(run["protection"]["person"]["uid"], uid, "{run}");
    let id = run["id"].as_str().unwrap().to_owned();
    let shown = guest.world.ok(&["show", &id]);
    assert!(shown.contains("as belaytest, whose workspace it is") && shown.contains("has no home here"), "{shown}");
    // What was there comes back with its owner.
    guest.world.ok(&["rollback", "-y", "@pre-run"]);
    assert_eq!((guest.world.read("code"), guest.owner("code")), ("mine".to_owned(), guest.own()));
    assert!(!guest.world.has("made"));
    guest.world.ok(&["undo", "-y"]);
    assert_eq!((guest.owner("made"), guest.owner("dir/in/file")), (guest.own(), guest.own()));
}

#[test]
fn status_says_it_while_the_command_runs() {
    let Some(mut guest) = Guest::new() else { return };
    let id = guest.world.ok(&["run", "--isolation", "jail", "--detach", "--", "sleep", "60"]).trim().to_owned();
    let status = guest.world.ok(&["status"]);
    guest.world.ok(&["stop", &id]);
    assert!(status.contains("as belaytest, whose workspace it is"), "{status}");
}

#[test]
fn nothing_of_roots_is_the_commands_own() {
    let Some(mut guest) = Guest::new() else { return };
    guest.file("dir/of-owner", "mine");
    guest.world.workspace.file("of-root", "roots").file("closed/of-root", "roots");
    let closed = guest.world.workspace.join("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let beside = guest.world.workspace.base().join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("file"), "roots").unwrap();
    let script = "(echo x > of-root) 2>/dev/null && echo wrote; cat closed/of-root 2>/dev/null && echo read; \
                  cp code of-root 2>/dev/null && echo copied; chmod 777 of-root 2>/dev/null && echo opened; \
                  chown 0 code 2>/dev/null && echo given; chmod 4755 code 2>/dev/null && echo setuid; \
                  (echo x > \"$BESIDE/file\") 2>/dev/null && echo beside; touch \"$BESIDE/new\" 2>/dev/null && echo made; \
                  cat /etc/shadow 2>/dev/null && echo shadow; ls /root 2>/dev/null && echo root; \
                  grep -E '^(Groups|CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status; \
                  kill -0 1 2>/dev/null && echo first; ls \"$STORE\" 2>/dev/null && echo store; cat dir/of-owner";
    let mut command = guest.world.command(&[
        "run",
        "-q",
        "--isolation",
        "jail",
        "--rw",
        beside.to_str().unwrap(),
        "--",
        "env",
        &format!("BESIDE={}", beside.display()),
        &format!("STORE={}", guest.world.workspace.home().display()),
        "sh",
        "-c",
        script,
    ]);
    // Root's further groups are nobody else's.
    command.env("HOME", "/root");
    let ran = guest.world.ran(command);
    let none = "0000000000000000";
    let expected =
        format!("Groups:\t \nNoNewPrivs:\t1\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\nmine");
    let raw = ran.raw();
    let mut said: Vec<&str> = raw.lines().collect();
    said.sort_unstable();
    let mut wanted: Vec<&str> = expected.lines().collect();
    wanted.sort_unstable();
    assert_eq!(said, wanted, "{ran}");
    assert_eq!(std::fs::read_to_string(beside.join("file")).unwrap(), "roots");
    assert_eq!(guest.world.read("of-root"), "roots");
    assert_eq!(guest.owner("of-root"), (0, 0));
}

#[test]
fn what_is_kept_apart_is_the_owners_and_comes_in_as_such() {
    let Some(mut guest) = Guest::new() else { return };
    guest.file("dir/old", "old");
    guest.world.workspace.file("of-root", "roots");
    let script = "set -e; echo new > made; chmod 600 made; echo more >> code; rm dir/old; echo x > dir/new; id -u; ls -ld . | cut -c1-10; \
                  mv of-root moved; cat moved";
    let ran = guest.run(&["--ephemeral"], script);
    assert_eq!(ran.stdout, format!("{}\ndrwx------\nroots", guest.user.uid()), "{ran}");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!guest.world.has("made"));
    let shown = guest.world.ok(&["review"]);
    assert!(shown.contains("made") && shown.contains("dir/new"), "{shown}");
    guest.world.ok(&["review", "--apply", "-y"]);
    for path in ["made", "code", "dir/new"] {
        assert_eq!(guest.owner(path), guest.own(), "{path}");
    }
    assert_eq!((guest.world.read("made"), guest.owner("moved")), ("new\n".to_owned(), (0, 0)));
    assert!(!guest.world.has("dir/old") && !guest.world.has("of-root"));
}

#[test]
fn a_fork_is_worked_in_as_the_owner() {
    let Some(mut guest) = Guest::new() else { return };
    guest.world.ok(&["fork", "-q", "alpha"]);
    let ran = guest.world.belay(&["run", "--fork", "alpha", "--", "sh", "-c", "id -u; echo in-fork > made"]);
    assert_eq!((ran.code, ran.stdout.clone()), (0, format!("{}\n", guest.user.uid())), "{ran}");
    guest.world.ok(&["pick", "alpha", "-y"]);
    assert_eq!((guest.world.read("made"), guest.owner("made")), ("in-fork\n".to_owned(), guest.own()));
}

#[test]
fn what_is_hidden_or_protected_stays_so_whoever_owns_the_way_to_it() {
    let Some(mut guest) = Guest::new() else { return };
    guest.file(".env", "SECRET=1");
    guest.file("closed/.env", "SECRET=2");
    // A directory of root's that nobody else enters, and a group that is not the owner's.
    std::os::unix::fs::chown(guest.world.workspace.join("closed"), Some(guest.user.uid()), Some(0)).unwrap();
    std::fs::set_permissions(guest.world.workspace.join("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let script = "cat .env || echo not-read; cat closed/.env || echo not-read; rm .env 2>/dev/null || echo not-removed";
    let ran = guest.run(&["-q", "--hide", ".env", "--hide", "closed/.env"], script);
    assert_eq!(ran.stdout, "not-read\nnot-read\nnot-removed\n", "{ran}");
    let git = guest.world.workspace.join(".git/hooks");
    std::fs::create_dir_all(&git).unwrap();
    [git.parent().unwrap(), &git].into_iter().for_each(|path| guest.user.own(path));
    let ran =
        guest.run(&["-q", "--isolation", "jail"], "(echo x > .git/hooks/pre-commit) 2>/dev/null || echo protected");
    assert_eq!(ran.stdout, "protected\n", "{ran}");
}

#[test]
fn the_run_can_be_asked_from_inside() {
    let Some(mut guest) = Guest::new() else { return };
    let script =
        "belay snapshot -q > /dev/null && echo taken; rm code; belay rollback -y @pre-run code > /dev/null; cat code";
    let ran = guest.run(&["-q", "--isolation", "jail"], script);
    assert_eq!(ran.stdout, "taken\nmine", "{ran}");
    assert_eq!(guest.owner("code"), guest.own());
}

#[test]
fn without_a_jail_it_is_root_and_that_is_said() {
    let Some(mut guest) = Guest::new() else { return };
    let ran = guest.run(&["--isolation", "none"], "id -u; echo x > made");
    assert_eq!((ran.stdout.as_str(), guest.owner("made")), ("0\n", (0, 0)), "{ran}");
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("runs as root: what it makes in the workspace of belaytest belongs to root"), "{ran}");
}

#[test]
fn a_workspace_of_roots_stays_as_it_was() {
    let Some(mut guest) = Guest::new() else { return };
    std::os::unix::fs::chown(guest.world.workspace.path(), Some(0), Some(guest.user.gid())).unwrap();
    let ran = guest.run(&["--isolation", "jail"], "id -u; echo x > made");
    assert_eq!((ran.stdout.as_str(), guest.owner("made").0), ("1000\n", 0), "{ran}");
    assert!(!ran.stderr.contains("whose workspace"), "{ran}");
}

#[test]
fn the_owner_has_its_own_home_with_its_settings() {
    let Some(guest) = Guest::new() else { return };
    let home = guest.world.workspace.base().join("home-of-owner");
    for path in ["", ".claude", ".ssh", ".local/share/belay", ".config/belay"] {
        std::fs::create_dir_all(home.join(path)).unwrap();
    }
    std::fs::write(home.join(".claude/settings.json"), "own").unwrap();
    std::fs::write(home.join(".ssh/key"), "key").unwrap();
    std::fs::write(home.join(".local/share/belay/secret"), "store").unwrap();
    assert!(Command::new("chown").args(["-R", &guest.user.uid().to_string()]).arg(&home).status().unwrap().success());
    // The machine has another list of users, for this process alone.
    let (uid, gid) = guest.own();
    let list = guest.world.workspace.base().join("passwd");
    std::fs::write(&list, format!("root:x:0:0::/root:/bin/sh\nada:x:{uid}:{gid}::{}:/bin/sh\n", home.display()))
        .unwrap();
    std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o644)).unwrap();
    let script = "echo $HOME $USER; echo ~; whoami; cat ~/.claude/settings.json; echo x > ~/.claude/new && echo private; \
                  ls ~/.ssh 2>/dev/null && echo keys; ls ~/.local/share/belay 2>/dev/null && echo store; \
                  touch ~/.config/belay/config.toml 2>/dev/null && echo settings; echo $XDG_CONFIG_HOME; touch ~/x && echo empty";
    let words = ["run", "-q", "--profile", "claude", "--rw", home.to_str().unwrap(), "--", "sh", "-c", script];
    let narrow = ["run", "-q", "--profile", "claude", "--", "sh", "-c", script];
    let run = |words: &[&str]| {
        let mut unshared = Command::new("unshare");
        unshared.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/passwd && exec \"$@\""]).arg(&list);
        let belay = guest.world.command(words);
        unshared.arg(belay.get_program()).args(belay.get_args()).current_dir(guest.world.workspace.path());
        unshared
            .env("BELAY_HOME", guest.world.workspace.home())
            .env("HOME", "/srv")
            .env("XDG_CONFIG_HOME", "/srv/.config");
        let output = unshared.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!error.contains("no home"), "{error}");
        String::from_utf8(output.stdout).unwrap() + &error
    };
    let home = home.display();
    let beginning = format!("{home} ada\n{home}\nada\nownprivate\n");
    assert_eq!(run(&narrow), format!("{beginning}\nempty\n"));
    assert!(!Path::new(&format!("{home}/.claude/new")).exists() && !Path::new(&format!("{home}/x")).exists());
    // Whatever is opened of that home, what belay itself has there is not.
    assert_eq!(run(&words), format!("{beginning}key\nkeys\n\nempty\n"));
}
