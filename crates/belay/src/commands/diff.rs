//! `belay diff`: what differs between two snapshots, or between a snapshot and the present.

use std::io::Write;
use std::process::ExitCode;

use belay_session::store::{Change, Changes, FileType, Scope};
use belay_session::{Error, Snapshot, Tree, Workspace};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::patch::stat::{self, Queue, Weighed};
use crate::patch::{self, Comparison};
use crate::ui::{Out, quantity};
use crate::view;
use crate::view::changes::Line;

/// Show what changed between two snapshots, or since one
///
/// Without arguments the last known state is compared with the present: the newest snapshot, or the one that you
/// went back to since. With one argument it is that snapshot that is compared with the present. Content is shown as a unified patch that `git apply` understands; changes of mode, type, link text, attributes and
/// owner are shown too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The older snapshot; the last known state by default
    #[arg(value_name = "A")]
    from: Option<String>,

    /// The newer snapshot; the present by default
    #[arg(value_name = "B")]
    to: Option<String>,

    /// Only these files and directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<std::path::PathBuf>,

    #[command(flatten)]
    style: Style,
}

/// How differences are shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Style {
    /// Count changed lines instead of showing them
    #[arg(long, conflicts_with_all = ["name_only", "name_status"])]
    pub(crate) stat: bool,

    /// Only name what changed
    #[arg(long)]
    pub(crate) name_only: bool,

    /// Only name what changed, each with the letter that `belay status` gives it
    #[arg(long, conflicts_with = "name_only")]
    pub(crate) name_status: bool,

    /// Show each file of a `.git` that came or went as a whole, too
    #[arg(long)]
    pub(crate) all: bool,

    /// Exit with 1 when something differs
    #[arg(long)]
    pub(crate) exit_code: bool,

    /// Show N lines around each change
    #[arg(short = 'U', long = "unified", value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
}

impl Args {
    /// Whether content is shown, and not only the names of what differs.
    pub(crate) fn shows_content(&self) -> bool {
        !self.style.stat && !self.style.name_only && !self.style.name_status
    }
}

const EXAMPLES: &str = "\
Examples:
  belay diff                            what changed since the last known state
  belay diff before-refactor --stat
  belay diff snap_a3f9x2 snap_k8m2p1 -- src
  belay diff @latest -- .env | git apply -R";

