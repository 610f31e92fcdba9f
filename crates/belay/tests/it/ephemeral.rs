//! Ephemeral runs: the workspace stays as it is until somebody applies what was written.

use crate::jailed::has_namespaces;
use crate::world::World;

fn ephemeral(script: &str) -> World {
    let mut world = World::new();
    world.workspace.file("code", "before").file("removed", "r").file("dir/inner", "i").file("kept", "k");
    let ran = world.belay(&["run", "--ephemeral", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("The workspace is as it was"), "{ran}");
    world
}

const SCRIPT: &str = "echo after > code; rm removed; rm -r dir; mkdir new; echo n > new/file; cat code";

#[test]
fn nothing_changes_until_it_is_applied_and_that_can_be_undone() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    assert_eq!(world.read("code"), "before");
    assert!(world.has("removed") && world.has("dir/inner") && !world.has("new"));

    let before = world.workspace.walk();
    let shown = world.belay(&["review"]);
    assert_eq!(shown.code, 0, "{shown}");
    for path in ["code", "removed", "dir", "new"] {
        assert!(shown.stdout.contains(path), "{path} is not in\n{shown}");
    }
    assert!(!shown.stdout.contains("kept"), "{shown}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());

    world.ok(&["review", "--apply", "-y"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.read("new/file"), "n\n");
    assert!(!world.has("removed") && !world.has("dir") && world.has("kept"));
    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("code"), "before");
    assert!(world.has("removed") && world.has("dir/inner") && !world.has("new"));
}

#[test]
fn a_part_can_be_applied_and_newer_work_of_others_stays() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    world.workspace.file("mine", "written meanwhile").file("kept", "edited meanwhile");
    world.ok(&["review", "--apply", "-y", "new", "removed"]);
    assert_eq!(world.read("new/file"), "n\n");
    assert!(!world.has("removed"));
    assert_eq!(world.read("code"), "before");
    world.ok(&["review", "--apply", "-y"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.read("mine"), "written meanwhile");
    assert_eq!(world.read("kept"), "edited meanwhile");
    let unknown = world.belay(&["review", "kept"]);
    assert_eq!(unknown.code, 3, "{unknown}");
}

#[test]
fn a_hunk_is_applied_beside_an_edit_of_another_one() {
    if !has_namespaces() {
        return;
    }
    let lines = |changed: &[(usize, &str)]| -> String {
        let line = |at: usize| {
            changed.iter().find(|(known, _)| *known == at).map_or(at.to_string(), |(_, new)| (*new).to_owned())
        };
        (1..=30).map(|at| line(at) + "\n").collect()
    };
    let mut world = World::new();
    world.workspace.file("f", lines(&[]));
    world.ok(&["run", "-q", "--ephemeral", "--", "sed", "-i", "-e", "s/^3$/T/", "-e", "s/^25$/TF/", "f"]);
    world.workspace.file("f", lines(&[(3, "mine")]));
    let shown = world.belay(&["review", "--patch"]);
    assert!(shown.stdout.contains("f:1\n") && shown.stdout.contains("f:2\n"), "{shown}");
    assert!(!shown.stdout.contains("--patch") && !shown.stderr.contains("--patch"), "{shown}");
    let unknown = world.belay(&["review", "--apply-hunk", "f:9", "-y"]);
    assert_eq!(unknown.code, 3, "{unknown}");
    assert!(unknown.stderr.contains("f has no hunk 9; its hunks are numbered to 2"), "{unknown}");
    world.ok(&["review", "--apply-hunk", "f:2", "-y"]);
    assert_eq!(world.read("f"), lines(&[(3, "mine"), (25, "TF")]));
    let again = world.belay(&["review", "--apply-hunk", "f:2", "-y"]);
    assert!(again.code == 3 && again.stderr.contains("already has these hunks"), "{again}");
    let count = |world: &World| std::fs::read_dir(world.workspace.path()).unwrap().count();
    assert_eq!(count(&world), 1, "nothing is put beside a file of which everything that was wanted is applied");
    for _ in 0..3 {
        let met = world.belay(&["review", "--apply-hunk", "f:1", "-y"]);
        assert!(met.stderr.contains("both changed the same place") && met.stderr.contains("f.run-"), "{met}");
        assert_eq!(count(&world), 2, "the other version lies there once: {met}");
    }
    assert_eq!(world.read("f"), lines(&[(3, "mine"), (25, "TF")]));
}

#[test]
fn a_review_goes_on_with_what_an_earlier_run_wrote() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "1");
    for name in ["first", "second"] {
        world.ok(&["run", "-q", "--ephemeral", "--", "touch", name]);
    }
    let waiting = |world: &mut World| world.json(&["status"])["unreviewed"].as_array().unwrap().len();
    assert_eq!(waiting(&mut world), 2);
    let applied = world.belay(&["review", "--all", "-y"]);
    assert!(world.has("second") && !world.has("first"), "{applied}");
    assert!(applied.stderr.contains("waits, too"), "{applied}");
    assert_eq!(waiting(&mut world), 1);
    let (status, runs) = (world.belay(&["status"]), world.belay(&["runs"]));
    assert!(status.stdout.contains("To review  1 path of run_"), "{status}");
    assert_eq!(runs.stdout.matches("to review").count(), 1, "{runs}");

    let shown = world.belay(&["review"]);
    assert!(shown.stdout.contains("first") && !shown.stdout.contains("second"), "{shown}");
    world.ok(&["undo", "-y"]);
    assert_eq!(waiting(&mut world), 2, "what was undone waits again");
    world.ok(&["review", "--apply", "second", "-y"]);
    let shown = world.belay(&["review"]);
    assert!(shown.stdout.contains("first"), "what was applied in parts is done with, too: {shown}");
    world.ok(&["review", "--all", "-y"]);
    assert!(world.has("first"));
    assert_eq!(waiting(&mut world), 0);
    assert!(!world.belay(&["status"]).stdout.contains("To review"));
    assert!(world.belay(&["review"]).stdout.contains("Nothing to do"));
}

