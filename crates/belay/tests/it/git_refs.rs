//! Named states as refs of a real repository, with git itself as the judge of what was written and of what was left alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use belay_testkit::{Ignore, diff_worlds, git, hostile, is_root, linked_worktree, repository, skip, unborn_repository};
use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::world::World;

const CURRENT: &str = "2025-11-25";
const S1: &str = "refs/sandbox/snapshots/s1";

fn client_in(world: &World, directory: &Path) -> Client {
    let mut command = world.command(&["mcp"]);
    command.current_dir(directory).env("BELAY_AGENTS__NAMED", "git");
    Client::greet(command, CURRENT).0
}

fn client(world: &World) -> Client {
    client_in(world, world.workspace.path())
}

/// Runs git and insists that it succeeds; returns what it printed.
fn said(directory: &Path, arguments: &[&str]) -> String {
    ran(git(directory).args(arguments))
}

fn ran(command: &mut Command) -> String {
    let output = command.output().expect("git is installed by scripts/setup");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The tree that git itself makes of the worktree, in an index of its own that begins as the real one.
fn tree_by_git(directory: &Path) -> String {
    let index = tempfile::NamedTempFile::new().expect("a temporary file");
    let real = PathBuf::from(said(directory, &["rev-parse", "--git-path", "index"]).trim());
    match std::fs::read(directory.join(real)) {
        Ok(bytes) => std::fs::write(index.path(), bytes).expect("a copy of the index"),
        Err(_) => std::fs::remove_file(index.path()).expect("an index that is not there"),
    }
    let in_index = |words: &[&str]| ran(git(directory).args(words).env("GIT_INDEX_FILE", index.path()));
    in_index(&["add", "--all"]);
    in_index(&["write-tree"]).trim().to_owned()
}

/// Everything that a ref-based snapshot must leave alone.
fn state_of_git(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut state = vec![
        ("status".to_owned(), said(directory, &["status", "--porcelain=v2", "--branch", "-z"]).into_bytes()),
        ("refs".to_owned(), {
            let refs = said(directory, &["for-each-ref"]);
            refs.lines().filter(|line| !line.contains("refs/sandbox/")).collect::<String>().into_bytes()
        }),
    ];
    let top = PathBuf::from(said(directory, &["rev-parse", "--absolute-git-dir"]).trim());
    let mut waiting = vec![top.clone()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            let name = entry.strip_prefix(&top).expect("beneath").display().to_string();
            if entry.is_dir() && !name.starts_with("objects") && !name.starts_with("refs/sandbox") {
                waiting.push(entry);
            } else if entry.is_file() {
                state.push((name, std::fs::read(&entry).expect("a file")));
            }
        }
    }
    state.sort();
    state
}

#[test]
fn a_named_state_is_the_commit_that_git_would_make_and_leaves_the_rest_of_git_alone() {
    let world = World::new();
    let path = world.workspace.path();
    repository(path);
    world.workspace.file("a.txt", "v1\n").file("run.sh", "#!/bin/sh\n").mode("run.sh", 0o755).symlink("link", "a.txt");
    world.workspace.file("kept.log", "tracked though ignored\n").file("sub/deep/x", "x\n").file("sub.x", "y\n");
    said(path, &["add", "--force", "kept.log"]);
    world.workspace.file("kept.log", "tracked, ignored and changed\n").file("other.log", "ignored\n");
    let before = state_of_git(path);
    let mut client = client(&world);
    assert_eq!(client.ok("snapshot_list", json!({})).0, "no snapshots");
    let (text, data) = client.ok("snapshot_create", json!({"name": "s1", "description": "before refactor"}));
    let commit = said(path, &["rev-parse", S1]).trim().to_owned();
    assert_eq!((text.as_str(), &data["hash"]), (&*format!("snapshot s1 created: {commit}"), &json!(commit)));
    assert_eq!(state_of_git(path), before);
    assert_eq!(said(path, &["rev-parse", &format!("{S1}^{{tree}}")]).trim(), tree_by_git(path));
    assert_eq!(said(path, &["log", "-1", "--format=%B%P", S1]).trim(), "before refactor");
    said(path, &["fsck", "--strict", "--no-dangling"]);
    assert!(said(path, &["for-each-ref", "refs/sandbox/snapshots"]).contains(S1));

    let rows = client.ok("snapshot_list", json!({})).0;
    let time = said(path, &["log", "-1", "--format=%cI", S1]).trim().replace('Z', "+00:00");
    assert_eq!(rows, format!("s1\t{}\t{time}\tbefore refactor", &commit[..12]));
    assert_eq!(client.ok("snapshot_diff", json!({"name": "s1"})).0, "no differences");
    let refused = client.refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("exists already. Nothing was overwritten."), "{refused}");
    for bad in ["a..b", "x.lock", "x."] {
        assert!(client.refused("snapshot_create", json!({ "name": bad })).contains("cannot be the name of a ref"));
    }
    assert_eq!(state_of_git(path), before);
}

