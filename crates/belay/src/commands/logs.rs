//! `belay logs`: what the terminal of a run showed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::past;
use crate::ui::Out;
use crate::ui::escape::put_path;

/// Show what a run's terminal showed
///
/// Only runs with a terminal of their own are kept: those that were started on one, or with --detach. What a command
/// wrote to a pipe or a file went there and nowhere else. With --json each line is an object.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Go on showing until the run ends
    #[arg(short, long)]
    follow: bool,

    /// Show the bytes as they are, with everything that moves the cursor or asks the terminal for something
    #[arg(long)]
    raw: bool,

    /// The run; the latest in this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay logs
  belay logs -f nightly
  belay logs run_k8m2p1x0 --raw | less -R";

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Prints the log.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = past::workspace_here(context, &home);
    let is_here = |id: &str| workspace.as_deref().is_none_or(|here| here == id);
    let record = home.find_run(args.run.as_deref(), &|run| is_here(&run.workspace) && !run.is_watch())?;
    let path = home.run_dir(&record.id).join("console.log");
    let is_coming = args.follow && record.is_live();
    if !path.exists() && !is_coming {
        return Err(Failure::not_found(format!("{} has no log: its output went where you sent it", record.id))
            .hint("a run has a terminal of its own when it is started on one, or with --detach"));
    }
    let mut out = Shown { out: context.ui.out(), json: context.ui.json, line: Vec::new() };
    let mut writer = Sieve { raw: args.raw, state: State::Plain };
    copy(&path.with_extension("log.1"), 0, &mut writer, &mut out)?;
    let mut at = copy(&path, 0, &mut writer, &mut out)?;
    while args.follow && home.run(&record.id)?.is_live() {
        out.flush()?;
        std::thread::sleep(LOOK_EVERY);
        if path.metadata().is_ok_and(|meta| meta.len() < at) {
            at = 0;
        }
        at = copy(&path, at, &mut writer, &mut out)?;
    }
    copy(&path, at, &mut writer, &mut out)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Where the log goes: as it is, or as an object for each line.
struct Shown {
    out: Out,
    json: bool,
    /// The beginning of a line that has not ended yet.
    line: Vec<u8>,
}

impl Shown {
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let mut object = Map::new();
        put_path(&mut object, "line", line.strip_suffix(b"\r").unwrap_or(&line));
        writeln!(self.out, "{}", Value::from(object))
    }

    fn finish(mut self) -> Result<()> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.out.finish()
    }
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.json {
            return self.out.write(bytes);
        }
        for byte in bytes {
            match byte {
                b'\n' => self.end_line()?,
                _ => self.line.push(*byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn copy(path: &Path, from: u64, sieve: &mut Sieve, out: &mut impl Write) -> Result<u64> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
        other => other.map_err(|error| Failure::system("cannot read the log", &error))?,
    };
    let mut at = file.seek(SeekFrom::Start(from)).map_err(|error| Failure::system("cannot read the log", &error))?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(|error| Failure::system("cannot read the log", &error))?;
        if length == 0 {
            return Ok(at);
        }
        at += length as u64;
        sieve.pass(&buffer[..length], out)?;
    }
}

/// Lets text and line ends through, and colours; not what could move the cursor or speak to the terminal.
struct Sieve {
    raw: bool,
    state: State,
}

enum State {
    Plain,
    Escape,
    Control(Vec<u8>),
    /// A text for the terminal, until its end.
    Text,
    TextEscape,
}

impl Sieve {
    fn pass(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        if self.raw {
            return out.write_all(bytes);
        }
        let mut kept = Vec::with_capacity(bytes.len());
        bytes.iter().for_each(|byte| self.step(*byte, &mut kept));
        out.write_all(&kept)
    }

    fn step(&mut self, byte: u8, kept: &mut Vec<u8>) {
        const SEQUENCE_MAX: usize = 64;
        self.state = match std::mem::replace(&mut self.state, State::Plain) {
            State::Plain => match byte {
                0x1b => State::Escape,
                b'\n' | b'\t' => {
                    kept.push(byte);
                    State::Plain
                }
                0..0x20 | 0x7f => State::Plain,
                _ => {
                    kept.push(byte);
                    State::Plain
                }
            },
            State::Escape => match byte {
                b'[' => State::Control(Vec::new()),
                b']' | b'P' | b'X' | b'^' | b'_' => State::Text,
                _ => State::Plain,
            },
            State::Control(mut seen) => match byte {
                0x40..=0x7e => {
                    if byte == b'm' {
                        kept.extend_from_slice(b"\x1b[");
                        kept.extend_from_slice(&seen);
                        kept.push(b'm');
                    }
                    State::Plain
                }
                b'0'..=b'9' | b';' | b':' if seen.len() < SEQUENCE_MAX => {
                    seen.push(byte);
                    State::Control(seen)
                }
                _ if seen.len() < SEQUENCE_MAX => State::Control(seen),
                _ => State::Plain,
            },
            State::Text => match byte {
                0x07 => State::Plain,
                0x1b => State::TextEscape,
                _ => State::Text,
            },
            State::TextEscape => State::Plain,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieved(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        Sieve { raw: false, state: State::Plain }.pass(bytes, &mut out).expect("a vector takes everything");
        String::from_utf8(out).expect("text stays text")
    }

    #[test]
    fn colours_and_text_come_through_and_nothing_that_steers_the_terminal() {
        assert_eq!(sieved(b"a\r\n\x1b[31mred\x1b[0m"), "a\n\x1b[31mred\x1b[0m");
        assert_eq!(sieved(b"\x1b]0;title\x07x\x1b]52;c;ZXZpbA==\x1b\\y"), "xy");
        assert_eq!(sieved(b"\x1b[2J\x1b[10;5Hx\x1b[?1049h\x08"), "x");
    }
}