#[test]
fn what_is_discarded_is_gone_but_captured() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    let refused = world.belay(&["discard"]);
    assert_eq!(refused.code, 4, "{refused}");
    assert!(refused.stderr.contains("-y") && refused.stderr.contains("belay review"), "{refused}");
    assert_eq!(world.belay(&["review", "--none"]).code, 4);
    assert_eq!(world.belay(&["review"]).code, 0, "it is still there");
    let nothing = world.belay(&["rollback", "@latest", "--dry-run"]);
    assert!(nothing.stdout.contains("Nothing to do"), "the workspace was never as the run left it: {nothing}");
    let discarded = world.json(&["discard", "-y"]);
    let snapshot = discarded["snapshot"].as_str().expect("it was captured").to_owned();
    assert_eq!(world.read("code"), "before");
    let gone = world.belay(&["review"]);
    assert!(gone.code == 3 && gone.stderr.contains("was discarded") && gone.stderr.contains("still in"), "{gone}");
    world.ok(&["rollback", "-y", &snapshot, "code"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn directories_come_with_nothing_in_them() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral("mkdir -p one/two/three single; mkdir with; echo f > with/file; mkdir with/empty");
    world.ok(&["review", "--all", "-y"]);
    assert!(world.has("one/two/three") && world.has("single") && world.has("with/empty"));
    world.ok(&["fork", "a"]);
    world.ok(&["run", "-q", "--fork", "a", "--", "mkdir", "-p", "four/five"]);
    world.ok(&["pick", "a", "-y"]);
    assert!(world.has("four/five"));
}

#[test]
fn a_directory_that_was_shut_is_applied_once_and_undone() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(
        "mkdir shut; echo x > shut/x; mkdir shut/in; echo y > shut/in/y; chmod 000 shut/in shut; echo after > code",
    );
    world.ok(&["review", "--all", "-y"]);
    assert_eq!(world.read("code"), "after\n");
    let again = world.belay(&["review", "--all", "-y"]);
    assert_eq!((again.code, again.stderr.contains("conflict")), (0, false), "{again}");
    let mode = |world: &World, path: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(world.workspace.join(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(&world, "shut"), 0);
    let undone = world.belay(&["undo", "-y"]);
    assert_eq!(world.read("code"), "before", "{undone}");
    assert!(!world.has("shut"), "{undone}");
    world.ok(&["redo", "-y"]);
    assert_eq!(mode(&world, "shut"), 0);
    world.workspace.mode("shut", 0o755).mode("shut/in", 0o755);
    assert_eq!((world.read("shut/x").as_str(), world.read("shut/in/y").as_str()), ("x\n", "y\n"));
}

#[test]
fn what_may_be_written_is_written_apart_as_well() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("out/a", "a").file("code", "before");
    let script = "echo new > out/new; echo changed > out/a; echo after > code";
    world.ok(&["run", "-q", "--ephemeral", "--rw", "out", "--rw", "code", "--", "sh", "-ec", script]);
    world.ok(&["fork", "a"]);
    world.ok(&["run", "-q", "--fork", "a", "--rw", "out", "--", "sh", "-ec", script]);
    assert_eq!((world.read("code").as_str(), world.read("out/a").as_str()), ("before", "a"));
    assert!(!world.has("out/new"));
    world.ok(&["review", "--all", "-y"]);
    assert_eq!(world.read("out/new"), "new\n");
    assert_eq!((world.read("code").as_str(), world.read("out/a").as_str()), ("after\n", "changed\n"));
}

