//! A client of `belay mcp` that shares no code with the server: lines of JSON, written and read by hand.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    kept: HashMap<u64, Value>,
    next: u64,
}

impl Client {
    /// Starts the server without a word.
    pub(crate) fn start(mut command: Command) -> Client {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("belay starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        Client { child, input, lines, kept: HashMap::new(), next: 1 }
    }

    /// Starts the server and shakes hands in that version of the protocol.
    pub(crate) fn greet(command: Command, version: &str) -> (Client, Value) {
        let mut client = Client::start(command);
        let client_info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client_info });
        let greeting = client.ask("initialize", params);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (client, greeting)
    }

    /// Writes one line as it is.
    pub(crate) fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// Asks without waiting; returns the number of the request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.kept.remove(&id) {
                return answer;
            }
            let message = self.lines.recv_timeout(PATIENCE).expect("an answer");
            if let Some(id) = message["id"].as_u64() {
                self.kept.insert(id, message);
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns its whole result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer["error"].is_null(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that succeeds; returns its text and its data.
    pub(crate) fn ok(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], json!(false), "{tool}: {result}");
        (text(&result), result["structuredContent"].clone())
    }

    /// Calls a tool that refuses; returns what it says.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], json!(true), "{tool}: {result}");
        text(&result)
    }

    /// Ends the input, and returns what was still said and whether the server ended well.
    pub(crate) fn end(mut self) -> (Vec<Value>, bool) {
        drop(self.input.take());
        let mut rest: Vec<Value> = self.kept.drain().map(|(_, message)| message).collect();
        rest.extend(self.lines.iter());
        (rest, self.child.wait().expect("it ends").success())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}
