//! `belay logs`: what the terminal of a run showed.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anstream::ColorChoice;
use serde_json::Map;

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
    let record = past::find_among(context, &home, args.run.as_deref(), &|run| !run.is_watch())?;
    let path = home.run_dir(&record.id).join("console.log");
    let is_coming = args.follow && record.is_live();
    if !path.exists() && !is_coming {
        return Err(Failure::not_found(format!("{} has no log: its output went where you sent it", record.id))
            .hint("a run has a terminal of its own when it is started on one, or with --detach"));
    }
    // Colours are taken out of what goes into a pipe, but not of the very bytes.
    let out = if args.raw { Out::plain(ColorChoice::Always) } else { context.ui.out() };
    let mut out = Shown { out, json: context.ui.json, line: Vec::new() };
    let mut sieve = Sieve::new(args.raw);
    let (older, mut newer) = (path.with_extension("log.1"), Growing::new(&path));
    Growing::new(&older).copy(&mut sieve, &mut out)?;
    newer.copy(&mut sieve, &mut out)?;
    while args.follow && home.run(&record.id)?.is_live() {
        out.flush()?;
        std::thread::sleep(LOOK_EVERY);
        newer.copy(&mut sieve, &mut out)?;
    }
    newer.copy(&mut sieve, &mut out)?;
    if !context.ui.json {
        sieve.end(&mut out)?;
    }
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
        self.out.put_json(&object)
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

/// A log that may grow, and is moved away when it is full.
struct Growing<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl Growing<'_> {
    fn new(path: &Path) -> Growing<'_> {
        Growing { path, file: None }
    }

    /// Passes on what is new.
    fn copy(&mut self, sieve: &mut Sieve, out: &mut impl Write) -> Result<()> {
        let cannot = |error: io::Error| Failure::system("cannot read the log", &error);
        loop {
            let mut file = match self.file.take().map_or_else(|| File::open(self.path), Ok) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                other => other.map_err(cannot)?,
            };
            let number = |meta: Metadata| (meta.dev(), meta.ino());
            let (own, named) = (file.metadata().map(number), self.path.metadata().map(number));
            // Looked at before it is read to its end: nobody writes to one that was moved away.
            drain(&mut file, sieve, out)?;
            match named {
                Ok(named) if named != own.map_err(cannot)? => {}
                _ => {
                    self.file = Some(file);
                    return Ok(());
                }
            }
        }
    }
}

fn drain(file: &mut File, sieve: &mut Sieve, out: &mut impl Write) -> Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(|error| Failure::system("cannot read the log", &error))?;
        if length == 0 {
            return Ok(());
        }
        sieve.pass(&buffer[..length], out)?;
    }
}

/// Lets text and line ends through, and colours; not what could move the cursor, speak to the terminal or turn text around.
///
/// No order swallows the end of a line, so that one without an end hides the rest of its line and nothing else.
struct Sieve {
    raw: bool,
    state: State,
    /// Whether colours were let through and not taken back.
    is_coloured: bool,
}

enum State {
    Plain,
    /// A character of which only the first bytes are known.
    Character(Vec<u8>),
    Escape,
    Control(Vec<u8>),
    /// A text for the terminal, until its end.
    Text,
    TextEscape,
}

impl Sieve {
    fn new(raw: bool) -> Sieve {
        Sieve { raw, state: State::Plain, is_coloured: false }
    }

    fn pass(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        if self.raw {
            return out.write_all(bytes);
        }
        let mut kept = Vec::with_capacity(bytes.len());
        bytes.iter().for_each(|byte| self.step(*byte, &mut kept));
        out.write_all(&kept)
    }