/// What a workspace and a run in it can do to the layers that it is shown through: marks of the kernel's own, on both sides.
const TAMPER: &str = "\
import os, shutil, socket, stat, sys
outside, marks = sys.argv[1], ['opaque', 'redirect', 'metacopy', 'whiteout', 'origin', 'impure', 'nlink', 'protattr', 'upper']
def attempt(function):
    try: function()
    except OSError: pass
for mark in marks:
    for value in [b'y', b'x', b'', b'/../../..' + outside.encode()]:
        for path in ['lower', 'code', '.', 'dir']:
            attempt(lambda: os.setxattr(path, 'user.overlay.' + mark, value))
            attempt(lambda: os.setxattr(path, 'trusted.overlay.' + mark, value))
attempt(lambda: os.mknod('kept', stat.S_IFCHR, 0))
attempt(lambda: os.mknod('made', stat.S_IFCHR, 0))
attempt(lambda: os.mknod('dir/made', stat.S_IFCHR, 0))
if len(sys.argv) > 2:
    attempt(lambda: (shutil.rmtree('lower'), os.symlink(outside, 'lower')))
    os.mkfifo('fifo'); os.link('kept', 'kept2')
    attempt(lambda: socket.socket(socket.AF_UNIX).bind('sock'))
    os.symlink(outside + '/canary', 'to-canary')
    attempt(lambda: (os.remove('code'), os.symlink('../canary', 'code')))
";

