//! Runs in a jail, the profiles that make it, and the reasons for what it refuses.

use std::process::Command;

use insta::assert_snapshot;

use crate::running::{is_alive, records, until};
use crate::world::World;

/// Whether this machine lets anybody make namespaces; said aloud if not.
pub(crate) fn has_namespaces() -> bool {
    let answer = Command::new("unshare").args(["--user", "--mount", "--pid", "--fork", "true"]).output();
    let works = answer.is_ok_and(|answer| answer.status.success());
    if !works {
        belay_testkit::skip("no namespaces");
    }
    works
}

#[test]
fn a_jailed_run_destroys_the_workspace_at_most_and_that_comes_back() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("code", "mine").file("dir/more", "too");
    std::fs::write(world.workspace.base().join("secret"), "home").unwrap();
    let before = world.workspace.walk();
    // It is in a jail whose only writable tree of the machine is the temporary workspace, or it does nothing.
    let script = "test \"$(hostname)\" = belay || exit 99; cat \"$HOME/secret\"; ls \"$HOME\"; \
                  rm -rf \"$HOME\"/* ./* 2>/dev/null; ls \"$BELAY_HOME\"; echo $? left";
    let ran = world.belay(&["run", "--isolation", "jail", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("left") && !ran.stdout.contains("store"), "{ran}");
    assert!(ran.stderr.contains("in a jail"), "{ran}");
    assert!(!world.has("code"), "the jail is not there to keep the workspace from its agent");
    assert_eq!(std::fs::read_to_string(world.workspace.base().join("secret")).unwrap(), "home");
    let run = records(&world).remove(0);
    assert_eq!(run["protection"]["isolation"], "jail");
    assert!(run["totals"]["commands"].as_u64() >= Some(3), "what happens inside is seen: {run}");
    world.ok(&["rollback", "-y", "@pre-run"]);
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());
}

#[test]
fn the_exit_code_streams_and_scripts_are_as_without_a_jail() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("text", "no program").file("script", "echo from-a-script $1");
    let exe = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(world.workspace.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    exe("script");
    let jail = ["run", "-q", "--isolation", "jail", "--"];
    let mut with = |words: &[&str]| world.belay(&[&jail[..], words].concat());
    assert_eq!(with(&["sh", "-c", "exit 7"]).code, 7);
    assert_eq!(with(&["sh", "-c", "kill -KILL $$"]).code, 137);
    assert_eq!(with(&["./text"]).code, 126);
    assert_eq!(with(&["./script", "x"]).stdout.trim(), "from-a-script x");
    let ran = with(&["sh", "-c", "echo $BELAY_RUN; ls /proc/$$/fd; env | grep -c SECRET"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("run_"), "{ran}");
    assert_eq!(lines[1..], ["0", "1", "2", "0"], "{ran}");
}

#[test]
fn what_a_jailed_command_leaves_behind_ends_with_it() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["run", "--isolation", "jail", "--", "sh", "-c", "setsid sleep 4242 & sleep 0.2"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("lives on"), "{ran}");
}

#[test]
fn a_jail_ends_with_its_supervisor() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    world.workspace.file("a", "a");
    let mut client = world.command(&["run", "--isolation", "jail", "--", "sleep", "1000"]).spawn().unwrap();
    let child = || records(&world).first().and_then(|run| run["child"]["pid"].as_u64()).unwrap_or(0) as u32;
    until("the command runs", || records(&world).first().is_some_and(|run| run["state"] == "running") && child() != 0);
    let supervisor = records(&world)[0]["supervisor"]["pid"].as_u64().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &supervisor]).status().unwrap().success());
    until("the jail ends", || !is_alive(child()));
    client.wait().unwrap();
}

#[test]
fn flags_grant_and_hide_for_one_run() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".env", "secret").file("a", "a");
    let outside = world.workspace.base().join("beside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "granted").unwrap();
    let path = outside.to_str().unwrap().to_owned();
    let script = format!("cat {path}/file; echo x > {path}/new || echo not-written; cat .env || echo not-read");
    let mut with = |flags: &[&str]| {
        let words = [&["run", "-q", "--isolation", "jail"], flags, &["--", "sh", "-c", &script]].concat();
        world.belay(&words).stdout
    };
    assert_eq!(with(&["--ro", &path]), "grantednot-written\nsecret");
    assert_eq!(with(&["--rw", &path, "--hide", ".env"]), "grantednot-read\n");
    assert_eq!(with(&["--profile", "strict"]), "not-written\nnot-read\n");
    assert!(outside.join("new").exists());
    let missing = world.belay(&["run", "--isolation", "jail", "--ro", "nowhere", "--", "true"]);
    assert_eq!(missing.code, 125, "{missing}");
    let unknown = world.belay(&["run", "--isolation", "jail", "--profile", "nobody", "--", "true"]);
    assert!(unknown.stderr.contains("there is no profile nobody"), "{unknown}");
}

