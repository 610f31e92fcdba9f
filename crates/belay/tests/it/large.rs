//! Runs of the size that agents really make: every command and every final file is accounted for against a record that is not ours.
//!
//! `cargo xtask large` runs them in full size, `cargo xtask large 10` in a tenth of it; elsewhere some are a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::skip;

use crate::world::World;

/// The full size, or so many hundredths of it, or that of a sample.
fn size(full: usize, sample: usize) -> usize {
    let percent = std::env::var("BELAY_LARGE_PERCENT").ok().and_then(|percent| percent.parse::<usize>().ok());
    percent.map_or(sample, |percent| (full * percent / 100).max(sample))
}

/// One number that the record of the latest run gives.
fn number(world: &mut World, sql: &str) -> u64 {
    let rows = world.ok(&["sql", "@latest", sql, "--csv"]);
    rows.lines().nth(1).and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("no number: {rows}"))
}

fn run(world: &mut World, script: &str) {
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "bash", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_nothing_lost(world);
}

fn assert_nothing_lost(world: &mut World) {
    assert_eq!(number(world, "SELECT count(*) FROM events WHERE event = 'lost'"), 0, "events were lost");
}

/// The last snapshot of the run is the workspace as it is, and each path that differs from the first is in the record.
fn assert_files_accounted_for(world: &mut World) {
    let last = world.json(&["show"])["run"]["final_snapshot"].as_str().expect("a run that ended has one").to_owned();
    let differs = world.belay(&["diff", &last, "--name-only"]);
    assert!(differs.stdout.is_empty(), "the final snapshot is not the workspace: {differs}");
    let changes = world.json(&["changes", "--all"]);
    let unknown =
        changes.as_array().expect("several paths").iter().filter(|one| one["by"].as_array().is_none_or(Vec::is_empty));
    let unknown: Vec<&serde_json::Value> = unknown.map(|one| &one["path"]).take(5).collect();
    assert!(unknown.is_empty(), "no event tells of {unknown:?}");
}

/// Each file that is beneath a directory now was changed there, or came there with a directory that was renamed.
fn assert_each_file_is_in_the_record(world: &mut World, dir: &str) {
    let log = world.json(&["log"]);
    let changes = log.as_array().expect("several events").iter().filter(|event| event["event"] == "file");
    let (mut told, mut moved) = (BTreeSet::new(), BTreeSet::new());
    for change in changes {
        let text = |key: &str| change[key].as_str().map(str::to_owned);
        told.extend(text("path"));
        if let Some(to) = text("to") {
            moved.insert(to.clone());
            told.insert(to);
        }
    }
    let base = world.workspace.path().to_owned();
    let files: Vec<String> = walk(&base.join(dir))
        .iter()
        .map(|path| path.strip_prefix(&base).expect("it is beneath").to_str().expect("plain names").to_owned())
        .collect();
    let came_along =
        |file: &str| Path::new(file).ancestors().skip(1).any(|above| moved.contains(&*above.to_string_lossy()));
    let unknown: Vec<&String> = files.iter().filter(|file| !told.contains(*file) && !came_along(file)).collect();
    assert!(!files.is_empty() && unknown.is_empty(), "no event tells of {unknown:?}");
}

fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = there.is_ok_and(|status| status.success());
    if !is_there {
        skip(&format!("no {program}"));
    }
    is_there
}

