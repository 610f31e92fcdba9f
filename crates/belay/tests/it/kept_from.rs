//! What a run hides or protects stays so: under other names of the same files, after the runs that came before, and
//! when the command asks belay itself for it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::jailed::has_namespaces;
use crate::world::{Ran, World};

/// As long as nothing else in these workspaces.
const SECRET: &str = "TOKEN=8f14e45fceea167a5a36dedd4bea2543\n";
const OTHER_SECRET: &str = "TOKEN=c9f0f895fb98ab9159f51fd0297e236d-and-more\n";

/// A repository in small, with something to hide.
fn world() -> World {
    let world = World::new();
    let git = &world.workspace;
    git.file(".git/config", "[core]\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/hooks/pre-commit", "good");
    git.file(".git/objects/x", "").file(".git/refs/x", "").file(".env", SECRET).file("a", "a\n");
    world
}

fn strict(world: &mut World, script: &str) -> Ran {
    jailed(world, &["--profile", "strict"], script)
}

fn jailed(world: &mut World, flags: &[&str], script: &str) -> Ran {
    world.belay(&[&["run", "-q", "--isolation", "jail"], flags, &["--", "sh", "-c", script]].concat())
}

fn names_of(world: &World, path: &str) -> u64 {
    fs::metadata(world.workspace.join(path)).expect("the file is there").nlink()
}

fn inode(world: &World, path: &str) -> u64 {
    fs::metadata(world.workspace.join(path)).expect("the file is there").ino()
}

#[test]
fn another_name_made_in_an_earlier_run_leads_to_nothing_that_is_kept() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    world.workspace.file("package.json", "{}").file(".gitignore", "node_modules\n").file("node_modules/dep", "d");
    let made = "mkdir sub && ln .env sub/twin && ln .env node_modules/twin";
    assert_eq!(jailed(&mut world, &[], made).code, 0);
    world.workspace.hard_link("config", ".git/config");
    let tried = "cat .env sub/twin node_modules/twin; echo evil >> config; echo evil > sub/twin; rm -f config; \
                 mv sub sub2; ln sub/twin again; ln config again; mv sub/twin moved; cat again moved; cat config; true";
    for flags in [&["--profile", "strict"][..], &["--profile", "strict", "--rw", "."]] {
        let ran = jailed(&mut world, flags, tried);
        assert_eq!(ran.stdout, "[core]\n", "{flags:?}: {ran}");
        assert_eq!((world.read(".env").as_str(), world.read(".git/config").as_str()), (SECRET, "[core]\n"), "{ran}");
        assert_eq!((names_of(&world, ".env"), names_of(&world, ".git/config")), (3, 2), "{ran}");
    }
    let ran = world.belay(&["run", "--profile", "strict", "--", "true"]);
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("2 files are hidden because another name of the same file is"), "{ran}");
    assert!(told.contains("1 file can only be read because another name of the same file can: config"), "{ran}");
    // Where changes are kept apart, nothing hidden is read either.
    let ran = jailed(
        &mut world,
        &["--profile", "strict", "--ephemeral"],
        "cat .env sub/twin node_modules/twin; mv sub s; cat s/twin",
    );
    assert!(!ran.stdout.contains("TOKEN"), "{ran}");
    // Whoever names exactly the other name means it.
    let ran = jailed(&mut world, &["--profile", "strict", "--ro", "sub/twin"], "cat sub/twin");
    assert_eq!(ran.raw(), SECRET, "{ran}");
}

#[test]
fn a_run_that_begins_in_a_directory_of_the_workspace_sees_nothing_past_its_protection() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let outside = world.workspace.base().join("elsewhere");
    fs::write(&outside, "outside").unwrap();
    world.workspace.file("d/e/x", "").hard_link("d/twin", ".env").hard_link("d/hook", ".git/hooks/pre-commit");
    for link in ["d/out", "d/e/out"] {
        fs::hard_link(&outside, world.workspace.join(link)).unwrap();
    }
    world.snapshot();
    let script = "cat twin; echo evil > out; echo evil > e/out; echo evil > hook; echo here > new; true";
    let mut command =
        world.command(&["run", "-q", "--isolation", "jail", "--profile", "strict", "--", "sh", "-c", script]);
    command.current_dir(world.workspace.join("d"));
    let ran = world.ran(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside", "{ran}");
    assert_eq!(
        (world.read(".git/hooks/pre-commit").as_str(), world.read("d/new").as_str()),
        ("good", "here\n"),
        "{ran}"
    );
}

