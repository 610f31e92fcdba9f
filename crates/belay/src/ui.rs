//! What belay says: data to standard output, talk to standard error, colour and a pager only on a terminal.
//!
//! Nothing else in the program writes to either stream.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

pub(crate) mod escape;
mod pager;
mod progress;
pub(crate) mod quantity;
mod streamed;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod width;

pub(crate) use pager::Out;
pub(crate) use progress::Meter;
pub(crate) use streamed::Streamed;

use crate::error::{Failure, Kind, Result};

/// Columns before the further lines of a warning or a hint.
pub(crate) const INDENT: usize = 6;

/// How to speak to whoever started belay.
pub(crate) struct Ui {
    /// Print JSON instead of text.
    pub(crate) json: bool,
    /// Say only what was asked for, and errors.
    pub(crate) quiet: bool,
    color: ColorChoice,
    pager: Option<String>,
    /// Whether whoever reads this must not learn how large and of which hash a whole tree is: part of it is hidden.
    pub(crate) veils: bool,
}

impl Ui {
    /// A voice with these manners; `pager` is the command for long output, if one is wanted.
    pub(crate) fn new(json: bool, quiet: bool, color: ColorChoice, pager: Option<String>) -> Ui {
        // Everything downstream (anstream, clap) asks this one switch.
        color.write_global();
        Ui { json, quiet, color, pager, veils: false }
    }

    /// The same for somebody from whom part of the workspace is hidden.
    pub(crate) fn veiling(self, veils: bool) -> Ui {
        Ui { veils, ..self }
    }

    /// Standard output, buffered.
    pub(crate) fn out(&self) -> Out {
        Out::plain(self.color).veiling(self.veils)
    }

    /// Standard output through the pager, when it is a terminal and text is wanted.
    pub(crate) fn paged(&self) -> Out {
        match &self.pager {
            Some(command) if !self.json && io::stdout().is_terminal() => Out::through(command, self.color),
            _ => self.out(),
        }
    }

    /// Whether what goes to standard output is coloured.
    pub(crate) fn is_coloured(&self) -> bool {
        pager::resolve(self.color, &io::stdout()) != ColorChoice::Never
    }

    /// Passes on what another belay wrote, byte for byte.
    pub(crate) fn pass_on(&self, out: &[u8], err: &[u8]) -> Result<()> {
        io::stderr().write_all(err).map_err(Failure::output)?;
        io::stdout().write_all(out).and_then(|()| io::stdout().flush()).map_err(Failure::output)
    }

    /// Prints one JSON document on one line.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<()> {
        let mut out = self.out();
        out.json(value)?;
        out.finish()
    }

    /// Says a line on standard error, unless silence was asked for.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.quiet && !self.json {
            self.tell(line);
        }
    }

    /// Says something that must not be missed.
    pub(crate) fn warn(&self, text: impl Display) {
        if self.json {
            return self.tell(serde_json::json!({ "warning": text.to_string() }));
        }
        let style = style::CAUTION;
        let text = width::behind("warning:", &format!(" {text}"), INDENT);
        self.tell(format_args!("{style}warning:{style:#}{text}"));
    }

    /// Suggests what to do next.
    pub(crate) fn hint(&self, text: impl Display) {
        let style = style::ID;
        let text = width::behind("hint:", &format!(" {text}"), INDENT);
        self.say(format_args!("{style}hint:{style:#}{text}"));
    }

    /// Reports a failure, as text or as a JSON object, both on standard error.
    pub(crate) fn fail(&self, failure: &Failure) {
        if failure.kind == Kind::Closed {
            return;
        }
        if self.json {
            self.tell(failure.to_json());
        } else {
            let _ = failure.write(&mut self.err());
        }
    }

    /// Whether a person can be asked.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks for consent to a plan; without a terminal to ask on, it is refused with a hint at `-y`.
    pub(crate) fn confirm(&self, question: &str) -> Result<()> {
        self.confirm_or(question, "add -y to go ahead without being asked, or --dry-run to only see the plan")
    }

    /// The same with another hint.
    pub(crate) fn confirm_or(&self, question: &str, hint: &str) -> Result<()> {
        if !self.is_interactive() {
            return Err(Failure::refused("this needs your consent, and there is no terminal to ask on")
                .untouched()
                .hint(hint));
        }
        // Nothing is under way, so that Ctrl-C ends it at once; where that cannot be, it ends with the answer.
        let _ = belay_session::until_interrupt();
        self.prompt(&format!("{question} [y/N] "));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map_err(Failure::output)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::refused("stopped at your word").untouched()),
        }
    }

    /// Writes a question and stays on its line.
    pub(crate) fn prompt(&self, question: &str) {
        let style = style::HEADING;
        let mut err = self.err();
        // A closed standard error leaves nobody to ask.
        let _ = write!(err, "{style}{question}{style:#}").and_then(|()| err.flush());
    }

    /// A progress bar that shows itself when the work takes more than a second on a terminal.
    pub(crate) fn meter(&self, verb: &'static str) -> Meter {
        Meter::new(verb, !self.quiet && !self.json && io::stderr().is_terminal())
    }

    /// Does work that counts nothing, with a sign of life when it takes more than a second on a terminal.
    pub(crate) fn while_working<T>(&self, verb: &'static str, work: impl FnOnce() -> T) -> T {
        self.meter(verb).beside(work)
    }

    fn err(&self) -> AutoStream<io::Stderr> {
        AutoStream::new(io::stderr(), pager::resolve(self.color, &io::stderr()))
    }

    /// Says a line on standard error, come what may.
    pub(crate) fn tell(&self, line: impl Display) {
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(self.err(), "{line}");
    }
}
