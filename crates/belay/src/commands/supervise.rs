//! `belay supervise`: the process behind a run; started by `belay run` and `belay watch`, never by a person.

use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use belay_session::{Host, inherited};

use crate::context::Context;
use crate::error::{Failure, Result};

/// Hold tracer, journal and terminal of a run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The descriptor of the connection to whoever started it
    #[arg(long, value_name = "FD")]
    channel: Option<RawFd>,

    /// The run
    run: String,
}

/// Set when the supervisor is to stop the run.
static STOP: AtomicBool = AtomicBool::new(false);

/// Supervises the run to its end.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    // Tracers date what they see by a clock that nobody sets, and everything else of the run must fit to that.
    let home = context.home()?.steady();
    let channel = args.channel.map(inherited).transpose();
    let channel = channel.map_err(|error| Failure::system("cannot use the connection", &error))?;
    belay_session::on_interrupt(&STOP).map_err(|error| Failure::system("cannot handle signals", &error))?;
    let variable =
        |(name, value): (std::ffi::OsString, std::ffi::OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
    let den = crate::profiles::den(context)?;
    let host = Host {
        den,
        answerer: Some(super::answer::answerer),
        env: std::env::vars_os().map(variable).collect(),
        channel,
        stop: &STOP,
    };
    belay_session::supervise(&home, &context.sources()?, &args.run, host)?;
    Ok(ExitCode::SUCCESS)
}
