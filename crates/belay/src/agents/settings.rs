//! Putting entries into settings files that are somebody else's, and taking them out again.
//!
//! A file that cannot be understood or must not be written is left as it is. What was there is kept beside it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::jsonc::{self, Fault};
use super::plan::{Content, Entry, File, How, MARK, is_belay, is_ours};
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
    let after = match &file.content {
        Content::Entries(entries) => {
            put_in(text.unwrap_or("{}\n"), entries).map_err(|fault| refuse(&file.path, &fault))?
        }
        Content::Block { table, text: block } => with_block(&file.path, text.unwrap_or_default(), *table, block)?,
        Content::Whole(own) | Content::Program(own) => match text {
            Some(other) if !other.contains(MARK) => return Err(foreign(&file.path)),
            _ => own.clone(),
        },
    };
    Ok(Edit { path: file.path.clone(), before, after: Some(after), is_program: is_program(file) })
}

/// What taking ours out of the file would make of it.
pub(crate) fn uninstall(file: &File) -> Result<Edit> {
    let before = read(&file.path)?;
    let after = match (&before, &file.content) {
        (None, _) => None,
        (Some(text), _) if text.trim().is_empty() => before.clone(),
        (Some(text), Content::Entries(entries)) => {
            let left = take_out(text, entries).map_err(|fault| refuse(&file.path, &fault))?;
            as_it_was(&file.path, left)
        }
        (Some(text), Content::Block { .. }) => {
            let left = without_block(text);
            match text_of(&backup_of(&file.path)) {
                Ok(before) if before.trim() == left.trim() => Some(before),
                Err(error) if error.kind() == io::ErrorKind::NotFound && left.trim().is_empty() => None,
                _ => Some(left),
            }
        }
        (Some(text), Content::Whole(_) | Content::Program(_)) => (!text.contains(MARK)).then(|| text.clone()),
    };
    Ok(Edit { path: file.path.clone(), before, after, is_program: is_program(file) })
}

fn is_program(file: &File) -> bool {
    matches!(file.content, Content::Program(_))
}

fn put_in(text: &str, entries: &[Entry]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for entry in entries {
        let place: &[&str] = &entry.place;
        let present = jsonc::get(&text, place)?;
        text = match (entry.how, present) {
            (How::Push, Some(Value::Array(list))) if list.contains(&entry.value) => text,
            (How::Push, present) => {
                // One of ours from another place or an older belay makes room for this one.
                let cleared = if present.is_some() { jsonc::retain(&text, place, &|one| !is_ours(one))? } else { text };
                jsonc::push(&cleared, place, &entry.value)?
            }
            (_, Some(present)) if present == entry.value => text,
            (How::SetIfFree | How::Serve, Some(present)) if !is_ours(&present) => text,
            (How::Serve, Some(present)) => jsonc::set(&text, place, &renewed(present, &entry.value))?,
            _ => jsonc::set(&text, place, &entry.value)?,
        };
    }
    Ok(text)
}

/// A server of ours as somebody left it, called by the path that belay has now.
fn renewed(mut present: Value, wanted: &Value) -> Value {
    match (present.get_mut("command"), wanted.get("command")) {
        (Some(Value::Array(words)), Some(Value::Array(own))) if !words.is_empty() && !own.is_empty() => {
            words[0] = own[0].clone();
        }
        (Some(command), Some(own)) => *command = own.clone(),
        _ => return wanted.clone(),
    }
    present
}

fn take_out(text: &str, entries: &[Entry]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for entry in entries {
        let place: &[&str] = &entry.place;
        text = match (entry.how, jsonc::get(&text, place)?) {
            (How::Push, Some(_)) => {
                let left = jsonc::retain(&text, place, &|one| !is_ours(one))?;
                if jsonc::get(&left, place)? == Some(json!([])) { jsonc::remove(&left, place)? } else { left }
            }
            (_, Some(present)) if is_ours(&present) => jsonc::remove(&text, place)?,
            _ => text,
        };
        let above = &place[..place.len() - 1];
        if !above.is_empty() && jsonc::get(&text, above)? == Some(json!({})) {
            text = jsonc::remove(&text, above)?;
        }
    }
    Ok(text)
}

/// The very bytes that were there before belay came, if nobody changed anything else since; none if nothing was there.
fn as_it_was(path: &Path, text: String) -> Option<String> {
    let is_empty = jsonc::get(&text, &[]).is_ok_and(|value| value == Some(json!({})));
    // Only blanks and commas are put otherwise where something was taken out; remarks are somebody's.
    let bare = |text: &str| text.replace(|c: char| c.is_whitespace() || c == ',', "");
    match text_of(&backup_of(path)) {
        Ok(before) if bare(&before) == bare(&text) || (before.trim().is_empty() && is_empty) => Some(before),
        // A version alone is what belay begins a file with.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && ["{}", r#"{"version":1}"#].contains(&&*bare(&text)) =>
        {
            None
        }
        _ => Some(text),
    }
}