#[test]
fn a_restore_brings_back_what_the_ref_holds_and_touches_nothing_else() {
    let mut world = World::new();
    let path = world.workspace.path().to_owned();
    repository(&path);
    world.workspace.file("a.txt", "v1\n").file("b.txt", "b\n").file("same.txt", "same\n").mode("same.txt", 0o600);
    world.workspace.dir("empty").fifo("pipe").file("built/out.log", "built\n");
    let mut agent = client(&world);
    agent.ok("snapshot_create", json!({"name": "s1"}));
    let tree = tree_by_git(&path);

    world
        .workspace
        .file("a.txt", "v2\n")
        .file("c.txt", "new\n")
        .file("later/x/y.txt", "new\n")
        .file("later/z.log", "i\n");
    world.workspace.remove("b.txt").file(".env", "TOKEN=newer\n").file("ignored.log", "newer\n").dir("empty too");
    world.workspace.mode("same.txt", 0o640).mode("a.txt", 0o755);
    let before = state_of_git(&path);
    let diff = agent.ok("snapshot_diff", json!({"name": "s1"})).0;
    let by_git = said(&path, &["diff", "--no-ext-diff", "--no-renames", &tree, &tree_by_git(&path)]);
    assert_eq!(diff, by_git);
    let restored = agent.ok("snapshot_restore", json!({"name": "s1"})).0;
    assert_eq!(restored, "restored snapshot s1 (4 file(s) changed):\na.txt\nb.txt\nc.txt\nlater/x/y.txt");
    assert_eq!(tree_by_git(&path), tree);
    assert_eq!(state_of_git(&path).len(), before.len());
    assert_eq!((world.read(".env").as_str(), world.read("ignored.log").as_str()), ("TOKEN=newer\n", "newer\n"));
    assert!(world.has("empty") && world.has("empty too") && world.has("pipe") && world.has("built/out.log"));
    assert!(world.has("later/z.log") && !world.has("later/x"), "what the ref could not claim stays");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        world.workspace.join(name).metadata().expect("a file").permissions().mode() & 0o7777
    };
    assert_eq!((mode("same.txt"), mode("a.txt")), (0o640, 0o644));
    assert_eq!(agent.ok("snapshot_restore", json!({"name": "s1"})).0, "restored snapshot s1 (0 file(s) changed)");

    agent.ok("belay_undo", json!({}));
    assert_eq!((world.read("a.txt").as_str(), world.has("b.txt")), ("v2\n", false));
    assert_eq!((world.read("c.txt").as_str(), world.read("later/x/y.txt").as_str()), ("new\n", "new\n"));
    let refused = agent.refused("snapshot_restore", json!({"name": "s2"}));
    assert!(refused.starts_with("no snapshot is called \"s2\". Nothing was changed."), "{refused}");
    drop(agent);
    assert_eq!(world.belay(&["verify"]).code, 0);
}

