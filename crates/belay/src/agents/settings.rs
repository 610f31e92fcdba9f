//! Putting entries into settings files that are somebody else's, and taking them out again.
//!
//! A file that cannot be understood or must not be written is left as it is. What was there is kept beside it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::jsonc::{self, Fault};
use super::plan::{Content, Entry, File, How, MARK, is_belay, is_hook};
use super::tables;
use crate::error::{Failure, Result};
use crate::view;

/// More than any settings have.
const SETTINGS_BYTES_MAX: u64 = 64 << 20;

/// A file before and after.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    /// None if the file goes.
    pub(crate) after: Option<String>,
    /// Whether it is a program.
    is_program: bool,
    /// Whether what was there is kept beside it: there was nothing of belay's in it, or more than belay puts there.
    is_kept: bool,
}

impl Edit {
    /// Whether there is nothing to do.
    pub(crate) fn is_nothing(&self) -> bool {
        self.before == self.after
    }
}

/// What putting ours into the file would make of it.
pub(crate) fn install(file: &File) -> Result<Edit> {
    let before = read(&file.path)?;
    let text = before.as_deref().filter(|text| !text.trim().is_empty());
    let fault = |fault: Fault| refuse(&file.path, &fault);
    let (after, is_kept) = match &file.content {
        Content::Entries(entries) => {
            let text = text.unwrap_or("{}\n");
            (put_in(text, entries).map_err(fault)?, take_out(text, entries).map_err(fault)? == text)
        }
        Content::Block { table, text: block } => {
            let text = text.unwrap_or_default();
            (with_block(&file.path, text, *table, block)?, !text.contains(MARK))
        }
        Content::Whole(own) | Content::Program(own) => match text {
            Some(other) if !is_marked(other) => return Err(foreign(&file.path)),
            other => (own.clone(), other.is_some_and(|other| other != own)),
        },
    };
    Ok(Edit { path: file.path.clone(), before, after: Some(after), is_program: is_program(file), is_kept })
}

/// What taking ours out of the file would make of it.
pub(crate) fn uninstall(file: &File) -> Result<Edit> {
    let before = read(&file.path)?;
    let mut is_kept = false;
    let after = match (&before, &file.content) {
        (None, _) => None,
        (Some(text), _) if text.trim().is_empty() => before.clone(),
        (Some(text), Content::Entries(entries)) => {
            let left = take_out(text, entries).map_err(|fault| refuse(&file.path, &fault))?;
            if left == *text { before.clone() } else { as_it_was(&file.path, left, entries) }
        }
        (Some(text), Content::Block { table, .. }) => {
            let left = without_block(&file.path, text, *table)?;
            match text_of(&backup_of(&file.path)) {
                _ if left == *text => before.clone(),
                Ok(before) if before.trim() == left.trim() => Some(before),
                Err(error) if error.kind() == io::ErrorKind::NotFound && left.trim().is_empty() => None,
                _ => Some(left),
            }
        }
        (Some(text), Content::Whole(own) | Content::Program(own)) => {
            // What somebody made of it can be had again.
            is_kept = text != own;
            (!is_marked(text)).then(|| text.clone())
        }
    };
    Ok(Edit { path: file.path.clone(), before, after, is_program: is_program(file), is_kept })
}

fn is_program(file: &File) -> bool {
    matches!(file.content, Content::Program(_))
}

/// Whether a file says at its beginning that all of it is belay's.
fn is_marked(text: &str) -> bool {
    text.lines().take(2).any(|line| line.contains(MARK))
}

fn put_in(text: &str, entries: &[Entry]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for Entry { place, value, how } in entries {
        let present = jsonc::get(&text, place)?;
        text = match (how, present) {
            (How::Hook, Some(Value::Array(list))) => {
                let handlers = |one: &Value| one.get("hooks").and_then(Value::as_array).map_or(1, Vec::len);
                let ours = list.iter().filter(|one| holds_ours(one));
                // One of ours from another place or an older belay makes room for this one.
                match list.contains(value) && ours.map(handlers).sum::<usize>() == 1 {
                    true => text,
                    false => jsonc::push(&without_hooks(&text, place)?, place, value)?,
                }
            }
            (How::Hook, _) => jsonc::push(&text, place, value)?,
            (_, Some(present)) if present == *value => text,
            (How::Server | How::Line, Some(present)) if how.is_ours(&present) => {
                renewed(&text, place, &present, value)?
            }
            (_, Some(present)) if !how.is_ours(&present) => text,
            _ => jsonc::set(&text, place, value)?,
        };
    }
    Ok(text)
}