#[test]
fn belay_makes_no_other_name_of_what_is_kept_when_it_is_asked_inside() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    let outside = world.workspace.base().join("elsewhere");
    fs::write(&outside, "outside").unwrap();
    fs::hard_link(&outside, world.workspace.join("out")).unwrap();
    world
        .workspace
        .hard_link("twin", ".env")
        .hard_link("conf", ".git/config")
        .hard_link("out2", "out")
        .hard_link("b", "a");
    world.ok(&["snapshot", "-q", "-l", "linked"]);
    for path in ["twin", "conf", "out2", "b"] {
        fs::remove_file(world.workspace.join(path)).unwrap();
    }
    let tried = "for p in twin conf out2 b; do belay restore linked $p -y; done; belay rollback linked -y; \
                 belay rollback linked -y; cat twin conf out2; echo evil > out2; echo evil > conf";
    let ran = strict(&mut world, tried);
    assert!(!ran.stdout.contains("TOKEN"), "{ran}");
    assert_eq!(
        (names_of(&world, ".env"), names_of(&world, ".git/config"), names_of(&world, "out")),
        (1, 1, 2),
        "{ran}"
    );
    assert_eq!(inode(&world, "a"), inode(&world, "b"), "other links are made: {ran}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside", "{ran}");
    assert_eq!((world.read(".env").as_str(), world.read(".git/config").as_str()), (SECRET, "[core]\n"), "{ran}");
    assert!(ran.stderr.contains("this run is kept from it"), "{ran}");
    // Whoever started the run has all of it back.
    world.ok(&["rollback", "linked", "-y"]);
    assert_eq!(inode(&world, "twin"), inode(&world, ".env"));
}

#[test]
fn going_back_inside_to_before_there_was_a_repository_frees_nothing_of_it() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "one\n").file(".env", "old");
    world.ok(&["snapshot", "-q", "-l", "bare"]);
    world.workspace.file(".git", "gitdir: evil\n");
    world.ok(&["snapshot", "-q", "-l", "led"]);
    fs::remove_file(world.workspace.join(".git")).unwrap();
    world.workspace.file(".git/config", "evil").file(".git/hooks/pre-commit", "evil");
    world.ok(&["snapshot", "-q", "-l", "evil"]);
    world.workspace.file(".git/config", "[core]\n").file(".git/hooks/pre-commit", "good").file(".git/HEAD", "x");
    world.workspace.file("a", "two\n").file(".env", SECRET);
    let numbers = |world: &World| {
        [".git", ".git/config", ".git/hooks", ".git/hooks/pre-commit", ".env"].map(|path| inode(world, path))
    };
    let before = numbers(&world);
    for target in ["bare", "led", "evil"] {
        let tried = format!(
            "belay rollback {target} -y; belay restore {target} .git -y; belay restore {target} .git/config -y && echo RESTORED; belay restore {target} .env -y && echo RESTORED; \
             mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/config; echo evil > .git/hooks/x; \
             belay undo -y; belay redo -y; echo evil > .git/config; rm -rf .git; true"
        );
        let ran = strict(&mut world, &tried);
        assert_eq!(numbers(&world), before, "{target}: {ran}");
        assert!(!ran.stdout.contains("RESTORED"), "{target}: {ran}");
        assert_eq!(
            (world.read(".git/config").as_str(), world.read(".git/hooks/pre-commit").as_str()),
            ("[core]\n", "good")
        );
        assert!(world.read(".env") == SECRET && !world.has(".git/hooks/x"), "{target}: {ran}");
    }
    let ran = strict(&mut world, "belay rollback bare -y && cat a");
    assert!(ran.stdout == "one\n" && ran.stderr.contains("this run is kept from it"), "the rest goes back: {ran}");
}

