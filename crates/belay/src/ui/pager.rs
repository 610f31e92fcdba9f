//! Standard output with colours as wanted, buffered, and through a pager where one helps.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice, StripStream};
use belay_session::is_invisible;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Failure, Result};

/// Where data goes.
pub(crate) struct Out {
    stream: Box<dyn Write>,
    child: Option<Child>,
    is_terminal: bool,
    veils: bool,
}

impl Out {
    /// Standard output itself.
    pub(crate) fn plain(color: ColorChoice) -> Out {
        let stdout = io::stdout();
        let (is_terminal, choice) = (stdout.is_terminal(), resolve(color, &stdout));
        Out { stream: buffered(stdout.lock(), choice), child: None, is_terminal, veils: false }
    }

    /// A pager, or standard output if the pager cannot be started.
    pub(crate) fn through(command: &str, color: ColorChoice) -> Out {
        match spawn(command) {
            Ok((child, stdin)) => {
                let stream = buffered(stdin, resolve(color, &io::stdout()));
                Out { stream, child: Some(child), is_terminal: true, veils: false }
            }
            Err(_) => Out::plain(color),
        }
    }

    /// The same without what tells something of a whole tree.
    pub(super) fn veiling(mut self, veils: bool) -> Out {
        self.veils = veils;
        self
    }

    /// Whether a person reads this on a terminal, directly or in a pager.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes one JSON document and ends the line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        self.put_json(value).map_err(Failure::output)
    }

    /// The same in the middle of other writing.
    pub(crate) fn put_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let written = match self.veils {
            true => serde_json::to_value(value).and_then(|mut value| {
                veil(&mut value);
                write_json(&mut *self, &value)
            }),
            false => write_json(&mut *self, value),
        };
        written?;
        writeln!(self)
    }

    /// Flushes, and waits until the pager is closed.
    pub(crate) fn finish(mut self) -> Result<()> {
        let flushed = self.stream.flush();
        self.close();
        flushed.map_err(Failure::output)
    }

    fn close(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The pager ends only when its standard input does.
            self.stream = Box::new(io::sink());
            let _ = child.wait();
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let _ = self.stream.flush();
        self.close();
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn write_json(out: &mut dyn Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Harmless))
}

/// JSON whose texts are escaped as far as a terminal would take part of them for orders; it reads the same.
struct Harmless;

impl serde_json::ser::Formatter for Harmless {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| c.is_control() || is_invisible(c)) {
            let c = rest[at..].chars().next().expect("it was found there");
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

/// Takes away what the snapshots in a document tell of all that they hold, be it hidden from whoever reads this or not.
fn veil(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(veil),
        Value::Object(object) => {
            if ["root", "manifest", "size_delta"].iter().all(|key| object.contains_key(*key)) {
                ["root", "manifest", "size_delta", "bytes", "files"].iter().for_each(|key| drop(object.remove(*key)));
            }
            // A store that holds some content already does not grow when somebody who guesses it writes it.
            object.remove("budget");
            object.values_mut().for_each(veil);
        }
        _ => {}
    }
}

/// A large buffer, with colours taken out before it if they are not wanted.
fn buffered(stream: impl Write + 'static, choice: ColorChoice) -> Box<dyn Write> {
    let buffer: Box<dyn Write> = Box::new(BufWriter::with_capacity(64 << 10, stream));
    if choice == ColorChoice::Never { Box::new(StripStream::new(buffer)) } else { buffer }
}

/// What `auto` means for a stream.
pub(crate) fn resolve<S: RawStream>(color: ColorChoice, stream: &S) -> ColorChoice {
    match color {
        ColorChoice::Auto => AutoStream::choice(stream),
        other => other,
    }
}

fn spawn(command: &str) -> io::Result<(Child, ChildStdin)> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut pager = Command::new(program);
    pager.args(words).stdin(Stdio::piped());
    if program.rsplit('/').next() == Some("less") && std::env::var_os("LESS").is_none() {
        pager.env("LESS", "FRX");
    }
    let mut child = pager.spawn()?;
    let stdin = child.stdin.take().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
    Ok((child, stdin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_json_moves_a_cursor_and_it_reads_the_same() {
        let value = serde_json::json!({ "\u{9b}2J": ["a\u{202e}b", "\u{1b}[2J\n", "ä\u{e0001}", "plain"] });
        let mut out = Vec::new();
        write_json(&mut out, &value).expect("a vector takes everything");
        let text = String::from_utf8(out).expect("JSON is text");
        assert!(text.chars().all(|c| !c.is_control() && !is_invisible(c)) && text.contains('ä'), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it is JSON"), value);
    }
}