#[test]
fn an_enemy_in_the_layers_leads_nowhere() {
    if !has_namespaces() {
        return;
    }
    for marked_before in [false, true] {
        let mut world = World::new();
        world.workspace.file("lower/canary", "l").file("code", "c").file("kept", "k").file("dir/inner", "i");
        world.workspace.file("tamper.py", TAMPER);
        let outside = world.workspace.base().join("beyond");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("canary"), "alive").unwrap();
        std::fs::write(world.workspace.base().join("canary"), "alive").unwrap();
        let path = outside.display().to_string();
        if marked_before {
            world.ok(&["run", "-q", "--isolation", "jail", "--", "python3", "tamper.py", &path]);
        }
        world.ok(&["fork", "a"]);
        for flags in [&["--ephemeral"][..], &["--fork", "a"]] {
            let ran = world.belay(&[&["run", "-q"], flags, &["--", "python3", "tamper.py", &path, "all"]].concat());
            assert_eq!(ran.code, 0, "{flags:?}, marked before {marked_before}: {ran}");
        }
        for words in [&["review", "--all", "-y"][..], &["pick", "a", "-y"]] {
            let ran = world.belay(words);
            assert!([0, 5].contains(&ran.code), "{words:?}: {ran}");
            // The kernel refuses to go where its own marks lie in the workspace itself.
            let link = std::fs::read_link(world.workspace.join("lower"));
            assert!(marked_before || link.is_ok_and(|link| link == outside), "{words:?}: {ran}");
            for file in ["kept", "dir/inner", "tamper.py"] {
                assert!(world.has(file), "{words:?} removed {file}: {ran}");
            }
        }
        // A pick of what was already applied changes nothing, and then there is one thing to undo.
        for _ in 0..2 {
            let undone = world.belay(&["undo", "-y"]);
            // An ordinary user cannot make the devices again that are the kernel's own marks; they are named.
            assert!([0, 3, 5].contains(&undone.code), "{undone}");
        }
        assert_eq!((world.read("code").as_str(), world.read("lower/canary").as_str()), ("c", "l"));
        let canaries = [outside.join("canary"), world.workspace.base().join("canary")];
        assert!(canaries.iter().all(|canary| std::fs::read_to_string(canary).unwrap() == "alive"));
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    }
}

#[test]
fn a_hard_link_made_before_leads_an_ephemeral_run_nowhere() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("code", "mine");
    let outside = world.workspace.base().join("elsewhere");
    std::fs::write(&outside, "theirs").unwrap();
    std::fs::hard_link(&outside, world.workspace.join("linked")).unwrap();
    let script = "echo pwned > linked; echo pwned >> linked; python3 -c \"open('linked','r+').write('pwned')\"; chmod 777 linked";
    world.ok(&["run", "-q", "--ephemeral", "--", "sh", "-c", script]);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "theirs");
    world.ok(&["review", "--all", "-y"]);
    assert!(world.read("linked").starts_with("pwned"));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "theirs", "what is applied is another file");
}

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

/// A run that changed both ends of a file, and made another.
fn two_hunks() -> World {
    let mut world = World::new();
    world.workspace.file("text", LINES).file("other", "o\n");
    let script = "sed -i -e s/^1$/one/ -e s/12/twelve/ text; echo n > new; echo p >> other";
    let ran = world.belay(&["run", "--ephemeral", "-q", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    world
}

#[test]
fn hunks_are_numbered_and_applied_one_by_one() {
    if !has_namespaces() {
        return;
    }
    let mut world = two_hunks();
    let shown = world.json(&["review"]);
    let text = shown["changes"].as_array().unwrap().iter().find(|change| change["path"] == "text").unwrap();
    assert_eq!(text["hunks"].as_array().unwrap().len(), 2, "{shown}");
    assert_eq!(text["hunks"][1]["lines"].as_array().unwrap().last().unwrap(), "+twelve");
    assert!(world.ok(&["review", "--patch"]).contains("text:2"));
    // The workspace may have changed meanwhile: what is applied is merged with it.
    world.workspace.file("text", LINES.replace("6\n", "six\n"));
    world.ok(&["review", "--apply-hunk", "text:2", "-y"]);
    assert_eq!(world.read("text"), LINES.replace("6\n", "six\n").replace("12", "twelve"));
    assert!(!world.has("new"));
    assert_eq!(world.read("other"), "o\n");
    let unknown = world.belay(&["review", "--apply-hunk", "text:7", "-y"]);
    assert!(unknown.code == 3 && unknown.stderr.contains("no hunk 7"), "{unknown}");
    assert_eq!(world.belay(&["review", "--apply-hunk", "text", "-y"]).code, 2);
    world.ok(&["review", "--all", "-y"]);
    assert_eq!(world.read("text"), LINES.replace("6\n", "six\n").replace("12", "twelve").replacen('1', "one", 1));
    assert!(world.has("new"));
    let nothing = world.belay(&["review"]);
    assert!(nothing.stdout.contains("Nothing to do"), "{nothing}");
}

#[test]
fn a_conflict_keeps_both_and_none_discards() {
    if !has_namespaces() {
        return;
    }
    let mut world = two_hunks();
    world.workspace.file("text", LINES.replacen('1', "eins", 1));
    let applied = world.belay(&["review", "--all", "-y"]);
    assert_eq!(applied.code, 5, "{applied}");
    assert!(world.read("text").starts_with("eins\n"));
    assert!(world.has("new"), "what does not conflict is applied");
    world.ok(&["review", "--none", "-y"]);
    assert_eq!(world.belay(&["review"]).code, 3);
}

#[test]
fn a_review_while_the_run_goes_on_shows_what_is_there_so_far() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("text", LINES);
    let script = "echo 1 > early; sleep 5; rm text && echo 2 > late; sleep 1000";
    world.ok(&["run", "--ephemeral", "--detach", "--", "sh", "-c", script]);
    let shows = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).contains("early");
    crate::running::until("it is shown", || shows(world.command(&["review"]).output().unwrap()));
    world.ok(&["review", "--apply", "-y", "early"]);
    assert_eq!(world.read("early"), "1\n");
    // Looking does not disturb: the run can still remove what lies beneath what it wrote.
    let shows = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).contains("late");
    crate::running::until("it goes on", || shows(world.command(&["review"]).output().unwrap()));
    assert!(world.has("text"));
    world.ok(&["stop", "--now"]);
}

