//! The log as a tree: who started whom, what became of the files, and where the snapshots lie.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::time::Duration;

use belay_session::event::{Action, At, Degraded, Denied, Ended, Event, Raw, What};
use belay_session::journal::{Command, Reader};
use belay_session::{Gap, Gaps, Home, RunRecord};

use super::deeds::Deeds;
use super::{Args, Scope, follow};
use crate::commands::runs;
use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::ui::escape::printable;
use crate::ui::{Out, quantity, style, width};

/// Files of a command that are shown unless all are wanted.
const FILES_MAX: usize = 5;
/// Commands in a row, alike and without consequences, that become one line.
const REPEATS_MIN: usize = 3;
/// Steps of indentation; a deeper tree is drawn no wider.
const DEPTH_MAX: usize = 12;
/// A snapshot that was begun no later than this after its command stands beneath it.
const LATE_MIN: Duration = Duration::from_millis(100);
/// Columns of the first line before its command.
const HEAD_COLUMNS: usize = 36;
/// Columns that a command's number and end may take.
const AROUND_COMMAND: usize = 24;
/// Columns that the snapshot of a turn takes before what was asked for.
const AROUND_TURN: usize = 48;

/// Prints the tree.
pub(super) fn print(
    context: &Context<'_>,
    home: &Home,
    run: &RunRecord,
    journal: &Reader,
    args: &Args,
    scope: &Scope,
) -> Result<()> {
    let at_start = run.protection.as_ref().filter(|_| !args.all).map(|protection| protection.degraded.as_slice());
    let prompts = home.prompts(&run.workspace)?;
    // What a watch or a conversation tells of are commands beside each other, and nothing that happened lies in one of them.
    let is_told = run.supervisor.is_none() && run.child.is_none();
    let about =
        About { at_start: at_start.unwrap_or_default(), has_root: run.child.is_some(), is_told, prompts: &prompts };
    let tree = Tree { is_live: run.is_live(), is_watch: run.is_watch(), ..Tree::read(journal, args, scope, about)? };
    let mut out = context.ui.paged();
    let (heading, dim) = (style::HEADING, style::DIM);
    let when = quantity::moment(run.created_at);
    let name = runs::name(run, width::rest(HEAD_COLUMNS));
    writeln!(out, "{heading}{}{heading:#}  {when}  {name}", run.id)?;
    tree.write(&mut out, args)?;
    let now = home.now().timestamp();
    // A conversation that hooks told of has no process of ours, and no end until its turn has one.
    let took = runs::duration(run, now).map_or_else(
        || "goes on".to_owned(),
        |took| format!("{} {}", if run.is_live() { "still runs, since" } else { "took" }, quantity::took(took)),
    );
    let commands = quantity::count(tree.commands.len() as u64, "command");
    writeln!(out, "{dim}{took}; {commands}{dim:#}")?;
    if scope.only.is_none() {
        let caution = style::CAUTION;
        for event in home.rewinds_after(run, &tree.rewound)? {
            let (note, at) = (follow::note(&event.what).unwrap_or_default(), quantity::moment(event.at.timestamp()));
            writeln!(out, "{caution}*{caution:#} {note}, after the run, {at}")?;
        }
    }
    if run.confinement.ephemeral && scope.only.is_none() {
        let paths = quantity::count(run.totals.paths.unwrap_or(0), "path");
        match run.is_live() || home.is_unreviewed(run) {
            true => {
                writeln!(out, "{dim}{paths} written apart from the workspace: `belay review --run {}`{dim:#}", run.id)?
            }
            false => {
                writeln!(out, "{dim}{paths} written apart from the workspace; nothing of it waits for a review{dim:#}")?
            }
        }
    }
    if tree.hidden(args) {
        writeln!(out, "{dim}what repeats and what is long was left out: `belay log {} --all`{dim:#}", run.id)?;
    }
    out.finish()
}

struct Tree {
    commands: BTreeMap<u64, Command>,
    /// What stands beneath each command, and under none what stands on its own.
    beneath: BTreeMap<Option<u64>, Vec<Item>>,
    deeds: BTreeMap<Option<u64>, Deeds>,
    /// What no call of a conversation is known to have done, by when it was noticed.
    unclaimed: BTreeMap<At, Deeds>,
    is_live: bool,
    /// Whether its commands are those of strangers, whose ends nobody sees.
    is_watch: bool,
    /// The safety snapshots of what was taken back while it was recorded.
    rewound: HashSet<String>,
}

