//! Commands that move, copy, write and remove at random: whichever is taken back, nothing is lost that was there before it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use belay_event::Action;
use belay_session::{Goal, Kind, RevertRequest, StepName};

use crate::bed::{Bed, work};
use crate::past::Past;

const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "d/x", "e/x"];

/// The files and what is in them; a directory has nothing in it.
type State = BTreeMap<String, Option<String>>;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.roll(NAMES.len())]
    }
}

fn state(bed: &Bed) -> State {
    fn look(dir: &Path, above: &str, found: &mut State) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = format!("{above}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                look(&entry.path(), &format!("{path}/"), found);
                found.insert(path, None);
            } else {
                found.insert(path, Some(std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    let mut found = State::new();
    look(bed.ws.path(), "", &mut found);
    found
}

/// Does something as the command, if it can be done; `copies` if it may have one thing be there twice.
fn act(bed: &Bed, past: &Past<'_>, command: u64, dice: &mut Dice, copies: bool) {
    let (from, to) = (dice.name(), dice.name());
    let (source, target) = (bed.ws.join(from), bed.ws.join(to));
    let has_place = target.parent().is_some_and(Path::is_dir) && !to.starts_with(&format!("{from}/"));
    match dice.roll(if copies { 6 } else { 5 }) {
        0..=2
            if from != to
                && source.exists()
                && has_place
                && !target.is_dir()
                && !(source.is_dir() && target.exists()) =>
        {
            past.rename(command, from, to);
        }
        3 if has_place && !target.is_dir() => past.write(Some(command), to, &format!("{}\n", dice.roll(1 << 30))),
        4 if source.is_file() => past.remove(Some(command), from),
        5 if from != to && source.is_file() && has_place && !target.is_dir() => {
            let text = bed.text(from);
            past.write(Some(command), to, &text);
        }
        5 if from != to && source.is_dir() && !target.exists() && has_place => {
            past.mkdir(command, to);
            for entry in std::fs::read_dir(&source).unwrap().map(Result::unwrap) {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                let inner = format!("{to}/{}", entry.file_name().to_str().unwrap());
                if entry.path().is_file() {
                    past.change(Some(command), Action::Created, &inner);
                    bed.ws.file(&inner, text);
                }
            }
        }
        _ => {}
    }
}

fn contents(state: &State) -> BTreeSet<&String> {
    state.values().flatten().collect()
}

fn shuffle(seed: u64, snaps: bool, copies: bool) {
    let bed = Bed::new();
    bed.ws.file("a", "first\n").file("b", "second\n").file("d/x", "third\n").file("d/y", "fourth\n");
    let mut dice = Dice(seed);
    let mut past = Past::new(&bed);
    let mut steps = Vec::new();
    for _ in 0..2 {
        let (was, shell) = (state(&bed), past.exec(Some(1), "sh"));
        steps.push((shell, was));
        for _ in 0..1 + dice.roll(3) {
            let (was, command) = (state(&bed), past.exec(Some(shell), "act"));
            steps.push((command, was));
            for _ in 0..1 + dice.roll(2) {
                act(&bed, &past, command, &mut dice, copies);
            }
            past.exit(command);
            if snaps {
                past.snap(Kind::Auto, None);
            }
        }
        past.exit(shell);
        past.snap(Kind::Auto, None);
    }
    let now = state(&bed);
    for (number, was) in steps {
        let request = RevertRequest { step: StepName::Command { run: None, number }, mtime: None };
        let Ok(reverted) = bed.open().revert(&request, work(), &mut |_| {}) else { continue };
        let then = state(&bed);
        let told = format!("seed {seed}, #{number} {:?}\nwas {was:?}\nnow {now:?}\nthen {then:?}", reverted.conflicts);
        for (path, text) in was.iter().filter(|(path, text)| now.get(*path) == Some(text)) {
            assert!(then.contains_key(path), "{path} ({text:?}) is gone: {told}");
        }
        if !copies {
            let (was, now, then) = (contents(&was), contents(&now), contents(&then));
            let lost: Vec<_> = was.intersection(&now).filter(|text| !then.contains(**text)).collect();
            assert!(lost.is_empty(), "{lost:?} is gone: {told}");
        }
        if reverted.outcome.is_some() {
            bed.rewind(Goal::Undo).unwrap();
            assert_eq!(state(&bed), now, "{told}");
        }
    }
}

#[test]
fn what_was_there_before_a_step_is_there_when_it_is_taken_back() {
    for seed in 0..8 {
        shuffle(seed, true, true);
        shuffle(seed, seed % 2 == 0, false);
    }
}