#[test]
fn a_reviewer_sees_each_file_and_does_not_miss_a_hook() {
    if !has_namespaces() {
        return;
    }
    let script = "mkdir -p .git/hooks new/deep empty many/.github/workflows && echo x > .git/hooks/post-checkout \
                  && echo c > .git/config && echo f > new/deep/file && echo y > many/.github/workflows/ci.yml \
                  && i=0 && while [ $i -lt 120 ]; do echo > many/$i; i=$((i+1)); done";
    let mut world = ephemeral(script);
    let shown = world.belay(&["review"]);
    let lines: Vec<&str> = shown.stdout.lines().map(str::trim).collect();
    for line in [
        "+ .git/hooks/post-checkout  ! git runs it",
        "+ .git/config  ! git believes it",
        "+ new/deep/file",
        "+ many/.github/workflows/ci.yml  ! CI runs it",
    ] {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_there = lines.iter().any(|shown| shown.split_whitespace().collect::<Vec<_>>().join(" ") == line);
        assert!(is_there, "{line}: {shown}");
    }
    assert!(lines.iter().any(|line| line.starts_with("+ empty/")), "{shown}");
    assert!(lines.iter().any(|line| line.starts_with("+ many/ (121 files")), "{shown}");
    assert!(!lines.iter().any(|line| line.contains("many/7")), "{shown}");
    let review = world.json(&["review"]);
    let git = review["changes"].as_array().unwrap().iter().find(|one| one["path"] == ".git").unwrap();
    let hook = git["within"].as_array().unwrap().iter().find(|one| one["path"] == ".git/hooks/post-checkout");
    assert_eq!(hook.map(|one| one["notable"].clone()), Some("git runs it".into()), "{review}");
}

/// What a run shuts against everybody, its owner included.
const SHUT: &str = "echo s > secret; chmod 000 secret; ln secret second; \
    mkdir -p closed/inner; echo c > closed/inner/file; ln secret closed/third; chmod 000 closed/inner closed; \
    mkdir listed; echo l > listed/file; chmod 400 listed; chmod 000 dir";

/// Belay as an ordinary user in a workspace of that user's, if there is one here.
struct Ordinary {
    user: belay_testkit::OrdinaryUser,
    home: tempfile::TempDir,
}

impl Ordinary {
    fn find() -> Option<Ordinary> {
        if !has_namespaces() {
            return None;
        }
        let user = belay_testkit::OrdinaryUser::find()?;
        let home = user.directory();
        user.copy_of(env!("CARGO_BIN_EXE_belay").as_ref(), home.path());
        Some(Ordinary { user, home })
    }

