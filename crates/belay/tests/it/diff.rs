//! What changed, as a patch, as numbers, as names.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::world::World;

fn changed() -> World {
    let mut world = World::new();
    let w = &world.workspace;
    w.file("main.rs", "fn main() {\n    one();\n    two();\n}\n").file_mode("run.sh", "#!/bin/sh\n", 0o644);
    w.file("gone.txt", "bye\n").file("image.bin", b"\x00\x01\x02").symlink("link", "main.rs").file("kind", "a file\n");
    w.dir("empty").file("end.txt", "no newline");
    world.snapshot();
    let w = &world.workspace;
    w.file("main.rs", "fn main() {\n    one();\n    three();\n}\n").mode("run.sh", 0o755);
    w.remove("gone.txt").file("image.bin", b"\x00\x01\x02\x03").remove("link").symlink("link", "run.sh");
    w.remove("kind").symlink("kind", "main.rs").remove("empty").dir("fresh").file("new/deep.txt", "hello\n");
    w.file("end.txt", "no newline either");
    world
}

#[test]
fn a_patch_shows_bytes_modes_types_and_links() {
    assert_snapshot!(changed().belay(&["diff"]), @r"
    exit 0
    --- stdout
    # empty: directory removed
    diff --git a/end.txt b/end.txt
    --- a/end.txt
    +++ b/end.txt
    @@ -1 +1 @@
    -no newline
    \ No newline at end of file
    +no newline either
    \ No newline at end of file
    # fresh: new directory with mode 0755
    diff --git a/gone.txt b/gone.txt
    deleted file mode 100644
    --- a/gone.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -bye
    diff --git a/image.bin b/image.bin
    Binary files a/image.bin and b/image.bin differ
    diff --git a/kind b/kind
    deleted file mode 100644
    --- a/kind
    +++ /dev/null
    @@ -1 +0,0 @@
    -a file
    diff --git a/kind b/kind
    new file mode 120000
    --- /dev/null
    +++ b/kind
    @@ -0,0 +1 @@
    +main.rs
    \ No newline at end of file
    diff --git a/link b/link
    --- a/link
    +++ b/link
    @@ -1 +1 @@
    -main.rs
    \ No newline at end of file
    +run.sh
    \ No newline at end of file
    diff --git a/main.rs b/main.rs
    --- a/main.rs
    +++ b/main.rs
    @@ -1,4 +1,4 @@
     fn main() {
      one();
    -  two();
    +  three();
     }
    diff --git a/new/deep.txt b/new/deep.txt
    new file mode 100644
    --- /dev/null
    +++ b/new/deep.txt
    @@ -0,0 +1 @@
    +hello
    diff --git a/run.sh b/run.sh
    old mode 100644
    new mode 100755
    ");
}

#[test]
fn numbers_and_names() {
    let mut world = changed();
    assert_snapshot!(world.belay(&["diff", "--stat"]), @"
    exit 0
    --- stdout
     empty/  | gone
     end.txt  | 2 +-
     fresh/  | new
     gone.txt  | 1 - gone
     image.bin  | binary, [SIZE] → [SIZE]
     kind  | file → symlink, mode 0644 → 0777
     link  | link main.rs → run.sh
     main.rs  | 2 +-
     new/deep.txt | 1 + new
     run.sh  | mode 0644 → 0755
    11 paths changed (1 not listed: directories, or parts of a repository), 3 lines added, 3 lines removed
    ");
    assert_snapshot!(world.belay(&["diff", "--name-only"]), @"
    exit 0
    --- stdout
    empty/
    end.txt
    fresh/
    gone.txt
    image.bin
    kind
    link
    main.rs
    new/deep.txt
    run.sh
    ");
    assert_snapshot!(world.belay(&["diff", "--name-only", "--", "new", "main.rs"]), @"
    exit 0
    --- stdout
    main.rs
    new/deep.txt
    ");
}

#[test]
fn many_paths_are_counted_as_few_are() {
    let mut world = World::new();
    for number in 0..150 {
        world.workspace.file(format!("{number:03}.txt"), "the same\nold\n");
    }
    world.snapshot();
    for number in 0..150 {
        world.workspace.file(format!("{number:03}.txt"), "the same\n".to_owned() + &"new\n".repeat(number % 3));
    }
    let told = world.ok(&["diff", "--stat"]);
    let lines: Vec<&str> = told.lines().collect();
    for (number, line) in lines[..150].iter().enumerate() {
        let signs = ["1 -", "2 +-", "3 ++-"][number % 3];
        assert_eq!(*line, format!(" {number:03}.txt | {signs}"));
    }
    assert_eq!(lines[150..], ["150 paths changed, 150 lines added, 150 lines removed"]);
}

#[test]
fn the_exit_code_tells_only_when_asked() {
    let mut world = changed();
    assert_eq!(world.belay(&["diff"]).code, 0);
    assert_eq!(world.belay(&["diff", "--exit-code"]).code, 1);
    assert_eq!(world.belay(&["diff", "--exit-code", "--", "nothing-here"]).code, 0);
    world.snapshot();
    assert_snapshot!(world.belay(&["diff", "--exit-code"]), @"exit 0");
    assert_eq!(world.belay(&["diff", "@-1", "@latest", "--exit-code"]).code, 1);
}

#[test]
fn json_is_one_object_a_line() {
    let mut world = changed();
    let text = world.ok(&["diff", "--json", "--", "run.sh", "new"]);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    let mode = lines.iter().find(|line| line["path"] == "run.sh").expect("the script");
    assert_eq!(mode["change"], serde_json::json!(["mode"]));
    assert_eq!((&mode["before"]["mode"], &mode["after"]["mode"]), (&"0644".into(), &"0755".into()));
}

#[test]
fn git_can_apply_the_patch() {
    let mut world = World::new();
    world
        .workspace
        .file("main.rs", "one\ntwo\nthree\n")
        .file("odd name\t\u{e9}.txt", "x\n")
        .file_mode("run.sh", "#!\n", 0o644);
    world.snapshot();
    world
        .workspace
        .file("main.rs", "one\n2\nthree")
        .file("odd name\t\u{e9}.txt", "y\n")
        .mode("run.sh", 0o755)
        .file("new", "n\n");
    let patch = world.ok(&["diff"]);
    let mut git = belay_testkit::git(world.workspace.path());
    let mut child = git.args(["apply", "-R", "-"]).stdin(Stdio::piped()).spawn().expect("git starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), patch.as_bytes()).expect("git reads");
    assert!(child.wait().expect("git ends").success(), "git does not take the patch:\n{patch}");
    assert_eq!(world.ok(&["diff"]), "", "the patch did not bring everything back");
}

#[test]
fn a_large_file_is_named_and_not_shown() {
    let mut world = World::new();
    world.workspace.file("big.txt", "line\n".repeat(1_200_000));
    world.snapshot();
    world.workspace.file("big.txt", "other\n".repeat(1_200_000));
    assert_snapshot!(world.belay(&["diff"]), @"
    exit 0
    --- stdout
    diff --git a/big.txt b/big.txt
    Files a/big.txt and b/big.txt differ ([SIZE] → [SIZE], too large to show)
    ");
}

#[test]
fn an_edit_of_the_same_size_with_a_forged_time_is_found() {
    let mut world = World::new();
    world.workspace.file("price", "1.19\n").mtime("price", 1_700_000_000, 0);
    world.snapshot();
    world.workspace.file("price", "9.99\n").mtime("price", 1_700_000_000, 0);
    assert_snapshot!(world.belay(&["diff"]), @"
    exit 0
    --- stdout
    diff --git a/price b/price
    --- a/price
    +++ b/price
    @@ -1 +1 @@
    -1.19
    +9.99
    ");
}

#[test]
fn what_git_has_no_words_for_is_a_remark() {
    let mut world = World::new();
    world.workspace.file("tagged", "x\n").dir("dir");
    world.snapshot();
    let tagged = world.workspace.xattr("tagged", "user.note", "hello");
    world.workspace.mode("dir", 0o700).fifo("pipe");
    let ran = world.belay(&["diff"]);
    assert!(!tagged || ran.stdout.contains("# tagged: attributes +user.note"), "{ran}");
    assert!(ran.stdout.contains("# dir: mode 0755 → 0700"), "{ran}");
    assert!(ran.stdout.contains("# pipe: new fifo"), "{ran}");
}

#[test]
fn a_repository_that_is_gone_is_one_line_unless_each_file_is_asked_for() {
    let mut world = World::new();
    world
        .workspace
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/objects/aa/bb", b"\x00")
        .file("a.txt", "a\n");
    world.snapshot();
    world.workspace.remove(".git").file("a.txt", "b\n");
    assert_snapshot!(world.belay(&["diff"]), @r"
    exit 0
    --- stdout
    # .git: directory removed, 2 files
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1 @@
    -a
    +b
    ");
    assert_snapshot!(world.belay(&["diff", "--stat"]), @r"
    exit 0
    --- stdout
     .git/ | gone, 2 files, [SIZE]
     a.txt | 2 +-
    6 paths changed (4 not listed: directories, or parts of a repository), 1 line added, 1 line removed
    ");
    assert_eq!(world.ok(&["diff", "--name-only"]), ".git/\na.txt\n");
    assert_eq!(world.ok(&["diff", "--name-only", "--all"]), ".git/HEAD\n.git/objects/aa/bb\na.txt\n");
    assert_eq!(world.ok(&["diff", "--name-only", "--", ".git/HEAD"]), ".git/HEAD\n");
}

#[test]
fn what_is_no_text_is_not_shown_as_lines() {
    let mut world = World::new();
    world.workspace.file(".git/objects/ab/ef", "older");
    world.snapshot();
    world.workspace.file(".git/objects/ab/cd", "by chance a line\n").file("packed", b"x\x01\xff\x9c\x02\n");
    world.workspace.file("latin", b"gr\xfc\xdfe\n").file("colours", "\x1b[1m\u{fc}\n");
    let ran = world.belay(&["diff"]);
    for path in [".git/objects/ab/cd", "packed"] {
        assert!(ran.stdout.contains(&format!("Binary files /dev/null and b/{path} differ")), "{ran}");
    }
    for path in ["latin", "colours"] {
        assert!(ran.stdout.contains(&format!("+++ b/{path}")), "{ran}");
    }
}