#[test]
fn ignore_rules_count_as_they_were_when_the_ref_was_made() {
    let world = World::new();
    let path = world.workspace.path();
    repository(path);
    world.workspace.file(".git/info/exclude", "private/\n*.key\n").file("private/diary", "1\n");
    world.workspace.file("sub/.gitignore", "cache\n!keep.log\n").file("sub/cache/x", "1\n").file("sub/keep.log", "1\n");
    let mut agent = client(&world);
    agent.ok("snapshot_create", json!({"name": "s1"}));
    assert_eq!(said(path, &["rev-parse", &format!("{S1}^{{tree}}")]).trim(), tree_by_git(path));
    // Today nothing is ignored any more: what was then must stay.
    world.workspace.remove(".gitignore").remove("sub/.gitignore").file(".git/info/exclude", "");
    world
        .workspace
        .file("secret.key", "k\n")
        .file("sub/cache/y", "2\n")
        .file("private/diary", "2\n")
        .file(".env", "2\n");
    let restored = agent.ok("snapshot_restore", json!({"name": "s1"})).0;
    assert_eq!(restored, "restored snapshot s1 (2 file(s) changed):\n.gitignore\nsub/.gitignore");
    assert_eq!((world.read("private/diary").as_str(), world.read(".env").as_str()), ("2\n", "2\n"));
    assert!(world.has("secret.key") && world.has("sub/cache/y"));
}