#[test]
fn what_is_hidden_stays_hidden_when_its_owner_saves_it() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".env", "SECRET=1\n").file("a", "a");
    let script = "echo ready > ready; while [ ! -e go ]; do sleep 0.05; done; cat .env || echo not-read";
    let mut command = world.command(&["run", "-q", "--profile", "strict", "--", "sh", "-c", script]);
    let run = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("it runs", || world.has("ready"));
    // As editors save.
    world.workspace.file("new", "SECRET=2\n");
    std::fs::rename(world.workspace.join("new"), world.workspace.join(".env")).unwrap();
    let told = || {
        let log = world.command(&["log", "--json"]).output().unwrap().stdout;
        String::from_utf8_lossy(&log).contains("was replaced from outside")
    };
    until("it is covered again", told);
    world.workspace.file("go", "");
    let output = run.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "not-read\n");
    assert!(world.ok(&["show"]).contains("was replaced from outside"));
}

#[test]
fn what_only_root_may_read_of_the_settings_is_not_there_for_a_confined_root() {
    if !has_namespaces() || !belay_testkit::is_root() {
        return belay_testkit::skip("only root owns the settings of the machine");
    }
    let mut world = World::new();
    let lines = "\
import os, stat
for where, _, names in os.walk('/etc'):
    for name in names:
        path = os.path.join(where, name)
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) or mode & 0o004: continue
        try: open(path).close(); print(path)
        except OSError: pass
";
    world.workspace.file("look.py", lines);
    let secret = ["/etc/shadow", "/etc/.pwd.lock"].into_iter().find(|path| std::path::Path::new(path).exists());
    let ran = world.belay(&["run", "-q", "--", "python3", "look.py"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    if let Some(secret) = secret {
        let ran = world.belay(&["run", "-q", "--ro", secret, "--", "cat", secret]);
        assert_eq!(ran.code, 0, "what is named is granted: {ran}");
    }
}

#[test]
fn a_run_in_the_midst_of_settings_cannot_change_belays_own() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("belay/config.toml", "").file("belay/profiles/own.toml", "inherits = [\"default\"]\n");
    let script = "echo x > other; echo '[isolation]' > belay/config.toml; touch belay/profiles/default.toml; \
                  mv belay belay2; ls belay/profiles";
    for flags in [&["--isolation", "jail"][..], &["--ephemeral"]] {
        let mut command = world.command(&[&["run", "-q"], flags, &["--", "sh", "-c", script]].concat());
        // As for whoever has not set BELAY_HOME, and works on the directory of all settings.
        command.env_remove("BELAY_HOME").env("XDG_DATA_HOME", world.workspace.home());
        command.env("XDG_CONFIG_HOME", world.workspace.path());
        let ran = world.ran(command);
        assert_eq!(ran.stdout, "own.toml\n", "{flags:?}: {ran}");
    }
    assert_eq!((world.read("belay/config.toml").as_str(), world.read("other").as_str()), ("", "x\n"));
}

#[test]
fn a_file_that_is_given_to_be_read_stays_as_it_is() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let prompt = world.workspace.base().join("prompt");
    std::fs::write(&prompt, "do it").unwrap();
    let script = "echo pwned > /proc/self/fd/0; echo pwned > /dev/stdin; cat";
    let mut command = world.command(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", script]);
    command.stdin(std::fs::File::open(&prompt).unwrap());
    let ran = world.ran(command);
    assert_eq!(ran.stdout, "do it", "{ran}");
    assert_eq!(std::fs::read_to_string(&prompt).unwrap(), "do it");
    let mut command = world.command(&["run", "-q", "--isolation", "jail", "--", "ls"]);
    command.stdin(std::fs::File::open("/").unwrap());
    let ran = world.ran(command);
    assert!(ran.code == 125 && ran.stderr.contains("standard input is a directory"), "{ran}");
}

