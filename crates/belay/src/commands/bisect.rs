//! `belay bisect`: the first snapshot at which a command fails, and who changed what just before it.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use belay_session::store::Quiet;
use belay_session::{
    Changed, Checkout, Confinement, ConfinementEngine, Den, Program, Search, Snapshot, Turn, Verdict, Work, Workspace,
    suits,
};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::ui::quantity;
use crate::view::changes::Line;
use crate::view::{self, touch};
use crate::{past, profiles};

/// Find the snapshot, and the command, that broke something
///
/// Runs CMD on snapshots between --since and --until, each in a checkout that is thrown away, and finds the first at which it fails.
/// Then it names what changed between the last good snapshot and that one, and the commands of your runs that changed it. Exit
/// code 0 of CMD is good, 125 means that this snapshot cannot be tried, anything else is bad. The workspace is not changed.
///
/// Where the machine allows it, a checkout is a layer above the workspace: dependencies that no snapshot holds are there, and CMD
/// runs at the workspace's own path, in a jail.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A snapshot at which CMD still succeeds
    #[arg(long, value_name = "SNAP")]
    since: String,

    /// A snapshot at which it fails; the present by default
    #[arg(long, value_name = "SNAP")]
    until: Option<String>,

    /// What CMD may reach; without it, the profile that suits it
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Show what CMD writes, on standard error
    #[arg(short, long)]
    verbose: bool,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  belay bisect --since @pre-run -- make test
  belay bisect --since '2h ago' -- cargo test parser
  belay bisect --since before-refactor --until @latest -- sh -c 'test -s config.json'";

/// How often a snapshot is tried again when the workspace changed meanwhile.
const TRIES_MAX: usize = 3;
/// With this exit code a command says that it cannot tell.
const CANNOT_TELL: i32 = 125;

/// A snapshot that was tried, and what came of it.
struct Tried {
    at: usize,
    verdict: Verdict,
    status: ExitStatus,
}

/// Searches and reports.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    if workspace.is_layered() {
        return Err(Failure::new(Kind::Usage, "`belay bisect` is not about a fork that is a layer").untouched());
    }
    let meter = context.ui.meter("Looking");
    let work = context.work(&meter);
    let suspects = workspace.suspects(&args.since, args.until.as_deref(), work)?;
    let present = workspace.fork_snapshot("the present, before a bisection", work)?;
    let checkout = Checkout::new(&workspace, &present, &std::env::temp_dir(), &context.sources()?)?;
    drop(meter);
    if let Some(why) = checkout.why_copied() {
        context.ui.warn(format_args!("each snapshot is copied, without what no snapshot holds: {why}"));
    }
    let steps = 2 + (suspects.len() - 1).ilog2();
    context.ui.say(format_args!(
        "{} between {} and {}: about {} to try",
        quantity::count(suspects.len() as u64, "snapshot"),
        suspects[0].id,
        suspects[suspects.len() - 1].id,
        quantity::grouped(u64::from(steps))
    ));
    let mut search = Search::new(suspects.len());
    let mut tried = Vec::new();
    let turn = loop {
        match search.turn() {
            Turn::Try(at) => {
                let one = try_one(context, &workspace, &checkout, &suspects[at], at, &args)?;
                search.tell(at, one.verdict);
                tried.push(one);
            }
            other => break other,
        }
    };
    drop(checkout);
    conclude(context, &workspace, &suspects, &search, &tried, turn)
}

fn try_one(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    checkout: &Checkout<'_, '_>,
    snapshot: &Snapshot,
    at: usize,
    args: &Args,
) -> Result<Tried> {
    let argv: Vec<Vec<u8>> = args.command.iter().map(|word| word.as_bytes().to_vec()).collect();
    let profile = args.profile.clone().unwrap_or_else(|| suits(&argv[0]).to_owned());
    let own = profiles::read(context)?;
    profiles::get(&own, &profile)?;
    let confinement = Confinement { engine: ConfinementEngine::Auto, profile, ..Confinement::default() };
    let home = context.environment.user_home.clone().unwrap_or_else(|| "/".into());
    let settings = context.environment.user_config.with_file_name("");
    let den = Den { profiles: own, home, program: None, settings, git: Vec::new(), owner: None, stranger: None };
    let env: Vec<Vec<u8>> =
        std::env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()).collect();
    let directory = workspace.beneath(&context.directory()?, ".".as_ref())?;
    let output = args.verbose.then(|| std::io::stderr().as_fd().try_clone_to_owned()).transpose();
    let output = output.map_err(|error| Failure::system("cannot use standard error", &error))?;
    let program =
        Program { argv: &argv, env: &env, directory: &directory, output, confinement: &confinement, den: &den };
    let mut status = None;
    for _ in 0..TRIES_MAX {
        let meter = context.ui.meter("Checking out");
        checkout.go_to(snapshot, context.work(&meter))?;
        drop(meter);
        status = Some(checkout.run(&program)?);
        if context.is_stopped() {
            return Err(Failure::new(Kind::Interrupted, "stopped").untouched());
        }
        // Somebody who worked in the workspace meanwhile may have been seen through the layer.
        let meter = context.ui.meter("Looking");
        if checkout.is_undisturbed(context.work(&meter))? {
            break;
        }
    }
    let status = status.expect("it is tried at least once");
    let verdict = match status.code() {
        Some(0) => Verdict::Good,
        Some(CANNOT_TELL) => Verdict::Skip,
        _ => Verdict::Bad,
    };
    let age = quantity::age(snapshot.created_at, workspace.home().now().timestamp());
    context.ui.say(format_args!("  {}  {:<14} {} ({})", snapshot.id, age, name(verdict), ending(status)));
    Ok(Tried { at, verdict, status })
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Skip => "cannot tell",
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no end".to_owned(),
    }
}