#[test]
fn packed_objects_and_refs_are_found_and_other_kinds_of_repositories_work() {
    for (format, is_unborn) in [("sha1", false), ("sha256", false), ("sha1", true)] {
        let world = World::new();
        let path = world.workspace.path();
        said(path, &["init", "--quiet", &format!("--object-format={format}")]);
        let text = |change: &str| (0..2_000).map(|n| format!("line {n} {change}\n")).collect::<String>();
        for version in ["one", "two", "three"] {
            world.workspace.file("large.txt", text(version));
            if !is_unborn {
                said(path, &["add", "--all"]);
                said(path, &["commit", "--quiet", "-m", version]);
            }
        }
        world.workspace.file("a", "a\n").dir("empty");
        let mut agent = client(&world);
        agent.ok("snapshot_create", json!({"name": "s1"}));
        let tree = tree_by_git(path);
        assert_eq!(said(path, &["rev-parse", &format!("{S1}^{{tree}}")]).trim(), tree, "{format}");
        said(path, &["repack", "-a", "-d", "-f", "--depth=50", "-q"]);
        said(path, &["prune", "--expire=now"]);
        said(path, &["pack-refs", "--all"]);
        assert!(!path.join(".git").join(S1).exists());
        world.workspace.file("large.txt", "gone\n").remove("a");
        assert_eq!(agent.ok("snapshot_restore", json!({"name": "s1"})).1["files"], json!(["a", "large.txt"]));
        assert_eq!(tree_by_git(path), tree);
        assert!(agent.refused("snapshot_create", json!({"name": "s1"})).contains("exists already"));
        agent.ok("snapshot_create", json!({"name": "s2"}));
        assert_eq!(said(path, &["rev-parse", "refs/sandbox/snapshots/s2^{tree}"]).trim(), tree);
        said(path, &["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn a_linked_worktree_shares_the_refs_and_keeps_its_own_head_and_index() {
    let world = World::new();
    let main = world.workspace.join("main");
    repository(&main);
    let tree = world.workspace.join("tree");
    linked_worktree(&main, &tree, "side");
    std::fs::write(tree.join("new.txt"), "new\n").expect("a file");
    std::fs::write(main.join(".git/info/exclude"), "*.secret\n").expect("a file");
    std::fs::write(tree.join("a.secret"), "s\n").expect("a file");
    let (before, before_main) = (state_of_git(&tree), state_of_git(&main));
    let mut agent = client_in(&world, &tree);
    agent.ok("snapshot_create", json!({"name": "s1"}));
    assert_eq!(said(&main, &["rev-parse", &format!("{S1}^{{tree}}")]).trim(), tree_by_git(&tree));
    assert_eq!((state_of_git(&tree), state_of_git(&main)), (before, before_main));
    std::fs::remove_file(tree.join("new.txt")).expect("it is there");
    let restored = agent.ok("snapshot_restore", json!({"name": "s1"})).0;
    assert_eq!(restored, "restored snapshot s1 (1 file(s) changed):\nnew.txt");
    assert!(tree.join("a.secret").exists());
}

#[test]
fn a_git_file_that_leads_to_a_stranger_is_not_followed() {
    let world = World::new();
    let stranger = world.workspace.outside().join("stranger");
    repository(&stranger);
    let known = |words: &[&str]| said(&stranger, words);
    let before = (known(&["for-each-ref"]), known(&["count-objects"]));
    let git_dir = stranger.join(".git");
    // What an agent can write inside its workspace: a way out, and a way back that is not the stranger's own.
    world.workspace.file("fake/gitdir", format!("{}\n", world.workspace.join(".git").display()));
    world
        .workspace
        .file("fake/commondir", format!("{}\n", git_dir.display()))
        .file("fake/HEAD", "ref: refs/heads/main\n");
    for target in [git_dir.clone(), world.workspace.join("fake"), git_dir.join("worktrees/none")] {
        world.workspace.file(".git", format!("gitdir: {}\n", target.display()));
        let refused = client(&world).refused("snapshot_create", json!({"name": "s1"}));
        assert!(refused.starts_with("the git repository cannot be used: "), "{refused}");
    }
    world.workspace.remove(".git").symlink(".git", git_dir.to_str().expect("UTF-8"));
    let refused = client(&world).refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("follows no links"), "{refused}");
    world.workspace.remove(".git");
    unborn_repository(world.workspace.path());
    std::fs::remove_dir_all(world.workspace.join(".git/objects")).expect("it is there");
    world.workspace.symlink(".git/objects", git_dir.join("objects").to_str().expect("UTF-8"));
    client(&world).refused("snapshot_create", json!({"name": "s1"}));
    assert_eq!((known(&["for-each-ref"]), known(&["count-objects"])), before);
}

#[test]
fn another_repositorys_objects_are_read_only_if_the_user_says_so() {
    let mut world = World::new();
    let origin = world.workspace.outside().join("origin");
    repository(&origin);
    let clone = world.workspace.path().to_owned();
    said(&clone, &["clone", "--quiet", "--shared", origin.to_str().expect("UTF-8"), "."]);
    said(&clone, &["update-ref", S1, "HEAD~1"]);
    let mut agent = client(&world);
    let refused = agent.refused("snapshot_restore", json!({"name": "s1"}));
    assert!(refused.contains("agents.alternates"), "{refused}");
    agent.ok("snapshot_create", json!({"name": "s2"}));
    drop(agent);
    let mut command = world.command(&["import", "--git-ref", S1, "--label", "older", "-q"]);
    command.env("BELAY_AGENTS__ALTERNATES", "true");
    assert_eq!(world.ran(command).code, 0);
    assert!(!world.ok(&["ls", "older", "src"]).contains("lib.rs"));
    assert!(world.ok(&["ls", "@latest", "src"]).contains("lib.rs"));
}

#[test]
fn repositories_inside_are_commits_and_never_touched() {
    let world = World::new();
    let path = world.workspace.path();
    repository(path);
    repository(&world.workspace.join("vendor/inner"));
    unborn_repository(&world.workspace.join("vendor/unborn"));
    world.workspace.file("vendor/unborn/draft", "draft\n").file("odd/.git", "nonsense\n").file("odd/file", "1\n");
    let mut agent = client(&world);
    let (text, data) = agent.ok("snapshot_create", json!({"name": "s1"}));
    assert!(text.ends_with("\nnot in it, because git cannot hold it: vendor/unborn"), "{text}");
    assert_eq!(data["left_out"], json!(["vendor/unborn"]));
    let head = said(&world.workspace.join("vendor/inner"), &["rev-parse", "HEAD"]);
    let listed = said(path, &["ls-tree", "-r", S1]);
    assert!(listed.contains(&format!("160000 commit {}\tvendor/inner", head.trim())), "{listed}");
    assert!(listed.contains("\todd/file"), "{listed}");
    world.workspace.file("vendor/inner/README.md", "newer\n").file("vendor/unborn/draft", "newer\n");
    world.workspace.file("notes.txt", "newer\n");
    repository(&world.workspace.join("later"));
    let restored = agent.ok("snapshot_restore", json!({"name": "s1"})).0;
    assert_eq!(restored, "restored snapshot s1 (1 file(s) changed):\nnotes.txt");
    assert_eq!(world.read("vendor/inner/README.md"), "newer\n");
    assert_eq!(world.read("vendor/unborn/draft"), "newer\n");
    assert!(world.has("later/.git/HEAD") && world.has("later/README.md"));
}

#[test]
fn a_submodule_is_a_commit_from_outside_and_a_workspace_from_inside() {
    let world = World::new();
    let (origin, path) = (world.workspace.outside().join("origin"), world.workspace.path());
    repository(&origin);
    repository(path);
    let origin = origin.to_str().expect("UTF-8");
    said(path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", origin, "libs/sub"]);
    // From inside first: a directory in a known workspace is a part of that.
    let inside = path.join("libs/sub");
    std::fs::write(inside.join("new.txt"), "new\n").expect("a file");
    let before = state_of_git(&inside);
    let mut agent = client_in(&world, &inside);
    agent.ok("snapshot_create", json!({"name": "inner"}));
    assert_eq!(said(&inside, &["rev-parse", "refs/sandbox/snapshots/inner^{tree}"]).trim(), tree_by_git(&inside));
    assert_eq!(state_of_git(&inside), before);
    client(&world).ok("snapshot_create", json!({"name": "s1"}));
    assert_eq!(said(path, &["rev-parse", &format!("{S1}^{{tree}}")]).trim(), tree_by_git(path));
    assert_eq!(said(path, &["for-each-ref", "--format=%(refname)", "refs/sandbox"]).trim(), S1);
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_left_behind() {
    let world = World::new();
    let path = world.workspace.path();
    repository(path);
    world.workspace.file(format!(".git/{S1}.lock"), "");
    let mut agent = client(&world);
    let refused = agent.refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("is locked") && refused.contains("s1.lock"), "{refused}");
    world.workspace.remove(format!(".git/{S1}.lock"));
    said(path, &["update-ref", &format!("{S1}/deeper"), "HEAD"]);
    agent.refused("snapshot_create", json!({"name": "s1"}));
    said(path, &["pack-refs", "--all"]);
    let refused = agent.refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("cannot be beside"), "{refused}");
    said(path, &["update-ref", "-d", &format!("{S1}/deeper")]);
    agent.ok("snapshot_create", json!({"name": "s1"}));
    drop(agent);

    said(path, &["config", "extensions.refStorage", "reftable"]);
    let refused = client(&world).refused("snapshot_create", json!({"name": "s3"}));
    assert!(refused.contains("reftable"), "{refused}");
    said(path, &["config", "--file", ".git/config", "--unset", "extensions.refStorage"]);
    if is_root() {
        return skip("root may write a read-only directory");
    }
    world.workspace.file("new.txt", "not in it yet\n");
    world.workspace.mode(".git/objects", 0o555);
    let refused = client(&world).refused("snapshot_create", json!({"name": "s3"}));
    world.workspace.mode(".git/objects", 0o755);
    assert!(refused.contains("write an object: permission denied"), "{refused}");
}

#[test]
fn without_a_repository_or_the_choice_names_live_in_the_store() {
    let world = World::new();
    world.workspace.file("a.txt", "v1\n");
    let mut agent = client(&world);
    let hash = agent.ok("snapshot_create", json!({"name": "s1"})).1["hash"].clone();
    assert_eq!(hash.as_str().map(str::len), Some(64));
    drop(agent);
    repository(world.workspace.path());
    let mut agent = client(&world);
    let refused = agent.refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("is already used"), "{refused}");
    agent.ok("snapshot_create", json!({"name": "s2"}));
    let rows: Vec<String> = agent.ok("snapshot_list", json!({})).0.lines().map(str::to_owned).collect();
    assert!(rows.len() == 2 && rows[0].starts_with("s2\t") && rows[1].starts_with("s1\t"), "{rows:?}");
    agent.ok("snapshot_restore", json!({"name": "s1"}));
    assert!(!world.has("README.md"), "the names of the store are still found");
    drop(agent);
    let refs = said(world.workspace.path(), &["for-each-ref", "--format=%(refname)", "refs/sandbox"]);
    assert_eq!(refs, "refs/sandbox/snapshots/s2\n");
}

#[test]
fn refs_are_listed_compared_restored_exported_and_imported_by_hand() {
    let mut world = World::new();
    let path = world.workspace.path().to_owned();
    repository(&path);
    world.workspace.file("a.txt", "v1\n").dir("empty").file("odd.sh", "x\n").mode("odd.sh", 0o700);
    let id = world.snapshot();
    let exported = world.belay(&["export", &id, "--git-ref", "first"]);
    assert_eq!(exported.code, 0, "{exported}");
    for (why, path) in [("no empty directories", "empty"), ("git ignores it", ".env"), ("permissions beyond", "odd.sh")]
    {
        assert!(exported.stderr.contains(why) && exported.stderr.contains(path), "{exported}");
    }
    let first = "refs/sandbox/snapshots/first";
    assert_eq!(said(&path, &["rev-parse", &format!("{first}^{{tree}}")]).trim(), tree_by_git(&path));
    let all = world.json(&["export", &id, "--git-ref", "all", "--all"]);
    assert_eq!(all["ref"], json!("refs/sandbox/snapshots/all"));
    assert_eq!(said(&path, &["show", "refs/sandbox/snapshots/all:.env"]), "TOKEN=secret\n");
    said(&path, &["fsck", "--strict", "--no-dangling"]);

    let refs = world.json(&["snapshots", "--refs"]);
    let names: Vec<&Value> = refs["refs"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("first")) && names.contains(&&json!("all")), "{refs}");
    assert!(world.ok(&["snapshots", "--refs"]).contains("2 refs in refs/sandbox/snapshots/"));
    let bad = world.belay(&["export", &id, "--git-ref", "a/b"]);
    assert!(bad.code != 0 && bad.stderr.contains("cannot be the name of a ref"), "{bad}");

    world.workspace.file("a.txt", "v2\n");
    let diff = world.ok(&["diff", first]);
    assert!(diff.contains("-v1\n+v2\n"), "{diff}");
    world.ok(&["rollback", first, "-y"]);
    assert_eq!(world.read("a.txt"), "v1\n");
    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("a.txt"), "v2\n");
    world.ok(&["restore", first, "a.txt", "-y"]);
    assert_eq!(world.read("a.txt"), "v1\n");

    world.ok(&["import", "--git-ref", "refs/tags/v1", "--label", "tagged"]);
    assert!(!world.ok(&["ls", "tagged", "src"]).contains("lib.rs"));
    assert_eq!(world.ok(&["cat", "tagged", "src/main.rs"]), "fn main() {}\n");
    let forgotten = world.belay(&["forget", ".env", "-y"]);
    assert!(forgotten.code == 0 && forgotten.stderr.contains("repository is not rewritten"), "{forgotten}");
    let unknown = world.belay(&["import", "--git-ref", "none"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("there is no ref refs/sandbox/snapshots/none"), "{unknown}");
    let taken = world.belay(&["export", &id, "--git-ref", "first"]);
    assert!(taken.code != 0 && taken.stderr.contains("git update-ref -d"), "{taken}");
}

