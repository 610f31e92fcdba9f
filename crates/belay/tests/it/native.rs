//! Snapshots that a filesystem keeps, as people use them: from the command line, in a jail, as an ordinary user, killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::{Ignore, OrdinaryUser, SmallDisk, TempWorkspace, ZfsPool, assert_same_world, diff_worlds};

use crate::jailed::has_namespaces;
use crate::world::World;

const BYTES: u64 = 256 << 20;

/// A world whose workspace is a subvolume; bound in this order, the disk goes last.
fn world() -> Option<(SmallDisk, World)> {
    let disk = SmallDisk::btrfs(BYTES)?;
    let workspace = TempWorkspace::new_in(disk.path());
    SmallDisk::make_subvolume(workspace.path());
    Some((disk, World::of(workspace)))
}

#[test]
fn every_command_works_on_snapshots_of_btrfs() {
    let Some((_disk, mut world)) = world() else { return };
    world.workspace.file("a", "1\n").file("dir/b", "2\n");
    let before = world.workspace.walk();
    world.ok(&["snapshot", "--backend", "btrfs", "--label", "good"]);
    world.workspace.file("a", "changed\n").remove("dir");
    world.ok(&["snapshot", "--backend", "btrfs"]);
    assert!(world.ok(&["snapshots"]).contains("(backend: btrfs)"));
    let listed = world.ok(&["snapshots", "--json"]);
    assert!(listed.contains(".belay-snapshots/copy_"), "{listed}");
    assert!(world.ok(&["diff", "good"]).contains("dir/b"));
    assert_eq!(world.ok(&["cat", "good", "a"]), "1\n");
    assert!(world.ok(&["history", "a"]).contains("snap_"));
    world.ok(&["verify", "--deep"]);
    world.ok(&["rollback", "-y", "good"]);
    assert_same_world(&before, &world.workspace.walk(), Default::default());
    world.ok(&["undo", "-y"]);
    assert!(!world.has("dir/b"));
}

#[test]
fn what_a_snapshot_keeps_is_out_of_a_jailed_agents_reach() {
    let Some((_disk, mut world)) = world() else { return };
    if !has_namespaces() {
        return;
    }
    world.workspace.file("a", "mine");
    world.ok(&["snapshot", "--backend", "btrfs"]);
    let beside = world.workspace.base().join(".belay-snapshots");
    assert_eq!(fs::read_dir(&beside).unwrap().count(), 1);
    let base = world.workspace.base().to_str().unwrap().to_owned();
    let script = "test \"$(hostname)\" = belay || exit 99; ls -A \"$0/.belay-snapshots\"; cat \"$0\"/.belay-snapshots/*/a; \
                  mv \"$0/.belay-snapshots\" \"$0/taken\"; rm -rf \"$0\"/.belay-snapshots; rm -rf \"$0\"/.b*; true";
    // Also where a rule gives the directory around the workspace away.
    for rule in [&[][..], &["--ro", &base], &["--rw", &base]] {
        let run = [&["run", "--isolation", "jail"], rule, &["--", "sh", "-c", script, &base]].concat();
        let ran = world.belay(&run);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(!ran.stdout.contains("copy_") && !ran.stdout.contains("mine"), "{rule:?}: {ran}");
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 1, "{rule:?}");
    }
    world.ok(&["verify", "--deep"]);
}

/// How many times each command is killed, each time a little later in what it takes.
const KILLS: u32 = 8;

/// What the filesystem keeps: snapshots, and whatever else was made for them.
fn kept_by(backend: &str, world: &World) -> BTreeSet<String> {
    if backend == "btrfs" {
        let beside = fs::read_dir(world.workspace.base().join(".belay-snapshots"));
        let names = beside
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("a directory is listed").path().display().to_string());
        return names.collect();
    }
    let mut list = Command::new("zfs");
    let said = list.args(["list", "-H", "-o", "name", "-t", "filesystem,snapshot"]).output().expect("zfs starts");
    let said = String::from_utf8(said.stdout).expect("UTF-8");
    // A clone is there for the sake of the snapshot that it is called after.
    let name = |line: &str| line.replace("/belay-shows-", "@");
    said.lines().filter(|line| line.contains("belay-copy_")).map(name).collect()
}

/// Kills a command so far into what it usually takes.
fn kill(world: &World, words: &[&str], after: Duration) {
    let mut child = world.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
    std::thread::sleep(after);
    // Whatever has ended already cannot be killed.
    let _ = child.kill();
    child.wait().expect("it ends");
}

