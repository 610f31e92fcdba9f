//! Git outside of a run executes nothing that the run left for it, where git's settings are protected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::jailed::has_namespaces;
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
const WAYS: [(&str, &str); 9] = [
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

#[test]
fn ordinary_work_with_git_goes_on() {
    let Some(mut world) = world() else { return };
    sh(&world, "git config include.path ../shared; touch shared; git worktree add -q wt");
    let script = "set -e; echo b > b; git add b; git commit -qm b; git worktree add -q other; git -C wt commit -qm c --allow-empty; \
                  git init -q nested; git -C nested config core.fsmonitor false; git checkout -qb topic; echo c >> a; git stash -q; \
                  git stash pop -q; git gc -q; git -C other status -s; git worktree remove other; git commit -qam d; git rebase -q wt; echo done";
    let ran = strict(&mut world, &[], script);
    assert!(ran.code == 0 && ran.stdout.ends_with("done\n"), "{ran}");
    assert!(!world.ok(&["show"]).contains("leads git to"), "{ran}");
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
