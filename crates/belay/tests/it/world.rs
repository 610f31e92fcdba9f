//! A temporary workspace with a home of its own, and the program run in it.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use belay_testkit::{TempWorkspace, Transcript};

/// A workspace, its home, and a memory of the ids seen so far.
pub(crate) struct World {
    pub(crate) workspace: TempWorkspace,
    transcript: Transcript,
}

/// What one run of the program did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    raw: Vec<u8>,
}

impl World {
    pub(crate) fn new() -> World {
        World::of(TempWorkspace::new())
    }

    /// The program in a workspace that was made elsewhere.
    pub(crate) fn of(workspace: TempWorkspace) -> World {
        let transcript = Transcript::new()
            .path(workspace.path(), "[WORKSPACE]")
            .path(workspace.home(), "[HOME]")
            .path(workspace.base(), "[BASE]")
            .hide_sizes()
            .squeeze_columns();
        World { workspace, transcript }
    }

    /// The program, not yet started, with nothing of the tester's environment that could steer it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belay"));
        command.args(arguments).current_dir(self.workspace.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("BELAY_") || name.starts_with("XDG_") || name.contains("COLOR") {
                command.env_remove(&*name);
            }
        }
        command.env("BELAY_HOME", self.workspace.home()).env("HOME", self.workspace.base()).env("TZ", "UTC");
        command
    }

    /// A line for `sh`, not yet started, at a terminal of its own: keys go into its standard input, the screen comes out.
    pub(crate) fn at_terminal(&self, line: &str) -> Command {
        let template = self.command(&[]);
        let mut terminal = Command::new("script");
        terminal.args(["-qec", line, "/dev/null"]).current_dir(self.workspace.path());
        for (name, value) in template.get_envs() {
            match value {
                Some(value) => terminal.env(name, value),
                None => terminal.env_remove(name),
            };
        }
        terminal.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
        terminal
    }

    /// Runs `belay` with these words.
    pub(crate) fn belay(&mut self, arguments: &[&str]) -> Ran {
        let command = self.command(arguments);
        self.ran(command)
    }

    /// Runs a command that was prepared.
    pub(crate) fn ran(&mut self, mut command: Command) -> Ran {
        let output = command.output().expect("belay starts");
        Ran::of(self, output)
    }

    fn normalise(&mut self, output: &[u8]) -> String {
        let text = self.transcript.normalise(&String::from_utf8_lossy(output));
        let mut parts = text.split("ws_");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            format!("{text}[WS]{}", part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()))
        })
    }

    /// Runs `belay` and insists that it succeeds; returns its standard output, unchanged.
    pub(crate) fn ok(&mut self, arguments: &[&str]) -> String {
        let ran = self.belay(arguments);
        assert_eq!(ran.code, 0, "belay {arguments:?} failed\n{ran}");
        ran.raw()
    }

    /// Takes a snapshot and returns its id.
    pub(crate) fn snapshot(&mut self) -> String {
        self.ok(&["snapshot", "-q"]).trim().to_owned()
    }

    /// Runs `belay --json` and returns the document, or the documents of a stream as a list.
    pub(crate) fn json(&mut self, arguments: &[&str]) -> serde_json::Value {
        let mut words = vec!["--json"];
        words.extend(arguments);
        let text = self.ok(&words);
        let documents: Result<Vec<serde_json::Value>, _> =
            serde_json::Deserializer::from_str(&text).into_iter().collect();
        let mut documents =
            documents.unwrap_or_else(|error| panic!("belay {words:?} printed no JSON: {error}\n{text}"));
        if documents.len() == 1 { documents.remove(0) } else { documents.into() }
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace.join(path)).expect("a readable file")
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        Path::new(&self.workspace.join(path)).symlink_metadata().is_ok()
    }
}

impl Ran {
    /// What a run of the program that somebody else waited for did.
    pub(crate) fn of(world: &mut World, output: std::process::Output) -> Ran {
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: world.normalise(&output.stdout),
            stderr: world.normalise(&output.stderr),
            raw: output.stdout,
        };
        // Whatever a test is about: the numbers of the operating system are nobody's business.
        assert!(!format!("{ran}").contains("(os error"), "say it with belay_sys::plain:\n{ran}");
        ran
    }

    /// Standard output as it was.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}")?;
                for line in text.lines() {
                    writeln!(f, "{}", line.trim_end())?;
                }
            }
        }
        Ok(())
    }
}

/// Bytes that do not compress, the same every time.
pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
