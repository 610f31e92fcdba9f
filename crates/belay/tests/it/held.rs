//! A git command that can destroy work waits for its snapshot: what it destroys is in the store, however fast it is.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::skip;

use crate::running::{records, until};
use crate::world::World;

/// Says no more than it must, and belongs to nobody in particular.
pub(crate) const GIT: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
                   GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/'; ";

/// Makes work that was never committed, and destroys it at once, each time in another way.
const DESTROY: &str = r#"
i=0
while [ $i -lt 98 ]; do
    i=$((i+1))
    case $((i % 7)) in
        0) echo $i > f; git reset -q --hard ;;
        1) echo $i > new; git clean -fdxq ;;
        2) echo $i > f; git checkout -qf ;;
        3) echo $i > f; git stash -q; git stash drop -q ;;
        4) echo $i > f; git checkout -q -- f ;;
        5) echo $i > wt/x; git worktree remove --force wt; git worktree add -qf --detach wt ;;
        6) git rebase -qi HEAD~1 2>/dev/null; echo $i > f; git rebase --abort ;;
    esac
done
"#;

/// A repository with two commits and a second worktree; none without git.
pub(crate) fn repository() -> Option<World> {
    let world = World::new();
    let script = "git init -q . && echo 0 > f && git add f && git commit -qm 0 && echo 1 > f && git commit -qam 1 && \
                  git worktree add -q --detach wt";
    let made = Command::new("sh").args(["-c", &format!("{GIT}{script}")]).current_dir(world.workspace.path()).status();
    if !made.is_ok_and(|made| made.success()) {
        skip("no git");
        return None;
    }
    Some(world)
}

/// The snapshots that were taken before git did something: their ids, and before what.
fn before_git(world: &mut World) -> Vec<(String, String)> {
    let all = world.json(&["snapshots"])["snapshots"].as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let all = all.iter().map(|snapshot| (text(&snapshot["id"]), text(&snapshot["cause"]["trigger"])));
    all.filter(|(_, trigger)| trigger.starts_with("before git")).collect()
}

#[test]
fn whatever_git_destroys_is_in_a_snapshot_each_time_in_a_row() {
    let Some(mut world) = repository() else { return };
    let script = format!("{GIT}{DESTROY}");
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 0, "{ran}");
    let mut saved = BTreeSet::new();
    for (id, trigger) in before_git(&mut world) {
        let path = match trigger {
            trigger if trigger.contains("clean") => "new",
            trigger if trigger.contains("worktree") => "wt/x",
            _ => "f",
        };
        let read = world.belay(&["cat", &id, path]);
        saved.extend(read.raw().trim().parse::<u32>().ok());
    }
    let mut lost: Vec<u32> = (1..=98).filter(|number| !saved.contains(number)).collect();
    if !lost.is_empty() {
        // A snapshot for something else that began while git was held serves it as well.
        let all = world.json(&["snapshots"])["snapshots"].as_array().cloned().unwrap_or_default();
        for snapshot in &all {
            for path in ["f", "new", "wt/x"] {
                let read = world.belay(&["cat", snapshot["id"].as_str().unwrap_or_default(), path]);
                lost.retain(|number| read.raw().trim() != number.to_string());
            }
        }
    }
    // On a busy machine a snapshot may take longer than a command waits; then the record says so, each time.
    let told = world.ok(&["log"]).matches("went on before its snapshot was taken").count();
    assert!(lost.len() <= told, "no snapshot holds {lost:?}, and {told} are told");
    let unnamed = "SELECT COUNT(*) FROM snapshot_events WHERE kind = 'auto' AND command IS NULL";
    assert_eq!(world.ok(&["sql", "@latest", unnamed, "--csv"]).lines().nth(1), Some("0"), "each names its command");
}

#[test]
fn git_is_known_under_other_names() {
    let Some(mut world) = repository() else { return };
    let script = format!(
        "{GIT} echo w1 > f; $(git --exec-path)/git-reset -q --hard; ln -s $(command -v git) xgit; echo w2 > f; ./xgit reset -q --hard; \
         ln -s xgit gitty; echo w3 > f; ./gitty reset -q --hard"
    );
    world.ok(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    let all = world.json(&["snapshots"])["snapshots"].as_array().cloned().unwrap_or_default();
    let ids = all.iter().map(|snapshot| snapshot["id"].as_str().unwrap_or_default());
    let saved: Vec<String> = ids.map(|id| world.belay(&["cat", id, "f"]).raw()).collect();
    let lost: Vec<&str> =
        ["w1\n", "w2\n", "w3\n"].into_iter().filter(|work| !saved.iter().any(|one| one == work)).collect();
    // On a busy machine a snapshot may take longer than a command waits; then the record says so, each time.
    let told = world.ok(&["log"]).matches("went on before its snapshot was taken").count();
    assert!(lost.len() <= told, "no snapshot holds {lost:?} but {saved:?}, and {told} are told");
}

#[test]
fn other_commands_of_git_wait_for_nobody() {
    let Some(mut world) = repository() else { return };
    let script = format!("{GIT} echo changed > f; git status >/dev/null; git diff >/dev/null; git log -1 >/dev/null");
    world.ok(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    assert_eq!(before_git(&mut world), []);
}

#[test]
fn a_snapshot_that_takes_too_long_is_not_waited_for_and_the_log_says_so() {
    let Some(mut world) = repository() else { return };
    let script =
        format!("{GIT} : > ready; while [ ! -e go ]; do sleep 0.05; done; echo 7 > f; git reset -q --hard; : > gone");
    let mut run = world.command(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
    until("the run began", || world.has("ready"));
    let id = records(&world)[0]["workspace"].as_str().unwrap_or_default().to_owned();
    let lock = world.workspace.home().join("workspaces").join(id).join("lock");
    let lock = std::fs::File::open(lock).expect("a workspace has a lock");
    lock.lock().unwrap();
    let began = Instant::now();
    world.workspace.file("go", "");
    until("git went on", || world.has("gone"));
    let waited = began.elapsed();
    lock.unlock().unwrap();
    assert!(run.wait().unwrap().success());
    assert!((Duration::from_millis(1900)..Duration::from_secs(10)).contains(&waited), "{waited:?}");
    let log = world.ok(&["log"]);
    assert!(log.contains("went on before its snapshot was taken"), "{log}");
    assert!(log.contains(" meanwhile"), "what git did while the snapshot was taken may be in it by halves: {log}");
}
