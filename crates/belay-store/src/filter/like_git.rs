//! On random ignore files and trees the filter agrees with git itself, where git is installed.

#![cfg(test)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

fn component() -> impl Strategy<Value = String> {
    let parts = [
        "a", "b", "*", "?", "a*", "*.c", "[ab]", "[!a]", "a[.]c", "\\a", "\\*", "**", "\\#a", "a.c", "{a,b}", "[",
        "[]a]", "[^a]", "[a-]", "a\\ ",
    ];
    prop::sample::select(parts.to_vec()).prop_map(str::to_string)
}

fn pattern() -> impl Strategy<Value = String> {
    let lead = prop::sample::select(vec!["", "", "", "/", "!", "!/", "**/", "#"]);
    let end = prop::sample::select(vec!["", "", "", "/", "/**", " ", "\r", "/*"]);
    (lead, prop::collection::vec(component(), 1..4), end)
        .prop_map(|(lead, components, end)| format!("{lead}{}{end}", components.join("/")))
}

fn ignore_file() -> impl Strategy<Value = String> {
    prop::collection::vec(pattern(), 0..5).prop_map(|lines| lines.join("\n"))
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "a.c", "b.c", "#a", "*", "{a,b}", "c"])
}

fn files() -> impl Strategy<Value = BTreeSet<String>> {
    let path = prop::collection::vec(name(), 1..5).prop_map(|names| names.join("/"));
    prop::collection::btree_set(path, 1..12)
}

/// Makes what can be made of the paths; where one needs a directory that another made a file, it is left away.
fn make(top: &Path, paths: &BTreeSet<String>) {
    for path in paths {
        let path = top.join(path);
        if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
            std::fs::write(path, "").unwrap();
        }
    }
}

fn paths_beneath(top: &Path, dir: &str, into: &mut Vec<(String, bool)>) {
    for entry in std::fs::read_dir(top.join(dir)).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with(".git") {
            continue;
        }
        let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
        let is_dir = entry.file_type().unwrap().is_dir();
        into.push((path.clone(), is_dir));
        if is_dir {
            paths_beneath(top, &path, into);
        }
    }
}

fn git(top: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(top).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("HOME", top).env("XDG_CONFIG_HOME", top).stderr(Stdio::null());
    git
}

/// Which of the paths git ignores; `None` without git.
fn ignored_by_git(top: &Path, paths: &[(String, bool)]) -> Option<BTreeSet<String>> {
    git(top).args(["init", "-q"]).status().ok().filter(|status| status.success())?;
    let mut check = git(top);
    check.args(["check-ignore", "--no-index", "--stdin", "-z"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = check.spawn().unwrap();
    let list: String = paths.iter().map(|(path, _)| format!("{path}\0")).collect();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect())
}

fn ignored_by_filter(top: &Path, paths: &[(String, bool)]) -> BTreeSet<String> {
    let judge = Filter { gitignored: Ignored::Skip, ..Filter::default() }.judge().unwrap();
    let is_ignored = |path: &str, is_dir: bool| {
        let mut rules = judge.rules();
        let dirs = path.match_indices('/').map(|(at, _)| &path[..at]);
        for dir in [""].into_iter().chain(dirs) {
            let text = std::fs::read(top.join(dir).join(".gitignore")).ok();
            rules = judge.enter(&rules, dir.as_bytes(), text.as_deref().as_slice());
        }
        let name = path.rsplit('/').next().unwrap();
        judge.decide(&rules, path.as_bytes(), name.as_bytes(), is_dir, &AssumeAll) != Verdict::Take
    };
    paths.iter().filter(|(path, is_dir)| is_ignored(path, *is_dir)).map(|(path, _)| path.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: RngSeed::Fixed(4),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ignores_what_git_ignores(
        files in files(),
        top_rules in ignore_file(),
        rules in prop::collection::vec((name(), ignore_file()), 0..3),
    ) {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path(), &files);
        std::fs::write(dir.path().join(".gitignore"), top_rules).unwrap();
        for (name, text) in rules {
            let inside = dir.path().join(name);
            if inside.is_dir() {
                std::fs::write(inside.join(".gitignore"), text).unwrap();
            }
        }
        let mut paths = Vec::new();
        paths_beneath(dir.path(), "", &mut paths);
        if let Some(expected) = ignored_by_git(dir.path(), &paths) {
            prop_assert_eq!(ignored_by_filter(dir.path(), &paths), expected);
        }
    }
}
