//! A storm of deletions: held, asked about, undone; and build tools that clean up are none.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_testkit::{Ignore, OrdinaryUser, skip};

use crate::running::{records, until};
use crate::world::{Ran, World};

/// A workspace with enough to lose, and something that can be made again.
fn world() -> World {
    let world = World::new();
    world.workspace.file(".gitignore", "target\n").file("Cargo.toml", "[package]\n").file("kept", "k");
    for number in 0..400 {
        world.workspace.file(format!("src/{}/{number}.rs", number % 7), number.to_string());
        world.workspace.file(format!("target/debug/{number}.o"), "object");
    }
    world.workspace.file("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    assert!(belay_testkit::git(world.workspace.path()).args(["init", "-q"]).status().is_ok_and(|done| done.success()));
    world
}

/// A directory that lost something and got it back has changed since.
fn directories_aside() -> Ignore {
    Ignore { directory_mtime: true, ..Ignore::default() }
}

fn storms(world: &mut World) -> Vec<serde_json::Value> {
    let events = world.json(&["log"]);
    let events = events.as_array().cloned().unwrap_or_default();
    events.into_iter().filter(|event| event["event"] == "storm").collect()
}

fn run_with(world: &mut World, action: &str, script: &str) -> Ran {
    let mut command = world.command(&["run", "--", "sh", "-c", script]);
    command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", action);
    world.ran(command)
}

#[test]
fn what_nobody_sees_is_written_down_and_can_be_brought_back() {
    let mut world = world();
    let ran = run_with(&mut world, "ask", "rm -rf src; echo on > went-on; sleep 1");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("were deleted at once: the run went on"), "{ran}");
    assert!(world.has("went-on") && !world.has("src"));
    let storms = storms(&mut world);
    assert!(storms.iter().any(|storm| storm["decision"] == "noted"), "{storms:?}");
    let snapshot = storms[0]["snapshot"].as_str().unwrap().to_owned();
    world.ok(&["restore", &snapshot, "-y", "src"]);
    assert_eq!(world.read("src/3/3.rs"), "3");
}

#[test]
fn build_tools_that_clean_up_are_no_storm() {
    let mut world = world();
    let script = "rm -rf target; mkdir tmp; for i in $(seq 500); do echo x > tmp/$i; done; rm -rf tmp; sleep 0.5; \
                  for i in 1 2 3 4 5 6; do rm src/$i/$i.rs; done; sleep 0.5";
    let ran = run_with(&mut world, "undo", script);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(storms(&mut world).len(), 0, "{ran}");
    assert!(!world.has("target") && !world.has("src/1/1.rs"));
}

