//! `belay config`: the settings in force, where each comes from, and the user's own file.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::process::ExitCode;

use belay_session::{Edited, Layer, Setting, Settings, Trust};
use serde_json::{Map, Value, json};

use crate::agents::settings;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{escape, style};
use crate::view;

/// Show the configuration in force, or change your own
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
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

/// Set a key in your own configuration file
///
/// The value is checked as it is when the file is read. Everything else in the file stays as it is, remarks included. A
/// list is typed with commas, or as in the file: '["*.tmp", "a, b"]'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SET_EXAMPLES)]
struct SetArgs {
    /// The key, such as snapshots.retention.budget
    #[arg(value_name = "KEY")]
    key: String,

    /// The value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

const SET_EXAMPLES: &str = "\
Examples:
  belay config set agents.hide_prompts true
  belay config set snapshots.retention.budget 10GiB
  belay config set snapshots.exclude.additional '*.iso, scratch/'";

/// Take a key out of your own configuration file, so that its default counts again
#[derive(Debug, clap::Args)]
#[command(after_long_help = UNSET_EXAMPLES)]
struct UnsetArgs {
    /// The key, such as snapshots.retention.budget
    #[arg(value_name = "KEY")]
    key: String,
}

const UNSET_EXAMPLES: &str = "\
Examples:
  belay config unset agents.hide_prompts";

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
    let all = ListArgs { prefix: None, origin: false };
    let (args, key) = match args.action.unwrap_or(Action::List(all)) {
        Action::List(args) => (args, None),
        Action::Get(GetArgs { key }) => (ListArgs { prefix: None, origin: false }, Some(key)),
        Action::Set(SetArgs { key, value }) => return change(context, &key, Some(&value)),
        Action::Unset(UnsetArgs { key }) => return change(context, &key, None),
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

/// Changes a key in the user's own file, and says what counts now.
fn change(context: &Context<'_>, key: &str, value: Option<&str>) -> Result<ExitCode> {
    let (path, file) = context.user_config()?;
    let edited = Settings::edited(&file, key, value)?;
    let shown = view::path(&path);
    if edited.text != file.text {
        let path = settings::real(&path);
        let cannot = |error: &std::io::Error| Failure::named(format!("cannot write {shown}"), error).untouched();
        if std::fs::metadata(&path).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(Failure::refused(format!("{shown} is read-only")).untouched());
        }
        // It may be belay's home, which nobody else looks into, whatever the mask of modes is.
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(&path));
        made.map_err(|error| cannot(&error))?;
        settings::replace(&path, &edited.text, 0o600).map_err(|error| cannot(&error))?;
    }
    let Edited { key, before, after, .. } = edited;
    // As they are now: another layer may still decide, or the file may say something else that is wrong.
    let setting = settings_now(context)?.list().into_iter().find(|setting| setting.key == key);
    let in_force = setting.as_ref().map(to_json).unwrap_or_default();
    if context.ui.json {
        let (before, after) = (before.as_deref(), after.as_deref());
        context.ui.print_json(
            &json!({ "key": key, "file": shown, "before": before, "after": after, "in_force": in_force }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    context.ui.say(match (&before, &after) {
        (before, after) if before == after => match after {
            Some(after) => format!("{key} is {after} in {shown} already"),
            None => format!("{key} is not in {shown}"),
        },
        (Some(before), Some(after)) => format!("{key} = {after} in {shown} (it was {before})"),
        (None, Some(after)) => format!("{key} = {after} in {shown}"),
        (_, None) => format!("{key} is no longer in {shown}"),
    });
    if let Some(setting) = setting.filter(|setting| match &setting.layer {
        Layer::User(_) => after.is_none(),
        Layer::Default => after.is_some(),
        _ => true,
    }) {
        context.ui.warn(format_args!("in force is {}, by {}", setting.value, origin_of(&setting.layer)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The settings in force here.
fn settings_now(context: &Context<'_>) -> Result<Settings> {
    let sources = context.sources()?;
    match context.home()?.find(&context.directory()?, &sources)? {
        Some(workspace) => Ok(workspace.settings().clone()),
        None => Ok(Settings::resolve(&sources)?),
    }
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