/// What is known of a run before its record is read.
struct About<'a> {
    /// What was weaker from the start: `belay show` tells that.
    at_start: &'a [Degraded],
    /// Whether its first command started all others.
    has_root: bool,
    /// Whether it is a conversation that hooks told of.
    is_told: bool,
    /// What the user had asked for, by the snapshots before it.
    prompts: &'a HashMap<String, String>,
}

/// Something in the tree.
#[derive(Clone)]
struct Item {
    seq: u64,
    what: Shown,
}

#[derive(Clone)]
enum Shown {
    Command(u64),
    Note(String),
    /// A path that the jail refused.
    Refused(Denied),
    /// What changed in a conversation and no call is known to have done, by who it was and when it was noticed.
    Unclaimed(&'static str, At),
    /// So many commands that are alike, from this number to that.
    Repeats {
        first: u64,
        last: u64,
        count: usize,
    },
}

/// That a snapshot was taken later than its command ended.
struct Late {
    by: Duration,
    /// The last command that began in the meantime.
    after: Option<u64>,
}

/// The command that was refused something, and the path.
type Refusal = (Option<u64>, Option<Raw>);

impl Tree {
    fn read(journal: &Reader, args: &Args, scope: &Scope, about: About<'_>) -> Result<Tree> {
        let failed = belay_session::Error::from;
        let commands = journal.commands().map_err(failed)?;
        let commands: BTreeMap<u64, Command> = commands.into_iter().map(|one| (one.exec.command, one)).collect();
        let mut tree = Tree {
            commands,
            beneath: BTreeMap::new(),
            deeds: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
            is_live: false,
            is_watch: false,
            rewound: HashSet::new(),
        };
        tree.commands.retain(|number, _| scope.has(Some(*number)));
        for (number, command) in &tree.commands {
            let parent = command.exec.parent.filter(|parent| tree.commands.contains_key(parent));
            let item = Item { seq: command.seq, what: Shown::Command(*number) };
            tree.beneath.entry(parent).or_default().push(item);
        }
        tree.add_notes(journal, scope, &about)?;
        if !args.no_files {
            let became = past::became(tree.commands.values());
            let gaps = if about.is_told { Some(Gaps::read(journal)?) } else { None };
            let (deeds, unclaimed, beneath) = (&mut tree.deeds, &mut tree.unclaimed, &mut tree.beneath);
            let add = |change: belay_session::journal::Change| {
                let by = change.change.by.and_then(|by| by.command);
                if let (Some(gaps), None, true) = (&gaps, by, scope.has(None)) {
                    let whose = match change.change.action {
                        Action::Restored => "put back by belay:",
                        _ => whose(gaps.of(&change)),
                    };
                    if !unclaimed.contains_key(&change.at) {
                        let item = Item { seq: change.seq, what: Shown::Unclaimed(whose, change.at) };
                        beneath.entry(None).or_default().push(item);
                    }
                    return unclaimed.entry(change.at).or_default().add(&change.change, false);
                }
                if scope.has(by) {
                    let is_unsure = past::is_unsure(change.change.by, &became);
                    deeds.entry(by).or_default().add(&change.change, is_unsure);
                }
            };
            journal.each_change(add).map_err(failed)?;
            tree.beneath.values_mut().for_each(|items| items.sort_by_key(|item| item.seq));
        }
        Ok(tree)
    }

