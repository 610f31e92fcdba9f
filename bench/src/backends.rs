//! The backends beside each other and beside what a filesystem offers, and the Python package beside its original.

mod python;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::census;
use crate::edits::{self, Editor, TEN};
use crate::error::{Doing, Error, Result};
use crate::measure::{self, Best, Sample};
use crate::place::{Fs, Place};
use crate::table;

/// Compares belay's backends with each other, with reflink copies and with btrfs snapshots.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workspace to run on.
    #[arg(long, default_value = "M", value_parser = ["S", "M", "L"])]
    workspace: String,
    /// Filesystems to run on; btrfs and xfs when none is named.
    #[arg(long, value_delimiter = ',', value_enum)]
    fs: Vec<Fs>,
    /// Rounds of each.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Where bench/workspaces.sh put S, M and L.
    #[arg(long, default_value = "target/bench-data")]
    data: PathBuf,
    /// Where copies, stores and images go; the data's directory when not named.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// A release build of belay.
    #[arg(long, default_value = "target/release/belay")]
    belay: PathBuf,
    /// A Python that has the packages belay and nono-py, as bench/python-setup makes it; without it they are left out.
    #[arg(long)]
    python: Option<PathBuf>,
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Belay(&'static str),
    Reflink,
    Subvolume,
}

const ALL: [Who; 5] = [Who::Belay("objects"), Who::Belay("clone"), Who::Belay("btrfs"), Who::Reflink, Who::Subvolume];

impl Who {
    fn name(self) -> String {
        match self {
            Who::Belay(backend) => format!("belay {backend}"),
            Who::Reflink => "cp -a --reflink=auto".into(),
            Who::Subvolume => "btrfs subvolume snapshot".into(),
        }
    }

    fn fits(self, fs: Fs) -> bool {
        fs == Fs::Btrfs || !matches!(self, Who::Belay("btrfs") | Who::Subvolume)
    }
}

/// The least time of each, in the order in which they first came.
#[derive(Default)]
struct Figures {
    title: &'static str,
    lines: Vec<(String, Best)>,
}

impl Figures {
    fn new(title: &'static str) -> Figures {
        Figures { title, lines: Vec::new() }
    }

    fn add(&mut self, who: &str, sample: &Sample) {
        let at = self.lines.iter().position(|(name, _)| name == who).unwrap_or_else(|| {
            self.lines.push((who.to_owned(), Best::default()));
            self.lines.len() - 1
        });
        self.lines[at].1.add(sample);
    }

    fn best(&self, who: &str) -> Option<&Best> {
        self.lines.iter().find(|(name, _)| name == who).map(|(_, best)| best)
    }

