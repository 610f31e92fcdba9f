//! Paths that a jail refuses: events with the command that asked, the narrowest rule, and `belay why` that agrees.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::jailed::has_namespaces;
use crate::world::{Ran, World};

/// A home with a key, notes and a program, and a workspace with hooks.
fn world() -> World {
    let world = World::new();
    world.workspace.file("a", "a").file(".git/hooks/pre-commit", "#!/bin/sh\n");
    let base = world.workspace.base();
    for (path, text) in [(".ssh/id_x", "key"), ("notes/one", "one\n"), ("bin/tool", "#!/bin/sh\necho tool\n")] {
        fs::create_dir_all(base.join(path).parent().expect("a parent")).expect("directories");
        fs::write(base.join(path), text).expect("a file");
    }
    fs::set_permissions(base.join("bin/tool"), fs::Permissions::from_mode(0o755)).expect("a mode");
    world
}

fn watched(world: &mut World, flags: &[&str], script: &str) -> Ran {
    let words = [&["run", "--isolation", "jail", "--denials"], flags, &["--", "sh", "-c", script]].concat();
    let mut command = world.command(&words);
    // A shell looks where the tester is.
    command.env_remove("PWD");
    world.ran(command)
}

/// The refused paths of the latest run, with the event and the program that asked.
fn denied(world: &mut World) -> Vec<(String, Value, String)> {
    let events = world.json(&["log"]).as_array().cloned().unwrap_or_default();
    let refused = events.iter().filter(|event| event["event"] == "denied" && event["path"].is_string());
    let asked = |event: &Value| {
        let exec = events.iter().find(|one| one["event"] == "exec" && one["command"] == event["command"]);
        exec.and_then(|exec| exec["argv"][0].as_str()).unwrap_or("nobody").to_owned()
    };
    refused.map(|event| (event["path"].as_str().expect("a path").to_owned(), event.clone(), asked(event))).collect()
}

#[test]
fn a_program_that_is_hidden_is_told_with_the_rule_that_shows_it() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let base = world.workspace.base().to_owned();
    let tool = base.join("bin/tool").display().to_string();
    std::os::unix::fs::symlink(&tool, world.workspace.join("linked")).expect("a link");
    world.workspace.file("script", format!("#!{tool} -x\n")).mode("script", 0o755).file("broken", "#!/no/such\n");
    world.workspace.mode("broken", 0o755);
    for program in ["./linked", "./script", &tool] {
        let ran = world.belay(&["run", "--isolation", "jail", "--", program]);
        assert_eq!(ran.code, 127, "{ran}");
        let raw = ran.stderr.replace('\n', " ");
        assert!(raw.contains("hidden in the jail") && raw.contains("--ro") && raw.contains("bin/tool"), "{ran}");
        let ran = world.belay(&["run", "--isolation", "jail", "--ro", &tool, "--", program]);
        assert_eq!(ran.code, 0, "{ran}");
    }
    let broken = world.belay(&["run", "--isolation", "jail", "--", "./broken"]);
    assert!(broken.code == 127 && !broken.stderr.contains("hidden in the jail"), "{broken}");
}

