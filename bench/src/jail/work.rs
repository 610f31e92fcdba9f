//! What work costs inside a jail, and a whole run of a program that does nothing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_jail::Network;

use super::{PATH, PROGRAM, jailed, timed};
use crate::error::{Doing, Result};
use crate::place::{Fs, Place};
use crate::table;

/// The most that work inside may take of the time outside.
const INSIDE_MAX: f64 = 1.02;

/// Names and scripts; each works in the current directory and leaves nothing there that changes the next round.
const WORK: [(&str, &str); 3] = [
    ("files: unpack, read and remove the headers of the system", FILES),
    ("build: compile 60 sources with make", BUILD),
    ("processes: start 1,500 programs", PROCESSES),
];
const FILES: &str = "for i in 1 2 3 4 5 6; do mkdir w && tar -c -C /usr/include linux | tar -x -C w && grep -r -c main w > found; rm -rf w found; done";
const BUILD: &str = "mkdir b && cd b && for i in $(seq 60); do printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%s(int x){return printf(\"%%d\", x);}\\n' $i > f$i.c; done \
    && printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n%%.o: %%.c\\n\\tgcc -O1 -c $<\\n' > Makefile && make -s -j2 && cd .. && rm -rf b";
const PROCESSES: &str = "i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done";

/// Does the same work inside and outside, in turn, and prints each row when it is done; on a fresh filesystem, since
/// making files next to many that were just removed takes as long as it likes.
pub(super) fn inside_and_outside(rounds: usize) -> Result<()> {
    println!("\n| work, least of {rounds} | outside | in a jail | × outside | processor time × outside |");
    println!("|---|---|---|---|---|");
    let scratch = tempfile::tempdir().doing("make", Path::new("a temporary directory"))?;
    let image = Place::new(Fs::Ext4, scratch.path(), 0)?;
    let place = match &image {
        Ok(image) => image.path("work"),
        Err(why) => {
            println!("| (on the disk as it is: {why}) | | | | |");
            scratch.path().join("work")
        }
    };
    std::fs::create_dir(&place).doing("make", &place)?;
    for (name, script) in WORK {
        let (mut outside, mut inside) = (Cost::MOST, Cost::MOST);
        for _ in 0..rounds.max(1) {
            outside = outside.least(|| bare(&place, script))?;
            inside = inside.least(|| jailed(&place, Network::Shared, &["/bin/sh", "-c", script]))?;
        }
        let ratio = |one: fn(&Cost) -> Duration| one(&inside).as_secs_f64() / one(&outside).as_secs_f64();
        let (wall, cpu) = (ratio(|cost| cost.wall), ratio(|cost| cost.cpu));
        let kept = if wall <= INSIDE_MAX { "kept" } else { "NOT KEPT" };
        let (out, inn) = (table::time(outside.wall), table::time(inside.wall));
        println!("| {name} | {out} | {inn} | {wall:.3} ({kept}) | {cpu:.3} |");
    }
    Ok(())
}

/// What work cost; on a busy machine the time of the processor says more than the clock.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

impl Cost {
    const MOST: Cost = Cost { wall: Duration::MAX, cpu: Duration::MAX };

    fn least(self, work: impl FnOnce() -> Result<Duration>) -> Result<Cost> {
        let before = children_cpu();
        let wall = work()?;
        Ok(Cost { wall: self.wall.min(wall), cpu: self.cpu.min(children_cpu().saturating_sub(before)) })
    }
}

/// The processor time of all children that have ended; the kernel counts in hundredths of a second.
fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

fn bare(place: &Path, script: &str) -> Result<Duration> {
    timed(Command::new("/bin/sh").args(["-c", script]).current_dir(place).env_clear().env("PATH", PATH))
}

/// Runs a program that does nothing under belay, in a workspace that does not change.
pub(super) fn whole_runs(belay: &Path, workspace: &Path, rounds: usize, bare: Duration) -> Result<()> {
    println!("\n| a whole run of a program that does nothing, least of {rounds} | least | median | × bare |");
    println!("|---|---|---|---|");
    let home = tempfile::tempdir().doing("make", Path::new("a temporary directory"))?;
    for (name, isolation) in
        [("in a jail, traced, snapshots before and after", "auto"), ("the same, not confined", "none")]
    {
        let mut times = Vec::new();
        // The first one captures everything.
        for round in 0..=rounds.max(1) {
            let mut command = Command::new(belay);
            command.args(["run", "-q", "--isolation", isolation, "--", PROGRAM]).current_dir(workspace);
            command.env("BELAY_HOME", home.path()).stdout(Stdio::null());
            let begin = Instant::now();
            timed(&mut command)?;
            if round > 0 {
                times.push(begin.elapsed());
            }
        }
        times.sort();
        let (least, median) = (times[0], times[times.len() / 2]);
        let ratio = least.as_secs_f64() / bare.as_secs_f64();
        println!("| {name} | {} | {} | {ratio:.0} |", table::time(least), table::time(median));
    }
    Ok(())
}
