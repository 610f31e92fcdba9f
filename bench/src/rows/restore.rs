//! The rows that restore: ten files, and half of the workspace; a tool that did not bring all back has no figure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Bench, Kind, Row};
use crate::census;
use crate::edits::{self, Editor};
use crate::error::{Doing, Error, Result};
use crate::floors::Floor;
use crate::measure;
use crate::tools::{Lane, Tool};

/// Name of the restore that read-tree and checkout-index make.
pub(crate) const GIT_REF: &str = "git-ref restore";

/// Rollback of ten edited files.
pub(super) fn ten(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::RollbackTen);
    let mut git = git_twin(bench)?;
    for round in bench.rounds() {
        if bench.has(Tool::Belay) && bench.is_due(Tool::Belay, round) {
            belay_ten(bench, &mut row)?;
        }
        if let (Some(git), true) = (&mut git, bench.is_due(Tool::Git, round)) {
            let mut editor = Editor::of(&git.work)?;
            let tree = git.capture_named()?;
            editor.edit(0)?;
            bench.settle()?;
            row.add(GIT_REF, &measure::run(git_ref(git, &tree))?);
            // checkout-index leaves an index that knows no file; the smarter restore starts from one that does.
            git.capture()?;
            editor.edit(0)?;
            bench.settle()?;
            let smart = vec![git.git(["read-tree", "-u", "--reset", &tree])];
            row.add("git read-tree -u --reset", &measure::run(smart)?);
        }
        if round < bench.args.rounds {
            bench.floor(&mut row, Floor::Statx, None)?;
        }
    }
    drop_twin(bench, git)?;
    Ok(row)
}

fn belay_ten(bench: &mut Bench<'_>, row: &mut Row) -> Result<()> {
    let picked: BTreeSet<PathBuf> = bench.editor.pick(0).into_iter().collect();
    let snapshot = captured_by_belay(bench)?;
    let content = census::fingerprint(&bench.work)?;
    bench.editor.edit(0)?;
    let before = census::ctimes(&bench.work)?;
    bench.settle()?;
    let lane = bench.lane(Tool::Belay).expect("the caller saw the lane");
    let sample = measure::run(vec![lane.belay(["rollback", &snapshot, "-y"])])?;
    let after = census::ctimes(&bench.work)?;
    let moved = before.iter().filter(|(path, time)| !picked.contains(*path) && after.get(*path) != Some(time)).count();
    check(content == census::fingerprint(&bench.work)?, "belay", "the ten files are not as before")?;
    check(moved == 0, "belay", &format!("the ctime of {moved} other files moved"))?;
    row.add(Tool::Belay.name(), &sample);
    Ok(())
}

/// Rollback after half of the workspace was removed.
pub(super) fn half(bench: &mut Bench<'_>) -> Result<Row> {
    let mut row = Row::new(Kind::RollbackHalf);
    let dirs = edits::half(&bench.work)?;
    let list = bench.path("half.txt");
    edits::write_dirs(&list, &dirs)?;
    let mut peers = HalfPeers::new(bench, &dirs, &list)?;
    for round in bench.rounds() {
        if bench.has(Tool::Belay) && bench.is_due(Tool::Belay, round) {
            belay_half(bench, &mut row, &dirs)?;
        }
        if round < bench.args.peer_rounds {
            peers.round(bench, &mut row)?;
        }
        if round < bench.args.rounds {
            bench.floor(&mut row, Floor::Write, Some(&list))?;
        }
    }
    peers.discard()?;
    row.notes.push(format!(
        "{} directories removed; the peers restore exactly that half into an empty directory",
        dirs.len()
    ));
    Ok(row)
}

fn belay_half(bench: &mut Bench<'_>, row: &mut Row, dirs: &[PathBuf]) -> Result<()> {
    let snapshot = captured_by_belay(bench)?;
    let content = census::fingerprint(&bench.work)?;
    edits::remove(&bench.work, dirs)?;
    bench.settle()?;
    let lane = bench.lane(Tool::Belay).expect("the caller saw the lane");
    let sample = measure::run(vec![lane.belay(["rollback", &snapshot, "-y"])])?;
    check(content == census::fingerprint(&bench.work)?, "belay", "the removed half is not as before")?;
    row.add(Tool::Belay.name(), &sample);
    Ok(())
}

pub(super) fn captured_by_belay(bench: &mut Bench<'_>) -> Result<String> {
    let lane = bench.lane(Tool::Belay).expect("the caller saw the lane");
    if !lane.has_captured() {
        lane.reset()?;
    }
    lane.capture_named()
}