#[test]
fn by_the_settings_a_storm_is_undone_and_the_run_stopped() {
    let mut world = world();
    let before = world.workspace.walk();
    let ran = run_with(&mut world, "undo", "rm -rf src; sleep 5; echo on > went-on");
    assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{ran}");
    assert!(!world.has("went-on"), "{ran}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), directories_aside());
    assert_eq!(storms(&mut world).last().map(|storm| storm["decision"].clone()), Some("stopped".into()));
}

#[test]
fn what_a_storm_took_is_back_when_the_run_has_ended_although_its_command_had_ended_before() {
    for script in ["rm -rf src", "rm -r src/[0-3]", "rm -rf src; echo done"] {
        let mut world = world();
        let before = world.workspace.walk();
        let ran = run_with(&mut world, "undo", script);
        belay_testkit::assert_same_world(&before, &world.workspace.walk(), directories_aside());
        assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{script}: {ran}");
        assert_eq!(storms(&mut world).last().map(|storm| storm["decision"].clone()), Some("stopped".into()), "{ran}");
    }
    // Where nobody is to be asked and nothing to be undone, it is written down.
    let mut world = world();
    let ran = run_with(&mut world, "ask", "rm -rf src");
    assert_eq!((ran.code, world.has("src")), (0, false), "{ran}");
    assert_eq!(storms(&mut world).last().map(|storm| storm["decision"].clone()), Some("noted".into()), "{ran}");
}

/// Runs a script at a terminal, and types `key` when the question is asked.
fn decided(world: &mut World, key: &str, script: &str) -> Option<String> {
    let runs = records(world).len();
    let program = format!("{} run -- sh -c '{script}'", env!("CARGO_BIN_EXE_belay"));
    let Ok(mut child) = world.at_terminal(&program).spawn() else {
        skip("there is no script(1) to make a terminal with");
        return None;
    };
    let mut keys = child.stdin.take().expect("a pipe");
    let reader = std::thread::spawn(move || child.wait_with_output());
    until("the run is held", || records(world).len() > runs && !is_moving(world));
    std::thread::sleep(Duration::from_millis(300));
    keys.write_all(key.as_bytes()).expect("script reads");
    std::thread::sleep(Duration::from_millis(300));
    drop(keys);
    let output = reader.join().expect("a reader does not panic").expect("script ends");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a run goes on in which no storm is held.
fn is_moving(world: &World) -> bool {
    let Some(run) = records(world).pop() else { return true };
    let database = world.workspace.home().join("runs").join(run["id"].as_str().unwrap_or_default()).join("session.db");
    let asked = Command::new(env!("CARGO_BIN_EXE_belay"))
        .args(["--json", "log", run["id"].as_str().unwrap_or_default()])
        .env("BELAY_HOME", world.workspace.home())
        .current_dir(world.workspace.path())
        .output();
    !database.exists() || !asked.is_ok_and(|asked| String::from_utf8_lossy(&asked.stdout).contains("\"held\""))
}

#[test]
fn whoever_sits_at_the_terminal_decides() {
    let mut world = world();
    let before = world.workspace.walk();
    let Some(text) = decided(&mut world, "xu", "rm -rf src; sleep 0.5; test -e src/3/3.rs && echo it-is-back") else {
        return;
    };
    assert!(text.contains("the run is held") && text.contains("undo it and stop"), "{text}");
    assert!(text.contains("it-is-back") && text.contains("it was undone, and the rest of the run went on"), "{text}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), directories_aside());
    let text = decided(&mut world, "a", "rm -rf src; echo it-went-on").unwrap();
    assert!(text.contains("it-went-on") && text.contains("somebody let it go on"), "{text}");
    assert!(!world.has("src"));
    world.ok(&["rollback", "-y", "--mtime", "exact", "@pre-run"]);
    let text = decided(&mut world, "s", "rm -rf src; sleep 9; echo it-went-on").unwrap();
    assert!(!text.contains("it-went-on\r") && text.contains("the run stopped"), "{text}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), directories_aside());
}

#[test]
fn an_ordinary_user_is_protected_as_well() {
    let Some(user) = OrdinaryUser::find() else { return };
    let home = user.directory();
    let program = user.copy_of(env!("CARGO_BIN_EXE_belay").as_ref(), home.path());
    let workspace = home.path().join("ws");
    let sh = |script: &str| {
        let mut command = user.command("sh", home.path());
        command.args(["-c", script]).current_dir(home.path()).stdin(Stdio::null());
        command.env("BELAY_HOME", home.path().join("kept")).env("BELAY", &program);
        command.output().expect("sh starts")
    };
    assert!(sh("mkdir -p ws/src && for i in $(seq 400); do echo $i > ws/src/$i; done").status.success());
    let plain = std::iter::once("\nfor path in paths: os.unlink(path)");
    for way in plain.chain(DETOURS.iter().map(|(_, way)| *way)) {
        std::fs::write(home.path().join("way.py"), detour(way)).unwrap();
        let ran = sh(
            "cd ws && echo v > victim && BELAY_ISOLATION__DELETE_STORM__ACTION=undo \"$BELAY\" run -- python3 -c \"$(cat ../way.py)\"",
        );
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains("delete storm"), "{way}: {said}");
        assert!(!workspace.join("went-on").exists(), "{way}: {said}");
        let lost = |number: &usize| {
            !std::fs::read_to_string(workspace.join(format!("src/{number}")))
                .is_ok_and(|text| text == format!("{number}\n"))
        };
        let lost: Vec<_> = (1..=400).filter(lost).collect();
        assert!(
            lost.is_empty() && !["t", "bin", "x"].iter().any(|name| workspace.join(name).exists()),
            "{way}: {lost:?} {said}"
        );
        assert!(
            sh("rm -rf ws/src ws/t ws/bin; mkdir ws/src; for i in $(seq 400); do echo $i > ws/src/$i; done")
                .status
                .success()
        );
        assert_eq!(std::fs::read_to_string(workspace.join("victim")).unwrap(), "v\n");
    }
}

/// Ways to empty a directory of files, by one process, that remove none of them under its own name.
const DETOURS: [(&str, &str); 5] = [
    (
        "moved into one directory and removed there",
        "
os.mkdir('t')
for path in paths: os.rename(path, 't/' + path.replace('/', '-'))
for name in os.listdir('t'): os.unlink('t/' + name)",
    ),
    (
        "moved with their directory and removed there",
        "
os.rename('src', 'bin')
import shutil; shutil.rmtree('bin')",
    ),
    (
        "renamed onto one another, pair by pair, and then removed",
        "
for a, b in zip(paths[::2], paths[1::2]): os.rename(a, b)
for path in paths[1::4]: os.unlink(path)",
    ),
    (
        "renamed onto one file",
        "
for path in paths: os.rename(path, 'victim')",
    ),
    (
        "buried by one file that is renamed through all of them",
        "
open('x', 'w').close(); last = 'x'
for path in paths: os.rename(last, path); last = path",
    ),
];

fn detour(way: &str) -> String {
    format!(
        "import os, time\npaths = sorted(d + '/' + f for d, _, fs in os.walk('src') for f in fs){way}\ntime.sleep(5); open('went-on', 'w')"
    )
}

#[test]
fn files_that_are_moved_first_or_buried_by_others_count() {
    for (what, way) in DETOURS {
        let mut world = world();
        world.workspace.file("victim", "v");
        let before = world.workspace.walk();
        let mut command = world.command(&["run", "--", "python3", "-c", &detour(way)]);
        command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", "undo");
        let ran = world.ran(command);
        assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{what}: {ran}");
        assert!(!world.has("went-on"), "{what}: {ran}");
        let differences = belay_testkit::diff_worlds(&before, &world.workspace.walk(), directories_aside());
        assert!(differences.is_empty(), "{what}: {differences:?} {ran}");
    }
}

#[test]
fn what_a_storm_moved_and_did_not_delete_is_back_in_its_place_and_what_the_run_made_stays() {
    let mut world = world();
    let before = world.workspace.walk();
    let way = "
os.mkdir('t'); os.mkdir('t/d')
for path in paths[:300]: os.rename(path, 't/d/' + path.replace('/', '-'))
os.rename('src', 'bin')
open('t/made', 'w').close(); open('bin/made', 'w').close()
for name in os.listdir('t/d')[:250]: os.unlink('t/d/' + name)";
    let mut command = world.command(&["run", "--", "python3", "-c", &detour(way)]);
    command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", "undo");
    let ran = world.ran(command);
    assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{ran}");
    for made in ["t/made", "bin/made"] {
        std::fs::remove_file(world.workspace.path().join(made)).unwrap_or_else(|error| panic!("{made}: {error} {ran}"));
        std::fs::remove_dir(world.workspace.path().join(made).parent().unwrap())
            .unwrap_or_else(|error| panic!("{made}: {error} {ran}"));
    }
    let differences = belay_testkit::diff_worlds(&before, &world.workspace.walk(), directories_aside());
    assert!(differences.is_empty(), "{differences:?} {ran}");
}

#[test]
fn files_that_are_saved_by_a_rename_or_only_moved_are_no_storm() {
    let mut world = world();
    let script = "for f in src/*/*.rs; do echo new > $f.tmp; mv $f.tmp $f; done; sleep 0.3; \
                  mkdir moved; mv src/*/*.rs moved; sleep 0.3; mv moved elsewhere; sleep 0.5";
    let ran = run_with(&mut world, "undo", script);
    assert_eq!((ran.code, storms(&mut world).len()), (0, 0), "{ran}");
    assert_eq!(world.read("elsewhere/3.rs"), "new\n");
}

#[test]
fn in_a_directory_that_was_opened_files_that_are_moved_first_or_buried_count_as_well() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    for (what, way) in DETOURS {
        let mut world = world();
        let shared = world.workspace.base().join("shared");
        std::fs::create_dir_all(shared.join("src")).unwrap();
        std::fs::write(shared.join("victim"), "v").unwrap();
        (0..400).for_each(|number| std::fs::write(shared.join(format!("src/{number}")), "").unwrap());
        let shared = shared.to_str().unwrap().to_owned();
        let harmless = "cd $0; for f in src/*; do echo n > $f.tmp; mv $f.tmp $f; done; mkdir m; mv src/* m; mv m/* src; rmdir m; sleep 1";
        let mut command = world.command(&["run", "--rw", &shared, "--", "sh", "-c", harmless, &shared]);
        command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", "undo");
        let ran = world.ran(command);
        assert_eq!((ran.code, storms(&mut world).len()), (0, 0), "{what}: {ran}");
        let script = format!("import os; os.chdir('{shared}')\n{}", detour(way));
        let mut command = world.command(&["run", "--rw", &shared, "--", "python3", "-c", &script]);
        command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", "undo");
        let ran = world.ran(command);
        assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{what}: {ran}");
        assert!(!std::path::Path::new(&shared).join("went-on").exists(), "{what}: {ran}");
    }
}

#[test]
fn a_storm_leaves_a_snapshot_of_what_was_left_when_it_was_noticed() {
    let mut world = world();
    let settings = "snapshots.auto_interval = 0\nsnapshots.triggers.disable_idle = true\n";
    std::fs::write(world.workspace.home().join("config.toml"), settings).unwrap();
    let ran = run_with(&mut world, "note", "echo new > written; rm -rf src; sleep 2; rm written; sleep 0.3");
    assert_eq!(ran.code, 0, "{ran}");
    let events = world.json(&["log"]);
    let events = events.as_array().cloned().unwrap_or_default();
    let storm = events.iter().position(|event| event["event"] == "storm").expect("a storm");
    let taken = events[storm..].iter().find(|event| event["event"] == "snapshot" && event["kind"] == "auto");
    let taken = taken.unwrap_or_else(|| panic!("no snapshot after the storm: {ran}"))["snapshot"].clone();
    assert_eq!(world.ok(&["cat", taken.as_str().unwrap(), "written"]), "new\n");
}

#[test]
fn a_storm_in_a_directory_that_was_opened_is_held_and_what_the_run_made_there_is_none() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let mut world = world();
    let shared = world.workspace.base().join("shared");
    for number in 0..300 {
        std::fs::create_dir_all(shared.join("old")).unwrap();
        std::fs::write(shared.join(format!("old/{number}")), "").unwrap();
    }
    let shared_name = shared.to_str().unwrap().to_owned();
    let run = |world: &mut World, action: &str, script: &str| {
        let mut command = world.command(&["run", "--rw", &shared_name, "--", "sh", "-c", script]);
        command.env("BELAY_ISOLATION__DELETE_STORM__ACTION", action).env("SHARED", &shared_name);
        world.ran(command)
    };
    let build = format!("cd {shared_name}; mkdir b; for i in $(seq 500); do echo x > b/$i; done; rm -rf b; sleep 1");
    let ran = run(&mut world, "undo", &build);
    assert_eq!((ran.code, storms(&mut world).len()), (0, 0), "{ran}");
    let noted = format!("rm -rf {shared_name}/old; sleep 1; echo on > went-on");
    let ran = run(&mut world, "undo", &noted);
    assert!(ran.code != 0 && ran.stderr.contains("delete storm"), "{ran}");
    assert!(!world.has("went-on"), "{ran}");
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("in [BASE]/shared were deleted at once, which no snapshot holds: the run was stopped"),
        "{ran}"
    );
    let last = storms(&mut world).pop().expect("a storm");
    assert_eq!((last["decision"].as_str(), last["outside"].as_str()), (Some("stopped"), Some(shared_name.as_str())));
    assert!(world.has("src/1/1.rs"), "nothing of the workspace was touched");
}