    /// A snapshot stands beneath the command that asked for it, all else beneath the first command if that is the run's.
    fn add_notes(&mut self, journal: &Reader, scope: &Scope, about: &About<'_>) -> Result<()> {
        let first = self.commands.keys().next().copied().filter(|_| scope.only.is_none() && about.has_root);
        let mut seq = 0;
        let mut refused: HashMap<Refusal, (Denied, Option<u64>, usize)> = HashMap::new();
        loop {
            let entries = super::next(journal, seq, false)?;
            let Some(last) = entries.last() else { break };
            seq = last.seq;
            for entry in &entries {
                if matches!(&entry.event.what, What::Degraded(one) if about.at_start.contains(one)) {
                    continue;
                }
                if let What::Rewound(told) = &entry.event.what {
                    self.rewound.insert(told.from.clone());
                }
                if let What::Denied(again) = &entry.event.what
                    && let Some((first, place, at)) = refused.get_mut(&(again.command, again.path.clone()))
                    && again.path.is_some()
                {
                    first.count += again.count;
                    let item = self.beneath.get_mut(place).and_then(|items| items.get_mut(*at));
                    item.expect("it was put there").what = Shown::Refused(first.clone());
                    continue;
                }
                let Some(mut note) = follow::note(&entry.event.what) else { continue };
                if let What::Snapshot(taken) = &entry.event.what
                    && let Some(prompt) = taken.snapshot.as_ref().and_then(|id| about.prompts.get(id))
                    && taken.kind == "turn"
                {
                    note.push_str(&format!(": {}", preview(prompt)));
                }
                let asked = match &entry.event.what {
                    What::Snapshot(taken) => taken.command,
                    What::Denied(denied) => denied.command,
                    What::Storm(storm) => storm.command,
                    _ => None,
                };
                let mut asked = asked.filter(|command| self.commands.contains_key(command));
                if let (Some(number), Some(late)) = (asked, self.lateness(asked, &entry.event)) {
                    let after = late.after.map(|other| format!(", after #{other}")).unwrap_or_default();
                    note.push_str(&format!(" (for #{number}, taken {} later{after})", quantity::took(late.by)));
                    // Where it was asked for it would promise a state that it does not hold.
                    asked = asked.filter(|_| scope.only.is_some());
                } else if self.is_early(asked, &entry.event) {
                    note.push_str(" (when it began)");
                }
                if asked.is_none() && scope.only.is_some() {
                    continue;
                }
                // Of what is written apart from it, the workspace is captured beside the command, as it was before.
                let is_first = matches!(&entry.event.what, What::Snapshot(taken) if taken.kind == "pre-run");
                let before = is_first || first.is_some_and(|first| entry.seq < self.commands[&first].seq);
                let over = matches!(entry.event.what, What::RunEnded(_) | What::Erased(_));
                let place = asked.or(first.filter(|_| !before && !over));
                let items = self.beneath.entry(place).or_default();
                if let What::Denied(denied) = &entry.event.what {
                    let key = (denied.command, denied.path.clone());
                    refused.insert(key, (denied.clone(), place, items.len()));
                }
                let what = match &entry.event.what {
                    What::Denied(denied) if denied.path.is_some() => Shown::Refused(denied.clone()),
                    _ => Shown::Note(note),
                };
                items.push(Item { seq: if is_first { 0 } else { entry.seq }, what });
            }
        }
        self.beneath.values_mut().for_each(|items| items.sort_by_key(|item| item.seq));
        Ok(())
    }

    /// How long after its command's end a snapshot was begun, if others had time to change something.
    fn lateness(&self, command: Option<u64>, event: &Event) -> Option<Late> {
        let What::Snapshot(taken) = &event.what else { return None };
        let command = self.commands.get(&command?)?;
        let ended = command.at.unix_nanos() + i128::from(command.duration_ns?);
        let begun = event.at.unix_nanos() - i128::from(taken.took_us) * 1000;
        let by = Duration::from_nanos(u64::try_from(begun - ended).ok()?);
        let came_between = |other: &&Command| (ended..begun).contains(&other.at.unix_nanos());
        let between = self.commands.values().filter(came_between).max_by_key(|other| other.at.unix_nanos());
        let after = between.map(|other| other.exec.command);
        (by > LATE_MIN || after.is_some()).then_some(Late { by, after })
    }

    /// Whether a snapshot was there before its command ended: it holds what the command may have destroyed.
    fn is_early(&self, command: Option<u64>, event: &Event) -> bool {
        let command = command.and_then(|number| self.commands.get(&number));
        let Some((command, What::Snapshot(_))) = command.map(|command| (command, &event.what)) else { return false };
        let ended = command.duration_ns.map(|took| command.at.unix_nanos() + i128::from(took));
        ended.is_none_or(|ended| event.at.unix_nanos() < ended)
    }

