//! The rows of the table: each runs belay, the peers and the floors in turn, round after round.

mod capture;
mod history;
mod others;
mod restore;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::census::Usage;
use crate::edits::Editor;
use crate::error::{Doing, Error, Result};
use crate::floors::Floor;
use crate::measure::{self, Best, Sample};
use crate::place::{Fs, Place};
use crate::table;
use crate::tools::{self, Lane, Locks, Tool};

/// Compares belay with peers and floors.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workspaces to run on.
    #[arg(long, value_delimiter = ',', default_value = "M", value_parser = ["S", "M", "L", "all"])]
    workspace: Vec<String>,
    /// Filesystems to run on; every image when none is named.
    #[arg(long, value_delimiter = ',', value_enum)]
    fs: Vec<Fs>,
    /// Rounds of belay and of the floors.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Rounds of the peers, which are slow.
    #[arg(long, default_value_t = 2)]
    peer_rounds: usize,
    /// Tools to run; all that the filesystem allows when none is named.
    #[arg(long, value_delimiter = ',', value_enum)]
    peers: Vec<Tool>,
    /// Rows to run; all when none is named.
    #[arg(long, value_delimiter = ',', value_enum)]
    rows: Vec<Kind>,
    /// After so many minutes on a workspace the rows that are left get one round, without the peers.
    #[arg(long)]
    minutes: Option<u64>,
    /// Snapshots made by the row `thousand`.
    #[arg(long, default_value_t = 1000)]
    snapshots: usize,
    /// Where bench/workspaces.sh put S, M and L.
    #[arg(long, default_value = "target/bench-data")]
    data: PathBuf,
    /// Where copies, repositories and images go; the data's directory when not named.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// A release build of belay.
    #[arg(long, default_value = "target/release/belay")]
    belay: PathBuf,
    /// A file that gets the table too, row by row.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Leave out what that file has in full already.
    #[arg(long, requires = "out")]
    resume: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// First snapshot into an empty store.
    First,
    /// Snapshot when nothing changed.
    Unchanged,
    /// Snapshot after ten files changed.
    Ten,
    /// Ten changed files, known beforehand, captured by the library.
    Dirty,
    /// Rollback of ten changed files.
    RollbackTen,
    /// Rollback after half of the workspace was removed.
    RollbackHalf,
    /// Difference of two snapshots with ten changes.
    Diff,
    /// Every command that works on a whole tree, for its memory.
    #[value(name = "memory", alias = "others")]
    Others,
    /// A thousand snapshots of ten changes each: growth, list, diff, gc.
    Thousand,
}

impl Kind {
    /// The row's title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::First => "first snapshot",
            Kind::Unchanged => "nothing changed, no watcher",
            Kind::Ten => "ten files changed, no watcher",
            Kind::Dirty => "ten files changed, dirty set known",
            Kind::RollbackTen => "rollback of ten files",
            Kind::RollbackHalf => "rollback after rm -rf of half",
            Kind::Diff => "diff of two snapshots, ten changes",
            Kind::Others => "memory of every command",
            Kind::Thousand => "a thousand snapshots of ten changes",
        }
    }
}

/// One tool's or floor's figure in a row.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) who: String,
    pub(crate) best: Best,
    pub(crate) disk: Option<Usage>,
}

/// A measured row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) lines: Vec<Line>,
    pub(crate) notes: Vec<String>,
    /// A step went wrong, so the row has no figures and the run no success.
    pub(crate) failed: bool,
}

impl Row {
    /// A row without figures yet.
    pub(crate) fn new(kind: Kind) -> Self {
        Row { kind, lines: Vec::new(), notes: Vec::new(), failed: false }
    }

    fn failed(kind: Kind, error: &Error) -> Self {
        Row { notes: vec![format!("**failed**: {}", crate::error::chain(error))], failed: true, ..Row::new(kind) }
    }

    /// Takes a sample into the line of that name.
    pub(crate) fn add(&mut self, who: &str, sample: &Sample) {
        let at = match self.lines.iter().position(|line| line.who == who) {
            Some(at) => at,
            None => {
                self.lines.push(Line { who: who.to_owned(), best: Best::default(), disk: None });
                self.lines.len() - 1
            }
        };
        self.lines[at].best.add(sample);
    }

    /// The least time of a line, if it was measured.
    pub(crate) fn time(&self, who: &str) -> Option<Duration> {
        self.line(who).map(|line| line.best.wall)
    }

    /// A line by its name.
    pub(crate) fn line(&self, who: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.who == who)
    }
}

/// One workspace on one filesystem, with all tools ready.
pub(crate) struct Bench<'a> {
    args: &'a Args,
    place: Place,
    work: PathBuf,
    lanes: Vec<Lane>,
    editor: Editor,
    /// When there is no time for more than is needed.
    deadline: Option<Instant>,
}