#[test]
fn a_link_that_a_run_left_behind_opens_nothing_for_the_next_one() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("code", "mine");
    let outside = world.workspace.base().join("secret");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("key"), "private").unwrap();
    let (outside, home) = (outside.display().to_string(), world.workspace.home().display().to_string());
    let script = format!("mkdir .git; ln -s {outside} .git/hooks; ln -s {outside} data; ln -s {home} store");
    world.ok(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", &script]);
    let look = "cat .git/hooks/key data/key; ls store/; echo x > data/new; echo x > store/new; echo over";
    for flags in
        [&["--isolation", "jail"][..], &["--rw", "data", "--rw", "store"], &["--ephemeral"], &["--profile", "strict"]]
    {
        let words = [&["run"], flags, &["--", "sh", "-c", look]].concat();
        let ran = world.belay(&words);
        assert_eq!(ran.stdout.trim(), "over", "{flags:?}: {ran}");
    }
    let told = world.ok(&["show"]);
    assert!(told.contains("is a link that a confined command could have made"), "{told}");
    // A link that nobody inside can have made leads where it leads, but never to belay's own directory.
    let link = world.workspace.base().join("link");
    std::os::unix::fs::symlink(&home, &link).unwrap();
    let link = link.display().to_string();
    let ran = world.belay(&["run", "-q", "--rw", &link, "--", "sh", "-c", &format!("ls {link}/ {home}; echo over")]);
    assert_eq!(ran.stdout.trim().lines().last(), Some("over"), "{ran}");
    assert!(!ran.stdout.contains("workspaces"), "{ran}");
    assert!(!std::path::Path::new(&home).join("new").exists() && !std::path::Path::new(&outside).join("new").exists());
}

#[test]
fn nothing_that_a_run_leaves_behind_frees_the_next_one() {
    if !has_namespaces() {
        return;
    }
    let left = [
        "mkdir .git; ln -s hooks .git/hooks",
        "ln -s .git .git",
        "mkdir .git; ln -s ../a/../.git/hooks .git/hooks",
        "mkdir .git; python3 -c \"import os; os.symlink('deep/' * 800, '.git/hooks')\"",
        "mkdir .git; python3 -c \"import os; os.symlink('n' * 300, '.git/hooks')\"",
        "mkdir .git; mkfifo .git/hooks",
        "touch .git",
        "mkdir -p .git/hooks; chmod 0 .git/hooks",
        "mkdir -p .git/hooks; chmod 0 .git",
    ];
    for script in left {
        let mut world = World::new();
        world.workspace.file("a", "a");
        std::fs::write(world.workspace.base().join("secret"), "home").unwrap();
        world.ok(&["run", "-q", "--", "sh", "-c", script]);
        let ran = world.belay(&["run", "--", "sh", "-c", "cat ~/secret; echo over"]);
        let is_refused = ran.code == 125 && ran.stdout.is_empty();
        assert!(is_refused || (ran.stdout == "over\n" && ran.stderr.contains("in a jail")), "{script}: {ran}");
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(world.workspace.path()).status();
    }
}

/// Two names are exchanged as fast as they can be: a directory that is protected, and a link to a secret.
const EXCHANGE: &str = "\
import ctypes, os, time
libc, end = ctypes.CDLL(None), time.time() + 30
while time.time() < end and not os.path.exists('stop'):
    libc.renameat2(-100, b'.git/hooks', -100, b'.git/link', 2)
";

#[test]
fn whoever_races_with_the_start_of_a_run_frees_nobody() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".git/hooks/a", "a").file("exchange.py", EXCHANGE);
    let secret = world.workspace.base().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("key"), "private").unwrap();
    std::os::unix::fs::symlink(&secret, world.workspace.join(".git/link")).unwrap();
    let mut enemy = Command::new("python3").arg("exchange.py").current_dir(world.workspace.path()).spawn().unwrap();
    for _ in 0..8 {
        let ran = world.belay(&["run", "--", "sh", "-c", "cat .git/hooks/key .git/link/key ~/secret/key; echo over"]);
        let is_refused = ran.code == 125 && ran.stdout.is_empty();
        assert!(is_refused || (ran.stdout == "over\n" && ran.stderr.contains("in a jail")), "{ran}");
    }
    world.workspace.file("stop", "");
    enemy.wait().unwrap();
}

