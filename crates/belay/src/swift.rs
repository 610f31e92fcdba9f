//! The short way for an agent's hook: whoever helps in the workspace is told before anything else is set up.
//!
//! An agent waits for each of its hooks. So nothing is read, parsed or opened here that the helper has already; and
//! whatever does not fit is left to the long way, which does the same without help.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::event::Raw;
use belay_session::{Letter, Resident, Told, Unheard, Want};
use clap::ValueEnum;

use crate::agents::Agent;
use crate::agents::word::{Said, is_garbled, understand};
use crate::commands::hook::STEP_TIME_MAX;
use crate::environment::Environment;
use crate::said;

/// The version that a helper must have, too.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How far the short way led.
pub(crate) enum Way {
    /// To the end.
    Done(ExitCode),
    /// Nowhere, or to what was found out on the way.
    Long(Option<Begun>),
}

/// What the short way found out before it had to be left.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// What was read from standard input.
    pub(crate) input: Vec<u8>,
    /// A helper that gives no sign of life.
    pub(crate) hung: Option<u32>,
    /// A helper goes on with it, and that takes longer than anybody should wait.
    pub(crate) late: bool,
}

/// What a hook was called with.
enum Call {
    /// What the agent says is on standard input.
    Said(Agent, Option<String>),
    /// A command line is about to be given to a shell.
    Shell(Agent, String),
}

/// Goes the short way if this is a hook that may.
pub(crate) fn hook() -> Way {
    let Some(call) = call() else { return Way::Long(None) };
    let Some(environment) = Environment::read().ok().filter(|environment| environment.agent_socket.is_none()) else {
        return Way::Long(None);
    };
    let mut input = Vec::new();
    let (agent, said) = match call {
        Call::Shell(agent, command) => (agent, Ok(Some(Said::shell(agent, &command)))),
        Call::Said(agent, event) => {
            input = match said::read(STEP_TIME_MAX) {
                Ok(input) => input,
                Err(_) => return Way::Long(None),
            };
            let said: Result<serde_json::Value, ()> = serde_json::from_slice(&input).map_err(drop);
            let said = said.and_then(|said| if is_garbled(event.as_deref(), &said) { Err(()) } else { Ok(said) });
            (agent, said.map(|said| understand(agent, event.as_deref(), &said)))
        }
    };
    let speaker = said.as_ref().ok().and_then(|said| Some(said.as_ref()?.speaker(agent))).unwrap_or(agent);
    let told = said.map_err(|_| Begun::default());
    match told.and_then(|said| said.map_or(Ok(()), |said| tell(said, &environment))) {
        Ok(()) => {
            if let Some(reply) = speaker.reply(None) {
                // An agent that does not read the answer does not need it.
                let _ = writeln!(std::io::stdout(), "{reply}");
            }
            Way::Done(ExitCode::SUCCESS)
        }
        Err(begun) => Way::Long(Some(Begun { input, ..begun })),
    }
}

/// What was called, if the command line is that of a hook and nothing else.
fn call() -> Option<Call> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let agent = words.next()?.into_string().ok().and_then(|name| Agent::from_str(&name, false).ok())?;
    let mut word = || words.next().map(|word| word.into_string().ok());
    match (word(), word(), word()) {
        (None, ..) => Some(Call::Said(agent, None)),
        (Some(Some(event)), None, None) if !event.starts_with('-') => Some(Call::Said(agent, Some(event))),
        (Some(Some(flag)), Some(Some(command)), None) if flag == "--shell" => Some(Call::Shell(agent, command)),
        _ => None,
    }
}

/// Tells the helper, if there is one; whatever else there is to do is left to the long way.
fn tell(said: Said, environment: &Environment) -> Result<(), Begun> {
    if said.needs_more_than_telling() {
        return Err(Begun::default());
    }
    let directory = match said.cwd {
        Some(cwd) if cwd.is_dir() => cwd,
        _ => std::env::current_dir().map_err(|_| Begun::default())?,
    };
    let late = || Begun { late: true, ..Begun::default() };
    let snag = |unheard: Unheard| match unheard {
        Unheard::Hangs(hung) => Begun { hung, ..Begun::default() },
        Unheard::Busy => late(),
        Unheard::Broken(_) => Begun::default(),
    };
    let helper = Resident::near(&environment.home, &directory).map_err(snag)?;
    let mut helper = helper.ok_or_else(Begun::default)?;
    let letter = letter(environment, directory, Want::Hear(said.word));
    match helper.ask(&letter).map_err(snag)? {
        Told::Done => Ok(()),
        Told::Later => Err(late()),
        _ => Err(Begun::default()),
    }
}

/// A letter to a helper.
pub(crate) fn letter(environment: &Environment, directory: PathBuf, want: Want) -> Letter {
    let directory = Raw::from(directory.as_os_str().as_bytes());
    Letter { version: VERSION.to_owned(), steering: environment.steering(), directory, want }
}
