//! What belongs into each agent's settings: its hooks, its status line, and belay as a server of tools.
//!
//! Which entries are ours is told by what they call, so that they are found again whoever moved them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Agent;

/// One settings file, and what is ours in it.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// What is ours in a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// Entries of a JSON file that is somebody else's.
    Entries(Vec<Entry>),
    /// A block at the end of a TOML file that is somebody else's, and the table that it makes.
    Block { table: [&'static str; 2], text: String },
    /// All of it.
    Whole(String),
    /// All of it, and it is a program.
    Program(String),
}

/// An entry of a JSON file.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) place: Vec<&'static str>,
    pub(crate) value: Value,
    pub(crate) how: How,
}

/// What an entry is: how it is put in, and how it is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// One more element of a list, a handler or a group of one; others may have put it into a group with their own.
    Hook,
    /// A server at its place; what somebody made of it there stays, and only the program in it is renewed.
    Server,
    /// The status line, unless somebody else's is there.
    Line,
    /// What is started instead of a shell, unless something else is.
    Shell,
    /// The version of the file, if it has none.
    Version,
}

impl How {
    /// Whether what stands there is belay's, and nothing but that.
    pub(crate) fn is_ours(self, value: &Value) -> bool {
        match self {
            How::Hook => is_hook(value),
            How::Server => is_server(value),
            How::Line => call(value).is_some_and(|words| words == ["statusline"]),
            How::Shell => value.as_str().and_then(|path| path.strip_suffix(SHELL)).is_some_and(is_directory),
            How::Version => false,
        }
    }
}

/// Where things are on this machine.
pub(crate) struct Ground<'a> {
    /// The user's home.
    pub(crate) home: &'a Path,
    /// The project, for settings that go into it.
    pub(crate) project: Option<&'a Path>,
    /// How belay is called.
    pub(crate) belay: &'a str,
    /// Whether Claude Code gets its copies of a workspace from belay.
    pub(crate) worktrees: bool,
    /// Whether what Claude Code gives to a shell goes through belay.
    pub(crate) shell: bool,
}

/// The first line of a file that is all ours, and of a block.
pub(crate) const MARK: &str = "written by `belay install`; `belay uninstall` removes it";

/// What Claude Code starts instead of a shell, if that is wanted: beneath the home.
const SHELL: &str = ".claude/belay-sh";

const CLAUDE_TOOLS: &str = "^(Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*)$";
const GEMINI_TOOLS: &str = "run_shell_command|write_file|replace|mcp_.*";
const CODEX_TOOLS: &str = "Bash|apply_patch|mcp__.*";

/// The files of an agent.
pub(crate) fn files(agent: Agent, ground: &Ground<'_>) -> Vec<File> {
    let home = |path: &str| ground.home.join(path);
    let entries = |path: PathBuf, entries| File { path, content: Content::Entries(entries) };
    let server = json!({ "command": ground.belay, "args": ["mcp"] });
    match agent {
        Agent::Claude => {
            let dir = ground.project.unwrap_or(ground.home);
            let servers = if ground.project.is_some() { dir.join(".mcp.json") } else { dir.join(".claude.json") };
            let mut all = claude(ground);
            let mut files = vec![entries(servers, vec![mcp(&["mcpServers", "belay"], server)])];
            if ground.shell {
                let path = dir.join(SHELL);
                let value = Value::from(path.to_string_lossy());
                all.push(Entry { place: vec!["env", "CLAUDE_CODE_SHELL_PREFIX"], value, how: How::Shell });
                files.push(File { path, content: Content::Program(shell(ground)) });
            }
            files.push(entries(dir.join(".claude/settings.json"), all));
            files
        }
        Agent::Codex => vec![
            entries(ground.project.unwrap_or(ground.home).join(".codex/hooks.json"), codex(ground)),
            File {
                path: ground.project.unwrap_or(ground.home).join(".codex/config.toml"),
                content: codex_server(ground),
            },
        ],
        Agent::Gemini => {
            let server = json!({ "command": ground.belay, "args": ["mcp"], "trust": false });
            let mut all = gemini(ground);
            all.push(mcp(&["mcpServers", "belay"], server));
            vec![entries(ground.project.unwrap_or(ground.home).join(".gemini/settings.json"), all)]
        }
        Agent::Cursor => {
            let dir = ground.project.unwrap_or(ground.home).join(".cursor");
            vec![
                entries(dir.join("hooks.json"), cursor(ground)),
                entries(dir.join("mcp.json"), vec![mcp(&["mcpServers", "belay"], server)]),
            ]
        }
        Agent::Opencode => {
            let server = json!({ "type": "local", "command": [ground.belay, "mcp"], "enabled": true });
            let (plugins, settings) = match ground.project {
                Some(project) => (project.join(".opencode/plugins"), project.join("opencode.json")),
                None => (home(".config/opencode/plugins"), home(".config/opencode/opencode.json")),
            };
            vec![
                File { path: plugins.join("belay.js"), content: Content::Whole(plugin(ground)) },
                entries(settings, vec![mcp(&["mcp", "belay"], server)]),
            ]
        }
        Agent::Copilot => {
            let server = json!({ "type": "local", "command": ground.belay, "args": ["mcp"], "tools": ["*"] });
            let servers = entries(home(".copilot/mcp-config.json"), vec![mcp(&["mcpServers", "belay"], server)]);
            match ground.project {
                // Its tools are set up for a person, never for a project.
                Some(project) => vec![entries(project.join(".github/hooks/belay.json"), copilot(ground))],
                None => vec![servers, entries(home(".copilot/hooks/belay.json"), copilot(ground))],
            }
        }
    }
}