#[test]
fn taking_one_step_back_inside_copies_nothing_that_is_kept() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    world.workspace.file("conf/.env", SECRET).file("conf/plain", "1\n");
    world.ok(&["snapshot", "-q", "-l", "before"]);
    world.workspace.file(".env", OTHER_SECRET).file("a", "b\n").remove("conf").file("conf", "a file");
    world.ok(&["snapshot", "-q", "-l", "between"]);
    world
        .workspace
        .file(".env", "TOKEN=third\n")
        .file("a", "c\n")
        .remove("conf")
        .file("conf/.env", "TOKEN=x")
        .file("conf/own", "2\n");
    let tried = "belay undo --step before -y; find . -name '*before*'; cat a.* .env.* conf.*/.env conf/.env";
    let ran = jailed(&mut world, &["--profile", "strict", "--hide", "conf/.env"], tried);
    assert!(!ran.stdout.contains("TOKEN") && !ran.stdout.contains(".env."), "{ran}");
    assert!(ran.stdout.contains("a\n"), "what is not kept is put beside: {ran}");
    assert_eq!(world.read(".env"), "TOKEN=third\n");
    for entry in fs::read_dir(world.workspace.path()).unwrap() {
        let path = entry.unwrap().path();
        let inside = fs::read_to_string(path.join(".env")).unwrap_or_default();
        assert!(path.ends_with("conf") || inside.is_empty(), "{}: {ran}", path.display());
    }
}

#[test]
fn nothing_that_is_hidden_is_told_of_inside_neither_content_nor_hash_nor_size() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    world.workspace.file("keys/one", SECRET).file("keys/two", "2");
    world.ok(&["snapshot", "-q", "-l", "before"]);
    world.workspace.file(".env", OTHER_SECRET).file("a", "b\n").file("keys/one", OTHER_SECRET);
    world.ok(&["snapshot", "-q", "-l", "after"]);
    world.workspace.file(".env", SECRET).file("a", "c\n");
    let hashes = |world: &mut World, snapshot: &str| -> Vec<String> {
        let listed = world.json(&["ls", snapshot, "-R"]);
        let all = listed.as_array().unwrap().iter();
        let secret = |entry: &&Value| [".env", "keys/one"].contains(&entry["path"].as_str().unwrap());
        all.filter(secret).map(|entry| entry["hash"].as_str().unwrap().to_owned()).collect()
    };
    let mut told = [hashes(&mut world, "before"), hashes(&mut world, "after")].concat();
    for snapshot in world.json(&["snapshots"])["snapshots"].as_array().unwrap() {
        told.extend(["root", "manifest"].map(|key| snapshot[key].as_str().unwrap().to_owned()));
        told.push(format!("\"bytes\":{}", snapshot["bytes"]));
    }
    told.extend([SECRET, OTHER_SECRET].map(|text| text.trim().to_owned()));
    told.extend([SECRET, OTHER_SECRET].map(|text| format!("\"size\":{}", text.len())));
    let asked = [
        "ls before -l",
        "ls before .env -l",
        "ls before keys",
        "ls -R --json before",
        "ls --json after .env",
        "cat before .env",
        "diff before after",
        "diff --stat before after",
        "diff --json --stat before after",
        "diff --json --name-only before",
        "history .env",
        "--json history .env",
        "--json history keys/one",
        "status",
        "--json status",
        "changes before",
        "--json changes before",
        "blame .env",
        "snapshots -l",
        "--json snapshots",
        "--json snapshot",
        "rollback before --dry-run",
        "--json rollback before --dry-run",
        "--json restore before .env --dry-run",
        "--json undo --step before --dry-run",
        "--json rollback before -y",
        "--json undo -y",
        "show",
        "--json show",
        "log",
        "--json log",
        "statusline",
    ];
    for words in asked {
        let ran = jailed(&mut world, &["--profile", "strict", "--hide", "keys"], &format!("belay {words} 2>&1"));
        let said = ran.raw();
        let hit: Vec<&String> = told.iter().filter(|told| said.contains(told.as_str())).collect();
        assert!(hit.is_empty(), "belay {words} tells {hit:?}: {ran}");
        assert!(words.contains("keys/") || !ran.stdout.contains("keys/"), "belay {words}: {ran}");
    }
    assert_eq!(world.read(".env"), SECRET);
    // What is not hidden is told of as ever.
    let ran = jailed(&mut world, &["--profile", "strict"], "belay --json ls before a; belay diff --stat before");
    assert!(ran.stdout.contains("\"hash\"") && ran.stdout.contains(" a  |"), "{ran}");
}

