//! `belay why`: whether a confined command can reach something, and which rule decides that.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::jail::{PATH_CALLS, denied_call};
use belay_session::{Confinement, ConfinementEngine, Reasons, Subject};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::profiles;
use crate::ui::escape;

/// Say whether a confined command can reach something, and which rule decides
///
/// What is asked about is a path, a host, a system call or a variable. Something with a slash, or that is there, is a
/// path; the name of a call that is refused is a call; `$NAME` is a variable, and so is a name in capitals; a name with a
/// dot is a host, and so is the host of an address (`https://…`). A flag says it outright.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The path, host, system call or variable
    what: String,

    /// Under this profile
    #[arg(long, value_name = "NAME", default_value = "default")]
    profile: String,

    /// It is a path
    #[arg(long, group = "kind")]
    path: bool,

    /// It is a host
    #[arg(long, group = "kind")]
    host: bool,

    /// It is a system call
    #[arg(long, group = "kind")]
    call: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay why ~/.ssh/id_ed25519
  belay why .git/hooks --profile claude
  belay why registry.npmjs.org --profile strict
  belay why https://example.org/x
  belay why mount
  belay why '$AWS_SECRET_ACCESS_KEY'";

/// Explains a decision.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let printable = escape::harmless;
    let profile = profiles::get(&profiles::read(context)?, &args.profile)?;
    let directory = context.directory()?;
    let home = context.home()?;
    let workspace = home.find(&directory, &context.sources()?)?;
    if context.environment.user_home.is_none() {
        return Err(Failure::not_found("nobody says where your home is").untouched().hint("set HOME"));
    }
    let confines = workspace.as_ref().is_none_or(|here| here.confinement_engine() != ConfinementEngine::None);
    let asked = asked(&args, &directory);
    let taken_for = asked.name();
    if !args.call && matches!(&asked, Asked::Other(Subject::Call(name)) if !is_call(name)) {
        return Err(Failure::not_found(format!(
            "nothing called {} is known: it is no path here, and no system call that belay has rules for",
            printable(&args.what)
        ))
        .hint("--path, --host or --call says what is meant"));
    }
    let why = match asked {
        Asked::Other(subject) => profile.why(&subject),
        Asked::Path(path) => {
            let at = workspace.as_ref().map_or(directory.as_path(), |workspace| workspace.path());
            let den = profiles::den(context)?;
            let wanted = Confinement {
                engine: ConfinementEngine::Jail,
                profile: args.profile.clone(),
                ..Confinement::default()
            };
            Reasons::of(&wanted, &den, &context.environment.home, at)?.why(&path)
        }
    };
    if context.ui.json {
        context.ui.print_json(&json!({
            "subject": args.what, "taken_for": taken_for, "profile": profile.name, "decision": why.decision, "rule": why.rule,
            "origin": why.origin, "instead": why.instead, "closed": why.closed,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.out();
    let kind = if taken_for == "path" { String::new() } else { format!(" ({taken_for})") };
    writeln!(out, "{}{kind}: {}", printable(&args.what), printable(&why.decision))?;
    match &why.origin {
        Some(origin) => writeln!(out, "  rule: {} (profile {})", printable(&why.rule), printable(origin))?,
        None => writeln!(out, "  rule: {}", printable(&why.rule))?,
    }
    if let Some(instead) = &why.instead {
        writeln!(out, "  otherwise with: {}", printable(instead))?;
    }
    if let Some(closed) = &why.closed {
        // Of what can be read, writing is what was asked about.
        let what = if why.decision == "can be read" { "stays closed for writing" } else { "stays closed" };
        writeln!(out, "  {what}: {}", printable(closed))?;
    }
    out.finish()?;
    let is_said = args.path || args.host || args.call;
    if !is_said && is_a_guess(&args.what, taken_for) {
        context.ui.hint(format_args!("taken for a {taken_for}; --path, --host or --call says what is meant"));
    }
    if !confines {
        context.ui.hint("isolation.engine is \"none\": a run is confined only with --isolation jail");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether something is known about a system call of this name.
fn is_call(name: &str) -> bool {
    denied_call(name).is_some() || PATH_CALLS.iter().copied().flatten().any(|call| call.name == name)
}

enum Asked {
    Path(PathBuf),
    Other(Subject),
}

impl Asked {
    fn name(&self) -> &'static str {
        match self {
            Asked::Path(_) => "path",
            Asked::Other(Subject::Host(_)) => "host",
            Asked::Other(Subject::Call(_)) => "system call",
            Asked::Other(Subject::Variable(_)) => "variable",
        }
    }
}

/// Whether a name could as well be another thing than it was taken for.
fn is_a_guess(what: &str, taken_for: &str) -> bool {
    match taken_for {
        "path" => !what.contains('/') && denied_call(what).is_some(),
        "host" => !what.contains("://"),
        "system call" => denied_call(what).is_none(),
        _ => false,
    }
}

fn asked(args: &Args, directory: &std::path::Path) -> Asked {
    let what = &args.what;
    let path = directory.join(what);
    Asked::Other(match () {
        () if args.host => Subject::Host(host_of(what).to_owned()),
        () if args.call => Subject::Call(what.clone()),
        () if !args.path && what.contains("://") && path.symlink_metadata().is_err() => {
            Subject::Host(host_of(what).to_owned())
        }
        () if args.path || what.contains('/') || path.symlink_metadata().is_ok() => return Asked::Path(plain(&path)),
        () if what.starts_with('$') => Subject::Variable(what[1..].to_owned()),
        () if is_in_capitals(what) => Subject::Variable(what.clone()),
        () if denied_call(what).is_some() => Subject::Call(what.clone()),
        () if what.contains(['.', ':']) || what == "localhost" => Subject::Host(what.clone()),
        () => Subject::Call(what.clone()),
    })
}

/// Whether it is written as variables are; no call is.
fn is_in_capitals(what: &str) -> bool {
    what.starts_with(|first: char| first.is_ascii_uppercase())
        && what.chars().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_')
}

/// The host of an address such as `https://you@example.org:8443/x`; anything else is a host already.
fn host_of(address: &str) -> &str {
    let Some((_, rest)) = address.split_once("://") else { return address };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    match place.strip_prefix('[') {
        Some(number) => number.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

/// The path without `.` and `..`; what is asked about need not be there.
fn plain(path: &std::path::Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
