//! What the records of a workspace's runs tell about who touched which path, and when.

use std::collections::{HashMap, HashSet};

use belay_event::{Action, At, Raw};
use belay_journal::{Change, Reader};

use crate::agent::{Gap, Gaps};
use crate::error::Result;
use crate::record::{Kind, Snapshot};
use crate::run::RunRecord;
use crate::workspace::Workspace;

/// A change of a path, as a run's record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// When.
    pub at: At,
    /// What was done.
    pub action: Action,
    /// The run whose record tells.
    pub run: String,
    /// Its command; none if it was somebody outside the run, or if nobody can tell who it was.
    pub command: Option<u64>,
    /// Whether it is known to have been somebody outside the run.
    pub outside: bool,
    /// When it was in a conversation that hooks told of, if none of its calls is known to have done it.
    pub gap: Option<Gap>,
    /// The command line; empty without a command.
    pub argv: Vec<Raw>,
    /// What the user had asked for, if that is known.
    pub prompt: Option<String>,
}

/// A stretch of time; no end means that it is open there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) after: Option<At>,
    pub(crate) until: Option<At>,
}

impl Span {
    pub(crate) fn has(&self, at: At) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }

    fn meets(&self, run: &RunRecord) -> bool {
        let ends_before = run.ended_at.zip(self.after).is_some_and(|(end, after)| At::from(end) <= after);
        let begins_after = self.until.is_some_and(|until| At::from(run.created_at) > until);
        !ends_before && !begins_after
    }
}

impl Workspace<'_> {
    /// The runs of this workspace that went on in that time, oldest first.
    pub(crate) fn runs_in(&self, span: Span) -> Result<Vec<RunRecord>> {
        let mut runs = self.home.runs()?;
        runs.retain(|run| run.workspace == self.id && span.meets(run));
        Ok(runs)
    }

    /// The runs that went on in that time and whose records cannot be read.
    pub(crate) fn unread_in(&self, span: Span) -> Result<Vec<String>> {
        let is_unread =
            |run: &RunRecord| run.started_at.is_some() && Reader::open(&self.home.run_dir(&run.id)).is_err();
        Ok(self.runs_in(span)?.into_iter().filter(is_unread).map(|run| run.id).collect())
    }

    /// Who touched the path in that time, oldest first.
    pub(crate) fn touches_of(&self, path: &[u8], span: Span) -> Result<Vec<Touch>> {
        let mut touches = self.touches(span, &|reader| reader.changes_of(path))?;
        touches.retain(|(touched, _)| touched.iter().any(|one| one == path));
        Ok(touches.into_iter().map(|(_, touch)| touch).collect())
    }

    /// Who touched each path in that time, oldest first.
    pub(crate) fn all_touches(&self, span: Span) -> Result<HashMap<Vec<u8>, Vec<Touch>>> {
        let mut by_path: HashMap<Vec<u8>, Vec<Touch>> = HashMap::new();
        for (paths, touch) in self.touches(span, &Reader::changes)? {
            paths.into_iter().for_each(|path| by_path.entry(path).or_default().push(touch.clone()));
        }
        Ok(by_path)
    }

    fn touches(&self, span: Span, read: &dyn Fn(&Reader) -> belay_journal::Result<Vec<Change>>) -> Result<Vec<Told>> {
        let mut told = Vec::new();
        for run in self.runs_in(span)? {
            // A run without a record, or with one that cannot be read, has nothing to tell; [`Workspace::unread_in`] names it.
            let Ok(reader) = Reader::open(&self.home.run_dir(&run.id)) else { continue };
            let changes = read(&reader)?;
            let changes: Vec<Change> = changes.into_iter().filter(|change| span.has(change.at)).collect();
            let wanted: HashSet<u64> = changes.iter().filter_map(|change| change.change.by?.command).collect();
            let argv = if wanted.is_empty() { HashMap::new() } else { argv_of(&reader, &wanted)? };
            let turns = self.turns_of(&run.id)?;
            let is_unclaimed = |change: &Change| change.change.by.is_none() && change.change.action != Action::Restored;
            let gaps = match run.supervisor.is_none() && changes.iter().any(is_unclaimed) {
                true => Some(Gaps::read(&reader)?),
                false => None,
            };
            told.extend(changes.into_iter().map(|change| {
                let gap = gaps.as_ref().filter(|_| is_unclaimed(&change)).map(|gaps| gaps.of(&change));
                let (paths, touch) = touch(&run.id, change.clone(), &argv, &turns);
                let outside = touch.outside || gap.is_some_and(|gap| gap != Gap::DuringCalls);
                (pid_of(&change), (paths, Touch { gap, outside, ..touch }))
            }));
        }
        let mut touches = without_strangers(told);
        touches.sort_by_key(|(_, touch)| touch.at);
        Ok(touches)
    }

    /// The snapshots before the turns of a run, oldest first.
    fn turns_of(&self, run: &str) -> Result<Vec<Snapshot>> {
        let timeline = self.timeline()?;
        let of_run = |snapshot: &&Snapshot| snapshot.kind == Kind::Turn && snapshot.cause.run.as_deref() == Some(run);
        Ok(timeline.snapshots().iter().filter(of_run).cloned().collect())
    }
}

