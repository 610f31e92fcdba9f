//! Who of the run ran, and who did not: a process whose processor time did not change did nothing.

use std::collections::{HashMap, VecDeque};

use belay_sys::ptrace::cpu_nanos;

/// Up to this many processes are asked at every halt, even if no file changed.
const ASK_ALWAYS_MAX: usize = 16;

/// Above this many processes the answer is that anybody could have done it.
const ASK_MAX: usize = 256;

/// How many rounds are remembered for somebody who asks late.
const ROUNDS_MAX: usize = 64;

/// The processes of the run, and when they ran.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    /// The processor time of every process when it was last asked for.
    living: HashMap<u32, u64>,
    /// Who ran in the last rounds; none if that is not known.
    rounds: VecDeque<Option<Vec<u32>>>,
    /// The number of the last round.
    round: u64,
}

impl Runners {
    /// A process that may run from now on.
    pub(crate) fn begin(&mut self, pid: u32) {
        self.living.insert(pid, 0);
    }

    /// A process that has ended.
    pub(crate) fn end(&mut self, pid: u32) {
        self.living.remove(&pid);
    }

    /// Whether asking everybody costs next to nothing.
    pub(crate) fn few(&self) -> bool {
        self.living.len() <= ASK_ALWAYS_MAX
    }

    /// Ends a round: its number, and who ran in it.
    pub(crate) fn ask(&mut self) -> (u64, Option<Vec<u32>>) {
        let ran = (self.living.len() <= ASK_MAX).then(|| self.ask_all());
        self.round += 1;
        self.rounds.push_back(ran.clone());
        if self.rounds.len() > ROUNDS_MAX {
            self.rounds.pop_front();
        }
        (self.round, ran)
    }

    /// Who ran after a round; none if that is not known.
    pub(crate) fn since(&self, round: u64) -> Option<Vec<u32>> {
        let later = usize::try_from(self.round - round).ok().filter(|later| *later <= self.rounds.len())?;
        if self.living.len() > ASK_MAX {
            return None;
        }
        let now = self.living.iter().filter(|(pid, then)| cpu_nanos(**pid) != Some(**then)).map(|(pid, _)| *pid);
        let mut all: Vec<u32> = now.collect();
        for ran in self.rounds.iter().rev().take(later) {
            all.extend(ran.as_deref()?);
        }
        Some(all)
    }

    fn ask_all(&mut self) -> Vec<u32> {
        let mut ran = Vec::new();
        for (pid, then) in &mut self.living {
            // One that cannot be asked any more ran to its end.
            let now = cpu_nanos(*pid).unwrap_or(u64::MAX);
            if now != *then || now == u64::MAX {
                *then = now;
                ran.push(*pid);
            }
        }
        ran
    }
}

#[cfg(test)]
mod tests {
    use super::Runners;

    #[test]
    fn only_who_runs_is_named() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut runners = Runners::default();
        let me = std::process::id();
        runners.begin(sleeper.id());
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(runners.ask().1, Some(vec![sleeper.id()]));
        runners.begin(me);
        let (round, ran) = runners.ask();
        assert_eq!(ran, Some(vec![me]));
        assert_eq!(runners.since(round), Some(vec![me]));
        runners.end(me);
        assert_eq!(runners.ask().1, Some(vec![]));
        assert_eq!(runners.since(round), Some(vec![]));
        assert_eq!(runners.since(0).map(|all| all.contains(&sleeper.id())), Some(true));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(runners.ask().1, Some(vec![sleeper.id()]), "it is gone");
    }
}
