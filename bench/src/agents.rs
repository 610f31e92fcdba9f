//! What agents feel: a hook, the status line and the tools, beside the start of `/bin/true` and a walk that finds nothing.
//!
//! Everything is measured by a process of the user in question, so that no change of user is part of a figure.

mod client;
pub(crate) mod probe;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Doing, Error, Result};
use crate::measure;
use crate::table::{preamble, time};
use crate::trace::lane::{Ground, Lane, Who};
use crate::trace::wanted;

const HOOK_TIMES_MAX: f64 = 3.0;
const ALONE_EXTRA: Duration = Duration::from_millis(10);
const STATUSLINE_MAX: Duration = Duration::from_millis(5);
const CREATE_MAX: Duration = Duration::from_millis(15);
const LIST_MIN: f64 = 5000.0;

/// Calls hooks and tools as agents do.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// As whom to run; both when none is named.
    #[arg(long = "as", value_delimiter = ',', value_enum)]
    who: Vec<Who>,
    /// The workspace.
    #[arg(long, default_value = "M")]
    workspace: String,
    /// Rounds of each.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// Where bench/workspaces.sh put the workspaces.
    #[arg(long, default_value = "target/bench-data")]
    data: PathBuf,
    /// Where copies and images go; the data's directory when not named.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// A release build of belay.
    #[arg(long, default_value = "target/release/belay")]
    belay: PathBuf,
    /// A file that gets the table too.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The least and the median of some times.
#[derive(Clone, Copy)]
struct Figure {
    least: Duration,
    median: Duration,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut text = String::new();
    let mut say = |line: String| {
        println!("{line}");
        text.push_str(&line);
        text.push('\n');
    };
    say(preamble());
    for who in wanted(&args.who) {
        let ground = Ground { data: &args.data, scratch: args.scratch.as_deref(), belay: &args.belay };
        match Lane::new(who, &ground)? {
            Ok(lane) => table(&lane, args)?.into_iter().for_each(&mut say),
            Err(reason) => say(format!("skipped as {}: {reason}", who.name())),
        }
    }
    match &args.out {
        Some(out) => std::fs::write(out, &text).doing("write", out),
        None => Ok(()),
    }
}

fn table(lane: &Lane, args: &Args) -> Result<Vec<String>> {
    let workspace = lane.workspace(&args.workspace)?;
    let mut probe = lane.command(lane.path("bench"));
    probe.arg("agents-probe").arg("--belay").arg(lane.path("belay")).arg("--workspace").arg(&workspace);
    probe.arg("--rounds").arg(args.rounds.to_string());
    lane.settle()?;
    let said = measure::run(vec![probe])?.stdout;
    let find = |name: &str| figure(&said, name);
    let (bare, walk) = (find("true")?, find("walk")?);
    let (hook, alone, line, create) = (find("hook")?, find("alone")?, find("statusline")?, find("create")?);
    let (list, piped) = (rate(&said, "list")?, rate(&said, "list-piped")?);
    let times = |one: Duration| one.as_secs_f64() / bare.least.as_secs_f64();
    let median_times = hook.median.as_secs_f64() / bare.median.as_secs_f64();
    let both = |one: Figure| format!("least {}, p50 {}", time(one.least), time(one.median));
    let mut lines = vec![
        format!("\n## {} as {}\n", args.workspace, lane.who.name()),
        "| | measured | promised | kept |\n|---|---|---|---|".to_owned(),
        format!("| `/bin/true` | {} | | |", both(bare)),
        format!("| a walk that finds nothing (`belay diff`) | {} | | |", both(walk)),
    ];
    let mut row = |what: &str, measured: String, promised: &str, kept: bool| {
        let kept = if kept { "yes" } else { "**no**" };
        lines.push(format!("| {what} | {measured} | {promised} | {kept} |"));
    };
    let measured = format!("{}: {:.2} × `/bin/true` ({median_times:.2} × at p50)", both(hook), times(hook.least));
    row("hook, nothing changed", measured, "≤ 3 × `/bin/true`", times(hook.least) <= HOOK_TIMES_MAX);
    let extra = alone.least.as_secs_f64() - walk.least.as_secs_f64();
    let measured = format!("{}: the walk {:+.1} ms", both(alone), extra * 1e3);
    row("hook without a helper, nothing changed", measured, "≤ the walk + 10 ms", extra <= ALONE_EXTRA.as_secs_f64());
    let measured = format!("{}: {:.2} × `/bin/true`", both(line), times(line.least));
    row("`belay statusline`", measured, "≤ 5 ms", line.least <= STATUSLINE_MAX);
    row("`snapshots_create`, ten files changed", both(create), "p50 ≤ 15 ms", create.median <= CREATE_MAX);
    let measured = format!("{list:.0} calls a second one by one, {piped:.0} if sixteen are under way");
    row("`snapshots_list` on one connection", measured, "≥ 5,000", list.max(piped) >= LIST_MIN);
    Ok(lines)
}

fn fields<'a>(said: &'a str, name: &str) -> Result<Vec<&'a str>> {
    let line = said.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|line| line[0] == name);
    line.ok_or_else(|| Error::Output { program: "agents-probe".to_owned(), text: said.to_owned() })
}

fn numbers(said: &str, name: &str) -> Result<Vec<f64>> {
    let fields = fields(said, name)?;
    let numbers = fields[1..].iter().map(|field| field.parse()).collect::<std::result::Result<Vec<f64>, _>>();
    let wrong = |_| Error::Output { program: "agents-probe".to_owned(), text: fields.join("\t") };
    numbers.map_err(wrong)
}

fn figure(said: &str, name: &str) -> Result<Figure> {
    let numbers = numbers(said, name)?;
    Ok(Figure { least: Duration::from_secs_f64(numbers[0]), median: Duration::from_secs_f64(numbers[1]) })
}

fn rate(said: &str, name: &str) -> Result<f64> {
    Ok(numbers(said, name)?[0])
}