    /// What a script in the workspace says on both streams, and its exit code.
    fn sh(&self, script: &str) -> (String, i32) {
        let mut command = self.user.command("sh", self.home.path());
        let here = self.home.path().display();
        let script = format!("exec 2>&1; umask 022; mkdir -p ws; cd ws; PATH={here}:$PATH; {script}");
        command.args(["-c", &script]).current_dir(self.home.path()).stdin(std::process::Stdio::null());
        let done = command.env("BELAY_HOME", self.home.path().join("kept")).output().expect("sh starts");
        (String::from_utf8_lossy(&done.stdout).into_owned(), done.status.code().unwrap_or(-1))
    }

    #[track_caller]
    fn ok(&self, script: &str) -> String {
        let (said, code) = self.sh(script);
        assert_eq!(code, 0, "{script}\n{said}");
        said
    }
}

#[test]
fn what_a_run_shuts_is_shown_applied_and_kept() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("mkdir dir; echo i > dir/inner; echo k > kept");
    ordinary.ok(&format!("belay run -q --ephemeral -- sh -c '{SHUT}'"));
    for _ in 0..2 {
        let shown = ordinary.ok("belay review");
        for path in ["secret", "second", "closed/inner/file", "closed/third", "listed/file", "dir"] {
            assert!(shown.contains(path), "{path} is not in\n{shown}");
        }
        assert!(!shown.contains("cannot be read"), "{shown}");
    }
    ordinary.ok("belay review --all -y");
    let modes = ordinary
        .ok("stat -c '%n %a' secret closed listed dir; chmod 700 closed listed dir; stat -c '%n %a' closed/inner");
    assert_eq!(modes, "secret 0\nclosed 0\nlisted 400\ndir 0\nclosed/inner 0\n");
    let content = ordinary.ok(
        "chmod 400 secret; chmod 700 closed/inner; cat secret closed/inner/file closed/third listed/file dir/inner",
    );
    assert_eq!(content, "s\nc\ns\nl\ni\n");
    assert_eq!(ordinary.ok("stat -c %h secret"), "3\n", "they are names of one file");
}

/// What is made in every shape that keeps its owner out, in part or wholly.
const SHUT_IN_EVERY_WAY: &str = "echo s > secret; ln secret second; chmod 000 secret; echo w > written; chmod 200 written; \
    mkdir -p closed/inner/deep; echo c > closed/inner/deep/file; chmod 000 closed/inner/deep closed/inner closed; \
    mkdir entered; echo e > entered/file; chmod 300 entered; mkdir fixed; echo f > fixed/file; chmod 500 fixed; \
    mkdir plain; echo p > plain/file; mkdir plain/shut; echo q > plain/shut/file; chmod 100 plain/shut; \
    mkdir empty; chmod 000 empty";
/// What is seen of that without opening anything.
const SEEN: &str = "stat -c '%n %a' secret second written closed entered fixed plain plain/shut empty";
const SEEN_SAYS: &str =
    "secret 0\nsecond 0\nwritten 200\nclosed 0\nentered 300\nfixed 500\nplain 755\nplain/shut 100\nempty 0\n";
/// What it holds; it is open then.
const HELD: &str = "chmod 700 closed && chmod 700 closed/inner && chmod 700 closed/inner/deep && chmod 700 entered plain/shut empty; \
    chmod 600 secret written; cat secret second written closed/inner/deep/file entered/file fixed/file plain/file plain/shut/file; ls empty";
const HELD_SAYS: &str = "s\ns\nw\nc\ne\nf\np\nq\n";

