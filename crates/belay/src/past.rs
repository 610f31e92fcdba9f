//! Runs that are looked at afterwards: which one is meant, and how a command and its end read on one line.

use std::collections::HashSet;

use belay_session::event::{Actor, Decision, Denied, Ended, Raw, Storm, Wanted};
use belay_session::journal::Command;
use belay_session::{Error, Home, Proposal, RunRecord, plain, shell_word};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::escape::printable;
use crate::ui::quantity;

/// The run that is called so; by default the latest of this workspace.
pub(crate) fn find(context: &Context<'_>, home: &Home, name: Option<&str>) -> Result<RunRecord> {
    find_among(context, home, name, &|_| true)
}

/// The same among those that are wanted.
///
/// Outside of a workspace only a run that is named is found: another project's latest is not what anybody means there.
pub(crate) fn find_among(
    context: &Context<'_>,
    home: &Home,
    name: Option<&str>,
    wanted: &dyn Fn(&RunRecord) -> bool,
) -> Result<RunRecord> {
    let here = workspace_here(context, home);
    if here.is_none() && name.is_none_or(|name| name.starts_with('@')) {
        // A fork that there is not is another error than a directory that is no workspace.
        let why = context.workspace_despite(home).err();
        let failure = why.map_or_else(|| Failure::from(Error::NoRun), std::convert::identity);
        return Err(failure.hint("a run of another directory is named by its id: `belay runs --all` lists them"));
    }
    let is_here = |run: &RunRecord| here.as_deref().is_none_or(|here| run.workspace == here);
    Ok(home.find_run(name, &|run| is_here(run) && wanted(run))?)
}

/// Says of a run that goes on, if none was named, that there is none.
pub(crate) fn none_goes_on(error: Error) -> Failure {
    match error {
        Error::NoRun => {
            Failure::not_found("no run goes on in this workspace").hint("`belay runs` lists those that ended")
        }
        other => other.into(),
    }
}

/// The id of the workspace that holds the current directory, if one does, or of the fork of it that is meant.
pub(crate) fn workspace_here(context: &Context<'_>, home: &Home) -> Option<String> {
    let found = home.find(&context.anchor().ok()?, &context.sources().ok()?).ok()??;
    match context.fork() {
        Some(name) => Some(found.fork(name).ok()?.id),
        None => Some(found.id().to_owned()),
    }
}

/// What was refused, in words.
pub(crate) fn denied(denied: &Denied) -> String {
    let call = printable(denied.call.as_bytes());
    let path = denied.path.as_ref().map(|path| format!(" {}", printable(path.bytes()))).unwrap_or_default();
    format!("{}: {call}{path} ({})", refused(denied.count), reason(denied.errno))
}

/// So many refusals of one command for one reason, in words: what it was refused most of, and how many paths there were.
pub(crate) fn denied_together(all: &[Denied]) -> String {
    let count = all.iter().map(|one| one.count).sum();
    let paths: Vec<&[u8]> = all.iter().filter_map(|one| one.path.as_ref()).map(Raw::bytes).collect();
    let directory = paths.iter().copied().reduce(|one, other| common(one, other)).unwrap_or_default();
    let end = directory.iter().rposition(|byte| *byte == b'/').unwrap_or(0).max(1).min(directory.len());
    let (paths, place) = (quantity::count(paths.len() as u64, "path"), printable(&directory[..end]));
    format!("{}: {paths} in {place} ({})", refused(count), reason(all.first().map_or(0, |one| one.errno)))
}

fn common<'a>(one: &'a [u8], other: &[u8]) -> &'a [u8] {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    &one[..same]
}

fn refused(count: u64) -> String {
    if count > 1 { format!("refused {} times", quantity::grouped(count)) } else { "refused".to_owned() }
}

fn reason(errno: i32) -> String {
    plain(std::io::Error::from_raw_os_error(errno))
}

/// Who was refused something, in words.
pub(crate) fn asker(one: &Proposal, max: usize) -> String {
    let Some(number) = one.command else { return String::new() };
    let words = if one.argv.is_empty() { String::new() } else { format!(" {}", command_line(&one.argv, max)) };
    let more = match one.commands_more {
        0 => String::new(),
        more => format!(" and {}", quantity::count(more, "more command")),
    };
    format!(" (#{number}{words}{more})")
}