fn with_block(path: &Path, text: &str, table: [&str; 2], block: &str) -> Result<String> {
    let parsed: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        Failure::refused(format!("{} is not TOML", view::path(path))).because(&error).untouched()
    })?;
    if text.contains(block) {
        return Ok(text.to_owned());
    }
    let rest = without_block(text);
    let present = parsed.get(table[0]).and_then(|outer| outer.get(table[1]));
    let is_taken = present.is_some();
    let command = present.and_then(|present| present.get("command")?.as_str()).filter(|command| is_belay(command));
    if let Some(command) = command {
        // What somebody made of it stays; only the program is renewed, where the block is still ours.
        let line = |command: &str| format!("command = {}\n", Value::from(command));
        let own = block.lines().find_map(|line| line.strip_prefix("command = "));
        let own = own.and_then(|own| serde_json::from_str::<String>(own).ok()).unwrap_or_default();
        let is_ours = rest != text;
        return Ok(if is_ours { text.replacen(&line(command), &line(&own), 1) } else { text.to_owned() });
    }
    if is_taken && rest == text {
        return Err(
            Failure::refused(format!("{} has a [{}.{}] of its own", view::path(path), table[0], table[1])).untouched()
        );
    }
    let gap = if rest.is_empty() || rest.ends_with("\n\n") { "" } else { "\n" };
    let newline = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{rest}{newline}{gap}{block}"))
}

/// The text without the block that begins with our mark and ends where another table or remark begins.
fn without_block(text: &str) -> String {
    let mark = format!("# {MARK}\n");
    let Some(start) = text.find(&mark) else { return text.to_owned() };
    let body = start + mark.len();
    let header = text[body..].find('\n').map_or(text.len(), |newline| body + newline + 1);
    let is_ours = |line: &str| line.starts_with("command = ") || line.starts_with("args = ");
    let lines: usize = text[header..].split_inclusive('\n').take_while(|line| is_ours(line)).map(str::len).sum();
    format!(
        "{}{}",
        text[..start].strip_suffix("\n\n").map_or(text[..start].to_owned(), |rest| format!("{rest}\n")),
        &text[header + lines..]
    )
}

/// Refuses what must not be written, before anything is.
pub(crate) fn check(edit: &Edit) -> Result<()> {
    let path = real(&edit.path);
    match fs::metadata(&path).is_ok_and(|meta| meta.permissions().mode() & 0o222 == 0) {
        true => Err(Failure::refused(format!("{} is read-only", view::path(&path))).untouched()),
        false => Ok(()),
    }
}

/// Carries an edit out: what was there is kept beside it, and the file is replaced in one step.
pub(crate) fn write(edit: &Edit) -> Result<()> {
    let path = real(&edit.path);
    let cannot = |error: &io::Error| Failure::named(format!("cannot write {}", view::path(&path)), error).untouched();
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(|error| cannot(&error))?;
    // What somebody had before belay came is not given up for what belay itself wrote.
    let backup = backup_of(&path);
    let is_ours = |before: &String| before.contains("belay") && backup.exists();
    let Some(after) = &edit.after else { return fs::remove_file(&path).map_err(|error| cannot(&error)) };
    if let Some(before) = edit.before.as_ref().filter(|before| !is_ours(before)) {
        let mode = fs::metadata(&path).map_or(0o600, |meta| meta.permissions().mode());
        // A link of that name is replaced, never followed.
        replace(&backup, before, mode).map_err(|error| cannot(&error))?;
    }
    replace(&path, after, if edit.is_program { 0o700 } else { 0o600 }).map_err(|error| cannot(&error))?;
    if text_of(&backup).is_ok_and(|kept| kept == *after) {
        // Two of the same help nobody; one that cannot go does no harm.
        let _ = fs::remove_file(&backup);
    }
    Ok(())
}

/// Replaces a file in one step; one that is new gets this mode.
pub(crate) fn replace(path: &Path, text: &str, fresh: u32) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    file.write_all(text.as_bytes())?;
    let there = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = there.map_or(fresh, |meta| meta.permissions().mode());
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The text of a file of settings; whatever somebody put in its place, a pipe or a device, is not waited for.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    let file = fs::OpenOptions::new().read(true).custom_flags(belay_session::UNWAITED).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let mut text = String::new();
    file.take(SETTINGS_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
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
