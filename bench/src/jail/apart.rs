//! What must not grow with the workspace: the start of an ephemeral run, and a fork.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::timed;
use crate::error::{Doing, Error, Result};
use crate::table;

/// The most that a fork of the largest workspace may take.
const FORK_MAX: Duration = Duration::from_millis(50);
/// The most that an ephemeral start in a larger workspace may take of that in the smallest.
const GROWTH_MAX: f64 = 1.5;

/// Starts ephemeral runs in each workspace and forks it, and prints each row when it is done.
pub(super) fn ephemeral_and_forks(belay: &Path, workspaces: &[PathBuf], rounds: usize) -> Result<()> {
    println!(
        "\n| kept apart, least of {rounds} | files | ephemeral, to the first instruction | × the first row | fork |"
    );
    println!("|---|---|---|---|---|");
    let mut made = Vec::new();
    for workspace in workspaces.iter() {
        match workspace.is_dir() {
            true => made.push((workspace, home()?, Duration::MAX, Duration::MAX)),
            false => println!("| {} | was not made | | | |", workspace.display()),
        }
    }
    // In turn, so that a machine that slows down does so for all of them; the first round captures everything.
    for round in 0..=rounds.max(1) {
        for (workspace, home, start, fork) in &mut made {
            let (started, forked) = one_round(belay, workspace, home.path(), round)?;
            if round > 0 {
                (*start, *fork) = ((*start).min(started), (*fork).min(forked));
            }
        }
    }
    let first = made.first().map_or(1.0, |(_, _, start, _)| start.as_secs_f64());
    for (workspace, _, start, fork) in made {
        let name = workspace.file_name().unwrap_or_default().to_string_lossy();
        let growth = start.as_secs_f64() / first;
        let kept = |is_kept| if is_kept { "kept" } else { "NOT KEPT" };
        let (grown, forked) = (kept(growth <= GROWTH_MAX), kept(fork <= FORK_MAX));
        let (files, start, fork) = (count(workspace), table::time(start), table::time(fork));
        println!("| {name} | {files} | {start} | {growth:.2} ({grown}) | {fork} ({forked}) |");
    }
    Ok(())
}

fn home() -> Result<tempfile::TempDir> {
    tempfile::tempdir().doing("make", Path::new("a temporary directory"))
}

/// How long an ephemeral run took to begin, and a fork to be made.
fn one_round(belay: &Path, workspace: &Path, home: &Path, round: usize) -> Result<(Duration, Duration)> {
    let command = |words: &[&str]| {
        let mut command = Command::new(belay);
        command.args(words).current_dir(workspace).env("BELAY_HOME", home).stderr(Stdio::null());
        command
    };
    let begin = SystemTime::now();
    let mut run = command(&["run", "-q", "--ephemeral", "--", "/bin/date", "+%s%N"]);
    let output = run.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Start { program: "belay run".to_owned(), source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = || Error::Output { program: "belay run".to_owned(), text: text.clone() };
    let nanoseconds: u64 = text.trim().parse().map_err(|_| wrong())?;
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    let started = started.duration_since(begin).map_err(|_| wrong())?;
    let name = format!("bench-{round}");
    let begin = Instant::now();
    timed(command(&["fork", "-q", &name]).stdout(Stdio::null()))?;
    let forked = begin.elapsed();
    timed(command(&["forks", "rm", "-q", "-y", &name]).stdout(Stdio::null()))?;
    Ok((started, forked))
}

fn count(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| if entry.file_type().is_ok_and(|kind| kind.is_dir()) { count(&entry.path()) } else { 1 }).sum()
}