/// The directory whose presence tells that the agent is used here.
pub(crate) fn trace(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => ".claude",
        Agent::Codex => ".codex",
        Agent::Gemini => ".gemini",
        Agent::Cursor => ".cursor",
        Agent::Opencode => ".config/opencode",
        Agent::Copilot => ".copilot",
    }
}

/// The program by which an agent is started.
pub(crate) fn program_of(agent: Agent) -> &'static str {
    match agent {
        Agent::Cursor => "cursor-agent",
        other => other.name(),
    }
}

/// Whether somewhere in a value a handler calls belay's hook.
pub(crate) fn calls_belay(value: &Value) -> bool {
    is_hook(value)
        || match value {
            Value::Array(all) => all.iter().any(calls_belay),
            Value::Object(members) => members.values().any(calls_belay),
            _ => false,
        }
}

/// Whether a handler calls belay's hook, and does nothing else: what somebody made more of is theirs.
pub(crate) fn is_hook(handler: &Value) -> bool {
    let words = call(handler).unwrap_or_default();
    let is_agent = |name: &String| Agent::named(name).is_some();
    words.len() <= 3 && words.first().is_some_and(|verb| verb == "hook") && words.get(1).is_some_and(is_agent)
}

fn is_server(server: &Value) -> bool {
    let is_mcp = |words: &[Value]| words.iter().any(|word| word == "mcp");
    match server.get("command") {
        Some(Value::Array(words)) => words.first().and_then(Value::as_str).is_some_and(is_belay) && is_mcp(&words[1..]),
        Some(Value::String(program)) => {
            is_belay(program) && server.get("args").and_then(Value::as_array).is_some_and(|args| is_mcp(args))
        }
        _ => false,
    }
}

/// The words with which a handler calls belay, if that is all that it does.
fn call(handler: &Value) -> Option<Vec<String>> {
    let line = handler.get("command").or_else(|| handler.get("bash"))?.as_str()?;
    let (program, words) = match handler.get("args") {
        Some(args) => {
            let word = |word: &Value| word.as_str().map(str::to_owned);
            (line.to_owned(), args.as_array()?.iter().map(word).collect::<Option<_>>()?)
        }
        None => split(line)?,
    };
    is_belay(&program).then_some(words)
}

/// A program and plain words behind it, as a shell reads them; none if there is more to the line.
fn split(line: &str) -> Option<(String, Vec<String>)> {
    let mut program = String::new();
    let mut rest = line.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~".contains(c);
    while !rest.is_empty() && !rest.starts_with(' ') {
        let (piece, after) = match rest.as_bytes()[0] {
            quote @ (b'\'' | b'"') => rest[1..].split_once(char::from(quote))?,
            b'\\' => rest[1..].split_at_checked(rest[1..].chars().next()?.len_utf8())?,
            _ => match rest.find(|c| !is_plain(c)).unwrap_or(rest.len()) {
                0 => return None,
                end => rest.split_at(end),
            },
        };
        program.push_str(piece);
        rest = after;
    }
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let words: Vec<&str> = rest.split_whitespace().collect();
    words.iter().all(|word| is_word(word)).then(|| (program, words.into_iter().map(str::to_owned).collect()))
}