/// All rows of one workspace on one filesystem.
pub(crate) struct Section {
    pub(crate) workspace: String,
    pub(crate) fs: Fs,
    pub(crate) rows: Vec<Row>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut workspaces: Vec<&str> = args.workspace.iter().map(String::as_str).collect();
    if workspaces.contains(&"all") {
        workspaces = vec!["S", "M", "L"];
    }
    let images = &[Fs::Ext4, Fs::Btrfs, Fs::Xfs][..];
    let filesystems = if args.fs.is_empty() { images } else { &args.fs };
    let mut report = Report::new(args)?;
    let mut sections = Vec::new();
    for &fs in filesystems {
        for workspace in &workspaces {
            let done = table::done(workspace, fs);
            if args.resume && report.text.contains(&done) {
                continue;
            }
            report.say(&table::heading(workspace, fs))?;
            let section = run_one(args, workspace, fs, &mut report)?;
            report.say(&table::verdicts(&section))?;
            if !section.rows.is_empty() {
                report.say(&done)?;
            }
            sections.push(section);
        }
    }
    report.say(&table::growth(&sections))?;
    let failed = sections.iter().flat_map(|section| &section.rows).filter(|row| row.failed).count();
    if failed > 0 { Err(Error::Rows { failed }) } else { Ok(()) }
}

/// What was found so far; printed and saved row by row, because a full comparison takes hours.
struct Report<'a> {
    text: String,
    out: Option<&'a Path>,
}

impl<'a> Report<'a> {
    fn new(args: &'a Args) -> Result<Report<'a>> {
        let out = args.out.as_deref();
        let before = out.filter(|_| args.resume).and_then(|out| std::fs::read_to_string(out).ok());
        let mut report = Report { text: before.unwrap_or_default(), out };
        report.say(&table::preamble())?;
        Ok(report)
    }

    fn say(&mut self, part: &str) -> Result<()> {
        print!("{part}");
        self.text.push_str(part);
        match self.out {
            Some(out) => std::fs::write(out, &self.text).doing("write", out),
            None => Ok(()),
        }
    }
}

fn run_one(args: &Args, workspace: &str, fs: Fs, report: &mut Report<'_>) -> Result<Section> {
    let from = args.data.join(workspace);
    if !from.is_dir() {
        return Err(Error::NoWorkspace { path: from });
    }
    let mut section = Section { workspace: workspace.to_owned(), fs, rows: Vec::new() };
    let scratch = args.scratch.as_deref().unwrap_or(&args.data);
    let bytes = crate::census::usage(&from)?.bytes;
    let bench = match Place::new(fs, scratch, bytes)? {
        Ok(place) => Bench::new(args, place, &from).map_err(|error| crate::error::chain(&error)),
        Err(reason) => Err(reason),
    };
    let mut bench = match bench {
        Ok(bench) => bench,
        Err(reason) => {
            report.say(&format!("\nskipped: {reason}\n"))?;
            return Ok(section);
        }
    };
    let size = crate::census::usage(&bench.work)?;
    report.say(&format!("\n{} files, {}\n", size.files, table::size(size.bytes)))?;
    for kind in bench.kinds(workspace) {
        eprintln!("{workspace} on {}: {}", fs.name(), kind.title());
        let row = match bench.row(kind) {
            Ok(row) => row,
            Err(error) => Some(Row::failed(kind, &error)),
        };
        bench.place.trim();
        if let Some(row) = row {
            report.say(&table::row(&row))?;
            section.rows.push(row);
        }
    }
    Ok(section)
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, place: Place, from: &Path) -> Result<Self> {
        let work = place.copy(from, "work")?;
        let editor = Editor::of(&work)?;
        if work.join(".git").exists() {
            // The index holds the inodes of the original; one status with the right to write makes it know the copy.
            measure::run(vec![tools::own_git_status(&work, Locks::Optional)])?;
        }
        let belay = std::path::absolute(&args.belay).doing("resolve", &args.belay)?;
        let has_belay = belay.is_file();
        if !has_belay {
            eprintln!("bench: no belay at {}, peers and floors only", belay.display());
        }
        let lanes = Tool::value_variants()
            .iter()
            .filter(|tool| args.peers.is_empty() || tool.is_belay() || args.peers.contains(tool))
            .filter(|tool| tool.fits(place.fs) && (has_belay || !tool.is_belay()))
            .map(|&tool| Lane::new(tool, &work, place.path(&format!("{tool:?}")), &belay))
            .collect();
        let deadline = args.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        Ok(Bench { args, place, work, lanes, editor, deadline })
    }

