//! Git outside of a run executes nothing that the run left for it, where git's settings are protected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::jailed::has_namespaces;
use crate::running::until;
use crate::world::{Ran, World};

/// A repository whose git says so if it is led to an enemy's settings; none where there is no git.
fn world() -> Option<World> {
    if !has_namespaces() {
        return None;
    }
    if Command::new("git").arg("--version").output().is_err() {
        belay_testkit::skip("no git");
        return None;
    }
    let world = World::new();
    let pwned = world.workspace.base().join("pwned");
    sh(
        &world,
        "git init -q . && git config user.name a && git config user.email a@b && echo a > a && git add a && git commit -qm a",
    );
    world.workspace.file("evil.config", format!("[core]\n\tfsmonitor = \"touch {}; false\"\n", pwned.display()));
    Some(world)
}

fn outside(world: &World, directory: &Path, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory).env("HOME", world.workspace.base());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("BELAY_RUN", "x").output().expect("sh starts")
}

fn sh(world: &World, script: &str) {
    let done = outside(world, world.workspace.path(), &format!("set -e; {script}"));
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

fn strict(world: &mut World, flags: &[&str], script: &str) -> Ran {
    world.belay(&[&["run", "-q", "--profile", "strict"], flags, &["--", "sh", "-c", script]].concat())
}

/// Whether git, asked for nothing in particular, executes what the enemy wants.
fn is_led(world: &World, directory: &Path) -> bool {
    let pwned = world.workspace.base().join("pwned");
    let _ = fs::remove_file(&pwned);
    let worktrees = "git status; for d in wt lib sub; do [ -d $d ] && git -C $d status; done; git worktree list; true";
    drop(outside(world, directory, worktrees));
    pwned.exists()
}

fn open(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("its owner may");
}

/// What is prepared outside, and what the command then tries.
const WAYS: [(&str, &str); 24] = [
    (
        "git config include.path ../shared; touch shared",
        "cat evil.config >> shared; mv shared s; cp evil.config shared",
    ),
    ("git config include.path ../absent", "cp evil.config absent"),
    (
        "git config includeIf.gitdir:/.path ../conf/inc; mkdir conf",
        "mkdir e; cp evil.config e/inc; rmdir conf; ln -s e conf",
    ),
    ("git config include.path ../to; ln -s nothing to", "cp evil.config nothing; rm to; cp evil.config to"),
    (
        "git config extensions.worktreeConfig true; git worktree add -q wt",
        "cp evil.config .git/worktrees/wt/config.worktree; cp evil.config .git/config.worktree",
    ),
    (
        "mv .git real; ln -s real .git",
        "cp -r real evil; cat evil.config >> evil/config; rm .git; ln -s evil .git; echo ../evil > real/commondir",
    ),
    (
        "git init -q ../lib.git; git -C ../lib.git -c user.name=a -c user.email=a@b commit -qm a --allow-empty; \
         git -c protocol.file.allow=always submodule add -q ../lib.git lib; git commit -qm lib",
        "cp -r .git/modules/lib evil; git config -f evil/config core.worktree ../lib; cat evil.config >> evil/config; \
         echo gitdir: ../evil > lib/.git; rm -f lib/.git; cp -r evil lib/.git; mv lib l; mkdir lib; cp -r evil lib/.git; \
         git config -f lib/.git/config --unset core.worktree",
    ),
    (
        "git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -qm a --allow-empty; \
         printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = x\\n' > .gitmodules; git add sub .gitmodules 2>/dev/null",
        "cat evil.config >> sub/.git/config; cp -r sub evil; cat evil.config >> evil/.git/config; mv sub old; [ -d sub ] || cp -r evil sub; \
         echo ../../evil/.git > sub/.git/commondir",
    ),
    (
        "true",
        "cp -r .git evil; cat evil.config >> evil/config; touch .git/commondir.$BELAY_RUN; echo ../evil > .git/commondir; \
         chmod 555 .git; chmod 111 .",
    ),
    // A link on the way to where a `.git` file leads.
    (
        "mv .git real; mkdir to; ln -s ../real to/repository; echo gitdir: to/repository > .git",
        "cp -r real evil; cat evil.config >> evil/config; rm to/repository; ln -s ../evil to/repository",
    ),
    // Programs by relative names, in another worktree and in a submodule.
    (
        "git config core.fsmonitor tools/watch; mkdir tools; printf '#!/bin/sh\\n' > tools/watch; chmod +x tools/watch; \
         git add tools; git commit -qm t; git worktree add -q wt",
        "grep -o 'touch [^;]*' evil.config >> wt/tools/watch; echo '#!/bin/sh' > w; grep -o 'touch [^;]*' evil.config >> w; \
         chmod +x w; mv w wt/tools/watch",
    ),
    (
        "git init -q ../lib.git; git -C ../lib.git -c user.name=a -c user.email=a@b commit -qm a --allow-empty; \
         git -c protocol.file.allow=always submodule add -q ../lib.git lib; git -C lib config core.fsmonitor ./watch; git commit -qm lib",
        "echo '#!/bin/sh' > lib/watch; grep -o 'touch [^;]*' evil.config >> lib/watch; chmod +x lib/watch",
    ),
    // Repositories that git goes into by itself because its index names them.
    (
        "git init -q emb; git -C emb -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add emb 2>/dev/null; git commit -qm emb",
        "cat evil.config >> emb/.git/config",
    ),
    (
        "true",
        "git init -q new; git -C new -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add new; cat evil.config >> new/.git/config",
    ),
    (
        "true",
        "git init -q new; git -C new -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add new; \
         cp evil.config new/.git/more; git -C new config include.path more; git update-index --split-index; mv new/.git other; echo gitdir: ../other > new/.git",
    ),
    (
        "git init -q emb; git -C emb -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add emb 2>/dev/null; git commit -qm emb; \
         mv emb/.git ../kept.git",
        "cp -r .git emb/.git; git -C emb config core.bare false; cat evil.config >> emb/.git/config",
    ),
    // A program whose path has a space, by a quoted word.
    (
        "mkdir 'my tools'; printf '#!/bin/sh\\n' > 'my tools/watch'; chmod +x 'my tools/watch'; git config core.fsmonitor '\"my tools/watch\"'",
        "grep -o 'touch [^;]*' evil.config >> 'my tools/watch'; echo '#!/bin/sh' > w; grep -o 'touch [^;]*' evil.config >> w; \
         chmod +x w; mv w 'my tools/watch'",
    ),
    // A program whose path only a shell knows.
    (
        "mkdir tools; printf '#!/bin/sh\\n' > tools/watch; chmod +x tools/watch; git config core.fsmonitor '\"$(git rev-parse --show-toplevel)\"/tools/watch'",
        "grep -o 'touch [^;]*' evil.config >> tools/watch; echo '#!/bin/sh' > w; grep -o 'touch [^;]*' evil.config >> w; chmod +x w; mv w tools/watch",
    ),
    // Without a repository in `.git` git takes the directory itself for one.
    (
        "true",
        "cp -r .git/objects .git/refs .git/index .git/HEAD .; cp evil.config config; git config -f config core.repositoryformatversion 0; git config -f config core.bare false; \
         git config -f config core.worktree .; rm .git/HEAD",
    ),
    (
        "mkdir objects refs; touch objects/x refs/x",
        "cp .git/HEAD .; cp evil.config config; git config -f config core.repositoryformatversion 0; git config -f config core.bare false; git config -f config core.worktree .; mv .git/refs .git/r",
    ),
    // A repository that lacks an object and has it fetched by a command.
    (
        "true",
        "git init -q new; touch new/z; git -C new add z; git -C new -c user.name=a -c user.email=a@b commit -qm a; git add new; \
         u=$(grep -o 'touch [^;]*' evil.config | sed 's/ /% /'); cd new; git config core.repositoryformatversion 1; git config extensions.partialClone o; \
         git config remote.o.promisor true; git config remote.o.url \"ext::sh -c $u\"; git config protocol.ext.allow always; \
         t=$(git rev-parse HEAD^{tree}); rm -f .git/objects/$(echo $t | cut -c1-2)/$(echo $t | cut -c3-)",
    ),
    // A directory of the repository's own files that becomes one itself.
    (
        "mkdir -p wt/in; touch wt/in/x; git add wt; git commit -qm wt",
        "git init -q wt; cat evil.config >> wt/.git/config",
    ),
    (
        "mkdir sub; touch sub/x; git add sub; git commit -qm sub",
        "cp -r .git/objects .git/refs .git/HEAD sub; cp evil.config sub/config; git config -f sub/config core.repositoryformatversion 0; \
         git config -f sub/config core.bare false; git config -f sub/config core.worktree .",
    ),
    // A repository that is harmless, and whose index names one that is not.
    (
        "true",
        "git init -q new; git init -q new/deep; git -C new/deep -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git -C new add deep; \
         git -C new -c user.name=a -c user.email=a@b commit -qm a; git add new; cat evil.config >> new/deep/.git/config",
    ),
];

#[test]
fn whatever_git_is_led_by_stays_as_it_was() {
    for (prepared, tried) in WAYS {
        let Some(mut world) = world() else { return };
        sh(&world, prepared);
        let at = world.workspace.path().to_owned();
        assert!(!is_led(&world, &at), "{prepared}");
        // The trap is alive: without protection it springs.
        let copy = world.workspace.base().join("copy");
        sh(&world, &format!("cp -a . {}", copy.display()));
        drop(outside(&world, &copy, tried));
        open(&copy);
        assert!(is_led(&world, &copy), "{prepared}\n{tried}");
        let ran = strict(&mut world, &[], tried);
        open(&at);
        assert!(!is_led(&world, &at), "{prepared}\n{tried}\n{ran}");
    }
}

#[test]
fn programs_that_gits_settings_name_can_only_be_read() {
    let Some(mut world) = world() else { return };
    sh(
        &world,
        "mkdir tools .husky; echo good > .husky/pre-commit; echo good > tools/watch; echo good > data; rm -rf .git/hooks",
    );
    sh(
        &world,
        "git config core.hooksPath .husky; git config core.fsmonitor tools/watch; git config alias.x '!tools/new'",
    );
    let tried = "echo evil > .husky/pre-commit; echo evil > .husky/post-checkout; mv .husky h; mkdir .husky; echo evil > tools/watch; \
                 mv tools t; echo evil > tools/new; mkdir .git/hooks; echo evil > .git/hooks/post-checkout; echo fine > data; true";
    let ran = strict(&mut world, &[], tried);
    let read = |path: &str| world.read(path);
    assert_eq!((read(".husky/pre-commit").as_str(), read("tools/watch").as_str()), ("good\n", "good\n"), "{ran}");
    assert!(!world.has(".husky/post-checkout") && !world.has("tools/new") && !world.has(".git/hooks"), "{ran}");
    assert_eq!(world.read("data"), "fine\n", "{ran}");
    assert!(world.ok(&["show"]).contains("leads git to settings or programs"), "{ran}");
    // Hooks that are not there are not made where hooks alone are protected, either.
    let ran = world.belay(&[
        "run",
        "-q",
        "--isolation",
        "jail",
        "--",
        "sh",
        "-c",
        "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    ]);
    assert!(!world.has(".git/hooks"), "{ran}");
    // Whoever names it means it.
    let ran = strict(&mut world, &["--rw", "tools/watch"], "echo new > tools/watch");
    assert_eq!((ran.code, world.read("tools/watch").as_str()), (0, "new\n"), "{ran}");
}

/// Runs git as a person would who finds something begun, and whether it executes what the enemy wants.
fn goes_on(world: &World, directory: &Path, script: &str) -> bool {
    let pwned = world.workspace.base().join("pwned");
    let _ = fs::remove_file(&pwned);
    drop(outside(world, directory, script));
    pwned.exists()
}

/// A rebase and a series of picks that stop half-way.
const STOPPED: &str = "git checkout -qb topic; for i in 1 2 3; do echo $i > b; git add b; git commit -qm $i; done; git checkout -q -; \
                       echo other > b; git add b; git commit -qm other";

#[test]
fn what_a_run_left_begun_executes_nothing_when_somebody_goes_on_with_it() {
    let evil = "touch $(dirname \"$PWD\")/pwned";
    let ways = [
        ("git rebase HEAD topic", format!("echo 'exec {evil}' > .git/rebase-merge/git-rebase-todo"), "rebase"),
        ("git rebase HEAD topic", "mkdir git-merge-..; echo ../../x > .git/rebase-merge/strategy".to_owned(), "rebase"),
        (
            "git cherry-pick topic~2..topic",
            "mkdir git-merge-..; printf '[options]\\n\\tstrategy = ../../x\\n' > .git/sequencer/opts".to_owned(),
            "cherry-pick",
        ),
    ];
    for (begun, tried, verb) in ways {
        for is_begun_before in [false, true] {
            let Some(mut world) = world() else { return };
            sh(&world, STOPPED);
            let program = format!("printf '#!/bin/sh\\n{evil}\\nexit 1\\n' > x; chmod +x x");
            let tried = match is_begun_before {
                true => {
                    sh(&world, &format!("{begun} || true"));
                    format!("{program}; {tried}")
                }
                false => format!("{begun}; {program}; {tried}"),
            };
            let finish = format!("echo done > b; git add b; GIT_EDITOR=true git {verb} --continue");
            let copy = world.workspace.base().join("copy");
            sh(&world, &format!("cp -a . {}", copy.display()));
            drop(outside(&world, &copy, &tried));
            assert!(goes_on(&world, &copy, &finish), "the trap is alive: {tried}");
            let ran = strict(&mut world, &[], &tried);
            let at = world.workspace.path().to_owned();
            assert!(!goes_on(&world, &at, &finish), "{tried}\n{ran}");
            assert!(world.ok(&["show"]).contains("leads git to"), "{ran}");
        }
    }
    // What executes nothing is gone on with, and inside so is whatever was begun.
    let Some(mut world) = world() else { return };
    sh(&world, STOPPED);
    let ran = strict(
        &mut world,
        &[],
        "git rebase -x 'sleep 0.4; echo ran >> ran' HEAD topic; echo done > b; git add b; GIT_EDITOR=true git rebase --continue; \
         echo done2 > b; git add b; GIT_EDITOR=true git rebase --continue; echo 3 > b; git add b; GIT_EDITOR=true git rebase --continue; \
         cat ran; git checkout -q -; git cherry-pick topic",
    );
    assert!(ran.stdout.contains("ran\nran"), "{ran}");
    assert!(!world.ok(&["show"]).contains("leads git to"), "{ran}");
}

#[test]
fn nothing_is_made_in_gits_directory_but_by_ordinary_work() {
    let Some(mut world) = world() else { return };
    sh(&world, "git worktree add -q wt; mkdir .git/branches -p; echo x > .git/branches/old");
    let made = "mkdir .git/remotes; echo 'URL: ../evil' > .git/remotes/origin; echo y > .git/branches/old; echo z > .git/branches/new; \
                echo x > .git/worktrees/wt/unknown; echo x > .git/unknown; echo x > .git/NOTES_MSG; true";
    let ran = strict(&mut world, &[], made);
    for path in [".git/remotes", ".git/branches/new", ".git/worktrees/wt/unknown", ".git/unknown"] {
        assert!(!world.has(path), "{path}: {ran}");
    }
    assert!(world.has(".git/NOTES_MSG"), "{ran}");
    assert_eq!(world.read(".git/branches/old"), "x\n", "{ran}");
}

#[test]
fn a_workspace_that_is_a_bare_repository_keeps_its_settings() {
    let Some(mut world) = world() else { return };
    sh(&world, "mv .git/* .; rm -rf .git; git config core.bare true; mkdir -p hooks");
    let tried = "git --git-dir=. update-ref refs/heads/made HEAD; cat evil.config >> config; mv config c; cp evil.config config; echo x > hooks/post-update; echo evil > commondir; echo new > new";
    let ran = strict(&mut world, &[], tried);
    assert!(!world.read("config").contains("fsmonitor"), "{ran}");
    assert!(!world.has("hooks/post-update") && !world.has("commondir"), "{ran}");
    assert_eq!((world.read("new").as_str(), world.has("refs/heads/made")), ("new\n", true), "{ran}");
}

#[test]
fn settings_of_the_machine_and_of_the_person_lead_to_programs_as_well() {
    let Some(mut world) = world() else { return };
    let base = world.workspace.base().to_owned();
    sh(&world, "mkdir tools template template/hooks; for f in a b c; do echo good > tools/$f; done");
    let text = |name: &str| format!("[core]\n\tfsmonitor = {}/tools/{name}\n", world.workspace.path().display());
    fs::create_dir_all(base.join("xdg/git")).unwrap();
    fs::write(base.join("xdg/git/config"), text("a")).unwrap();
    let template = format!("[init]\n\ttemplateDir = {}/template\n", world.workspace.path().display());
    fs::write(base.join("global"), text("b") + &template).unwrap();
    fs::write(base.join("system"), text("c")).unwrap();
    let script = "for f in a b c; do echo evil > tools/$f; done; echo evil > template/hooks/post-checkout; true";
    let mut command = world.command(&["run", "-q", "--profile", "strict", "--", "sh", "-c", script]);
    command.env("XDG_CONFIG_HOME", base.join("xdg")).env("GIT_CONFIG_GLOBAL", base.join("global"));
    command.env("GIT_CONFIG_SYSTEM", base.join("system"));
    let ran = world.ran(command);
    assert_eq!(["a", "b", "c"].map(|name| world.read(&format!("tools/{name}"))), ["good\n"; 3], "{ran}");
    assert!(!world.has("template/hooks/post-checkout"), "{ran}");
}

#[test]
fn an_index_that_git_reads_and_belay_does_not_names_no_repositories() {
    let new = "git init -q new; git -C new -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add new; cat evil.config >> new/.git/config; ";
    let index = "/usr/bin/python3 -c 'd = open(\".git/index\", \"rb\").read(); ";
    let hook = "git init -q new; touch new/z; git -C new add z; git -C new -c user.name=a -c user.email=a@b commit -qm a; git add new; \
                printf '#!/bin/sh\\ntouch %s\\n' \"$(dirname $PWD)/pwned\" > new/.git/hooks/post-index-change; chmod +x new/.git/hooks/*; \
                touch -d yesterday new/z; chmod 311 new/.git/hooks";
    let ways = [
        // Git does without the last few bytes before the hash, which it does not check.
        format!("{new}{index}open(\".git/index\", \"wb\").write(d[:-20] + b\"JUNK\" + d[-20:])'"),
        // An entry whose length is not that of its name, so that the next one begins elsewhere.
        format!(
            "{new}{index}e = bytes(24) + d[36:40] + bytes(12) + d[52:72] + b\"\\0\\1\" + b\"aX\"; n = d.index(b\"new\\0\") - 62; \
             open(\".git/index\", \"wb\").write(d[:8] + bytes([0, 0, 0, 2]) + e + bytes(24) + d[n + 24:n + 72] + bytes(20))'"
        ),
        // More than anybody has.
        format!(
            "{new}{index}f = open(\".git/index\", \"wb\"); f.write(d[:-20] + b\"JUNK\" + (1 << 30).to_bytes(4, \"big\")); \
             f.seek(1 << 30, 1); f.write(d[-20:])'"
        ),
        // Directories that can be entered and not listed.
        format!("{new}chmod 311 .git"),
        hook.to_owned(),
    ];
    for tried in ways {
        let Some(mut world) = world() else { return };
        let copy = world.workspace.base().join("copy");
        sh(&world, &format!("cp -a . {}", copy.display()));
        drop(outside(&world, &copy, &tried));
        assert!(is_led(&world, &copy), "the trap is alive: {tried}");
        let ran = strict(&mut world, &[], &tried);
        assert!(!is_led(&world, world.workspace.path()), "{tried}\n{ran}");
    }
}

#[test]
fn a_workspace_in_the_files_of_a_repository_does_not_become_another() {
    for tried in [
        "git init -q .; cat evil.config >> .git/config",
        "git init -q --bare .; cat evil.config >> config; git config -f config core.bare false; git config -f config core.worktree .",
    ] {
        let Some(mut world) = world() else { return };
        sh(&world, "rm -rf .git; git init -q ..");
        let ran = strict(&mut world, &[], tried);
        assert!(world.ok(&["show"]).contains("leads git to settings or programs"), "{ran}");
        assert!(!is_led(&world, world.workspace.path()), "{ran}");
        sh(&world, tried);
        assert!(is_led(&world, world.workspace.path()), "the trap is alive: {tried}");
    }
    // One that executes nothing is the command's own.
    let Some(mut world) = world() else { return };
    sh(&world, "rm -rf .git; git init -q ..");
    let ran = strict(&mut world, &[], "git init -q .; git -c user.name=a -c user.email=a@b commit -qm a --allow-empty");
    assert!(world.has(".git/config") && !world.ok(&["show"]).contains("leads git to"), "{ran}");
}

#[test]
fn settings_that_are_named_by_whose_home_they_are_in_stay_as_they_are() {
    let Some(mut world) = world() else { return };
    let home = outside(&world, world.workspace.path(), "eval echo ~$(id -un)").stdout;
    let home = String::from_utf8(home).unwrap().trim().to_owned();
    if !Path::new(&home).is_dir() {
        belay_testkit::skip("this user has no home");
        return;
    }
    let path = "\"~$(id -un)/$(realpath --relative-to=\"$(eval echo ~$(id -un))\" shared)\"";
    sh(&world, &format!("touch shared; git config include.path {path}"));
    let ran = strict(&mut world, &[], "cat evil.config >> shared");
    assert!(ran.code != 0 && !is_led(&world, world.workspace.path()), "{ran}");
    sh(&world, "cat evil.config >> shared");
    assert!(is_led(&world, world.workspace.path()), "the trap is alive");
}

#[test]
fn what_a_killed_supervisor_could_not_put_aside_the_next_command_does() {
    let Some(mut world) = world() else { return };
    // The supervisor is stopped before the command makes it, so that it cannot come first.
    let script = "touch ready; while ! [ -e go ]; do sleep 0.05; done; cp -r .git evil; cat evil.config >> evil/config; \
                  echo ../evil > .git/commondir; touch made; sleep 60";
    let mut command = world.command(&["run", "-q", "--profile", "strict", "--", "sh", "-c", script]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("the command runs", || world.has("ready"));
    let pid = crate::running::records(&world).pop().unwrap()["supervisor"]["pid"].as_u64().unwrap().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    signal("-STOP");
    world.workspace.file("go", "");
    until("it made it", || world.has("made"));
    signal("-KILL");
    child.wait().unwrap();
    assert!(world.has(".git/commondir"), "nobody was there to put it aside");
    let status = world.belay(&["status"]);
    assert!(!world.has(".git/commondir"), "{status}");
    assert!(status.stderr.contains("leads git to settings or programs"), "{status}");
    assert!(!is_led(&world, world.workspace.path()), "{status}");
}

#[test]
fn whoever_goes_back_to_what_leads_git_is_told() {
    let Some(mut world) = world() else { return };
    let script = "cp -r .git evil; cat evil.config >> evil/config; \
                  for i in 1 2 3 4 5 6 7 8; do echo ../evil > .git/commondir; belay snapshot; done; true";
    let ran = strict(&mut world, &[], script);
    let snapshots = world.json(&["snapshots"]);
    let ids = snapshots["snapshots"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].as_str().expect("an id").to_owned());
    let ids: Vec<String> = ids.collect();
    let led = ids.iter().find(|id| world.ok(&["ls", id, ".git"]).lines().any(|line| line.ends_with("commondir")));
    let led = led.unwrap_or_else(|| panic!("no snapshot has it: {ran}"));
    assert!(!world.has(".git/commondir"), "{ran}");
    let aside = fs::read_dir(world.workspace.path().join(".git"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().matches(".run_").count() > 1);
    assert_eq!(aside.count(), 0, "what lies aside stays there: {ran}");
    let plan = world.belay(&["rollback", led, "-n"]);
    let said = plan.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(".git/commondir leads git to settings or programs"), "{plan}");
    let back = world.belay(&["rollback", led, "-y"]);
    assert!(back.stderr.contains("leads git to settings or programs"), "{back}");
}

#[test]
fn ordinary_work_with_git_goes_on_in_every_profile() {
    let Some(mut world) = world() else { return };
    sh(&world, "git init -q ../lib.git; git -C ../lib.git -c user.name=a -c user.email=a@b commit -qm a --allow-empty");
    sh(
        &world,
        "git -c protocol.file.allow=always submodule add -q ../lib.git lib; git commit -qm lib; git submodule --quiet deinit -f lib; rm -rf .git/modules",
    );
    let lib = world.workspace.base().join("lib.git");
    let lib = lib.to_str().unwrap();
    for profile in ["default", "claude", "strict"] {
        let script = "set -e; n=$0; git checkout -qb work-$n; echo $n > f-$n; git add f-$n; git commit -qm $n; git checkout -qb side-$n HEAD~1; \
                      echo s > s-$n; git add s-$n; git commit -qm s; git rebase -q work-$n; git checkout -q work-$n; git merge -q --no-ff -m m side-$n; \
                      echo d >> a; git stash -q; git stash pop -q; git commit -qam d; git worktree add -q wt-$n; git -C wt-$n commit -qm w --allow-empty; \
                      git worktree remove wt-$n; git clone -q . clone-$n; git -C clone-$n log --oneline | wc -l >/dev/null; rm -rf clone-$n; \
                      git cherry-pick --allow-empty wt-$n; git tag t-$n; git notes add -m n; git bisect start HEAD HEAD~2; git bisect reset; \
                      git gc -q; git fsck --no-progress; git reset -q --hard; git sparse-checkout list 2>/dev/null || true; echo done";
        let ran = world.belay(&["run", "-q", "--profile", profile, "--ro", lib, "--", "sh", "-c", script, profile]);
        assert!(ran.code == 0 && ran.stdout.ends_with("done\n"), "{profile}: {ran}");
        assert!(!world.ok(&["show"]).contains("leads git to"), "{profile}: {ran}");
    }
    // Where its settings can be written, a submodule can be made known to git inside; elsewhere it is known before.
    let script =
        "set -e; git -c protocol.file.allow=always submodule update -q --init; git -C lib log -1 >/dev/null; echo done";
    let ran = world.belay(&["run", "-q", "--profile", "default", "--ro", lib, "--", "sh", "-c", script]);
    assert!(ran.code == 0 && ran.stdout.ends_with("done\n"), "{ran}");
    // Git writes the settings of a submodule that is there whenever it updates it, so that there it must be new.
    sh(&world, "git submodule --quiet deinit -f lib; rm -rf .git/modules; git submodule --quiet init");
    let script = "set -e; git -c protocol.file.allow=always submodule update -q; git -C lib -c user.name=a -c user.email=a@b commit --allow-empty -qm l; git add lib; git commit -qm bump; echo done";
    let ran = world.belay(&["run", "-q", "--profile", "strict", "--ro", lib, "--", "sh", "-c", script]);
    assert!(ran.code == 0 && ran.stdout.ends_with("done\n"), "{ran}");
    assert!(!world.ok(&["show"]).contains("leads git to"), "{ran}");
}

#[test]
fn ordinary_work_with_git_goes_on() {
    let Some(mut world) = world() else { return };
    sh(&world, "git config include.path ../shared; touch shared; git worktree add -q wt");
    let script = "set -e; echo b > b; git add b; git commit -qm b; git worktree add -q other; git -C wt commit -qm c --allow-empty; \
                  git init -q nested; git -C nested config core.fsmonitor false; git checkout -qb topic; echo c >> a; git stash -q; \
                  git stash pop -q; git gc -q; git -C other status -s; git worktree remove other; git commit -qam d; git rebase -q wt; echo done";
    for flags in [&["--ephemeral"][..], &[]] {
        let ran = strict(&mut world, flags, script);
        assert!(ran.code == 0 && ran.stdout.ends_with("done\n"), "{ran}");
        assert!(!world.ok(&["show"]).contains("leads git to"), "{ran}");
    }
    assert!(world.has("nested/.git/config"));
}

#[test]
fn what_is_brought_in_from_elsewhere_leads_git_nowhere() {
    let made = "cp -r real evil; cat evil.config >> evil/config; rm .git; ln -s evil .git; echo ../evil > real/commondir; echo new > new";
    for is_fork in [false, true] {
        let Some(mut world) = world() else { return };
        sh(&world, "mv .git real; ln -s real .git");
        world.snapshot();
        if is_fork {
            world.ok(&["fork", "f"]);
            let ran = strict(&mut world, &["--fork", "f"], made);
            assert_eq!(ran.code, 0, "{ran}");
            world.belay(&["pick", "f", "-y"]);
        } else {
            let ran = strict(&mut world, &["--ephemeral"], made);
            assert_eq!(ran.code, 0, "{ran}");
            world.belay(&["review", "--all", "-y"]);
        }
        assert_eq!(world.read("new"), "new\n", "what is harmless is there (fork: {is_fork})");
        assert!(!world.has("real/commondir"), "fork: {is_fork}");
        assert!(!is_led(&world, world.workspace.path()), "fork: {is_fork}");
    }
}

#[test]
fn a_repository_that_git_goes_into_is_brought_in_from_elsewhere_under_another_name() {
    let new = "git init -q new; git -C new -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add new; cat evil.config >> new/.git/config; \
               echo new > harmless";
    let bare = "cp -r .git/objects .git/refs .git/index .git/HEAD .; cp evil.config config; git config -f config core.repositoryformatversion 0; git config -f config core.bare false; \
                git config -f config core.worktree .; rm .git/HEAD; echo new > harmless";
    let known = "cp -r .git emb/.git; git -C emb config core.bare false; cat evil.config >> emb/.git/config; echo new > harmless";
    for made in [new, bare, known] {
        for is_fork in [false, true] {
            let Some(mut world) = world() else { return };
            sh(
                &world,
                "git init -q emb; git -C emb -c user.name=a -c user.email=a@b commit -qm a --allow-empty; git add emb 2>/dev/null; \
                 git commit -qm emb; mv emb/.git ../kept.git",
            );
            world.snapshot();
            if is_fork {
                world.ok(&["fork", "f"]);
                let ran = strict(&mut world, &["--fork", "f"], made);
                assert_eq!(ran.code, 0, "{ran}");
                world.belay(&["pick", "f", "-y"]);
            } else {
                let ran = strict(&mut world, &["--ephemeral"], made);
                assert_eq!(ran.code, 0, "{ran}");
                assert!(world.ok(&["show"]).contains("leads git to settings or programs"), "{made}: {ran}");
                world.belay(&["review", "--all", "-y"]);
            }
            assert_eq!(world.read("harmless"), "new\n", "what is harmless is there (fork: {is_fork})");
            assert!(!is_led(&world, world.workspace.path()), "{made}\nfork: {is_fork}");
        }
    }
}

#[test]
fn a_hook_that_is_a_link_into_the_workspace_stays_as_it_was() {
    let Some(mut world) = world() else { return };
    let pwned = world.workspace.base().join("pwned");
    sh(
        &world,
        "mkdir tools; printf '#!/bin/sh\\n' > tools/hook; chmod +x tools/hook; ln -s ../../tools/hook .git/hooks/pre-commit",
    );
    let tried = format!(
        "echo 'touch {0}' >> tools/hook; echo '#!/bin/sh' > t; echo 'touch {0}' >> t; chmod +x t; mv t tools/hook",
        pwned.display()
    );
    drop(strict(&mut world, &[], &tried));
    sh(&world, "git commit -qm b --allow-empty");
    assert!(!pwned.exists(), "the hook of the command was executed");
}