/// Whether a program is belay, wherever it lies.
pub(crate) fn is_belay(program: &str) -> bool {
    program.rsplit('/').next() == Some("belay")
}

/// Whether a text is the path of a directory, and no program in front of one.
fn is_directory(text: &str) -> bool {
    text.starts_with('/') && text.ends_with('/') && !text.contains(" /")
}

/// Where the program is that is called by its name.
fn absolute(program: &str) -> String {
    let found = if program.contains('/') { None } else { crate::environment::in_path(program) };
    found.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| program.to_owned())
}

/// The program as a shell reads it.
fn quoted(program: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if program.chars().all(plain) { program.to_owned() } else { format!("'{}'", program.replace('\'', "'\\''")) }
}

fn mcp(place: &[&'static str], value: Value) -> Entry {
    Entry { place: place.to_vec(), value, how: How::Server }
}

fn hook(event: &'static str, value: Value) -> Entry {
    Entry { place: vec!["hooks", event], value, how: How::Hook }
}

/// A group of one handler, as Claude Code and those who follow it want it.
fn group(matcher: Option<&str>, handler: Value) -> Value {
    match matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": [handler] }),
        None => json!({ "hooks": [handler] }),
    }
}

fn claude(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("SessionStart", None, 10),
        ("UserPromptSubmit", None, 20),
        ("PreToolUse", Some(CLAUDE_TOOLS), 20),
        ("PostToolUse", Some(CLAUDE_TOOLS), 20),
        ("PostToolUseFailure", Some(CLAUDE_TOOLS), 20),
        ("SubagentStop", None, 20),
        ("WorktreeRemove", None, 20),
        ("ConfigChange", None, 10),
        ("Stop", None, 20),
        ("SessionEnd", None, 3),
    ];
    // One line, without `args`: Cursor runs these hooks too and drops the arguments, and what is left of them it takes for
    // a hook that refuses.
    let command = format!("{} hook claude", quoted(ground.belay));
    let call = |seconds: u64| json!({ "type": "command", "command": command, "timeout": seconds });
    let hooks = events.map(|(event, matcher, seconds)| hook(event, group(matcher, call(seconds))));
    // It takes the place of what Claude Code does by itself, so nobody gets it unasked.
    let copies = ground.worktrees.then(|| hook("WorktreeCreate", group(None, call(600))));
    let line = json!({ "type": "command", "command": format!("{} statusline", quoted(ground.belay)) });
    let line = Entry { place: vec!["statusLine"], value: line, how: How::Line };
    hooks.into_iter().chain(copies).chain([line]).collect()
}

fn codex(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PreToolUse", Some(CODEX_TOOLS)),
        ("PostToolUse", Some(CODEX_TOOLS)),
        ("Stop", None),
    ];
    let call = json!({ "type": "command", "command": format!("{} hook codex", quoted(ground.belay)), "timeout": 20 });
    events.map(|(event, matcher)| hook(event, group(matcher, call.clone()))).into_iter().collect()
}

fn codex_server(ground: &Ground<'_>) -> Content {
    let belay = Value::from(ground.belay);
    let text = format!("# {MARK}\n[mcp_servers.belay]\ncommand = {belay}\nargs = [\"mcp\"]\n");
    Content::Block { table: ["mcp_servers", "belay"], text }
}

fn gemini(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("BeforeAgent", None),
        ("BeforeTool", Some(GEMINI_TOOLS)),
        ("AfterTool", Some(GEMINI_TOOLS)),
        ("AfterAgent", None),
    ];
    let command = format!("{} hook gemini", quoted(ground.belay));
    // Its timeouts are in milliseconds.
    let call = json!({ "type": "command", "name": "belay", "command": command, "timeout": 20_000 });
    events.map(|(event, matcher)| hook(event, group(matcher, call.clone()))).into_iter().collect()
}

fn cursor(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        "beforeSubmitPrompt",
        "beforeShellExecution",
        "afterShellExecution",
        "beforeMCPExecution",
        "afterMCPExecution",
        "afterFileEdit",
        "stop",
    ];
    // It starts hooks by a login shell, which knows only the directories that a profile names.
    let program = match ground.project {
        None => absolute(ground.belay),
        Some(_) => ground.belay.to_owned(),
    };
    let command = format!("{} hook cursor", quoted(&program));
    let call = json!({ "command": command });
    // Commands and servers have events of their own.
    let edits = hook("preToolUse", json!({ "command": command, "matcher": "Write|Delete" }));
    let version = Entry { place: vec!["version"], value: json!(1), how: How::Version };
    std::iter::once(version).chain(events.map(|event| hook(event, call.clone()))).chain([edits]).collect()
}

