//! What belay says when a run begins and when it has ended.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belay_session::event::{
    Decision, Degraded, DenialSource, Ended, ExecSource, FileSource, Isolation, Protection, Raw,
};
use belay_session::jail::denied_call;
use belay_session::{
    ConfinementEngine, Deed, Discarded, DiscardedPath, Farewell, Proposal, RunRecord, RunTotals, Workspace,
};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::relay::News;
use crate::ui::escape::printable;
use crate::ui::quantity::{self, count};
use crate::ui::style;
use crate::ui::width::{carriage, prose};
use crate::view;

/// Commands named in a summary.
const DEEDS_MAX: usize = 5;
/// Refused paths in a summary.
const DENIED_MAX: usize = 8;
/// Characters of a command in a summary.
const COMMAND_MAX: usize = 60;
/// How a jail says that it cannot keep a path from being made.
const ABSENT: &str = "cannot be protected from being made";
/// Columns before the further lines of a sentence.
const INDENT: usize = 7;

/// Says what a run tells beside what it shows.
pub(crate) fn tell(context: &Context<'_>, news: &News<'_>) {
    let (storm, is_question) = match news {
        News::Progress(_) => return,
        News::Started(run) => return begin(context, run),
        News::Storm(storm, is_question) => (storm, *is_question),
    };
    // The terminal may be in raw mode, where a line ends with both.
    let line = prose(&format!("belay: {}", past::storm(storm)), INDENT);
    let end = carriage();
    context.ui.tell(format_args!("{end}{line}{end}"));
    if is_question && storm.outside.is_some() {
        context.ui.tell("       a  allow it and go on    u  end what deletes and go on    s  stop the run\r");
    } else if is_question {
        context.ui.tell("       a  allow it and go on    u  undo it and go on    s  undo it and stop\r");
    } else if matches!(storm.decision, Decision::Noted | Decision::Allowed) && storm.outside.is_none() {
        let hint = format!("`belay restore {} PATH` brings them back", printable(storm.snapshot.as_bytes()));
        context.ui.hint(format_args!("{hint}{end}"));
    }
}

/// Says what protects the run, and what does not.
pub(crate) fn begin(context: &Context<'_>, run: &RunRecord) {
    let Some(protection) = &run.protection else { return };
    let apart = "what it writes is kept apart";
    let snapshot =
        run.pre_run.as_deref().unwrap_or(if run.confinement.ephemeral { apart } else { "no snapshot before it" });
    let line = format!("belay: {} ({snapshot}; {})", run.id, in_force(run, protection));
    context.ui.say(format_args!("{}{}", prose(&line, INDENT), carriage()));
    // What was asked for outright and is not to be had is told in full.
    let is_wanted = |layer: &str| match layer {
        "jail" => protection.isolation == Isolation::None && run.confinement.engine != ConfinementEngine::None,
        layer => layer == "limits",
    };
    for one in protection.degraded.iter().filter(|one| is_wanted(&one.layer)) {
        let line = format!("belay: not in force: {}: {}", one.layer, printable(one.why.as_bytes()));
        context.ui.say(format_args!("{}{}", prose(&line, INDENT), carriage()));
    }
    for why in unprotected(protection) {
        context.ui.say(format_args!("{}{}", prose(&format!("belay: not protected: {why}"), INDENT), carriage()));
    }
    if !run.left_out.is_empty() {
        let names: Vec<&[u8]> = run.left_out.iter().map(Raw::bytes).collect();
        let line = format!("belay: left out of snapshots: {} (`belay status`)", view::some(&names, DEEDS_MAX));
        context.ui.say(format_args!("{}{}", prose(&line, INDENT), carriage()));
    }
    for one in protection.degraded.iter().filter(|one| ["links", "person"].contains(&one.layer.as_str())) {
        let line = format!("belay: {}", printable(one.why.as_bytes()));
        context.ui.say(format_args!("{}{}", prose(&line, INDENT), carriage()));
    }
    if let Some(weaker) = weaker(protection) {
        let line = format!("belay: weaker: {weaker} (`belay show`)");
        context.ui.say(format_args!("{}{}", prose(&line, INDENT), carriage()));
    }
}