    /// Takes colours back that the run left on, so that they do not spread to what is shown next.
    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.is_coloured) { out.write_all(b"\x1b[0m") } else { Ok(()) }
    }

    fn step(&mut self, byte: u8, kept: &mut Vec<u8>) {
        const SEQUENCE_MAX: usize = 64;
        self.state = match std::mem::replace(&mut self.state, State::Plain) {
            State::Character(begun) => return self.go_on(begun, byte, kept),
            _ if byte == b'\n' => {
                kept.push(byte);
                State::Plain
            }
            State::Plain => match byte {
                0x1b => State::Escape,
                b'\t' | 0x20..=0x7e => {
                    kept.push(byte);
                    State::Plain
                }
                0x80.. => return self.go_on(Vec::new(), byte, kept),
                _ => State::Plain,
            },
            State::Escape => match byte {
                b'[' => State::Control(Vec::new()),
                b']' | b'P' | b'X' | b'^' | b'_' => State::Text,
                // It has further bytes, as that which chooses a set of characters.
                0x20..=0x2f => State::Escape,
                _ => State::Plain,
            },
            State::Control(mut seen) => match byte {
                0x40..=0x7e => {
                    if byte == b'm' {
                        self.is_coloured = !matches!(&seen[..], b"" | b"0");
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

    /// Takes in another byte of a character; whole, it is shown unless it is an order or turns the text around.
    fn go_on(&mut self, mut begun: Vec<u8>, byte: u8, kept: &mut Vec<u8>) {
        begun.push(byte);
        match std::str::from_utf8(&begun) {
            Ok(text) => {
                if !text.contains(is_order) {
                    kept.extend_from_slice(&begun);
                }
            }
            Err(error) if error.error_len().is_none() => self.state = State::Character(begun),
            Err(_) => {
                kept.extend_from_slice("\u{fffd}".as_bytes());
                // What does not belong to it stands for itself.
                if begun.len() > 1 {
                    self.step(byte, kept);
                }
            }
        }
    }
}

/// Whether a character is an order to the terminal, or turns the text around it.
fn is_order(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieved(bytes: &[u8]) -> String {
        let (mut out, mut sieve) = (Vec::new(), Sieve::new(false));
        // Byte by byte, as a file that grows may be read.
        for byte in bytes {
            sieve.pass(&[*byte], &mut out).expect("a vector takes everything");
        }
        sieve.end(&mut out).expect("a vector takes everything");
        String::from_utf8(out).expect("text stays text")
    }

    #[test]
    fn colours_and_text_come_through_and_nothing_that_steers_the_terminal() {
        assert_eq!(sieved(b"a\r\n\x1b[31mred\x1b[0m"), "a\n\x1b[31mred\x1b[0m");
        assert_eq!(sieved(b"\x1b]0;title\x07x\x1b]52;c;ZXZpbA==\x1b\\y"), "xy");
        assert_eq!(sieved(b"\x1b[2J\x1b[10;5Hx\x1b[?1049h\x08"), "x");
        assert_eq!(sieved(b"\x1b[32mok\x1b(B\x1b[m done"), "\x1b[32mok\x1b[m done");
    }

    #[test]
    fn orders_of_one_character_and_bytes_that_are_no_text_do_not_come_through() {
        assert_eq!(sieved("a\u{9b}2Jb\u{9d}0;t\u{9c}c\u{202e}d\u{2066}ä €😀".as_bytes()), "a2Jb0;tcdä €😀");
        assert_eq!(sieved(b"caf\xe9 \x9b2J \xc2x\xe2\x82"), "caf\u{fffd} \u{fffd}2J \u{fffd}x");
        assert_eq!(sieved(b"\xc3\x1b[2Jx"), "\u{fffd}x");
    }

    #[test]
    fn an_order_without_an_end_hides_no_other_line() {
        assert_eq!(sieved(b"a\x1b]0;hide\nrm -rf\nb"), "a\nrm -rf\nb");
        assert_eq!(sieved(b"a\x1b[1;\n2\nb\x1b\nc\x1bPq\nd"), "a\n2\nb\nc\nd");
    }

    #[test]
    fn what_was_written_before_a_full_log_was_moved_away_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let (path, older) = (dir.path().join("console.log"), dir.path().join("console.log.1"));
        let (mut out, mut sieve) = (Vec::new(), Sieve::new(false));
        std::fs::write(&path, "one ").unwrap();
        let mut log = Growing::new(&path);
        log.copy(&mut sieve, &mut out).unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"two ").unwrap();
        std::fs::rename(&path, &older).unwrap();
        log.copy(&mut sieve, &mut out).unwrap();
        std::fs::write(&path, "three, longer than the one before").unwrap();
        log.copy(&mut sieve, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "one two three, longer than the one before");
    }

    #[test]
    fn colours_end_with_the_log() {
        assert_eq!(sieved(b"\x1b[8mhidden\n"), "\x1b[8mhidden\n\x1b[0m");
        assert_eq!(sieved(b"plain\n"), "plain\n");
    }
}
