//! Runs children and keeps the least time and the greatest memory of several rounds.
//!
//! The runner itself must stay small: a child's peak RSS starts at that of the process it was forked from.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

use crate::error::{Error, Result};

/// What one timed operation cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    pub(crate) cpu: Option<Duration>,
    pub(crate) rss: Option<u64>,
    pub(crate) stdout: String,
}

/// The figures kept of several samples: least time, greatest memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Best {
    pub(crate) wall: Duration,
    pub(crate) cpu: Option<Duration>,
    pub(crate) rss: Option<u64>,
    pub(crate) rounds: usize,
}

impl Best {
    /// Takes one more sample in.
    pub(crate) fn add(&mut self, sample: &Sample) {
        if self.rounds == 0 {
            (self.wall, self.cpu) = (sample.wall, sample.cpu);
        }
        self.wall = self.wall.min(sample.wall);
        self.cpu = self.cpu.min(sample.cpu);
        self.rss = self.rss.max(sample.rss);
        self.rounds += 1;
    }
}

/// Runs the commands one after another and sums what they cost; the last one's output is kept.
pub(crate) fn run(steps: Vec<Command>) -> Result<Sample> {
    let mut sum = Sample { cpu: Some(Duration::ZERO), ..Sample::default() };
    for step in steps {
        let one = run_one(step)?;
        sum.wall += one.wall;
        sum.cpu = sum.cpu.zip(one.cpu).map(|(a, b)| a + b);
        sum.rss = sum.rss.max(one.rss);
        sum.stdout = one.stdout;
    }
    Ok(sum)
}

fn run_one(mut command: Command) -> Result<Sample> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start_error = |source| Error::Start { program: program.clone(), source };
    let mut said = tempfile::tempfile().map_err(start_error)?;
    let stderr = said.try_clone().map_err(start_error)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);

    let start = Instant::now();
    let mut child = command.spawn().map_err(start_error)?;
    let mut stdout = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_end(&mut stdout).map_err(start_error)?;
    }
    let used = child.wait4().map_err(start_error)?;
    let wall = start.elapsed();

    if !used.status.success() {
        return Err(Error::Failed {
            command: format!("{command:?}").chars().take(300).collect(),
            status: used.status,
            said: read_back(&mut said),
        });
    }
    Ok(Sample {
        wall,
        cpu: Some(used.rusage.utime + used.rusage.stime),
        rss: Some(used.rusage.maxrss),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
    })
}

fn read_back(file: &mut File) -> String {
    let mut text = Vec::new();
    if file.rewind().is_ok() {
        // A message that cannot be read back is only missing from the report of a failure.
        let _ = file.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).trim().chars().take(2000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, rss: u64) -> Sample {
        Sample {
            wall: Duration::from_millis(ms),
            cpu: Some(Duration::from_millis(ms)),
            rss: Some(rss),
            stdout: String::new(),
        }
    }

    #[test]
    fn best_keeps_least_time_and_greatest_memory() {
        let mut best = Best::default();
        for (ms, rss) in [(9, 10), (4, 30), (6, 20)] {
            best.add(&sample(ms, rss));
        }
        assert_eq!(best.wall, Duration::from_millis(4));
        assert_eq!(best.cpu, Some(Duration::from_millis(4)));
        assert_eq!(best.rss, Some(30));
    }

    #[test]
    fn a_failing_step_is_an_error_with_its_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no luck >&2; exit 3"]);
        let error = run(vec![command]).expect_err("the child failed");
        assert!(error.to_string().contains("no luck"), "{error}");
    }

    #[test]
    fn memory_of_the_child_is_seen() {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"]);
        let sample = run(vec![command]).expect("dd runs");
        assert!(sample.rss > Some(60 << 20), "{sample:?}");
    }
}