/// What no snapshot of the run holds, as far as that was known when it began.
pub(crate) fn unprotected(protection: &Protection) -> impl Iterator<Item = String> {
    protection.degraded.iter().filter(|one| one.layer == "snapshots").map(|one| printable(one.why.as_bytes()))
}

/// What is weaker, a few words for each layer; snapshots, limits, and a jail that there is not, have lines of their own.
pub(crate) fn weaker(protection: &Protection) -> Option<String> {
    let words = |one: &Degraded| match (one.layer.as_str(), protection.exec, protection.files) {
        ("exec", ExecSource::Ptrace, _) => "no sudo or strace",
        ("exec", ..) => "commands may go unseen",
        ("files", _, FileSource::Inotify) => "authorship may be a guess",
        ("files", ..) => "changes of files may go unseen",
        ("freeze", ..) => "no cgroup",
        ("network", ..) => "open network",
        ("jail", ..) if protection.isolation == Isolation::Landlock => {
            "NO NAMESPACES: what it may read lies open, and nothing it may write is private"
        }
        ("jail", ..) if one.why.ends_with(ABSENT) => "protected paths that are not there can be made",
        ("jail", ..) => "the jail has gaps",
        _ => "part of it is not in force",
    };
    let mut all: Vec<&str> = Vec::new();
    let is_free = protection.isolation == Isolation::None;
    let is_told =
        |layer: &str| ["limits", "links", "person", "snapshots"].contains(&layer) || (layer == "jail" && is_free);
    for one in protection.degraded.iter().filter(|one| !is_told(&one.layer)) {
        let words = words(one);
        if !all.contains(&words) {
            all.push(words);
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

/// What is in force, in a few words.
pub(crate) fn in_force(run: &RunRecord, protection: &Protection) -> String {
    let exec = match protection.exec {
        ExecSource::None => "commands are not recorded",
        ExecSource::Ebpf => "commands by eBPF",
        ExecSource::Ptrace => "commands by ptrace",
    };
    let files = match protection.files {
        FileSource::None => "file changes are not recorded",
        FileSource::Fanotify => "files by fanotify",
        FileSource::Inotify => "files by inotify",
    };
    if run.is_watch() {
        return files.to_owned();
    }
    let profile = match run.confinement.profile.as_str() {
        "" => String::new(),
        profile => format!(" (profile {})", printable(profile.as_bytes())),
    };
    let isolation = match protection.isolation {
        Isolation::None if run.confinement.engine == ConfinementEngine::None => {
            "NOT CONFINED (--isolation jail keeps it in)".to_owned()
        }
        Isolation::None => "NOT CONFINED (no jail works here)".to_owned(),
        Isolation::Jail => format!("in a jail{profile}"),
        Isolation::Landlock => format!("confined by Landlock{profile}"),
        Isolation::Vm => "in a virtual machine".to_owned(),
    };
    let person = protection.person.as_ref().map_or_else(String::new, |person| match &person.name {
        Some(name) => format!(" as {}, whose workspace it is", printable(name.as_bytes())),
        None => format!(" as the user {}, whose workspace it is", person.uid),
    });
    format!("{exec}, {files}, {isolation}{person}")
}

/// Says how to come back to a run that goes on by itself; its id is the output.
pub(crate) fn detached(context: &Context<'_>, run: &RunRecord) -> Result<()> {
    use std::io::Write;
    if context.ui.json {
        return context.ui.print_json(run);
    }
    let mut out = context.ui.out();
    writeln!(out, "{}", run.id)?;
    out.finish()?;
    match run.is_watch() {
        true => {
            context.ui.hint(format_args!("`belay log {0} -f` shows what it sees, `belay stop {0}` ends it", run.id))
        }
        false => context.ui.hint(format_args!("`belay attach {0}`, `belay logs {0} -f`, `belay stop {0}`", run.id)),
    }
    Ok(())
}

/// Says what a run did and how to take it back; as JSON, on standard error, since standard output is the command's.
pub(crate) fn end(context: &Context<'_>, workspace: &Workspace<'_>, farewell: &Farewell) -> Result<()> {
    if context.ui.json {
        context.ui.tell(to_json(workspace, farewell));
        return Ok(());
    }
    let (ui, run) = (context.ui, &farewell.run);
    let dim = style::DIM;
    if let Some(because) = run.because.as_ref().filter(|_| ui.quiet) {
        // Whoever wants silence still has to know that it was belay who ended it.
        ui.warn(format_args!("{} was ended: {}", run.id, printable(because.as_bytes())));
    }
    ui.say(format_args!("{dim}{}{dim:#}", prose(&format!("belay: {}", headline(farewell)), INDENT)));
    for deed in farewell.by_command.iter().take(DEEDS_MAX) {
        // What is written to a layer is seen when the run is over, and not by whom.
        let whole = if workspace.is_layered() { " (by the run as a whole)" } else { "" };
        ui.say(format_args!("{dim}  {:>7}  {}{whole}{dim:#}", quantity::grouped(deed.changes), name_of(deed)));
    }
    if let Some(more) = farewell.doers.checked_sub(DEEDS_MAX as u64).filter(|more| *more > 0) {
        ui.say(format_args!("{dim}           and {}{dim:#}", quantity::more(more, "command")));
    }
    if let Some(what) = unseen(&run.totals) {
        ui.warn(format_args!("{what} went unseen; the snapshots are complete all the same"));
    }
    warn_of_gaps(context, farewell);
    warn_of_beyond(context, farewell);
    if run.final_snapshot.is_none() && run.protection.as_ref().is_some_and(|protection| protection.snapshots) {
        let why = if farewell.unrecorded.is_none() { ", `belay log` says why" } else { "" };
        ui.warn(format_args!("the snapshot after the run failed; `belay snapshot` takes one{why}"));
    }
    if let Some(why) = &farewell.unrecorded {
        ui.warn(format_args!("the record of the run is not complete: {}", printable(why.as_bytes())));
    }
    if !farewell.refused.is_empty() {
        // A file that would run as its owner is refused to several calls, of which this one is as good as any.
        let known = farewell.refused.iter().find(|call| denied_call(call).is_some());
        let first = known.map_or("chmod", |call| call.as_str());
        let calls: Vec<String> =
            farewell.refused.iter().take(DEEDS_MAX).map(|call| printable(call.as_bytes())).collect();
        ui.say(format_args!("{dim}Refused: {}; `belay why {}` says why{dim:#}", calls.join(", "), first));
    }
    if let Some(line) = run.discarded.as_ref().map(|discarded| gone(context, discarded)) {
        ui.say(format_args!("{}", prose(&line, INDENT)));
    }
    say_denied(context, farewell);
    say_ended(context, &farewell.ended);
    say_left(context, run, &farewell.left);
    // What was kept apart is nowhere that it could be taken back from.
    let is_here = farewell.paths > 0 && !run.confinement.ephemeral;
    if let Some(snapshot) = run.pre_run.as_ref().filter(|_| is_here) {
        // Whoever can write to belay's home, as without a jail, may have removed it meanwhile.
        if !workspace.timeline().is_ok_and(|timeline| timeline.get(snapshot).is_some()) {
            ui.warn(format_args!("{snapshot} from before the run is gone as well: nothing can be taken back"));
            return Ok(());
        }
        // By its id: `@pre-run` means another one after the next run.
        let belay = context.itself();
        let is_all = farewell.pre_run_gaps == 0 && farewell.beyond.is_empty();
        let all = if is_all { "it all" } else { "what was captured" };
        let did = if farewell.unrecorded.is_none() { format!("   what it did: {belay} log") } else { String::new() };
        let back = format!("To take {all} back: {belay} rollback {snapshot}{did}");
        ui.say(format_args!("{dim}{}{dim:#}", prose(&back, INDENT)));
    }
    Ok(())
}

/// What nobody saw of a run.
fn unseen(totals: &RunTotals) -> Option<String> {
    let what = [
        (totals.lost > 0).then(|| count(totals.lost, "event")),
        totals.changes_unseen.then(|| "some changes of files".to_owned()),
        totals.commands_unseen.then(|| "commands after the process that traces was killed".to_owned()),
    ];
    Some(what.into_iter().flatten().collect::<Vec<_>>().join(" and ")).filter(|what| !what.is_empty())
}

/// Says what the first and the last snapshot of a run lack.
pub(crate) fn warn_of_gaps(context: &Context<'_>, farewell: &Farewell) {
    if let Some(snapshot) = farewell.run.pre_run.as_ref().filter(|_| farewell.pre_run_gaps > 0) {
        context.ui.warn(format_args!(
            "the snapshot before the run lacks {}, which no rollback brings back; `belay ls {snapshot}` names {}",
            count(farewell.pre_run_gaps, "path"),
            quantity::them(farewell.pre_run_gaps)
        ));
    }
    if farewell.gaps > 0 {
        let (lacking, them) = (count(farewell.gaps, "path"), quantity::them(farewell.gaps));
        context.ui.warn(format_args!("the last snapshot lacks {lacking}; `belay status` names {them}"));
    }
}

/// Says what changed where no snapshot reaches: a rollback leaves it as it is.
fn warn_of_beyond(context: &Context<'_>, farewell: &Farewell) {
    if farewell.beyond.is_empty() {
        return;
    }
    let changes = farewell.beyond.iter().map(|one| one.changes).sum();
    let mut names: Vec<&[u8]> = farewell.beyond.iter().map(|one| one.path.bytes()).collect();
    names.sort_unstable();
    context.ui.warn(format_args!(
        "{} changed in {}, which snapshots leave out: no rollback brings that back",
        count(changes, "path"),
        view::some(&names, DEEDS_MAX)
    ));
    context.ui.hint("`belay config set snapshots.exclude.gitignored capture` has such directories captured, too");
}

/// What was written to directories that ended with the run's jail.
pub(crate) fn gone(context: &Context<'_>, discarded: &Discarded) -> String {
    let home = context.environment.user_home.as_deref();
    let name = |one: &DiscardedPath| {
        let path = Path::new(OsStr::from_bytes(one.path.bytes()));
        let name = match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => printable(&[b"~/", rest.as_os_str().as_bytes()].concat()),
            None => printable(one.path.bytes()),
        };
        if one.files == 1 { name } else { format!("{name} ({})", count(one.files, "file")) }
    };
    let shown: Vec<&DiscardedPath> = discarded.paths.iter().take(DEEDS_MAX).collect();
    let more = discarded.files.saturating_sub(shown.iter().map(|one| one.files).sum());
    let more = if more > 0 { format!(" and {}", quantity::more(more, "file")) } else { String::new() };
    let names: Vec<String> = shown.into_iter().map(name).collect();
    format!(
        "Written to the run's own home and temporary directories, and gone with it: {}{more} (--rw DIR keeps what is \
         written to DIR)",
        names.join(", ")
    )
}

/// Names the paths that were refused, and the narrowest rules that would have allowed them.
fn say_denied(context: &Context<'_>, farewell: &Farewell) {
    let (ui, dim) = (context.ui, style::DIM);
    for one in farewell.denied.iter().take(DENIED_MAX) {
        let (what, rule) = past::proposal(one);
        let line = format!("Refused: {what}{}; {rule}", past::asker(one, COMMAND_MAX / 2));
        ui.say(format_args!("{dim}{}{dim:#}", prose(&line, INDENT)));
    }
    let more = farewell.denied.len().saturating_sub(DENIED_MAX) as u64 + farewell.denied_more;
    if more > 0 {
        ui.say(format_args!(
            "{dim}         and {}; `belay show` names {}{dim:#}",
            quantity::more(more, "path"),
            quantity::them(more)
        ));
    }
    if farewell.denied_untold > 0 {
        let refusals = count(farewell.denied_untold, "more refusal");
        ui.say(format_args!("{dim}         and {refusals} whose paths were too many to record{dim:#}"));
    }
    let protection = farewell.run.protection.as_ref();
    let is_unwatched = protection.is_some_and(|now| now.denials == Some(DenialSource::None));
    // Where all went well, or belay ended it, nobody asks what was refused.
    let has_failed = matches!(farewell.run.ended, Some(Ended::Code(code)) if code != 0);
    if is_unwatched && has_failed && farewell.run.because.is_none() {
        ui.say(format_args!(
            "{dim}If the jail was in its way: `belay run --denials` names the paths that it refuses{dim:#}"
        ));
    }
}

fn headline(farewell: &Farewell) -> String {
    let run = &farewell.run;
    let because = run.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let totals = run.totals;
    let end = match run.ended {
        Some(Ended::Code(code)) if code != 0 => format!("ended with exit code {code}"),
        Some(Ended::Signal(signal)) => format!("was killed by {}", past::signal(signal)),
        _ => "ended".to_owned(),
    };
    format!(
        "{} {end}{because}: {}, {} changed, {}",
        run.id,
        count(totals.commands, "command"),
        count(farewell.paths, "path"),
        count(totals.snapshots, "snapshot")
    )
}

fn name_of(deed: &Deed) -> String {
    let Some(number) = deed.command else { return "(somebody outside of the run, or it cannot be told)".to_owned() };
    format!("#{number} {}", past::command_line(&deed.argv, COMMAND_MAX))
}

/// Says what was ended with the command, and names the first.
fn say_ended(context: &Context<'_>, ended: &[(u32, String)]) {
    let Some((_, first)) = ended.first() else { return };
    let (them, were) = match ended.len() {
        1 => ("1 process that it left".to_owned(), "was"),
        more => (format!("{} that it left", count(more as u64, "process")), "were"),
    };
    let first: String = first.chars().take(COMMAND_MAX).collect();
    let line = format!("belay: {them} {were} ended with the run: {}", printable(first.as_bytes()));
    context.ui.say(format_args!("{}", prose(&line, INDENT)));
}

/// Names processes that outlived their run.
pub(crate) fn say_left(context: &Context<'_>, run: &RunRecord, left: &[(u32, String)]) {
    if left.is_empty() {
        return;
    }
    let lives = if left.len() == 1 { "lives on and is" } else { "live on and are" };
    context.ui.warn(format_args!("{} of {} {lives} no longer recorded:", count(left.len() as u64, "process"), run.id));
    for (pid, command) in left.iter().take(DEEDS_MAX) {
        context.ui.tell(format_args!("  {pid}  {}", printable(command.as_bytes())));
    }
    context.ui.hint(format_args!("`belay stop {}` ends them", run.id));
}

fn to_json(workspace: &Workspace<'_>, farewell: &Farewell) -> Value {
    let deed = |deed: &Deed| json!({ "command": deed.command, "argv": deed.argv, "changes": deed.changes });
    json!({ "run": farewell.run, "path": workspace.path().to_string_lossy(),
        "exit_code": farewell.run.exit_code(), "paths_changed": farewell.paths, "beyond": farewell.beyond,
        "by_command": farewell.by_command.iter().map(deed).collect::<Vec<_>>(),
        "left": farewell.left.iter().map(|(pid, command)| json!({ "pid": pid, "command": command })).collect::<Vec<_>>(),
        "ended": farewell.ended.iter().map(|(pid, command)| json!({ "pid": pid, "command": command })).collect::<Vec<_>>(),
        "gaps": farewell.gaps, "pre_run_gaps": farewell.pre_run_gaps, "refused": farewell.refused,
        "denied": farewell.denied.iter().map(proposal_json).collect::<Vec<_>>(), "denied_more": farewell.denied_more,
        "denied_untold": farewell.denied_untold,
        "unrecorded": farewell.unrecorded, "discarded": farewell.run.discarded,
    })
}

/// A refused path, with the rule that would allow it.
pub(crate) fn proposal_json(one: &Proposal) -> Value {
    let rule = one.flag().map(|flag| json!([flag, one.path]));
    let mut value = json!(one);
    value["rule"] = rule.unwrap_or(Value::Null);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_counted_is_given_no_number() {
        assert_eq!(unseen(&RunTotals::default()), None);
        let killed = RunTotals { commands_unseen: true, ..RunTotals::default() };
        assert_eq!(unseen(&killed).as_deref(), Some("commands after the process that traces was killed"));
        let more = RunTotals { lost: 2, changes_unseen: true, ..RunTotals::default() };
        assert_eq!(unseen(&more).as_deref(), Some("2 events and some changes of files"));
    }
}
