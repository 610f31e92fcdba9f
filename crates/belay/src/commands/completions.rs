//! `belay completions`: a completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::context::Context;
use crate::error::Result;

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  belay completions bash > ~/.local/share/bash-completion/completions/belay
  belay completions zsh > ~/.zfunc/_belay
  belay completions fish > ~/.config/fish/completions/belay.fish";

/// Writes the script to standard output.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    // Into memory first: the generator panics where a reader has gone away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "belay", &mut script);
    let mut out = context.ui.out();
    out.write_all(&script)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
