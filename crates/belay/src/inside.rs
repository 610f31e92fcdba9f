//! belay inside a run: the store is out of reach, so the run is asked over its socket.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use belay_session::event::Raw;
use belay_session::{AgentAnswer, AgentCall, ask_run};

use crate::args::Command;
use crate::error::{Failure, Kind, Result};
use crate::ui::{Ui, escape};

/// Whether a command needs nothing that is out of reach.
pub(crate) fn is_local(command: &Command) -> bool {
    matches!(command, Command::Completions(_))
}

/// Has the run carry out this very command line, and shows what came of it.
pub(crate) fn ask(socket: &Path, ui: &Ui) -> Result<ExitCode> {
    let cwd = std::env::current_dir().map_err(|error| Failure::system("cannot find the current directory", &error))?;
    let call = AgentCall {
        argv: std::env::args_os().skip(1).map(|word| Raw::from(word.as_bytes())).collect(),
        cwd: cwd.as_os_str().as_bytes().into(),
        color: ui.is_coloured(),
    };
    let answer = ask_run(socket, &call).map_err(|error| {
        Failure::system("the run that this command is in does not answer", &error)
            .untouched()
            .hint("outside of a run, unset BELAY_AGENT_SOCK")
    })?;
    match answer {
        AgentAnswer::Done { code, out, err, cut } => {
            ui.pass_on(out.bytes(), err.bytes())?;
            if cut {
                ui.warn("the output was longer than a run passes on");
            }
            Ok(ExitCode::from(code))
        }
        AgentAnswer::Refused(why) => Err(Failure::new(Kind::Refused, escape::printable(why.as_bytes())).untouched()),
    }
}