#[test]
fn nothing_that_a_hostile_repository_names_is_run_or_reached() {
    let enemy = hostile();
    let world = World::new();
    let mut command = world.command(&["mcp"]);
    command.current_dir(enemy.path()).env("BELAY_HOME", enemy.workspace().home()).env("BELAY_AGENTS__NAMED", "git");
    let mut agent = Client::greet(command, CURRENT).0;
    let (text, data) = agent.ok("snapshot_create", json!({"name": "s1", "description": "a\tb\nc"}));
    assert!(text.contains("not in it"), "{text}");
    assert!(data["left_out"].as_array().is_some_and(|left| left.contains(&json!("endless"))), "{data}");
    enemy.workspace().file("README.md", "changed\n").file("brand new", "x\n");
    let (diff, _) = agent.ok("snapshot_diff", json!({"name": "s1"}));
    assert!(diff.contains("+changed\n") && !diff.contains("endless"), "{diff}");
    let (restored, _) = agent.ok("snapshot_restore", json!({"name": "s1"}));
    assert!(restored.starts_with("restored snapshot s1 (2 file(s) changed):\nREADME.md\nbrand new"), "{restored}");
    assert_eq!(agent.ok("snapshot_list", json!({})).0.lines().count(), 1);
    drop(agent);
    for path in ["endless", "pipe", "socket", "huge/0001", "links/secret"] {
        assert!(enemy.path().join(OsStr::new(path)).symlink_metadata().is_ok(), "{path} is gone");
    }
    // Without its own configuration, which would run everything that it names.
    let config = enemy.path().join(".git/config");
    std::fs::write(config, "[core]\n\trepositoryformatversion = 0\n").expect("a configuration");
    said(enemy.path(), &["fsck", "--no-dangling"]);
    enemy.canaries_untouched();
}

