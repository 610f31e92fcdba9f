//! The commands that no other row runs: what a whole tree costs them in time and memory.

use std::fs;

use super::{Bench, Kind, Row, restore};
use crate::error::{Doing, Result};
use crate::measure;
use crate::tools::Tool;

/// One round of each; the workspace and the store are afterwards as before.
pub(super) fn row(bench: &mut Bench<'_>) -> Result<Option<Row>> {
    if !bench.has(Tool::Belay) {
        return Ok(None);
    }
    let mut row = Row::new(Kind::Others);
    let snapshot = restore::captured_by_belay(bench)?;
    let out = bench.path("extracted");
    let to = out.display().to_string();
    let lane = bench.lane(Tool::Belay).expect("belay takes part");
    let commands: [&[&str]; 8] = [
        &["status"],
        &["ls", &snapshot],
        &["find", "*.rs"],
        &["du", "--why"],
        &["gc"],
        &["verify"],
        &["verify", "--deep"],
        &["rollback", &snapshot, "--to", &to],
    ];
    for words in commands {
        let name = words.iter().filter(|word| !word.contains(&snapshot) && !word.contains('/'));
        let name = name.copied().collect::<Vec<_>>().join(" ");
        row.add(&format!("belay {name}"), &measure::run(vec![lane.belay_words(words)])?);
    }
    fs::remove_dir_all(&out).doing("remove", &out)?;
    Ok(Some(row))
}
