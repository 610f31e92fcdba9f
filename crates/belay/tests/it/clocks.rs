//! Runs while somebody sets the machine's clock: its steps reach belay through a library that answers for the clock.

use std::path::PathBuf;
use std::process::Command;

use crate::world::World;

/// Answers for the wall clock: the machine's, and so many seconds later as a file says.
const CLOCK: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int answer = syscall(SYS_clock_gettime, clock, now);
    const char *path = getenv("CLOCK_STEP");
    FILE *file = answer == 0 && clock == CLOCK_REALTIME && path ? fopen(path, "re") : 0;
    long step = 0;
    if (file) {
        if (fscanf(file, "%ld", &step) == 1) now->tv_sec += step;
        fclose(file);
    }
    return answer;
}
"#;

/// The library, if there is a compiler to make it.
fn library(world: &World) -> Option<PathBuf> {
    let at = |name: &str| world.workspace.base().join(name);
    std::fs::write(at("clock.c"), CLOCK).expect("the base can be written");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([at("clock.so"), at("clock.c")]).status();
    made.is_ok_and(|status| status.success()).then(|| at("clock.so"))
}

#[test]
fn a_clock_that_is_set_back_keeps_no_snapshot_waiting_and_reorders_nothing() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let Some(library) = library(&world) else { return belay_testkit::skip("no C compiler") };
    let step = world.workspace.base().join("step");
    std::fs::write(&step, "0").unwrap();
    let script = format!(
        "git init -q .; git add a; git -c user.name=n -c user.email=e commit -qm first; echo -7200 > {}; sleep 4; \
         echo b > b; sleep 1",
        step.display()
    );
    let mut command = world.command(&["run", "--isolation", "none", "--", "sh", "-c", &script]);
    command.env("LD_PRELOAD", library).env("CLOCK_STEP", &step);
    let ran = world.ran(command);
    assert_eq!(ran.code, 0, "{ran}");
    std::fs::write(&step, "0").unwrap();
    let mut one = |sql: &str| world.ok(&["sql", "@latest", sql, "--csv"]).lines().skip(1).collect::<String>();
    let sleeps = "SELECT min(seq) FROM exec_events WHERE command = 'sleep'";
    let before = format!(
        "SELECT count(*) FROM snapshot_events WHERE kind = 'git' AND seq < (SELECT seq FROM events WHERE event = 'exit' \
         AND json_extract(body, '$.command') = (SELECT number FROM exec_events WHERE seq = ({sleeps})))"
    );
    assert_eq!(one(&before), "1", "two seconds after the commit, and not at the end of the run");
    assert_eq!(one("SELECT (max(timestamp) > (SELECT min(timestamp) FROM events)) FROM snapshot_events"), "1");
    let steps_back = "SELECT count(*) FROM events a JOIN events b ON b.seq > a.seq AND \
                      julianday(b.timestamp) < julianday(a.timestamp) - 0.01";
    assert_eq!(one(steps_back), "0", "no event is hours older than the one before");
    let run = world.json(&["show"]);
    let (began, ended) = (run["run"]["started_at"].as_str().unwrap(), run["run"]["ended_at"].as_str().unwrap());
    assert!(began < ended, "{began} {ended}");
}