/// The programs that were executed as strace saw them, with how often.
fn straced(world: &World, script: &str) -> Option<BTreeMap<String, u64>> {
    let log = world.workspace.base().join("strace.log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=execve,execveat", "-e", "signal=none", "-o"]).arg(&log);
    strace.args(["bash", "-c", script]).current_dir(world.workspace.path());
    let ran = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !ran.is_ok_and(|status| status.success()) {
        skip("strace does not work here");
        return None;
    }
    let mut found = BTreeMap::new();
    // A call that others interrupted ends on a line of its own.
    let mut begun = BTreeMap::new();
    for line in std::fs::read_to_string(log).ok()?.lines().filter(|line| line.contains("execve")) {
        let pid = line.split(' ').next().unwrap_or_default().to_owned();
        let named = line.split("execve(\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
        let program = named.or_else(|| begun.remove(&pid));
        match program {
            Some(program) if line.contains("<unfinished") => drop(begun.insert(pid, program)),
            Some(program) if !line.contains(" = -1 ") => {
                let name = executed(&world.workspace.path().join(&program));
                *found.entry(name.unwrap_or(program)).or_default() += 1;
            }
            _ => {}
        }
    }
    Some(found)
}

/// The file that the kernel executes for a path: not a link to it, and for a script its interpreter.
fn executed(path: &Path) -> Option<String> {
    let mut real = path.canonicalize().ok()?;
    let bytes = std::fs::read(&real).unwrap_or_default();
    if let Some(first) = bytes.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next()) {
        let interpreter = String::from_utf8_lossy(first).split_whitespace().next()?.to_owned();
        real = Path::new(&interpreter).canonicalize().ok()?;
    }
    real.file_name()?.to_str().map(str::to_owned)
}

/// Runs the script under strace and, once `undo` undid it, in a run; both saw the same programs, as often.
fn assert_as_strace_sees_it(world: &mut World, script: &str, undo: &str) {
    let seen = if is_there("strace") { straced(world, script) } else { None };
    let undone = Command::new("bash").args(["-c", undo]).current_dir(world.workspace.path()).status();
    assert!(undone.is_ok_and(|status| status.success()));
    run(world, script);
    if let Some(seen) = seen {
        assert_eq!(recorded(world), seen);
    }
}

/// The programs that the record names, with how often.
fn recorded(world: &mut World) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for event in
        world.json(&["log"]).as_array().expect("several events").iter().filter(|event| event["event"] == "exec")
    {
        let exe = event["exe"].as_str().unwrap_or_default();
        *found.entry(exe.rsplit('/').next().unwrap_or(exe).to_owned()).or_default() += 1;
    }
    found
}

#[test]
fn short_processes_are_counted_as_their_script_counts_them() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let began = Instant::now();
    // Each says its own number, so that none can stand for another.
    let (serial, parallel) = (size(16_000, 2_400), size(4_000, 600));
    let script = format!(
        "i=0; while [ $i -lt {serial} ]; do i=$((i+1)); /bin/true $i; done; \
         i=0; while [ $i -lt {parallel} ]; do i=$((i+1)); /bin/true b$i & done; wait"
    );
    let all = (serial + parallel) as u64;
    run(&mut world, &script);
    assert_eq!(number(&mut world, "SELECT count(*) FROM exec_events"), all + 1, "after {:?}", began.elapsed());
    let words = "SELECT count(DISTINCT args) FROM exec_events WHERE command LIKE '%true'";
    assert_eq!(number(&mut world, words), all);
    assert_eq!(number(&mut world, "SELECT count(*) FROM exec_events WHERE exit_code = 0"), all + 1);
}

#[test]
fn a_fork_bomb_under_a_limit_ends_and_is_recorded() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    // A shell that cannot fork ends, and whoever is left goes on until the way back takes `go` away.
    let bomb =
        ": > go; bomb() { [ ! -e go ] || { bomb | bomb & }; }; bomb >/dev/null 2>&1; sleep 1; rm go; echo survived > b";
    let limits = ["run", "--isolation", "none", "--processes", "60", "--time", "20s"];
    let began = Instant::now();
    let mut run = world.command(&[&limits[..], &["-q", "--", "bash", "-c", bomb]].concat());
    // Without a pipe: what outlives the shell would keep it open. Where a shell cannot fork, `go` stays and so do the others.
    let ran = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(ran.is_ok() && began.elapsed() < Duration::from_secs(40), "{ran:?}");
    let _ = world.belay(&["stop", "--now"]);
    assert_eq!(world.json(&["status"])["outlived"].as_array().map(Vec::len), Some(0), "nobody lives on");
    world.ok(&["rollback", "-y", "@pre-run"]);
    assert!(!world.has("b") && world.has("a"));
    assert_eq!(world.belay(&["audit", "verify"]).code, 0);
}