#[test]
fn files_that_are_hidden_are_not_counted_inside() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    for number in 0..1200 {
        world.workspace.file(format!("keys/{number}"), "");
    }
    world.ok(&["snapshot", "-q", "-l", "before"]);
    assert!(world.ok(&["snapshots", "-l"]).contains(" 1,20"), "it is counted outside");
    let asked = "belay snapshots -l; belay --json snapshots; belay --json status; belay --json snapshot; belay --json rollback before -y; \
                 belay status; belay snapshots; belay ls before nothing; belay history nothing; \
                 printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"snapshots_list\",\"arguments\":{}}}' | belay mcp";
    let ran = jailed(&mut world, &["--profile", "strict", "--hide", "keys"], &format!("{{ {asked}; }} 2>&1"));
    for number in 1200..1215_u32 {
        let (plain, grouped) = (number.to_string(), format!("1,{}", number - 1000));
        let tells = |line: &&str| {
            line.contains(&format!(":{plain},")) || line.contains(&grouped) || line.contains(&format!(" {plain} "))
        };
        let told: Vec<&str> = ran.stdout.lines().filter(tells).collect();
        assert!(told.is_empty(), "{told:?}");
    }
    assert!(!ran.stdout.contains("belay find"), "it is not available there: {ran}");
}

#[test]
fn no_file_that_runs_as_its_owner_gets_the_content_of_whoever_asks() {
    if !has_namespaces() || !has_git() {
        return;
    }
    let mut world = World::new();
    git(&world, "init -q . && git config user.name a && git config user.email a@b");
    let root = "1\n2\n3\n4\n5\n";
    let privileged = |world: &World, path: &str| {
        world.workspace.file_mode(path, root, 0o755).mode(path, 0o4755);
    };
    privileged(&world, "tool");
    privileged(&world, "other");
    world.ok(&["snapshot", "-q", "-l", "before"]);
    world.workspace.mode("tool", 0o755).file_mode("other", "0\n2\n3\n4\n5\n", 0o755);
    world.ok(&["snapshot", "-q", "-l", "step"]);
    let tried = "sed -i s/5/evil/ tool other; belay undo --step before -y";
    let ran = jailed(&mut world, &[], tried);
    let is_evil = |world: &World, path: &str| {
        let found = fs::metadata(world.workspace.join(path)).unwrap();
        found.mode() & 0o6000 != 0 && world.read(path).contains("evil")
    };
    assert!(!is_evil(&world, "tool") && !is_evil(&world, "other"), "{ran}");
    assert!(world.read("tool").contains("evil"), "it stays as it is: {ran}");

    // What is stored through a mapping takes such a right from no file, so that nobody inside has one to write.
    privileged(&world, "tool");
    let mapped = "import mmap, os\n\
                  fd = os.open('tool', os.O_RDWR); m = mmap.mmap(fd, 0); m[0:4] = b'evil'; m.flush()\n";
    world.workspace.file("map.py", mapped);
    let ran = jailed(&mut world, &[], "python3 map.py");
    if belay_testkit::is_root() {
        assert_eq!(world.read("tool"), root, "{ran}");
        assert_eq!(jailed(&mut world, &["--rw", "tool"], "echo x > tool").code, 0);
    }

    // A tree of the repository says nothing of such rights, and is made by whoever asks.
    privileged(&world, "tool");
    let tried = "b=$(echo evil | git hash-object -w --stdin); t=$(printf '100755 blob %s\\ttool\\n' $b | git mktree); \
                 git update-ref refs/sandbox/snapshots/x $(git commit-tree -m x $t); \
                 belay restore refs/sandbox/snapshots/x tool -y";
    let ran = jailed(&mut world, &["--rw", "tool"], tried);
    assert_eq!(world.read("tool"), "evil\n", "{ran}");
    assert!(!is_evil(&world, "tool"), "{ran}");
}