    /// A table with each time as so many times that of `base`.
    fn print(&self, base: &str) {
        println!(
            "\n### {}\n\n| | time | × {base} | CPU | peak RSS | rounds |\n|---|---:|---:|---:|---:|---:|",
            self.title
        );
        let base = self.best(base).map(|best| best.wall.as_secs_f64());
        for (who, best) in &self.lines {
            let ratio = base.map_or(String::new(), |base| format!("{:.2}", best.wall.as_secs_f64() / base));
            let (cpu, rss) = (best.cpu.map(table::time), best.rss.map(table::size));
            let (cpu, rss) = (cpu.unwrap_or_default(), rss.unwrap_or_default());
            println!("| {who} | {} | {ratio} | {cpu} | {rss} | {} |", table::time(best.wall), best.rounds);
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let from = args.data.join(&args.workspace);
    if !from.is_dir() {
        return Err(Error::NoWorkspace { path: from });
    }
    print!("{}", table::preamble());
    let size = census::usage(&from)?;
    println!("\n{}: {} files, {}", args.workspace, size.files, table::size(size.bytes));
    let filesystems = if args.fs.is_empty() { &[Fs::Btrfs, Fs::Xfs][..] } else { &args.fs };
    let mut failed = 0;
    for &fs in filesystems {
        print!("{}", table::heading(&args.workspace, fs));
        match Place::new(fs, args.scratch.as_deref().unwrap_or(&args.data), size.bytes)? {
            Err(reason) => println!("\nskipped: {reason}"),
            Ok(place) => failed += Bench::new(args, place, &from)?.rows(),
        }
    }
    match &args.python {
        Some(python) => failed += python::rows(args, python, &from, size.bytes)?,
        None => println!("\nskipped: the Python package, since no --python was named"),
    }
    if failed > 0 { Err(Error::Rows { failed }) } else { Ok(()) }
}

/// One workspace on one filesystem.
struct Bench<'a> {
    args: &'a Args,
    place: Place,
    work: PathBuf,
    belay: PathBuf,
    editor: Editor,
    who: Vec<Who>,
    serial: u32,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, place: Place, from: &Path) -> Result<Bench<'a>> {
        let work = place.copy(from, "work")?;
        let editor = Editor::of(&work)?;
        let belay = std::path::absolute(&args.belay).doing("resolve", &args.belay)?;
        let fs = place.fs;
        let mut bench = Bench { args, who: Vec::new(), place, work, belay, editor, serial: 0 };
        for who in ALL.into_iter().filter(|who| who.fits(fs)) {
            match bench.fresh(who).and_then(|()| bench.take(who)) {
                Ok(_) => bench.who.push(who),
                Err(error) => println!("\nleft out: {}: {}", who.name(), crate::error::chain(&error)),
            }
        }
        Ok(bench)
    }

    /// Measures every row and says how many failed.
    fn rows(&mut self) -> usize {
        let rows = [Bench::first, Bench::unchanged, Bench::ten, Bench::differing, Bench::back, Bench::half];
        let mut failed = 0;
        for row in rows {
            match row(self) {
                Ok(figures) => figures.print("belay objects"),
                Err(error) => {
                    failed += 1;
                    println!("\n**failed**: {}", crate::error::chain(&error));
                }
            }
        }
        for who in self.who.clone() {
            // What is left in an image goes with it.
            let _ = self.discard(who);
        }
        failed
    }

    fn first(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("first snapshot");
        self.each(&mut figures, |bench, who| {
            bench.fresh(who)?;
            census::warm(&bench.work)?;
            bench.place.settle()?;
            bench.take(who).map(Some)
        })?;
        self.place.trim();
        Ok(figures)
    }

    fn unchanged(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("nothing changed");
        self.each(&mut figures, |bench, who| {
            bench.place.settle()?;
            bench.take(who).map(Some)
        })?;
        Ok(figures)
    }

    fn ten(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("ten files changed");
        self.each(&mut figures, |bench, who| {
            bench.editor.edit(0)?;
            bench.place.settle()?;
            bench.take(who).map(Some)
        })?;
        Ok(figures)
    }

    /// What differs from the present, of which the others know nothing.
    fn differing(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("diff with the present, ten files changed");
        self.each(&mut figures, |bench, who| {
            let Who::Belay(backend) = who else { return Ok(None) };
            bench.whole(backend, &["snapshot"])?;
            bench.editor.edit(0)?;
            let sample = bench.whole(backend, &["diff", "--name-only"])?;
            match sample.stdout.lines().count() {
                TEN => Ok(Some(sample)),
                named => {
                    Err(Error::Wrong { tool: who.name(), finding: format!("{named} files are named instead of ten") })
                }
            }
        })?;
        Ok(figures)
    }

    /// Rollback of ten files, which the others leave to whoever has the copy.
    fn back(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("rollback of ten files");
        self.each(&mut figures, |bench, who| bench.rolled_back(who, |bench| bench.editor.edit(0).map(drop)))?;
        Ok(figures)
    }

    /// Rollback after half of the files were removed: what the copy has is shared, where files can share blocks.
    fn half(&mut self) -> Result<Figures> {
        let mut figures = Figures::new("rollback after half was removed");
        let dirs = edits::half(&self.work)?;
        self.each(&mut figures, |bench, who| bench.rolled_back(who, |bench| edits::remove(&bench.work, &dirs)))?;
        Ok(figures)
    }

    fn rolled_back(&mut self, who: Who, harm: impl FnOnce(&mut Self) -> Result<()>) -> Result<Option<Sample>> {
        let Who::Belay(backend) = who else { return Ok(None) };
        self.take(who)?;
        let content = census::fingerprint(&self.work)?;
        harm(self)?;
        self.place.settle()?;
        let sample = measure::run(vec![self.belay(backend, &["rollback", "@latest", "-y"])])?;
        match content == census::fingerprint(&self.work)? {
            true => Ok(Some(sample)),
            false => Err(Error::Wrong { tool: who.name(), finding: "the files are not as before".into() }),
        }
    }

    /// All in turn, round after round, so that whatever the machine does meanwhile meets everybody.
    fn each(
        &mut self,
        figures: &mut Figures,
        mut act: impl FnMut(&mut Self, Who) -> Result<Option<Sample>>,
    ) -> Result<()> {
        for _ in 0..self.args.rounds {
            for who in self.who.clone() {
                if let Some(sample) = act(self, who)? {
                    figures.add(&who.name(), &sample);
                }
            }
        }
        Ok(())
    }

    fn store(&self, who: Who) -> PathBuf {
        self.place.path(&who.name().replace([' ', '/'], "-"))
    }

    fn fresh(&mut self, who: Who) -> Result<()> {
        self.discard(who)?;
        let store = self.store(who);
        std::fs::create_dir(&store).doing("create", &store)
    }

    fn discard(&self, who: Who) -> Result<()> {
        let store = self.store(who);
        if !store.exists() {
            return Ok(());
        }
        // What btrfs keeps goes by its own command only; belay's snapshots lie beside the workspace.
        let subvolumes = match who {
            Who::Belay("btrfs") => self.place.path(".belay-snapshots"),
            _ => store.clone(),
        };
        if matches!(who, Who::Subvolume | Who::Belay("btrfs")) && subvolumes.exists() {
            for snapshot in std::fs::read_dir(&subvolumes).doing("list", &subvolumes)? {
                let mut delete = Command::new("btrfs");
                delete.args(["-q", "subvolume", "delete"]).arg(snapshot.doing("list", &subvolumes)?.path());
                measure::run(vec![delete])?;
            }
        }
        std::fs::remove_dir_all(&store).doing("remove", &store)
    }

    fn take(&mut self, who: Who) -> Result<Sample> {
        self.serial += 1;
        let to = self.store(who).join(self.serial.to_string());
        let command = match who {
            Who::Belay(backend) => self.belay(backend, &["snapshot", "--all"]),
            Who::Reflink => {
                let mut command = Command::new("cp");
                command.args(["-a", "--reflink=auto"]).arg(&self.work).arg(to);
                command
            }
            Who::Subvolume => {
                let mut command = Command::new("btrfs");
                command.args(["-q", "subvolume", "snapshot", "-r"]).arg(&self.work).arg(to);
                command
            }
        };
        measure::run(vec![command])
    }

    /// What `diff` looks at without `--all`, which it does not know, is everything all the same.
    fn whole(&self, backend: &'static str, words: &[&str]) -> Result<Sample> {
        let mut command = self.belay(backend, words);
        command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "capture");
        measure::run(vec![command])
    }

    fn belay(&self, backend: &'static str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.belay);
        command.arg("-C").arg(&self.work).args(words).env("BELAY_HOME", self.store(Who::Belay(backend)));
        command.env("BELAY_SNAPSHOTS__MAX_BYTES", "64GiB").env("BELAY_SNAPSHOTS__BACKEND", backend);
        command
    }
}
