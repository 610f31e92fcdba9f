//! Choosing on a terminal what of a draft is brought in, hunk by hunk, with the keys of `git add -p`.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::process::Command;

use belay_session::store::{Change, Kind};
use belay_session::{Choice, Draft, Workspace};

use crate::bring::within;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::hunks::{Fate, Hunks};
use crate::ui::{Out, style};
use crate::view::{self, changes::Line};

const HELP: &str = "\
y - apply it
n - leave it
q - leave it and everything after it
a - apply it and everything after it in this file
d - leave it and everything after it in this file
s - split it into smaller hunks
e - edit what it becomes, once it cannot be split
? - show this";

/// What was answered.
enum Answer {
    Yes,
    No,
    Quit,
    All,
    None,
    Split,
    Edit,
}

/// What of a file was decided, and whether to go on.
struct Decided {
    choice: Option<Choice>,
    is_over: bool,
}

/// Asks about each path of the draft; what is not in the answer is taken as it is.
pub(crate) fn choose(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    draft: &Draft,
) -> Result<HashMap<Vec<u8>, Choice>> {
    let mut choices = HashMap::new();
    let mut is_over = false;
    for (at, change) in draft.changes.iter().enumerate() {
        if is_filled(change, draft.changes.get(at + 1)) {
            continue;
        }
        if is_over {
            choices.insert(change.path.clone(), Choice::Leave);
            continue;
        }
        let texts = workspace.texts(draft, &change.path)?;
        let decided = match texts.filter(|_| change.before.is_some() && change.after.is_some()) {
            Some([before, after]) if before != after => by_hunk(context, change, &Hunks::of(&before, &after))?,
            _ => as_a_whole(context, workspace, draft, change)?,
        };
        is_over = decided.is_over;
        if let Some(choice) = decided.choice {
            choices.insert(change.path.clone(), choice);
        }
    }
    Ok(choices)
}

/// Whether anything is left to bring in.
pub(crate) fn is_any_left(draft: &Draft, choices: &HashMap<Vec<u8>, Choice>) -> bool {
    let asked = draft.changes.iter().enumerate().filter(|(at, change)| !is_filled(change, draft.changes.get(at + 1)));
    asked.into_iter().any(|(_, change)| choices.get(&change.path) != Some(&Choice::Leave))
}

/// A directory that comes or goes with what is in it follows that.
fn is_filled(change: &Change, next: Option<&Change>) -> bool {
    let is_dir = |entry: &belay_session::store::Entry| matches!(entry.kind, Kind::Dir { .. });
    let whole = match (&change.before, &change.after) {
        (None, Some(entry)) | (Some(entry), None) => is_dir(entry),
        _ => false,
    };
    let inside = |next: &Change| next.path.strip_prefix(&*change.path).is_some_and(|rest| rest.starts_with(b"/"));
    whole && next.is_some_and(inside)
}

fn as_a_whole(context: &Context<'_>, workspace: &Workspace<'_>, draft: &Draft, change: &Change) -> Result<Decided> {
    let mut out = context.ui.out();
    writeln!(out, "{}", Line::from(change).marked_plan())?;
    for inner in &within(workspace, draft, change)? {
        writeln!(out, "  {}", Line::from(inner).marked_plan())?;
    }
    if let Some([before, after]) = workspace.texts(draft, &change.path)?.filter(|[before, after]| before != after) {
        let hunks = Hunks::of(&before, &after);
        hunks.groups().iter().try_for_each(|group| hunks.write(&mut out, group))?;
    }
    out.finish()?;
    let verb = match (&change.before, &change.after) {
        (None, _) => "addition",
        (_, None) => "removal",
        _ => "change",
    };
    let question = format!("Apply this {verb} of {} [y,n,q,?]? ", view::relative(&change.path));
    Ok(match ask(context, &question, None)? {
        Answer::Yes | Answer::All => Decided { choice: None, is_over: false },
        Answer::Quit => Decided { choice: Some(Choice::Leave), is_over: true },
        _ => Decided { choice: Some(Choice::Leave), is_over: false },
    })
}