    /// A tree can be as deep as there are commands, so it is walked with a stack of its own.
    fn write(&self, out: &mut Out, args: &Args) -> Result<()> {
        let mut stack: Vec<(usize, Item)> = self.items(None, args).into_iter().rev().map(|item| (0, item)).collect();
        while let Some((depth, item)) = stack.pop() {
            let indent = "  ".repeat(depth.min(DEPTH_MAX));
            match &item.what {
                Shown::Note(note) => {
                    let style = style::CAUTION;
                    writeln!(out, "{indent}{style}*{style:#} {note}")?;
                }
                Shown::Refused(denied) => {
                    let style = style::CAUTION;
                    writeln!(out, "{indent}{style}*{style:#} {}", past::denied(denied))?;
                }
                Shown::Unclaimed(whose, at) => {
                    let (style, deeds) = (style::CAUTION, self.unclaimed.get(at));
                    writeln!(out, "{indent}{style}*{style:#} {whose}")?;
                    write_deeds(out, &indent, deeds, args)?;
                }
                Shown::Repeats { first, last, count } => self.write_repeats(out, &indent, (*first, *last, *count))?,
                Shown::Command(number) => {
                    self.write_command(out, &indent, *number)?;
                    self.write_files(out, &indent, Some(*number), args)?;
                    let beneath = self.items(Some(*number), args);
                    stack.extend(beneath.into_iter().rev().map(|item| (depth + 1, item)));
                }
            }
        }
        if self.deeds.get(&None).is_some_and(|deeds| deeds.count() > 0) {
            let whose = if self.is_watch {
                "by programs that nobody can name:"
            } else {
                "by nobody in the run, or nobody can tell:"
            };
            writeln!(out, "{whose}")?;
            self.write_files(out, "", None, args)?;
        }
        Ok(())
    }

    /// What stands beneath a command, with repetitions taken together unless all is wanted.
    fn items(&self, parent: Option<u64>, args: &Args) -> Vec<Item> {
        let Some(items) = self.beneath.get(&parent) else { return Vec::new() };
        if args.all {
            return items.clone();
        }
        let items = with_refusals_together(items);
        let alike = |a: &Item, b: &Item| self.plain_name(a).is_some_and(|name| self.plain_name(b) == Some(name));
        let runs = items.chunk_by(alike);
        runs.flat_map(|chunk| match (&chunk[0].what, &chunk[chunk.len() - 1].what) {
            (Shown::Command(first), Shown::Command(last)) if chunk.len() >= REPEATS_MIN => {
                let what = Shown::Repeats { first: *first, last: *last, count: chunk.len() };
                vec![Item { seq: chunk[0].seq, what }]
            }
            _ => chunk.to_vec(),
        })
        .collect()
    }

    /// The program of a command that went well, changed nothing and started nothing.
    fn plain_name(&self, item: &Item) -> Option<&[u8]> {
        let Shown::Command(number) = item.what else { return None };
        let command = self.commands.get(&number)?;
        let quiet = self.deeds.get(&Some(number)).is_none_or(|deeds| deeds.count() == 0)
            && !self.beneath.contains_key(&Some(number))
            && command.ended == Some(Ended::Code(0));
        let name = command.exec.argv.first().unwrap_or(&command.exec.exe).bytes();
        quiet.then_some(name)
    }

    fn write_repeats(&self, out: &mut Out, indent: &str, (first, last, count): (u64, u64, usize)) -> Result<()> {
        let (id, dim) = (style::ID, style::DIM);
        let argv = self.commands.get(&first).map(|command| command.exec.argv.as_slice()).unwrap_or_default();
        let line = past::command_line(argv, width::rest(indent.len() + AROUND_COMMAND) / 2);
        writeln!(out, "{indent}{id}#{first}–#{last}{id:#} {line} {dim}and {} alike{dim:#}", count - 1)?;
        Ok(())
    }

    fn write_command(&self, out: &mut Out, indent: &str, number: u64) -> Result<()> {
        let Some(command) = self.commands.get(&number) else { return Ok(()) };
        let (id, dim) = (style::ID, style::DIM);
        let line = past::command_line(&command.exec.argv, width::rest(indent.len() + AROUND_COMMAND));
        write!(out, "{indent}{id}#{number}{id:#} {line}  ")?;
        match command.ended {
            None if self.is_watch => {}
            None if self.is_live => write!(out, "{dim}still runs{dim:#}")?,
            None => write!(out, "{dim}(end not seen){dim:#}")?,
            Some(Ended::Code(0)) => {}
            Some(Ended::Replaced(next)) => write!(out, "{dim}became #{next}{dim:#} ")?,
            ended => {
                let (bad, word) = (style::BAD, if matches!(ended, Some(Ended::Code(_))) { "exit " } else { "" });
                write!(out, "{bad}{word}{}{bad:#} ", past::end(ended))?;
            }
        }
        let took = command.duration_ns.map(|nanos| quantity::took(Duration::from_nanos(nanos)));
        writeln!(out, "{dim}{}{dim:#}", took.unwrap_or_default())?;
        Ok(())
    }