/// Takes it back and forth, and leaves it as it was made.
#[track_caller]
fn there_and_back(ordinary: &Ordinary, back: &str) {
    let nothing = "ls -A | grep -v -e '^dir$' -e '^kept$' || true";
    assert_eq!(ordinary.ok(SEEN), SEEN_SAYS);
    let plan = ordinary.ok(&format!("belay {back} --dry-run"));
    assert!(plan.contains("closed") && plan.contains("secret") && plan.contains("plain/shut"), "{plan}");
    assert_eq!(ordinary.ok(SEEN), SEEN_SAYS, "a plan opens nothing");
    let forth = if back.starts_with("undo") { "redo -y" } else { "undo -y" };
    for _ in 0..2 {
        let said = ordinary.ok(&format!("belay {back}"));
        assert!(!said.contains("Left alone"), "{back}: {said}");
        assert_eq!(ordinary.ok(nothing), "", "{back}: {said}");
        let said = ordinary.ok(&format!("belay {forth}"));
        assert_eq!(ordinary.ok(SEEN), SEEN_SAYS, "{forth}: {said}");
    }
    assert_eq!(ordinary.ok(HELD), HELD_SAYS);
    assert_eq!(ordinary.ok("stat -c %h secret; cat kept dir/inner"), "2\nk\ni\n");
}

#[test]
fn what_was_shut_and_applied_is_taken_back_and_done_again() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("mkdir dir; echo i > dir/inner; echo k > kept");
    ordinary.ok(&format!("belay run -q --ephemeral -- sh -c '{SHUT_IN_EVERY_WAY}'"));
    ordinary.ok("belay review --all -y");
    there_and_back(&ordinary, "undo -y");
}

#[test]
fn what_a_run_shut_is_rolled_back_and_brought_back() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("mkdir dir; echo i > dir/inner; echo k > kept");
    ordinary.ok(&format!("belay run -q --isolation jail -- sh -c '{SHUT_IN_EVERY_WAY}'"));
    there_and_back(&ordinary, "rollback -y @pre-run");
}

#[test]
fn what_is_shut_in_the_place_of_something_else_makes_way() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("echo file > path; mkdir tree; echo t > tree/file; belay snapshot -q --label before");
    ordinary.ok("rm path; mkdir path; echo in > path/in; chmod 000 path; rm -r tree; echo now > tree; chmod 000 tree");
    let said = ordinary.ok("belay rollback -y before");
    assert_eq!(ordinary.ok("cat path tree/file"), "file\nt\n", "{said}");
    ordinary.ok("belay undo -y");
    assert_eq!(
        ordinary.ok("stat -c '%n %a %F' path tree; chmod 700 path tree; cat path/in tree"),
        "path 0 directory\ntree 0 regular file\nin\nnow\n"
    );
}

#[test]
fn what_is_shut_and_not_claimed_stays_shut() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok(
        "printf 'node_modules/\\n' > .gitignore; echo '{}' > package.json; git init -q .; belay snapshot -q --label before",
    );
    ordinary.ok("mkdir node_modules; echo x > node_modules/x; chmod 000 node_modules; echo new > new");
    ordinary.ok("belay rollback -y before");
    assert_eq!(ordinary.ok("stat -c '%n %a' node_modules; ls new 2>/dev/null || echo gone"), "node_modules 0\ngone\n");
}

#[test]
fn what_a_run_shuts_is_in_the_snapshot_when_it_is_discarded() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("mkdir dir; echo i > dir/inner");
    for shut in [SHUT, "echo s > secret; mkdir -p closed/inner; echo c > closed/inner/file; chmod 000 secret ."] {
        ordinary.ok(&format!("belay run -q --ephemeral -- sh -c '{shut}'"));
        let said = ordinary.ok("belay discard -y");
        assert!(said.contains("it is still in snap_"), "{said}");
        let snapshot = said.split("still in ").nth(1).unwrap().trim_end().trim_end_matches('.').to_owned();
        assert_eq!(
            ordinary.ok(&format!("belay cat {snapshot} secret; belay cat {snapshot} closed/inner/file")),
            "s\nc\n"
        );
        assert_eq!(ordinary.sh("belay review").1, 3, "nothing is left");
    }
    assert_eq!(ordinary.ok("cat dir/inner; stat -c %a . dir; ls"), "i\n755\n755\ndir\n", "the workspace is as it was");
}

