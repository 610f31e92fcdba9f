//! The rows that capture: first snapshot, nothing changed, ten files changed.

use super::{Bench, Kind, Row};
use crate::census;
use crate::error::Result;
use crate::floors::Floor;
use crate::measure;
use crate::tools::{self, Locks, Tool};

/// First snapshot into an empty store, warm cache.
pub(super) fn first(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::First);
    for round in bench.rounds() {
        for at in 0..bench.lanes.len() {
            if !bench.is_due(bench.lanes[at].tool, round) {
                continue;
            }
            bench.lanes[at].reset()?;
            census::warm(&bench.work)?;
            bench.settle()?;
            let sample = bench.lanes[at].capture()?;
            row.add(bench.lanes[at].tool.name(), &sample);
        }
        if round < bench.args.rounds {
            for floor in [Floor::Read, Floor::Hash, Floor::Pack] {
                bench.floor(&mut row, floor, None)?;
            }
        }
    }
    for lane in &bench.lanes {
        if let Some(line) = row.lines.iter_mut().find(|line| line.who == lane.tool.name()) {
            line.disk = lane.usage()?;
        }
    }
    Ok(row)
}

/// A snapshot of a workspace that did not change since the last.
pub(super) fn unchanged(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::Unchanged);
    ensure_captured(bench)?;
    for round in bench.rounds() {
        again(bench, &mut row, round, |_| Ok(()))?;
        if round < bench.args.peer_rounds.max(bench.args.rounds) {
            statuses(bench, &mut row)?;
        }
    }
    Ok(row)
}

/// A snapshot after ten files changed, which each tool has to find by itself.
pub(super) fn ten(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::Ten);
    ensure_captured(bench)?;
    for round in bench.rounds() {
        // The same ten files for everybody: a tool that comes later in the round must not meet more changes.
        again(bench, &mut row, round, |bench| bench.editor.edit(0).map(drop))?;
    }
    Ok(row)
}

fn again(
    bench: &mut Bench<'_>,
    row: &mut Row,
    round: usize,
    mut before: impl FnMut(&mut Bench<'_>) -> Result<()>,
) -> Result<()> {
    for at in 0..bench.lanes.len() {
        let tool = bench.lanes[at].tool;
        if !tool.is_incremental() || !bench.is_due(tool, round) {
            continue;
        }
        before(bench)?;
        bench.settle()?;
        let sample = bench.lanes[at].capture()?;
        row.add(tool.name(), &sample);
    }
    if round < bench.args.rounds {
        bench.floor(row, Floor::Statx, None)?;
    }
    Ok(())
}

fn statuses(bench: &mut Bench<'_>, row: &mut Row) -> Result<()> {
    let Some(git) = bench.lane(Tool::Git) else {
        return Ok(());
    };
    let all = git.git(["--no-optional-locks", "status", "--porcelain"]);
    row.add("git status, every file tracked", &measure::run(vec![all])?);
    if bench.work.join(".git").exists() {
        let own = tools::own_git_status(&bench.work, Locks::None);
        row.add("git status, own repository", &measure::run(vec![own])?);
    }
    Ok(())
}

/// Every incremental tool needs a first capture before it can show a second one.
pub(super) fn ensure_captured(bench: &mut Bench<'_>) -> Result<()> {
    for at in 0..bench.lanes.len() {
        let tool = bench.lanes[at].tool;
        if tool.is_incremental() && bench.has(tool) && !bench.lanes[at].has_captured() {
            bench.lanes[at].reset()?;
            bench.lanes[at].capture()?;
        }
    }
    // Index entries as young as the index itself are read again by git; a second pass gives it the speed of every day.
    if let Some(git) = bench.lane(Tool::Git) {
        git.capture()?;
    }
    Ok(())
}