fn by_hunk(context: &Context<'_>, change: &Change, hunks: &Hunks) -> Result<Decided> {
    let mut fates = vec![Fate::Left; hunks.runs()];
    let mut todo: Vec<Range<usize>> = hunks.groups().into_iter().rev().collect();
    let mut is_over = false;
    while let Some(group) = todo.pop() {
        let mut out: Out = context.ui.out();
        let heading = style::HEADING;
        let mark = view::notable::notable(&change.path).map(|who| format!("  ! {who}")).unwrap_or_default();
        writeln!(out, "{heading}{}{mark}{heading:#}", view::relative(&change.path))?;
        hunks.write(&mut out, &group)?;
        out.finish()?;
        let keys = if group.len() > 1 { "y,n,q,a,d,s,?" } else { "y,n,q,a,d,e,?" };
        let question = format!("Apply this hunk to {} [{keys}]? ", view::relative(&change.path));
        match ask(context, &question, Some(group.len()))? {
            Answer::Yes => fates[group].fill(Fate::Taken),
            Answer::No => {}
            Answer::Quit => {
                is_over = true;
                break;
            }
            Answer::All => {
                fates[group.start..].fill(Fate::Taken);
                break;
            }
            Answer::None => break,
            Answer::Split => todo.extend(group.rev().map(|run| run..run + 1)),
            Answer::Edit => match edited(hunks, group.start)? {
                Some(bytes) => fates[group.start] = Fate::Rewritten(bytes),
                None => todo.push(group),
            },
        }
    }
    let choice = match () {
        () if fates.iter().all(|fate| *fate == Fate::Taken) => None,
        () if fates.iter().all(|fate| *fate == Fate::Left) => Some(Choice::Leave),
        () => Some(Choice::Content(hunks.with(&fates))),
    };
    Ok(Decided { choice, is_over })
}

/// Asks about a hunk of so many runs, or about a path as a whole.
fn ask(context: &Context<'_>, question: &str, runs: Option<usize>) -> Result<Answer> {
    loop {
        context.ui.prompt(question);
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).map_err(Failure::output)? == 0 {
            return Ok(Answer::Quit);
        }
        return Ok(match line.trim() {
            "y" | "Y" => Answer::Yes,
            "n" | "N" => Answer::No,
            "q" => Answer::Quit,
            "a" if runs.is_some() => Answer::All,
            "d" if runs.is_some() => Answer::None,
            "s" if runs.is_some_and(|runs| runs > 1) => Answer::Split,
            "e" if runs == Some(1) => Answer::Edit,
            _ => {
                // Only the keys that were offered.
                let keys = match runs {
                    None => "ynq?",
                    Some(1) => "ynqade?",
                    Some(_) => "ynqads?",
                };
                HELP.lines()
                    .filter(|line| line.starts_with(|key| keys.contains(key)))
                    .for_each(|line| context.ui.tell(line));
                continue;
            }
        });
    }
}

/// What a person makes of a hunk in their editor; none if the editor failed.
fn edited(hunks: &Hunks, run: usize) -> Result<Option<Vec<u8>>> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(std::env::var_os).unwrap_or_else(|| "vi".into());
    let cannot = |error: io::Error| Failure::system("cannot edit the hunk", &error).untouched();
    let mut file = tempfile::NamedTempFile::new().map_err(cannot)?;
    file.write_all(&hunks.proposal(run)).map_err(cannot)?;
    let mut command = Command::new("sh");
    command.arg("-c").arg("exec $0 \"$1\"").arg(&editor).arg(file.path());
    let done = command.status().map_err(cannot)?;
    if !done.success() {
        return Ok(None);
    }
    std::fs::read(file.path()).map(Some).map_err(cannot)
}