fn has_git() -> bool {
    let works = std::process::Command::new("git").arg("--version").output().is_ok();
    if !works {
        belay_testkit::skip("no git");
    }
    works
}

/// Lets git, and a shell, do something outside of all runs.
fn git(world: &World, words: &str) -> String {
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg(format!("git {words}"))
        .current_dir(world.workspace.path())
        .env("HOME", world.workspace.base());
    let said = command.output().expect("the command starts");
    assert!(said.status.success(), "git {words}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).into_owned()
}

#[test]
fn whatever_leads_git_to_other_settings_is_kept_with_its_settings() {
    if !has_namespaces() || !has_git() {
        return;
    }
    let mut world = World::new();
    git(&world, "init -q . && mkdir evil && git init -q evil/repo && git -C evil/repo config alias.pwn '!echo pwned'");
    git(&world, "init -q sub && mkdir .git/modules && git -C sub init -q --separate-git-dir ../.git/modules/sub .");
    let config = world.read(".git/modules/sub/config");
    // It stands for a moment at most, and not once the run has ended.
    let tried = "echo ../evil/repo/.git > .git/commondir; for i in 1 2 3 4 5 6 7 8 9 10; do [ -e .git/commondir ] || break; \
                 sleep 0.2; done; [ -e .git/commondir ] && echo STANDS; echo ../evil/repo/.git > .git/commondir; \
                 echo '[alias] pwn = !echo pwned' >> .git/modules/sub/config; echo x > .git/modules/sub/hooks/post-checkout; \
                 mv .git old; mv .git/modules/sub gone; true";
    let ran = strict(&mut world, tried);
    assert_eq!(ran.stdout, "", "{ran}");
    assert!(!world.has(".git/commondir"), "{ran}");
    assert_eq!(
        (world.read(".git/modules/sub/config"), world.has(".git/modules/sub/hooks/post-checkout")),
        (config, false),
        "{ran}"
    );
    assert!(world.ok(&["show"]).contains("leads git to settings or programs"), "{ran}");

    // One that is there is of use, and stays as it is.
    let mut world = World::new();
    git(&world, "init -q --separate-git-dir real .");
    let tried = "echo 'gitdir: evil' > .git; rm -f .git; mv .git x; echo x >> real/config; echo x > real/hooks/pre-commit; \
                 git status --short >&2; true";
    let before = (world.read(".git"), world.read("real/config"));
    let ran = strict(&mut world, tried);
    assert_eq!((world.read(".git"), world.read("real/config")), before, "{ran}");
    assert!(!world.has("real/hooks/pre-commit") && !world.has("x"), "{ran}");
}

#[test]
fn what_a_link_leads_to_is_kept_although_nobody_can_keep_the_link() {
    if !has_namespaces() {
        return;
    }
    let mut world = world();
    fs::rename(world.workspace.join(".env"), world.workspace.join("production")).unwrap();
    world.workspace.symlink(".env", "production").symlink(".envrc", "/etc/hostname").symlink(".npmrc", ".");
    let ran = strict(&mut world, "cat .env production; echo x > production; cat a");
    assert_eq!(ran.stdout, "a\n", "{ran}");
    assert_eq!(world.read("production"), SECRET, "{ran}");
    let ran = strict(&mut world, "cp production copy; belay --json ls @latest; belay restore @latest production -y");
    assert!(!ran.stdout.contains("production") && !world.has("copy"), "{ran}");
}
