//! belay inside a run: the store is out of reach, so the run is asked over its socket.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use belay_session::event::Raw;
use belay_session::{AgentAnswer, AgentCall, ask_run};

use crate::args::Command;
use crate::commands::hook;
use crate::error::{Failure, Kind, Result};
use crate::ui::{Ui, escape};

/// Whether a command needs nothing that is out of reach.
pub(crate) fn is_local(command: &Command) -> bool {
    matches!(command, Command::Completions(_))
}

/// Has the run carry out this very command line, and shows what came of it.
pub(crate) fn ask(socket: &Path, ui: &Ui, command: &Command) -> Result<ExitCode> {
    if let Command::Hook(args) = command {
        return hook::run_inside(ui, args, &|words| tell(socket, words));
    }
    let words = std::env::args_os().skip(1).map(|word| Raw::from(word.as_bytes())).collect();
    match put(socket, words, ui.is_coloured())? {
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

/// Has the run carry out these words, of which nothing is shown.
fn tell(socket: &Path, words: &[&str]) -> Result<()> {
    let words = words.iter().map(|word| Raw::from(*word)).collect();
    match put(socket, words, false)? {
        AgentAnswer::Done { code: 0, .. } => Ok(()),
        AgentAnswer::Done { err, .. } => Err(Failure::refused(escape::printable(err.bytes()))),
        AgentAnswer::Refused(why) => Err(Failure::refused(escape::printable(why.as_bytes()))),
    }
}

fn put(socket: &Path, argv: Vec<Raw>, color: bool) -> Result<AgentAnswer> {
    let cwd = std::env::current_dir().map_err(|error| Failure::system("cannot find the current directory", &error))?;
    let call = AgentCall { argv, cwd: cwd.as_os_str().as_bytes().into(), color };
    ask_run(socket, &call).map_err(|error| {
        Failure::system("the run that this command is in does not answer", &error)
            .untouched()
            .hint("outside of a run, unset BELAY_AGENT_SOCK")
    })
}