/// Whether an element of a list is a handler of ours, or a group that holds one.
fn holds_ours(one: &Value) -> bool {
    let handlers = one.get("hooks").and_then(Value::as_array);
    is_hook(one) || handlers.is_some_and(|handlers| handlers.iter().any(is_hook))
}

/// Takes our handlers out of the list at a place; those of others beside them stay, and so do their groups.
fn without_hooks(text: &str, place: &[&str]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    let Some(Value::Array(list)) = jsonc::get(&text, place)? else { return Ok(text) };
    for (at, one) in list.iter().enumerate().rev().filter(|(_, one)| holds_ours(one)) {
        let number = at.to_string();
        let own = [place, &[number.as_str()]].concat();
        let handlers = one.get("hooks").and_then(Value::as_array).filter(|_| !is_hook(one));
        let Some(handlers) = handlers.filter(|handlers| !handlers.iter().all(is_hook)) else {
            text = jsonc::remove(&text, &own)?;
            continue;
        };
        for (at, _) in handlers.iter().enumerate().rev().filter(|(_, handler)| is_hook(handler)) {
            let number = at.to_string();
            text = jsonc::remove(&text, &[&own[..], &["hooks", number.as_str()]].concat())?;
        }
    }
    Ok(text)
}

/// A server or status line of ours as somebody left it, called by the path that belay has now.
fn renewed(text: &str, place: &[&str], present: &Value, wanted: &Value) -> Result<String, Fault> {
    let beneath = |more: &[&'static str]| place.iter().copied().chain(more.iter().copied()).collect::<Vec<&str>>();
    match (&present["command"], &wanted["command"]) {
        (present, own) if present == own => Ok(text.to_owned()),
        (Value::Array(words), Value::Array(own)) if words.first() == own.first() => Ok(text.to_owned()),
        (Value::Array(_), Value::Array(own)) => jsonc::set(text, &beneath(&["command", "0"]), &own[0]),
        (_, own) => jsonc::set(text, &beneath(&["command"]), own),
    }
}

fn take_out(text: &str, entries: &[Entry]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for Entry { place, how, .. } in entries {
        let left = match (how, jsonc::get(&text, place)?) {
            (How::Hook, Some(_)) => without_hooks(&text, place)?,
            (_, Some(present)) if how.is_ours(&present) => jsonc::remove(&text, place)?,
            _ => continue,
        };
        if left == text {
            continue;
        }
        text = without_empty(left, place)?;
    }
    Ok(text)
}

/// The text without what is left empty on the way to a place: it was made for that, unless somebody wrote a remark there.
fn without_empty(mut text: String, place: &[&str]) -> Result<String, Fault> {
    for depth in (1..=place.len()).rev() {
        if jsonc::is_bare(&text, &place[..depth])? {
            text = jsonc::remove(&text, &place[..depth])?;
        }
    }
    Ok(text)
}

/// The very bytes that were there before belay came, if nobody changed anything else since; none if nothing was there.
fn as_it_was(path: &Path, text: String, entries: &[Entry]) -> Option<String> {
    // A version alone is what belay begins a file with.
    let is_begun = |text: &str| {
        let pieces = jsonc::pieces(text).unwrap_or_default();
        pieces == ["{", "}"] || pieces == ["{", "\"version\"", ":", "1", "}"]
    };
    // Only blanks and commas are put otherwise where something was taken out; all else is somebody's.
    let said = |text: &str| {
        let mut places = entries.iter().map(|entry| entry.place.as_slice());
        let bare = places.try_fold(text.to_owned(), without_empty).ok()?;
        Some(jsonc::pieces(&bare).ok()?.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    match text_of(&backup_of(path)) {
        Ok(before) if said(&before).is_some_and(|before| Some(before) == said(&text)) => Some(before),
        Ok(before) if before.trim().is_empty() && is_begun(&text) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_begun(&text) => None,
        _ => Some(text),
    }
}

fn with_block(path: &Path, text: &str, table: [&str; 2], block: &str) -> Result<String> {
    let parsed: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        Failure::refused(format!("{} is not TOML", view::path(path))).because(&error).untouched()
    })?;
    let present = parsed.get(table[0]).and_then(|outer| outer.get(table[1]));
    let by_hand = || by_hand(path, table, "put");
    let Some(present) = present else { return tables::with_block(text, block).ok_or_else(by_hand) };
    let command = present.get("command").and_then(toml::Value::as_str).filter(|command| is_belay(command));
    let Some(command) = command else {
        let name = table.join(".");
        return Err(Failure::refused(format!("{} has a [{name}] of its own", view::path(path))).untouched());
    };
    // What somebody made of it stays; only the program is renewed.
    let own = block.lines().find_map(|line| line.strip_prefix("command = ")).unwrap_or_default();
    let written = Value::from(command).to_string();
    match written == own {
        true => Ok(text.to_owned()),
        false => tables::with_value(text, table, "command", own).ok_or_else(by_hand),
    }
}

/// The text without our table, whatever somebody added to it; one that is not ours stays.
fn without_block(path: &Path, text: &str, table: [&str; 2]) -> Result<String> {
    let parsed: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        Failure::refused(format!("{} is not TOML", view::path(path))).because(&error).untouched()
    })?;
    let command = parsed.get(table[0]).and_then(|outer| outer.get(table[1])?.get("command")?.as_str());
    match command.is_some_and(is_belay) {
        true => tables::without(text, table, &format!("# {MARK}")).ok_or_else(|| by_hand(path, table, "take")),
        false => Ok(text.to_owned()),
    }
}

