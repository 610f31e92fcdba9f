//! Processes as fast as this machine can start them, counted by whoever starts them.

use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use belay_sys::Root;
use belay_sys::fanotify::{Fanotify, Queue};
use belay_trace::Engine;

use crate::world::World;

/// Two processes, each of which starts a program that does nothing, again and again, for the given time; they write how
/// often it ran.
const SPAWNER: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
int main(int count, char **words) {
    int second = fork() == 0;
    double end = now() + atof(words[3]);
    long ran = 0;
    char *own[] = { words[1], NULL };
    while (now() < end) {
        int status = -1;
        pid_t child = vfork();
        if (child == 0) {
            execve(words[1], own, NULL);
            _exit(99);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
        ran++;
    }
    FILE *file = fopen(words[2], "a");
    fprintf(file, "%ld\n", ran);
    fclose(file);
    if (second)
        return 0;
    int status = -1;
    wait(&status);
    return status != 0;
}
"#;

const NOTHING: &str = "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0)); }";

/// Every process is seen, however many start in a second.
pub(crate) fn execs(engine: Engine) {
    if cfg!(not(target_arch = "x86_64")) {
        return belay_testkit::skip("the program that does nothing is written for x86-64");
    }
    let tools = tempfile::tempdir().unwrap();
    let at = |name: &str| tools.path().join(name);
    fs::write(at("spawner.c"), SPAWNER).unwrap();
    fs::write(at("nothing.c"), NOTHING).unwrap();
    let compile = |source: &str, output: &str, flags: &[&str]| {
        let made = Command::new("cc").args(flags).arg("-O1").arg("-o").arg(at(output)).arg(at(source)).status();
        made.is_ok_and(|status| status.success())
    };
    let small = ["-static", "-nostdlib", "-nostartfiles"];
    if !compile("spawner.c", "spawner", &[]) || !compile("nothing.c", "nothing", &small) {
        return belay_testkit::skip("no C compiler");
    }
    let Some(mut world) = World::grouped(engine) else { return };
    let began = Instant::now();
    let words = [at("spawner"), at("nothing"), at("counts"), "3".into()];
    assert!(world.run(&words).success());
    let took = began.elapsed();
    let story = world.end();
    story.assert_whole();
    let counts = fs::read_to_string(at("counts")).unwrap();
    let count: usize = counts.lines().map(|line| line.parse::<usize>().unwrap()).sum();
    let seen = story.named("nothing").len();
    assert_eq!(seen, count, "at {:.0} a second", count as f64 / took.as_secs_f64());
    assert_eq!(story.ends().len(), count + 1);
}

/// Somebody who never rests on the same file system does not keep the tracer from answering.
pub(crate) fn neighbours(engine: Engine) {
    const AT_MOST: Duration = Duration::from_secs(20);
    let elsewhere = tempfile::tempdir().unwrap();
    let world = World::new(engine, |_| {});
    let began = Instant::now();
    let over = AtomicBool::new(false);
    let write_on = &|name: &str| {
        let file = fs::File::create(elsewhere.path().join(name)).unwrap();
        while !over.load(Ordering::Relaxed) && began.elapsed() < AT_MOST {
            file.write_all_at(b"x", 0).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            scope.spawn(move || write_on(name));
        }
        for number in 0..200 {
            fs::write(world.at("own"), number.to_string()).unwrap();
            assert_eq!(world.tracer.dirty().paths, [b"own".to_vec()]);
            world.tracer.flush();
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    world.end();
}

/// The kernel says how many notices wait, so that one need not read until none comes.
pub(crate) fn notices() {
    let place = tempfile::tempdir().unwrap();
    let root = Root::open(place.path()).unwrap();
    let queue = Fanotify::open(Queue::Unlimited).unwrap();
    queue.watch_file_system(root.as_fd()).unwrap();
    let mut buffer = vec![0; 1 << 20];
    for round in 0..20 {
        for number in 0..50 {
            fs::write(place.path().join(format!("{round}-{number}")), "x").unwrap();
        }
        // Others may write to the same file system meanwhile, and add to the end.
        let waiting = queue.waiting().unwrap();
        assert!(waiting >= 50, "{waiting}");
        let mut left = waiting;
        while left > 0 {
            let read = queue.read(&mut buffer).unwrap().count();
            assert!(read > 0, "{left} of {waiting} are missing");
            left = left.saturating_sub(read);
        }
    }
}
