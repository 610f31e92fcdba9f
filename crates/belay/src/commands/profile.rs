//! `belay profile`: what each profile grants to a confined command.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::jail::Access;
use belay_session::{Profile, Profiles};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::profiles;
use crate::ui::escape;
use crate::ui::table::Table;

/// Show what a confined command may reach
///
/// A profile is a TOML file: lists of paths that can be read, written, copied privately, protected or hidden, variables
/// that are passed on, and the network. Your own go into `profiles/NAME.toml` beside the configuration file; one that
/// has a built-in name replaces it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List every profile
    #[command(visible_alias = "ls", after_long_help = LIST_EXAMPLES)]
    List,
    /// Show a profile with all that it inherits
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show {
        /// The profile
        name: String,
    },
    /// Check a profile's file without using it
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check {
        /// The file
        file: PathBuf,
    },
}

const LIST_EXAMPLES: &str = "\
Examples:
  belay profile list
  belay profile list --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  belay profile show claude
  belay profile show default --json";

const CHECK_EXAMPLES: &str = "\
Examples:
  belay profile check my-profile.toml";

const EXAMPLES: &str = "\
Examples:
  belay profile list
  belay profile show claude
  belay profile check my-profile.toml";

/// Prints or checks profiles.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let known = profiles::read(context)?;
    match args.action.unwrap_or(Action::List) {
        Action::List => list(context, &known)?,
        Action::Show { name } => show(context, &profiles::get(&known, &name)?)?,
        Action::Check { file } => {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let profile = known.check(&name, &profiles::text(&file)?).map_err(profiles::failure)?;
            if context.ui.json {
                context.ui.print_json(&to_json(&profile))?;
            } else {
                let rules = profile.rules.len();
                context.ui.say(format_args!("It is a profile of {rules} rules, from {}.", profile.lineage.join(", ")));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context<'_>, known: &Profiles) -> Result<()> {
    let all = known.names().into_iter().map(|name| profiles::get(known, name)).collect::<Result<Vec<Profile>>>()?;
    if context.ui.json {
        let all: Vec<Value> = all.iter().map(to_json).collect();
        return context.ui.print_json(&json!({ "profiles": all }));
    }
    let mut out = context.ui.out();
    let mut table = Table::new(&["PROFILE", "DESCRIPTION"]);
    for profile in &all {
        let description = escape::printable(profile.description.as_bytes());
        table.row(vec![escape::printable(profile.name.as_bytes()).into(), description.into()]);
    }
    table.write(&mut out)?;
    out.finish()
}

fn show(context: &Context<'_>, profile: &Profile) -> Result<()> {
    if context.ui.json {
        return context.ui.print_json(&to_json(profile));
    }
    let mut out = context.ui.paged();
    writeln!(out, "{}: {}", printable(&profile.name), printable(&profile.description))?;
    writeln!(out, "inherits, nearest last: {}", printable(&profile.lineage.join(", ")))?;
    writeln!(out, "network: {} ({})\n", network(profile), printable(&profile.shared_network.1))?;
    let mut table = Table::new(&["ACCESS", "PATH", "PROFILE"]);
    for rule in &profile.rules {
        table.row(vec![word(rule.access).into(), printable(&rule.path).into(), printable(&rule.origin).into()]);
    }
    table.write(&mut out)?;
    let variables: Vec<&str> = profile.variables.iter().map(|(pattern, _)| pattern.as_str()).collect();
    writeln!(out, "\nvariables: {}", printable(&variables.join(" ")))?;
    out.finish()
}

fn printable(text: &str) -> String {
    escape::printable(text.as_bytes())
}

fn network(profile: &Profile) -> &'static str {
    if profile.shared_network.0 { "shared" } else { "none" }
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Hidden => "hidden",
        Access::Read => "read",
        Access::Write => "write",
        Access::Private => "private",
        Access::Empty => "empty",
    }
}

fn to_json(profile: &Profile) -> Value {
    let rules: Vec<Value> = profile
        .rules
        .iter()
        .map(|rule| json!({ "path": rule.path, "access": word(rule.access), "origin": rule.origin }))
        .collect();
    let variables: Vec<Value> =
        profile.variables.iter().map(|(pattern, origin)| json!({ "pattern": pattern, "origin": origin })).collect();
    json!({
        "name": profile.name,
        "description": profile.description,
        "lineage": profile.lineage,
        "network": network(profile),
        "rules": rules,
        "variables": variables,
    })
}