fn by_hand(path: &Path, table: [&str; 2], verb: &str) -> Failure {
    let what = format!("{} has {} in a form that belay does not change", view::path(path), table[0]);
    let way = if verb == "put" { "in" } else { "out" };
    Failure::refused(what).untouched().hint(format!("{verb} {} {way} by hand", table.join(".")))
}

/// Refuses what must not be written, before anything is.
pub(crate) fn check(edit: &Edit) -> Result<()> {
    let path = real(&edit.path);
    let Ok(meta) = fs::metadata(&path) else { return Ok(()) };
    let refused = |why: &str| Failure::refused(format!("{} {why}", view::path(&path))).untouched();
    let me = belay_session::user_id();
    if meta.permissions().mode() & 0o222 == 0 {
        return Err(refused("is read-only"));
    }
    match me != 0 && meta.uid() != me {
        true => Err(refused("belongs to another user").hint("`ls -l` shows whose it is; `chown` makes it yours")),
        false => Ok(()),
    }
}

/// Carries edits out, all of them or none.
pub(crate) fn write_all(edits: &[Edit]) -> Result<()> {
    for (at, edit) in edits.iter().enumerate() {
        let Err(failure) = write(edit) else { continue };
        let done = edits[..at].iter().rev();
        let changed: Vec<String> =
            done.filter(|edit| put_back(edit).is_err()).map(|edit| view::path(&edit.path)).collect();
        return Err(match changed.is_empty() {
            true => failure.untouched(),
            false => failure.note(format!("{} was written before, and cannot be put back", changed.join(", "))),
        });
    }
    Ok(())
}

/// Takes back an edit that was carried out, unless somebody has changed the file again.
fn put_back(edit: &Edit) -> io::Result<()> {
    let (path, backup) = (real(&edit.path), backup_of(&edit.path));
    if text_of(&path).ok() != edit.after {
        return Err(io::Error::from(io::ErrorKind::ResourceBusy));
    }
    match &edit.before {
        Some(before) => replace(&path, before, 0o600)?,
        None => fs::remove_file(&path)?,
    }
    // What is there again needs no copy, and one that cannot go does no harm.
    if edit.is_kept && text_of(&backup).ok() == edit.before {
        let _ = fs::remove_file(&backup);
    }
    Ok(())
}