fn conclude(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    suspects: &[Snapshot],
    search: &Search,
    tried: &[Tried],
    turn: Turn,
) -> Result<ExitCode> {
    let (good, bad) = match turn {
        Turn::Found { good, bad } => (good, bad),
        Turn::BadAtOnce => {
            return Err(Failure::not_found(format!("it fails at {} already", suspects[0].id))
                .hint("name an older snapshot with --since"));
        }
        Turn::EndSkipped(at) => {
            return Err(Failure::not_found(format!("it cannot be told whether it fails at {}", suspects[at].id))
                .hint("name another snapshot with --since or --until"));
        }
        Turn::NeverBad | Turn::Try(_) => {
            let last = &suspects[suspects.len() - 1].id;
            return Err(Failure::not_found(format!("it does not fail at {last}"))
                .hint("it may depend on something that no snapshot holds, or that the jail keeps from it"));
        }
    };
    let skipped: Vec<&Snapshot> =
        search.skipped().filter(|at| (good..bad).contains(at)).map(|at| &suspects[at]).collect();
    let (good, bad) = (&suspects[good], &suspects[bad]);
    let meter = context.ui.meter("Looking");
    let changed = workspace.changed_between(good, bad, Work { progress: &Quiet, ..context.work(&meter) })?;
    drop(meter);
    match context.ui.json {
        true => context.ui.print_json(&to_json(suspects, tried, good, bad, &skipped, &changed))?,
        false => report(context, good, bad, &skipped, &changed)?,
    }
    Ok(if skipped.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(Kind::Incomplete.exit_code()) })
}

fn report(
    context: &Context<'_>,
    good: &Snapshot,
    bad: &Snapshot,
    skipped: &[&Snapshot],
    changed: &Changed,
) -> Result<()> {
    let mut out = context.ui.out();
    writeln!(out, "First bad: {}; last good: {}", view::snapshot_name(bad), view::snapshot_name(good))?;
    if !skipped.is_empty() {
        let ids: Vec<&str> = skipped.iter().map(|one| one.id.as_str()).collect();
        writeln!(out, "It may as well be one that could not be tried: {}", ids.join(", "))?;
    }
    for path in &changed.paths {
        let line = Line::from(&path.change);
        let by = touch::many(&path.touches.iter().collect::<Vec<_>>(), None, None);
        let by = if by.is_empty() { String::new() } else { format!("   {by}") };
        writeln!(out, "  {}{by}", line.status())?;
    }
    out.finish()?;
    for (run, number, argv) in culprits(changed).iter().take(5) {
        context.ui.hint(format_args!("`belay undo --command {number} --run {run}` takes back: {argv}"));
    }
    Ok(())
}

/// The commands that changed something between the two, the last one first.
fn culprits(changed: &Changed) -> Vec<(String, u64, String)> {
    let mut all: Vec<(String, u64, String)> = Vec::new();
    for touch in changed.paths.iter().flat_map(|path| path.touches.iter().rev()) {
        let Some(number) = touch.command else { continue };
        if !all.iter().any(|(run, other, _)| *run == touch.run && *other == number) {
            all.push((touch.run.clone(), number, past::command_line(&touch.argv, 60)));
        }
    }
    all
}

fn to_json(
    suspects: &[Snapshot],
    tried: &[Tried],
    good: &Snapshot,
    bad: &Snapshot,
    skipped: &[&Snapshot],
    changed: &Changed,
) -> Value {
    let one = |tried: &Tried| {
        json!({
            "snapshot": suspects[tried.at].id,
            "verdict": match tried.verdict { Verdict::Good => "good", Verdict::Bad => "bad", Verdict::Skip => "skip" },
            "exit_code": tried.status.code(),
            "signal": tried.status.signal(),
        })
    };
    let paths = changed.paths.iter().map(|path| {
        let mut value = view::change_json(&path.change);
        value["by"] = path.touches.iter().rev().map(touch::to_json).collect();
        value
    });
    json!({
        "good": view::snapshot_json(good),
        "bad": view::snapshot_json(bad),
        "skipped": skipped.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
        "tried": tried.iter().map(one).collect::<Vec<_>>(),
        "changes": paths.collect::<Vec<_>>(),
    })
}
