//! The command `belay`: parse, call, print.
//!
//! The only crate that prints, and the only one that reads the environment.

mod agents;
mod args;
mod bring;
mod choose;
mod commands;
mod context;
mod environment;
mod error;
mod hunks;
mod inside;
mod past;
mod patch;
mod profiles;
mod relay;
mod revert;
mod rewind;
mod said;
mod summary;
mod swift;
mod ui;
mod view;

use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser;

use crate::args::{Cli, Color, Command};
use crate::commands::run::BELAY_FAILED;
use crate::context::Context;
use crate::environment::Environment;
use crate::error::{Failure, Kind};
use crate::swift::Way;
use crate::ui::{Ui, width};

/// Columns of the help, as clap has them too.
const HELP_COLUMNS_MAX: usize = 100;

/// Commands that are proposed instead of one that there is not.
const SUGGESTED_MAX: usize = 2;

/// Says what is wrong with the command line, as whoever typed it wants to hear it.
fn misused(mut error: clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    nearest_first(&mut error);
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let is_talk = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_talk || !words.iter().any(|word| word == "--json") {
        // Whoever reads neither stream learns it from the exit code.
        let _ = match args::verb(&words) {
            None if is_talk && error.kind() != ErrorKind::DisplayVersion => help(&words),
            Some("help") if is_talk && words.last().is_some_and(|word| word == "help") => help(&words),
            _ => error.print(),
        };
    } else {
        let text = anstream::adapter::strip_str(&error.render().to_string()).to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let failure = Failure::new(Kind::Usage, message).hint("`belay help` names commands and options");
        Ui::new(true, false, ColorChoice::Never, None).fail(&failure);
    }
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        // Of a run every other code is the command's.
        _ if args::verb(&words) == Some("run") => ExitCode::from(BELAY_FAILED),
        // To agents 2 means that the call must not go on, and settings may be those of another version of belay.
        _ if args::verb(&words) == Some("hook") => ExitCode::FAILURE,
        code => ExitCode::from(u8::try_from(code).unwrap_or(2)),
    }
}

/// Of names that come close to a command that there is not, the closest is named first, and only a few.
fn nearest_first(error: &mut clap::Error) {
    use clap::error::{ContextKind, ContextValue};
    let (Some(ContextValue::String(typed)), Some(ContextValue::Strings(names))) =
        (error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::SuggestedSubcommand))
    else {
        return;
    };
    let mut names = names.clone();
    names.sort_by_key(|name| belay_session::distance(typed, name));
    names.truncate(SUGGESTED_MAX);
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
}

/// Prints the help of belay itself, by what one wants to do; where nobody asked for it, as a complaint.
fn help(words: &[String]) -> std::io::Result<()> {
    use std::io::Write;
    let mut command = args::with_groups(width::columns().min(HELP_COLUMNS_MAX));
    if words.is_empty() {
        return write!(anstream::stderr(), "{}", command.render_help().ansi());
    }
    match words.iter().any(|word| word == "-h") {
        true => command.print_help(),
        false => command.print_long_help(),
    }
}

fn main() -> ExitCode {
    let begun = match swift::hook() {
        Way::Done(code) => return code,
        Way::Long(begun) => begun,
    };
    let mut cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(error),
    };
    if let (Command::Hook(args), Some(begun)) = (&mut cli.command, begun) {
        args.go_on(begun);
    }
    let environment = Environment::read();
    let pager = environment.as_ref().ok().and_then(|environment| environment.pager.clone());
    let color = match cli.global.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let ui = Ui::new(cli.global.json, cli.global.quiet, color, pager);
    let global = cli.global.clone();
    let is_run = matches!(cli.command, Command::Run(_));
    let only_reads = cli.command.only_reads();
    let done = environment.and_then(|environment| {
        match environment.agent_socket.clone().filter(|_| !inside::is_local(&cli.command)) {
            // Inside of a run there is no other, and of a run every other code is the command's.
            Some(socket) => inside::ask(&socket, &ui, &cli.command)
                .map(|code| if is_run { ExitCode::from(BELAY_FAILED) } else { code }),
            None => commands::run(cli, &Context::new(&ui, environment, global)),
        }
    });
    done.map_err(|failure| if only_reads { failure.of_reading() } else { failure }).unwrap_or_else(|failure| {
        ui.fail(&failure);
        ExitCode::from(if is_run { BELAY_FAILED } else { failure.kind.exit_code() })
    })
}
