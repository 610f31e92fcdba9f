//! Real git repositories with fixed authors and dates, so that equal calls make equal commits.

use std::path::Path;
use std::process::{Command, Stdio};

const WHEN: &str = "2001-02-03T04:05:06Z";

/// A git command that runs in `directory` and sees neither the machine's nor the developer's configuration.
pub fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_AUTHOR_DATE", WHEN)
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_DATE", WHEN)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .args(["-c", "init.defaultBranch=main", "-c", "gc.auto=0"])
        .stdin(Stdio::null());
    command
}

/// Makes a repository with three commits, a second branch, a tag, a stash, an ignored and an untracked file.
#[track_caller]
pub fn repository(directory: &Path) {
    unborn_repository(directory);
    write(directory, "README.md", "# A project\n");
    write(directory, ".gitignore", "*.log\n.env\n");
    commit_all(directory, "start");
    write(directory, "src/main.rs", "fn main() {}\n");
    commit_all(directory, "add a program");
    run(directory, &["branch", "topic"]);
    run(directory, &["tag", "-a", "v1", "-m", "first"]);
    write(directory, "src/lib.rs", "pub fn answer() -> u32 { 42 }\n");
    commit_all(directory, "add a library");
    write(directory, "src/main.rs", "fn main() { stashed() }\n");
    run(directory, &["stash", "--quiet"]);
    write(directory, ".env", "TOKEN=secret\n");
    write(directory, "notes.txt", "untracked\n");
}

/// Makes a repository without a commit.
#[track_caller]
pub fn unborn_repository(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap_or_else(|error| panic!("make {}: {error}", directory.display()));
    run(directory, &["init", "--quiet"]);
    // Every version of git has other samples, and some installations have none.
    for sample in std::fs::read_dir(directory.join(".git/hooks")).into_iter().flatten().flatten() {
        std::fs::remove_file(sample.path())
            .unwrap_or_else(|error| panic!("remove {}: {error}", sample.path().display()));
    }
}

/// Makes a repository inside a repository, and an unborn one inside that.
#[track_caller]
pub fn nested_repositories(directory: &Path) {
    repository(directory);
    repository(&directory.join("vendor/inner"));
    unborn_repository(&directory.join("vendor/inner/unborn"));
}

/// Makes a linked worktree of `repository` at `directory`, on a new branch.
#[track_caller]
pub fn linked_worktree(repository: &Path, directory: &Path, branch: &str) {
    let directory = directory.to_str().expect("a test's directory is UTF-8");
    run(repository, &["worktree", "add", "--quiet", "-b", branch, directory]);
}

/// Commits everything in `directory`.
#[track_caller]
pub fn commit_all(directory: &Path, message: &str) {
    run(directory, &["add", "--all"]);
    run(directory, &["commit", "--quiet", "--allow-empty", "-m", message]);
}

#[track_caller]
fn run(directory: &Path, arguments: &[&str]) {
    let output = git(directory).args(arguments).output().expect("git is installed by scripts/setup");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn write(directory: &Path, name: &str, content: &str) {
    let path = directory.join(name);
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, content));
    written.unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
}
