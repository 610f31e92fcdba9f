//! Forks: several agents on copies of one workspace, compared, and brought together again.

use std::path::Path;

use belay_testkit::SmallDisk;
use insta::assert_snapshot;

use crate::jailed::has_namespaces;
use crate::running::until;
use crate::world::World;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn world() -> Option<World> {
    has_namespaces().then(|| {
        let world = World::new();
        world.workspace.file("text", LINES).file("gone", "g").file("dir/inner", "i").file(".env", "secret\n");
        world.workspace.file(".gitignore", ".env\nnode_modules\n").file("package.json", "{}");
        world.workspace.file("node_modules/lib/index.js", "dependency");
        world
    })
}

fn in_fork(world: &mut World, fork: &str, script: &str) -> String {
    let ran = world.belay(&["run", "--fork", fork, "--", "sh", "-ec", script]);
    assert_eq!(ran.code, 0, "{ran}");
    ran.stdout
}

#[test]
fn a_fork_that_was_removed_is_not_where_the_workspace_goes_back_to() {
    let Some(mut world) = world() else { return };
    world.snapshot();
    world.ok(&["fork", "alpha"]);
    in_fork(&mut world, "alpha", "rm -r dir; echo other > text");
    world.ok(&["forks", "rm", "-y", "alpha"]);
    let nothing = world.belay(&["rollback", "-y"]);
    assert!(nothing.stderr.contains("Nothing to do"), "{nothing}");
    world.workspace.file("text", "typo");
    world.ok(&["restore", "-y", "text"]);
    assert_eq!(world.read("text"), LINES);
    assert_eq!(world.read("dir/inner"), "i");
}

#[test]
fn three_agents_side_by_side_and_the_third_conflicts() {
    let Some(mut world) = world() else { return };
    let before = world.workspace.walk();
    world.ok(&["fork", "agent", "-n", "3"]);
    let script = |number: usize| match number {
        1 => "sed -i s/1/one/ text; echo new > from-1; cat .env node_modules/lib/index.js",
        2 => "sed -i s/9/nine/ text; rm -r dir gone",
        _ => "sed -i s/1/eins/ text; echo other > from-3",
    };
    let run = |number: usize| {
        let fork = format!("agent-{number}");
        let mut command = world.command(&["run", "-q", "--fork", &fork, "--", "sh", "-ec", script(number)]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let agents: Vec<_> = (1..=3).map(run).collect();
    for (number, agent) in agents.into_iter().enumerate() {
        let output = agent.wait_with_output().unwrap();
        assert!(output.status.success(), "agent {}: {}", number + 1, String::from_utf8_lossy(&output.stderr));
        if number == 0 {
            let seen = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(seen, "secret\ndependency", "ignored files and dependencies are there");
        }
    }
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());

    world.ok(&["pick", "agent-1", "-y"]);
    world.ok(&["pick", "agent-2", "-y"]);
    assert_eq!(world.read("text"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert!(!world.has("dir") && !world.has("gone") && world.has("from-1"));
    let third = world.belay(&["pick", "agent-3", "-y"]);
    assert_eq!(third.code, 5, "{third}");
    assert!(third.stderr.contains("text stays (both changed the same place)"), "{third}");
    assert_eq!(world.read("text"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert_eq!(world.read("text.fork-agent-3"), LINES.replace('1', "eins"));
    assert_eq!(world.read("from-3"), "other\n");
    for _ in 0..3 {
        world.ok(&["undo", "-y"]);
    }
    belay_testkit::assert_same_world(
        &before,
        &world.workspace.walk(),
        belay_testkit::Ignore { mtime: true, directory_mtime: true, ..Default::default() },
    );
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_fork_is_a_workspace_with_a_history_of_its_own() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "alpha"]);
    in_fork(&mut world, "alpha", "echo changed > text; echo more > made");
    assert_eq!(world.read("text"), LINES);
    let named = world.ok(&["--fork", "alpha", "diff", "base", "--name-only"]);
    assert_eq!(named, "made\ntext\n");
    let snapshots = world.json(&["--fork", "alpha", "snapshots"]);
    assert!(snapshots.to_string().contains("\"base\""), "{snapshots}");
    world.ok(&["--fork", "alpha", "rollback", "-y", "base", "text"]);
    assert_eq!(in_fork(&mut world, "alpha", "cat text made"), format!("{LINES}more\n"));
    world.ok(&["--fork", "alpha", "undo", "-y"]);
    assert_eq!(in_fork(&mut world, "alpha", "cat text"), "changed\n");
    let own = world.ok(&["snapshots", "--json"]);
    assert!(!own.contains("\"base\""), "the workspace's own history does not hold it: {own}");
}

#[test]
fn what_the_workspace_changes_later_is_not_seen_by_a_fork_and_not_taken_back_by_a_pick() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "alpha"]);
    in_fork(&mut world, "alpha", "sed -i s/9/nine/ text; echo own > dir/own");
    world.workspace.file(".env", "other\n").file("text", LINES.replace('1', "one")).file("dir/late", "late");
    std::fs::remove_file(world.workspace.join("gone")).unwrap();
    let seen = in_fork(&mut world, "alpha", "cat .env gone; head -n 1 text; ls dir");
    assert_eq!(seen, "secret\ng1\ninner\nown\n");
    let picked = world.belay(&["pick", "alpha", "-y"]);
    assert_eq!(picked.code, 0, "{picked}");
    assert_eq!(world.read(".env"), "other\n");
    assert_eq!(world.read("text"), LINES.replace('1', "one").replace('9', "nine"));
    assert!(!world.has("gone") && world.has("dir/late") && world.has("dir/own"));
    let nothing = world.belay(&["pick", "alpha", "-y"]);
    assert!(nothing.stderr.contains("Nothing to do"), "{nothing}");
}

