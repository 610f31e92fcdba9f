//! One property of one tool: made, captured, wrecked, brought back, and looked at.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::compare::{Ignore, diff_worlds};
use crate::property::{Judge, Property, properties};
use crate::stage::{MadeAs, Stage};
use crate::tool::{Ground, Tool};
use crate::walk::{World, walk};

/// What became of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is as it was.
    Kept,
    /// Something is not; each line says what.
    Lost(Vec<String>),
    /// It cannot be tried here, and why.
    NotTried(String),
}

/// What was found out about a property.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The property.
    pub property: &'static Property,
    /// What became of it.
    pub outcome: Outcome,
}

/// How tools are tried.
#[derive(Clone, Copy, Debug)]
pub struct Trials<'a> {
    /// An empty directory, in which alone things are written.
    pub place: &'a Path,
    /// What each workspace is.
    pub made_as: &'a MadeAs,
    /// How long each command of a tool may take.
    pub limit: Duration,
    /// How many properties are tried at a time.
    pub threads: usize,
    /// Set when whoever waits does so no more.
    pub stop: &'a AtomicBool,
}

/// The file that every wreck changes as well: a tool that brings nothing back has kept nothing.
const ANCHOR: &str = "anchor.txt";
const ANCHORED: &[u8] = b"as it was\n";

/// Looks at the workspace at the moments of a trial.
pub(crate) struct Looks<'a> {
    pub(crate) stage: &'a Stage,
    /// Before the tool was called.
    pub(crate) before: World,
    /// After it captured.
    pub(crate) captured: World,
    /// After the wreck.
    pub(crate) wrecked: World,
    /// After it brought everything back.
    pub(crate) after: World,
    /// After it did so once more.
    pub(crate) again: Option<World>,
}

/// Tries these properties, several at a time, and tells each verdict as it comes; returned in the order of the properties.
pub fn try_all(
    tool: &Tool,
    properties: &[&'static Property],
    trials: Trials<'_>,
    tell: &mut dyn FnMut(&Verdict),
) -> io::Result<Vec<Verdict>> {
    let next = AtomicUsize::new(0);
    let (send, heard) = channel();
    let mut verdicts: Vec<Option<Verdict>> = vec![None; properties.len()];
    std::thread::scope(|scope| {
        for _ in 0..trials.threads.max(1) {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                while let Some((at, property)) = take(next, properties) {
                    if send.send((at, try_one(tool, property, trials))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for (at, outcome) in heard {
            let verdict = Verdict { property: properties[at], outcome: outcome? };
            tell(&verdict);
            verdicts[at] = Some(verdict);
        }
        Ok(verdicts.into_iter().flatten().collect())
    })
}

fn take(next: &AtomicUsize, properties: &[&'static Property]) -> Option<(usize, &'static Property)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    properties.get(at).map(|property| (at, *property))
}

/// Tries one property.
pub fn try_one(tool: &Tool, property: &'static Property, trials: Trials<'_>) -> io::Result<Outcome> {
    let number = properties().take_while(|one| !std::ptr::eq(*one, property)).count();
    let stage = Stage::new(trials.place, &format!("p{number}"), trials.made_as)?;
    stage.file(ANCHOR, ANCHORED)?;
    if let Some(why) = (property.make)(&stage)? {
        return Ok(Outcome::NotTried(why.to_owned()));
    }
    let ground = Ground {
        base: &stage.base,
        workspace: &stage.workspace,
        store: &stage.store,
        limit: trials.limit,
        stop: trials.stop,
    };
    let (before, outside) = (walk(&stage.workspace)?, walk(&stage.outside)?);
    let mut faults = Vec::new();
    let mut call = |what: &str, call| -> io::Result<()> {
        let fault = ground.call(tool, call)?;
        faults.extend(fault.map(|fault| format!("the {what}: {fault}")));
        Ok(())
    };
    call("snapshot", &tool.snapshot)?;
    let captured = walk(&stage.workspace)?;
    (property.wreck)(&stage)?;
    stage.file(ANCHOR, "wrecked\n")?;
    let wrecked = walk(&stage.workspace)?;
    call("restore", &tool.restore)?;
    // A tool may have replaced the workspace by something that cannot even be looked at.
    let after = match walk(&stage.workspace) {
        Ok(after) => after,
        Err(error) => return Ok(Outcome::Lost(vec![error.to_string()])),
    };
    let again = match property.judge {
        Judge::Again => {
            call("second restore", &tool.restore)?;
            Some(walk(&stage.workspace)?)
        }
        _ => None,
    };
    let looks = Looks { stage: &stage, before, captured, wrecked, after, again };
    let mut lost = looks.differences(property);
    let moved = diff_worlds(&outside, &walk(&stage.outside)?, Ignore { top: true, ..Ignore::BUT_CONTENT });
    lost.extend(moved.into_iter().map(|line| format!("outside of the workspace: {line}")));
    Ok(match lost.is_empty() {
        true => Outcome::Kept,
        // Why comes first.
        false => Outcome::Lost(faults.into_iter().chain(lost).collect()),
    })
}

impl Looks<'_> {
    fn differences(&self, property: &Property) -> Vec<String> {
        let mut lost = match &property.judge {
            Judge::Same(ignore) => diff_worlds(&self.before, &self.after, *ignore),
            Judge::Beside(ignore) => diff_worlds(&beside(&self.before), &beside(&self.after), *ignore),
            Judge::Again => {
                let again = self.again.as_ref().unwrap_or(&self.after);
                diff_worlds(&beside(&self.after), &beside(again), Ignore::NOTHING)
            }
            Judge::Own(judge) => judge(self),
        };
        if self.after.get(ANCHOR.as_bytes()).is_none_or(|seen| seen.head != ANCHORED) {
            lost.push("nothing was brought back".to_owned());
        }
        lost
    }
}

/// The world without the repository at its top, and without the anchor.
pub(crate) fn beside(world: &World) -> World {
    let is_aside = |path: &[u8]| path == ANCHOR.as_bytes() || path == b".git" || path.starts_with(b".git/");
    world.iter().filter(|(path, _)| !is_aside(path)).map(|(path, seen)| (path.clone(), seen.clone())).collect()
}