#[test]
fn a_refused_path_is_told_with_its_command_and_the_narrowest_rule() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let script = "cat ~/.ssh/id_x; cat ~/notes/one; touch /usr/belay-denied; tee .git/hooks/pre-push </dev/null; \
                  tee .git/hooks/pre-commit </dev/null; ~/bin/tool; cd ~ && cat notes/one; true";
    let ran = watched(&mut world, &[], script);
    assert_eq!(ran.code, 0, "{ran}");
    let base = world.workspace.base().to_owned();
    let at = |path: &str| base.join(path).display().to_string();
    let hook = |name: &str| world.workspace.join(format!(".git/hooks/{name}")).display().to_string();
    let (old, new) = (hook("pre-commit"), hook("pre-push"));
    let all = denied(&mut world);
    let find = |path: &str, who: &str| {
        let found = all.iter().find(|(found, _, asked)| found == path && asked == who);
        found.unwrap_or_else(|| panic!("{path} by {who} is not in {all:#?}")).1.clone()
    };
    let key = find(&at(".ssh/id_x"), "cat");
    assert_eq!((key["wanted"].as_str(), key["errno"].as_i64()), (Some("read"), Some(2)));
    assert!(key["closed"].as_str().is_some_and(|why| why.contains("keys")), "{key}");
    let notes = find(&at("notes/one"), "cat");
    assert!(notes["closed"].is_null() && notes["wanted"] == "read", "{notes}");
    let system = find("/usr/belay-denied", "touch");
    assert_eq!((system["wanted"].as_str(), system["errno"].as_i64()), (Some("write"), Some(30)));
    assert_eq!(find(&new, "tee")["absent"], true);
    assert_eq!(find(&old, "tee")["absent"], Value::Null);
    find(&at("bin/tool"), "sh");
    // The same is said when the run has ended, and afterwards.
    let shown = world.ok(&["show"]);
    for text in [ran.stderr.as_str(), world.belay(&["show"]).stdout.as_str()] {
        for part in [
            "--ro [BASE]/notes/one allows it",
            "--rw [WORKSPACE]/.git/hooks/pre-commit allows it",
            "--rw [WORKSPACE]/.git/hooks/pre-push allows it, once something is there",
            "[BASE]/.ssh/id_x could not be read",
            "stays closed: it holds keys or passwords, so opening it (--ro) is left to you",
        ] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(!shown.contains("--ro") || !shown.contains(&format!("--ro {}", at(".ssh"))), "{shown}");
    let listed = world.json(&["show"])["denied"].clone();
    let rule = |path: &str| {
        let all = listed.as_array().unwrap();
        all.iter().find(|one| one["path"] == path).map(|one| one["rule"].clone()).unwrap()
    };
    assert_eq!(rule(&at("notes/one")), serde_json::json!(["--ro", at("notes/one")]));
    assert_eq!(rule(&at(".ssh/id_x")), Value::Null);
    // And by `belay why`.
    assert!(world.json(&["why", &at("notes/one")])["instead"].as_str().unwrap().starts_with("--ro "));
    let why = world.json(&["why", &at(".ssh/id_x")]);
    assert_eq!((why["decision"].as_str(), &why["instead"]), (Some("hidden"), &Value::Null));
    assert_eq!(why["closed"], key["closed"]);
    // What is proposed helps.
    let ran = watched(&mut world, &["--ro", &at("notes/one"), "--rw", &old, "--ro", &at("bin/tool")], script);
    assert!(ran.stdout.contains("one\n") && ran.stdout.contains("tool\n"), "{ran}");
    let left: Vec<String> = denied(&mut world).into_iter().map(|(path, ..)| path).collect();
    for open in [at("notes/one"), old, at("bin/tool")] {
        assert!(!left.contains(&open), "{open} in {left:?}");
    }
    assert!(left.contains(&new) && left.contains(&at(".ssh/id_x")), "{left:?}");
    let rows = world.ok(&["sql", "@latest", "select sum(count) from denials where wanted = 'read'"]);
    assert!(rows.contains(|digit: char| digit.is_ascii_digit()), "{rows}");
    assert_eq!(world.belay(&["audit", "verify"]).code, 0);
}

#[test]
fn what_fails_for_other_reasons_is_not_told() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    world.workspace.file("closed", "c");
    let script = "cat nothing /usr/nothing ~/nothing /nothing/at/all; chmod 0 closed; cat closed; mkdir a; rmdir .git; \
                  echo mine > ~/mine; cat ~/mine; mkdir -p ~/dir/in && echo x > ~/dir/in/file; echo x > /tmp/x; \
                  ls / /tmp >/dev/null; chmod 644 closed; true";
    let ran = watched(&mut world, &[], script);
    assert_eq!(ran.code, 0, "{ran}");
    let all = denied(&mut world);
    assert!(all.is_empty(), "{all:#?}\n{ran}");
    assert!(!ran.stderr.contains("Refused"), "{ran}");
}

#[test]
fn many_refusals_are_few_events_and_repeats_are_counted() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let many = world.workspace.base().join("many/of/them");
    fs::create_dir_all(&many).unwrap();
    for number in 0..1_200 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    let script = "i=0; while [ $i -lt 300 ]; do read x 2>/dev/null < ~/notes/one; i=$((i+1)); done; \
                  for from in 0 1100; do \
                  i=$from; while [ $i -lt 1200 ]; do read x 2>/dev/null < ~/many/of/them/$i; i=$((i+1)); done; done; true";
    let ran = watched(&mut world, &[], script);
    assert_eq!(ran.code, 0, "{ran}");
    let all = denied(&mut world);
    let paths: std::collections::BTreeSet<&String> = all.iter().map(|(path, ..)| path).collect();
    assert_eq!(paths.len(), 1_000, "no more than that is told");
    let notes: u64 = all
        .iter()
        .filter(|(path, ..)| path.ends_with("notes/one"))
        .map(|(_, event, _)| event["count"].as_u64().unwrap_or(1))
        .sum();
    assert_eq!(notes, 300);
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("999 paths in [BASE]/many/of/them could not be read"), "{ran}");
    assert!(said.contains("--ro [BASE]/many/of/them allows it"), "{ran}");
    assert!(said.contains("and 301 more refusals whose paths were too many to record"), "{ran}");
    // The log takes them together too, unless all is wanted.
    let log = world.ok(&["log"]);
    let told = format!("refused 999 times: 999 paths in {} (no such file or directory)", many.display());
    assert!(log.contains(&told), "{log}");
    assert!(log.contains("refused 300 times: ") && log.contains("/notes/one (no such file"), "{log}");
    assert!(!log.contains("os error") && log.lines().count() < 30, "{log}");
    assert!(world.ok(&["log", "--all"]).lines().count() > 1_000);
}

