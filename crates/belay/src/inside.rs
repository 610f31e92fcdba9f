//! belay inside a run: the store is out of reach, so the run is asked over its socket.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_session::event::Raw;
use belay_session::{AgentAnswer, AgentCall, ask_run, talk_to_run};

use crate::args::Command;
use crate::commands::hook;
use crate::error::{Failure, Kind, Result};
use crate::ui::{Ui, escape};

/// Whether a command needs nothing that is out of reach.
pub(crate) fn is_local(command: &Command) -> bool {
    matches!(command, Command::Completions(_) | Command::Version(_))
}

/// Has the run carry out this very command line, and shows what came of it.
pub(crate) fn ask(socket: &Path, ui: &Ui, command: &Command) -> Result<ExitCode> {
    if let Command::Hook(args) = command {
        return hook::run_inside(ui, args, &|words| tell(socket, words), &|step| tell_step(socket, step));
    }
    let words = std::env::args_os().skip(1).map(|word| Raw::from(word.as_bytes())).collect();
    let call = call(words, ui.is_coloured())?;
    let (answer, stream) = match command {
        Command::Mcp(_) => talk_to_run(socket, &AgentCall { pipe: true, ..call }).map_err(silent)?,
        _ => (ask_run(socket, &call, None).map_err(silent)?, None),
    };
    if let Some(stream) = stream {
        return pipe(stream);
    }
    match answer {
        AgentAnswer::Done { code, out, err, cut } => {
            ui.pass_on(out.bytes(), err.bytes())?;
            if cut {
                ui.warn("the output was longer than a run passes on");
            }
            Ok(ExitCode::from(code))
        }
        AgentAnswer::Refused(why) => Err(Failure::new(Kind::Refused, escape::printable(why.as_bytes())).untouched()),
        AgentAnswer::Piped => Err(Failure::refused("the run answers what nobody asked")),
    }
}

/// Passes what is said here on, and what is said there back, until either falls silent for good.
fn pipe(stream: UnixStream) -> Result<ExitCode> {
    let broken = |error: std::io::Error| Failure::system("the connection to the run is broken", &error);
    let mut to_run = stream.try_clone().map_err(broken)?;
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    // Nobody waits for it: a read of standard input that nobody answers must not keep the process.
    let sender = std::thread::Builder::new().name("to-run".into()).spawn(move || {
        let _ = pass(&mut std::io::stdin().lock(), &mut to_run);
        ended.store(true, Ordering::SeqCst);
        let _ = to_run.shutdown(Shutdown::Write);
    });
    sender.map_err(broken)?;
    let mut out = std::io::stdout().lock();
    pass(&mut &stream, &mut out).map_err(broken)?;
    match has_ended.load(Ordering::SeqCst) {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::refused("the run has ended the conversation")),
    }
}

/// Copies each piece as it comes: one message is not held back until the next is there.
fn pass(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        let length = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&piece[..length])?;
        to.flush()?;
    }
}

/// Has the run carry out these words, of which nothing is shown.
fn tell(socket: &Path, words: &[&str]) -> Result<()> {
    let words = words.iter().map(|word| Raw::from(*word)).collect();
    put(socket, &call(words, false)?)
}

/// Has the run capture what changed.
fn tell_step(socket: &Path, step: String) -> Result<()> {
    put(socket, &AgentCall { step: Some(step), ..call(Vec::new(), false)? })
}

fn put(socket: &Path, call: &AgentCall) -> Result<()> {
    let answer = ask_run(socket, call, Some(hook::STEP_TIME_MAX));
    match answer.map_err(|error| if error.kind() == ErrorKind::TimedOut { late() } else { silent(error) })? {
        AgentAnswer::Done { code: 0, .. } => Ok(()),
        AgentAnswer::Done { err, .. } => Err(Failure::refused(escape::printable(err.bytes()))),
        AgentAnswer::Refused(why) => Err(Failure::refused(escape::printable(why.as_bytes()))),
        AgentAnswer::Piped => Err(Failure::refused("the run answers what nobody asked")),
    }
}

fn call(argv: Vec<Raw>, color: bool) -> Result<AgentCall> {
    let cwd = std::env::current_dir().map_err(|error| Failure::system("cannot find the current directory", &error))?;
    Ok(AgentCall { argv, cwd: cwd.as_os_str().as_bytes().into(), color, pipe: false, step: None })
}

/// The run goes on with it, and nobody waits for that.
fn late() -> Failure {
    Failure::refused(hook::LATE)
}

fn silent(error: std::io::Error) -> Failure {
    Failure::system("the run that this command is in does not answer", &error)
        .untouched()
        .hint("outside of a run, unset BELAY_AGENT_SOCK")
}