#[test]
fn a_fork_bomb_that_outlives_its_command_is_ended_by_stop() {
    let mut world = World::new();
    let bomb = ": > go; bomb() { [ ! -e go ] || { bomb | bomb & }; }; bomb >/dev/null 2>&1; sleep 0.2";
    let limits = ["run", "--isolation", "none", "--processes", "60", "--time", "20s"];
    let mut run = world.command(&[&limits[..], &["-q", "--", "bash", "-c", bomb]].concat());
    assert!(run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok());
    let left = world.json(&["status"])["outlived"].as_array().map(Vec::len);
    assert_eq!(left, Some(1), "the bomb goes on after its shell");
    world.ok(&["stop", "--now"]);
    assert_eq!(world.json(&["status"])["outlived"].as_array().map(Vec::len), Some(0), "nobody lives on");
}

#[test]
fn make_with_many_jobs_is_recorded_as_strace_sees_it() {
    if !is_there("make") {
        return;
    }
    let mut world = World::new();
    let mut makefile = "all: $(patsubst %,out/%.o,$(shell seq 60))\n".to_owned();
    makefile += "out/%.o: | out\n\t@cp src $@ && chmod 600 $@ && sh -c 'echo $* >> $@'\nout:\n\t@mkdir out\n";
    world.workspace.file("Makefile", makefile).file("src", "x\n");
    assert_as_strace_sees_it(&mut world, "make -s -j4", "rm -rf out");
    assert_files_accounted_for(&mut world);
    assert_eq!(number(&mut world, "SELECT count(DISTINCT path) FROM fs_events WHERE path LIKE 'out/%.o'"), 60);
}

#[test]
fn a_build_by_cargo_is_recorded_and_its_outputs_are_known_to_be_regenerable() {
    if !is_there("cargo") {
        return;
    }
    let mut world = World::new();
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    world.workspace.file("Cargo.toml", manifest).file("src/main.rs", "fn main() { println!(\"built\") }\n");
    // The toolchain is found from the tester's home.
    let home = std::env::var("HOME").unwrap_or_default();
    let script = format!("unset CARGO_TARGET_DIR RUSTFLAGS; export HOME='{home}'; cargo build -q --offline; exit $?");
    assert_as_strace_sees_it(&mut world, &script, "rm -rf target");
    assert!(world.has("target/debug/small"));
    let programs = recorded(&mut world);
    let of =
        |name: &str| programs.iter().filter(|(program, _)| program.contains(name)).map(|(_, count)| count).sum::<u64>();
    assert!(of("cargo") >= 1 && of("rustc") >= 1, "{programs:?}");
    assert_each_file_is_in_the_record(&mut world, "target");
    let builds = number(&mut world, "SELECT count(*) FROM snapshot_events WHERE kind = 'build'");
    assert_eq!(builds, 1, "the build is one trigger");
}

