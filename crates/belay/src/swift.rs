//! The short way for an agent's hook: whoever helps in the workspace is told before anything else is set up.
//!
//! An agent waits for each of its hooks. So nothing is read, parsed or opened here that the helper has already; and
//! whatever does not fit is left to the long way, which does the same without help.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::event::Raw;
use belay_session::{Letter, Resident, Told, Want};
use clap::ValueEnum;

use crate::agents::Agent;
use crate::agents::word::understand;
use crate::environment::Environment;

/// More than this is no event that an agent tells.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 << 20;

/// The version that a helper must have, too.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How far the short way led.
pub(crate) enum Way {
    /// To the end.
    Done(ExitCode),
    /// Nowhere, or to what was read from standard input.
    Long(Option<Vec<u8>>),
}

/// Goes the short way if this is a hook that may.
pub(crate) fn hook() -> Way {
    let Some((agent, event)) = call() else { return Way::Long(None) };
    let Some(environment) = Environment::read().ok().filter(|environment| environment.agent_socket.is_none()) else {
        return Way::Long(None);
    };
    let mut input = Vec::new();
    if std::io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut input).is_err() {
        return Way::Long(None);
    }
    match tell(agent, event.as_deref(), &environment, &input) {
        Some(()) => {
            if let Some(reply) = agent.reply(None) {
                // An agent that does not read the answer does not need it.
                let _ = writeln!(std::io::stdout(), "{reply}");
            }
            Way::Done(ExitCode::SUCCESS)
        }
        None => Way::Long(Some(input)),
    }
}

/// The agent and the event, if the command line is `belay hook AGENT [EVENT]` and nothing else.
fn call() -> Option<(Agent, Option<String>)> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let agent = words.next()?.into_string().ok().and_then(|name| Agent::from_str(&name, false).ok())?;
    let event = words.next().map(|event| event.into_string().ok().filter(|event| !event.starts_with('-')));
    match (event, words.next()) {
        (None, None) => Some((agent, None)),
        (Some(Some(event)), None) => Some((agent, Some(event))),
        _ => None,
    }
}

/// Tells the helper, if there is one; none if it has to be done without.
fn tell(agent: Agent, event: Option<&str>, environment: &Environment, input: &[u8]) -> Option<()> {
    let said = serde_json::from_slice(input).ok()?;
    let Some(said) = understand(agent, event, &said) else { return Some(()) };
    let directory = match said.cwd {
        Some(cwd) if cwd.is_dir() => cwd,
        _ => std::env::current_dir().ok()?,
    };
    let mut helper = Resident::near(&environment.home, &directory)?;
    let letter = letter(environment, directory, Want::Hear(said.word));
    matches!(helper.ask(&letter), Ok(Told::Done)).then_some(())
}

/// A letter to a helper.
pub(crate) fn letter(environment: &Environment, directory: PathBuf, want: Want) -> Letter {
    let directory = Raw::from(directory.as_os_str().as_bytes());
    Letter { version: VERSION.to_owned(), steering: environment.steering(), directory, want }
}