fn killed_at_any_moment(mut world: World, backend: &str) {
    for n in 0..40 {
        world.workspace.file(format!("dir{}/file{n}", n % 5), format!("good {n}\n").repeat(400));
    }
    world.ok(&["snapshot", "--backend", backend, "--label", "good"]);
    let good = world.workspace.walk();
    let steps: [&[&str]; 4] = [
        &["snapshot", "--backend", backend],
        &["rollback", "-y", "good"],
        &["snapshots", "prune", "--keep", "2", "-y"],
        &["gc"],
    ];
    let mut serial = 0;
    let mut change = |world: &World| {
        serial += 1;
        world.workspace.file("dir1/file1", format!("bad {serial}\n").repeat(500)).file(format!("new{serial}"), "x");
    };
    let mut usual = [Duration::ZERO; 4];
    for round in 0..KILLS {
        for (words, took) in steps.into_iter().zip(&mut usual) {
            change(&world);
            world.ok(&["snapshot", "--backend", backend]);
            change(&world);
            if round == 0 {
                let begun = Instant::now();
                world.ok(words);
                *took = begun.elapsed();
                change(&world);
            }
            let bad = world.workspace.walk();
            kill(&world, words, *took * (2 * round + 1) / (2 * KILLS));
            // Whatever comes next finds the old state or the new one, or makes one of them of the half.
            world.ok(&["status"]);
            let now = world.workspace.walk();
            let differs = |from| diff_worlds(from, &now, Ignore::default());
            assert!(
                differs(&bad).is_empty() || differs(&good).is_empty(),
                "{words:?} left a mixture: {:?}",
                differs(&bad)
            );
        }
    }
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    world.ok(&["rollback", "-y", "good"]);
    assert_same_world(&good, &world.workspace.walk(), Ignore::default());
    // A jail that anybody on this machine has open keeps what zfs mounted busy; then gc says so and is asked again.
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let collected = world.json(&["gc"]);
        if collected["left"].as_array().is_some_and(Vec::is_empty) {
            break;
        }
        assert!(backend == "zfs" && Instant::now() < deadline, "{collected}");
        std::thread::sleep(Duration::from_secs(2));
    }
    let listed = world.json(&["snapshots"]);
    let named = listed["snapshots"].as_array().expect("a list").iter().filter_map(|one| one["native_ref"].as_str());
    assert_eq!(kept_by(backend, &world), named.map(str::to_owned).collect(), "each is a snapshot's");
}

#[test]
fn commands_on_btrfs_are_killed_at_any_moment_and_nothing_is_lost_or_leaks() {
    let Some((_disk, world)) = world() else { return };
    killed_at_any_moment(world, "btrfs");
}

#[test]
fn commands_on_zfs_are_killed_at_any_moment_and_nothing_is_lost_or_leaks() {
    let Some(pool) = ZfsPool::create() else { return };
    let workspace = TempWorkspace::new();
    pool.mount_at(workspace.path());
    killed_at_any_moment(World::of(workspace), "zfs");
}

/// Runs belay as the user and insists that it succeeds; returns what it printed.
#[track_caller]
fn ok(user: OrdinaryUser, belay: &Path, base: &Path, words: &[&str]) -> String {
    let mut command: Command = user.command(belay, base);
    command.current_dir(base.join("work")).env("BELAY_HOME", base.join("home")).args(words);
    let output = command.output().expect("belay starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "belay {words:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn an_ordinary_user_takes_goes_back_to_and_prunes_snapshots_of_its_own_subvolume() {
    let Some(disk) = SmallDisk::btrfs(BYTES) else { return };
    let Some(user) = OrdinaryUser::find() else { return };
    // Not on the small disk, which a build for tests would fill.
    let elsewhere = user.directory();
    let belay = user.copy_of(Path::new(env!("CARGO_BIN_EXE_belay")), elsewhere.path());
    for options in ["rw", "user_subvol_rm_allowed"] {
        let remount = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(disk.path()).status();
        assert!(remount.unwrap().success());
        let base = disk.path().join(options);
        fs::create_dir(&base).unwrap();
        SmallDisk::make_subvolume(&base.join("work"));
        fs::create_dir(base.join("work/dir")).unwrap();
        for (name, text) in [("work/a", "1\n"), ("work/dir/b", "2\n")] {
            fs::write(base.join(name), text).unwrap();
        }
        let own = Command::new("chown").arg("-R").arg(format!("{}:{}", user.uid(), user.gid())).arg(&base).status();
        assert!(own.unwrap().success());
        let run = |words: &[&str]| ok(user, &belay, &base, words);
        run(&["snapshot", "--backend", "btrfs", "--label", "good"]);
        fs::write(base.join("work/a"), "other\n").unwrap();
        fs::remove_file(base.join("work/dir/b")).unwrap();
        run(&["snapshot", "--backend", "btrfs"]);
        let kept = || fs::read_dir(base.join(".belay-snapshots")).map_or(0, Iterator::count);
        assert_eq!(kept(), 2, "{options}");
        run(&["rollback", "-y", "good"]);
        assert_eq!(fs::read(base.join("work/a")).unwrap(), b"1\n");
        assert_eq!(fs::read(base.join("work/dir/b")).unwrap(), b"2\n");
        let before = kept();
        run(&["snapshots", "prune", "--keep", "1", "-y"]);
        // No prune takes what has a label.
        run(&["snapshots", "delete", "good", "-y"]);
        run(&["gc"]);
        assert!(kept() < before, "{options}: nothing was removed");
        run(&["verify", "--deep"]);
    }
}
