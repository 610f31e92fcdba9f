//! Standard output with colours as wanted, buffered, and through a pager where one helps.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice, StripStream};
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
        let written = match self.veils {
            true => serde_json::to_value(value).and_then(|mut value| {
                veil(&mut value);
                serde_json::to_writer(&mut *self, &value)
            }),
            false => serde_json::to_writer(&mut *self, value),
        };
        written.map_err(|error| Failure::output(error.into()))?;
        writeln!(self).map_err(Failure::output)
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