    /// The rows to run; the long one on M only, unless it was asked for.
    fn kinds(&self, workspace: &str) -> Vec<Kind> {
        if !self.args.rows.is_empty() {
            return self.args.rows.clone();
        }
        let all = Kind::value_variants().iter().copied();
        all.filter(|&kind| kind != Kind::Thousand || workspace == "M").collect()
    }

    fn row(&mut self, kind: Kind) -> Result<Option<Row>> {
        match kind {
            Kind::First => capture::first(self).map(Some),
            Kind::Unchanged => capture::unchanged(self).map(Some),
            Kind::Ten => capture::ten(self).map(Some),
            Kind::Dirty => crate::dirty::row(self),
            Kind::RollbackTen => restore::ten(self).map(Some),
            Kind::RollbackHalf => restore::half(self).map(Some),
            Kind::Diff => history::diff(self).map(Some),
            Kind::Others => others::row(self),
            Kind::Thousand => history::thousand(self),
        }
    }

    /// The rounds of a row, of which the first is always run.
    fn rounds(&self) -> impl Iterator<Item = usize> + use<> {
        let deadline = self.deadline;
        let goes_on = move |round: &usize| *round == 0 || is_before(deadline);
        (0..self.args.rounds.max(self.args.peer_rounds)).take_while(goes_on)
    }

    fn is_due(&self, tool: Tool, round: usize) -> bool {
        let rounds = if tool.is_belay() { self.args.rounds } else { self.args.peer_rounds };
        round < rounds && self.has(tool)
    }

    fn lane(&mut self, tool: Tool) -> Option<&mut Lane> {
        if !self.has(tool) {
            return None;
        }
        self.lanes.iter_mut().find(|lane| lane.tool == tool)
    }

    /// Whether a tool takes part, for which a peer needs that there is time.
    pub(crate) fn has(&self, tool: Tool) -> bool {
        (tool.is_belay() || is_before(self.deadline)) && self.lanes.iter().any(|lane| lane.tool == tool)
    }

    /// The workspace's copy.
    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// A path on the filesystem under test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// Waits until everything written so far is on the disk.
    pub(crate) fn settle(&self) -> Result<()> {
        self.place.settle()
    }

    /// This program, to be run as a child of its own.
    pub(crate) fn this_program(&self) -> Result<PathBuf> {
        std::env::current_exe().doing("find", Path::new("this program"))
    }

    /// A lane of its own for a tool that takes part, on another directory.
    fn side_lane(&self, tool: Tool, work: &Path, name: &str) -> Option<Lane> {
        self.has(tool).then(|| Lane::new(tool, work, self.place.path(name), &self.args.belay))
    }

    /// Measures a floor in a process of its own, because its memory must not be the children's.
    fn floor(&self, row: &mut Row, floor: Floor, only: Option<&Path>) -> Result<()> {
        let quick = matches!(floor, Floor::Statx | Floor::Read | Floor::Hash);
        let mut command = Command::new(self.this_program()?);
        command.arg("floors").arg(&self.work).arg("--scratch").arg(self.place.path("floors"));
        command.args(["--floor", floor.name(), "--rounds", if quick { "3" } else { "1" }]);
        if let Some(only) = only {
            command.arg("--only").arg(only);
        }
        self.place.settle()?;
        let output = measure::run(vec![command])?.stdout;
        for line in output.lines() {
            let sample = parse_figure(line)?;
            row.add(&format!("floor: {}", sample.0), &sample.1);
            let last = row.lines.iter_mut().find(|line| line.who.ends_with(&sample.0));
            if let (Some(line), Floor::Pack) = (last, floor) {
                line.disk = Some(Usage { on_disk: sample.2, bytes: sample.2, files: 2 });
            }
        }
        Ok(())
    }
}

fn is_before(deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|deadline| Instant::now() < deadline)
}

/// Reads a line `name seconds cpu-seconds entries bytes` of one of our own children.
pub(crate) fn parse_figure(line: &str) -> Result<(String, Sample, u64)> {
    let parsed = || {
        let mut fields = line.trim().split('\t');
        let name = fields.next()?.to_owned();
        let wall = Duration::from_secs_f64(fields.next()?.parse().ok()?);
        let cpu = Duration::from_secs_f64(fields.next()?.parse().ok()?);
        let bytes = fields.nth(1)?.parse().ok()?;
        Some((name, Sample { wall, cpu: Some(cpu), ..Sample::default() }, bytes))
    };
    parsed().ok_or_else(|| Error::Output { program: "bench".to_owned(), text: line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_line_is_read_back() {
        let (name, sample, bytes) = parse_figure("pack\t1.500000\t2.5\t7\t42").expect("a good line");
        assert_eq!((name.as_str(), sample.wall.as_millis(), bytes), ("pack", 1500, 42));
        assert!(parse_figure("pack\tsoon").is_err());
    }
}
