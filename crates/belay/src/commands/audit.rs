//! `belay audit`: whether the record of a run is still what was written, and the same for somebody else to check.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belay_session::Error;
use belay_session::event::Event;
use belay_session::journal::{Error as JournalError, Verdict};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::past;
use crate::ui::escape::printable;
use crate::ui::quantity::{count, grouped};
use crate::ui::style;
use crate::view;

/// Check that the record of a run is what was written, or export it for others to check
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Verify(VerifyArgs),
    Export(ExportArgs),
}

/// Find every line of a record that was changed, removed, inserted or cut off
///
/// A record is hash-chained, and its head is signed with the key of this installation. A bundle needs neither the
/// store nor the run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = VERIFY_EXAMPLES)]
struct VerifyArgs {
    /// The run, or a file that `belay audit export` wrote; the latest run by default
    #[arg(value_name = "RUN|FILE")]
    what: Option<String>,
}

/// Write the record of a run into one signed file that can be checked anywhere
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXPORT_EXAMPLES)]
struct ExportArgs {
    /// The run: an id or its beginning, a label, @latest, @-2
    #[arg(value_name = "RUN")]
    run: String,

    /// The file, which must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Leave out every event in whose JSON form this text occurs; the rest can still be checked
    #[arg(long, value_name = "TEXT")]
    redact: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay audit verify
  belay audit export @latest run.belay-audit
  belay audit verify run.belay-audit";

const VERIFY_EXAMPLES: &str = "\
Examples:
  belay audit verify
  belay audit verify run_k8m2p1x0
  belay audit verify run.belay-audit --json";

const EXPORT_EXAMPLES: &str = "\
Examples:
  belay audit export @latest run.belay-audit
  belay audit export @latest run.belay-audit --redact s3cret --redact '\"event\":\"file\"'";

/// Verifies or exports.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    match args.action {
        Action::Verify(args) => verify(context, args.what.as_deref()),
        Action::Export(args) => export(context, &args),
    }
}

fn verify(context: &Context<'_>, what: Option<&str>) -> Result<ExitCode> {
    let home = context.home()?;
    // What somebody called a file in the workspace does not stand in for a run of that name.
    let is_run = |name: &str| !name.contains('/') && past::find(context, &home, Some(name)).is_ok();
    let file = what.filter(|name| Path::new(name).is_file() && !is_run(name)).map(Path::new);
    let verdict = match file {
        Some(path) => home.verify_bundle(path).map_err(|error| match error {
            Error::Journal(JournalError::Form(_)) => {
                Failure::new(Kind::Usage, format!("{} is no audit bundle", view::path(path)))
                    .untouched()
                    .hint("`belay audit export RUN FILE` makes one")
            }
            error => error.into(),
        })?,
        None => home.verify_journal(&past::find(context, &home, what)?)?,
    };
    if context.ui.json {
        context.ui.print_json(&json!({ "good": verdict.is_good(), "verdict": verdict }))?;
    } else {
        print(context, &verdict, file.is_some())?;
    }
    if verdict.is_good() {
        return Ok(ExitCode::SUCCESS);
    }
    let found = count(verdict.faults.len() as u64, "fault");
    Err(Failure::new(Kind::Damaged, format!("the record of {} is not what was written: {found}", verdict.run))
        .note("nothing was changed"))
}

fn print(context: &Context<'_>, verdict: &Verdict, bundle: bool) -> Result<()> {
    let mut out = context.ui.out();
    let (good, bad) = (style::GOOD, style::BAD);
    for fault in &verdict.faults {
        writeln!(out, "{bad}{}{bad:#}", printable(fault.to_string().as_bytes()))?;
    }
    if verdict.is_good() {
        let (run, events) = (printable(verdict.run.as_bytes()), count(verdict.events, "event"));
        let but = if verdict.erased > 0 { ", but for erased words" } else { "" };
        writeln!(out, "{good}good{good:#}: {run}, {events}, each as it was written{but}")?;
    }
    let state = if verdict.closed { "closed" } else { "open: the run goes on, or nobody closed it" };
    writeln!(out, "state         {state}")?;
    writeln!(out, "signed        {} of {} events", grouped(verdict.signed), grouped(verdict.events))?;
    let whose = match verdict.known_key {
        Some(true) => "this installation's",
        Some(false) => "NOT this installation's: compare it with that of whoever sent this",
        None => "",
    };
    writeln!(out, "key           {} {whose}", verdict.public_key)?;
    if verdict.erased > 0 {
        writeln!(out, "erased        words of {}, by `belay forget`: signed", count(verdict.erased, "event"))?;
    }
    if bundle {
        writeln!(out, "left out      {}", count(verdict.redacted, "event"))?;
    }
    for (name, root) in [("tree before", &verdict.root_before), ("tree after", &verdict.root_after)] {
        writeln!(
            out,
            "{name:<13} {}",
            root.as_deref().map_or_else(|| "not recorded".to_owned(), |root| printable(root.as_bytes()))
        )?;
    }
    out.finish()
}

fn export(context: &Context<'_>, args: &ExportArgs) -> Result<ExitCode> {
    let home = context.home()?;
    let run = past::find(context, &home, Some(&args.run))?;
    let journal = home.journal(&run)?;
    let cannot =
        |error: std::io::Error| Failure::named(format!("cannot create {}", view::path(&args.file)), &error).untouched();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.file).map_err(cannot)?;
    let mut file = BufWriter::new(file);
    let texts: Vec<String> = args.redact.iter().flat_map(|text| [text.clone(), escaped(text)]).collect();
    let redact = |event: &Event| {
        let json = serde_json::to_string(event).unwrap_or_default();
        texts.iter().any(|text| json.contains(text.as_str()))
    };
    let exported = journal.export(&mut file, &redact).map_err(belay_session::Error::from)?;
    file.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all()).map_err(cannot)?;
    if context.ui.json {
        context.ui.print_json(&exported)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (events, redacted) = (count(exported.events, "event"), exported.redacted);
    context.ui.say(format_args!("Wrote {events} of {} into {}.", run.id, view::path(&args.file)));
    if redacted > 0 {
        context.ui.say(format_args!("The bodies of {} were left out.", count(redacted, "event")));
    }
    context.ui.hint(format_args!("`belay audit verify {}` checks it, on any machine", view::path(&args.file)));
    Ok(ExitCode::SUCCESS)
}

/// The text as it stands in JSON.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
