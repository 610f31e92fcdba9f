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
    let (verb, arguments) = match name.strip_prefix("git")? {
        "" => verb(arguments)?,
        // Each verb is also a program of its own, in git's private directory.
        dashed => (dashed.strip_prefix('-')?.as_bytes(), arguments),
    };
    let options = Options::parse(verb, arguments);
    if options.has(b'h', "") || options.long.contains(&&b"help"[..]) {
        return None;
    }
    let has = |long: &[&str]| long.iter().any(|long| options.has(0, long));
    let destroys = match verb {
        // These only print what would be committed.
        b"commit" if has(&["dry-run", "short", "porcelain", "long"]) => return None,
        b"commit" => return Some(Git::Commit),
        b"reset" => has(&["hard", "merge", "keep"]),
        b"clean" => !options.has(b'n', "dry-run"),
        b"stash" => ![&b"list"[..], b"show", b"create"].contains(&options.first),
        b"worktree" => options.first == b"remove",
        b"restore" => !options.has(b'S', "staged") || options.has(b'W', "worktree"),
        b"checkout" | b"switch" | b"rebase" | b"read-tree" | b"checkout-index" => true,
        b"rm" => !options.has(b'n', "dry-run") && !has(&["cached"]),
        b"merge" | b"cherry-pick" | b"revert" | b"am" => has(&["abort", "skip", "quit"]),
        _ => false,
    };
    destroys.then_some(Git::Destroys)
}

/// The options of a verb that have a value: letters whose value is the rest of the word or else the next one, letters that
/// have one only in the same word, and long ones.
fn with_value(verb: &[u8]) -> (&'static str, &'static str, &'static [&'static str]) {
    match verb {
        b"clean" => ("e", "", &["exclude"]),
        b"commit" => (
            "mFcCt",
            "uS",
            &[
                "message",
                "file",
                "reuse-message",
                "reedit-message",
                "fixup",
                "squash",
                "author",
                "date",
                "template",
                "cleanup",
                "trailer",
                "pathspec-from-file",
            ],
        ),
        b"stash" => ("m", "", &["message", "pathspec-from-file"]),
        b"reset" => ("U", "", &["unified", "inter-hunk-context", "pathspec-from-file"]),
        b"restore" => ("sU", "", &["source", "conflict", "unified", "inter-hunk-context", "pathspec-from-file"]),
        b"rm" => ("", "", &["pathspec-from-file"]),
        b"merge" => ("msXF", "S", &["message", "strategy", "strategy-option", "file", "cleanup", "into-name"]),
        b"cherry-pick" | b"revert" => ("mX", "S", &["mainline", "strategy", "strategy-option", "cleanup"]),
        b"am" => ("pC", "S", &["directory", "exclude", "include", "whitespace", "patch-format", "quoted-cr"]),
        _ => ("", "", &[]),
    }
}

/// What follows a verb, taken apart as git does: letters may share a word, long options may be cut short, and everything
/// after `--` is a path, whatever it looks like.
#[derive(Default)]
struct Options<'a> {
    letters: Vec<u8>,
    long: Vec<&'a [u8]>,
    /// The first word that is no option.
    first: &'a [u8],
}

impl<'a> Options<'a> {
    fn parse(verb: &[u8], arguments: &'a [Raw]) -> Options<'a> {
        let (valued, attached, valued_long) = with_value(verb);
        let mut options = Options::default();
        let mut words = arguments.iter().map(Raw::bytes).take_while(|word| *word != b"--");
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix(b"--") {
                let name = long.split(|byte| *byte == b'=').next().unwrap_or_default();
                options.long.push(name);
                if name.len() == long.len() && valued_long.iter().any(|full| is_short_for(name, full)) {
                    words.next();
                }
            } else if let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.is_empty()) {
                let ends = |letter: &u8| valued.as_bytes().contains(letter) || attached.as_bytes().contains(letter);
                let end = letters.iter().position(ends).map_or(letters.len(), |at| at + 1);
                options.letters.extend(&letters[..end]);
                if end == letters.len() && valued.as_bytes().contains(&letters[end - 1]) {
                    words.next();
                }
            } else if options.first.is_empty() {
                options.first = word;
            }
        }
        options
    }

    fn has(&self, letter: u8, long: &str) -> bool {
        self.letters.contains(&letter) || self.long.iter().any(|name| is_short_for(name, long))
    }
}

/// Whether git takes the name for the option; one that might be another as well is refused by git.
fn is_short_for(name: &[u8], full: &str) -> bool {
    !name.is_empty() && full.as_bytes().starts_with(name)
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
            "git commit -qam -h",
            "git commit -m --dry-run",
            "git commit --mess --help",
            "git commit --message=--dry-run -uno",
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
            "git commit --dry",
            "git commit -a -h",
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
            "/usr/lib/git-core/git-reset --hard",
            "git-clean -fdx",
            "git reset --har",
            "git reset -q --h",
            "git clean -fdxq -enode_x",
            "git clean -fdx -e -n",
            "git clean -fdx --exclude --dry-run",
            "git clean -fdx --exc=n",
            "git stash -q -m list",
            "git stash -u --message show",
            "git restore -SW .",
            "git restore --st --work .",
            "git rm -f -- -n",
            "git merge --ab",
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
            "git rm -rn f",
            "git rm --cach f",
            "git clean -dfn",
            "git clean -fd --dry",
            "git clean -fde x -n",
            "git restore --stag .",
            "git reset --so HEAD~1",
            "git merge main",
            "git status",
        ];
        for line in harmless {
            assert_eq!(classify(&argv(line)), None, "{line}");
        }
    }
}