/// Compares and prints; 1 with `--exit-code` when something differs.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let paths = context.all_beneath(&workspace, &args.paths)?;
    let scope = Scope::new(paths.clone());
    let from = match &args.from {
        Some(name) => named(context, &workspace, name)?,
        None => workspace.timeline()?.resolve_base()?.clone(),
    };
    let before = workspace.tree(&from)?;
    let after = match &args.to {
        Some(name) => workspace.tree(&named(context, &workspace, name)?)?,
        None => present(context, &workspace)?,
    };
    let comparison = Comparison { workspace: &workspace, before: &before, after: &after, is_indexed: false };
    let (mut changes, mut unknown, queue) = (Changes::default(), Topmost::default(), Queue::default());
    let weighed = std::thread::scope(|threads| {
        let mut ahead = (args.style.stat && !context.ui.json).then(|| stat::Ahead::new(threads, &comparison, &queue));
        let found = workspace.each_change(&before, &after, &scope, &mut |change| match change.opaque {
            true => unknown.see(change.path),
            false => {
                ahead.iter_mut().for_each(|ahead| ahead.see(&change));
                changes.push(&change);
            }
        });
        let weighed = ahead.map(stat::Ahead::finish).unwrap_or_default();
        found.map(|()| weighed)
    })?;
    let differs = !changes.is_empty();
    let mut out = context.ui.paged();
    write(context, &mut out, &comparison, (changes, weighed), &args.paths, &args.style)?;
    out.finish()?;
    for path in &paths {
        let is_in = |tree: &Tree| workspace.entry(tree, path).map(|entry| entry.is_some());
        if !is_in(&before)? && !is_in(&after)? {
            context.ui.warn(format_args!("nothing called {} is in either of them", view::relative(path)));
        }
    }
    if unknown.count > 0 {
        let paths = quantity::count(unknown.count, "path");
        context.ui.say(format_args!("Not compared, because only one side captured it: {paths}."));
    }
    Ok(if args.style.exit_code && differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Counts those of the paths, which come in order, that lie in none of the others.
#[derive(Default)]
struct Topmost {
    above: Option<Vec<u8>>,
    count: u64,
}

impl Topmost {
    fn see(&mut self, path: Vec<u8>) {
        let inside = |above: &Vec<u8>| path.strip_prefix(&above[..]).is_some_and(|rest| rest.starts_with(b"/"));
        if !self.above.as_ref().is_some_and(inside) {
            (self.above, self.count) = (Some(path), self.count + 1);
        }
    }
}

/// Someone who types a path where a snapshot is expected is told how to say it.
fn named(context: &Context<'_>, workspace: &Workspace<'_>, name: &str) -> Result<Snapshot> {
    let found = context.snapshot_name(workspace, name.to_owned())?;
    match workspace.resolve(&found) {
        Err(error @ Error::UnknownSnapshot { .. }) if context.has_path(name)? => {
            Err(Failure::from(error).hint(format!("to compare the path: `belay diff -- {name}`")))
        }
        other => Ok(other?),
    }
}

fn present(context: &Context<'_>, workspace: &Workspace<'_>) -> Result<Tree> {
    let meter = context.ui.meter("Looking");
    Ok(workspace.present_if_told(context.work(&meter))?)
}

/// Writes the changes as they are wanted.
pub(crate) fn write(
    context: &Context<'_>,
    out: &mut Out,
    sides: &Comparison<'_>,
    (mut changes, weighed): (Changes, Weighed),
    paths: &[std::path::PathBuf],
    style: &Style,
) -> Result<()> {
    if context.ui.json {
        return changes.iter().try_for_each(|change| out.json(&view::change_json(&change)));
    }
    let all = changes.len();
    let is_git = |part: std::path::Component<'_>| part.as_os_str() == ".git";
    let asks_for_git = paths.iter().any(|path| path.components().any(is_git));
    if !style.all && !asks_for_git {
        name_repositories_once(&mut changes);
    }
    leave_filled_directories(&mut changes);
    if style.name_only {
        return changes.iter().try_for_each(|change| Ok(writeln!(out, "{}", Line::from(&change).name())?));
    }
    if style.name_status {
        let line = |change: &Change| format!("{} {}", view::letter(Line::from(change).what), Line::from(change).name());
        return changes.iter().try_for_each(|change| Ok(writeln!(out, "{}", line(&change))?));
    }
    if style.stat {
        return if changes.is_empty() { Ok(()) } else { stat::write(out, sides, &changes, weighed, all) };
    }
    let raw = !out.is_terminal();
    for change in changes.iter().flat_map(patch::split_retyped) {
        patch::write_change(out, sides, &change, style.context, raw)?;
    }
    Ok(())
}

/// A repository that comes or goes as a whole is named once: nobody reads its objects, and git would not apply them.
fn name_repositories_once(changes: &mut Changes) {
    let mut repository: Option<Vec<u8>> = None;
    changes.retain(|change| {
        let inside = |git: &Vec<u8>| change.path.strip_prefix(&**git).is_some_and(|rest| rest.starts_with(b"/"));
        if repository.as_ref().is_some_and(inside) {
            return false;
        }
        let is_git = change.path == b".git" || change.path.ends_with(b"/.git");
        repository = (is_git && Line::from(change).is_whole_directory()).then(|| change.path.clone());
        true
    });
}

/// A directory that comes or goes with what is in it need not be named itself.
fn leave_filled_directories(changes: &mut Changes) {
    let filled = |change: &Change, next: Option<&Change>| {
        let what = change.what();
        let entry = change.after.as_ref().or(change.before.as_ref());
        let is_directory = entry.is_some_and(|entry| entry.kind.file_type() == FileType::Dir);
        let inside = |next: &Change| next.path.strip_prefix(&*change.path).is_some_and(|rest| rest.starts_with(b"/"));
        is_directory && (what.added || what.removed) && next.is_some_and(inside)
    };
    let mut keep = Vec::with_capacity(changes.len());
    let mut all = changes.iter().peekable();
    while let Some(change) = all.next() {
        keep.push(!filled(&change, all.peek()));
    }
    drop(all);
    let mut keep = keep.into_iter();
    changes.retain(|_| keep.next().expect("each was judged"));
}
