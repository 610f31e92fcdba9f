//! Every command that works on a whole tree, once each, for its memory: as the tree is, with half of it removed, and
//! with that taken back and forth.

use std::fs;
use std::process::Command;

use super::{Bench, Kind, Row, restore};
use crate::edits;
use crate::error::{Doing, Result};
use crate::measure;
use crate::tools::{Lane, Tool};

/// One round of each; the workspace is afterwards as before.
pub(super) fn row(bench: &mut Bench<'_>) -> Result<Option<Row>> {
    if !bench.has(Tool::Belay) {
        return Ok(None);
    }
    let mut row = Row::new(Kind::Others);
    let lane = bench.lane(Tool::Belay).expect("belay takes part");
    lane.reset()?;
    row.add("belay snapshot --all (first)", &lane.capture()?);
    let snapshot = restore::captured_by_belay(bench)?;
    let (out, archive) = (bench.path("extracted"), bench.path("archive.tar.zst"));
    let (to, packed) = (out.display().to_string(), archive.display().to_string());
    let dirs = edits::half(bench.work())?;
    let first = dirs.first().map(|dir| dir.display().to_string()).unwrap_or_default();
    let work = bench.work().to_path_buf();
    let lane = bench.lane(Tool::Belay).expect("belay takes part");

    let as_it_is: [&[&str]; 12] = [
        &["snapshot", "--all", "--full"],
        &["status"],
        &["diff", "--stat"],
        &["ls", "-R", &snapshot],
        &["find", "*"],
        &["history", &first],
        &["du", "--why"],
        &["gc"],
        &["verify"],
        &["verify", "--deep"],
        &["export", &snapshot, &packed],
        &["rollback", &snapshot, "--to", &to],
    ];
    each(lane, &mut row, "", &as_it_is)?;
    fs::remove_dir_all(&out).doing("remove", &out)?;
    fs::remove_file(&archive).doing("remove", &archive)?;

    edits::remove(&work, &dirs)?;
    let of_half: [&[&str]; 8] = [
        &["status"],
        &["diff", "--stat"],
        &["diff", "--name-only"],
        &["rollback", &snapshot, "--dry-run"],
        &["rollback", &snapshot, "-y"],
        &["undo", "-y"],
        &["redo", "-y"],
        &["diff", &snapshot, "@safety", "--stat"],
    ];
    each(lane, &mut row, "half removed: ", &of_half)?;

    edits::remove(&work, &dirs[..dirs.len().min(1)])?;
    let at_last: [&[&str]; 4] = [
        &["snapshots"],
        &["restore", &snapshot, &first, "-y"],
        &["forget", &first, "-y"],
        &["snapshots", "prune", "--keep", "1", "-y"],
    ];
    each(lane, &mut row, "", &at_last)?;
    lane.reset()?;
    Ok(Some(row))
}

/// Runs the commands in turn; a line is named by those words that mean the same in every run.
fn each(lane: &Lane, row: &mut Row, when: &str, commands: &[&[&str]]) -> Result<()> {
    for words in commands {
        let is_fixed = |word: &&&str| !word.starts_with("snap_") && !word.contains('/');
        let name = words.iter().filter(is_fixed).copied().collect::<Vec<_>>().join(" ");
        row.add(&format!("belay {when}{name}"), &measure::run(vec![unheard(&lane.belay_words(words))])?);
    }
    Ok(())
}

/// The same command with nobody who listens: what a tree's list takes in this process would count as the next one's.
fn unheard(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$@\" >/dev/null", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}