/// What of a refused path is to be said, and the rule that would allow it or why there is none.
pub(crate) fn proposal(one: &Proposal) -> (String, String) {
    let path = shell_word(one.path.bytes());
    let times = if one.count > 1 { format!(", {} times", quantity::grouped(one.count)) } else { String::new() };
    let what = match (one.paths, one.wanted) {
        (1, Wanted::Read) => format!("{path} could not be read{times}"),
        (1, Wanted::Write) => format!("{path} could not be written{times}"),
        (paths, Wanted::Read) => format!("{} in {path} could not be read{times}", quantity::count(paths, "path")),
        (paths, Wanted::Write) => format!("{} in {path} could not be written{times}", quantity::count(paths, "path")),
    };
    let rule = match (one.flag(), &one.closed) {
        (Some(flag), _) if one.absent => format!("{flag} {path} allows it, once something is there"),
        (Some(flag), _) => format!("{flag} {path} allows it"),
        (None, closed) => {
            format!("stays closed: {}", printable(closed.as_deref().unwrap_or("no rule opens it").as_bytes()))
        }
    };
    (what, rule)
}

/// That a program is there and cannot be seen, and the rule that would show it or why there is none.
pub(crate) fn hidden(one: &Proposal) -> String {
    let path = shell_word(one.path.bytes());
    match (one.flag(), &one.closed) {
        (Some(flag), _) => format!("{path} is there, but hidden in the jail: `belay run {flag} {path} …` shows it"),
        (None, closed) => {
            let why = printable(closed.as_deref().unwrap_or("no rule opens it").as_bytes());
            format!("{path} is there, but hidden in the jail, and stays closed: {why}")
        }
    }
}

/// A storm of deletions and what became of it, in words.
pub(crate) fn storm(storm: &Storm) -> String {
    let deleted = quantity::count(storm.deleted, "path");
    if let Some(outside) = &storm.outside {
        let became = match storm.decision {
            Decision::Held => "the run is held",
            Decision::Noted => "the run went on",
            Decision::Allowed => "somebody let it go on",
            Decision::Undone => "what deleted them was ended, and the rest of the run went on",
            Decision::Stopped => "the run was stopped",
        };
        let place = printable(outside.bytes());
        return format!("{deleted} in {place} were deleted at once, which no snapshot holds: {became}");
    }
    let became = match storm.decision {
        Decision::Held => "the run is held",
        Decision::Noted => "the run went on",
        Decision::Allowed => "somebody let it go on",
        Decision::Undone => "it was undone, and the rest of the run went on",
        Decision::Stopped => "it was undone, and the run stopped",
    };
    format!("{deleted} of {} were deleted at once: {became}", printable(storm.snapshot.as_bytes()))
}

/// Arguments as one line of at most `max` characters; those that a shell would split are quoted.
pub(crate) fn command_line(argv: &[Raw], max: usize) -> String {
    let mut line = String::new();
    for (index, word) in argv.iter().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        line.push_str(&shell_word(word.bytes()));
        if line.chars().count() > max {
            let cut: String = line.chars().take(max.saturating_sub(1)).collect();
            return cut + "…";
        }
    }
    line
}

/// How a command ended: `0`, `3`, `signal 9 (SIGKILL)`, or nothing while it runs.
pub(crate) fn end(ended: Option<Ended>) -> String {
    match ended {
        None => String::new(),
        Some(Ended::Code(code)) => code.to_string(),
        Some(Ended::Signal(signal)) => self::signal(signal),
        Some(Ended::Replaced(number)) => format!("became #{number}"),
    }
}

/// A signal by its number, and by its name if it has one that everybody uses.
pub(crate) fn signal(number: i32) -> String {
    const NAMES: [(i32, &str); 13] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (31, "SIGSYS"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}

/// The commands that a process became after it had been another one.
pub(crate) fn became<'a>(commands: impl Iterator<Item = &'a Command>) -> HashSet<u64> {
    let became = |command: &Command| match command.ended {
        Some(Ended::Replaced(next)) => Some(next),
        _ => None,
    };
    commands.filter_map(became).collect()
}

/// Whether a change may have been made by what the process was before it became the command.
pub(crate) fn is_unsure(by: Option<Actor>, became: &HashSet<u64>) -> bool {
    by.is_some_and(|by| by.pid.is_some() && !by.exact && by.command.is_some_and(|command| became.contains(&command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_harmless_line() {
        let argv = |words: &[&str]| words.iter().map(|word| Raw::from(*word)).collect::<Vec<_>>();
        assert_eq!(command_line(&argv(&["git", "commit", "-m", "fix bug"]), 80), "git commit -m 'fix bug'");
        assert_eq!(command_line(&argv(&["a", "", "it's\n\x1b[2J"]), 80), "a '' $'it\\'s\\n\\x1b[2J'");
        assert_eq!(command_line(&argv(&["python3", "-c", r#"f("four\n")"#]), 80), r#"python3 -c 'f("four\n")'"#);
        assert_eq!(command_line(&argv(&["it's"]), 80), r"'it'\''s'");
        assert_eq!(command_line(&argv(&["echo", &"x".repeat(100_000)]), 10), "echo xxxx…");
    }
}
