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
mod summary;
mod swift;
mod ui;
mod view;

use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser;

use crate::args::{Cli, Color, Command};
use crate::context::Context;
use crate::environment::Environment;
use crate::swift::Way;
use crate::ui::Ui;

fn main() -> ExitCode {
    let begun = match swift::hook() {
        Way::Done(code) => return code,
        Way::Long(begun) => begun,
    };
    let mut cli = Cli::parse();
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
    let done = environment.and_then(|environment| {
        match environment.agent_socket.clone().filter(|_| !inside::is_local(&cli.command)) {
            Some(socket) => inside::ask(&socket, &ui, &cli.command),
            None => commands::run(cli, &Context::new(&ui, environment, global)),
        }
    });
    done.unwrap_or_else(|failure| {
        ui.fail(&failure);
        ExitCode::from(failure.kind.exit_code())
    })
}
