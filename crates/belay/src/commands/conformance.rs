//! `belay conformance`: what a snapshot tool keeps and what it loses, belay itself or any other.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use belay_conformance::{Call, GROUPS, Outcome, PRESETS, Preset, Property, Tool, Trials, Verdict, at, try_all};
use belay_session::store::Progress;
use serde_json::{Value, json};

use crate::context::Context;
use crate::environment::{in_path, own_variables};
use crate::error::{Failure, Kind, Result};
use crate::ui::escape::printable;
use crate::ui::style;
use crate::ui::table::{Cell, Table};

/// Characters of what differs, for a person; `--json` has all of it.
const DIFFERS_CHARS_MAX: usize = 140;

/// Find out what a snapshot tool keeps and what it loses
///
/// Makes small workspaces, one for each property that a snapshot should keep, has the tool capture each, wrecks it, has the
/// tool bring it back, and looks at what is there with plain system calls. Without a tool belay itself is tried. Everything
/// happens in a temporary directory that goes afterwards; the tool's commands are started there. Exits with 1 when
/// something is lost.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples())]
pub(crate) struct Args {
    /// The shell command that captures; {workspace} and {store} stand for directories, and it starts in the workspace
    #[arg(long, value_name = "COMMAND", requires = "restore", conflicts_with = "tools")]
    snapshot: Option<String>,

    /// The shell command that brings everything back
    #[arg(long, value_name = "COMMAND", requires = "snapshot")]
    restore: Option<String>,

    /// Only properties or groups of them whose name holds this text
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// Make the workspaces beneath DIR, for instance on another filesystem
    #[arg(long, value_name = "DIR")]
    place: Option<PathBuf>,

    /// How long each command of the tool may take
    #[arg(long, value_name = "SECONDS", default_value = "60", hide_short_help = true)]
    timeout: u64,

    /// Names of known tools, or a program that is called with `snapshot` or `restore`, the workspace and the store
    #[arg(last = true, value_name = "TOOL")]
    tools: Vec<OsString>,
}

fn examples() -> String {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!(
        "\
Known tools: belay, {}

Examples:
  belay conformance
  belay conformance -- belay git-stash tar
  belay conformance --only git -- git-ref
  belay conformance --snapshot 'tar cf {{store}}/s.tar .' --restore 'tar xf {{store}}/s.tar'
  belay conformance -- ./my-tool --verbose     calls ./my-tool --verbose snapshot WORKSPACE STORE",
        known.join(", ")
    )
}

/// Tries the tools, and prints what was kept.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let tools = args.tools()?;
    let properties = args.properties()?;
    let cannot = |error: std::io::Error| Failure::system("cannot make workspaces to try in", &error);
    let place = Place::new(args.place.as_deref()).map_err(cannot)?;
    let meter = context.ui.meter("Trying").counting("property");
    meter.expect((tools.len() * properties.len()) as u64, 0);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let trials =
        Trials { place: &place.0, limit: Duration::from_secs(args.timeout), threads, stop: context.work(&meter).stop };
    let mut results = Vec::new();
    for tool in &tools {
        let verdicts =
            try_all(tool, &properties, trials, &mut |_| meter.advance(1, 0)).map_err(|error| {
                match context.is_stopped() {
                    true => Failure::new(Kind::Interrupted, "interrupted"),
                    false => Failure::system(format!("cannot try {}", printable(tool.name.as_bytes())), &error),
                }
            })?;
        results.push((tool.name.as_str(), verdicts));
    }
    drop(meter);
    show(context, &results)?;
    let is_lost = |verdict: &Verdict| matches!(verdict.outcome, Outcome::Lost(_));
    let lost = results.iter().any(|(_, verdicts)| verdicts.iter().any(is_lost));
    Ok(if lost { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    fn tools(&self) -> Result<Vec<Tool>> {
        if let (Some(snapshot), Some(restore)) = (&self.snapshot, &self.restore) {
            return Ok(vec![Tool::of_lines("the tool", snapshot, restore)]);
        }
        let names: Vec<Option<&str>> =
            self.tools.iter().map(|word| word.to_str().filter(|word| is_known(word))).collect();
        if self.tools.is_empty() {
            return Ok(vec![belay()?]);
        }
        if names.iter().all(Option::is_some) {
            return names.into_iter().flatten().map(known).collect();
        }
        let program = &self.tools[0];
        let is_there = in_path(&program.to_string_lossy()).is_some() || Path::new(program).is_file();
        if !is_there {
            let name = printable(program.as_encoded_bytes());
            return Err(Failure::not_found(format!("{name} is neither a known tool nor a program"))
                .hint("`belay conformance --help` names the known ones"));
        }
        let mut words = self.tools.clone();
        if program.as_encoded_bytes().contains(&b'/') {
            // It is started in workspaces, from where a relative path leads elsewhere.
            let absolute = std::path::absolute(program);
            words[0] = absolute.map_err(|error| Failure::system("cannot find the current directory", &error))?.into();
        }
        let name = self.tools.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Ok(vec![Tool { name, ..Tool::of_program(&words) }])
    }

    fn properties(&self) -> Result<Vec<&'static Property>> {
        let is_wanted = |group: &str, property: &Property| {
            let holds = |text: &String| group == text || property.law == text || property.name.contains(text.as_str());
            self.only.is_empty() || self.only.iter().any(holds)
        };
        let wanted = GROUPS.iter().flat_map(|(group, all)| all.iter().filter(move |one| is_wanted(group, one)));
        let wanted: Vec<&Property> = wanted.collect();
        if wanted.is_empty() {
            let groups: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
            return Err(
                Failure::not_found("no property is called so").hint(format!("the groups: {}", groups.join(", ")))
            );
        }
        Ok(wanted)
    }
}

