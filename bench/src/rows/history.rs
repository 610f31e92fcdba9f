//! The rows about a long history: difference of two snapshots, and a thousand of them.

use std::process::Command;

use super::{Bench, Kind, Row, capture};
use crate::error::{Error, Result};
use crate::measure;
use crate::tools::{Lane, Tool};

/// Difference of two snapshots with ten changes.
pub(super) fn diff(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::Diff);
    capture::ensure_captured(bench)?;
    let mut pairs = Vec::new();
    for tool in [Tool::Belay, Tool::Git, Tool::Restic] {
        let Some(before) = bench.lane(tool).map(|lane| lane.capture_named()).transpose()? else { continue };
        bench.editor.edit(0)?;
        let after = bench.lane(tool).map(|lane| lane.capture_named()).transpose()?;
        pairs.extend(after.map(|after| (tool, before, after)));
    }
    for round in bench.rounds() {
        for (tool, before, after) in &pairs {
            if !bench.is_due(*tool, round) {
                continue;
            }
            if let Some(lane) = bench.lane(*tool) {
                let sample = measure::run(vec![diff_command(lane, before, after)])?;
                row.add(diff_name(*tool), &sample);
            }
        }
    }
    Ok(row)
}

fn diff_name(tool: Tool) -> &'static str {
    match tool {
        Tool::Git => "git diff --stat",
        Tool::Restic => "restic diff",
        _ => tool.name(),
    }
}

fn diff_command(lane: &Lane, before: &str, after: &str) -> Command {
    match lane.tool {
        Tool::Git => lane.git(["diff", "--stat", before, after]),
        Tool::Restic => lane.restic(["diff", before, after]),
        _ => lane.belay(["diff", before, after, "--stat"]),
    }
}

/// A thousand snapshots of ten changes each: growth of the store, and the commands that must stay quick.
pub(super) fn thousand(bench: &mut Bench<'_>) -> Result<Option<Row>> {
    let Some(mut lane) = bench.side_lane(Tool::Belay, &bench.work, "thousand") else {
        return Ok(None);
    };
    let mut row = Row::new(Kind::Thousand);
    lane.reset()?;
    lane.capture()?;
    let before = lane.usage()?.unwrap_or_default();
    let mut changed = 0;
    let mut names = Vec::new();
    for turn in 0..bench.args.snapshots {
        changed += bench.editor.edit(turn)?;
        let sample = lane.capture()?;
        row.add("belay snapshot", &sample);
        names.extend(sample.stdout.split_whitespace().next().map(str::to_owned));
    }
    let after = lane.usage()?.unwrap_or_default();
    row.notes.push(format!(
        "store grew by {} on disk ({} in {} files before), changed files held {}; {} a snapshot",
        size(after.on_disk.saturating_sub(before.on_disk)),
        size(before.on_disk),
        before.files,
        size(changed),
        size(after.on_disk.saturating_sub(before.on_disk) / bench.args.snapshots.max(1) as u64),
    ));
    let [.., second, last] = names.as_slice() else {
        return Err(Error::Output { program: "belay".to_owned(), text: names.join(" ") });
    };
    for _ in 0..bench.args.rounds {
        row.add("belay snapshots", &measure::run(vec![lane.belay(["snapshots"])])?);
        let diff = lane.belay(["diff", second, last, "--stat"]);
        row.add("belay diff --stat", &measure::run(vec![diff])?);
        row.add("belay gc", &measure::run(vec![lane.belay(["gc"])])?);
    }
    lane.discard()?;
    Ok(Some(row))
}

fn size(bytes: u64) -> String {
    crate::table::size(bytes)
}
