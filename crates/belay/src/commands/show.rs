//! `belay show`: one run on one screen.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::event::{Degraded, Denied, Ended, Lost, What};
use belay_session::journal::{Command, Reader, Snapshot};
use belay_session::{Home, Proposal, RunRecord, RunState, proposals};
use serde_json::json;

use crate::commands::runs;
use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::summary;
use crate::ui::escape::printable;
use crate::ui::table::{Cell, Table};
use crate::ui::{Out, quantity, style, width};
use crate::view;

/// Commands and snapshots that are shown.
const ROWS_MAX: usize = 10;
/// Columns before a command.
const BEFORE_COMMAND: usize = 20;

/// Show one run: what protected it, what it changed, its snapshots, and how to take it back
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run; the latest in this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        self.run.is_none()
    }
}

const EXAMPLES: &str = "\
Examples:
  belay show
  belay show @-2
  belay show run_k8m2p1x0 --json";

/// What is shown of a run.
struct Sight {
    commands: Vec<Command>,
    /// Different paths that changed.
    paths: u64,
    /// The same by command; those of nobody in the run under none.
    changes: BTreeMap<Option<u64>, u64>,
    snapshots: Vec<Snapshot>,
    lost: Vec<Lost>,
    degraded: Vec<Degraded>,
    denied: Vec<Denied>,
}

impl Sight {
    fn of(journal: &Reader) -> belay_session::journal::Result<Sight> {
        let (mut lost, mut degraded, mut denied, mut seq) = (Vec::new(), Vec::new(), Vec::new(), 0);
        loop {
            let entries = journal.events_but_files(seq, 4096)?;
            let Some(last) = entries.last() else { break };
            seq = last.seq;
            for entry in entries {
                match entry.event.what {
                    What::Lost(one) => lost.push(one),
                    What::Degraded(one) => degraded.push(one),
                    What::Denied(one) => denied.push(one),
                    _ => {}
                }
            }
        }
        let (commands, (paths, changes)) = (journal.commands()?, journal.path_counts()?);
        Ok(Sight { commands, paths, changes, snapshots: journal.snapshots()?, lost, degraded, denied })
    }

    /// What was refused of paths, and what would have allowed it.
    fn proposals(&self, context: &Context<'_>, run: &RunRecord) -> Vec<Proposal> {
        let home = context.environment.user_home.clone().unwrap_or_else(|| "/".into());
        let root = PathBuf::from(OsStr::from_bytes(run.root.bytes()));
        let well: HashSet<u64> = self
            .commands
            .iter()
            .filter(|command| command.ended == Some(Ended::Code(0)))
            .map(|command| command.exec.command)
            .collect();
        proposals(&self.denied, &|command| !well.contains(&command), &home, &root)
    }

    /// The commands that changed most, with how much.
    fn doers(&self) -> Vec<(Option<&Command>, u64)> {
        let known: BTreeMap<u64, &Command> =
            self.commands.iter().map(|command| (command.exec.command, command)).collect();
        let find = |number: u64| known.get(&number).copied();
        let mut doers: Vec<_> = self.changes.iter().map(|(number, count)| (number.and_then(find), *count)).collect();
        doers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        doers
    }

    fn failed(&self) -> u64 {
        let failed = |command: &&Command| matches!(command.ended, Some(Ended::Code(1..) | Ended::Signal(_)));
        self.commands.iter().filter(failed).count() as u64
    }
}