#[test]
fn a_flag_that_only_a_jail_can_honour_asks_for_one() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".env", "secret");
    for flags in [&["--hide", ".env"][..], &["--profile", "strict"]] {
        let ran = world.belay(&[&["run"], flags, &["--", "sh", "-c", "cat .env || echo hidden"]].concat());
        assert_eq!(ran.stdout.trim(), "hidden", "{ran}");
        assert!(ran.stderr.contains("in a jail (profile "), "{ran}");
        let refused = world.belay(&[&["run", "--isolation", "none"], flags, &["--", "cat", ".env"]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused}");
        assert!(refused.stderr.contains("needs a jail"), "{refused}");
    }
    let unknown = world.belay(&["run", "--profile", "nobody", "--", "true"]);
    assert!(unknown.code == 125 && unknown.stderr.contains("there is no profile nobody"), "{unknown}");
}

#[test]
fn profiles_can_be_listed_shown_and_checked() {
    let mut world = World::new();
    let own = world.workspace.home().join("profiles");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("mine.toml"), "description = 'Mine.'\ninherits = ['strict']\n").unwrap();
    let listed = world.ok(&["profile", "list"]);
    assert!(listed.contains("claude") && listed.contains("Mine."), "{listed}");
    let shown = world.json(&["profile", "show", "mine"]);
    assert_eq!(shown["lineage"], serde_json::json!(["default", "strict", "mine"]));
    assert_eq!(shown["network"], "none");
    world.workspace.file("bad.toml", "[paths]\nread = ['*.pem']\n");
    assert_snapshot!(world.belay(&["profile", "check", "bad.toml"]), @r#"
    exit 2
    --- stderr
    error: in the profile bad, "*.pem" is a pattern, and only paths can be granted
    hint: `belay profile list` shows every profile
    "#);
}

#[test]
fn every_decision_names_its_rule() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    world.workspace.file(".git/HEAD", "");
    let why = world.json(&["why", ".git/hooks/pre-commit"]);
    assert_eq!(why["decision"], "can be written", "nothing can be mounted where nothing is");
    assert!(why["rule"].as_str().is_some_and(|rule| rule.contains("would be protected if it were there")), "{why}");
    world.workspace.file(".git/hooks/pre-commit", "");
    assert_snapshot!(world.belay(&["why", ".git/hooks/pre-commit", "--profile", "claude"]), @"
    exit 0
    --- stdout
    .git/hooks/pre-commit: can be read
      rule: .git/hooks (profile default)
      otherwise with: --rw [WORKSPACE]/.git/hooks/pre-commit
    ");
    assert_snapshot!(world.belay(&["why", "unshare"]), @"
    exit 0
    --- stdout
    unshare (system call): refused
      rule: a namespace inside would bring privileges back
    ");
    assert_snapshot!(world.belay(&["why", "example.com", "--profile", "strict"]), @r#"
    exit 0
    --- stdout
    example.com (host): not reachable
      rule: there is no network (profile strict)
      otherwise with: a profile whose network.mode is "shared"
    --- stderr
    hint: taken for a host; --path, --host or --call says what is meant
    "#);
    // A name that could be several things is answered as one of them, which is said.
    world.workspace.file("mount", "");
    let mount = world.belay(&["why", "mount"]);
    assert!(mount.stdout.starts_with("mount: can be written") && mount.stderr.contains("taken for a path"), "{mount}");
    assert!(world.ok(&["why", "mount", "--call"]).starts_with("mount (system call): refused"));
    let nothing = world.belay(&["why", "nothing-like-it"]);
    assert!(nothing.code == 3 && nothing.stderr.contains("nothing called nothing-like-it is known"), "{nothing}");
    for name in ["$GITHUB_TOKEN", "GITHUB_TOKEN"] {
        let why = world.json(&["why", name]);
        assert_eq!((&why["taken_for"], &why["decision"]), (&"variable".into(), &"not passed on".into()), "{why}");
    }
    let store = world.workspace.home().join("store");
    let why = world.json(&["why", store.to_str().unwrap()]);
    assert_eq!(why["decision"], "hidden");
    assert_eq!(why["instead"], serde_json::Value::Null);
}

#[test]
fn what_a_command_leaves_running_is_ended_and_named() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let ran =
        world.belay(&["run", "--isolation", "jail", "--", "sh", "-c", "nohup sleep 302 & sleep 303 & echo started"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "started\n"), "{ran}");
    assert!(ran.stderr.contains("2 processes that it left were ended with the run: sleep 30"), "{ran}");
    let ran = world.belay(&["run", "--isolation", "jail", "--", "sh", "-c", "sleep 0.01 & echo started"]);
    assert!(!ran.stderr.contains("ended with the run"), "{ran}");
}
