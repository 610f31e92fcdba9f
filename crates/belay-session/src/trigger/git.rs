//! Which git commands make a commit, and which can destroy work.

use belay_event::Raw;

use super::words::program;

/// Git's own options that take the next word.
const WITH_VALUE: [&[u8]; 8] =
    [b"-C", b"-c", b"--git-dir", b"--work-tree", b"--namespace", b"--super-prefix", b"--config-env", b"--attr-source"];

/// What a git command means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Git {
    /// A commit, if it ends well.
    Commit,
    /// Something that can destroy work that was never committed.
    Destroys,
}

/// What the command means, if it is git and means anything.
pub(super) fn classify(argv: &[Raw]) -> Option<Git> {
    let (name, arguments) = program(argv)?;
    if name != "git" {
        return None;
    }
    let (verb, arguments) = verb(arguments)?;
    // Everything after `--` is a path, whatever it looks like.
    let options: Vec<&[u8]> = arguments.iter().map(Raw::bytes).take_while(|word| *word != b"--").collect();
    let has = |wanted: &[&str]| options.iter().any(|word| wanted.iter().any(|w| w.as_bytes() == *word));
    if has(&["-h", "--help"]) {
        return None;
    }
    let first = options.iter().find(|word| !word.starts_with(b"-")).copied().unwrap_or_default();
    match verb {
        // These only print what would be committed.
        b"commit" if has(&["--dry-run", "--short", "--porcelain", "--long"]) => None,
        b"commit" => Some(Git::Commit),
        b"reset" => has(&["--hard", "--merge", "--keep"]).then_some(Git::Destroys),
        b"clean" => (!options.iter().any(|word| is_dry_run(word))).then_some(Git::Destroys),
        b"stash" => (![&b"list"[..], b"show", b"create"].contains(&first)).then_some(Git::Destroys),
        b"worktree" => (first == b"remove").then_some(Git::Destroys),
        b"restore" => (!has(&["--staged", "-S"]) || has(&["--worktree", "-W"])).then_some(Git::Destroys),
        b"checkout" | b"switch" | b"rebase" | b"read-tree" | b"checkout-index" => Some(Git::Destroys),
        b"rm" => (!has(&["--cached", "-n", "--dry-run"])).then_some(Git::Destroys),
        b"merge" | b"cherry-pick" | b"revert" | b"am" => has(&["--abort", "--skip", "--quit"]).then_some(Git::Destroys),
        _ => None,
    }
}

/// `-n`, alone or among other letters as in `-ndx`, or `--dry-run`.
fn is_dry_run(word: &[u8]) -> bool {
    word == b"--dry-run" || (word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'n'))
}

/// The verb after git's own options, and what follows it.
fn verb(arguments: &[Raw]) -> Option<(&[u8], &[Raw])> {
    let mut at = 0;
    loop {
        let word = arguments.get(at)?.bytes();
        if !word.starts_with(b"-") {
            return Some((word, &arguments[at + 1..]));
        }
        at += if WITH_VALUE.contains(&word) { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::words::tests::argv;

    #[test]
    fn each_shape_of_a_commit_is_one() {
        let commits = [
            "git commit",
            "git commit -m fix",
            "git commit --amend --no-edit",
            "git commit -a -- --dry-run",
            "/usr/bin/git commit -am x",
            "/usr/lib/git-core/git commit",
            "git -C sub commit -m x",
            "git -c user.name=x -c user.email=y commit",
            "git --git-dir .git --work-tree . commit",
            "git --git-dir=.git --no-pager commit",
            "git -p commit --allow-empty",
        ];
        for line in commits {
            assert_eq!(classify(&argv(line)), Some(Git::Commit), "{line}");
        }
    }

    #[test]
    fn what_only_mentions_a_commit_is_none() {
        let others = [
            "git",
            "git log commit",
            "git commit-tree HEAD^{tree}",
            "git commit-graph write",
            "git help commit",
            "git commit --help",
            "git commit -h",
            "git commit --dry-run",
            "git commit --porcelain",
            "git -C commit status",
            "git -c commit log",
            "git --git-dir commit status",
            "git branch commit",
            "git show commit",
            "echo git commit",
            "git-lfs commit",
            "sh -c git",
        ];
        for line in others {
            assert_eq!(classify(&argv(line)), None, "{line}");
        }
    }

    #[test]
    fn verbs_that_can_destroy_work_are_known() {
        let destroying = [
            "git reset --hard",
            "git reset HEAD~1 --hard",
            "git -C sub reset --hard HEAD",
            "git checkout main",
            "git checkout -- file",
            "git switch -f main",
            "git clean -fdx",
            "git stash",
            "git stash push -m x",
            "git stash pop",
            "git stash drop",
            "git rebase -i HEAD~3",
            "git worktree remove ../other",
            "git restore .",
            "git restore --staged --worktree .",
            "git rm -rf .",
            "git merge --abort",
            "git cherry-pick --skip",
            "git checkout-index -fa",
        ];
        for line in destroying {
            assert_eq!(classify(&argv(line)), Some(Git::Destroys), "{line}");
        }
        let harmless = [
            "git reset",
            "git reset --soft HEAD~1",
            "git reset -- --hard",
            "git clean -n",
            "git clean -nfd",
            "git clean --dry-run -d",
            "git stash list",
            "git stash show -p",
            "git worktree add ../x",
            "git worktree list",
            "git restore --staged .",
            "git rm --cached f",
            "git merge main",
            "git status",
        ];
        for line in harmless {
            assert_eq!(classify(&argv(line)), None, "{line}");
        }
    }
}
