//! `belay config`: the settings in force and where each comes from.

use std::io::Write;
use std::process::ExitCode;

use belay_session::{Layer, Setting, Settings, Trust};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{escape, style};

/// Show the configuration in force
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
}

/// Print the value of one key
#[derive(Debug, clap::Args)]
#[command(after_long_help = GET_EXAMPLES)]
struct GetArgs {
    /// The key, such as snapshots.retention.budget
    #[arg(value_name = "KEY")]
    key: String,
}

const GET_EXAMPLES: &str = "\
Examples:
  belay config get snapshots.retention.budget
  belay config get isolation.engine --json";

/// List every key with its value
///
/// Flags beat BELAY_* variables, those beat ~/.config/belay/config.toml (or .yaml), that beats the defaults.
/// /etc/belay/corp.toml wins over all. belay.toml in a workspace counts in full only once it is trusted; until then
/// only what makes protection stronger is taken from it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
struct ListArgs {
    /// Only keys that begin so
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,

    /// Show where each value comes from
    #[arg(long)]
    origin: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay config list
  belay config list --origin
  belay config list snapshots.exclude
  BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED=capture belay config list --origin";

/// Prints the settings.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let (args, key) = match args.action {
        Action::List(args) => (args, None),
        Action::Get(GetArgs { key }) => (ListArgs { prefix: None, origin: false }, Some(key)),
    };
    let home = context.home()?;
    let sources = context.sources()?;
    let workspace = home.find(&context.directory()?, &sources)?;
    let settings = match &workspace {
        Some(workspace) => workspace.settings().clone(),
        None => Settings::resolve(&sources)?,
    };
    if let Some(Trust::Untrusted { file, ignored }) = workspace.as_ref().map(|workspace| workspace.trust()) {
        let file = escape::printable(file.as_bytes());
        context
            .ui
            .say(format_args!("{file} is not trusted, so these of its keys do not count: {}", ignored.join(", ")));
        context.ui.hint("read it, then `belay trust`");
    }
    if let Some(key) = key {
        let list = settings.list();
        let Some(setting) = list.iter().find(|setting| setting.key == key) else {
            return Err(Failure::not_found(format!("no key is called {}", escape::printable(key.as_bytes())))
                .hint("`belay config list` shows every key"));
        };
        let mut out = context.ui.out();
        match context.ui.json {
            true => out.json(&to_json(setting))?,
            false => writeln!(out, "{}", setting.value)?,
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let all = settings.list();
    let shown: Vec<&Setting> = all.iter().filter(|setting| setting.key.starts_with(prefix)).collect();
    if shown.is_empty() {
        return Err(Failure::not_found(format!("no key begins with {}", escape::printable(prefix.as_bytes())))
            .hint("`belay config list` shows every key"));
    }
    if context.ui.json {
        let settings: Map<String, Value> =
            shown.iter().map(|setting| (setting.key.to_owned(), to_json(setting))).collect();
        context.ui.print_json(&json!({ "settings": settings }))?;
        return Ok(ExitCode::SUCCESS);
    }
    write(context, &shown, args.origin)?;
    Ok(ExitCode::SUCCESS)
}

fn write(context: &Context<'_>, shown: &[&Setting], origin: bool) -> Result<()> {
    let mut out = context.ui.paged();
    if origin {
        let mut table = Table::new(&["KEY", "VALUE", "ORIGIN"]);
        for setting in shown {
            let style = if setting.layer == Layer::Default { style::DIM } else { style::ID };
            let value = escape::printable(setting.value.as_bytes());
            table.row(vec![setting.key.into(), value.into(), Cell::new(origin_of(&setting.layer), style)]);
        }
        table.write(&mut out)?;
    } else {
        shown.iter().try_for_each(|setting| writeln!(out, "{} = {}", setting.key, setting.value))?;
    }
    out.finish()
}

fn origin_of(layer: &Layer) -> String {
    match layer {
        Layer::Default => "default".to_owned(),
        Layer::User(name) | Layer::Corporate(name) | Layer::Env(name) | Layer::Flag(name) => {
            escape::printable(name.as_bytes())
        }
        Layer::Workspace(name) => format!("{} (workspace)", escape::printable(name.as_bytes())),
    }
}

fn to_json(setting: &Setting) -> Value {
    let layer = match setting.layer {
        Layer::Default => "default",
        Layer::User(_) => "user",
        Layer::Corporate(_) => "corporate",
        Layer::Env(_) => "environment",
        Layer::Flag(_) => "flag",
        Layer::Workspace(_) => "workspace",
    };
    json!({ "value": setting.value, "layer": layer, "origin": origin_of(&setting.layer), "help": setting.help })
}
