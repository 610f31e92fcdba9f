//! The Python package and the one whose interface it has, on the same directory, in one run.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Args, Figures};
use crate::edits::Editor;
use crate::error::{Error, Result};
use crate::measure::{self, Sample};
use crate::place::{Fs, Place};
use crate::table;

const PEERS: [&str; 2] = ["belay", "nono-py"];
/// What is measured, and how many times faster than the original it has to be.
const ROWS: [(&str, &str, f64); 3] = [
    ("baseline", "Python: create_baseline", 5.0),
    ("incremental", "Python: create_incremental, ten files changed", 10.0),
    ("restore", "Python: restore_to, one file changed", 20.0),
];

/// Measures both and says how many promises were not kept.
pub(super) fn rows(args: &Args, python: &Path, from: &Path, bytes: u64) -> Result<usize> {
    let scratch = args.scratch.as_deref().unwrap_or(&args.data);
    print!("{}", table::heading(&args.workspace, Fs::Ext4));
    let place = match Place::new(Fs::Ext4, scratch, bytes)? {
        Ok(place) => place,
        Err(reason) => {
            println!("\nskipped: {reason}");
            return Ok(0);
        }
    };
    let work = place.copy(from, "work")?;
    let mut editor = Editor::of(&work)?;
    let mut figures: Vec<Figures> = ROWS.iter().map(|(_, title, _)| Figures::new(title)).collect();
    for round in 0..args.rounds {
        for peer in PEERS {
            let session = place.path(&format!("{peer}-{round}"));
            let picked = editor.pick(round);
            let mut command = Command::new(python);
            command
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers.py"))
                .arg(peer)
                .arg(&work)
                .arg(&session)
                .args(&picked);
            place.settle()?;
            let said = measure::run(vec![command])?;
            for ((name, ..), figures) in ROWS.iter().zip(&mut figures) {
                let wall = figure(&said.stdout, name)?;
                figures.add(peer, &Sample { wall, rss: said.rss, ..Sample::default() });
            }
            place.remove(&format!("{peer}-{round}"))?;
        }
        editor.edit(round)?;
    }
    let mut broken = 0;
    for ((_, _, times), figures) in ROWS.iter().zip(&figures) {
        figures.print(PEERS[0]);
        let [own, other] = PEERS.map(|peer| figures.best(peer).map_or(0.0, |best| best.wall.as_secs_f64()));
        let measured = other / own;
        // What is promised is promised of a workspace as people have it.
        if args.workspace != "M" {
            println!("\nmeasured: {measured:.1} times faster");
            continue;
        }
        let kept = measured >= *times;
        let said = if kept { "yes" } else { "**no**" };
        println!("\npromised: {times} times faster; measured: {measured:.1}; kept: {said}");
        broken += usize::from(!kept);
    }
    Ok(broken)
}

/// A line `name seconds` of the program's.
fn figure(said: &str, name: &str) -> Result<Duration> {
    let line = said.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let bad = || Error::Output { program: "peers.py".to_owned(), text: said.to_owned() };
    line.map(Duration::from_secs_f64).ok_or_else(bad)
}
