//! The search for the first bad one in a row of good ones that turn bad, some of which cannot be tried.
//!
//! A pure function of verdicts: it knows neither snapshots nor commands.

/// What came of trying one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The command succeeded.
    Good,
    /// The command failed.
    Bad,
    /// The command could not tell.
    Skip,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Try this one.
    Try(usize),
    /// The last good one and the first bad one; what lies between them could not be tried.
    Found {
        /// The last good one.
        good: usize,
        /// The first bad one.
        bad: usize,
    },
    /// The first one is bad already.
    BadAtOnce,
    /// The last one is not bad.
    NeverBad,
    /// One of the ends could not be tried.
    EndSkipped(usize),
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    verdicts: Vec<Option<Verdict>>,
}

impl Search {
    /// A search among so many, at least two.
    pub fn new(count: usize) -> Search {
        Search { verdicts: vec![None; count] }
    }

    /// Takes in what came of one.
    pub fn tell(&mut self, at: usize, verdict: Verdict) {
        self.verdicts[at] = Some(verdict);
    }

    /// What to do next: first the ends, then the middle of what is not known.
    pub fn turn(&self) -> Turn {
        let last = self.verdicts.len() - 1;
        match (self.verdicts[last], self.verdicts[0]) {
            (None, _) => return Turn::Try(last),
            (Some(Verdict::Good), _) => return Turn::NeverBad,
            (Some(Verdict::Skip), _) => return Turn::EndSkipped(last),
            (Some(Verdict::Bad), None) => return Turn::Try(0),
            (Some(Verdict::Bad), Some(Verdict::Bad)) => return Turn::BadAtOnce,
            (Some(Verdict::Bad), Some(Verdict::Skip)) => return Turn::EndSkipped(0),
            (Some(Verdict::Bad), Some(Verdict::Good)) => {}
        }
        let bad = self.verdicts.iter().position(|verdict| *verdict == Some(Verdict::Bad)).unwrap_or(last);
        let good = self.verdicts[..bad].iter().rposition(|verdict| *verdict == Some(Verdict::Good)).unwrap_or(0);
        let middle = good + (bad - good) / 2;
        let untried = (good + 1..bad).filter(|at| self.verdicts[*at].is_none());
        match untried.min_by_key(|at| at.abs_diff(middle)) {
            Some(at) => Turn::Try(at),
            None => Turn::Found { good, bad },
        }
    }

    /// Those that could not be tried.
    pub fn skipped(&self) -> impl Iterator<Item = usize> + '_ {
        self.verdicts.iter().enumerate().filter(|(_, verdict)| **verdict == Some(Verdict::Skip)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn search(verdicts: &[Verdict]) -> (Turn, usize) {
        let mut search = Search::new(verdicts.len());
        for tries in 0.. {
            match search.turn() {
                Turn::Try(at) => search.tell(at, verdicts[at]),
                other => return (other, tries),
            }
        }
        unreachable!("a search ends")
    }

    #[test]
    fn the_ends_decide_whether_there_is_anything_to_find() {
        use Verdict::*;
        assert_eq!(search(&[Good, Good]).0, Turn::NeverBad);
        assert_eq!(search(&[Bad, Bad]).0, Turn::BadAtOnce);
        assert_eq!(search(&[Skip, Bad]).0, Turn::EndSkipped(0));
        assert_eq!(search(&[Good, Skip]).0, Turn::EndSkipped(1));
        assert_eq!(search(&[Good, Bad]), (Turn::Found { good: 0, bad: 1 }, 2));
        assert_eq!(search(&[Good, Skip, Skip, Bad]).0, Turn::Found { good: 0, bad: 3 });
    }

    proptest! {
        /// The boundary is found among any number, in a logarithm of tries where nothing is skipped.
        #[test]
        fn the_first_bad_one_is_found(count in 2..400_usize, at in any::<prop::sample::Index>(), skips in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let first_bad = 1 + at.index(count - 1);
            let mut verdicts: Vec<Verdict> =
                (0..count).map(|one| if one < first_bad { Verdict::Good } else { Verdict::Bad }).collect();
            for skip in skips.iter().map(|skip| skip.index(count)).filter(|skip| *skip > 0 && *skip < count - 1) {
                verdicts[skip] = Verdict::Skip;
            }
            let (turn, tries) = search(&verdicts);
            let Turn::Found { good, bad } = turn else { return Err(TestCaseError::fail(format!("{turn:?}"))) };
            prop_assert!(good < first_bad && bad >= first_bad);
            prop_assert!(verdicts[good + 1..bad].iter().all(|verdict| *verdict == Verdict::Skip));
            if !verdicts.contains(&Verdict::Skip) {
                prop_assert!(tries <= 3 + count.ilog2() as usize);
            }
        }
    }
}
