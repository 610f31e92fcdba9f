//! Erasing what runs and timelines say of paths, and looking afterwards for what still names them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use belay_event::{At, Event, Raw};
use belay_store::LockMode;

use super::words::{ERASED, Words, contains, names};
use crate::error::{Error, Result};
use crate::home::Home;
use crate::log::replace;
use crate::record::PathText;
use crate::run::RunRecord;
use crate::spare;
use crate::timeline::Timeline;
use crate::workspace::timeline_name;

/// The files that keep what a run's terminal showed.
const CONSOLES: [&str; 2] = ["console.log", "console.log.1"];

/// Names shorter than this occur by chance in files that are no text.
const TELLING_BYTES_MIN: usize = 4;

const CHUNK_BYTES: usize = 1 << 20;

/// A run whose record names a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedInRun {
    /// The run.
    pub run: String,
    /// How many of its events do.
    pub events: u64,
}

/// What became of the records.
#[derive(Clone, Debug, Default)]
pub struct ErasedRecords {
    /// Runs whose records named a path and do no longer.
    pub runs: Vec<NamedInRun>,
    /// Those of them that keep what their terminal showed, in which the content may stand.
    pub consoles: Vec<String>,
    /// Runs whose records could not be reached, and why.
    pub unreached: Vec<(String, String)>,
    /// How many files were looked through afterwards.
    pub searched: u64,
    /// Those that still name a path, or are at one.
    pub still: Vec<PathBuf>,
}

/// A workspace's id, and the paths beneath it.
pub(super) type Scope<'a> = (&'a str, &'a [Vec<u8>]);

/// Which runs name one of the paths.
pub(super) fn named_in_runs(home: &Home, scopes: &[Scope<'_>]) -> Result<Vec<NamedInRun>> {
    let mut found = Vec::new();
    for (run, paths) in runs_of(home, scopes)? {
        let words = Words { paths, root: run.root.bytes() };
        // A record that cannot be read is told when it is to be changed.
        let events = belay_journal::count_erasable(&home.run_dir(&run.id), &|event| words.redact(event));
        match events {
            Ok(0) | Err(belay_journal::Error::Missing(_)) => {}
            Ok(events) => found.push(NamedInRun { run: run.id, events }),
            Err(_) => found.push(NamedInRun { run: run.id, events: 0 }),
        }
    }
    Ok(found)
}

/// Erases the words; what cannot be reached is told, not an error.
pub(super) fn erase(home: &Home, scopes: &[Scope<'_>], consoles: bool) -> Result<ErasedRecords> {
    let mut done = ErasedRecords::default();
    for (run, paths) in runs_of(home, scopes)? {
        let id = run.id.clone();
        match erase_in_run(home, run, paths, consoles) {
            Ok((0, _)) => {}
            Ok((events, has_console)) => {
                done.consoles.extend(has_console.then(|| id.clone()));
                done.runs.push(NamedInRun { run: id, events });
            }
            Err(why) => done.unreached.push((id, why)),
        }
    }
    for (workspace, paths) in scopes {
        erase_in_timeline(home, workspace, paths)?;
        erase_in_cache(home, workspace, paths)?;
    }
    Ok(done)
}

/// A run, and the paths that are erased in its workspace.
type RunScope<'a> = (RunRecord, &'a [Vec<u8>]);

fn runs_of<'a>(home: &Home, scopes: &[Scope<'a>]) -> Result<Vec<RunScope<'a>>> {
    let paths = |run: &RunRecord| scopes.iter().find(|(workspace, _)| *workspace == run.workspace);
    let all = home.runs()?.into_iter();
    Ok(all.filter_map(|run| paths(&run).map(|(_, paths)| *paths).map(|paths| (run, paths))).collect())
}

/// Returns how many events had such words, and whether the run's console is kept.
fn erase_in_run(
    home: &Home,
    mut run: RunRecord,
    paths: &[Vec<u8>],
    consoles: bool,
) -> std::result::Result<(u64, bool), String> {
    let dir = home.run_dir(&run.id);
    let root = run.root.clone();
    let words = Words { paths, root: root.bytes() };
    let redact = |event: &Event| words.redact(event);
    let named = match belay_journal::count_erasable(&dir, &redact) {
        Err(belay_journal::Error::Missing(_)) => 0,
        other => other.map_err(|error| told(&error))?,
    };
    if run.supervisor.is_some() && run.is_live() {
        return if named == 0 { Ok((0, false)) } else { Err("it is going on".to_owned()) };
    }
    let key = home.signing_key().map_err(|error| told(&error))?;
    let at = At::from(home.options.clock.now());
    let events = match belay_journal::erase(&dir, key, at, &redact) {
        Err(belay_journal::Error::Missing(_) | belay_journal::Error::File { .. }) if named == 0 => 0,
        other => other.map_err(|error| told(&error))?,
    };
    let before = run.clone();
    words.command(&mut run.argv, &mut run.cwd);
    run.because.iter_mut().for_each(|text| words.text(text));
    if run != before {
        run.save(home.disk(), true).map_err(|error| told(&error))?;
    }
    let mut has_console = false;
    for path in CONSOLES.map(|name| dir.join(name)).into_iter().filter(|path| path.exists()) {
        let done = if consoles && events > 0 { fs::remove_file(&path) } else { blank_lines(&path, &words) };
        done.map_err(|error| format!("{}: {error}", path.display()))?;
        has_console |= path.exists();
    }
    Ok((events, has_console))
}

fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Replaces the lines of a file that name a path.
fn blank_lines(path: &Path, words: &Words<'_>) -> io::Result<()> {
    let bytes = fs::read(path)?;
    if !words.are_named_in(&bytes) {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match words.are_named_in(line) {
            true => kept.extend_from_slice(format!("{ERASED}\r\n").as_bytes()),
            false => kept.extend_from_slice(line),
        }
    }
    // In its place: whoever shows it has it open, and it is nothing that must survive a loss of power whole.
    fs::write(path, kept)
}

/// What caused snapshots, and which paths were meant by rewinds.
fn erase_in_timeline(home: &Home, workspace: &str, paths: &[Vec<u8>]) -> Result<()> {
    let (name, lock) = (timeline_name(workspace), format!("workspaces/{workspace}/lock"));
    let words = Words { paths, root: b"" };
    let bytes = match home.disk().read(&name) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::disk("read", &name)(error)),
    };
    if !words.are_named_in(&bytes) {
        return Ok(());
    }
    let _held = home.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
    let mut timeline = Timeline::read(home.disk(), &name)?;
    if !timeline.damage().is_empty() {
        // What cannot be read would go with it; the search tells that the name is still there.
        return Ok(());
    }
    timeline.edit(
        |snapshot| {
            let texts = [&mut snapshot.cause.trigger, &mut snapshot.description];
            texts.into_iter().flatten().for_each(|text| words.text(text));
        },
        |rewind| {
            let meant = rewind.paths.iter_mut().filter(|path| words.holds(path.bytes()));
            meant.for_each(|path| *path = PathText::from(ERASED.as_bytes()));
        },
    );
    timeline.rewrite(home.disk(), &name)
}

/// A stat cache that knows a name goes; it only saves work.
fn erase_in_cache(home: &Home, workspace: &str, paths: &[Vec<u8>]) -> Result<()> {
    let dir = format!("workspaces/{workspace}");
    let last = |path: &Vec<u8>| path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
    let names: Vec<Vec<u8>> = paths.iter().map(last).collect();
    for (file, _) in home.disk().list(&dir).map_err(Error::disk("list", &dir))? {
        let path = home.path().join(&dir).join(&file);
        // Names lie in it between bytes that may look like a part of them.
        let knows = |bytes: &[u8]| names.iter().any(|name| contains(bytes, name));
        if file.starts_with("cache") && any_piece(&path, longest(&names), knows).unwrap_or(true) {
            // An empty one: that there was a cache is how a lost timeline is noticed.
            replace(home.disk(), &format!("{dir}/{file}"), b"")?;
        }
    }
    Ok(())
}

/// Looks through every file of the workspaces and of their runs.
pub(super) fn search(home: &Home, scopes: &[Scope<'_>], done: &mut ErasedRecords) -> Result<()> {
    let mut places: Vec<(PathBuf, &[Vec<u8>], Raw)> =
        scopes.iter().map(|(id, paths)| (home.path().join("workspaces").join(id), *paths, Raw::default())).collect();
    for (run, paths) in runs_of(home, scopes)? {
        if !done.unreached.iter().any(|(id, _)| *id == run.id) {
            places.push((home.run_dir(&run.id), paths, run.root));
        }
    }
    // A spare is a file of its own.
    for (id, paths) in scopes {
        let (spare, words) = (home.path().join(spare::DIRECTORY).join(id), Words { paths, root: b"" });
        if spare.is_file() {
            done.searched += 1;
            done.still.extend(is_named(&spare, &words, &|event: &Event| words.redact(event)).then_some(spare));
        }
    }
    for (place, paths, root) in places {
        let words = Words { paths, root: root.bytes() };
        let redact = |event: &Event| words.redact(event);
        let mut dirs = vec![place];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                    dirs.push(path);
                } else if kind.is_ok_and(|kind| kind.is_file()) {
                    done.searched += 1;
                    if is_at(&path, paths) || is_named(&path, &words, &redact) {
                        done.still.push(path);
                    }
                }
            }
        }
    }
    done.still.sort();
    Ok(())
}

/// Whether a file is a copy of one of the paths, in the layer of a run.
fn is_at(file: &Path, paths: &[Vec<u8>]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    paths.iter().any(|path| file.ends_with(Path::new(std::ffi::OsStr::from_bytes(path))))
}

/// Whether a file of belay's own names one of the paths.
fn is_named(path: &Path, words: &Words<'_>, redact: &dyn Fn(&Event) -> Option<Event>) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    if name.starts_with(b"session.db") {
        // Columns lie beside each other without a border, and it was made anew if anything in it was erased.
        let dir = path.parent().unwrap_or(path);
        return belay_journal::count_erasable(dir, redact).map_or(true, |events| events > 0);
    }
    let mut is_text = None;
    let names_one = |bytes: &[u8]| {
        let is_text = *is_text.get_or_insert_with(|| !bytes.contains(&0));
        let telling = |path: &&Vec<u8>| is_text || path.len() >= TELLING_BYTES_MIN;
        words.paths.iter().filter(telling).any(|path| names(bytes, path))
    };
    // One that cannot be read is one of which nothing can be said.
    any_piece(path, longest(words.paths), names_one).unwrap_or(true)
}

fn longest(names: &[Vec<u8>]) -> usize {
    names.iter().map(Vec::len).max().unwrap_or(0)
}

/// Whether something holds of any piece of a file; a name that is no longer than `longest` lies whole in one of them, with
/// what is beside it.
fn any_piece(path: &Path, longest: usize, mut holds: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let kept = bytes.len().min(longest + 2);
        bytes.drain(..bytes.len() - kept);
        if (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(false);
        }
        if holds(&bytes) {
            return Ok(true);
        }
    }
}