/// Carries an edit out: what was there is kept beside it, and the file is replaced in one step.
fn write(edit: &Edit) -> Result<()> {
    let path = real(&edit.path);
    let cannot = |error: &io::Error| Failure::named(format!("cannot write {}", view::path(&path)), error);
    // Agents write their settings, too.
    if read(&path)? != edit.before {
        let what = format!("{} was changed by somebody else a moment ago", view::path(&path));
        return Err(Failure::refused(what).hint("try again"));
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(|error| cannot(&error))?;
    // What somebody had before belay came is not given up for what belay itself wrote.
    let backup = backup_of(&path);
    if let Some(before) = edit.before.as_ref().filter(|_| edit.is_kept) {
        let mode = fs::metadata(&path).map_or(0o600, |meta| meta.permissions().mode());
        // A link of that name is replaced, never followed.
        replace(&backup, before, mode).map_err(|error| cannot(&error))?;
    }
    let Some(after) = &edit.after else { return fs::remove_file(&path).map_err(|error| cannot(&error)) };
    replace(&path, after, if edit.is_program { 0o700 } else { 0o600 }).map_err(|error| cannot(&error))?;
    if text_of(&backup).is_ok_and(|kept| kept == *after) {
        // Two of the same help nobody; one that cannot go does no harm.
        let _ = fs::remove_file(&backup);
    }
    Ok(())
}

/// Replaces a file in one step; one that is new gets this mode, and belongs to whom its directory does.
pub(crate) fn replace(path: &Path, text: &str, fresh: u32) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    let there = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let owner = there.clone().map_or_else(|| fs::metadata(directory), Ok)?;
    let (own, me) = (file.as_file().metadata()?, belay_session::user_id());
    if me == 0 && (own.uid(), own.gid()) != (owner.uid(), owner.gid()) {
        // Somebody who becomes root for a moment goes on as somebody else.
        fchown(file.as_file(), Some(owner.uid()), Some(owner.gid()))?;
    }
    let mode = there.map_or(fresh, |meta| meta.permissions().mode());
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The text of a file of settings; whatever somebody put in its place, a pipe or a device, is not waited for.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    text_within(path, SETTINGS_BYTES_MAX)
}

/// The same for somebody who has little time.
pub(crate) fn text_within(path: &Path, bytes_max: u64) -> io::Result<String> {
    let file = fs::OpenOptions::new().read(true).custom_flags(belay_session::UNWAITED).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any settings are");
    if file.metadata()?.len() > bytes_max {
        return Err(too_large());
    }
    let mut text = String::new();
    file.take(bytes_max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > bytes_max {
        true => Err(too_large()),
        false => Ok(text),
    }
}

/// Refuses what a project would have written elsewhere: its links are whoever's it is, and nobody's who works in it.
pub(crate) fn check_within(project: &Path, path: &Path) -> Result<()> {
    let place = real(path);
    let place = place.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    match project.canonicalize().is_ok_and(|project| place.starts_with(project)) {
        true => Ok(()),
        false => {
            let name = view::path(path);
            Err(Failure::refused(format!("{name} leads out of the project"))
                .untouched()
                .hint("put a file in its place"))
        }
    }
}

/// Where the file really is, or will be: settings are often links into a repository of them.
pub(crate) fn real(path: &Path) -> PathBuf {
    let target = || Some(path.parent()?.join(fs::read_link(path).ok()?));
    path.canonicalize().ok().or_else(target).unwrap_or_else(|| path.to_owned())
}

/// Where what was there before is kept.
pub(crate) fn backup_of(path: &Path) -> PathBuf {
    let mut name = real(path).into_os_string();
    name.push(".belay-backup");
    PathBuf::from(name)
}

fn read(path: &Path) -> Result<Option<String>> {
    match text_of(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::named(format!("cannot read {}", view::path(path)), &error).untouched()),
    }
}

fn refuse(path: &Path, fault: &Fault) -> Failure {
    let (name, Fault { line, expected }) = (view::path(path), fault);
    Failure::refused(format!("{name} cannot be understood: {expected} was expected in line {line}"))
        .untouched()
        .hint("mend it, and try again")
}

fn foreign(path: &Path) -> Failure {
    Failure::refused(format!("{} is there already, and not belay's", view::path(path))).untouched()
}