fn copilot(ground: &Ground<'_>) -> Vec<Entry> {
    let events = ["userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "agentStop", "sessionEnd"];
    let call = |event: &str| {
        // It does not say which event it is.
        json!({ "type": "command", "bash": format!("{} hook copilot {event}", quoted(ground.belay)), "timeoutSec": 20 })
    };
    let version = Entry { place: vec!["version"], value: json!(1), how: How::Version };
    std::iter::once(version).chain(events.map(|event| hook(event, call(event)))).collect()
}

/// A shell that tells belay first. If belay is gone it is still a shell.
fn shell(ground: &Ground<'_>) -> String {
    format!("#!/bin/sh\n# {MARK}\n{}", include_str!("belay-sh").replace("BELAY", &quoted(ground.belay)))
}

fn plugin(ground: &Ground<'_>) -> String {
    let (belay, template) = (Value::from(ground.belay).to_string(), include_str!("opencode.js"));
    format!("// {MARK}\n{}", template.replace("\"BELAY\"", &belay))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_known_by_what_it_calls_and_does_nothing_else() {
        for (how, ours) in [
            (How::Hook, json!({"command": "belay", "args": ["hook", "claude"]})),
            (How::Hook, json!({"command": "'/opt/x y/belay' hook codex", "timeout": 20})),
            (How::Hook, json!({"command": "'/opt/it'\\''s/belay' hook codex"})),
            (How::Hook, json!({"bash": "/usr/bin/belay hook copilot preToolUse"})),
            (How::Server, json!({"command": "/opt/x y/belay", "args": ["mcp"]})),
            (How::Server, json!({"command": "belay", "args": ["-C", "/x", "mcp", "--read-only"]})),
            (How::Server, json!({"type": "local", "command": ["belay", "mcp"]})),
            (How::Line, json!({"command": "belay statusline", "padding": 0})),
            (How::Shell, json!("/opt/me too/.claude/belay-sh")),
        ] {
            assert!(how.is_ours(&ours), "{ours}");
        }
        for (how, other) in [
            (How::Hook, json!({"command": "say belay"})),
            (How::Hook, json!({"command": "notbelay hook claude"})),
            (How::Hook, json!({"command": "belay-like", "args": ["hook", "claude"]})),
            (How::Hook, json!({"command": "belay hook claude && notify.sh"})),
            (How::Hook, json!({"command": "audit.sh; belay hook claude"})),
            (How::Hook, json!({"command": "belay hook claude | tee log"})),
            (How::Hook, json!({"command": "belay hook mine"})),
            (How::Hook, json!({"hooks": [{"command": "belay hook claude"}]})),
            (How::Server, json!({"command": "docker", "args": ["run", "belay", "mcp"]})),
            (How::Server, json!({"command": ["docker", "run", "belay", "mcp"]})),
            (How::Line, json!({"command": "mine.sh --like 'belay statusline'"})),
            (How::Line, json!({"command": "/opt/belay statusline | cut -c1-40"})),
            (How::Line, json!({"command": "/opt/me/belay/line.sh"})),
            (How::Shell, json!("/usr/bin/nice /opt/me/.claude/belay-sh")),
        ] {
            assert!(!how.is_ours(&other), "{other}");
        }
        assert!(calls_belay(&json!({"Stop": [{"hooks": [{"command": "x"}, {"command": "belay hook claude"}]}]})));
    }

    #[test]
    fn every_entry_of_every_agent_is_known_again() {
        for belay in ["belay", "/opt/it's here/belay"] {
            for project in [None, Some(Path::new("/p"))] {
                let ground = Ground { home: Path::new("/h"), project, belay, worktrees: true, shell: true };
                for entry in
                    Agent::ALL.into_iter().flat_map(|agent| files(agent, &ground)).flat_map(|file| match file.content {
                        Content::Entries(entries) => entries,
                        _ => Vec::new(),
                    })
                {
                    let is_ours = |value: &Value| entry.how.is_ours(value);
                    let handler = entry.value.get("hooks").and_then(|hooks| hooks.get(0));
                    assert!(
                        entry.how == How::Version || is_ours(&entry.value) || handler.is_some_and(is_ours),
                        "{entry:?}"
                    );
                }
            }
        }
    }
}