#[test]
fn a_fork_begins_where_it_is_told_to() {
    let Some(mut world) = world() else { return };
    let old = world.snapshot();
    world.workspace.file("text", "new\n").file("later", "l");
    world.ok(&["fork", "old", &old]);
    assert_eq!(in_fork(&mut world, "old", "cat text; ls; sed -i s/5/five/ text").lines().nth(9), Some("dir"));
    let plan = world.ok(&["pick", "old", "--dry-run"]);
    assert!(plan.contains("conflict: text stays"), "{plan}");
    assert!(!plan.contains("later"), "what is newer here is no change of the fork: {plan}");
    assert_eq!(world.read("text"), "new\n");
}

#[test]
fn what_is_said_of_forks() {
    let Some(mut world) = world() else { return };
    // On a busy machine a second line says that the capture goes on.
    assert_snapshot!(world.belay(&["fork", "alpha"]).stderr.lines().next().unwrap_or_default(), @"Forked alpha: `belay run --fork alpha -- COMMAND` works in it");
    assert_snapshot!(world.belay(&["fork", "alpha"]), @r#"
    exit 4
    --- stderr
    error: a fork of this workspace is called "alpha" already
      nothing was changed
    hint: choose another name, or remove that one with `belay forks rm alpha`
    "#);
    assert_eq!(world.belay(&["fork", "../up"]).code, 2);
    assert_eq!(world.belay(&["fork", "origin"]).code, 2);
    assert_snapshot!(world.belay(&["pick", "alpa"]), @r#"
    exit 3
    --- stderr
    error: no fork of this workspace is called "alpa"
      nothing was changed
      nearest: alpha
    hint: `belay forks` lists them
    "#);
    in_fork(&mut world, "alpha", "echo x > text");
    assert_snapshot!(world.belay(&["compare", "alpha", "--stat"]), @"
    exit 0
    --- stdout
     text | 10 +---------
    1 path changed, 1 line added, 9 lines removed
    ");
    assert_snapshot!(world.belay(&["pick", "alpha", "--dry-run"]), @"
    exit 0
    --- stdout
    Bring in the fork alpha:
      ~ text
    --- stderr
    Nothing was changed (dry run).
    ");
    assert_snapshot!(world.belay(&["pick", "alpha"]), @"
    exit 4
    --- stderr
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to go ahead without being asked, or --dry-run to only see the plan
    ");
    let listed = world.json(&["forks"]);
    assert_eq!((&listed["forks"][0]["name"], &listed["forks"][0]["changed"]), (&"alpha".into(), &1.into()));
    let removed = world.json(&["forks", "rm", "-y", "alpha"]);
    let last = removed["removed"][0]["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(world.ok(&["cat", &last, "text"]), "x\n");
    assert_snapshot!(world.belay(&["forks"]), @"
    exit 0
    --- stdout
    No forks; `belay fork NAME` makes one.
    ");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn one_run_at_a_time_and_only_in_a_jail() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "alpha"]);
    let bare = world.belay(&["run", "--fork", "alpha", "--isolation", "none", "--", "true"]);
    assert!(bare.code == 125 && bare.stderr.contains("needs a jail"), "{bare}");
    world.ok(&["run", "--detach", "--fork", "alpha", "--", "sh", "-c", "echo > begun; sleep 1000"]);
    let is_there = |world: &World| {
        let forks = world.workspace.home().join("forks");
        let begun = |dir: std::fs::DirEntry| dir.path().join("changes/begun").exists();
        std::fs::read_dir(forks).unwrap().flatten().any(begun)
    };
    until("it began", || is_there(&world));
    for words in [&["run", "--fork", "alpha", "--", "true"][..], &["--fork", "alpha", "rollback", "-y", "base"]] {
        let refused = world.belay(words);
        assert!(refused.code != 0 && refused.stderr.contains("goes on in"), "{refused}");
    }
    assert!(world.belay(&["forks"]).stdout.contains("goes on"));
    assert_eq!(world.belay(&["forks", "rm", "-y", "alpha"]).code, 4);
    assert!(world.ok(&["compare", "alpha", "--name-only"]).contains("begun"), "it can be looked at meanwhile");
    assert!(!world.ok(&["--fork", "alpha", "runs"]).is_empty() && world.ok(&["runs", "--json"]).is_empty());
    world.ok(&["--fork", "alpha", "stop", "--now"]);
    world.ok(&["forks", "rm", "-y", "alpha"]);
}

#[test]
fn a_directory_of_its_own_has_everything_and_is_picked_from_too() {
    let mut world = World::new();
    world.workspace.file("text", LINES).file(".env", "secret").file("node_modules/lib", "d").file("package.json", "{}");
    world.workspace.file(".gitignore", "node_modules\n");
    std::fs::hard_link(world.workspace.join("text"), world.workspace.join("twin")).unwrap();
    std::os::unix::fs::symlink("text", world.workspace.join("link")).unwrap();
    let to = world.workspace.base().join("beta");
    let path = to.to_str().unwrap().to_owned();
    world.ok(&["fork", "beta", "--to", &path, "-y"]);
    belay_testkit::assert_same_world(&world.workspace.walk(), &belay_testkit::walk(&to), Default::default());
    std::fs::write(to.join("made"), "m").unwrap();
    std::fs::remove_file(to.join(".env")).unwrap();
    assert_eq!(world.ok(&["-C", &path, "diff", "base", "--name-only"]), ".env\nmade\n");
    world.ok(&["pick", "beta", "-y"]);
    assert!(world.has("made") && !world.has(".env"));
    world.ok(&["forks", "rm", "beta", "-y"]);
    assert!(Path::new(&to).join("made").exists(), "a directory is nobody's but its owner's to remove");
    let full = world.belay(&["fork", "gamma", "--to", &path, "-y"]);
    assert_eq!(full.code, 4, "{full}");
    let inside = world.belay(&["fork", "gamma", "--to", "inner", "-y"]);
    assert!(inside.code == 7 && inside.stderr.contains("inside the workspace") && !world.has("inner"), "{inside}");
}

/// A small disk of each filesystem; one that cannot be made is said to be skipped.
fn disks() -> [(&'static str, Option<SmallDisk>); 4] {
    let size = 320 << 20;
    [
        ("ext4", SmallDisk::ext4(64 << 20)),
        ("btrfs", SmallDisk::btrfs(size)),
        ("xfs", SmallDisk::xfs(size)),
        ("tmpfs", SmallDisk::tmpfs(64 << 20)),
    ]
}

#[test]
fn layers_work_on_every_filesystem_and_blocks_are_shared_where_they_can_be() {
    if !has_namespaces() {
        return;
    }
    for (name, disk) in disks() {
        let Some(disk) = disk else { continue };
        let mut world = World::new();
        let at = disk.path().join("ws");
        std::fs::create_dir_all(at.join("dir")).unwrap();
        std::fs::write(at.join("text"), LINES).unwrap();
        std::fs::write(at.join("dir/inner"), "i").unwrap();
        // Once with the layer on the same filesystem, once with it on another.
        for home in [disk.path().join("home"), world.workspace.home().to_owned()] {
            let mut belay = |words: &[&str]| {
                let mut command = world.command(words);
                command.current_dir(&at).env("BELAY_HOME", &home);
                let ran = world.ran(command);
                assert_eq!(ran.code, 0, "{name}: belay {words:?}\n{ran}");
                ran.stdout
            };
            belay(&["fork", "alpha"]);
            let script = "sed -i s/9/nine/ text; rm -r dir; mkdir -p new/deep; echo n > new/deep/file; ln -s text link";
            belay(&["run", "-q", "--fork", "alpha", "--", "sh", "-ec", script]);
            assert_eq!(belay(&["compare", "alpha", "--name-only"]), "dir/inner\nlink\nnew/deep/file\ntext\n");
            belay(&["pick", "alpha", "-y"]);
            assert_eq!(std::fs::read_to_string(at.join("text")).unwrap(), LINES.replace('9', "nine"));
            belay(&["undo", "-y"]);
            assert!(at.join("dir/inner").exists() && !at.join("new").exists());
            belay(&["run", "-q", "--ephemeral", "--", "sh", "-ec", script]);
            belay(&["review", "--all", "-y"]);
            assert!(!at.join("dir").exists() && at.join("new/deep/file").exists());
            belay(&["undo", "-y"]);
        }
        if matches!(name, "btrfs" | "xfs") {
            let mut command = world.command(&["fork", "beta", "--to", "../beta"]);
            command.current_dir(&at).env("BELAY_HOME", disk.path().join("home"));
            let ran = world.ran(command);
            assert_eq!(ran.code, 0, "without a question, since nothing is copied: {ran}");
            assert_eq!(std::fs::read_to_string(disk.path().join("beta/text")).unwrap(), LINES);
        }
    }
}

#[test]
fn an_ordinary_user_works_apart_on_every_filesystem() {
    use belay_testkit::OrdinaryUser;
    if !has_namespaces() {
        return;
    }
    let Some(user) = OrdinaryUser::find() else { return };
    let elsewhere = user.directory();
    let belay = user.copy_of(env!("CARGO_BIN_EXE_belay").as_ref(), elsewhere.path());
    for (name, disk) in disks() {
        let Some(disk) = disk else { continue };
        let base = disk.path().join("own");
        std::fs::create_dir_all(base.join("ws/dir")).unwrap();
        std::fs::write(base.join("ws/text"), LINES).unwrap();
        std::fs::write(base.join("ws/dir/inner"), "i").unwrap();
        ["", "ws", "ws/dir", "ws/text", "ws/dir/inner"].iter().for_each(|path| user.own(&base.join(path)));
        for home in [base.join("home"), elsewhere.path().join(name)] {
            let run = |words: &[&str]| {
                let mut command = user.command(&belay, &base);
                command.current_dir(base.join("ws")).env("BELAY_HOME", &home).args(words);
                let output = command.output().expect("belay starts");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{name}: belay {words:?}: {said}");
                String::from_utf8(output.stdout).expect("UTF-8")
            };
            let script = "sed -i s/9/nine/ text; rm -r dir; mkdir -p new/deep; echo n > new/deep/file; ln -s text link";
            run(&["run", "-q", "--ephemeral", "--", "sh", "-ec", script]);
            assert!(base.join("ws/dir/inner").exists() && !base.join("ws/new").exists(), "{name}");
            run(&["review", "--all", "-y"]);
            assert!(!base.join("ws/dir").exists() && base.join("ws/new/deep/file").exists(), "{name}");
            run(&["undo", "-y"]);
            run(&["fork", "alpha"]);
            run(&["run", "-q", "--fork", "alpha", "--", "sh", "-ec", script]);
            assert_eq!(run(&["compare", "alpha", "--name-only"]), "dir/inner\nlink\nnew/deep/file\ntext\n", "{name}");
            run(&["pick", "alpha", "-y"]);
            assert_eq!(std::fs::read_to_string(base.join("ws/text")).unwrap(), LINES.replace('9', "nine"), "{name}");
            run(&["undo", "-y"]);
        }
    }
}

#[test]
fn where_nothing_can_be_laid_over_a_directory_the_way_out_is_named() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("number", "42\n");
    let file = world.workspace.join("number");
    let mut without = |words: &str| {
        let belay = env!("CARGO_BIN_EXE_belay");
        let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {belay} {words}");
        let like = world.command(&[]);
        let mut command = std::process::Command::new("unshare");
        command.args(["-Ur", "sh", "-c", &script]).current_dir(world.workspace.path());
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        world.ran(command)
    };
    // Inside, too, so that its owner is one who is known there.
    assert_eq!(without("snapshot --label good").code, 0);
    std::fs::write(&file, "43\n").unwrap();
    let fork = without("fork alpha");
    assert!(fork.code == 7 && fork.stderr.contains("belay fork --to DIR"), "{fork}");
    let run = without("run --ephemeral -- true");
    assert!(run.code == 125 && run.stderr.contains("leave it out"), "{run}");
    let copied = without("fork beta --to ../beta -y");
    assert_eq!(copied.code, 0, "{copied}");
    let found = without("bisect --since good -- grep -q 42 number");
    assert_eq!(found.code, 0, "{found}");
    assert!(found.stderr.contains("each snapshot is copied") && found.stdout.contains("M number"), "{found}");
    assert_eq!(std::fs::read_dir(world.workspace.home().join("forks")).unwrap().count(), 1, "only the directory's");
}

#[test]
fn a_fork_is_the_workspace_as_it_was_when_it_was_made() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "safe"]);
    until("it is captured", || {
        let listed = world.command(&["--json", "forks"]).output().unwrap().stdout;
        String::from_utf8_lossy(&listed).contains("\"base\":\"snap_")
            || String::from_utf8_lossy(&listed).contains("\"base\": \"snap_")
    });
    std::fs::remove_file(world.workspace.join("gone")).unwrap();
    assert_eq!(in_fork(&mut world, "safe", "cat gone"), "g");
}

#[test]
fn whoever_works_in_a_fork_cannot_take_its_origin_back() {
    let Some(mut world) = world() else { return };
    world.ok(&["snapshot", "-l", "good"]);
    world.workspace.file("text", "precious");
    world.ok(&["fork", "a"]);
    for words in
        ["rollback good -y", "restore good text -y", "snapshot", "--fork a rollback good -y", "--fork ../x status"]
    {
        let ran = world.belay(&["run", "--fork", "a", "-q", "--", "sh", "-c", &format!("belay {words}")]);
        assert_eq!(ran.code, 4, "{words}: {ran}");
    }
    assert_eq!(world.read("text"), "precious");
}

#[test]
fn what_a_fork_did_is_ascribed_to_its_run_and_every_hint_works() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "a"]);
    let ran = world.belay(&["run", "--fork", "a", "--", "sh", "-c", "echo changed > text"]);
    assert!(ran.stderr.contains("belay --fork a log") && ran.stderr.contains("`belay compare a`"), "{ran}");
    assert!(!ran.stderr.contains("NAME"), "{ran}");
    let logged = world.ok(&["--fork", "a", "log"]);
    assert!(logged.contains("echo changed > text") && logged.contains("text\n"), "{logged}");
    let blamed = world.ok(&["--fork", "a", "blame", "text"]);
    assert!(blamed.contains("sh -c") && !blamed.contains("somebody"), "{blamed}");
    world.ok(&["pick", "a", "-y"]);
    let blamed = world.ok(&["blame", "text"]);
    assert!(blamed.contains("the fork a"), "{blamed}");
    let weighed = world.ok(&["du"]);
    assert!(weighed.contains("(fork a)") && !weighed.contains("forks/ws_"), "{weighed}");

    world.ok(&["run", "-q", "--ephemeral", "--", "sh", "-c", "echo once > text; echo n > new"]);
    let logged = world.ok(&["log"]);
    let run = logged.split_whitespace().next().unwrap().to_owned();
    assert!(
        logged.contains(&format!("2 paths written apart from the workspace: `belay review --run {run}`")),
        "{logged}"
    );
    world.ok(&["review", "--run", &run, "--all", "-y"]);
    let blamed = world.ok(&["blame", "text"]);
    assert!(blamed.contains(&format!("what {run} wrote")), "{blamed}");
}

#[test]
fn what_git_did_in_a_fork_is_no_noise_and_its_commits_can_be_had() {
    let Some(mut world) = world() else { return };
    let git = |directory: &Path, words: &str| {
        let mut command = belay_testkit::git(directory);
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words.split(' '));
        let done = command.output().unwrap();
        assert!(done.status.success(), "git {words}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let root = world.workspace.path().to_owned();
    git(&root, "init -q -b main");
    git(&root, "add -A");
    git(&root, "commit -q -m first");
    world.ok(&["fork", "a"]);
    in_fork(&mut world, "a", "echo two > text; git -c user.name=a -c user.email=a@b commit -q -a -m second");
    let compared = world.belay(&["compare", "a", "--name-only"]);
    assert!(compared.stdout.contains("text\n") && compared.stdout.contains(".git/refs/heads/main"), "{compared}");
    assert!(!compared.stdout.contains(".git/objects") && compared.stderr.contains("--all shows them"), "{compared}");
    assert!(world.ok(&["compare", "a", "--name-only", "--all"]).contains(".git/objects/"));
    git(&root, "commit -q --allow-empty -m other");
    let picked = world.belay(&["pick", "a", "-y"]);
    assert_eq!((picked.code, world.read("text").as_str()), (5, "two\n"), "{picked}");
    let hint = picked.stderr.split("to have its commits here: `").nth(1).expect("a hint");
    let to = world.workspace.base().join("elsewhere");
    // The ids in what a test is shown are not the real ones.
    let real = |word| match word {
        "DIR" => to.to_str().unwrap(),
        word if str::starts_with(word, "snap_") => "@latest",
        word => word,
    };
    let words: Vec<&str> = hint.split('`').next().unwrap().split(' ').skip(1).map(real).collect();
    world.ok(&words);
    git(&root, &format!("fetch -q {} main", to.display()));
    assert_eq!(git(&root, "log -1 --format=%s FETCH_HEAD"), "second\n");
}

#[test]
fn the_summary_of_a_run_in_a_fork_names_its_command() {
    let Some(mut world) = world() else { return };
    world.ok(&["fork", "al"]);
    let ran = world.belay(&["run", "--fork", "al", "--", "sh", "-c", "echo z > z; rm gone"]);
    let named = "2  #1 sh -c 'echo z > z; rm gone' (by the run as a whole)";
    assert!(ran.code == 0 && ran.stderr.contains(named), "{ran}");
}

#[test]
fn a_fork_that_was_taken_back_counts_nothing_that_is_as_in_the_workspace() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a").file("b", "b");
    world.ok(&["fork", "one"]);
    world.ok(&["run", "-q", "--fork", "one", "--", "sh", "-c", "echo changed > a; rm b; echo c > c"]);
    assert_eq!(world.json(&["forks"])["forks"][0]["changed"], 3);
    world.ok(&["--fork", "one", "rollback", "-y"]);
    assert_eq!(world.json(&["forks"])["forks"][0]["changed"], 0);
}
