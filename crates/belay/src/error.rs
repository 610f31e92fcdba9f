//! The one error type at the edge: what happened, what was left untouched, what to do next, and the exit code.

use std::error::Error as StdError;
use std::io::{self, Write};

use belay_session::plain;
use serde_json::{Value, json};

use crate::ui::{INDENT, style, width};

mod session;

/// What is said of whatever failed before it changed anything.
const UNTOUCHED: &str = "nothing was changed";

/// The result of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What kind of failure it is; each has an exit code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line cannot be understood.
    Usage,
    /// A snapshot, path or workspace of that name is not there, or there is nothing to do.
    NotFound,
    /// Belay declined: consent was missing, a name is taken, a pool is full, or the place is not safe.
    Refused,
    /// The work was done in part; the rest is named.
    Incomplete,
    /// The store is damaged, or was written by a newer belay.
    Damaged,
    /// The operating system said no.
    System,
    /// The user interrupted.
    Interrupted,
    /// Whoever read the output went away.
    Closed,
}

/// Every exit code with its meaning, as the help and the reference print it.
pub(crate) const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done"),
    (
        1,
        "found something: differences (`diff --exit-code`), damage (`verify`), a layer that is missing (`doctor`), or a loss (`conformance`)",
    ),
    (2, "the command line cannot be understood"),
    (3, "no such snapshot, run, path or workspace, or nothing to undo"),
    (4, "refused: consent is missing, a name is taken, or the place is not safe"),
    (5, "done in part; what was left is named"),
    (6, "the store or the record of a run is damaged, or was written by a newer belay"),
    (7, "the operating system said no: permission, space, input or output"),
    (
        125,
        "`belay run`: belay itself failed; otherwise its exit code is the command's (126 and 127 if that cannot be executed or found)",
    ),
    (130, "interrupted; the old state is in place"),
];

impl Kind {
    /// The exit code, as in [`EXIT_CODES`].
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Kind::Usage => 2,
            Kind::NotFound => 3,
            Kind::Refused => 4,
            Kind::Incomplete => 5,
            Kind::Damaged => 6,
            Kind::System => 7,
            Kind::Interrupted => 130,
            Kind::Closed => 0,
        }
    }

    /// What it means that a path which the user named cannot be used.
    pub(crate) fn of_path(error: &io::Error) -> Kind {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Kind::NotFound,
            _ => Kind::System,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Usage => "usage",
            Kind::NotFound => "not-found",
            Kind::Refused => "refused",
            Kind::Incomplete => "incomplete",
            Kind::Damaged => "damaged",
            Kind::System => "system",
            Kind::Interrupted => "interrupted",
            Kind::Closed => "closed",
        }
    }
}

/// How to find a path that is not where it was looked for.
pub(crate) const FIND: &str = "`belay find NAME` tells which snapshots hold a path";

/// What to do about a path that the system keeps from the user.
const NOT_YOURS: &str = "`ls -ld` shows whose it is; its owner can do that, and root";

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
    causes: Vec<String>,
    notes: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    /// A failure of that kind; the message is lower case and has no full stop.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: plain(message.into()), causes: Vec::new(), notes: Vec::new(), hints: Vec::new() }
    }

    /// The named thing is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(Kind::NotFound, message)
    }

    /// Belay declines.
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Refused, message)
    }

    /// Output could not be written or input not read; a reader that went away is no failure at all.
    pub(crate) fn output(error: io::Error) -> Failure {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::Closed } else { Kind::System };
        Failure::new(kind, "cannot write the output").because(&error)
    }

    /// An operation of the operating system failed.
    pub(crate) fn system(message: impl Into<String>, error: &io::Error) -> Failure {
        Failure::new(Kind::System, message).because(error)
    }

    /// The same with a path that the user named: one that is not there is not found.
    pub(crate) fn named(message: impl Into<String>, error: &io::Error) -> Failure {
        let failure = Failure::new(Kind::of_path(error), message).because(error);
        match error.kind() {
            io::ErrorKind::PermissionDenied => failure.hint(NOT_YOURS),
            _ => failure,
        }
    }

    /// Adds the chain of causes, outermost first.
    pub(crate) fn because(mut self, error: &dyn StdError) -> Failure {
        let mut next = Some(error);
        while let Some(cause) = next {
            let said = plain(cause);
            // SQLite tells the number of what it has just said in words.
            if !said.starts_with("Error code ") {
                self.causes.push(said);
            }
            next = cause.source();
        }
        self
    }

    /// Adds a fact that belongs to the message.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Failure {
        self.notes.push(note.into());
        self
    }

    /// Adds the names that come close to one that does not exist, if any does.
    pub(crate) fn nearest(self, names: &[String]) -> Failure {
        if names.is_empty() { self } else { self.note(format!("nearest: {}", names.join(", "))) }
    }

    /// Says that nothing was changed.
    pub(crate) fn untouched(self) -> Failure {
        self.note(UNTOUCHED)
    }

    /// The same of a command that never changes anything, of which nobody needs to hear it.
    pub(crate) fn of_reading(mut self) -> Failure {
        self.notes.retain(|note| note != UNTOUCHED);
        self
    }

    /// The same without hints that do not help whoever reads them.
    pub(crate) fn hinting(mut self, helps: impl Fn(&str) -> bool) -> Failure {
        self.hints.retain(|hint| helps(hint));
        self
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// The failure on one line: what happened, and why.
    pub(crate) fn line(&self) -> String {
        std::iter::once(&self.message).chain(&self.causes).map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// The failure as it is printed with `--json`.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": {
            "kind": self.kind.name(),
            "message": self.message,
            "causes": self.causes,
            "notes": self.notes,
            "hints": self.hints,
            "exit_code": self.kind.exit_code(),
        }})
    }

    /// The failure as a person reads it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (bad, hint) = (style::BAD.bold(), style::ID);
        let behind = |lead: &str, text: &str| width::behind(lead, &format!(" {text}"), INDENT);
        writeln!(out, "{bad}error:{bad:#}{}", behind("error:", &self.message))?;
        let mut causes = self.causes.iter();
        causes.try_for_each(|cause| writeln!(out, "  because:{}", behind("  because:", cause)))?;
        self.notes.iter().try_for_each(|note| writeln!(out, " {}", behind(" ", note)))?;
        self.hints.iter().try_for_each(|text| writeln!(out, "{hint}hint:{hint:#}{}", behind("hint:", text)))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::output(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_documented_exit_code() {
        let kinds = [
            Kind::Usage,
            Kind::NotFound,
            Kind::Refused,
            Kind::Incomplete,
            Kind::Damaged,
            Kind::System,
            Kind::Interrupted,
            Kind::Closed,
        ];
        for kind in kinds {
            assert!(EXIT_CODES.iter().any(|(code, _)| *code == kind.exit_code()), "{kind:?} is not in the table");
        }
    }

    #[test]
    fn a_failure_tells_causes_notes_and_hints_in_order() {
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = Failure::system("cannot open the store", &cause).untouched().hint("check its owner");
        let mut out = Vec::new();
        failure.write(&mut anstream::StripStream::new(&mut out)).expect("a vector takes everything");
        let text = String::from_utf8_lossy(&out);
        assert_eq!(
            text,
            "error: cannot open the store\n  because: permission denied\n  nothing was changed\nhint: check its owner\n"
        );
    }
}