#[test]
fn a_restore_of_what_is_tracked_though_ignored_is_undone_to_the_last_file() {
    let mut world = World::new();
    let path = world.workspace.path().to_owned();
    repository(&path);
    world.workspace.file(".gitignore", "*.log\ndist/\nbuild/\n").file("a.txt", "v1\n");
    world.workspace.file("kept.log", "1\n").file("dist/app [1].js", "1\n").file("build/deep/x", "1\n");
    said(&path, &["add", "-f", "."]);
    said(&path, &["commit", "-qm", "all"]);
    let mut client = client(&world);
    client.ok("snapshot_create", json!({"name": "s1"}));
    world.workspace.remove("kept.log").remove("dist").remove("build").file("a.txt", "v2\n").file("own.log", "mine\n");
    world.workspace.file("build/mine", "mine\n");
    let before = world.workspace.walk();
    let (text, _) = client.ok("snapshot_restore", json!({"name": "s1"}));
    for (file, content) in
        [("kept.log", "1\n"), ("dist/app [1].js", "1\n"), ("build/deep/x", "1\n"), ("own.log", "mine\n")]
    {
        assert_eq!(world.read(file), content, "{text}");
    }
    client.ok("belay_undo", json!({}));
    let ignore = Ignore { mtime: true, directory_mtime: true, ..Ignore::default() };
    assert_eq!(diff_worlds(&before, &world.workspace.walk(), ignore), Vec::<String>::new());
    world.ok(&["redo", "-y", "-q"]);
    assert_eq!(world.read("build/deep/x"), "1\n");
}