/// The paths of a change, and the change.
type Told = (Vec<Vec<u8>>, Touch);

fn pid_of(change: &Change) -> Option<u32> {
    change.change.by.and_then(|by| by.pid)
}

/// Leaves out whom one run takes for a stranger and another knows as its own command.
fn without_strangers(told: Vec<(Option<u32>, Told)>) -> Vec<Told> {
    let mut own: HashMap<(u32, Vec<Vec<u8>>), String> = HashMap::new();
    for (pid, (paths, touch)) in told.iter().filter(|(_, (_, touch))| touch.command.is_some()) {
        if let Some(pid) = pid {
            own.insert((*pid, paths.clone()), touch.run.clone());
        }
    }
    let is_known = |pid: &Option<u32>, paths: &[Vec<u8>], touch: &Touch| {
        let owner = pid.and_then(|pid| own.get(&(pid, paths.to_vec())));
        touch.outside && owner.is_some_and(|run| *run != touch.run)
    };
    let kept = told.into_iter().filter(|(pid, (paths, touch))| !is_known(pid, paths, touch));
    kept.map(|(_, told)| told).collect()
}

/// Each command once, where it touched last.
pub(crate) fn once(mut touches: Vec<Touch>) -> Vec<Touch> {
    let mut seen = HashSet::new();
    touches.reverse();
    touches.retain(|touch| seen.insert((touch.run.clone(), touch.command, touch.outside)));
    touches.reverse();
    touches
}

fn argv_of(reader: &Reader, wanted: &HashSet<u64>) -> Result<HashMap<u64, Vec<Raw>>> {
    let commands = reader.commands()?.into_iter().filter(|command| wanted.contains(&command.exec.command));
    Ok(commands.map(|command| (command.exec.command, command.exec.argv)).collect())
}

fn touch(run: &str, change: Change, argv: &HashMap<u64, Vec<Raw>>, turns: &[Snapshot]) -> Told {
    let by = change.change.by;
    let command = by.and_then(|by| by.command);
    let turn = turns.iter().rev().find(|turn| At::from(turn.created_at) <= change.at);
    let touch = Touch {
        at: change.at,
        action: change.change.action,
        run: run.to_owned(),
        command,
        outside: by.is_some_and(|by| by.command.is_none() && by.pid.is_some()),
        gap: None,
        argv: command.and_then(|command| argv.get(&command)).cloned().unwrap_or_default(),
        prompt: turn.and_then(|turn| turn.cause.trigger.clone()).filter(|_| command.is_some()),
    };
    let paths = [Some(change.change.path), change.change.to].into_iter().flatten().map(Raw::into_bytes);
    (paths.collect(), touch)
}