#[test]
fn an_installation_by_npm_from_local_packages_is_complete() {
    if !is_there("npm") {
        return;
    }
    let mut world = World::new();
    let mut dependencies = Vec::new();
    for package in 0..12 {
        let name = format!("part{package}");
        for file in 0..25 {
            world.workspace.file(format!("packages/{name}/lib/{file}.js"), format!("module.exports = {file}\n"));
        }
        let manifest = format!("{{\"name\":\"{name}\",\"version\":\"1.0.0\",\"main\":\"lib/0.js\"}}");
        world.workspace.file(format!("packages/{name}/package.json"), manifest);
        dependencies.push(format!("\"{name}\":\"file:packages/{name}\""));
    }
    let manifest =
        format!("{{\"name\":\"whole\",\"version\":\"1.0.0\",\"dependencies\":{{{}}}}}", dependencies.join(","));
    world.workspace.file("package.json", manifest);
    let script = "npm install --install-links --offline --no-audit --no-fund --loglevel=error >npm.log 2>&1 && node -e \
                  'require(\"part11\")'";
    assert_as_strace_sees_it(&mut world, script, "rm -rf node_modules package-lock.json npm.log");
    let files = |at: &Path| walk(at).len();
    assert!(files(&world.workspace.join("node_modules")) >= 300);
    let recorded = "SELECT count(DISTINCT coalesce(to_path, path)) FROM fs_events WHERE path LIKE 'node_modules/%.js' \
                    OR to_path LIKE 'node_modules/%'";
    assert!(number(&mut world, recorded) > 0);
    assert_files_accounted_for(&mut world);
}

/// Every file beneath a directory, by its path.
fn walk(at: &Path) -> BTreeSet<std::path::PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(walk(&entry.path())),
            _ => drop(found.insert(entry.path())),
        }
    }
    found
}

#[test]
fn a_rebase_of_many_commits_is_recorded_and_taken_back() {
    if !is_there("git") {
        return;
    }
    let mut world = World::new();
    let environment = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
                       GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    let commits = size(200, 40);
    let history = "git init -q -b main . && git commit -q --allow-empty -m root && git checkout -q -b topic && \
                   for i in $(seq $COMMITS); do echo $i > f$i; git add f$i; git commit -qm $i; done; git checkout -q main && \
                   echo base > base && git add base && git commit -qm base && git checkout -q topic";
    let mut bash = Command::new("bash");
    let made =
        bash.args(["-c", &format!("COMMITS={commits}; {environment}; {history}")]).current_dir(world.workspace.path());
    assert!(made.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success()));
    let head = |world: &World| {
        let log = Command::new("git").args(["log", "--format=%H %s"]).current_dir(world.workspace.path()).output();
        String::from_utf8(log.unwrap().stdout).unwrap()
    };
    let before = head(&world);
    let rebase = format!("{environment}; git rebase -q main");
    assert_as_strace_sees_it(&mut world, &rebase, "git reset -q --hard ORIG_HEAD 2>/dev/null; rm -f .git/ORIG_HEAD");
    let after = head(&world);
    assert!(after.lines().count() == commits + 2 && after.lines().any(|line| line.ends_with(" base")), "{after}");
    assert_files_accounted_for(&mut world);
    world.ok(&["rollback", "-y", "@pre-run"]);
    assert_eq!(head(&world), before);
}

#[test]
fn an_archive_of_many_files_is_unpacked_and_each_is_in_the_record() {
    let files = size(30_000, 3_000);
    let mut world = World::new();
    let archive = world.workspace.base().join("many.tar");
    let source = world.workspace.base().join("many");
    for number in 0..files {
        let dir = source.join(format!("d{}/e{}", number % 30, number % 300));
        if number < 300 {
            std::fs::create_dir_all(&dir).unwrap();
        }
        std::fs::write(dir.join(format!("f{number}")), "x").unwrap();
    }
    let packed = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&source).arg(".").status();
    assert!(packed.is_ok_and(|packed| packed.success()));
    world.workspace.file("a", "a");
    run(&mut world, &format!("tar -xf {}", archive.display()));
    let recorded = number(&mut world, "SELECT count(DISTINCT path) FROM fs_events WHERE path LIKE 'd%/e%/f%'");
    assert_eq!(recorded, files as u64);
    let last = world.json(&["show"])["run"]["final_snapshot"].as_str().unwrap().to_owned();
    let differs = world.belay(&["diff", &last, "--name-only"]);
    assert!(differs.stdout.is_empty(), "the final snapshot is not the workspace: {differs}");
}