#[test]
fn whether_refused_paths_are_watched_is_said() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let jail = |world: &mut World, flags: &[&str]| {
        let ran =
            world.belay(&[&["run", "--isolation", "jail"], flags, &["--", "sh", "-c", "cat ~/notes/one"]].concat());
        (ran, world.json(&["show"])["run"]["protection"]["denials"].clone())
    };
    let (ran, source) = jail(&mut world, &[]);
    match source.as_str() {
        Some("ebpf") => assert!(ran.stderr.contains("notes/one"), "{ran}"),
        Some("none") => assert!(ran.stderr.contains("`belay run --denials` names the paths that it refuses"), "{ran}"),
        other => panic!("{other:?}: {ran}"),
    }
    let (ran, source) = jail(&mut world, &["--denials"]);
    assert!(matches!(source.as_str(), Some("ebpf" | "seccomp")) && ran.stderr.contains("notes/one"), "{ran}");
    let ran = world.belay(&["run", "--isolation", "none", "--denials", "--", "true"]);
    assert!(ran.stderr.contains("--denials needs a jail"), "{ran}");
}

/// Looks at each path from inside: whether it can be read, and whether it could be written.
const PROBE: &str = r#"
import json, os, sys
def readable(path):
    try:
        if os.path.isdir(path): os.listdir(path)
        else: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return True
    except OSError: return False
def writable(path):
    try:
        if os.path.isdir(path):
            name = path + "/.belay-probe"
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.unlink(name)
        else: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return True
    except OSError: return False
print(json.dumps({path: [readable(path), writable(path)] for path in json.load(open("paths.json"))}))
"#;

#[test]
fn why_says_what_the_jail_does() {
    if !has_namespaces() || std::process::Command::new("python3").arg("--version").output().is_err() {
        return belay_testkit::skip("no python3 or no namespaces");
    }
    let mut world = world();
    let base = world.workspace.base().to_owned();
    fs::write(base.join("secret"), "s").unwrap();
    fs::create_dir_all(base.join(".claude")).unwrap();
    fs::write(base.join(".claude/settings.json"), "{}").unwrap();
    fs::create_dir_all(base.join("profiles")).unwrap();
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, world.workspace.join(from)).unwrap();
    link("to-secret", base.join("secret").to_str().unwrap());
    link("to-usr", "/usr");
    link("to-a", "a");
    world.workspace.file(".env", "X=1").file("probe.py", PROBE);
    let inside =
        ["", "a", ".git/hooks", ".git/hooks/pre-commit", ".git", "to-secret", "to-usr/bin/env", "to-a", ".env"];
    let mut paths: Vec<PathBuf> = inside.iter().map(|path| world.workspace.join(path)).collect();
    let home = ["", ".ssh", ".ssh/id_x", "notes/one", "secret", ".claude", ".claude/settings.json"];
    paths.extend(home.iter().map(|path| if path.is_empty() { base.clone() } else { base.join(path) }));
    paths.extend([world.workspace.home().to_owned(), world.workspace.home().join("store")]);
    let machine =
        ["/", "/usr", "/usr/bin/env", "/bin/sh", "/etc", "/etc/passwd", "/tmp", "/var", "/var/lib", "/var/tmp"];
    paths.extend(machine.map(PathBuf::from));
    paths.extend(["/home", "/root", "/run", "/opt", "/sys/kernel", "/sys/devices/system", "/boot"].map(PathBuf::from));
    let list = |path: &str| fs::read_dir(path).into_iter().flatten().flatten().collect::<Vec<_>>();
    let others_may = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o004 != 0);
    let all = list("/etc").into_iter().chain(list("/etc/ssh"));
    let (open, closed): (Vec<_>, Vec<_>) = all.partition(others_may);
    // Each takes a moment.
    paths.extend(open.iter().take(12).chain(closed.iter().take(12)).map(|entry| entry.path()));
    // What is not there at all, or closed to us outside as well, is no question of the jail's.
    paths.retain(|path| match path.is_dir() {
        true => fs::read_dir(path).is_ok(),
        false => fs::File::open(path).is_ok(),
    });
    for profile in ["default", "claude", "strict"] {
        let list: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        world.workspace.file("paths.json", serde_json::to_string(&list).unwrap());
        let ran = world.belay(&["run", "-q", "--isolation", "jail", "--profile", profile, "--", "python3", "probe.py"]);
        assert_eq!(ran.code, 0, "{ran}");
        let seen: BTreeMap<String, [bool; 2]> = serde_json::from_str(&ran.raw()).unwrap();
        let mut wrong = Vec::new();
        for path in &list {
            let why = world.json(&["why", "--path", path, "--profile", profile]);
            let decision = why["decision"].as_str().unwrap();
            let expected = match decision {
                "hidden" => [false, false],
                "can be read" => [true, false],
                "can be written" | "a private copy, changes end with the run" | "private and empty at first" => {
                    [true, true]
                }
                other if other.starts_with("a directory of the jail's own") => [true, false],
                "the jail's own" => continue,
                other => panic!("{path}: {other}"),
            };
            if seen[*path] != expected {
                wrong.push(format!("{profile} {path}: {decision}, but {:?}", seen[*path]));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