/// Shows the run.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let is_number = |name: &str| name.parse::<u64>().is_ok();
    let run = past::find(context, &home, args.run.as_deref()).map_err(|failure| match args.run.as_deref() {
        Some(name) if is_number(name) => failure.hint(format!("of a command: `belay log --command {name}`")),
        _ => failure,
    })?;
    let journal = home.journal(&run)?;
    let mut sight = Sight::of(&journal).map_err(belay_session::Error::from)?;
    if run.confinement.ephemeral {
        // What is kept apart is in its layer, and no event tells of it.
        sight.paths = run.totals.paths.unwrap_or(sight.paths);
    }
    if context.ui.json {
        context.ui.print_json(&to_json(&home, &run, &sight, &sight.proposals(context, &run)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    head(&mut out, &home, &run, &sight)?;
    if let Some(discarded) = &run.discarded {
        writeln!(out, "\n{}", summary::gone(context, discarded))?;
    }
    doers(&mut out, &sight)?;
    snapshots(&mut out, &sight)?;
    denied(&mut out, &sight.proposals(context, &run), &sight)?;
    found(&mut out, &run)?;
    hints(&mut out, &run, &sight)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether an agent's hooks told of it, and no process of belay's went with it.
fn is_conversation(run: &RunRecord) -> bool {
    run.supervisor.is_none() && matches!(run.state, RunState::Ended)
}

fn head(out: &mut Out, home: &Home, run: &RunRecord, sight: &Sight) -> Result<()> {
    let (id, caution) = (style::ID, style::CAUTION);
    let now = home.now().timestamp();
    writeln!(out, "run          {id}{}{id:#}", run.id)?;
    writeln!(out, "command      {}", runs::name(run, width::rest(BEFORE_COMMAND)))?;
    writeln!(out, "workspace    {}", view::relative(run.root.bytes()))?;
    writeln!(out, "began        {} ({})", quantity::moment(run.created_at), quantity::age(run.created_at, now))?;
    let took = runs::duration(run, now).map(|took| format!(" after {}", quantity::took(took))).unwrap_or_default();
    let because = run.because.as_ref().map(|why| format!(" ({})", printable(why.as_bytes()))).unwrap_or_default();
    let end = match run.ended {
        _ if run.is_live() => format!("still runs{took}"),
        Some(Ended::Code(code)) => format!("exit code {code}{took}{because}"),
        // An agent's conversation has no end of its own: another prompt may come at any time.
        None if is_conversation(run) && run.ended_at.is_some() => format!("its last turn{took}{because}"),
        None if is_conversation(run) => format!("not yet, a turn goes on{because}"),
        other => format!("{}{took}{because}", if other.is_some() { past::end(other) } else { "not seen".to_owned() }),
    };
    writeln!(out, "ended        {end}")?;
    if let Some(protection) = &run.protection {
        writeln!(out, "protection   {}", summary::in_force(run, protection))?;
        for one in weaker(&protection.degraded, &sight.degraded) {
            let why = printable(one.why.as_bytes());
            writeln!(out, "             {caution}weaker:{caution:#} {}: {why}", printable(one.layer.as_bytes()))?;
        }
    }
    for one in &sight.lost {
        let how_many = one.count.map_or_else(|| "some".to_owned(), quantity::grouped);
        let source = printable(one.source.as_bytes());
        writeln!(out, "             {caution}lost:{caution:#} {how_many} {source} events")?;
    }
    writeln!(out, "commands     {} ({} failed)", quantity::grouped(sight.commands.len() as u64), sight.failed())?;
    writeln!(out, "changes      {}", quantity::count(sight.paths, "path"))?;
    Ok(())
}

/// What was weaker from the beginning and what became so, each once.
fn weaker<'a>(first: &'a [Degraded], later: &'a [Degraded]) -> Vec<&'a Degraded> {
    let mut all: Vec<&Degraded> = Vec::new();
    for one in first.iter().chain(later) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn doers(out: &mut Out, sight: &Sight) -> Result<()> {
    let doers = sight.doers();
    if doers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["PATHS", "COMMAND", ""]);
    for (command, count) in doers.iter().take(ROWS_MAX) {
        let (number, line) = match command {
            Some(command) => (
                format!("#{}", command.exec.command),
                past::command_line(&command.exec.argv, width::rest(BEFORE_COMMAND)),
            ),
            None => (String::new(), "nobody in the run, or nobody can tell".to_owned()),
        };
        table.row(vec![quantity::grouped(*count).into(), Cell::new(number, style::ID), line.into()]);
    }
    writeln!(out)?;
    table.write(out)?;
    more(out, doers.len(), "command")
}

fn snapshots(out: &mut Out, sight: &Sight) -> Result<()> {
    if sight.snapshots.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["SNAPSHOT", "TYPE", "TAKEN", "EVENTS", "FOR"]);
    let hidden = sight.snapshots.len().saturating_sub(ROWS_MAX);
    // The first is the way back, so it stays when others are left out.
    let shown = sight.snapshots.iter().take(1).chain(sight.snapshots.iter().skip(1).skip(hidden));
    for one in shown {
        let asked = one.taken.command.map(|command| format!("#{command}")).unwrap_or_default();
        table.row(vec![
            Cell::new(printable(one.taken.snapshot.as_deref().unwrap_or_default().as_bytes()), style::ID),
            format!("{}{}", printable(one.taken.kind.as_bytes()), if one.taken.gaps > 0 { "*" } else { "" }).into(),
            quantity::moment(one.at.timestamp()).into(),
            quantity::grouped(one.stop.saturating_sub(one.start).cast_unsigned()).into(),
            asked.into(),
        ]);
    }
    writeln!(out)?;
    table.write(out)?;
    if sight.snapshots.iter().any(|one| one.taken.gaps > 0) {
        writeln!(out, "* lacks something that could not be captured; `belay ls ID` names it")?;
    }
    more(out, sight.snapshots.len(), "snapshot")
}

/// What the jail refused.
fn denied(out: &mut Out, all: &[Proposal], sight: &Sight) -> Result<()> {
    let calls: BTreeSet<&str> =
        sight.denied.iter().filter(|one| one.path.is_none()).map(|one| one.call.as_str()).collect();
    if all.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let heading = style::HEADING;
    writeln!(out, "\n{heading}REFUSED{heading:#}")?;
    for one in all {
        let (what, rule) = past::proposal(one);
        writeln!(out, "{what}{}; {rule}", past::asker(one, 0))?;
    }
    if !calls.is_empty() {
        let calls: Vec<String> = calls.into_iter().map(|call| printable(call.as_bytes())).collect();
        writeln!(out, "system calls: {}", calls.join(", "))?;
    }
    Ok(())
}

/// The snapshot that was taken when the run was found without its controller; no record of the run names it.
fn found(out: &mut Out, run: &RunRecord) -> Result<()> {
    if let (RunState::Lost, Some(snapshot)) = (run.state, &run.final_snapshot) {
        writeln!(out, "\nWhen it was found, everything was captured as {snapshot}.")?;
    }
    Ok(())
}

fn more(out: &mut Out, all: usize, noun: &str) -> Result<()> {
    let dim = style::DIM;
    let more = all.saturating_sub(ROWS_MAX) as u64;
    if more > 0 {
        writeln!(out, "{dim}and {}{dim:#}", quantity::more(more, noun))?;
    }
    Ok(())
}

fn hints(out: &mut Out, run: &RunRecord, sight: &Sight) -> Result<()> {
    let dim = style::DIM;
    writeln!(out)?;
    if let Some(snapshot) = &run.pre_run {
        let lacks = sight.snapshots.first().is_some_and(|one| one.taken.gaps > 0);
        let all = if lacks { "take back what it has:" } else { "take all of it back:  " };
        writeln!(out, "{dim}{all} belay rollback {snapshot}{dim:#}")?;
    }
    if sight.doers().iter().any(|(command, _)| command.is_some()) {
        writeln!(out, "{dim}take back one command: belay undo --command N --run {}{dim:#}", run.id)?;
    }
    writeln!(out, "{dim}everything it did:     belay log {}{dim:#}", run.id)?;
    Ok(())
}

fn to_json(home: &Home, run: &RunRecord, sight: &Sight, proposals: &[Proposal]) -> serde_json::Value {
    let by_command = sight.doers().into_iter().map(|(command, changes)| {
        let exec = command.map(|command| &command.exec);
        json!({ "command": exec.map(|exec| exec.command), "argv": exec.map(|exec| &exec.argv), "changes": changes })
    });
    let snapshots = sight.snapshots.iter().map(|one| {
        json!({ "at": one.at, "taken": one.taken,
        "start_fs_event_id": one.start, "stop_fs_event_id": one.stop })
    });
    json!({ "run": runs::to_json(home, run), "commands": sight.commands.len(), "failed": sight.failed(),
        "changes": sight.paths, "by_command": by_command.collect::<Vec<_>>(),
        "snapshots": snapshots.collect::<Vec<_>>(), "lost": sight.lost, "degraded": sight.degraded,
        "denied": proposals.iter().map(summary::proposal_json).collect::<Vec<_>>() })
}