    fn write_files(&self, out: &mut Out, indent: &str, command: Option<u64>, args: &Args) -> Result<()> {
        write_deeds(out, indent, self.deeds.get(&command), args)
    }

    /// Whether something was left out.
    fn hidden(&self, args: &Args) -> bool {
        let many = |deeds: &Deeds| deeds.count() > FILES_MAX;
        let repeats = |parent: &Option<u64>| {
            self.items(*parent, args).iter().any(|item| matches!(item.what, Shown::Repeats { .. }))
        };
        let mut deeds = self.deeds.values().chain(self.unclaimed.values());
        let files = !args.files && !args.no_files && deeds.any(many);
        let refusals = || self.beneath.values().any(|items| with_refusals_together(items).len() < items.len());
        !args.all && (files || self.beneath.keys().any(repeats) || refusals())
    }
}

/// Who it was that no call of a conversation is known for.
fn whose(gap: Gap) -> &'static str {
    match gap {
        Gap::OutsideTurn => "changed outside of a turn; by whom is not known:",
        Gap::BetweenCalls => "changed between the agent's calls; by whom is not known:",
        Gap::DuringCalls => "changed while calls were under way; by which of them, or whom else, is not known:",
    }
}

/// The beginning of what the user had asked for.
fn preview(prompt: &str) -> String {
    let text = printable(prompt.as_bytes());
    let max = width::rest(AROUND_TURN);
    match text.chars().count() > max {
        true => format!("{}…", text.chars().take(max).collect::<String>()),
        false => text,
    }
}

/// The paths, the first of them unless all are wanted.
fn write_deeds(out: &mut Out, indent: &str, deeds: Option<&Deeds>, args: &Args) -> Result<()> {
    let Some(deeds) = deeds else { return Ok(()) };
    let max = if args.files || args.all { usize::MAX } else { FILES_MAX };
    for (letter, name) in deeds.lines().take(max) {
        let style = match letter {
            'A' | 'B' => style::GOOD,
            'D' => style::BAD,
            _ => style::CAUTION,
        };
        writeln!(out, "{indent}    {style}{letter}{style:#} {name}")?;
    }
    let more = deeds.count().saturating_sub(max);
    if more > 0 {
        let dim = style::DIM;
        writeln!(out, "{indent}    {dim}and {}{dim:#}", quantity::more(more as u64, "path"))?;
    }
    Ok(())
}

/// The items, where what one command was refused in a directory for one reason is one of them, in the place of the
/// first; of many directories all of it is.
fn with_refusals_together(items: &[Item]) -> Vec<Item> {
    let why = |one: &Denied| (one.command, one.errno, one.wanted, one.closed.clone());
    let mut places: HashMap<_, BTreeSet<Vec<u8>>> = HashMap::new();
    let refused = |item: &Item| match &item.what {
        Shown::Refused(denied) => Some(denied.clone()),
        _ => None,
    };
    for denied in items.iter().filter_map(refused) {
        places.entry(why(&denied)).or_default().insert(directory(&denied).to_vec());
    }
    let key = |one: &Denied| {
        let is_one_place = places.get(&why(one)).is_some_and(|places| places.len() <= REPEATS_MIN);
        (why(one), is_one_place.then(|| directory(one).to_vec()))
    };
    let mut alike: HashMap<_, Vec<Denied>> = HashMap::new();
    for denied in items.iter().filter_map(refused) {
        alike.entry(key(&denied)).or_default().push(denied);
    }
    let mut told = Vec::with_capacity(items.len());
    for item in items {
        let all = match &item.what {
            Shown::Refused(denied) => alike.get_mut(&key(denied)),
            _ => None,
        };
        let what = match all {
            Some(all) if all.len() >= REPEATS_MIN => Shown::Note(past::denied_together(&std::mem::take(all))),
            // It was told with the first of them.
            Some(all) if all.is_empty() => continue,
            _ => item.what.clone(),
        };
        told.push(Item { seq: item.seq, what });
    }
    told
}

fn directory(denied: &Denied) -> &[u8] {
    let path = denied.path.as_ref().map(Raw::bytes).unwrap_or_default();
    path.iter().rposition(|byte| *byte == b'/').map_or(&path[..0], |at| &path[..at])
}