#[test]
fn what_is_shut_in_a_fork_is_picked_and_stays_shut_there() {
    let Some(ordinary) = Ordinary::find() else { return };
    ordinary.ok("mkdir dir; echo i > dir/inner; echo k > kept; belay snapshot -q; belay fork -q a");
    ordinary.ok(&format!("belay run -q --fork a -- sh -c '{SHUT}; echo open > open'"));
    let compared = ordinary.ok("belay compare a");
    assert!(compared.contains("open") && compared.contains("Not compared"), "{compared}");
    assert!(compared.contains("secret") && compared.contains("closed"), "{compared}");
    let modes = "stat -c '%n %a' secret closed listed dir";
    assert_eq!(
        ordinary.ok(&format!("belay run -q --fork a -- {modes} 2>/dev/null")),
        "secret 0\nclosed 0\nlisted 400\ndir 0\n"
    );
    let picked = ordinary.ok("belay pick a -y");
    assert!(!picked.contains("it cannot be read"), "{picked}");
    assert_eq!(ordinary.ok(&format!("cat open; {modes}")), "open\nsecret 0\nclosed 0\nlisted 400\ndir 0\n");
    assert_eq!(
        ordinary.ok(&format!("belay run -q --fork a -- {modes} 2>/dev/null")),
        "secret 0\nclosed 0\nlisted 400\ndir 0\n",
        "the fork is as it was"
    );
    ordinary.ok("belay undo -y");
    assert_eq!(ordinary.ok("ls; stat -c %a dir; cat dir/inner"), "dir\nkept\n755\ni\n");
    ordinary.ok("belay redo -y");
    assert_eq!(ordinary.ok(modes), "secret 0\nclosed 0\nlisted 400\ndir 0\n");
    ordinary.ok("belay forks; belay run -q --fork a -- true");
    let removed = ordinary.ok("belay forks rm a -y");
    let snapshot = removed.split("last state is in ").nth(1).unwrap().trim_end().trim_end_matches('.').to_owned();
    assert_eq!(ordinary.ok(&format!("belay cat {snapshot} secret; belay cat {snapshot} closed/inner/file")), "s\nc\n");
}

#[test]
fn what_no_snapshot_takes_is_told_when_it_goes() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".gitignore", "node_modules\n").file("package.json", "{}").file("code", "c");
    assert!(belay_testkit::git(world.workspace.path()).args(["init", "-q"]).status().is_ok_and(|done| done.success()));
    world.ok(&[
        "run",
        "-q",
        "--ephemeral",
        "--",
        "sh",
        "-c",
        "mkdir -p node_modules/x; echo m > node_modules/x/m; echo n > code",
    ]);
    let shown = world.belay(&["review"]);
    assert!(shown.stdout.contains("not brought in") && shown.stdout.contains("node_modules"), "{shown}");
    let gone = world.belay(&["discard", "-y"]);
    assert!(gone.stderr.contains("the rest is still in") && gone.stderr.contains("node_modules"), "{gone}");
}

#[test]
fn hunks_are_of_the_file_that_is_named_and_no_file_is_named_that_was_not_made() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "1\n").file("sub/a", "1\n").file("bin", "a\0").file("clash", "1\n");
    let script = "echo 2 > a; echo 2 > sub/a; printf 'b\\0' > bin; echo 2 > clash";
    world.ok(&["run", "-q", "--ephemeral", "--", "sh", "-c", script]);
    world.workspace.file("clash", "3\n");
    let refused = world.belay(&["review", "--apply-hunk", "bin:1", "-y"]);
    assert!(refused.code == 4 && refused.stderr.contains("--apply bin"), "{refused}");
    world.ok(&["review", "--apply-hunk", "a:1", "-y"]);
    assert_eq!((world.read("a").as_str(), world.read("sub/a").as_str()), ("2\n", "1\n"));
    let clashed = world.belay(&["review", "--apply-hunk", "clash:1", "-y"]);
    assert_eq!((clashed.code, world.read("clash").as_str()), (5, "3\n"), "{clashed}");
    let beside = clashed.stderr.split("the other version is ").nth(1).expect("it is named").lines().next().unwrap();
    assert_eq!(world.read(beside.trim()), "2\n", "{clashed}");
}