/// Peers with the removed half, and nothing else, in their repositories.
struct HalfPeers {
    restic: Option<Lane>,
    borg: Option<Lane>,
    archives: Vec<(&'static str, PathBuf)>,
    out: PathBuf,
    files: u64,
}

impl HalfPeers {
    fn new(bench: &Bench<'_>, dirs: &[PathBuf], list: &Path) -> Result<Self> {
        let mut restic = bench.side_lane(Tool::Restic, &bench.work, "half-restic");
        if let Some(lane) = &mut restic {
            lane.reset()?;
            let mut backup = lane.restic(["backup", "-q", "--files-from"]);
            backup.arg(list);
            measure::run(vec![backup])?;
        }
        let mut borg = bench.side_lane(Tool::Borg, &bench.work, "half-borg");
        if let Some(lane) = &mut borg {
            lane.reset()?;
            let mut create = lane.borg(["create", "::half"]);
            create.args(dirs);
            measure::run(vec![create])?;
        }
        let mut archives = Vec::new();
        for (tool, how, name) in [(Tool::TarGz, "--gzip", "tar x (gz)"), (Tool::TarZstd, "--zstd", "tar x (zstd)")] {
            if bench.has(tool) {
                let archive = bench.path(&format!("half{how}.tar"));
                let mut tar = Command::new("tar");
                tar.args([how, "-cf"]).arg(&archive).arg("-C").arg(&bench.work).arg("-T").arg(list);
                measure::run(vec![tar])?;
                archives.push((name, archive));
            }
        }
        let mut files = 0;
        for dir in dirs {
            census::walk(&bench.work.join(dir), &mut |_, meta| {
                files += u64::from(meta.is_file());
                Ok(())
            })?;
        }
        let out = bench.path("half-out");
        Ok(HalfPeers { restic, borg, archives, out, files })
    }

    fn round(&mut self, bench: &Bench<'_>, row: &mut Row) -> Result<()> {
        if let Some(lane) = &self.restic {
            let mut restore = lane.restic(["restore", "-q", "latest", "--target"]);
            restore.arg(&self.out);
            self.timed(bench, row, "restic restore", restore)?;
        }
        if let Some(lane) = &self.borg {
            let mut extract = lane.borg(["extract", "::half"]);
            extract.current_dir(&self.out);
            self.timed(bench, row, "borg extract", extract)?;
        }
        for (name, archive) in &self.archives {
            let mut extract = Command::new("tar");
            extract.arg(if name.contains("gz") { "--gzip" } else { "--zstd" });
            extract.arg("-xf").arg(archive).arg("-C").arg(&self.out);
            self.timed(bench, row, name, extract)?;
        }
        Ok(())
    }

    fn timed(&self, bench: &Bench<'_>, row: &mut Row, who: &str, command: Command) -> Result<()> {
        fs::create_dir(&self.out).doing("create", &self.out)?;
        bench.settle()?;
        let sample = measure::run(vec![command])?;
        let mut files = 0;
        census::walk(&self.out, &mut |_, meta| {
            files += u64::from(meta.is_file());
            Ok(())
        })?;
        fs::remove_dir_all(&self.out).doing("remove", &self.out)?;
        check(files == self.files, who, &format!("{files} of {} files came back", self.files))?;
        row.add(who, &sample);
        Ok(())
    }

    fn discard(self) -> Result<()> {
        for lane in [self.restic, self.borg].into_iter().flatten() {
            lane.discard()?;
        }
        for (_, archive) in self.archives {
            fs::remove_file(&archive).doing("remove", &archive)?;
        }
        Ok(())
    }
}

/// A copy of the workspace for git's restore, which gives every file a new inode or ctime.
fn git_twin(bench: &Bench<'_>) -> Result<Option<Lane>> {
    if !bench.has(Tool::Git) {
        return Ok(None);
    }
    let twin = bench.place.copy(&bench.work, "twin")?;
    let mut lane = bench.side_lane(Tool::Git, &twin, "twin-git").expect("git takes part");
    lane.reset()?;
    Ok(Some(lane))
}

fn drop_twin(bench: &Bench<'_>, git: Option<Lane>) -> Result<()> {
    if let Some(lane) = git {
        lane.discard()?;
        bench.place.remove("twin")?;
    }
    Ok(())
}

fn git_ref(lane: &Lane, tree: &str) -> Vec<Command> {
    vec![lane.git(["read-tree", tree]), lane.git(["checkout-index", "-f", "-a"])]
}

fn check(holds: bool, tool: &str, finding: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Wrong { tool: tool.to_owned(), finding: finding.to_owned() })
}