fn is_known(name: &str) -> bool {
    name == "belay" || Preset::find(name).is_some()
}

fn known(name: &str) -> Result<Tool> {
    match Preset::find(name) {
        None => belay(),
        Some(preset) if in_path(preset.program).is_none() => {
            Err(Failure::not_found(format!("{} is not installed", preset.program)))
        }
        Some(preset) => Ok(preset.tool()),
    }
}

/// This very program, with a store of its own, and unaware of any run that it may be in.
fn belay() -> Result<Tool> {
    let own = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
    let call = |words: &[&str]| {
        Call::Words(std::iter::once(own.clone().into_os_string()).chain(words.iter().map(OsString::from)).collect())
    };
    Ok(Tool {
        name: "belay".to_owned(),
        snapshot: call(&["snapshot", "-q", "--label", "conformance"]),
        restore: call(&["rollback", "conformance", "-y", "-q"]),
        set: vec![("BELAY_HOME".to_owned(), "{store}/belay".to_owned())],
        unset: own_variables(),
    })
}

/// A temporary directory that goes whatever is left in it.
struct Place(PathBuf);

impl Place {
    fn new(parent: Option<&Path>) -> std::io::Result<Place> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("belay-conformance-").disable_cleanup(true);
        let made = match parent {
            Some(parent) => builder.tempdir_in(std::path::absolute(parent)?),
            None => builder.tempdir(),
        };
        // Tools are told the real path, since some of them resolve links and would not know it again.
        Ok(Place(made?.path().canonicalize()?))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some(parent), Some(name)) = (self.0.parent(), self.0.file_name())
            && let Ok(parent) = at::open_top(parent)
        {
            // What cannot be removed is in a directory for temporary files.
            let _ = at::remove_all(&parent, name.as_encoded_bytes());
        }
    }
}

type Results<'a> = [(&'a str, Vec<Verdict>)];

fn show(context: &Context<'_>, results: &Results<'_>) -> Result<()> {
    let mut out = context.ui.out();
    if context.ui.json {
        let tools: Vec<Value> = results.iter().map(|(name, verdicts)| to_json(name, verdicts)).collect();
        out.json(&json!({ "tools": tools }))?;
        return out.finish();
    }
    match results {
        [(_, verdicts)] => alone(verdicts).write(&mut out)?,
        several => beside(several).write(&mut out)?,
    }
    writeln!(out)?;
    for (name, verdicts) in results {
        let (kept, tried) = score(verdicts);
        let bold = style::HEADING;
        writeln!(out, "{bold}{}: {kept} of {tried}{bold:#}", printable(name.as_bytes()))?;
    }
    out.finish()
}

/// What one tool did, with what differs.
fn alone(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new(&["PROPERTY", "LAW", "RESULT", "WHAT DIFFERS"]);
    for verdict in verdicts {
        let differs = match &verdict.outcome {
            Outcome::Kept => String::new(),
            Outcome::Lost(lines) => match lines.as_slice() {
                [only] => short(only),
                lines => format!("{} (and {} more)", short(&lines[0]), lines.len() - 1),
            },
            Outcome::NotTried(why) => why.clone(),
        };
        let cells = [verdict.property.name.into(), verdict.property.law.into(), cell(&verdict.outcome)];
        table.row(cells.into_iter().chain([differs.into()]).collect());
    }
    table
}

/// As much as a line of a table takes; what the observer says is escaped already.
fn short(text: &str) -> String {
    match text.char_indices().nth(DIFFERS_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Several tools, a column each.
fn beside(results: &Results<'_>) -> Table {
    let mut header = vec!["PROPERTY".to_owned(), "LAW".to_owned()];
    header.extend(results.iter().map(|(name, _)| printable(name.as_bytes()).to_uppercase()));
    let mut table = Table::new(&header);
    for (at, first) in results[0].1.iter().enumerate() {
        let row = results.iter().map(|(_, verdicts)| cell(&verdicts[at].outcome));
        table.row([first.property.name.into(), first.property.law.into()].into_iter().chain(row).collect());
    }
    table
}

fn cell(outcome: &Outcome) -> Cell {
    let style = match outcome {
        Outcome::Kept => style::GOOD,
        Outcome::Lost(_) => style::BAD,
        Outcome::NotTried(_) => style::DIM,
    };
    Cell::new(word(outcome), style)
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "kept",
        Outcome::Lost(_) => "lost",
        Outcome::NotTried(_) => "not tried",
    }
}

fn score(verdicts: &[Verdict]) -> (usize, usize) {
    let count = |wanted: &str| verdicts.iter().filter(|verdict| word(&verdict.outcome) == wanted).count();
    (count("kept"), count("kept") + count("lost"))
}

fn to_json(name: &str, verdicts: &[Verdict]) -> Value {
    let (kept, tried) = score(verdicts);
    let rows = verdicts.iter().map(|verdict| {
        let (lost, why): (&[String], _) = match &verdict.outcome {
            Outcome::Kept => (&[], None),
            Outcome::Lost(lines) => (lines, None),
            Outcome::NotTried(why) => (&[], Some(why)),
        };
        json!({
            "property": verdict.property.name, "law": verdict.property.law, "outcome": word(&verdict.outcome),
            "differs": lost, "not_tried_because": why,
        })
    });
    json!({ "tool": name, "kept": kept, "tried": tried, "properties": rows.collect::<Vec<_>>() })
}
