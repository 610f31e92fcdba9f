//! A client of `belay mcp` that does no more than a measurement needs: lines out, lines in.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::{Error, Result};

/// A server that was greeted.
pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    line: String,
}

impl Client {
    /// Starts the server and shakes hands.
    pub(super) fn start(mut command: Command) -> Result<Client> {
        let lost = |source| Error::Start { program: "belay mcp".to_owned(), source };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(lost)?;
        let gone = || lost(std::io::ErrorKind::BrokenPipe.into());
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        let mut client = Client { child, input, output, next: 0, line: String::new() };
        let params =
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
        client.send("initialize", params)?;
        client.hear()?;
        client.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(client)
    }

    /// Calls a tool, and waits until it has done its work.
    pub(super) fn call(&mut self, tool: &str, arguments: &str) -> Result<()> {
        self.send("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))?;
        self.hear()
    }

    /// Calls a tool so many times, of which so many are under way at a time.
    pub(super) fn call_many(&mut self, tool: &str, calls: usize, at_once: usize) -> Result<()> {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        for call in 0..calls + at_once {
            if call < calls {
                self.send("tools/call", &params)?;
            }
            if call >= at_once {
                self.hear()?;
            }
        }
        Ok(())
    }

    fn send(&mut self, method: &str, params: &str) -> Result<()> {
        self.next += 1;
        let id = self.next;
        self.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let sent = self.input.write_all(format!("{line}\n").as_bytes());
        sent.map_err(|source| Error::Start { program: "belay mcp".to_owned(), source })
    }

    fn hear(&mut self) -> Result<()> {
        self.line.clear();
        let heard = self.output.read_line(&mut self.line);
        heard.map_err(|source| Error::Start { program: "belay mcp".to_owned(), source })?;
        let is_good = self.line.contains(r#""result""#) && !self.line.contains(r#""isError":true"#);
        match is_good {
            true => Ok(()),
            false => Err(Error::Output { program: "belay mcp".to_owned(), text: self.line.clone() }),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It ends with its input, and is not waited for longer than that takes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
